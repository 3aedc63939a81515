//! The running jobs: by slot, and by age.
//!
//! They are an array by slot with a linked list by age, so that the oldest and the youngest are
//! found at once and a start or an end takes the same time however many run.

use std::time::Instant;

/// What is being done to a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    Runs,
    /// It is being ended: it took too long, or memory is short.
    Killed,
    /// It is being ended, and will run again even without `--retries`.
    Requeued,
    /// It is being ended because the run ends.
    Dropped,
}

/// A running job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) seq: u64,
    pub(super) slot: u32,
    pub(super) started: Instant,
    pub(super) fate: Fate,
    pub(super) suspended: bool,
    /// Distinguishes this job from an earlier one in the slot.
    pub(super) serial: u64,
    /// The index of its next signal in the sequence.
    pub(super) step: usize,
    older: Option<u32>,
    younger: Option<u32>,
}

/// The running jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningJobs {
    /// By slot, with slot 1 at index 0.
    jobs: Vec<Option<Job>>,
    oldest: Option<u32>,
    youngest: Option<u32>,
    count: u32,
    serial: u64,
}

impl RunningJobs {
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Job> {
        self.jobs.get(index(slot))?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Job> {
        self.jobs.get_mut(index(slot))?.as_mut()
    }

    /// Adds a job that was started, as the youngest.
    pub(super) fn add(&mut self, seq: u64, slot: u32, started: Instant) {
        if self.jobs.len() <= index(slot) {
            self.jobs.resize(index(slot) + 1, None);
        }
        self.serial += 1;
        self.jobs[index(slot)] = Some(Job {
            seq,
            slot,
            started,
            fate: Fate::Runs,
            suspended: false,
            serial: self.serial,
            step: 0,
            older: self.youngest,
            younger: None,
        });
        match self.youngest {
            Some(before) => {
                if let Some(job) = self.get_mut(before) {
                    job.younger = Some(slot);
                }
            }
            None => self.oldest = Some(slot),
        }
        self.youngest = Some(slot);
        self.count += 1;
    }

    /// Removes a job that has ended.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Job> {
        let job = self.jobs.get_mut(index(slot))?.take()?;
        match job.older.and_then(|older| self.get_mut(older)) {
            Some(older) => older.younger = job.younger,
            None => self.oldest = job.younger,
        }
        match job.younger.and_then(|younger| self.get_mut(younger)) {
            Some(younger) => younger.older = job.older,
            None => self.youngest = job.older,
        }
        self.count -= 1;
        Some(job)
    }

    /// The jobs from the oldest on.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = &Job> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let job = self.get(next?)?;
            next = job.younger;
            Some(job)
        })
    }

    /// The jobs from the youngest on.
    pub(super) fn youngest_first(&self) -> impl Iterator<Item = &Job> {
        let mut next = self.youngest;
        std::iter::from_fn(move || {
            let job = self.get(next?)?;
            next = job.older;
            Some(job)
        })
    }
}

/// The index of a slot in the array.
fn index(slot: u32) -> usize {
    slot.saturating_sub(1) as usize
}
