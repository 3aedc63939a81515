//! When the next job may start, and what happens to those that fail or run too long.
//!
//! Pure state: nothing here starts, signals or waits for a process, and the time is an argument.
//! The engine calls [`Schedule::may_start`] before each job, reports by [`Schedule::started`] and
//! [`Schedule::ended`], and calls [`Schedule::poll`] at the time of [`Schedule::next_timer`].  What
//! the engine must do then (signals, always to the job's process group) is returned as [`Action`]s.
//! A [`Machine`] reads the load and the available memory.
//!
//! A start and an end cost a few array look-ups, whatever the number of running jobs.

mod delay;
mod ending;
mod gate;
mod halt;
mod machine;
mod messages;
mod running;
mod slots;
mod terminate;
#[cfg(test)]
mod tests;
mod timeout;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

pub use delay::Delay;
pub use gate::{Answer, Gate, Limit, LimitError};
pub use halt::{Amount, Halt, HaltError, When, Why};
pub use machine::{LocalMachine, Machine, Swapped};
pub use messages::{Action, AfterEnd, EndReason, EndedJob, Halted, ScheduleOptions, Start};
pub use slots::{Jobs, JobsError, Load};
pub use terminate::{TermSequence, TermSequenceError};
pub use timeout::{Median, Timeout};

use gate::{DiskGate, FreeGate, LimitGate, LoadGate, Question, SuspendGate, SwapGate};
use halt::{Reached, Tally};
use running::{Fate, RunningJobs};
use slots::Slots;

use crate::Outcome;

/// `-j …auto`: the factor for the number of jobs after a job has failed.
const AUTO_LESS: f64 = 0.7;

/// `-j …auto`: the factor after a job has succeeded.
const AUTO_MORE: f64 = 1.05;

/// Decides when jobs start and end.
pub struct Schedule {
    jobs: Jobs,
    /// `-j …auto`: the current number of jobs, which failures reduce; at most the number asked for.
    auto_jobs: f64,
    slots: Slots,
    running: RunningJobs,
    delay: Option<Delay>,
    /// No job starts before this time.
    not_before: Option<Instant>,
    timeout: timeout::Limit,
    retries: u32,
    /// How often each job that is to be tried again has failed.
    failures: HashMap<u64, u32>,
    tally: Tally,
    term_sequence: TermSequence,
    /// The next signals: when, to which slot, and to which job in it.
    terminations: BinaryHeap<Reverse<(Instant, u32, u64)>>,
    gates: Vec<Box<dyn Gate + Send>>,
    limit: Option<LimitGate>,
    /// When the gates that watch running jobs are checked next.
    watch_at: Option<Instant>,
    /// Number of suspended jobs.
    suspended: u32,
    /// No further job starts.
    stopped: bool,
    actions: Vec<Action>,
    /// A time in the past, for a timer that is due at once.
    epoch: Instant,
}

impl Schedule {
    /// A schedule without any job.
    ///
    /// # Errors
    /// If `-j` or `--load` names a file that cannot be read or holds no number.
    pub fn new(
        options: ScheduleOptions,
        now: Instant,
        machine: &mut dyn Machine,
    ) -> Result<Self, JobsError> {
        let limit = options.jobs.evaluate(machine)?;
        let mut gates: Vec<Box<dyn Gate + Send>> = Vec::new();
        if let Some(size) = options.memory_suspend_bytes.filter(|size| *size > 0) {
            gates.push(Box::new(SuspendGate::new(size)));
        }
        if let Some(size) = options.memory_free_bytes.filter(|size| *size > 0) {
            gates.push(Box::new(FreeGate::new(size)));
        }
        if options.no_swap {
            gates.push(Box::new(SwapGate::default()));
        }
        if let Some(load) = &options.load {
            gates.push(Box::new(LoadGate::new(load.evaluate(machine)?)));
        }
        let mut command = None;
        match &options.limit {
            Some(Limit::Command(_)) => command = Some(LimitGate::default()),
            Some(Limit::Load(load)) => gates.push(Box::new(LoadGate::new(load.evaluate(machine)?))),
            Some(Limit::Memory(size)) => gates.push(Box::new(FreeGate::new(*size))),
            Some(Limit::Disk(percent)) => gates.push(Box::new(DiskGate::new(*percent))),
            None => {}
        }
        Ok(Schedule {
            auto_jobs: f64::from(limit),
            jobs: options.jobs,
            slots: Slots::new(limit, options.jobs_max),
            running: RunningJobs::default(),
            delay: options.delay,
            not_before: None,
            timeout: timeout::Limit::new(options.timeout),
            retries: options.retries.unwrap_or(1),
            failures: HashMap::new(),
            tally: Tally::new(options.halt),
            term_sequence: options.term_sequence,
            terminations: BinaryHeap::new(),
            gates,
            limit: command,
            watch_at: None,
            suspended: 0,
            stopped: false,
            actions: Vec::new(),
            epoch: now,
        })
    }

