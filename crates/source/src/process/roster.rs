//! The tasks that were there at the reading before, in the order of their numbers, so that a
//! reading in the same order finds each by looking at the next one: no search, no hash.

use bpf::CpuTime;
use procfs::pid_facts::Facts;

use super::limits::Choice;
use crate::instance::{RowName, TASK_BYTES};

/// Counters of a task that must not go back.
pub(super) const SUMS: usize = 13;

/// What stays with a task from reading to reading.
#[derive(Debug, Default)]
pub(super) struct Known {
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

/// See [`Known::row`].
pub(super) const NO_ROW: usize = usize::MAX;

impl Known {
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

    fn begin(&mut self, pid: i32, start: u64) {
        *self = Known {
            pid,
            start,
            name: RowName::of_task(pid, start),
            row: NO_ROW,
            exec: NO_PROGRAM,
            facts_of: NO_PROGRAM,
            // The memory of texts is worth keeping: processes come and go.
            user: std::mem::take(&mut self.user),
            ..Known::default()
        };
        self.user.clear();
    }
}

/// A task's place in the order.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: u64,
    start: u64,
    slot: u32,
}

/// All tasks of the reading before and of this one.
#[derive(Debug, Default)]
pub(super) struct Roster {
    slots: Vec<Known>,
    free: Vec<u32>,
    /// See [`Roster::freed`].
    freed: Vec<u32>,
    before: Vec<Place>,
    now: Vec<Place>,
    cursor: usize,
}

impl Roster {
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
        self.before.get(self.cursor).is_some_and(|place| place.key == key && place.start == start)
    }

    /// The next task of the reading before if it has this key; keys must come in ascending order.
    #[inline]
    pub(super) fn peek(&mut self, key: u64) -> Option<(usize, &Known)> {
        self.pass_over(key);
        let place = self.before.get(self.cursor).filter(|place| place.key == key)?;
        Some((place.slot as usize, &self.slots[place.slot as usize]))
    }

    /// Takes over the task that [`peek`](Self::peek) gave, without a look at it.
    pub(super) fn keep(&mut self) {
        if let Some(place) = self.before.get(self.cursor) {
            self.now.push(*place);
            self.cursor += 1;
        }
    }

    /// The numbers of the tasks of the reading before, for who looks for no others.
    pub(super) fn pids_before(&self) -> impl Iterator<Item = i32> {
        self.before.iter().map(|place| self.slots[place.slot as usize].pid)
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
        if let Some(place) = held
            && place.key == key
        {
            self.cursor += 1;
            if place.start == start {
                self.now.push(place);
                return (place.slot as usize, false);
            }
            self.free.push(place.slot);
            self.freed.push(place.slot);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Known::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize].begin(pid, start);
        self.now.push(Place { key, start, slot });
        (slot as usize, true)
    }

    /// Passes over those that are gone.
    #[inline]
    fn pass_over(&mut self, key: u64) {
        while let Some(place) = self.before.get(self.cursor)
            && place.key < key
        {
            self.free.push(place.slot);
            self.freed.push(place.slot);
            self.cursor += 1;
        }
    }

    /// Ends a reading: what has not been taken is gone.
    pub(super) fn end(&mut self) {
        self.pass_over(u64::MAX);
    }

    /// The slot of a task of this reading, or else of the one before.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        let in_order = |places: &[Place]| {
            let index = places.binary_search_by_key(&key, |place| place.key).ok()?;
            Some(places[index].slot as usize)
        };
        in_order(&self.now).or_else(|| in_order(&self.before[self.cursor.min(self.before.len())..]))
    }

    /// What is known of the task in a slot.
    #[inline]
    pub(super) fn at(&mut self, slot: usize) -> &mut Known {
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

    fn reading(roster: &mut Roster, tasks: &[(i32, u64)]) -> Vec<bool> {
        roster.begin();
        let new =
            |&(pid, start): &(i32, u64)| roster.take(u64::from(pid.unsigned_abs()), pid, start).1;
        let new = tasks.iter().map(new).collect();
        roster.end();
        new
    }

    #[test]
    fn a_number_used_again_is_another_task() {
        let mut roster = Roster::default();
        assert_eq!(reading(&mut roster, &[(1, 5), (7, 9)]), [true, true]);
        assert_eq!(reading(&mut roster, &[(1, 5), (7, 10)]), [false, true]);
        assert_eq!(reading(&mut roster, &[(7, 10), (8, 1)]), [false, true]);
        let slot = roster.find(7).unwrap();
        assert_eq!(roster.at(slot).name(), b"7\x1f10");
        assert_eq!(roster.find(1), None);
        assert!(roster.slots.len() <= 3, "slots are used again");
    }
}
