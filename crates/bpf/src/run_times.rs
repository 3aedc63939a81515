//! The run time of the programs, as they measure it themselves.
//!
//! A program at a tracepoint runs in the task that meets the tracepoint, so its CPU time is in the
//! accounts of that task and in none of the recorder's.  The kernel could measure it
//! (`BPF_ENABLE_STATS`), but only with `CAP_SYS_ADMIN`, for the programs of everybody, and by
//! patching code on all CPUs at each change.  So the programs read the clock at their start and
//! end, and add the difference to an array that user space maps.  The way from the tracepoint to a
//! program is not in it.

use aya::maps::Map;

use crate::Error;
use crate::loader::{RUN_TIMES_OF_A_CPU, run_times};
use crate::mapped::MappedArray;

/// Measured runs, and their run time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// Runs.
    pub runs: u64,
    /// The time that these runs took.
    pub ns: u64,
}

// SAFETY: integers, laid out by C without padding.
unsafe impl aya::Pod for RunTime {}

/// The array of an object.
#[derive(Debug)]
pub(crate) struct RunTimes(MappedArray<RunTime>);

impl RunTimes {
    /// Maps the array.
    pub(crate) fn map(map: &Map) -> Result<Self, Error> {
        Ok(RunTimes(MappedArray::map(map, run_times()? as usize)?))
    }

    /// The sum over all CPUs for one program: one load for each, no system call.
    pub(crate) fn of(&self, program: usize) -> RunTime {
        let of_cpus = (program..self.0.len()).step_by(RUN_TIMES_OF_A_CPU);
        of_cpus.filter_map(|index| self.0.read(index)).fold(RunTime::default(), |sum, of_cpu| {
            RunTime { runs: sum.runs + of_cpu.runs, ns: sum.ns + of_cpu.ns }
        })
    }
}
