//! A run of jobs in simulated time: an engine that starts nothing, for the tests of the schedule.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::super::{Action, AfterEnd, EndReason, Halted, Schedule, ScheduleOptions, Start};
use super::fake::Fake;
use crate::Outcome;

/// Most steps of a simulation before it is considered endless.
const STEPS_MAX: u32 = 100_000;

/// What a job does by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// How long it takes.
    pub(super) takes_ms: u64,
    /// How it ends.
    pub(super) ends: Outcome,
    /// What it does at a TERM.
    pub(super) on_term: OnTerm,
}

/// What a job does at a TERM.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnTerm {
    Dies,
    Ignores,
    Exits(u8),
}

/// A job with this duration and exit code.
pub(super) fn job(takes_ms: u64, code: u8) -> Plan {
    Plan { takes_ms, ends: Outcome::Exited(code), on_term: OnTerm::Dies }
}

/// An event, with the milliseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A job (its number) was started in a slot.
    Start(u64, u64, u32),
    /// It ended, and the schedule decided this.
    End(u64, u64, Outcome, AfterEnd),
    /// It got a signal.
    Signal(u64, u64, i32),
    /// A message gave the reason for its end.
    Warn(u64, u64, EndReason),
    /// The command of `--limit` was run.
    Limit(u64),
}

/// A change of the machine or by a user.
type Change = Box<dyn Fn(&mut Schedule, &Fake)>;

/// A job that runs in the simulation.
#[derive(Clone, Copy, Debug)]
struct Live {
    seq: u64,
    plan: Plan,
    ends_at: u64,
    /// When it was suspended, if it is.
    suspended_at: Option<u64>,
}

/// A run of jobs in simulated time.
pub(super) struct Simulation {
    pub(super) schedule: Schedule,
    pub(super) machine: Fake,
    pub(super) events: Vec<Event>,
    pub(super) halts: Vec<Halted>,
    /// The exit code of the command of `--limit` at a time; it takes 5 ms.
    pub(super) limit: fn(u64) -> u8,
    plan: Box<dyn Fn(u64, u32) -> Plan>,
    changes: BTreeMap<u64, Change>,
    queue: VecDeque<u64>,
    attempts: BTreeMap<u64, u32>,
    live: BTreeMap<u32, Live>,
    limit_ends_at: Option<u64>,
    begin: Instant,
    now_ms: u64,
}

impl Simulation {
    /// A run of jobs; `plan` gives what a job (its number, its attempt) does.
    pub(super) fn new(
        options: ScheduleOptions,
        machine: &Fake,
        jobs: u64,
        plan: impl Fn(u64, u32) -> Plan + 'static,
    ) -> Self {
        let begin = Instant::now();
        let mut machine = machine.clone();
        let mut schedule =
            Schedule::new(options, begin, &mut machine).unwrap_or_else(|error| panic!("{error}"));
        schedule.set_total(jobs);
        Simulation {
            schedule,
            machine,
            events: Vec::new(),
            halts: Vec::new(),
            limit: |_| 0,
            plan: Box::new(plan),
            changes: BTreeMap::new(),
            queue: (1..=jobs).collect(),
            attempts: BTreeMap::new(),
            live: BTreeMap::new(),
            limit_ends_at: None,
            begin,
            now_ms: 0,
        }
    }

    /// Makes a change at a time.
    pub(super) fn at(&mut self, ms: u64, change: impl Fn(&mut Schedule, &Fake) + 'static) {
        self.changes.insert(ms, Box::new(change));
    }

    fn now(&self) -> Instant {
        self.begin + Duration::from_millis(self.now_ms)
    }