    /// Sets the total number of jobs once it is known, for percentages of `--halt`.
    pub fn set_total(&mut self, total: u64) {
        self.tally.set_total(total);
    }

    /// Sets how many jobs may run at once: hosts were added or removed.
    pub fn set_slots(&mut self, slots: u32) {
        self.slots.set_limit(slots);
    }

    /// Whether the next job may start.  This reserves nothing.
    pub fn may_start(&mut self, now: Instant, machine: &mut dyn Machine) -> Start {
        if self.stopped {
            return Start::Never;
        }
        let Some(slot) = self.slots.next() else { return Start::OnEnd };
        if let Some(moment) = self.not_before.filter(|moment| *moment > now) {
            return Start::At(moment);
        }
        for at in 0..self.gates.len() {
            let answer = self.gates[at].ask(now, self.running.len(), machine);
            if let Some(moment) = self.obey(answer, now) {
                return Start::At(moment);
            }
        }
        // With enough memory for one more job, suspended jobs continue first.
        self.suspend_all_but(u32::MAX);
        match self.limit.as_mut().map(|limit| limit.ask(now)) {
            None | Some(Question::Go) => Start::Now { slot },
            Some(Question::Run) => Start::Ask,
            Some(Question::Running) => Start::Asked,
            Some(Question::Hold(moment)) => Start::At(moment),
        }
    }

    /// The next job was started, in the slot that [`Schedule::may_start`] returned.
    pub fn started(&mut self, seq: u64, slot: u32, now: Instant) {
        let taken = self.slots.occupy();
        debug_assert_eq!(taken, slot, "a job is started in the slot that was named");
        self.running.add(seq, taken, now);
        self.not_before = self.delay.map(|delay| now + delay.wait);
        for gate in &mut self.gates {
            gate.started();
        }
        if let Some(limit) = &mut self.limit {
            limit.started();
        }
        if self.watch_at.is_none() && self.gates.iter().any(|gate| gate.watches()) {
            self.watch_at = Some(now + gate::ASK_AGAIN);
        }
    }

    /// How many attempts the job gets that ends next; 0 is unlimited.
    pub fn set_retries(&mut self, attempts: u32) {
        self.retries = attempts;
    }

