//! The benchmark of recording: the classic overhead tables, repeated on this machine.
//!
//! Whit is this very binary, started as a user would; collectl and sysstat's `sadc` run beside it
//! where they are installed; **the floor** is what nobody can go below who reads the same files: a
//! loop that does nothing but `pread` them.  Everybody takes turns, round after round, and is
//! compared by medians; cases that whit loses stay in the tables.

use std::borrow::Cow;

use crate::measure::{Measurement, Series};
use crate::report::Turns;

mod compression;
mod floor;
mod report;
mod suite;

pub use suite::run;

/// How much to do.
#[derive(Clone, Debug)]
pub struct RecordPlan {
    /// Only these lines of the recording table, and nothing but them; empty: everything.
    pub cases: Vec<String>,
    /// Turns of everybody in the tables.
    pub rounds: usize,
    /// Samples of a turn: 8,640 stand for a day at 10 s.
    pub samples: u64,
    /// Samples at an interval of a second.
    pub slow_samples: u64,
    /// Samples between the two counts of system calls.
    pub traced_samples: u64,
    /// Seconds of the comparison of sizes; 0 leaves it out.
    pub long_seconds: u64,
    /// Turns of everybody in the play comparison.
    pub play_rounds: usize,
    /// Leaves out what takes the incumbents long: to show that everything runs.
    pub quick: bool,
}

/// Who takes part, by the name in the tables.
pub(crate) const WHIT: &str = "whit";
pub(crate) const COLLECTL: &str = "collectl";
pub(crate) const FLOOR: &str = "floor";

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
