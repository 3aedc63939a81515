//! The types that the schedule takes from and returns to the engine.

use std::time::Instant;

use super::delay::Delay;
use super::gate::Limit;
use super::halt::Halt;
use super::slots::{Jobs, Load};
use super::terminate::TermSequence;
use super::timeout::Timeout;
use crate::Outcome;

/// The options of the schedule.
#[derive(Clone, Debug, Default)]
pub struct ScheduleOptions {
    /// `-j`: how many jobs at once.
    pub jobs: Jobs,
    /// Never more than this, whatever is asked for: what descriptors allow.
    pub jobs_max: Option<u32>,
    /// `--delay`: how long to wait between two starts.
    pub delay: Option<Delay>,
    /// `--timeout`: how long a job may run.
    pub timeout: Option<Timeout>,
    /// `--retries`: how many attempts a job gets; 0 is unlimited, 1 is no retry.
    pub retries: Option<u32>,
    /// `--halt`: when to stop early.
    pub halt: Halt,
    /// `--term-seq`: the signals that end a job.
    pub term_sequence: TermSequence,
    /// `--load`: start nothing while this many threads run or wait for a disk.
    pub load: Option<Load>,
    /// `--memfree`, bytes: start nothing with less available; with less than half, end the youngest
    /// job.
    pub memory_free_bytes: Option<u64>,
    /// `--memsuspend`, bytes: suspend jobs with less than twice as much available.
    pub memory_suspend_bytes: Option<u64>,
    /// `--noswap`: start nothing while the machine swaps both in and out.
    pub no_swap: bool,
    /// `--limit`: a command, or a rule of ours, that decides whether a job may start.
    pub limit: Option<Limit>,
}

/// Whether the next job may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Now, in this slot (from 1: `{%}`).
    Now {
        /// The slot that it gets if it is started before any other call.
        slot: u32,
    },
    /// Not before this time; ask again then, or when a job has ended.
    At(Instant),
    /// When a job has ended; until then the answer does not change.
    OnEnd,
    /// When the command of `--limit` has ended: run it, and pass its exit code to
    /// [`super::Schedule::limit_answered`].  Returned once for each run.
    Ask,
    /// When the running command of `--limit` has ended.
    Asked,
    /// No job will start any more.
    Never,
}

/// What the engine must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a signal to the process group of the job that runs in a slot.
    Signal {
        /// The slot it runs in.
        slot: u32,
        /// The job's number.
        seq: u64,
        /// The signal's number.
        signal: i32,
    },
    /// Print a message that a job is ended for this reason; its signals are separate actions.  GNU
    /// parallel prints one only after a timeout.
    Warn {
        /// The slot it runs in.
        slot: u32,
        /// The job's number.
        seq: u64,
        /// Why it is ended.
        reason: EndReason,
    },
}

/// Why a job is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It ran longer than `--timeout` allows.
    TimedOut,
    /// Less than half of what `--memfree` asks for is available.
    LowMemory,
    /// The command of `--limit` asked for it.
    Limit,
}

/// What the engine does with a job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterEnd {
    /// It is done, successful or not: write its output and its joblog line.
    Done,
    /// Run it again, before any job that has not run yet; drop its output, and write no joblog line.
    Again,
    /// It was killed because the run ends: write neither output nor joblog line.
    Dropped,
}

/// The result of [`super::Schedule::ended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedJob {
    /// What the engine does with the job.
    pub verdict: AfterEnd,
    /// How it ended; [`Outcome::Killed`] if the schedule ended it and it died of that.  A job that
    /// caught the signal and exited has its own exit code.
    pub outcome: Outcome,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// What it means for `--halt`.
    pub halt: Halted,
}

/// What a job's end means for `--halt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halted {
    /// Nothing.
    No,
    /// It counts for `--halt` (`This job failed:` is printed), but there are not enough yet.
    Counted,
    /// No further job starts; some still run.
    Soon {
        /// Jobs that still run.
        running: u32,
    },
    /// No further job starts, and the running ones are being ended.
    Now,
}
