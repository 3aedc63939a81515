//! `--memfree` and `--memsuspend`: what happens when memory is short.
//!
//! Both read `MemAvailable`.  With `--memfree` a job starts only while that much is available;
//! below half of it the youngest job is ended and run again later, at most one a second, because
//! its memory must be freed before the next reading is meaningful.  With `--memsuspend` the size is
//! what one job may need: below it only the oldest job runs, below twice that half of the jobs run,
//! and the others are suspended until there is more.

use std::time::Instant;

use super::{ASK_AGAIN, Answer, Gate};
use crate::schedule::machine::Machine;

/// `--memfree`.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct FreeGate {
    size_bytes: u64,
    /// No job is ended before this time.
    spare_until: Option<Instant>,
}

impl FreeGate {
    pub(in crate::schedule) fn new(size_bytes: u64) -> Self {
        FreeGate { size_bytes, spare_until: None }
    }
}

impl Gate for FreeGate {
    fn ask(&mut self, now: Instant, running: u32, machine: &mut dyn Machine) -> Answer {
        match machine.memory_available_bytes() {
            Ok(free) if free < self.size_bytes / 2 && running > 0 => {
                if let Some(moment) = self.spare_until.filter(|moment| *moment > now) {
                    return Answer::Wait(moment);
                }
                self.spare_until = Some(now + ASK_AGAIN);
                Answer::KillYoungest(now + ASK_AGAIN)
            }
            Ok(free) if free < self.size_bytes => Answer::Wait(now + ASK_AGAIN),
            _ => Answer::Go,
        }
    }

    fn watches(&self) -> bool {
        true
    }
}

/// `--memsuspend`.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct SuspendGate {
    size_bytes: u64,
}

impl SuspendGate {
    pub(in crate::schedule) fn new(size_bytes: u64) -> Self {
        SuspendGate { size_bytes }
    }
}

impl Gate for SuspendGate {
    fn ask(&mut self, now: Instant, running: u32, machine: &mut dyn Machine) -> Answer {
        let again = now + ASK_AGAIN;
        match machine.memory_available_bytes() {
            Ok(free) if free < self.size_bytes => Answer::Suspend { keep: 1, again },
            Ok(free) if free < self.size_bytes.saturating_mul(2) => {
                Answer::Suspend { keep: running.div_ceil(2).max(1), again }
            }
            _ => Answer::Go,
        }
    }

    fn watches(&self) -> bool {
        true
    }
}
