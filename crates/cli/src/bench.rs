//! The benchmark of recording: the classic overhead tables, repeated on this machine.
//!
//! Whit is this very binary, started as a user would; collectl and sysstat's `sadc` run beside it
//! where they are installed; **the floor** is what nobody can go below who reads the same files: a
//! loop that does nothing but `pread` them.  Everybody takes turns, round after round, and is
//! compared by medians; cases that whit loses stay in the tables.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use testkit::bench::{Measurement, Series};

pub(crate) mod compression;
pub(crate) mod floor;
pub(crate) mod processes;
pub(crate) mod programs;
pub(crate) mod report;
pub(crate) mod save;
pub(crate) mod spawn;
pub(crate) mod suite;
pub(crate) mod trace;

use save::Turns;

/// How much to do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Only these lines of the recording table, and nothing but them; empty: everything.
    pub(crate) cases: Vec<String>,
    /// Turns of everybody in the tables.
    pub(crate) rounds: usize,
    /// Samples of a turn: 8,640 stand for a day at 10 s.
    pub(crate) samples: u64,
    /// Samples at an interval of a second.
    pub(crate) slow_samples: u64,
    /// Samples between the two counts of system calls.
    pub(crate) traced_samples: u64,
    /// Seconds of the comparison of sizes; 0 leaves it out.
    pub(crate) long_seconds: u64,
    /// Turns of everybody in the play comparison.
    pub(crate) play_rounds: usize,
    /// Leaves out what takes the incumbents long: to show that everything runs.
    pub(crate) quick: bool,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<CaseResult>,
    pub(crate) slow: Vec<SlowResult>,
    pub(crate) long: Vec<LongResult>,
    pub(crate) play: Vec<Series>,
    pub(crate) play_letters: String,
    pub(crate) compression: Vec<compression::Stored>,
    /// What the compression table was made from.
    pub(crate) compression_of: String,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

impl Results {
    /// Every turn of everybody.
    pub(crate) fn turns(&self) -> Vec<Turns<'_>> {
        let mut turns = Vec::new();
        let mut push = |table, case, series| turns.push(Turns { table, case, series });
        for case in &self.cases {
            for contest in &case.contestants {
                push("record", &case.name, Cow::Borrowed(&contest.series));
            }
        }
        for series in &self.play {
            push("play", &self.play_letters, Cow::Borrowed(series));
        }
        for one in &self.long {
            let series = Series { name: one.name.clone(), turns: vec![one.measurement] };
            push("sizes", &one.command, Cow::Owned(series));
        }
        turns
    }
}

/// One case of the classic table.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) name: String,
    /// The letters that whit was given.
    pub(crate) letters: String,
    pub(crate) files: usize,
    pub(crate) contestants: Vec<Contest>,
}

/// One contestant in one case.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) series: Series,
    /// Bytes that the run of the last round left behind, all its files together.
    pub(crate) bytes: Option<u64>,
    pub(crate) calls_per_sample: Option<f64>,
}

impl Contest {
    pub(crate) fn cpu_ms(&self) -> f64 {
        self.series.median(|one| one.cpu_us() as f64) / 1e3
    }

    pub(crate) fn wall_ms(&self) -> f64 {
        self.series.median(|one| one.wall_us as f64) / 1e3
    }

    pub(crate) fn resident_kib(&self) -> f64 {
        self.series.median(|one| one.resident_kib_max as f64)
    }
}

impl CaseResult {
    pub(crate) fn find(&self, name: &str) -> Option<&Contest> {
        self.contestants.iter().find(|contest| contest.series.name == name)
    }
}

/// One recorder at an interval of a second.
#[derive(Debug)]
pub(crate) struct SlowResult {
    pub(crate) name: String,
    pub(crate) command: String,
    /// CPU of one sample by `wait4`, start and end of the program taken off; `None` where it is
    /// lost among them.
    pub(crate) cpu_us: Option<f64>,
    /// The same by `perf stat -e task-clock`, where there is one.
    pub(crate) task_clock_us: Option<f64>,
}

/// One recorder over a long time.
#[derive(Debug)]
pub(crate) struct LongResult {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) bytes: u64,
    pub(crate) measurement: Measurement,
}

/// How many parts of what is taken off a difference must reach to count.  The same work costs a
/// tenth more or less from one turn to the next, so a smaller difference says nothing.
const PART_THAT_COUNTS: f64 = 0.1;

/// What is left of `whole` without `rest`; `None` where that is within what `rest` itself varies
/// by, so that nobody reads noise, or a cost below nothing.
pub(crate) fn beyond(whole: f64, rest: f64) -> Option<f64> {
    let left = whole - rest;
    (left > 0.0 && left >= rest * PART_THAT_COUNTS).then_some(left)
}

/// Tells on a terminal what is going on.
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress { shown: std::io::stderr().is_terminal() }
    }

    pub(crate) fn tell(&self, text: &str) {
        if self.shown {
            // To the beginning of the line, and away with what stood there.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    pub(crate) fn done(&self) {
        self.tell("");
    }
}

#[cfg(test)]
mod tests {
    use super::beyond;

    #[test]
    fn noise_is_no_cost() {
        assert_eq!(beyond(30.0, 10.0), Some(20.0));
        assert_eq!(beyond(5.0, 0.0), Some(5.0));
        for (whole, rest) in [(9.0, 10.0), (10.0, 10.0), (10.5, 10.0), (0.0, 0.0)] {
            assert_eq!(beyond(whole, rest), None, "{whole} {rest}");
        }
    }
}
