//! Infers the usage of exited children from the child times of their parents, if there are no exit
//! events.
//!
//! When a parent waits for a child, the kernel adds the total usage of the child, and of the
//! child's own children, to the parent's child times.  From the growth of the child times since
//! the previous pass this module subtracts what passes have already shown of the children that are
//! gone.  The rest is the usage of children that no pass has seen, and the usage of others after
//! they were last seen.  It becomes one row per parent.  The number of children, their exit codes
//! and their users are unknown.
//!
//! Usage must not be shown twice.  If it is not clear which process the kernel charged with a
//! child, the child's shown usage is subtracted from every process that may have been charged:
//!
//! * *The parent still exists:* it was charged, or none (if it ignores `SIGCHLD`).
//! * *The parent is gone too:* one of its ancestors was charged; which one depends on the order of
//!   the exits.
//! * *The child exited during the pass*, after its parent had been read: the parent's child times
//!   include it only at the next pass, so what could not be subtracted stays owed until then.  A
//!   child with a lower id than its parent may have been read before its exit and the parent
//!   after it: such children are searched once more.
//!
//! Rows are therefore too small rather than too large.  One case is not detected: a process entered
//! a PID namespace from outside, and exited in the same interval as its parent.  The init process
//! of that namespace, which is not its ancestor, waited for it.
//!
//! Costs about 60 ns and 130 bytes per process and pass.

use std::collections::HashSet;

use super::attributed::{AttributedCpuTime, start_ns};

/// The most rows of one tick; the usage of further parents' children stays unattributed.
const ROWS_MAX: usize = 65_536;

/// The most ancestors of a process that are followed.
const ANCESTORS_MAX: usize = 64;

/// Resource usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// A process as read by a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessUsage {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// Ticks since boot.
    pub(crate) start: u64,
    pub(crate) command: [u8; 16],
    pub(crate) own: Used,
    /// Usage of children that it has waited for.
    pub(crate) children: Used,
    /// Usage still to be subtracted from the growth of `children`.
    pub(crate) owed: Used,
}

/// Usage of unknown children of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InferredUse {
    pub(crate) pid: i32,
    pub(crate) start: u64,
    pub(crate) command: [u8; 16],
    pub(crate) used: Used,
}

/// The latest two passes, and what is inferred from their difference.
#[derive(Debug, Default)]
pub(crate) struct Inference {
    /// Sorted by process id.
    before: Vec<ProcessUsage>,
    now: Vec<ProcessUsage>,
    /// The usage to subtract, for each of `now`.
    debts: Vec<Used>,
    gone: Vec<ProcessUsage>,
    found: Vec<InferredUse>,
    /// The starts of the latest two passes, on `CLOCK_BOOTTIME`.
    began_before_ns: Option<u64>,
    began_ns: Option<u64>,
}

impl Used {
    fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    fn is_nothing(&self) -> bool {
        *self == Used::default()
    }

    fn each(self, other: Used, both: impl Fn(u64, u64) -> u64) -> Used {
        Used {
            user_ns: both(self.user_ns, other.user_ns),
            system_ns: both(self.system_ns, other.system_ns),
            minor_faults: both(self.minor_faults, other.minor_faults),
            major_faults: both(self.major_faults, other.major_faults),
        }
    }

    fn and(self, other: Used) -> Used {
        self.each(other, u64::saturating_add)
    }

    /// The difference to `other`.  The kernel may count a tick first as user time and later as
    /// system time, so CPU time is subtracted from the sum of both.
    fn without(self, other: Used) -> Used {
        let rest = self.each(other, u64::saturating_sub);
        let cpu_ns = self.cpu_ns().saturating_sub(other.cpu_ns());
        let user_ns = rest.user_ns.min(cpu_ns);
        Used { user_ns, system_ns: cpu_ns - user_ns, ..rest }
    }
}

impl ProcessUsage {
    fn is(&self, other: &ProcessUsage) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }

    /// The usage shown of it and of its children.
    fn shown(&self) -> Used {
        self.own.and(self.children)
    }
}

