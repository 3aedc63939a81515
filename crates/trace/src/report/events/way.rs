//! The choice of the engine: the one that is asked for, otherwise the cheapest that is allowed and
//! can do what is asked.

use super::EventOptions;
use crate::engine::{
    CallFilter, Error, FollowScope, KernelEngine, KernelSettings, PtraceEngine, TraceEngine,
    TraceWay,
};
use crate::report::target::TraceTarget;
use crate::report::{Interruption, ReportError};
use crate::{CallId, CallSet, CallStatus, CallStatuses};

/// The engine that traces.
pub(super) enum ChosenEngine {
    Kernel(Box<KernelEngine>),
    Ptrace(Box<PtraceEngine>),
}

impl ChosenEngine {
    pub(super) fn engine(&mut self) -> &mut dyn TraceEngine {
        match self {
            ChosenEngine::Kernel(engine) => &mut **engine,
            ChosenEngine::Ptrace(engine) => &mut **engine,
        }
    }

    /// The process of the command.
    pub(super) fn pid(&self) -> Option<i32> {
        match self {
            ChosenEngine::Kernel(engine) => engine.pid(),
            ChosenEngine::Ptrace(engine) => engine.pid(),
        }
    }

    /// Starts or stops measuring the cost, where measuring itself costs.
    pub(super) fn measure(&mut self, on: bool) -> Result<(), Error> {
        match self {
            ChosenEngine::Kernel(engine) => engine.measure(on),
            ChosenEngine::Ptrace(_) => Ok(()),
        }
    }
}

/// Starts the command or attaches to the processes.  Also returns why this is not done in the
/// kernel, unless another way was asked for.
pub(super) fn choose(
    target: &TraceTarget,
    options: &EventOptions,
) -> Result<(ChosenEngine, Option<String>), ReportError> {
    match options.way {
        // strace gives up its filter, too, where it does not do.
        Some(TraceWay::Seccomp)
            if options.is_lossless
                && (options.interference.needs_stops().is_some()
                    || options.interruption == Interruption::Ends) =>
        {
            return Ok((by_ptrace(target, options)?, None));
        }
        Some(TraceWay::Seccomp) => return Ok((by_filter(target, options)?, None)),
        Some(TraceWay::Ptrace) => return Ok((by_ptrace(target, options)?, None)),
        Some(TraceWay::Kernel) => {
            refuse_in_kernel(target, options)?;
            return Ok((in_kernel(target, options)?, None));
        }
        None => {}
    }
    if matches!(target, TraceTarget::Everybody) || is_limited(options) {
        refuse_in_kernel(target, options)?;
    }
    let why = match beyond_kernel(target, options) {
        Some(why) => why,
        None => match in_kernel(target, options) {
            Err(Error::Kernel(error)) => error.to_string(),
            done => return Ok((done?, None)),
        },
    };
    // A filter stops tasks only at the selected calls, and cannot be removed.
    let is_filter_better = matches!(target, TraceTarget::Command(_))
        && options.scope == FollowScope::Tree
        && !options.lines.calls.is_all()
        && options.time.is_none()
        && options.interruption != Interruption::Ends
        && options.interference.beside.is_empty()
        && options.interference.needs_stops().is_none();
    let chosen =
        if is_filter_better { by_filter(target, options) } else { by_ptrace(target, options) };
    match chosen {
        Ok(chosen) => Ok((chosen, Some(why))),
        Err(error) => Err(ReportError::NoWay { kernel: why, source: Box::new(error) }),
    }
}

/// Whether tasks are selected by more than their number, which ptrace cannot do.
fn is_limited(options: &EventOptions) -> bool {
    options.command.is_some() || options.cgroup.is_some()
}

/// What is asked for that only stopped tasks can show; the whole machine cannot be stopped.
fn beyond_kernel(target: &TraceTarget, options: &EventOptions) -> Option<String> {
    let style = options.lines.style;
    let most = KernelSettings::TEXT_MAX;
    if matches!(target, TraceTarget::Everybody) || is_limited(options) {
        return None;
    }
    if let Some(why) = options.interference.needs_stops().or(target.needs_ptrace()) {
        return Some(why.to_owned());
    }
    if !options.interference.beside.is_empty() {
        return Some("-p beside a command is traced by ptrace".to_owned());
    }
    if options.lines.pointers {
        return Some("-i reads registers, which only stopped tasks show".to_owned());
    }
    if style.commands {
        return Some("-Y is exact only while tasks are stopped".to_owned());
    }
    if !options.lines.dumps.are_none() {
        return Some("-e read= and write= show more than is copied there".to_owned());
    }
    if options.is_lossless {
        return Some("no line may be lost".to_owned());
    }
    if style.descriptors > 0 {
        return Some("-y is exact only while tasks are stopped".to_owned());
    }
    if style.whole {
        return Some("-v shows more than is copied there".to_owned());
    }
    (style.text_limit > most).then(|| format!("-s is above the {most} bytes copied there"))
}

