//! One reading of one source ([`Sample`]), and everything read at one tick ([`Snapshot`]).

use std::sync::Arc;

use crate::{SourceDef, Table};

/// The result of an attempt to read a source.  A source without numbers has one of five states;
/// none of them means 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// The table holds the kernel's values.
    Ok,
    /// The machine has no such file.
    Absent,
    /// The file is there but may not be read (EACCES, EPERM).
    Denied,
    /// Reading failed in another way; the `errno`, or 0 for text that made no sense.
    Failed(i32),
    /// Not read at this tick, to stay within the budget.
    Skipped,
    /// The source was not selected, or the recording does not have it.
    #[default]
    NotRecorded,
}

impl State {
    /// One word, for views and messages.
    pub const fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Absent => "absent",
            State::Denied => "denied",
            State::Failed(_) => "failed",
            State::Skipped => "skipped",
            State::NotRecorded => "not recorded",
        }
    }
}

/// One reading of one source, with its time, duration and state.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The time of the reading on `CLOCK_BOOTTIME`, which never steps and counts suspended time.
    pub monotonic_ns: u64,
    /// The moment of the reading since the epoch, by the machine's wall clock.
    pub realtime_ns: i64,
    /// How long the read took, parsing included.
    pub cost_ns: u64,
    /// Whether the table is valid, and if not, why.
    pub state: State,
    /// The values; empty unless `state` is [`State::Ok`].
    pub table: Table,
}

impl Sample {
    /// An empty sample of a source.
    pub fn new(def: &SourceDef) -> Self {
        Sample { table: Table::new(def.fields.len()), ..Sample::default() }
    }
}

/// Samples that are missing before a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Ticks that passed without a sample: the machine or whit was late.
    pub ticks_missed: u64,
    /// Samples that could not be written (no space, I/O error).
    pub samples_unwritten: u64,
    /// Samples that cannot be read any more (corruption).
    pub samples_unreadable: u64,
}

impl Gap {
    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        *self == Gap::default()
    }
}

/// The samples of one tick: one for each source of the feed, in the feed's order; `fresh` says
/// which of them were read at this tick.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// When the tick began (see [`Sample::monotonic_ns`]).
    pub monotonic_ns: u64,
    /// The moment of the tick since the epoch.
    pub realtime_ns: i64,
    /// Time until the next tick, by which collectl's averages divide; only collectl's recordings
    /// have it, otherwise 0.
    pub lasted_ns: i64,
    /// Samples that are missing between the previous tick and this one.
    pub gap: Gap,
    /// Whether counters of the previous tick are not comparable: another recording, or another
    /// boot of the machine, begins here.
    pub restart: bool,
    /// One sample per source of the feed.
    pub samples: Vec<Sample>,
    /// Whether the sample at the same index was read at this tick.
    pub fresh: Vec<bool>,
}

impl Snapshot {
    /// An empty snapshot for a feed of these sources.
    pub fn new(defs: &[Arc<SourceDef>]) -> Self {
        Snapshot {
            samples: defs.iter().map(|def| Sample::new(def)).collect(),
            fresh: vec![false; defs.len()],
            ..Snapshot::default()
        }
    }
}
