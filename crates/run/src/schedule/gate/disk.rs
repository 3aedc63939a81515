//! `--limit 'io N'`: no job starts while a disk is busy for N percent of the time or more.
//!
//! Busy is as in `/proc/diskstats`: the milliseconds during which a disk had at least one request
//! (its tenth number), for the busiest disk, over the last second.

use std::time::Instant;

use super::{ASK_AGAIN, Answer, Gate};
use crate::schedule::machine::Machine;

/// `--limit 'io N'`.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct DiskGate {
    limit_percent: f64,
    /// When the disks were read last, and how long each was busy, in the kernel's order.
    before: Option<(Instant, Vec<u64>)>,
    /// Utilization of the busiest disk between the last two readings.
    busy_percent: Option<f64>,
}

impl DiskGate {
    pub(in crate::schedule) fn new(limit_percent: f64) -> Self {
        DiskGate { limit_percent, before: None, busy_percent: None }
    }
}

impl Gate for DiskGate {
    fn ask(&mut self, now: Instant, _running: u32, machine: &mut dyn Machine) -> Answer {
        let due = match &self.before {
            Some((then, _)) => now.duration_since(*then) >= ASK_AGAIN,
            None => true,
        };
        if due {
            let Ok(disks) = machine.disks_busy_ms() else { return Answer::Go };
            if let Some((then, before)) = &self.before {
                let milliseconds = now.duration_since(*then).as_secs_f64() * 1000.0;
                // A disk that was added or removed shifts the others, so one reading cannot be
                // used.
                self.busy_percent = (before.len() == disks.len()).then(|| {
                    let busiest =
                        before.iter().zip(&disks).map(|(old, new)| new.saturating_sub(*old));
                    100.0 * busiest.max().unwrap_or(0) as f64 / milliseconds
                });
            }
            self.before = Some((now, disks));
        }
        match self.busy_percent {
            Some(busy) if busy < self.limit_percent => Answer::Go,
            _ => {
                let then = self.before.as_ref().map_or(now, |(then, _)| *then);
                Answer::Wait(then + ASK_AGAIN)
            }
        }
    }
}