/// Refuses what programs in the kernel cannot do at all, as they stop no task.
fn refuse_in_kernel(target: &TraceTarget, options: &EventOptions) -> Result<(), ReportError> {
    let EventOptions { interference, lines, .. } = options;
    let cannot = !interference.beside.is_empty()
        || interference.needs_stops().is_some()
        || target.needs_ptrace().is_some()
        || lines.pointers
        || !lines.dumps.are_none();
    match beyond_kernel(target, options).filter(|_| cannot) {
        Some(why) => Err(ReportError::refused(format!("--way kernel: {why}"))),
        None if cannot => Err(ReportError::refused(
            "-i, -e inject=, fault=, read= and write= need stopped tasks, which --cgroup, --comm \
             and -a have not",
        )),
        None => Ok(()),
    }
}

fn by_filter(target: &TraceTarget, options: &EventOptions) -> Result<ChosenEngine, ReportError> {
    let TraceTarget::Command(command) = target else {
        let why = "--way seccomp: a filter cannot be installed in a running process";
        return Err(ReportError::refused(why));
    };
    ReportError::require(!is_limited(options), "--cgroup and --comm need programs in the kernel")?;
    ReportError::require(
        options.time.is_none(),
        "--for: a command with a filter cannot be detached from: use --way ptrace",
    )?;
    ReportError::require(
        options.interruption != Interruption::Ends,
        "-I 1, 2: a command with a filter cannot be detached from: use --way ptrace",
    )?;
    ReportError::require(
        options.interference.beside.is_empty(),
        "-p beside a command: a filter cannot be installed in a running process",
    )?;
    if let Some(why) = options.interference.needs_stops() {
        return Err(ReportError::refused(format!("--way seccomp: {why}: use --way ptrace")));
    }
    let wanted = options.lines.calls.wanted();
    let engine = PtraceEngine::start_selected(command, options.scope, wanted)?;
    Ok(ChosenEngine::Ptrace(Box::new(engine)))
}

fn by_ptrace(target: &TraceTarget, options: &EventOptions) -> Result<ChosenEngine, ReportError> {
    ReportError::require(!is_limited(options), "--cgroup and --comm need programs in the kernel")?;
    let wanted = options.lines.calls.wanted();
    let mut engine = match target {
        TraceTarget::Command(command) => PtraceEngine::start(command, options.scope, wanted)?,
        TraceTarget::Processes(list) => PtraceEngine::attach(list, options.scope, wanted)?,
        TraceTarget::Everybody => {
            let why = "the whole machine needs programs in the kernel: see whit doctor";
            return Err(ReportError::refused(why));
        }
    };
    engine.interfere(&options.interference)?;
    Ok(ChosenEngine::Ptrace(Box::new(engine)))
}

fn in_kernel(target: &TraceTarget, options: &EventOptions) -> Result<ChosenEngine, Error> {
    let tracks = options.lines.style.descriptors > 0 || !options.lines.paths.is_empty();
    let settings = KernelSettings {
        // What descriptors point to is known from calls that may not be wanted, and these must be
        // traced whether they fail or not.
        wanted: if tracks {
            with_descriptors(&options.lines.calls)
        } else {
            options.lines.calls.wanted()
        },
        errors_only: !tracks && options.statuses == CallStatuses::only(CallStatus::Failed),
        successes_only: !tracks && options.statuses == CallStatuses::only(CallStatus::Successful),
        slower_than_ns: if tracks { 0 } else { options.slower_than_ns },
        command: options.command,
        cgroup: options.cgroup,
        text_limit: Some(options.lines.style.text_limit),
        ..KernelSettings::new(options.scope)
    };
    Ok(ChosenEngine::Kernel(Box::new(match target {
        TraceTarget::Command(command) => KernelEngine::start(command, &settings)?,
        TraceTarget::Processes(list) => KernelEngine::attach(list, &settings)?,
        TraceTarget::Everybody => KernelEngine::everybody(&settings)?,
    })))
}

/// These calls, and those that create, copy or close descriptors.
fn with_descriptors(calls: &CallSet) -> CallFilter {
    const NAMES: [&str; 26] = [
        "open",
        "creat",
        "openat",
        "openat2",
        "dup",
        "dup2",
        "dup3",
        "fcntl",
        "fcntl64",
        "close",
        "socket",
        "accept",
        "accept4",
        "epoll_create",
        "epoll_create1",
        "eventfd",
        "eventfd2",
        "memfd_create",
        "timerfd_create",
        "signalfd",
        "signalfd4",
        "pipe",
        "pipe2",
        "socketpair",
        "execve",
        "execveat",
    ];
    let is_of_descriptors =
        |call: CallId| call.known_name().is_some_and(|name| NAMES.contains(&name));
    CallFilter::of(|call| calls.has(call) || is_of_descriptors(call))
}
