//! The jobs that run: by slot, and by age.
//!
//! By slot they are an array; by age a list through it, so that the oldest and the youngest are
//! found at once and a start or an end costs the same however many run.

use std::time::Instant;

/// What is being done to a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    Runs,
    /// It is being ended: it took too long, or there is no room for it.
    Killed,
    /// It is being ended, and is to be run again even where `--retries` says nothing.
    Requeued,
    /// It is being ended because everything is.
    Dropped,
}

/// A job that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) seq: u64,
    pub(super) slot: u32,
    pub(super) started: Instant,
    pub(super) fate: Fate,
    pub(super) suspended: bool,
    /// Tells this job from the one that had the slot before.
    pub(super) serial: u64,
    /// How far its termination has come.
    pub(super) step: usize,
    older: Option<u32>,
    younger: Option<u32>,
}

/// The jobs that run.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    /// By slot, the first at 0.
    jobs: Vec<Option<Job>>,
    oldest: Option<u32>,
    youngest: Option<u32>,
    count: u32,
    serial: u64,
}

impl Running {
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Job> {
        self.jobs.get(index(slot))?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Job> {
        self.jobs.get_mut(index(slot))?.as_mut()
    }

    /// A job has been started; it is the youngest now.
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

    /// A job has ended.
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

/// Where a slot's job is in the array.
fn index(slot: u32) -> usize {
    slot.saturating_sub(1) as usize
}
