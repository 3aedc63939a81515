//! Groups of jobs whose output is written together, when the last of them has ended.
//!
//! `--onall` and `--nonall` write the output of a host in one piece.  A group is written when all of
//! its jobs have ended; to keep the order, when all groups of smaller numbers have ended too.

use std::collections::{BTreeMap, VecDeque};

use super::order::Held;

/// Groups whose output is held.
#[derive(Debug)]
pub(super) struct Groups {
    keep_order: bool,
    /// Those that go on.
    going_on: BTreeMap<usize, Vec<Held>>,
    /// Those that are over and wait for others.
    over: BTreeMap<usize, Vec<Held>>,
    /// The group whose turn it is, where the order is kept.
    next: usize,
    /// What is to be written now.
    ready: VecDeque<Held>,
}

impl Groups {
    pub(super) fn new(keep_order: bool) -> Self {
        let ready = VecDeque::new();
        Groups { keep_order, going_on: BTreeMap::new(), over: BTreeMap::new(), next: 0, ready }
    }

    /// A job of the group has ended.
    pub(super) fn hold(&mut self, group: usize, held: Held) {
        self.going_on.entry(group).or_default().push(held);
    }

    /// No job of the group comes any more.
    pub(super) fn end(&mut self, group: usize) {
        let jobs = self.going_on.remove(&group).unwrap_or_default();
        if !self.keep_order {
            self.ready.extend(jobs);
            return;
        }
        self.over.insert(group, jobs);
        while let Some(jobs) = self.over.remove(&self.next) {
            self.ready.extend(jobs);
            self.next += 1;
        }
    }

    /// No job comes any more at all, be its group over or not.
    pub(super) fn end_all(&mut self) {
        let mut all = std::mem::take(&mut self.over);
        all.append(&mut self.going_on);
        self.ready.extend(all.into_values().flatten());
    }

    /// The next job to be written.
    pub(super) fn next_ready(&mut self) -> Option<Held> {
        self.ready.pop_front()
    }

    /// Jobs that have ended and wait.
    pub(super) fn held_count(&self) -> usize {
        self.going_on.values().chain(self.over.values()).map(Vec::len).sum()
    }
}
