//! Gates: conditions of the machine for starting a job, and what is done to running jobs when
//! resources are even scarcer.
//!
//! | option | read | how often |
//! |---|---|---|
//! | `--load` | threads in states R and D | before a start, at most once a second |
//! | `--memfree`, `--memsuspend` | `MemAvailable` | before a start; once a second while jobs run |
//! | `--noswap` | `pswpin`, `pswpout` | two readings a second apart, every ten seconds |
//! | `--limit COMMAND` | its exit code | before a start; once a second while it holds |
//! | `--limit 'io N'` | milliseconds that disks were busy | two readings a second apart |
//!
//! A reading that fails does not block jobs: otherwise they might wait for ever.

mod disk;
mod limit;
mod load;
mod memory;
mod swap;

use std::time::{Duration, Instant};

pub(super) use disk::DiskGate;
pub use limit::{Limit, LimitError};
pub(super) use limit::{LimitGate, Question};
pub(super) use load::LoadGate;
pub(super) use memory::{FreeGate, SuspendGate};
pub(super) use swap::SwapGate;

use super::machine::Machine;

/// Time until the machine is checked again after a gate was closed.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The answer of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A job may start.
    Go,
    /// No job may start before this time; ask again then.
    Wait(Instant),
    /// No job may start, and the youngest is to be ended; ask again at this time.
    KillYoungest(Instant),
    /// Only the oldest jobs may run, the others are to be suspended; ask again at this time.
    Suspend {
        /// How many may run.
        keep: u32,
        /// When to ask again.
        again: Instant,
    },
}

/// A condition for starting a job.
pub trait Gate {
    /// Whether a job may start while `running` jobs run.
    fn ask(&mut self, now: Instant, running: u32, machine: &mut dyn Machine) -> Answer;

    /// A job has been started.
    fn started(&mut self) {}

    /// A job has ended.
    fn ended(&mut self) {}

    /// Whether it must be asked while jobs run, even if none is to start.
    fn watches(&self) -> bool {
        false
    }
}
