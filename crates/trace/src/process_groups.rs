//! System calls by process group: what each of many jobs asks of the kernel, for a job runner.
//!
//! A runner watches itself; all its descendants from then on are counted from their first call on,
//! however short they live.  Jobs are told apart by their process group, so the runner gives each
//! job a group of its own (`setpgid`); its own calls are counted under its own group.  A process
//! that leaves its group is counted under the new one.
//!
//! Counting costs some 0.3 µs for each call of a watched task, and one or two lookups for any other
//! call.  Reading takes two system calls for each pair of group and call.

use std::collections::BTreeMap;

use bpf::{CountSettings, Error, KernelTypes, Split, SyscallCounts, UnitCount};

use crate::{CallId, CallStats};

/// Counts of system calls by process group.
pub struct ProcessGroupCounts {
    counts: SyscallCounts,
}

/// What the processes of a group have called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessGroupCalls {
    /// By call; without histograms.
    pub calls: BTreeMap<CallId, CallStats>,
}

impl ProcessGroupCounts {
    /// Counts what this process (all its threads) and its future descendants call from now on.
    ///
    /// # Errors
    /// Without permission, without BTF, and when the kernel rejects the programs.
    pub fn of_process(process: i32) -> Result<Self, Error> {
        let settings = CountSettings {
            follow: true,
            whole_processes: true,
            split: Split::ProcessGroup,
            ..CountSettings::default()
        };
        let mut groups =
            ProcessGroupCounts { counts: SyscallCounts::open(&KernelTypes::open()?, &settings)? };
        groups.watch(&[process])?;
        Ok(groups)
    }

    /// Counts these processes too; returns their threads that exist.
    ///
    /// # Errors
    /// When the kernel does not run the pass over all tasks.
    pub fn watch(&mut self, processes: &[i32]) -> Result<Vec<i32>, Error> {
        self.counts.watch(processes)
    }

    /// What each group has called so far.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn read(&self) -> Result<BTreeMap<u32, ProcessGroupCalls>, Error> {
        let mut groups: BTreeMap<u32, ProcessGroupCalls> = BTreeMap::new();
        for unit in self.counts.units()? {
            groups.entry(unit.id).or_default().add(&unit);
        }
        Ok(groups)
    }

    /// Takes out what a group has called: for a group that has ended, whose number may be reused.
    /// There is room for some hundred thousand pairs of group and call.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn remove_group(&mut self, group: u32) -> Result<ProcessGroupCalls, Error> {
        self.remove_groups(|id| id == group)
    }

    /// Takes out what all `wanted` groups have called, summed up, in one pass over the counts,
    /// where [`remove_group`](Self::remove_group) makes one for each group.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn remove_groups(
        &mut self,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<ProcessGroupCalls, Error> {
        let mut calls = ProcessGroupCalls::default();
        for unit in self.counts.take_units(wanted)? {
            calls.add(&unit);
        }
        Ok(calls)
    }

    /// Calls that are missing because the table was full, or because the kernel does not run a
    /// program recursively.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn lost(&self) -> Result<u64, Error> {
        let uncounted = self.counts.uncounted()?;
        Ok(uncounted.calls + uncounted.units)
    }
}

impl ProcessGroupCalls {
    fn add(&mut self, unit: &UnitCount) {
        if unit.calls > 0 {
            let stats = self.calls.entry(CallId::of_slot(unit.slot as usize)).or_default();
            stats.merge(&crate::count::stats_of_unit(unit));
        }
    }

    /// Adds the calls of another group.
    pub fn merge(&mut self, other: &ProcessGroupCalls) {
        for (call, stats) in &other.calls {
            self.calls.entry(*call).or_default().merge(stats);
        }
    }

    /// The sum over all calls.
    #[must_use]
    pub fn total(&self) -> CallStats {
        let mut total = CallStats::default();
        self.calls.values().for_each(|stats| total.merge(stats));
        total
    }
}
