//! Counted calls: how many, how many failed and with which error, how long they took.
//!
//! One [`CallStats`] for each call that was seen, and on request for each call of each process,
//! command or thread.  A histogram with four steps for each doubling (so that a quantile is right
//! within a tenth) takes 640 bytes, and counting a call takes some nanoseconds.

use std::collections::BTreeMap;

use crate::event::error_of;
use crate::{CallId, Histogram};

/// The counts of one call, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Calls that ended.
    pub calls: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Time from entry to exit, summed.
    pub wall_ns: u64,
    /// The part of that time on a CPU; `None` if the engine does not know it.
    pub cpu_ns: Option<u64>,
    /// The shortest call; meaningless without calls.
    pub shortest_ns: u64,
    /// The longest call.
    pub longest_ns: u64,
    /// The distribution of the times; `None` where it is not kept (splits).
    pub histogram: Option<Histogram>,
}

impl CallStats {
    /// Counts one call.
    pub fn add(&mut self, failed: bool, wall_ns: u64, cpu_ns: Option<u64>) {
        let first = self.calls == 0;
        self.shortest_ns = if first { wall_ns } else { self.shortest_ns.min(wall_ns) };
        self.longest_ns = self.longest_ns.max(wall_ns);
        self.cpu_ns = if first { cpu_ns } else { sum(self.cpu_ns, cpu_ns) };
        self.calls += 1;
        self.errors += u64::from(failed);
        self.wall_ns = self.wall_ns.saturating_add(wall_ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.add(wall_ns);
        }
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        if other.calls == 0 {
            return;
        }
        if self.calls == 0 {
            *self = other.clone();
            return;
        }
        self.shortest_ns = self.shortest_ns.min(other.shortest_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.cpu_ns = sum(self.cpu_ns, other.cpu_ns);
        self.calls += other.calls;
        self.errors += other.errors;
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        match (&mut self.histogram, &other.histogram) {
            (Some(mine), Some(theirs)) => mine.combine(theirs, |mine, theirs| mine + theirs),
            // The histogram of a part of the calls would be taken for that of all.
            (mine, _) => *mine = None,
        }
    }

    /// What was counted since `earlier`.  The shortest and the longest call of an interval are not
    /// known, so they are taken from the histogram's steps, or without one from the whole time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.calls = self.calls.saturating_sub(earlier.calls);
        since.errors = self.errors.saturating_sub(earlier.errors);
        since.wall_ns = self.wall_ns.saturating_sub(earlier.wall_ns);
        since.cpu_ns = match (self.cpu_ns, earlier.cpu_ns) {
            (Some(now), Some(before)) => Some(now.saturating_sub(before)),
            (now, None) if earlier.calls == 0 => now,
            _ => None,
        };
        if let (Some(mine), Some(theirs)) = (&mut since.histogram, &earlier.histogram) {
            mine.combine(theirs, u64::saturating_sub);
            let steps = mine.counts().iter();
            let first = steps.clone().position(|count| *count > 0);
            let last = steps.clone().rposition(|count| *count > 0);
            if let (Some(first), Some(last)) = (first, last) {
                since.shortest_ns = since.shortest_ns.max(Histogram::floor_ns(first));
                since.longest_ns = since.longest_ns.min(Histogram::floor_ns(last + 1) - 1);
            }
        }
        since
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

/// The unit by which calls are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SplitKey {
    /// A process, with its latest name.
    Process(i32, Vec<u8>),
    /// A thread, with its latest name.
    Thread(i32, Vec<u8>),
    /// All tasks of one name (`comm`).
    Command(Vec<u8>),
    /// A process group: a job of a job runner.
    ProcessGroup(u64),
    /// All tasks of a host.
    Host(Vec<u8>),
}

/// Everything that was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTally {
    /// By call.
    pub calls: BTreeMap<CallId, CallStats>,
    /// How often a call returned which error number.
    pub errors: BTreeMap<(CallId, i32), u64>,
    /// By unit and call, if a split was asked for.
    pub units: BTreeMap<(SplitKey, CallId), CallStats>,
    /// Calls that could not be counted, because a table in the kernel was full.
    pub lost: u64,
    /// Calls that had not ended when this was read.
    pub unfinished: BTreeMap<CallId, u64>,
}

impl CallTally {
    /// Counts one call, from the event of an engine.
    pub fn add(&mut self, id: CallId, result: i64, wall_ns: u64, cpu_ns: Option<u64>) {
        let error = error_of(result);
        let with_histogram =
            || CallStats { histogram: Some(Histogram::default()), ..CallStats::default() };
        self.calls.entry(id).or_insert_with(with_histogram).add(error.is_some(), wall_ns, cpu_ns);
        if let Some(error) = error {
            *self.errors.entry((id, error)).or_default() += 1;
        }
    }

    /// The sum over all calls.
    #[must_use]
    pub fn total(&self) -> CallStats {
        let mut total = CallStats::default();
        self.calls.values().for_each(|stats| total.merge(stats));
        total
    }

    /// Adds what was counted elsewhere, but for its units.
    pub fn merge(&mut self, other: &Self) {
        for (id, stats) in &other.calls {
            self.calls.entry(*id).or_default().merge(stats);
        }
        other.errors.iter().for_each(|(key, count)| *self.errors.entry(*key).or_default() += count);
        let unfinished = other.unfinished.iter();
        unfinished.for_each(|(id, count)| *self.unfinished.entry(*id).or_default() += count);
        self.lost += other.lost;
    }

    /// What was counted since `earlier`, without calls that were not made since.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        CallTally {
            calls: since(&self.calls, &earlier.calls),
            units: since(&self.units, &earlier.units),
            errors: (self.errors.iter())
                .map(|(key, count)| (*key, count - earlier.errors.get(key).unwrap_or(&0)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            lost: self.lost.saturating_sub(earlier.lost),
            unfinished: self.unfinished.clone(),
        }
    }
}

fn since<K: Ord + Clone>(
    now: &BTreeMap<K, CallStats>,
    earlier: &BTreeMap<K, CallStats>,
) -> BTreeMap<K, CallStats> {
    let difference = |(key, stats): (&K, &CallStats)| match earlier.get(key) {
        Some(earlier) => (key.clone(), stats.since(earlier)),
        None => (key.clone(), stats.clone()),
    };
    now.iter().map(difference).filter(|(_, stats)| stats.calls > 0).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_merged_and_taken_apart_again_is_the_same() {
        let read = CallId::native(0);
        let mut first = CallTally::default();
        first.add(read, 5, 1_000, Some(900));
        let mut both = first.clone();
        both.add(read, -2, 3_000, Some(100));
        let second = both.since(&first);
        let stats = &second.calls[&read];
        assert_eq!((stats.calls, stats.errors, stats.wall_ns), (1, 1, 3_000));
        assert_eq!(stats.cpu_ns, Some(100));
        assert!(stats.shortest_ns > 2_500 && stats.longest_ns < 3_600);
        assert_eq!(second.errors[&(read, 2)], 1);
        assert_eq!(error_of(-4096), None);
        assert_eq!(error_of(0), None);
        // If the CPU time of a part is unknown, so is that of the whole.
        both.add(read, 0, 1, None);
        assert_eq!(both.total().cpu_ns, None);
    }
}
