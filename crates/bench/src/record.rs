//! The benchmark of recording: the classic overhead tables, repeated on this machine.
//!
//! Whit is this binary, started as a user would; collectl and sysstat's `sadc` take part if they
//! are installed; **the floor** is the least possible cost of reading the same files: a loop that
//! only calls `pread`.  All take turns, round after round, and are compared by medians; cases that
//! whit loses stay in the tables.

use crate::contest::{Case, Contest, Measurement};
use crate::report::Row;

pub(crate) mod compression;
pub(crate) mod floor;
mod report;
pub(crate) mod suite;

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
    pub(crate) cases: Vec<Case<CaseFacts, Recorded>>,
    pub(crate) slow: Vec<SlowResult>,
    pub(crate) long: Vec<LongResult>,
    pub(crate) play: Vec<Contest>,
    pub(crate) play_letters: String,
    pub(crate) compression: Vec<compression::Stored>,
    /// The recording from which the compression table was made.
    pub(crate) compression_of: String,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// A row of the classic table.
type RecordRow<'r> = Row<'r, CaseFacts, Recorded>;

/// A case of the classic table.
#[derive(Debug)]
pub(crate) struct CaseFacts {
    /// whit's subsystem letters.
    pub(crate) letters: String,
    pub(crate) files: usize,
}

/// What a contestant recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Size of the files of the last round, together.
    pub(crate) bytes: Option<u64>,
    pub(crate) calls_per_sample: Option<f64>,
}

/// One recorder at an interval of a second.
#[derive(Debug)]
pub(crate) struct SlowResult {
    pub(crate) name: String,
    pub(crate) command: String,
    /// CPU time of one sample by the scheduler's statistics, without start and end of the program,
    /// in µs; `None` if the kernel keeps none.
    pub(crate) cpu_us: Option<f64>,
    /// The CPU time by `perf stat -e task-clock`, if perf is installed.
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
