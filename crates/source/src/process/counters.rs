//! What the sources `process`, `exit` and `process_total` tell each other, and who of them has
//! counted which CPU time.
//!
//! Costs a look into a hash map for each process of a pass and for each end, some 30 ns.
//!
//! The CPU time of all processes must neither count one twice nor lose one that ends between two
//! looks, though a pass takes time and ends are told beside it.  So nothing is summed anew: the
//! [`Ledger`] keeps what it has counted of each process and adds only what is more than that,
//! whoever tells it.  A pass tells what a living process has used so far; an end tells what it
//! used in all, and closes its account.  Whichever comes first, the sum is the same, and it never
//! goes back.  Three things could still go wrong, and are kept out by rules:
//!
//! * *A pass sees a process whose end was already told* (a zombie, or one that is on its way out).
//!   It would open a new account with its whole time.  Therefore a pass must not tell the ledger
//!   of a process all threads of which have begun to end (`PF_EXITING`), which the kernel says
//!   before it tells the end.
//! * *A pass begins after the ring was emptied and a process ended in between.*  Its account stays
//!   open until its end is told at the next tick; only what it used last comes late.
//! * *An end is lost.*  Its account is forgotten after a whole further pass has not seen it, and
//!   what it used after it was last seen shows up as unattributed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use procfs::passwd::Users;

use crate::Counter;
use crate::exit::inferred::Inference;

/// Accounts kept.  The kernel has no more than 4,194,304 processes; a million accounts are 48 MB,
/// and who has more processes than that finds the rest unattributed.
const ACCOUNTS_MAX: usize = 1 << 20;

/// How processes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessWay {
    /// One pass of a BPF iterator.
    Iterator = 1,
    /// `/proc`, all of it.
    Proc = 2,
    /// `/proc`, as far as it may be read.
    Unprivileged = 3,
}

/// How ends are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWay {
    /// A ring that BPF programs fill.
    Bpf = 1,
    /// Taskstats over netlink.
    Taskstats = 2,
    /// They are not: what they used is read off their parents' child times.
    Inferred = 3,
}

/// What a pass over all processes came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTotals {
    /// Processes there were.
    pub processes: u64,
    /// Threads there were, those of processes with one included.
    pub threads: u64,
    /// Processes that ran or waited for a CPU.
    pub running: u64,
}

/// Counts of this recorder about all processes.  Who reads processes writes the first part, who
/// reads ends the second; `process_total` puts them into its row.
#[derive(Debug, Default)]
pub struct ProcessCounters {
    way: Counter,
    exit_way: Counter,
    totals: Mutex<Option<PassTotals>>,
    /// Command lines and the like that could not be read in time.
    pub facts_late: Counter,
    /// Programs begun.
    pub execs: Counter,
    /// Ends told.
    pub exits: Counter,
    /// Ends that happened of which nothing else is known.
    pub exits_lost: Counter,
    /// Programs begun of which the command line was not told.
    pub execs_lost: Counter,
    ledger: Mutex<Ledger>,
    inference: Mutex<Inference>,
    users: Arc<Mutex<Users>>,
    way_reason: Mutex<String>,
}

impl ProcessCounters {
    /// Says how processes are read.
    pub fn set_way(&self, way: ProcessWay) {
        self.way.set(way as u64);
    }

    /// Says why processes are read this way and not a better one.
    pub fn set_way_reason(&self, reason: impl Into<String>) {
        *self.way_reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.into();
    }

    /// Why processes are read this way and not a better one, and what is missing because of it;
    /// empty if nothing is.
    pub fn way_reason(&self) -> String {
        self.way_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what the pass of this tick came to; `None` if there was none, so that nobody takes an
    /// earlier one for it.
    pub fn set_totals(&self, totals: Option<PassTotals>) {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = totals;
    }

    /// What the latest pass came to; `None` if it failed, or processes are not read.
    pub fn totals(&self) -> Option<PassTotals> {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how ends are told; `None` if they are not.
    pub fn set_exit_way(&self, way: Option<ExitWay>) {
        self.exit_way.set(way.map_or(0, |way| way as u64));
    }

    /// How processes are read, as a word; `None` if they are not.
    pub fn way(&self) -> Option<&'static str> {
        match self.way.get() {
            1 => Some("iterator"),
            2 => Some("proc"),
            3 => Some("unprivileged"),
            _ => None,
        }
    }

    /// How ends are told, as a word; `None` if they are not.
    pub fn exit_way(&self) -> Option<&'static str> {
        match self.exit_way.get() {
            1 => Some("bpf"),
            2 => Some("taskstats"),
            3 => Some("inferred"),
            _ => None,
        }
    }

    /// Whether programs that begin are told too.
    pub fn tells_execs(&self) -> bool {
        self.exit_way.get() == ExitWay::Bpf as u64
    }

    /// Whether each end is told by itself.
    pub fn tells_exits(&self) -> bool {
        matches!(self.exit_way(), Some("bpf" | "taskstats"))
    }