impl Inference {
    /// Begins a pass, at this time since boot.
    pub(crate) fn begin(&mut self, boottime_ns: u64) {
        self.now.clear();
        self.found.clear();
        self.began_before_ns = self.began_ns;
        self.began_ns = Some(boottime_ns);
    }

    /// Adds a process, living or zombie, in any order.
    #[inline]
    pub(crate) fn saw(&mut self, seen: ProcessUsage) {
        self.now.push(seen);
    }

    /// Discards an incomplete pass.
    pub(crate) fn abandon(&mut self) {
        self.began_ns = self.began_before_ns;
    }

    /// Ends a complete pass: computes the rows, whose usage counts as attributed.  `lives` says
    /// whether a process with this id still exists.
    pub(crate) fn end(&mut self, attributed: &mut AttributedCpuTime, lives: impl Fn(i32) -> bool) {
        // Usually already sorted.
        self.now.sort_unstable_by_key(|seen| seen.pid);
        self.now.dedup_by_key(|seen| seen.pid);
        if let Some(before_ns) = self.began_before_ns {
            self.take_gone(lives);
            self.charge();
            for index in 0..self.now.len() {
                let cpu_ns = self.settle(index, before_ns);
                attributed.used_at_its_end(cpu_ns);
            }
        }
        std::mem::swap(&mut self.before, &mut self.now);
    }

    /// Finds the processes that exited since the previous pass or during this one.
    fn take_gone(&mut self, lives: impl Fn(i32) -> bool) {
        self.gone.clear();
        let has_grown = |pid: i32| {
            let Some(parent) = find(&self.now, pid).map(|index| &self.now[index]) else {
                return false;
            };
            let before = find(&self.before, pid).map(|index| self.before[index].children);
            before.is_none_or(|before| before != parent.children)
        };
        let went = |seen: &&ProcessUsage| seen.parent > seen.pid && has_grown(seen.parent);
        let went = self.now.iter().filter(went).filter(|seen| !lives(seen.pid));
        self.gone.extend(went);
        let went: HashSet<i32> = self.gone.iter().map(|seen| seen.pid).collect();
        if !went.is_empty() {
            self.now.retain(|seen| !went.contains(&seen.pid));
        }
        let mut now = self.now.iter().peekable();
        for seen in &self.before {
            while now.next_if(|other| other.pid < seen.pid).is_some() {}
            let is_here = now.peek().is_some_and(|other| other.is(seen));
            if !is_here && !went.contains(&seen.pid) {
                self.gone.push(*seen);
            }
        }
    }

    /// Charges the shown usage of each exited process to every process that may have waited for it.
    fn charge(&mut self) {
        self.debts.clear();
        self.debts.resize(self.now.len(), Used::default());
        for gone in &self.gone {
            let mut child = *gone;
            for above in 0..ANCESTORS_MAX {
                let parent = find(&self.before, child.parent).map(|index| self.before[index]);
                let here = find(&self.now, child.parent);
                let here = here.filter(|&at| parent.is_none_or(|parent| parent.is(&self.now[at])));
                if let Some(index) = here {
                    self.debts[index] = self.debts[index].and(gone.shown());
                    if above == 0 {
                        break;
                    }
                }
                let Some(parent) = parent else { break };
                child = parent;
            }
        }
    }

    /// Adds the row of a process if its children used more than is known; returns the CPU time.
    fn settle(&mut self, index: usize, before_ns: u64) -> u64 {
        let seen = &mut self.now[index];
        let before = find(&self.before, seen.pid).map(|index| &self.before[index]);
        let before = before.filter(|before| before.is(seen));
        let (grown, owed) = match before {
            Some(before) => {
                // A thread that exited during the pass may be missing from the sum.
                seen.own = seen.own.each(before.own, u64::max);
                (seen.children.each(before.children, u64::saturating_sub), before.owed)
            }
            // A new process: its child times are from this interval.
            None if start_ns(seen.start.saturating_add(1)) > before_ns => {
                (seen.children, Used::default())
            }
            // The previous pass skipped it: the age of its child times is unknown.
            None => return 0,
        };
        let debt = self.debts[index];
        let used = grown.without(debt.and(owed));
        // Usage owed since the previous pass is now dropped.
        let owed = debt.and(owed).without(grown);
        let user_ns = owed.cpu_ns().min(debt.cpu_ns());
        seen.owed = Used { user_ns, system_ns: 0, ..owed.each(debt, u64::min) };
        if used.is_nothing() || self.found.len() >= ROWS_MAX {
            return 0;
        }
        let ProcessUsage { pid, start, command, .. } = *seen;
        self.found.push(InferredUse { pid, start, command, used });
        used.cpu_ns()
    }