    /// The first whole millisecond at or after a time.
    fn ms(&self, moment: Instant) -> u64 {
        let nanoseconds = moment.saturating_duration_since(self.begin).as_nanos();
        u64::try_from(nanoseconds.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Runs everything; returns the exit code.
    pub(super) fn run(&mut self) -> u8 {
        for _ in 0..STEPS_MAX {
            let wake = self.start_all();
            let timer = self.schedule.next_timer().map(|moment| self.ms(moment));
            let end = self.live.values().filter(|live| live.suspended_at.is_none());
            let end = end.map(|live| live.ends_at).min();
            let change = self.changes.keys().next().copied();
            let moments = [wake, timer, end, change, self.limit_ends_at];
            let Some(next) = moments.into_iter().flatten().min() else {
                assert!(self.live.is_empty(), "jobs are suspended for ever: {:?}", self.live);
                return self.schedule.exit_code();
            };
            self.now_ms = next.max(self.now_ms);
            self.happen();
        }
        panic!("the simulation does not end: {:?}", &self.events[..20.min(self.events.len())]);
    }

    /// Starts what may start; returns when to ask again.
    fn start_all(&mut self) -> Option<u64> {
        while let Some(seq) = self.queue.front().copied() {
            match self.schedule.may_start(self.now(), &mut self.machine.clone()) {
                Start::Now { slot } => {
                    self.act();
                    self.queue.pop_front();
                    let attempt = self.attempts.entry(seq).or_insert(0);
                    *attempt += 1;
                    let plan = (self.plan)(seq, *attempt);
                    if plan.ends == Outcome::Skipped {
                        self.halts.push(self.schedule.skipped(self.now()).halt);
                        continue;
                    }
                    let ends_at = self.now_ms + plan.takes_ms;
                    self.live.insert(slot, Live { seq, plan, ends_at, suspended_at: None });
                    self.events.push(Event::Start(self.now_ms, seq, slot));
                    self.schedule.started(seq, slot, self.now());
                    self.act();
                }
                Start::At(moment) => {
                    self.act();
                    assert!(moment > self.now(), "a moment that is over is no answer");
                    return Some(self.ms(moment));
                }
                Start::Ask => {
                    self.events.push(Event::Limit(self.now_ms));
                    self.limit_ends_at = Some(self.now_ms + 5);
                    return None;
                }
                Start::OnEnd | Start::Asked => return None,
                Start::Never => self.queue.clear(),
            }
        }
        None
    }

    /// Does everything that is due now.
    fn happen(&mut self) {
        if let Some(change) = self.changes.remove(&self.now_ms) {
            change(&mut self.schedule, &self.machine);
        }
        if self.limit_ends_at.is_some_and(|moment| moment <= self.now_ms) {
            self.limit_ends_at = None;
            let code = (self.limit)(self.now_ms);
            self.schedule.limit_answered(code, self.now());
        }
        self.schedule.poll(self.now(), &mut self.machine.clone());
        self.act();
        let over = |live: &Live| live.suspended_at.is_none() && live.ends_at <= self.now_ms;
        let over: Vec<u32> =
            self.live.iter().filter(|(_, live)| over(live)).map(|(slot, _)| *slot).collect();
        for slot in over {
            let Some(live) = self.live.remove(&slot) else { continue };
            let now = self.now();
            let ended = self.schedule.ended(slot, live.plan.ends, now, &mut self.machine.clone());
            assert_eq!(ended.attempt, self.attempts[&live.seq]);
            self.events.push(Event::End(self.now_ms, live.seq, ended.outcome, ended.verdict));
            self.halts.push(ended.halt);
            if ended.verdict == AfterEnd::Again {
                self.queue.push_front(live.seq);
            }
            self.act();
        }
    }

    /// Carries out the actions of the schedule.
    fn act(&mut self) {
        let actions: Vec<Action> = self.schedule.actions().collect();
        for action in actions {
            match action {
                Action::Warn { seq, reason, .. } => {
                    self.events.push(Event::Warn(self.now_ms, seq, reason));
                }
                Action::Signal { slot, seq, signal } => {
                    self.events.push(Event::Signal(self.now_ms, seq, signal));
                    self.signal(slot, seq, signal);
                }
            }
        }
    }

    /// What a signal does to a job.
    fn signal(&mut self, slot: u32, seq: u64, signal: i32) {
        let now_ms = self.now_ms;
        let Some(live) = self.live.get_mut(&slot) else { panic!("nothing runs in {slot}") };
        assert_eq!(live.seq, seq, "a signal for a job that is not there");
        let mut dies = |ends| {
            live.plan.ends = ends;
            live.ends_at = now_ms;
        };
        match (signal, live.plan.on_term) {
            (libc::SIGTERM, OnTerm::Dies) => dies(Outcome::Signalled(15)),
            (libc::SIGTERM, OnTerm::Exits(code)) => dies(Outcome::Exited(code)),
            (libc::SIGKILL, _) => {
                dies(Outcome::Signalled(9));
                live.suspended_at = None;
            }
            (libc::SIGSTOP, _) => live.suspended_at = Some(now_ms),
            (libc::SIGCONT, _) => {
                let since = live.suspended_at.take().unwrap_or(now_ms);
                live.ends_at = live.ends_at.max(now_ms).max(live.ends_at + (now_ms - since));
            }
            _ => {}
        }
        if signal == libc::SIGCONT && live.plan.ends == Outcome::Signalled(15) {
            live.ends_at = now_ms;
        }
    }

    /// When each job was started.
    pub(super) fn starts_ms(&self) -> Vec<u64> {
        let start = |event: &Event| match event {
            Event::Start(ms, ..) => Some(*ms),
            _ => None,
        };
        self.events.iter().filter_map(start).collect()
    }

    /// The signals that a job got, and when.
    pub(super) fn signals_of(&self, seq: u64) -> Vec<(u64, i32)> {
        let signal = |event: &Event| match event {
            Event::Signal(ms, of, signal) if *of == seq => Some((*ms, *signal)),
            _ => None,
        };
        self.events.iter().filter_map(signal).collect()
    }

    /// How each job ended for good: when, which, how; in that order.
    pub(super) fn log(&self) -> Vec<(u64, u64, Outcome)> {
        let done = |event: &Event| match event {
            Event::End(ms, seq, outcome, AfterEnd::Done) => Some((*ms, *seq, *outcome)),
            _ => None,
        };
        self.events.iter().filter_map(done).collect()
    }
}
