//! Counts calls: BPF programs that count by themselves, or an engine whose events are counted here.

use std::ops::ControlFlow;
use std::time::Duration;

use bpf::CountSettings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::engine::{
    self, CallFilter, EngineCost, FollowScope, HeldCommand, PtraceEngine, RunResult, TaskChanges,
    TraceEngine, TraceWay,
};
use crate::report::ReportError;
use crate::report::signals::TerminationSignals;
use crate::report::target::{self, TraceTarget};
use crate::{
    CallSet, CallStatus, CallStatuses, CallTally, CountCriteria, EventCounts, KernelCounts,
    WaitStatus,
};

/// How often it is checked whether watched processes that are not our children still exist.
const CHECK_PERIOD: Duration = Duration::from_millis(250);

/// How often it is checked, once the command has ended, whether any descendant is left.
const LEFT_PERIOD: Duration = Duration::from_millis(20);

/// Which calls of which tasks are counted.
#[derive(Debug)]
pub struct CountRequest {
    /// The tasks.
    pub target: TraceTarget,
    /// The calls.
    pub calls: CallSet,
    /// How the calls must have ended.
    pub statuses: CallStatuses,
    /// What is done to tasks besides watching them.
    pub interference: TaskChanges,
    /// Further criteria, which only the BPF programs know.
    pub settings: CountSettings,
}

/// What counts: the kernel's programs, or an engine.
pub(super) enum Counter {
    Kernel {
        counts: Box<KernelCounts>,
        launch: Option<HeldCommand>,
        /// How the command ended.
        end: Option<WaitStatus>,
        watched: Vec<i32>,
    },
    Engine {
        engine: Box<PtraceEngine>,
        counts: EventCounts,
    },
}

/// The result of [`Counter::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountProgress {
    Counting,
    /// Nothing is left to count; the wait status of the command if there was one.
    Ended(Option<WaitStatus>),
}

impl Counter {
    /// Begins to count in the way that is asked for, otherwise in the cheapest that is allowed.
    /// Also returns why that is not in the kernel.  `is_lenient`: a filter that does not do is given
    /// up, as strace does.
    pub(super) fn start(
        request: &CountRequest,
        way: Option<TraceWay>,
        is_lenient: bool,
    ) -> Result<(Self, Option<String>), ReportError> {
        let by_stops = request.interference.needs_stops();
        if let Some(why) = by_stops.or(request.target.needs_ptrace()) {
            let may_ignore = is_lenient && way == Some(TraceWay::Seccomp);
            if let Some(way @ (TraceWay::Kernel | TraceWay::Seccomp)) = way
                && !may_ignore
            {
                let why = format!("--way {}: {why}: use --way ptrace", way.name());
                return Err(ReportError::Refused(why));
            }
            return Ok((Self::ptrace(request, false)?, way.is_none().then(|| why.to_owned())));
        }
        match way {
            Some(TraceWay::Kernel) => return Ok((Self::kernel(request)?, None)),
            Some(way) => return Ok((Self::ptrace(request, way == TraceWay::Seccomp)?, None)),
            None => {}
        }
        let kernel = match Self::kernel(request) {
            Err(ReportError::Engine(engine::Error::Kernel(error))) => error.to_string(),
            other => return Ok((other?, None)),
        };
        // All descendants of the command inherit a filter, so it pays only if few calls are wanted.
        let is_command = matches!(request.target, TraceTarget::Command(_));
        let is_alone = request.interference.beside.is_empty();
        match Self::ptrace(request, is_command && is_alone && !request.calls.is_all()) {
            Ok(counter) => Ok((counter, Some(kernel))),
            Err(error) => Err(ReportError::NoWay { kernel, source: Box::new(error) }),
        }
    }

    /// Begins to count by BPF programs.
    pub(super) fn kernel(request: &CountRequest) -> Result<Self, ReportError> {
        let mut settings = request.settings.clone();
        settings.calls = (!request.calls.is_all()).then(|| request.calls.bits());
        settings.errors_only = !request.statuses.has(CallStatus::Successful);
        settings.successes_only = !request.statuses.has(CallStatus::Failed);
        let mut counts = Box::new(KernelCounts::open(&settings)?);
        let (mut launch, watched) = match &request.target {
            TraceTarget::Command(command) => {
                (Some(HeldCommand::start(command)?), request.interference.beside.clone())
            }
            TraceTarget::Processes(list) => (None, list.clone()),
            TraceTarget::Everybody => (None, Vec::new()),
        };
        let pid = launch.as_ref().map(HeldCommand::pid);
        let all: Vec<i32> = pid.into_iter().chain(watched.iter().copied()).collect();
        let found = counts.watch(&all)?;
        for process in &watched {
            let exists = settings.whole_processes && target::exists(*process);
            if !exists && !found.contains(process) {
                let why = format!("-p {process}: no such process; it may have ended");
                return Err(ReportError::Refused(why));
            }
        }
        // A short command is measured from its first call on.
        counts.measure(true)?;
        if let Some(launch) = &mut launch {
            launch.release()?;
            launch.running()?;
        }
        Ok(Counter::Kernel { counts, launch, end: None, watched })
    }

