//! System calls counted in the kernel, by the programs of crate `bpf`.
//!
//! A call of a watched task costs some 0.2 µs, a call of any other task two lookups.  Reading the
//! counts copies some kilobytes for each system call that was made, and makes system calls for the
//! errors by number, for a split and for the calls under way.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use bpf::{CountSettings, Error, KernelTypes, Split, SyscallCounts};

pub use self::events::{CountCriteria, EventCounts};
use crate::engine::EngineCost;
use crate::{CallId, CallStats, CallTally, Histogram, SplitKey};

mod events;

/// The attached programs, and what they have counted.
pub struct KernelCounts {
    counts: SyscallCounts,
    split: Split,
    measuring: Option<OwnedFd>,
}

impl KernelCounts {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    /// Without permission, without BTF, and when the kernel rejects the programs.
    pub fn open(settings: &CountSettings) -> Result<Self, Error> {
        let counts = SyscallCounts::open(&KernelTypes::open()?, settings)?;
        Ok(KernelCounts { counts, split: settings.split, measuring: None })
    }

    /// Watches these tasks from their next call on; returns the numbers of the threads that exist.
    ///
    /// # Errors
    /// When the kernel does not run the pass over all tasks.
    pub fn watch(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        self.counts.watch(ids)
    }

    /// Watched tasks that have not exited; without meaning if every task is watched.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn alive(&self) -> Result<u64, Error> {
        self.counts.alive()
    }

    /// Makes the kernel measure the run time of its programs from now on, or stops that.  Measuring
    /// adds some 80 ns to each call, so use it for a short time now and then.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn measure(&mut self, on: bool) -> Result<(), Error> {
        self.measuring = if on { Some(SyscallCounts::measure()?) } else { None };
        Ok(())
    }

    /// The run time of the programs, as far as it was measured.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn cost(&self) -> Result<EngineCost, Error> {
        let run_time = self.counts.run_time()?;
        Ok(EngineCost {
            times: run_time.enter_runs + run_time.leave_runs,
            held_ns: run_time.enter_ns + run_time.leave_ns,
        })
    }

    /// Everything counted so far.  Calls that end meanwhile may be in one sum and not in another.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn tally(&self) -> Result<CallTally, Error> {
        let uncounted = self.counts.uncounted()?;
        let mut tally = CallTally {
            lost: uncounted.calls + uncounted.units + uncounted.errors,
            ..CallTally::default()
        };
        for slot in 0..crate::SLOTS {
            if let Some(count) = self.counts.call(slot) {
                if count.cut_off > 0 {
                    *tally.unfinished.entry(CallId::of_slot(slot)).or_default() += count.cut_off;
                }
                if count.calls > 0 {
                    tally.calls.insert(CallId::of_slot(slot), stats_of(&count));
                }
            }
        }
        for (slot, error, count) in self.counts.failures()? {
            let number = i32::try_from(error).unwrap_or(i32::MAX);
            tally.errors.insert((CallId::of_slot(slot as usize), number), count);
        }
        for slot in self.counts.pending()? {
            *tally.unfinished.entry(CallId::of_slot(slot as usize)).or_default() += 1;
        }
        if self.split != Split::None {
            tally.units = self.units()?;
        }
        Ok(tally)
    }

    fn units(&self) -> Result<BTreeMap<(SplitKey, CallId), CallStats>, Error> {
        let mut units = BTreeMap::new();
        for count in self.counts.units()? {
            let name = count.command.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            let number = count.id.cast_signed();
            let unit = match self.split {
                Split::Process => SplitKey::Process(number, name),
                Split::Thread => SplitKey::Thread(number, name),
                Split::ProcessGroup => SplitKey::ProcessGroup(u64::from(count.id)),
                Split::Command | Split::None => SplitKey::Command(name),
            };
            let stats = stats_of_unit(&count);
            if stats.calls > 0 {
                units.insert((unit, CallId::of_slot(count.slot as usize)), stats);
            }
        }
        Ok(units)
    }
}

pub(crate) fn stats_of_unit(count: &bpf::UnitCount) -> CallStats {
    CallStats {
        calls: count.calls,
        errors: count.errors,
        wall_ns: count.wall_ns,
        cpu_ns: Some(count.cpu_ns),
        shortest_ns: count.shortest_ns,
        longest_ns: count.longest_ns,
        histogram: None,
    }
}

fn stats_of(count: &bpf::CallCount) -> CallStats {
    let mut histogram = Histogram::default();
    for (step, count) in count.steps.iter().enumerate() {
        histogram.add_step(step, *count);
    }
    CallStats {
        calls: count.calls,
        errors: count.errors,
        wall_ns: count.wall_ns,
        cpu_ns: Some(count.cpu_ns),
        shortest_ns: count.shortest_ns,
        longest_ns: count.longest_ns,
        histogram: Some(histogram),
    }
}
