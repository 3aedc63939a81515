//! CPU time of all processes, living and exited, each counted once.
//!
//! Costs a lookup in a hash map for each process of a pass and for each exit, some 30 ns.
//!
//! A pass over all processes takes time, and exit events arrive beside it.  The sum must neither
//! count a process twice nor lose one that exits between two passes.  [`AttributedCpuTime`]
//! therefore keeps what it has counted of each process, and adds only what is more than that.  A
//! pass gives what a living process has used so far; an exit event gives what it used in all, and
//! removes its entry.  The sum is the same whichever comes first, and it never goes back.
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

/// What has been counted of each living process, and the sum.
#[derive(Debug, Default)]
pub struct AttributedCpuTime {
    accounts: HashMap<(u32, u64), Account, BuildHasherDefault<KeyHasher>>,
    attributed_ns: u64,
    /// Passes begun.
    pass: u64,
    /// Accounts of the pass that is under way, or of the latest.
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

    /// A living process, by its number and the time it began (as [`start_ticks`] makes it), and
    /// the CPU time of all its threads so far, ended ones included.
    ///
    /// Must not be called for a process all threads of which have `PF_EXITING`.
    #[inline]
    pub fn living(&mut self, pid: i32, start_ticks: u64, run_ns: u64) {
        let room = self.accounts.len() < ACCOUNTS_MAX;
        let key = (pid.cast_unsigned(), start_ticks);
        let pass = self.pass;
        if let Some(account) = self.accounts.get_mut(&key) {
            // A thread that ended within the pass may have been seen neither as living nor in the
            // group's sum: then there is less than before, and the rest comes next time.
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

    /// Ends a pass: forgets who was seen neither in it nor in the one before.
    pub fn end_pass(&mut self) {
        if self.accounts.len() > self.seen {
            let pass = self.pass;
            self.accounts.retain(|_, account| account.pass + 1 >= pass);
        }
    }

    /// A process has ended, having used so much in all.  Gives what has now been counted of it.
    #[inline]
    pub fn ended(&mut self, pid: i32, start_ticks: u64, run_ns: u64) -> u64 {
        let counted_ns = match self.accounts.remove(&(pid.cast_unsigned(), start_ticks)) {
            Some(account) => account.counted_ns,
            None => 0,
        };
        self.used_at_its_end(run_ns.saturating_sub(counted_ns));
        run_ns.max(counted_ns)
    }

    /// A process whose end was told, or one that was never seen, has used this much more.
    #[inline]
    pub fn used_at_its_end(&mut self, more_ns: u64) {
        // Before the first pass nobody knows what was used before the recorder began.
        if self.pass > 0 {
            self.attributed_ns = self.attributed_ns.saturating_add(more_ns);
        }
    }

    /// When the process with this number began, if one is known that began no more than `apart`
    /// ticks before or after `about_ticks`.
    pub fn start_of(&self, pid: i32, about_ticks: u64, apart: u64) -> Option<u64> {
        let near = about_ticks.saturating_sub(apart)..=about_ticks.saturating_add(apart);
        let mut near =
            near.filter(|&ticks| self.accounts.contains_key(&(pid.cast_unsigned(), ticks)));
        near.next()
    }

    /// CPU time of all processes so far: of the living since they began, of the ended since the
    /// first pass.  `None` before the first pass.
    pub fn attributed_ns(&self) -> Option<u64> {
        (self.pass > 0).then_some(self.attributed_ns)
    }
}

/// The start of a process as [`AttributedCpuTime`] and the names of rows have it: ticks of 10 ms, which is
/// all that `/proc` tells.
#[inline]
pub fn start_ticks(start_boottime_ns: u64) -> u64 {
    start_boottime_ns / NANOSECONDS_A_TICK
}

/// The time since boot at which a tick begins.
#[inline]
pub(crate) fn start_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(NANOSECONDS_A_TICK)
}

/// A tick of `USER_HZ`, which is 100 wherever `/proc` is.
pub(crate) const NANOSECONDS_A_TICK: u64 = 1_000_000_000 / TICKS_A_SECOND;

/// `USER_HZ` itself.
pub(crate) const TICKS_A_SECOND: u64 = 100;

/// A hash of two integers that comes from the kernel, not from an enemy: a process cannot choose
/// the time it began.
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
        // A multiplication by an odd number with bits all over; the upper half folded into the
        // lower, which the table looks at.
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
        // Ended before the first look: nobody knows how much of it was before the recorder.
        attributed.ended(9, 9, 1_000_000);
        attributed.begin_pass();
        attributed.living(1, 5, 100);
        attributed.living(2, 5, 200);
        attributed.end_pass();
        assert_eq!(attributed.attributed_ns(), Some(300));
        // One ends, a number is used again, one lives between two looks.
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
        // It ended after the ring was emptied: the pass does not see it, and keeps its account.
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
