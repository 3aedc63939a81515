//! The benchmark of recording: the classic overhead tables, repeated on this machine.
//!
//! Whit is this binary, started as a user would; collectl and sysstat's `sadc` take part if they
//! are installed; **the floor** is the least possible cost of reading the same files: a loop that
//! only calls `pread`.  All take turns, round after round, and are compared by medians; cases that
//! whit loses stay in the tables.

use std::borrow::Cow;

use crate::measure::{Measurement, Series};
use crate::report::Turns;

mod compression;
pub(crate) mod floor;
mod report;
mod suite;

pub use suite::run;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct RecordPlan {
    /// Only these lines of the recording table, and the sizes if asked for; if empty, everything.
    pub cases: Vec<String>,
    /// Turns of each contestant in the tables.
    pub rounds: usize,
    /// Samples of a turn: 8,640 are a day at 10 s.
    pub samples: u64,
    /// Samples at an interval of a second.
    pub slow_samples: u64,
    /// Samples for which system calls are counted, after those of the start.
    pub traced_samples: u64,
    /// Duration of the comparison of sizes in seconds; 0 leaves it out.
    pub long_seconds: u64,
    /// Turns of each contestant when recordings are played.
    pub play_rounds: usize,
    /// Leaves out what takes the incumbents long: a trial that everything works.
    pub quick: bool,
}

/// The contestants' names in the tables.
pub(crate) const WHIT: &str = "whit";
pub(crate) const COLLECTL: &str = "collectl";
pub(crate) const FLOOR: &str = "floor";

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<CaseResult>,
    pub(crate) slow: Vec<SlowResult>,
    pub(crate) long: Vec<LongResult>,
    pub(crate) play: Vec<Series>,
    pub(crate) play_letters: String,
    pub(crate) compression: Vec<compression::Stored>,
    /// The recording from which the compression table was made.
    pub(crate) compression_of: String,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

impl Results {
    /// All turns.
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
    /// whit's subsystem letters.
    pub(crate) letters: String,
    pub(crate) files: usize,
    pub(crate) contestants: Vec<Contest>,
}

/// One contestant in one case.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) series: Series,
    /// Size of the files of the last round, together.
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
    /// CPU time of one sample by `wait4`, without start and end of the program, in µs; `None` if
    /// the difference is too small.
    pub(crate) cpu_us: Option<f64>,
    /// The same by `perf stat -e task-clock`, if perf is installed.
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
