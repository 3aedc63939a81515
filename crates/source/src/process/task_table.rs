//! The tasks of the previous reading, sorted by id.  A reading in the same order finds each task as
//! the next one in the list, without a search or a hash.

use bpf::CpuTime;
use procfs::pid_facts::Facts;

use crate::instance::{RowName, TASK_BYTES};
use crate::process_options::{Candidate, Choice, ProcessOptions};

/// Counters of a task that must not decrease.
pub(super) const SUMS: usize = 13;

/// The state of a task that is kept from reading to reading.
#[derive(Debug, Default)]
pub(super) struct KnownTask {
    pub(super) pid: i32,
    pub(super) start: u64,
    name: RowName<TASK_BYTES>,
    /// A value that changes when it executes another program, as far as the method can detect.
    pub(super) exec: u64,
    /// The `exec` for which facts were requested, and whether they are known.
    pub(super) facts_of: u64,
    pub(super) facts_are_known: bool,
    pub(super) facts: Facts,
    pub(super) cgroup: u64,
    pub(super) uid: Option<u32>,
    /// The user's name, and the generation of the list that it comes from.
    pub(super) user: Vec<u8>,
    pub(super) user_generation: u64,
    pub(super) parent: i32,
    /// The number of threads at the latest reading.
    pub(super) threads: u64,
    /// The filter's decision about this program.
    pub(super) choice: Choice,
    /// CPU time as shown, and the exact time from which it was computed.
    pub(super) shown: CpuTime,
    pub(super) run_ns: u64,
    pub(super) sums: [u64; SUMS],
    /// The index of the row, [`NO_ROW`] if there is none.
    pub(super) row: usize,
}

/// The `exec` of an unknown task.
pub(super) const NO_PROGRAM: u64 = u64::MAX;

/// See [`KnownTask::row`].
pub(super) const NO_ROW: usize = usize::MAX;

impl KnownTask {
    /// The name of its row.
    #[inline]
    pub(super) fn name(&self) -> &[u8] {
        self.name.bytes()
    }

    /// Clears the facts of the program that it ran before.
    pub(super) fn begin_program(&mut self, exec: u64, uid: Option<u32>) {
        self.exec = exec;
        self.uid = uid;
        self.user_generation = 0;
        self.facts_of = NO_PROGRAM;
        self.facts_are_known = false;
    }

    /// Asks the filter about the program that it runs, with the facts known so far.
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
            // The command line of this process cannot be read.
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
            // Keep the memory of texts, since processes come and go.
            user: std::mem::take(&mut self.user),
            ..KnownTask::default()
        };
        self.user.clear();
    }
}

/// A task in the sorted list.
#[derive(Clone, Copy, Debug)]
struct OrderedTask {
    key: u64,
    start: u64,
    slot: u32,
}

/// All tasks of the previous reading and of this one.
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

    /// Whether the previous reading had this task; keys must come in ascending order.
    #[inline]
    pub(super) fn had(&mut self, key: u64, start: u64) -> bool {
        self.pass_over(key);
        self.before.get(self.cursor).is_some_and(|task| task.key == key && task.start == start)
    }

    /// The next task of the previous reading if it has this key; keys must come in ascending order.
    #[inline]
    pub(super) fn peek(&mut self, key: u64) -> Option<(usize, &KnownTask)> {
        self.pass_over(key);
        let task = self.before.get(self.cursor).filter(|task| task.key == key)?;
        Some((task.slot as usize, &self.slots[task.slot as usize]))
    }

    /// Keeps the task that [`peek`](Self::peek) returned, unchanged.
    pub(super) fn keep(&mut self) {
        if let Some(task) = self.before.get(self.cursor) {
            self.now.push(*task);
            self.cursor += 1;
        }
    }

    /// The ids of the tasks of the previous reading, for recording only the first processes.
    pub(super) fn pids_before(&self) -> impl Iterator<Item = i32> {
        self.before.iter().map(|task| self.slots[task.slot as usize].pid)
    }

    /// Slots freed since the reading began; some may be in use again.
    pub(super) fn freed(&self) -> &[u32] {
        &self.freed
    }

    /// The task's slot, and whether it is new; keys must come in ascending order.
    #[inline]
    pub(super) fn find_or_add(&mut self, key: u64, pid: i32, start: u64) -> (usize, bool) {
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

    /// Removes the tasks that are gone.
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

    /// Ends a reading: tasks that were not taken are gone.
    pub(super) fn end(&mut self) {
        self.pass_over(u64::MAX);
    }

    /// The slot of a task of this reading.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        let index = self.now.binary_search_by_key(&key, |task| task.key).ok()?;
        Some(self.now[index].slot as usize)
    }

    /// The state of the task in a slot.
    #[inline]
    pub(super) fn at(&mut self, slot: usize) -> &mut KnownTask {
        &mut self.slots[slot]
    }

    /// Whether there was no reading yet.
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
            task_table.find_or_add(u64::from(pid.unsigned_abs()), pid, start).1
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