    /// The job in a slot has ended.
    ///
    /// If it was being ended and has left children, ask before for the [`Schedule::next_signal`], which
    /// they are to get.
    pub fn ended(
        &mut self,
        slot: u32,
        outcome: Outcome,
        now: Instant,
        machine: &mut dyn Machine,
    ) -> EndedJob {
        let Some(job) = self.remove(slot, now) else {
            // No job runs in this slot.
            let (verdict, halt) = (AfterEnd::Dropped, Halted::No);
            return EndedJob { verdict, outcome, attempt: 1, halt };
        };
        let outcome = match outcome {
            Outcome::Signalled(signal) if job.fate != Fate::Runs => Outcome::Killed(signal),
            // It caught the signal and exited with 0, but was not done: not a success.
            Outcome::Exited(0) if job.fate != Fate::Runs => Outcome::Killed(0),
            outcome => outcome,
        };
        let good = outcome == Outcome::Exited(0);
        let attempt = self.failures.get(&job.seq).map_or(1, |failed| failed.saturating_add(1));
        let ended = |verdict, halt| EndedJob { verdict, outcome, attempt, halt };
        if job.fate == Fate::Dropped {
            return ended(AfterEnd::Dropped, Halted::No);
        }
        self.learn(good, now.duration_since(job.started), machine);
        let gave_way = job.fate == Fate::Requeued && self.retries == 1;
        if !good && (self.retries == 0 || attempt < self.retries || gave_way) {
            self.failures.insert(job.seq, attempt);
            self.tally.count_retry();
            return ended(AfterEnd::Again, Halted::No);
        }
        self.failures.remove(&job.seq);
        let halt = self.count(outcome, now);
        ended(AfterEnd::Done, halt)
    }

    /// A job was not started because its template called `skip()`; it counts as failed.
    pub fn skipped(&mut self, now: Instant) -> EndedJob {
        let halt = self.count(Outcome::Skipped, now);
        EndedJob { verdict: AfterEnd::Done, outcome: Outcome::Skipped, attempt: 1, halt }
    }

    /// The kernel could not create a process for the job that was reported as started: its slot is
    /// free again, and it is to be started again.  Until a job ends, no more than the running jobs
    /// are tried.
    pub fn refused(&mut self, slot: u32, now: Instant) {
        if self.remove(slot, now).is_some() {
            self.slots.set_limit(self.running.len().max(1));
            self.not_before = Some(now + gate::ASK_AGAIN);
        }
    }

    /// The command of `--limit` has ended with this exit code.
    pub fn limit_answered(&mut self, exit_code: u8, now: Instant) {
        if let Some(limit) = &mut self.limit
            && limit.answered(exit_code, now)
        {
            self.end_youngest(EndReason::Limit, now);
        }
    }

    /// The time at which [`Schedule::poll`] has something to do.
    pub fn next_timer(&self) -> Option<Instant> {
        if !self.actions.is_empty() {
            return Some(self.epoch);
        }
        let signal = self.terminations.peek().map(|Reverse((moment, ..))| *moment);
        let timeout = self.timeout.get().and_then(|limit| {
            let oldest = self.running.oldest_first().find(|job| job.fate == Fate::Runs)?;
            oldest.started.checked_add(limit)
        });
        let watch = self.watch_at.filter(|_| self.running.len() > 0);
        [signal, timeout, watch].into_iter().flatten().min()
    }

    /// Does what is due: ends jobs that took too long, sends the next signals to those that are
    /// being ended, and checks memory if an option needs it.  [`Schedule::actions`] returns what
    /// the engine must do.
    pub fn poll(&mut self, now: Instant, machine: &mut dyn Machine) {
        self.signal_next(now);
        self.end_late(now);
        if self.watch_at.is_some_and(|moment| moment <= now) {
            self.watch_at = None;
            self.watch(now, machine);
        }
    }

