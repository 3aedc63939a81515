//! Which running jobs are ended and suspended, and by which signals.

use std::cmp::Reverse;
use std::time::Instant;

use super::Schedule;
use super::messages::{Action, EndReason};
use super::running::{Fate, Job};

impl Schedule {
    /// Suspends all but the oldest `keep` jobs, and continues those.
    pub(super) fn suspend_all_but(&mut self, keep: u32) {
        if keep == u32::MAX && self.suspended == 0 {
            return;
        }
        let mut kept = 0;
        let slots: Vec<u32> = self
            .running
            .oldest_first()
            .filter(|job| job.fate == Fate::Runs)
            .map(|job| job.slot)
            .collect();
        for slot in slots {
            let Some(job) = self.running.get_mut(slot) else { continue };
            let suspend = kept >= keep;
            kept += 1;
            if job.suspended != suspend {
                job.suspended = suspend;
                let signal = if suspend { libc::SIGSTOP } else { libc::SIGCONT };
                self.actions.push(Action::Signal { slot, seq: job.seq, signal });
                self.suspended = if suspend { self.suspended + 1 } else { self.suspended - 1 };
            }
        }
    }

    /// Ends the youngest job that is not being ended, to be run again later.  A job that runs alone
    /// has no other to wait for: it fails.
    pub(super) fn end_youngest(&mut self, reason: EndReason, now: Instant) {
        let fate = if self.running.len() == 1 { Fate::Killed } else { Fate::Requeued };
        let youngest = self.running.youngest_first().find(|job| job.fate == Fate::Runs);
        if let Some(&Job { slot, seq, .. }) = youngest {
            self.actions.push(Action::Warn { slot, seq, reason });
            self.end(slot, fate, now);
        }
    }

    /// Ends the jobs that have exceeded the timeout.
    pub(super) fn end_late(&mut self, now: Instant) {
        let Some(limit) = self.timeout.get() else { return };
        loop {
            let oldest = self.running.oldest_first().find(|job| job.fate == Fate::Runs);
            let late = oldest.filter(|job| now.duration_since(job.started) >= limit);
            let Some(&Job { slot, seq, .. }) = late else { return };
            self.actions.push(Action::Warn { slot, seq, reason: EndReason::TimedOut });
            self.end(slot, Fate::Killed, now);
        }
    }

    /// Begins to end a job; a job that is being ended only changes its fate.
    pub(super) fn end(&mut self, slot: u32, fate: Fate, now: Instant) {
        let Some(job) = self.running.get_mut(slot) else { return };
        let begun = job.fate != Fate::Runs;
        job.fate = fate;
        if !begun {
            let serial = job.serial;
            self.signal(slot, serial, now);
        }
    }

    /// Sends the signals that are due to the jobs that are being ended.
    pub(super) fn signal_next(&mut self, now: Instant) {
        while let Some(Reverse((moment, slot, serial))) = self.terminations.peek().copied()
            && moment <= now
        {
            self.terminations.pop();
            self.signal(slot, serial, now);
        }
    }

    /// The next signal of the job in a slot that is being ended: when, and its place in the sequence.
    pub fn next_signal(&self, slot: u32) -> Option<(Instant, usize)> {
        let job = self.running.get(slot).filter(|job| job.fate != Fate::Runs)?;
        let mut next = self.terminations.iter();
        let Reverse((moment, ..)) =
            next.find(|Reverse((_, other, serial))| (*other, *serial) == (slot, job.serial))?;
        Some((*moment, job.step))
    }

    /// The signal at a place of the sequence, and when the next one is due.
    pub fn signal_at(&self, place: usize, now: Instant) -> Option<(i32, Option<Instant>)> {
        self.term_sequence.step(place, now)
    }

    /// Sends a job its next signal, unless it has ended meanwhile.
    fn signal(&mut self, slot: u32, serial: u64, now: Instant) {
        let Some(job) = self.running.get_mut(slot).filter(|job| job.serial == serial) else {
            return;
        };
        let Some((signal, next)) = self.term_sequence.step(job.step, now) else { return };
        job.step += 1;
        let seq = job.seq;
        self.actions.push(Action::Signal { slot, seq, signal });
        if job.suspended {
            // A suspended job handles no signal but KILL until it continues.
            job.suspended = false;
            self.suspended -= 1;
            self.actions.push(Action::Signal { slot, seq, signal: libc::SIGCONT });
        }
        if let Some(moment) = next {
            self.terminations.push(Reverse((moment, slot, serial)));
        }
    }
}
