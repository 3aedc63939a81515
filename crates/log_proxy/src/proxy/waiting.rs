//! How long a proxy may sleep, and what must be able to end that sleep.
//!
//! With work in its rings it looks every few milliseconds.  Once all is done, the connection, a new
//! file or the next record of a process ends the sleep, and only housekeeping has a time.

use std::time::Duration;

use log_protocol::clock;

use super::{HOUSEKEEPING, HOUSEKEEPING_IDLE, Proxy, QUIET};

impl Proxy {
    /// Waits for something to do, `idle` at most; until the next housekeeping if all that can come ends a
    /// sleep: new files, and the next record of each process.
    pub fn wait(&mut self, idle: Duration) {
        let is_done = (self.link.is_open() || self.is_local())
            && self.unsynced_since.is_none()
            && !self.syncing.is_busy
            && self.refusal.is_none()
            && !self.local.is_stuck()
            && idle >= self.settings.idle
            && self.waking.is_complete();
        let mut idle = if is_done && self.will_all_wake() { self.housekeeping() } else { idle };
        if let Some(until) = self.link.until_next() {
            idle = idle.min(until);
        }
        if self.unsynced_since.is_some() && !self.is_local() {
            idle = idle.min(self.settings.sync.unwrap_or(idle));
        }
        if !self.waking.prepare(idle) {
            // Producers ring from now on; what was written before is found by one more round.
            self.looked_at_flushes = None;
        } else {
            let is_sent = self.link.open().is_none_or(|open| open.is_sent());
            self.waking.sleep(self.link.connection(), !is_sent, idle);
        }
    }

    /// How long housekeeping can wait.
    fn housekeeping(&self) -> Duration {
        let has_work = !self.host.sources.is_empty()
            || !self.host.rings.is_empty()
            || !self.lasting_due.is_empty()
            || !self.done.is_empty()
            || !self.gaps.is_empty();
        if has_work { HOUSEKEEPING } else { HOUSEKEEPING_IDLE }
    }

    /// Whether the next record of every process ends a sleep.  After some time without work they are
    /// asked for it; the look after the next sleep finds what came before they saw that.
    fn will_all_wake(&self) -> bool {
        if self.host.rings.is_empty() {
            return true;
        }
        if clock::now() - self.worked < QUIET {
            return false;
        }
        let mut is_all = true;
        for source in self.host.sources.values().filter(|source| !source.is_dead) {
            let will_wake = source.file.will_wake();
            if matches!(will_wake, Ok(false)) {
                let _ = source.file.ask_to_wake();
            }
            // A file that its process has cut: its rings are looked at as before.
            is_all &= will_wake.unwrap_or(false);
        }
        is_all
    }
}