    /// What the engine must do, in this order; call it after every other call.
    pub fn actions(&mut self) -> impl Iterator<Item = Action> + '_ {
        self.actions.drain(..)
    }

    /// Starts no further job; running jobs continue.
    pub fn stop_starting(&mut self) {
        self.stopped = true;
    }

    /// Starts no further job, and ends the running ones without output and joblog.
    pub fn end_all(&mut self, now: Instant) {
        self.stopped = true;
        let slots: Vec<u32> = self.running.oldest_first().map(|job| job.slot).collect();
        for slot in slots {
            self.end(slot, Fate::Dropped, now);
        }
    }

    /// Whether the job in a slot is being ended.
    pub fn is_ending(&self, slot: u32) -> bool {
        self.running.get(slot).is_some_and(|job| job.fate != Fate::Runs)
    }

    /// Whether the job in a slot is suspended because memory is short.
    pub fn is_suspended(&self, slot: u32) -> bool {
        self.running.get(slot).is_some_and(|job| job.suspended)
    }

    /// Whether no further job will start.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Number of running jobs.
    pub fn running(&self) -> u32 {
        self.running.len()
    }

    /// How many jobs may run at once now.
    pub fn slots(&self) -> u32 {
        self.slots.limit()
    }

    /// Jobs that have ended successfully, for good.
    pub fn succeeded(&self) -> u64 {
        self.tally.succeeded()
    }

    /// Jobs that have failed, for good.
    pub fn failed(&self) -> u64 {
        self.tally.failed()
    }

    /// The exit code of the run, as of now.
    pub fn exit_code(&self) -> u8 {
        self.tally.exit_code()
    }

    /// Removes a job that has ended from all tables.
    fn remove(&mut self, slot: u32, now: Instant) -> Option<running::Job> {
        let job = self.running.remove(slot)?;
        self.slots.give_back(slot);
        for gate in &mut self.gates {
            gate.ended();
        }
        if let Some(limit) = &mut self.limit {
            limit.ended();
        }
        if job.suspended {
            self.suspended -= 1;
        }
        if self.running.len() == 0 {
            self.watch_at = None;
        } else if self.suspended > 0 {
            // Suspended jobs may be waiting for this one.
            self.watch_at = Some(now);
        }
        Some(job)
    }

    /// Updates the timeout, the number of jobs and the delay when a job has ended.
    fn learn(&mut self, good: bool, time: Duration, machine: &mut dyn Machine) {
        if good {
            self.timeout.learn(time);
        }
        if let Some(delay) = &mut self.delay {
            delay.learn(good);
        }
        if !(self.jobs.is_file() || self.jobs.is_auto()) {
            return;
        }
        // A file that is being written may be empty for a moment: the old number stays.
        let Ok(asked) = self.jobs.evaluate(machine) else { return };
        if self.jobs.is_auto() {
            let factor = if good { AUTO_MORE } else { AUTO_LESS };
            self.auto_jobs = (self.auto_jobs * factor).clamp(1.0, f64::from(asked));
            self.slots.set_limit(self.auto_jobs as u32);
        } else {
            self.slots.set_limit(asked);
        }
    }

    /// Counts a job that has ended for good; returns whether that ends the run.
    fn count(&mut self, outcome: Outcome, now: Instant) -> Halted {
        match self.tally.count(outcome) {
            Reached::No => Halted::No,
            Reached::Counted => Halted::Counted,
            Reached::Stop(When::Soon) => {
                self.stopped = true;
                Halted::Soon { running: self.running.len() }
            }
            Reached::Stop(When::Now) => {
                self.end_all(now);
                Halted::Now
            }
        }
    }

    /// Does what a gate answers; returns when to ask again if no job may start.
    fn obey(&mut self, answer: Answer, now: Instant) -> Option<Instant> {
        match answer {
            Answer::Go => None,
            Answer::Wait(moment) => Some(moment),
            Answer::KillYoungest(moment) => {
                self.end_youngest(EndReason::LowMemory, now);
                Some(moment)
            }
            Answer::Suspend { keep, again } => {
                self.suspend_all_but(keep);
                Some(again)
            }
        }
    }

    /// Checks the gates that watch running jobs.
    fn watch(&mut self, now: Instant, machine: &mut dyn Machine) {
        let mut suspends = false;
        for at in 0..self.gates.len() {
            if self.gates[at].watches() {
                let answer = self.gates[at].ask(now, self.running.len(), machine);
                suspends |= matches!(answer, Answer::Suspend { .. });
                self.obey(answer, now);
            }
        }
        if !suspends {
            self.suspend_all_but(u32::MAX);
        }
        if self.running.len() > 0 {
            self.watch_at = Some(now + gate::ASK_AGAIN);
        }
    }
}
