//! The tasks that were there at the reading before, in the order of their numbers, so that a
//! reading in the same order finds each by looking at the next one: no search, no hash.

use bpf::CpuTime;
use procfs::pid_facts::Facts;

use super::options::{Candidate, Choice, ProcessOptions};
use crate::instance::{RowName, TASK_BYTES};

/// Counters of a task that must not go back.
pub(super) const SUMS: usize = 13;

/// What stays with a task from reading to reading.
#[derive(Debug, Default)]
pub(super) struct KnownTask {
    pub(super) pid: i32,
    pub(super) start: u64,
    name: RowName<TASK_BYTES>,
    /// What changes when it begins another program, as far as the way can tell.
    pub(super) exec: u64,
    /// As of which `exec` facts were asked for, and whether they have come.
    pub(super) facts_of: u64,
    pub(super) facts_are_known: bool,
    pub(super) facts: Facts,
    pub(super) cgroup: u64,
    pub(super) uid: Option<u32>,
    /// The user's name, and the state of the list that it comes from.
    pub(super) user: Vec<u8>,
    pub(super) user_generation: u64,
    pub(super) parent: i32,
    /// Threads it had when it was last looked at.
    pub(super) threads: u64,
    /// What was decided about this program.
    pub(super) choice: Choice,
    /// CPU time as it was shown, and the exact time that it was made of.
    pub(super) shown: CpuTime,
    pub(super) run_ns: u64,
    pub(super) sums: [u64; SUMS],
    /// The row that it got, [`NO_ROW`] if none.
    pub(super) row: usize,
}

/// The `exec` of a task of which nothing is known.
pub(super) const NO_PROGRAM: u64 = u64::MAX;

/// See [`KnownTask::row`].
pub(super) const NO_ROW: usize = usize::MAX;

impl KnownTask {
    /// The name of its row.
    #[inline]
    pub(super) fn name(&self) -> &[u8] {
        self.name.bytes()
    }

    /// Forgets what was known of the program that it ran before.
    pub(super) fn begin_program(&mut self, exec: u64, uid: Option<u32>) {
        self.exec = exec;
        self.uid = uid;
        self.user_generation = 0;
        self.facts_of = NO_PROGRAM;
        self.facts_are_known = false;
    }

    /// Decides about the program that it runs, by what is known of it so far.
    pub(super) fn decide(&mut self, options: &ProcessOptions, command: &[u8]) -> Choice {
        let Some(choose) = &options.choose else {
            self.choice = Choice::Keep;
            return self.choice;
        };
        let command_line =
            if self.facts_are_known { self.facts.command_line.as_deref() } else { None };
        let choice = choose(&Candidate {
            pid: self.pid,
            parent: self.parent,
            uid: self.uid,
            user: &self.user,
            command,
            command_line,
        });
        self.choice = match choice {
            // This process has no command line that could be read.
            Choice::AskCommandLine if self.facts_are_known => Choice::Leave,
            other => other,
        };
        self.choice
    }

    fn begin(&mut self, pid: i32, start: u64) {
        *self = KnownTask {
            pid,
            start,
            name: RowName::of_task(pid, start),
            row: NO_ROW,
            exec: NO_PROGRAM,
            facts_of: NO_PROGRAM,
            // The memory of texts is worth keeping: processes come and go.
            user: std::mem::take(&mut self.user),
            ..KnownTask::default()
        };
        self.user.clear();
    }
}

/// A task's task in the order.
#[derive(Clone, Copy, Debug)]
struct OrderedTask {
    key: u64,
    start: u64,
    slot: u32,
}

/// All tasks of the reading before and of this one.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    slots: Vec<KnownTask>,
    free: Vec<u32>,
    /// See [`TaskTable::freed`].
    freed: Vec<u32>,
    before: Vec<OrderedTask>,
    now: Vec<OrderedTask>,
    cursor: usize,
}

