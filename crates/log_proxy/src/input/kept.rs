//! Waiting until what an input has written is kept, for senders that wait for an answer.
//!
//! One thread waits for the proxy, and for all who came before it began: a sync of the disk is shared.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use log_protocol::clock;
use logring::Tier;

use super::InputControl;

/// How long it is waited: senders of OTLP give up after ten seconds, unless they are told otherwise.
const LONGEST: Duration = Duration::from_secs(5);
/// How long before it is looked again whether the inputs are to end.
const PIECE: Duration = Duration::from_millis(200);

/// What waits of an input have in common.
pub(super) struct Keeping {
    tier: Tier,
    turns: Mutex<Turns>,
    flushing: Mutex<()>,
}

/// Which flushes have begun, and which of them has ended well.
#[derive(Default)]
struct Turns {
    begun: u64,
    ended: u64,
}

impl Keeping {
    /// Records are kept once they are as safe as the tier says.
    pub(super) fn new(tier: Tier) -> Self {
        Keeping { tier, turns: Mutex::default(), flushing: Mutex::new(()) }
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all is kept that this thread has written; whether it is.
    pub(super) fn wait(&self, control: &InputControl) -> bool {
        // A flush that begins later covers it.
        let needed = self.turns().begun + 1;
        let until = clock::now() + LONGEST;
        let _turn = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.turns().ended >= needed {
            return true;
        }
        let mine = {
            let mut turns = self.turns();
            turns.begun += 1;
            turns.begun
        };
        loop {
            if logring::writer::flush(self.tier, PIECE.as_nanos() as u64).is_safe {
                self.turns().ended = mine;
                return true;
            }
            if clock::now() >= until || control.is_ending.load(Ordering::Acquire) {
                return false;
            }
        }
    }

    /// Whether all is kept that any thread has written, or soon.
    pub(super) fn is_all_kept(&self) -> bool {
        logring::writer::flush(self.tier, PIECE.as_nanos() as u64).is_safe
    }
}
