//! Processes that a job has left behind when it was ended: they get the rest of the signals of
//! `--term-seq`, and the run waits for them as long as the sequence lasts.

use std::time::{Duration, Instant};

use super::{Engine, OperatingSystem};

/// How often it is checked, when nothing else is left to do, whether they have ended.
const CHECK_PERIOD: Duration = Duration::from_millis(5);

/// The process group of a job that has ended.
pub(super) struct LeftBehind {
    group: i32,
    /// When its next signal is due, and the place of that in the sequence.
    next: (Instant, usize),
}

impl LeftBehind {
    /// The group of a job that had this process.
    pub(super) fn of(pid: i32, next: (Instant, usize)) -> Self {
        LeftBehind { group: pid, next }
    }

    /// The number of the group.
    pub(super) fn group(&self) -> i32 {
        self.group
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// When [`signal_left_behind`](Self::signal_left_behind) is to be called.
    pub(super) fn next_left_behind(&self) -> Option<Instant> {
        let next = self.left_behind.iter().map(|left| left.next.0).min()?;
        let is_all = self.running == 0 && self.again.is_empty() && self.has_ended;
        Some(if is_all { next.min(self.os.now() + CHECK_PERIOD) } else { next })
    }

    /// Sends the signals that are due to what was left behind, and forgets what has ended.
    pub(super) fn signal_left_behind(&mut self, now: Instant) {
        let (os, schedule) = (&mut self.os, &self.schedule);
        self.left_behind.retain_mut(|left| {
            if os.is_gone(left.group) {
                return false;
            }
            let (moment, place) = left.next;
            if moment > now {
                return true;
            }
            let Some((signal, next)) = schedule.signal_at(place, now) else { return false };
            os.signal_rest(left.group, signal);
            match next {
                Some(next) => left.next = (next, place + 1),
                None => return false,
            }
            true
        });
    }
}