impl TaskTable {
    /// Begins a reading.
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.clear();
        self.freed.clear();
        self.cursor = 0;
    }

    /// Whether the reading before had this task; keys must come in ascending order.
    #[inline]
    pub(super) fn had(&mut self, key: u64, start: u64) -> bool {
        self.pass_over(key);
        self.before.get(self.cursor).is_some_and(|task| task.key == key && task.start == start)
    }

    /// The next task of the reading before if it has this key; keys must come in ascending order.
    #[inline]
    pub(super) fn peek(&mut self, key: u64) -> Option<(usize, &KnownTask)> {
        self.pass_over(key);
        let task = self.before.get(self.cursor).filter(|task| task.key == key)?;
        Some((task.slot as usize, &self.slots[task.slot as usize]))
    }

    /// Takes over the task that [`peek`](Self::peek) gave, without a look at it.
    pub(super) fn keep(&mut self) {
        if let Some(task) = self.before.get(self.cursor) {
            self.now.push(*task);
            self.cursor += 1;
        }
    }

    /// The numbers of the tasks of the reading before, for who looks for no others.
    pub(super) fn pids_before(&self) -> impl Iterator<Item = i32> {
        self.before.iter().map(|task| self.slots[task.slot as usize].pid)
    }

    /// Slots that are free since the reading began; some may have been taken again.
    pub(super) fn freed(&self) -> &[u32] {
        &self.freed
    }

    /// The task's slot, and whether it is new; keys must come in ascending order.
    #[inline]
    pub(super) fn take(&mut self, key: u64, pid: i32, start: u64) -> (usize, bool) {
        self.pass_over(key);
        let held = self.before.get(self.cursor).copied();
        if let Some(task) = held
            && task.key == key
        {
            self.cursor += 1;
            if task.start == start {
                self.now.push(task);
                return (task.slot as usize, false);
            }
            self.free.push(task.slot);
            self.freed.push(task.slot);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(KnownTask::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize].begin(pid, start);
        self.now.push(OrderedTask { key, start, slot });
        (slot as usize, true)
    }

    /// Passes over those that are gone.
    #[inline]
    fn pass_over(&mut self, key: u64) {
        while let Some(task) = self.before.get(self.cursor)
            && task.key < key
        {
            self.free.push(task.slot);
            self.freed.push(task.slot);
            self.cursor += 1;
        }
    }

    /// Ends a reading: what has not been taken is gone.
    pub(super) fn end(&mut self) {
        self.pass_over(u64::MAX);
    }

    /// The slot of a task of this reading, or else of the one before.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        let in_order = |tasks: &[OrderedTask]| {
            let index = tasks.binary_search_by_key(&key, |task| task.key).ok()?;
            Some(tasks[index].slot as usize)
        };
        in_order(&self.now).or_else(|| in_order(&self.before[self.cursor.min(self.before.len())..]))
    }

    /// What is known of the task in a slot.
    #[inline]
    pub(super) fn at(&mut self, slot: usize) -> &mut KnownTask {
        &mut self.slots[slot]
    }

    /// Whether there has been a reading.
    pub(super) fn is_new(&self) -> bool {
        self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(task_table: &mut TaskTable, tasks: &[(i32, u64)]) -> Vec<bool> {
        task_table.begin();
        let new = |&(pid, start): &(i32, u64)| {
            task_table.take(u64::from(pid.unsigned_abs()), pid, start).1
        };
        let new = tasks.iter().map(new).collect();
        task_table.end();
        new
    }

    #[test]
    fn a_number_used_again_is_another_task() {
        let mut task_table = TaskTable::default();
        assert_eq!(reading(&mut task_table, &[(1, 5), (7, 9)]), [true, true]);
        assert_eq!(reading(&mut task_table, &[(1, 5), (7, 10)]), [false, true]);
        assert_eq!(reading(&mut task_table, &[(7, 10), (8, 1)]), [false, true]);
        let slot = task_table.find(7).unwrap();
        assert_eq!(task_table.at(slot).name(), b"7\x1f10");
        assert_eq!(task_table.find(1), None);
        assert!(task_table.slots.len() <= 3, "slots are used again");
    }
}