    /// Takes the rows of the latest pass.
    pub(crate) fn take_found(&mut self) -> std::vec::Drain<'_, InferredUse> {
        self.found.drain(..)
    }
}

/// The index of a process by its id.
fn find(order: &[ProcessUsage], pid: i32) -> Option<usize> {
    order.binary_search_by_key(&pid, |seen| seen.pid).ok()
}

#[cfg(test)]
mod tests {
    use sample::Table;

    use super::*;
    use crate::exit::{self, inferred::write_rows};

    const SECOND: u64 = 1_000_000_000;

    fn used(cpu: u64) -> Used {
        Used { user_ns: cpu, system_ns: 2 * cpu, minor_faults: cpu, major_faults: 0 }
    }

    /// A process that began long ago: number, parent, what it used, what its children did.
    fn seen(pid: i32, parent: i32, own: u64, children: u64) -> ProcessUsage {
        let (own, children) = (used(own), used(children));
        ProcessUsage {
            pid,
            parent,
            start: 7,
            command: *b"make\0\0\0\0\0\0\0\0\0\0\0\0",
            own,
            children,
            ..ProcessUsage::default()
        }
    }

    struct Passes {
        inference: Inference,
        attributed: AttributedCpuTime,
        count: u64,
    }

    impl Passes {
        fn new() -> Self {
            let mut attributed = AttributedCpuTime::default();
            attributed.begin_pass();
            Passes { inference: Inference::default(), attributed, count: 0 }
        }

        /// What a pass over these tells, by parent, in units of [`used`].
        fn add_pass(&mut self, all: &[ProcessUsage]) -> Vec<(i32, u64)> {
            self.add_pass_when(all, |_| true)
        }

        fn add_pass_when(
            &mut self,
            all: &[ProcessUsage],
            lives: impl Fn(i32) -> bool,
        ) -> Vec<(i32, u64)> {
            self.count += 1;
            self.inference.begin(1000 * SECOND * self.count);
            all.iter().for_each(|seen| self.inference.saw(*seen));
            let before = self.attributed.attributed_ns().unwrap();
            self.inference.end(&mut self.attributed, lives);
            let found = self.inference.found.iter();
            let sum: u64 = found.clone().map(|found| found.used.cpu_ns()).sum();
            assert_eq!(self.attributed.attributed_ns(), Some(before + sum));
            found.map(|found| (found.pid, found.used.cpu_ns() / 3)).collect()
        }
    }

    #[test]
    fn short_lives_show_at_their_parent_and_what_was_before_does_not() {
        let mut passes = Passes::new();
        assert_eq!(passes.add_pass(&[seen(1, 0, 5, 900), seen(10, 1, 5, 100)]), []);
        assert_eq!(passes.add_pass(&[seen(1, 0, 5, 900), seen(10, 1, 6, 140)]), [(10, 40)]);
        assert_eq!(passes.add_pass(&[seen(1, 0, 5, 900), seen(10, 1, 6, 140)]), []);
        let mut table = Table::new(exit::FIELDS.len());
        passes.add_pass(&[seen(1, 0, 5, 900), seen(10, 1, 6, 141)]);
        write_rows(&mut passes.inference, &mut table);
        assert_eq!((table.rows(), table.name(0)), (1, &b"children of 10\x1f7"[..]));
        assert_eq!(table.text(0, exit::COMMAND), Some(&b"children of make"[..]));
        assert_eq!(table.get(0, exit::USER_TIME), Some(1));
        assert_eq!(table.get(0, exit::EXIT_CODE), None);
        assert_eq!(table.get(0, exit::UID), None);
        write_rows(&mut passes.inference, &mut table);
        assert_eq!(table.rows(), 1, "told once");
    }

