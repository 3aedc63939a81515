//! Counters of the programs around the sources: the recorder's of itself, the job runner's of its
//! jobs.  The program counts, the sources `whit` and `job` copy the counts into their samples.
//!
//! Counting costs a load and a store.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that one thread writes and any may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`.  Only one thread may, so it is a load and a store, not a locked addition.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    /// Sets a gauge.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The count so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The recorder's counters of itself, which start at 0; the source `whit` copies them into its samples.
///
/// One thread writes, the same or another one reads; the counters are not synchronized with each
/// other.
#[derive(Debug, Default)]
pub struct RecorderCounters {
    /// System calls other than those that read kernel files (which [`Host`](procfs::Host) counts): timer waits,
    /// writes, syncs.
    pub calls: Counter,
    /// Bytes passed to `write` and similar calls.
    pub written_bytes: Counter,
    /// Samples taken.
    pub samples: Counter,
    /// Ticks that passed without a sample.
    pub ticks_missed: Counter,
    /// Samples taken that could not be written.
    pub samples_unwritten: Counter,
    /// Reads of a source left out to stay within the budget.
    pub reads_skipped: Counter,
    /// Sources whose BPF programs run in other tasks.
    pub bpf_sources: Counter,
    /// CPU time of these programs.
    pub bpf_ns: Counter,
}

/// The runner's counters of its jobs, which start at 0; the source `job` copies them into its samples.
///
/// One thread writes, another one reads; the counters are not synchronized with each other.
#[derive(Debug, Default)]
pub struct JobCounters {
    /// Programs started; each attempt of a job counts.
    pub started: Counter,
    /// Jobs that ended and whose output is written.
    pub ended: Counter,
    /// Jobs that ended with an error.
    pub failed: Counter,
    /// Attempts that were discarded, mostly to be retried.
    pub again: Counter,
    /// Jobs that run now.
    pub running: Counter,
    /// The number of all jobs; 0 if unknown.
    pub total: Counter,
    /// User time of jobs that ended, in microseconds.
    pub user_us: Counter,
    /// System time of jobs that ended, in microseconds.
    pub system_us: Counter,
    /// Run time of jobs that ended, in nanoseconds.
    pub wall_ns: Counter,
    /// Time to start the programs of jobs that ended, in nanoseconds.
    pub spawn_ns: Counter,
}
