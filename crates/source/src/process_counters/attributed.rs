//! CPU time of all processes, living and exited, each counted once.
//!
//! Costs a lookup in a hash map for each process of a pass and for each exit, some 30 ns.
//!
//! A pass over all processes takes time, and exit events arrive meanwhile.  The sum must neither
//! count a process twice nor lose one that exits between two passes.  [`AttributedCpuTime`]
//! therefore keeps what it has counted of each process, and adds only what is more than that.  A
//! pass gives the usage of a living process so far; an exit event gives its total usage, and
//! removes its entry.  The sum does not depend on which comes first, and it never decreases.
//! Three cases need rules:
//!
//! * *A pass sees a process whose exit event has been read* (a zombie, or one that is exiting).
//!   It would be counted again with its whole time.  Therefore a pass leaves out every process all
//!   threads of which are exiting (`PF_EXITING`): the kernel sets this before the exit event.
//! * *A process exits after the ring was read and before the pass begins.*  Its entry stays until
//!   its exit event is read at the next tick; only what it used last is counted late.
//! * *An exit event is lost.*  The entry is removed after a whole further pass has not seen the
//!   process, and what it used after it was last seen shows as unattributed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Entries kept.  The kernel has no more than 4,194,304 processes; a million entries take 48 MB,
/// and the CPU time of processes beyond that stays unattributed.
const ACCOUNTS_MAX: usize = 1 << 20;

/// The counted CPU time of each living process, and the sum.
#[derive(Debug, Default)]
pub struct AttributedCpuTime {
    accounts: HashMap<(u32, u64), Account, BuildHasherDefault<KeyHasher>>,
    attributed_ns: u64,
    /// The number of passes begun.
    pass: u64,
    /// The number of processes in the current or latest pass.
    seen: usize,
}

#[derive(Debug)]
struct Account {
    counted_ns: u64,
    pass: u64,
}

impl AttributedCpuTime {
    /// Begins a pass over all processes.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
        self.seen = 0;
    }

    /// Adds a living process: its id and start time (from [`start_ticks`]), and the CPU time of all
    /// its threads so far, including exited ones.
    ///
    /// Must not be called for a process whose threads all have `PF_EXITING`.
    #[inline]
    pub fn living(&mut self, pid: i32, start_ticks: u64, run_ns: u64) {
        let room = self.accounts.len() < ACCOUNTS_MAX;
        let key = (pid.cast_unsigned(), start_ticks);
        let pass = self.pass;
        if let Some(account) = self.accounts.get_mut(&key) {
            // A thread that exited during the pass may be neither among the living ones nor in
            // the group's sum: then the value is smaller, and the rest is counted next time.
            self.attributed_ns =
                self.attributed_ns.saturating_add(run_ns.saturating_sub(account.counted_ns));
            account.counted_ns = account.counted_ns.max(run_ns);
            self.seen += usize::from(account.pass != pass);
            account.pass = pass;
        } else if room {
            self.attributed_ns = self.attributed_ns.saturating_add(run_ns);
            self.accounts.insert(key, Account { counted_ns: run_ns, pass });
            self.seen += 1;
        }
    }

    /// Ends a pass: removes processes that were neither in it nor in the previous one.
    pub fn end_pass(&mut self) {
        if self.accounts.len() > self.seen {
            let pass = self.pass;
            self.accounts.retain(|_, account| account.pass + 1 >= pass);
        }
    }

    /// Adds the total usage of a process that exited.  Returns what is now counted of it.
    #[inline]
    pub fn ended(&mut self, pid: i32, start_ticks: u64, run_ns: u64) -> u64 {
        let counted_ns = match self.accounts.remove(&(pid.cast_unsigned(), start_ticks)) {
            Some(account) => account.counted_ns,
            None => 0,
        };
        self.used_at_its_end(run_ns.saturating_sub(counted_ns));
        run_ns.max(counted_ns)
    }

    /// Adds further usage of a process after its exit event, or of one that was never seen.
    #[inline]
    pub fn used_at_its_end(&mut self, more_ns: u64) {
        // Before the first pass the usage before the start of the recorder is not known.
        if self.pass > 0 {
            self.attributed_ns = self.attributed_ns.saturating_add(more_ns);
        }
    }

    /// The start time of the process with this id, if a known one started within `apart` ticks of
    /// `about_ticks`.
    pub fn start_of(&self, pid: i32, about_ticks: u64, apart: u64) -> Option<u64> {
        let near = about_ticks.saturating_sub(apart)..=about_ticks.saturating_add(apart);
        let mut near =
            near.filter(|&ticks| self.accounts.contains_key(&(pid.cast_unsigned(), ticks)));
        near.next()
    }

    /// CPU time of all processes so far: of living ones since they started, of exited ones since
    /// the first pass.  `None` before the first pass.
    pub fn attributed_ns(&self) -> Option<u64> {
        (self.pass > 0).then_some(self.attributed_ns)
    }
}