    /// Begins to count by ptrace; with a filter in the command if `selected`.
    pub(super) fn ptrace(request: &CountRequest, selected: bool) -> Result<Self, ReportError> {
        let CountRequest { target, calls, statuses, interference, settings } = request;
        let is_limited = settings.cgroup.is_some() || settings.command.is_some();
        ReportError::require(!is_limited, "--cgroup and --comm need programs in the kernel")?;
        let scope = if settings.follow { FollowScope::Tree } else { FollowScope::Thread };
        let wanted: CallFilter = calls.wanted();
        let mut engine = match target {
            TraceTarget::Command(_) if selected && !interference.beside.is_empty() => {
                let why = "--way seccomp: a filter needs a command and cannot be used with -p";
                return Err(ReportError::refused(why));
            }
            TraceTarget::Command(command) if selected => {
                PtraceEngine::start_selected(command, scope, wanted)?
            }
            TraceTarget::Command(command) => PtraceEngine::start(command, scope, wanted)?,
            TraceTarget::Processes(_) if selected => {
                let why = "--way seccomp: a filter needs a command and cannot be used with -p";
                return Err(ReportError::refused(why));
            }
            TraceTarget::Processes(list) => PtraceEngine::attach(list, scope, wanted)?,
            TraceTarget::Everybody => {
                let why = "the whole machine can only be counted by programs in the kernel: see \
                           whit doctor";
                return Err(ReportError::refused(why));
            }
        };
        engine.interfere(interference)?;
        let criteria = CountCriteria {
            statuses: *statuses,
            slower_than_ns: settings.slower_than_ns,
            split: settings.split,
        };
        Ok(Counter::Engine { engine: Box::new(engine), counts: EventCounts::new(criteria) })
    }

    /// How the command ended, if it has.
    pub(super) fn end(&self) -> Option<WaitStatus> {
        match self {
            Counter::Kernel { end, .. } => *end,
            Counter::Engine { engine, .. } => engine.end(),
        }
    }

    /// How calls are counted.
    pub(super) fn way(&self) -> TraceWay {
        match self {
            Counter::Kernel { .. } => TraceWay::Kernel,
            Counter::Engine { engine, .. } => engine.way(),
        }
    }

    /// The process of the command, until it has ended.
    pub(super) fn pid(&self) -> Option<i32> {
        match self {
            Counter::Kernel { end: Some(_), .. } => None,
            Counter::Kernel { launch, .. } => launch.as_ref().map(HeldCommand::pid),
            Counter::Engine { engine, .. } => engine.pid(),
        }
    }

    /// Counts until the limit is reached, a signal comes or nothing is left.
    pub(super) fn run(
        &mut self,
        signals: &TerminationSignals,
        limit: Duration,
    ) -> Result<CountProgress, ReportError> {
        match self {
            Counter::Kernel { counts, end: Some(end), .. } => {
                // Descendants are waited for, as strace does.
                if counts.alive()? == 0 {
                    return Ok(CountProgress::Ended(Some(*end)));
                }
                sleep(&mut [PollFd::new(signals, PollFlags::IN)], limit.min(LEFT_PERIOD))?;
                Ok(CountProgress::Counting)
            }
            Counter::Kernel { launch: Some(launch), end, .. } => {
                *end = launch.ended()?;
                if end.is_some() {
                    return Ok(CountProgress::Counting);
                }
                let pidfd = launch.pidfd();
                sleep(&mut [PollFd::new(signals, PollFlags::IN), pidfd_of(&pidfd)], limit)?;
                Ok(CountProgress::Counting)
            }
            Counter::Kernel { watched, .. } => {
                let gone = !watched.is_empty() && !watched.iter().any(|id| target::exists(*id));
                if gone {
                    return Ok(CountProgress::Ended(None));
                }
                let limit = if watched.is_empty() { limit } else { limit.min(CHECK_PERIOD) };
                sleep(&mut [PollFd::new(signals, PollFlags::IN)], limit)?;
                Ok(CountProgress::Counting)
            }
            Counter::Engine { engine, counts } => {
                // The signals are blocked, and read between two runs.
                let progress = engine.run(Some(limit.min(CHECK_PERIOD)), &mut |event, _| {
                    counts.add(event);
                    ControlFlow::Continue(())
                })?;
                Ok(match progress {
                    RunResult::Ended => CountProgress::Ended(engine.end()),
                    _ => CountProgress::Counting,
                })
            }
        }
    }

    /// Starts or stops measuring the cost, where measuring itself costs.
    pub(super) fn measure(&mut self, on: bool) -> Result<(), ReportError> {
        match self {
            Counter::Kernel { counts, .. } => Ok(counts.measure(on)?),
            Counter::Engine { .. } => Ok(()),
        }
    }

    /// What counting has cost so far.
    pub(super) fn cost(&self) -> Result<EngineCost, ReportError> {
        match self {
            Counter::Kernel { counts, .. } => Ok(counts.cost()?),
            Counter::Engine { engine, .. } => Ok(engine.cost()),
        }
    }

    /// Everything counted so far.
    pub(super) fn tally(&self) -> Result<CallTally, ReportError> {
        match self {
            Counter::Kernel { counts, .. } => Ok(counts.tally()?),
            Counter::Engine { engine, counts } => {
                let mut tally = counts.tally();
                tally.lost = engine.lost();
                Ok(tally)
            }
        }
    }

    /// Detaches from what is watched.
    pub(super) fn detach(&mut self) -> Result<(), ReportError> {
        match self {
            Counter::Kernel { .. } => Ok(()),
            Counter::Engine { engine, .. } => Ok(engine.detach()?),
        }
    }
}

fn pidfd_of<'a>(pidfd: &'a rustix::fd::BorrowedFd<'a>) -> PollFd<'a> {
    PollFd::new(pidfd, PollFlags::IN)
}

/// Waits until one of the descriptors is readable, or for the time.
fn sleep(descriptors: &mut [PollFd<'_>], limit: Duration) -> Result<(), ReportError> {
    let too_long = |_| ReportError::refused("the time is too long to wait for");
    let limit = Timespec::try_from(limit).map_err(too_long)?;
    match poll(descriptors, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(ReportError::system("waiting for the command")(error.into())),
    }
}
