//! `--noswap`: no job starts while the machine swaps both in and out.
//!
//! Pages that are only swapped out were idle, pages that are only swapped in were needed; both at
//! once means that memory is too small.  An answer takes two readings a second apart and is valid
//! for ten seconds.

use std::time::{Duration, Instant};

use super::{ASK_AGAIN, Answer, Gate};
use crate::schedule::machine::{Machine, Swapped};

/// How long an answer is valid.
const HOLDS: Duration = Duration::from_secs(10);

/// `--noswap`.
#[derive(Clone, Debug, Default)]
pub(in crate::schedule) struct SwapGate {
    /// The first of two readings.
    first: Option<(Instant, Swapped)>,
    /// The last answer: when it was found, and whether the machine swapped.
    answer: Option<(Instant, bool)>,
}

impl Gate for SwapGate {
    fn ask(&mut self, now: Instant, _running: u32, machine: &mut dyn Machine) -> Answer {
        if let Some((then, swaps)) = self.answer
            && now.duration_since(then) < HOLDS
        {
            return if swaps { Answer::Wait(then + HOLDS) } else { Answer::Go };
        }
        let first = self.first.filter(|(then, _)| now.duration_since(*then) < HOLDS);
        if let Some((then, _)) = first
            && now.duration_since(then) < ASK_AGAIN
        {
            return Answer::Wait(then + ASK_AGAIN);
        }
        let Ok(swapped) = machine.swapped() else { return Answer::Go };
        let Some((_, before)) = first else {
            self.first = Some((now, swapped));
            return Answer::Wait(now + ASK_AGAIN);
        };
        let swaps = swapped.in_pages > before.in_pages && swapped.out_pages > before.out_pages;
        self.first = None;
        self.answer = Some((now, swaps));
        if swaps { Answer::Wait(now + HOLDS) } else { Answer::Go }
    }
}