    /// What a pass over all processes writes into, if it wants to be held against the one before.
    pub(crate) fn books(&self) -> Books<'_> {
        let is_inferred = self.exit_way.get() == ExitWay::Inferred as u64;
        Books { ledger: self.ledger(), inference: is_inferred.then(|| self.inference()) }
    }

    /// Names of users, for all who tell of processes.
    pub(crate) fn users(&self) -> Arc<Mutex<Users>> {
        self.users.clone()
    }

    /// What parents' child times tell.
    pub(crate) fn inference(&self) -> MutexGuard<'_, Inference> {
        self.inference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been counted of whom.  Take it once a pass, not once a process.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing that holds the lock leaves it half done.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pass writes into.
pub(crate) struct Books<'a> {
    pub(crate) ledger: MutexGuard<'a, Ledger>,
    /// Where ends are not told.
    pub(crate) inference: Option<MutexGuard<'a, Inference>>,
}

impl Books<'_> {
    /// Whether a pass tells the ledger of a process: of one that has begun to end only where nobody
    /// else tells of its end, and nothing else is known of what it used until its parent waits.
    pub(crate) fn counts(&self, lives: bool) -> bool {
        lives || self.inference.is_some()
    }

    /// Begins a pass over all processes.
    pub(crate) fn begin_pass(&mut self) {
        self.ledger.begin_pass();
        if let Some(inference) = &mut self.inference {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
            let rest_ns = u64::try_from(now.tv_nsec).unwrap_or(0);
            inference.begin(seconds.saturating_mul(1_000_000_000).saturating_add(rest_ns));
        }
    }

    /// Ends it; `whole` says whether it saw every process.
    pub(crate) fn end_pass(&mut self, whole: bool) {
        self.ledger.end_pass();
        match &mut self.inference {
            Some(inference) if whole => inference.end(&mut self.ledger, lives),
            Some(inference) => inference.abandon(),
            None => {}
        }
    }
}

/// Whether there is a process of this number, be it one that only waits to be waited for.
fn lives(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    let answer = pid.map(rustix::process::test_kill_process);
    !matches!(answer, None | Some(Err(rustix::io::Errno::SRCH)))
}

/// What has been counted of each living process, and the sum.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<(u32, u64), Account, BuildHasherDefault<Mixer>>,
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

impl Ledger {
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

/// The start of a process as [`Ledger`] and the names of rows have it: ticks of 10 ms, which is
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
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
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
        let mut ledger = Ledger::default();
        assert_eq!(ledger.attributed_ns(), None);
        // Ended before the first look: nobody knows how much of it was before the recorder.
        ledger.ended(9, 9, 1_000_000);
        ledger.begin_pass();
        ledger.living(1, 5, 100);
        ledger.living(2, 5, 200);
        ledger.end_pass();
        assert_eq!(ledger.attributed_ns(), Some(300));
        // One ends, a number is used again, one lives between two looks.
        ledger.ended(2, 5, 250);
        ledger.ended(3, 7, 40);
        ledger.begin_pass();
        ledger.living(1, 5, 110);
        ledger.living(2, 8, 1);
        ledger.end_pass();
        assert_eq!(ledger.attributed_ns(), Some(100 + 250 + 40 + 10 + 1));
    }

    #[test]
    fn an_end_between_drain_and_pass_is_told_a_tick_later_and_counted_once() {
        let mut ledger = Ledger::default();
        for _ in 0..2 {
            ledger.begin_pass();
            ledger.living(1, 5, 100);
            ledger.end_pass();
        }
        // It ended after the ring was emptied: the pass does not see it, and keeps its account.
        ledger.begin_pass();
        ledger.end_pass();
        ledger.ended(1, 5, 130);
        assert_eq!(ledger.attributed_ns(), Some(130));
    }

    #[test]
    fn a_lost_end_leaves_no_account_and_takes_nothing_back() {
        let mut ledger = Ledger::default();
        ledger.begin_pass();
        ledger.living(1, 5, 100);
        ledger.end_pass();
        for _ in 0..3 {
            ledger.begin_pass();
            ledger.living(7, 1, 10);
            ledger.end_pass();
        }
        assert_eq!(ledger.attributed_ns(), Some(110));
        assert_eq!(ledger.accounts.len(), 1);
    }

    #[test]
    fn numbers_that_make_no_sense_do_not_overflow() {
        let mut ledger = Ledger::default();
        ledger.begin_pass();
        ledger.living(1, 5, u64::MAX);
        ledger.living(2, 5, u64::MAX);
        ledger.living(2, 5, u64::MAX);
        ledger.end_pass();
        ledger.ended(3, 5, u64::MAX);
        assert_eq!(ledger.attributed_ns(), Some(u64::MAX));
    }

    #[test]
    fn a_sum_that_goes_back_is_not_taken_back() {
        let mut ledger = Ledger::default();
        for run_ns in [100, 60, 120] {
            ledger.begin_pass();
            ledger.living(1, 5, run_ns);
            ledger.end_pass();
        }
        assert_eq!(ledger.attributed_ns(), Some(120));
    }
}
