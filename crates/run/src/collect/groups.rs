//! Groups of jobs whose output is written together when the last job has ended.
//!
//! `--onall` and `--nonall` write the output of a host in one piece.  A group is written when all
//! of its jobs have ended; with `--keep-order` when all groups of smaller numbers have ended too.

use std::collections::{BTreeMap, VecDeque};

use super::order::HeldOutput;

/// The held output of jobs, by group.
#[derive(Debug)]
pub(super) struct GroupedOutput {
    keep_order: bool,
    /// Groups with jobs to come.
    unfinished: BTreeMap<usize, Vec<HeldOutput>>,
    /// Ended groups that wait for groups of smaller numbers.
    ended: BTreeMap<usize, Vec<HeldOutput>>,
    /// With `--keep-order` the group that is written next.
    next: usize,
    /// Jobs that are to be written now.
    ready: VecDeque<HeldOutput>,
}

impl GroupedOutput {
    pub(super) fn new(keep_order: bool) -> Self {
        let ready = VecDeque::new();
        GroupedOutput {
            keep_order,
            unfinished: BTreeMap::new(),
            ended: BTreeMap::new(),
            next: 0,
            ready,
        }
    }

    /// Holds the output of a job of the group.
    pub(super) fn hold(&mut self, group: usize, held: HeldOutput) {
        self.unfinished.entry(group).or_default().push(held);
    }

    /// No further job of the group comes.
    pub(super) fn end(&mut self, group: usize) {
        let jobs = self.unfinished.remove(&group).unwrap_or_default();
        if !self.keep_order {
            self.ready.extend(jobs);
            return;
        }
        self.ended.insert(group, jobs);
        while let Some(jobs) = self.ended.remove(&self.next) {
            self.ready.extend(jobs);
            self.next += 1;
        }
    }

    /// No further job of any group comes.
    pub(super) fn end_all(&mut self) {
        let mut all = std::mem::take(&mut self.ended);
        all.append(&mut self.unfinished);
        self.ready.extend(all.into_values().flatten());
    }

    /// The next job to be written.
    pub(super) fn next_ready(&mut self) -> Option<HeldOutput> {
        self.ready.pop_front()
    }

    /// Jobs that have ended and wait.
    pub(super) fn held_count(&self) -> usize {
        self.unfinished.values().chain(self.ended.values()).map(Vec::len).sum()
    }
}
