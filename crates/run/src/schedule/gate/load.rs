//! `--load`: no job starts while this many threads run or wait for a disk.
//!
//! A count is used for a second.  Between two counts, a started job counts as one more thread and
//! an ended job as one less: so short jobs need no count each, and a burst of starts does not
//! exceed the limit before the next count.

use std::time::Instant;

use super::{ASK_AGAIN, Answer, Gate};
use crate::schedule::machine::Machine;

/// `--load`.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct LoadGate {
    /// The load below which a job may start.
    limit: f64,
    /// When the threads were counted, and how many, adjusted by the jobs since.
    counted: Option<(Instant, i64)>,
}

impl LoadGate {
    pub(in crate::schedule) fn new(limit: f64) -> Self {
        LoadGate { limit, counted: None }
    }
}

impl Gate for LoadGate {
    fn ask(&mut self, now: Instant, _running: u32, machine: &mut dyn Machine) -> Answer {
        let fresh = self.counted.filter(|(then, _)| now.duration_since(*then) < ASK_AGAIN);
        let (then, busy) = match fresh {
            Some(counted) => counted,
            None => match machine.busy_threads() {
                Ok(busy) => (now, i64::from(busy)),
                Err(_) => return Answer::Go,
            },
        };
        self.counted = Some((then, busy));
        if (busy.max(0) as f64) < self.limit { Answer::Go } else { Answer::Wait(then + ASK_AGAIN) }
    }

    fn started(&mut self) {
        if let Some((_, busy)) = &mut self.counted {
            *busy += 1;
        }
    }

    fn ended(&mut self) {
        if let Some((_, busy)) = &mut self.counted {
            *busy -= 1;
        }
    }
}
