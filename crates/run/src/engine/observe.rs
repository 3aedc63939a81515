//! What the engine reports while it runs: to progress lines, panels and statistics.

use std::time::Instant;

use crate::job::JobResult;
use template::Record;

/// A running job.
#[derive(Clone, Copy, Debug)]
pub struct RunningJob<'a> {
    /// The number of the job, from 1.
    pub seq: u64,
    /// The slot that it runs in, from 1.
    pub slot: u32,
    /// The process id.
    pub pid: i32,
    /// When its start was requested.
    pub at: Instant,
    /// The values of the command line.
    pub records: &'a [Record],
    /// The command line; empty unless [`EngineOptions::needs_text`](super::EngineOptions::needs_text)
    /// or a shell needs it.
    pub command: &'a [u8],
    /// How many jobs run, including this one and those that are being started.
    pub running: u64,
}

/// How many jobs run, have ended and have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStatus {
    /// Jobs that run.
    pub running: u64,
    /// Jobs that were started, including those that have ended.
    pub started: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// Ended jobs that failed.
    pub failed: u64,
    /// How many jobs there are in all, if that is known.
    pub total: Option<u64>,
    /// How many may run at once.
    pub slots: u32,
}

/// Receives the events of jobs while they run.
pub trait Observer {
    /// A job has a process.
    fn job_started(&mut self, _job: &RunningJob<'_>) {}

    /// A job has ended for good.
    fn job_ended(&mut self, _finished: &JobResult, _status: &RunStatus) {}

    /// A job's program has ended and that does not count: the job is run again, or dropped because
    /// the run ends.
    fn not_counted(&mut self, _status: &RunStatus) {}

    /// When [`tick`](Self::tick) is to be called next; `None`: never.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// The moment of [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _status: &RunStatus, _now: Instant) {}

    /// A warning for the user: one line, for standard error.
    fn warn(&mut self, _text: &[u8]) {}

    /// A command line that the user wants to see (`-t`, SIGUSR1), for standard error.
    fn show_command(&mut self, _command: &[u8]) {}

    /// The user wants to show or to hide the progress (SIGUSR2).
    fn toggle(&mut self, _status: &RunStatus) {}

    /// This process is about to be stopped (Ctrl-Z): until the next call another process owns the
    /// terminal.
    fn before_stop(&mut self) {}

    /// All jobs have ended, or an error ended the run: the last call.
    fn all_ended(&mut self, _status: &RunStatus) {}
}
