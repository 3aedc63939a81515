//! Which engine watches: the one that is asked for, else the best that is allowed.

use anyhow::{Context as _, bail, ensure};
use trace::engine::{Engine, Error, KernelEvents, KernelSettings, Ptrace, Scope, Wanted};
use trace::{CallId, CallSet, Status, Statuses};

use super::Plan;
use super::arguments::WayWanted;
use crate::trace::target::Target;

/// An engine at work.
pub(crate) enum Watch {
    Kernel(Box<KernelEvents>),
    Ptrace(Box<Ptrace>),
}

impl Watch {
    pub(crate) fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Watch::Kernel(engine) => &mut **engine,
            Watch::Ptrace(engine) => &mut **engine,
        }
    }

    /// The command's process.
    pub(crate) fn pid(&self) -> Option<i32> {
        match self {
            Watch::Kernel(engine) => engine.pid(),
            Watch::Ptrace(engine) => engine.pid(),
        }
    }

    /// Has the cost measured from now on, or no longer, where measuring itself costs.
    pub(crate) fn measure(&mut self, on: bool) -> Result<(), Error> {
        match self {
            Watch::Kernel(engine) => engine.measure(on),
            Watch::Ptrace(_) => Ok(()),
        }
    }
}

/// Starts or takes hold of what is traced; and why that is not done in the kernel, if it might be.
pub(crate) fn choose(target: &Target, plan: &Plan) -> anyhow::Result<(Watch, Option<String>)> {
    match plan.way {
        Some(WayWanted::Seccomp) => return Ok((by_filter(target, plan)?, None)),
        Some(WayWanted::Ptrace) => return Ok((by_ptrace(target, plan)?, None)),
        Some(WayWanted::Kernel) => return Ok((in_kernel(target, plan)?, None)),
        None => {}
    }
    let why = match beyond_kernel(target, plan) {
        Some(why) => why,
        None => match in_kernel(target, plan) {
            Err(Error::Kernel(error)) => error.to_string(),
            done => return Ok((done?, None)),
        },
    };
    // A filter stops tasks at the selected calls only, and cannot be taken off again.
    let is_filter_better = matches!(target, Target::Command(_))
        && plan.scope == Scope::Tree
        && !plan.lines.calls.is_all()
        && plan.time.is_none();
    let watch = if is_filter_better { by_filter(target, plan) } else { by_ptrace(target, plan) };
    Ok((watch.with_context(|| format!("not in the kernel ({why}), nor by ptrace"))?, Some(why)))
}

/// What lines ask for that only tasks which stand still can tell; everybody cannot be held.
fn beyond_kernel(target: &Target, plan: &Plan) -> Option<String> {
    let style = plan.lines.style;
    let most = KernelSettings::TEXT_MAX;
    if matches!(target, Target::Everybody) || plan.is_limited() {
        return None;
    }
    if plan.is_lossless {
        return Some("no line may be lost".to_owned());
    }
    if style.descriptors > 0 {
        return Some("-y is exact only while tasks stand still".to_owned());
    }
    if style.whole {
        return Some("-v shows more than is copied there".to_owned());
    }
    (style.text_limit > most).then(|| format!("-s is above the {most} bytes copied there"))
}

fn by_filter(target: &Target, plan: &Plan) -> anyhow::Result<Watch> {
    let Target::Command(command) = target else {
        bail!("--way seccomp: a process that runs already takes no filter from us")
    };
    ensure!(!plan.is_limited(), "--cgroup and --comm need programs in the kernel");
    ensure!(
        plan.time.is_none(),
        "--for: a command with a filter cannot be let go on; --way ptrace"
    );
    let engine = Ptrace::start_selected(command, plan.scope, plan.lines.calls.wanted())?;
    Ok(Watch::Ptrace(Box::new(engine)))
}

fn by_ptrace(target: &Target, plan: &Plan) -> anyhow::Result<Watch> {
    ensure!(!plan.is_limited(), "--cgroup and --comm need programs in the kernel");
    let wanted = plan.lines.calls.wanted();
    let engine = match target {
        Target::Command(command) => Ptrace::start(command, plan.scope, wanted)?,
        Target::Processes(list) => Ptrace::attach(list, plan.scope, wanted)?,
        Target::Everybody => {
            bail!("the whole machine needs programs in the kernel: see whit doctor")
        }
    };
    Ok(Watch::Ptrace(Box::new(engine)))
}

fn in_kernel(target: &Target, plan: &Plan) -> Result<Watch, Error> {
    let tracks = plan.lines.style.descriptors > 0 || !plan.lines.paths.is_empty();
    let settings = KernelSettings {
        // What descriptors point to is told by calls that may not be wanted, and that must not fail.
        wanted: if tracks {
            with_descriptors(&plan.lines.calls)
        } else {
            plan.lines.calls.wanted()
        },
        errors_only: !tracks && plan.statuses == Statuses::only(Status::Failed),
        successes_only: !tracks && plan.statuses == Statuses::only(Status::Successful),
        slower_than_ns: if tracks { 0 } else { plan.slower_than_ns },
        command: plan.command,
        cgroup: plan.cgroup,
        text_limit: Some(plan.lines.style.text_limit),
        ..KernelSettings::new(plan.scope)
    };
    Ok(Watch::Kernel(Box::new(match target {
        Target::Command(command) => KernelEvents::start(command, &settings)?,
        Target::Processes(list) => KernelEvents::attach(list, &settings)?,
        Target::Everybody => KernelEvents::everybody(&settings)?,
    })))
}

/// These calls, and those that make, copy or close descriptors.
fn with_descriptors(calls: &CallSet) -> Wanted {
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
    Wanted::of(|call| calls.has(call) || is_of_descriptors(call))
}
