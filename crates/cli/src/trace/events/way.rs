//! Which engine watches: the one that is asked for, else the best that is allowed.

use trace::engine::{Engine, Ptrace, Scope};

use super::Plan;
use super::arguments::WayWanted;
use crate::trace::target::Target;

/// An engine at work.
pub(crate) struct Chosen {
    pub(crate) engine: Box<dyn Engine>,
    /// The command's process.
    pub(crate) pid: Option<i32>,
    /// Why it is not a better one, if that was not our choice.
    pub(crate) instead: Option<String>,
}

/// Starts or takes hold of what is traced.
pub(crate) fn choose(target: &Target, plan: &Plan) -> anyhow::Result<Chosen> {
    let wanted = plan.lines.calls.wanted();
    let chosen =
        |engine: Ptrace| Chosen { pid: engine.pid(), engine: Box::new(engine), instead: None };
    match (target, plan.way) {
        (_, Some(WayWanted::Kernel)) => {
            anyhow::bail!("--way kernel: counts only so far (-c): take ptrace for lines")
        }
        (Target::Everybody, _) => {
            anyhow::bail!("-a, --cgroup and --comm: only counting (-c) can watch everybody")
        }
        (Target::Command(command), Some(WayWanted::Seccomp)) => {
            Ok(chosen(Ptrace::start_selected(command, plan.scope, wanted)?))
        }
        (Target::Processes(_), Some(WayWanted::Seccomp)) => {
            anyhow::bail!("--way seccomp: a process that runs already takes no filter from us")
        }
        // A filter stops tasks at the selected calls only.  It cannot be taken off again.
        (Target::Command(command), None)
            if plan.scope == Scope::Tree && !wanted.is_all() && plan.time.is_none() =>
        {
            Ok(chosen(Ptrace::start_selected(command, plan.scope, wanted)?))
        }
        (Target::Command(command), _) => Ok(chosen(Ptrace::start(command, plan.scope, wanted)?)),
        (Target::Processes(list), _) => Ok(chosen(Ptrace::attach(list, plan.scope, wanted)?)),
    }
}