/// The start of a process as in [`AttributedCpuTime`] and in the names of rows: in ticks of 10 ms,
/// the resolution of `/proc`.
#[inline]
pub fn start_ticks(start_boottime_ns: u64) -> u64 {
    start_boottime_ns / NANOSECONDS_A_TICK
}

/// The start of a tick, in nanoseconds since boot.
#[inline]
pub(crate) fn start_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(NANOSECONDS_A_TICK)
}

/// A tick of `USER_HZ`, which is 100 on all architectures that whit supports.
pub(crate) const NANOSECONDS_A_TICK: u64 = 1_000_000_000 / TICKS_A_SECOND;

/// `USER_HZ` itself.
pub(crate) const TICKS_A_SECOND: u64 = 100;

/// A hash of two integers from the kernel.  It needs no random key: a process cannot choose its
/// start time.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        // Multiply by an odd number with evenly distributed bits, then fold the upper half into
        // the lower one, which selects the bucket.
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_tells_first_the_sum_is_the_same() {
        let mut attributed = AttributedCpuTime::default();
        assert_eq!(attributed.attributed_ns(), None);
        // Exited before the first pass: how much it used before the recorder started is unknown.
        attributed.ended(9, 9, 1_000_000);
        attributed.begin_pass();
        attributed.living(1, 5, 100);
        attributed.living(2, 5, 200);
        attributed.end_pass();
        assert_eq!(attributed.attributed_ns(), Some(300));
        // One exits, an id is reused, one lives between two passes.
        attributed.ended(2, 5, 250);
        attributed.ended(3, 7, 40);
        attributed.begin_pass();
        attributed.living(1, 5, 110);
        attributed.living(2, 8, 1);
        attributed.end_pass();
        assert_eq!(attributed.attributed_ns(), Some(100 + 250 + 40 + 10 + 1));
    }

    #[test]
    fn an_end_between_drain_and_pass_is_told_a_tick_later_and_counted_once() {
        let mut attributed = AttributedCpuTime::default();
        for _ in 0..2 {
            attributed.begin_pass();
            attributed.living(1, 5, 100);
            attributed.end_pass();
        }
        // It exited after the ring was drained: the pass does not see it, and its entry stays.
        attributed.begin_pass();
        attributed.end_pass();
        attributed.ended(1, 5, 130);
        assert_eq!(attributed.attributed_ns(), Some(130));
    }

    #[test]
    fn a_lost_end_leaves_no_account_and_takes_nothing_back() {
        let mut attributed = AttributedCpuTime::default();
        attributed.begin_pass();
        attributed.living(1, 5, 100);
        attributed.end_pass();
        for _ in 0..3 {
            attributed.begin_pass();
            attributed.living(7, 1, 10);
            attributed.end_pass();
        }
        assert_eq!(attributed.attributed_ns(), Some(110));
        assert_eq!(attributed.accounts.len(), 1);
    }

    #[test]
    fn numbers_that_make_no_sense_do_not_overflow() {
        let mut attributed = AttributedCpuTime::default();
        attributed.begin_pass();
        attributed.living(1, 5, u64::MAX);
        attributed.living(2, 5, u64::MAX);
        attributed.living(2, 5, u64::MAX);
        attributed.end_pass();
        attributed.ended(3, 5, u64::MAX);
        assert_eq!(attributed.attributed_ns(), Some(u64::MAX));
    }

    #[test]
    fn a_sum_that_goes_back_is_not_taken_back() {
        let mut attributed = AttributedCpuTime::default();
        for run_ns in [100, 60, 120] {
            attributed.begin_pass();
            attributed.living(1, 5, run_ns);
            attributed.end_pass();
        }
        assert_eq!(attributed.attributed_ns(), Some(120));
    }
}