    #[test]
    fn what_was_shown_of_a_child_is_not_told_again() {
        let mut passes = Passes::new();
        passes.add_pass(&[seen(10, 1, 5, 100), seen(11, 10, 30, 20)]);
        // The child used 4 more and ended, and with it 20 that it had waited for long before.
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 100 + 34 + 20)]), [(10, 4)]);
    }

    #[test]
    fn a_parent_that_went_with_its_child_leaves_it_to_those_above() {
        let mut passes = Passes::new();
        let first = seen(1, 0, 0, 0);
        passes.add_pass(&[first, seen(5, 1, 1, 0), seen(10, 5, 5, 7), seen(11, 10, 30, 0)]);
        // 10 waited for 11 (which used 32 in all), then ended with 6, and 5 waited for it.
        assert_eq!(passes.add_pass(&[first, seen(5, 1, 1, 6 + 7 + 32)]), [(5, 3)]);
        let mut passes = Passes::new();
        passes.add_pass(&[first, seen(5, 1, 1, 0), seen(10, 5, 5, 7), seen(11, 10, 30, 0)]);
        // 10 ended first, and the first of all processes waited for 11.
        let first = seen(1, 0, 0, 32);
        assert_eq!(passes.add_pass(&[first, seen(5, 1, 1, 6 + 7)]), [(1, 2)], "rather too little");
    }

    #[test]
    fn a_child_that_goes_during_the_pass_is_taken_off_later_or_looked_for() {
        let mut passes = Passes::new();
        passes.add_pass(&[seen(10, 1, 5, 100), seen(11, 10, 30, 0)]);
        // Read before its child ended; the child is not there any more when its turn comes.
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 103)]), []);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 103 + 34)]), [(10, 7)]);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 103 + 35)]), [(10, 1)]);
        // The child has the lower number, and ended between its turn and its parent's.
        let mut passes = Passes::new();
        passes.add_pass(&[seen(9, 10, 30, 0), seen(10, 1, 5, 100)]);
        let all = [seen(9, 10, 31, 0), seen(10, 1, 5, 100 + 32)];
        assert_eq!(passes.add_pass_when(&all, |pid| pid != 9), [(10, 1)]);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 132)]), []);
    }

    #[test]
    fn a_child_that_nobody_waits_for_takes_nothing_off_for_ever() {
        let mut passes = Passes::new();
        passes.add_pass(&[seen(10, 1, 5, 100), seen(11, 10, 30, 0)]);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 100)]), []);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 100)]), []);
        assert_eq!(passes.add_pass(&[seen(10, 1, 5, 120)]), [(10, 20)]);
    }

    #[test]
    fn a_new_parent_counts_whole_and_one_that_was_passed_over_does_not() {
        let mut passes = Passes::new();
        passes.add_pass(&[seen(10, 1, 5, 100)]);
        // A number used again, by one that began since, 1,000 s after boot.
        let young = ProcessUsage { start: 150_000, ..seen(10, 1, 5, 40) };
        assert_eq!(passes.add_pass(&[young]), [(10, 40)]);
        assert_eq!(passes.add_pass(&[young, seen(20, 1, 1, 500)]), [], "as old as the machine");
        assert_eq!(passes.add_pass(&[young, seen(20, 1, 1, 501)]), [(20, 1)]);
    }

    #[test]
    fn nonsense_does_not_panic() {
        let mut passes = Passes::new();
        let all = [
            ProcessUsage { start: u64::MAX, ..seen(3, 3, u64::MAX / 4, u64::MAX / 4) },
            seen(i32::MIN, i32::MAX, 0, 0),
            seen(4, 5, 1, 1),
            seen(5, 4, 1, 1),
            seen(5, 4, 1, 1),
        ];
        let wild =
            Used { user_ns: u64::MAX, system_ns: u64::MAX, minor_faults: 1, major_faults: 2 };
        let all = all.map(|seen| ProcessUsage { children: wild, ..seen });
        passes.add_pass(&all);
        passes.inference.begin(0);
        passes.inference.saw(seen(5, 4, 1, 1));
        passes.inference.end(&mut passes.attributed, |_| false);
        passes.inference.abandon();
        write_rows(&mut passes.inference, &mut Table::new(exit::FIELDS.len()));
    }
}
