//! Engines: they trace tasks and hand over events.
//!
//! There are three ways to trace, each at its own price ([`TraceWay`]).  All hand over the same
//! [`TraceEvent`]s, in the order of time for each task.  [`HeldCommand`] starts a command and holds
//! it just before its `execve`, until the engine traces it.

mod command;
mod kernel;
mod memory;
mod proc_descriptors;
mod ptrace;
mod requests;
mod seccomp;
mod tampering;

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use crate::{CallId, Memory, SLOTS, TraceEvent, WaitStatus};

pub use command::{CommandUser, HeldCommand, TracedCommand, TracerPlace};
pub use kernel::{KernelEngine, KernelSettings};
pub use proc_descriptors::LiveDescriptors;
pub use ptrace::PtraceEngine;
pub use tampering::Tampering;

/// How tasks are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWay {
    /// By BPF programs in the kernel.
    Kernel,
    /// By ptrace, with a seccomp filter, so that a task stops only at the selected calls.
    Seccomp,
    /// By ptrace, at every call.
    Ptrace,
}

impl TraceWay {
    /// The name of the way, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceWay::Kernel => "kernel",
            TraceWay::Seccomp => "seccomp",
            TraceWay::Ptrace => "ptrace",
        }
    }

    /// What it does to the tasks that it traces: one sentence, without a full stop.
    #[must_use]
    pub const fn distortion(self) -> &'static str {
        match self {
            TraceWay::Kernel => {
                "programs in the kernel add a fraction of a microsecond to each call, and tasks never \
                 stop"
            }
            TraceWay::Seccomp => {
                "a selected call stops its task twice, which takes tens of microseconds and shows in \
                 its times; other calls pass a filter for some nanoseconds; one tracer serves all \
                 tasks in turn"
            }
            TraceWay::Ptrace => {
                "every call stops its task twice, which takes tens of microseconds and shows in its \
                 times; one tracer serves all tasks in turn, so that they run hardly in parallel"
            }
        }
    }
}

/// Which tasks are traced besides the one that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowScope {
    /// None: that thread alone, as `strace` without `-f`.
    Thread,
    /// All threads of its process.
    Process,
    /// All threads of its process, and all descendants: `strace -f`.
    Tree,
}

/// What is done to tasks besides watching them.
#[derive(Clone, Debug, Default)]
pub struct TaskChanges {
    /// What is done to calls on purpose.
    pub tampering: Vec<Tampering>,
    /// Tasks are detached from when they have called `execve`.
    pub detach_at_exec: bool,
    /// Processes that are traced beside a command.
    pub beside: Vec<i32>,
    /// Set by the event handler: the call whose entry it got is left alone.
    pub is_spared: Rc<Cell<bool>>,
}

impl TaskChanges {
    /// Why it needs tasks that stop at every call, if it does.
    pub(crate) fn needs_stops(&self) -> Option<&'static str> {
        if !self.tampering.is_empty() {
            return Some(
                "-e inject= and fault= change tasks, which must stop at every call for it",
            );
        }
        self.detach_at_exec.then_some("-b execve detaches from stopped tasks")
    }
}

/// Which calls are wanted, of both tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFilter(Box<[bool; SLOTS]>);

impl CallFilter {
    /// The calls for which `wanted` is true.  For all numbers beyond a table it is asked once, with
    /// the number of the table's last slot.
    #[must_use]
    pub fn of(wanted: impl Fn(CallId) -> bool) -> Self {
        CallFilter(Box::new(std::array::from_fn(|slot| wanted(CallId::of_slot(slot)))))
    }

    /// Every call.
    #[must_use]
    pub fn all() -> Self {
        Self::of(|_| true)
    }

    /// Whether this call is wanted.
    #[must_use]
    pub fn has(&self, call: CallId) -> bool {
        self.0[call.slot()]
    }

    /// Whether every call is wanted.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.iter().all(|wanted| *wanted)
    }
}

/// Why [`TraceEngine::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunResult {
    /// No task is left.
    Ended,
    /// The time limit is reached.
    Elapsed,
    /// This process received a signal.
    Interrupted,
    /// The event handler asked to stop for now.
    Paused,
}

/// What an engine has cost the tasks that it traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCost {
    /// How often a task was interrupted: runs of a BPF program, or ptrace stops.
    pub times: u64,
    /// The total time of these interruptions that the engine can see.  A stop is measured from
    /// `wait4` returning until the task is resumed, without the context switches before and after,
    /// which take several microseconds more.
    pub held_ns: u64,
}

impl EngineCost {
    /// The time that one call was interrupted at its entry and exit, in ns; `None` without a
    /// measurement.
    #[must_use]
    pub fn call_ns(&self) -> Option<f64> {
        (self.times > 0).then(|| self.held_ns as f64 / self.times as f64 * 2.0)
    }
}

/// Receives the events.  The memory is that of the event's task, at the time of the event.
pub type EventHandler<'a> = dyn FnMut(&TraceEvent, &dyn Memory) -> ControlFlow<()> + 'a;

/// Traces tasks and hands over events.
pub trait TraceEngine {
    /// How it traces.
    fn way(&self) -> TraceWay;

    /// Hands over events until no task is left, the limit is reached, a signal comes or `each`
    /// breaks. Call it again unless it returned [`RunResult::Ended`].
    ///
    /// A signal that comes just before this call does not interrupt it, so callers that wait for
    /// one set a limit.
    ///
    /// # Errors
    ///
    /// [`Error::Exec`] when the command could not be started; [`Error::System`] when a system call
    /// failed.
    fn run(
        &mut self,
        limit: Option<Duration>,
        each: &mut EventHandler<'_>,
    ) -> Result<RunResult, Error>;

    /// Events that could not be handed over.
    fn lost(&self) -> u64;

    /// What it has cost so far.
    fn cost(&self) -> EngineCost;

    /// The wait status of the command that the engine started; `None` while it runs, or if the
    /// engine attached to running tasks.
    fn end(&self) -> Option<WaitStatus>;

    /// Detaches from all tasks, which continue.  No event is handed over afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Inseparable`] if the tasks cannot continue without it.
    fn detach(&mut self) -> Result<(), Error>;
}

/// Why an engine cannot trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No folder of `PATH` has the command.
    #[error("no command {0:?} in the folders of PATH")]
    NotFound(String),
    /// `execve` failed.
    #[error("cannot run {program}: {why}")]
    Exec {
        /// The file.
        program: String,
        /// The cause.
        why: io::Error,
    },
    /// An argument or an environment variable contains a zero byte.
    #[error("{0:?} contains a zero byte, which no argument can")]
    ZeroByte(String),
    /// There is no user of that name.
    #[error("no user {0:?} on this machine")]
    NoUser(String),
    /// The process could not change to the user.
    #[error("cannot run as user {user}: {why}: only root can run a command as somebody else")]
    User {
        /// The user's name.
        user: String,
        /// Why.
        why: io::Error,
    },
    /// There is no such process, or no longer.
    #[error("no process {0}: it may have ended")]
    NoProcess(i32),
    /// Another tracer traces the process.
    #[error(
        "process {pid} is already traced by process {by}, and only one tracer can: end that one, or \
         count in the kernel"
    )]
    Traced {
        /// The process.
        pid: i32,
        /// The process that traces it.
        by: i32,
    },
    /// The kernel refuses to trace the process.
    #[error("not allowed to trace process {pid}: {why}")]
    Denied {
        /// The process.
        pid: i32,
        /// The cause, and what to do.
        why: String,
    },
    /// The kernel refused the seccomp filter.
    #[error("the kernel takes no seccomp filter ({0}): trace without one")]
    Filter(io::Error),
    /// Without this request (Linux 5.3) the entry of a call cannot be told from its exit for
    /// certain.
    #[error("this kernel has no PTRACE_GET_SYSCALL_INFO (Linux 5.3 and later have)")]
    OldKernel,
    /// The kernel rejects the BPF programs.
    #[error(transparent)]
    Kernel(#[from] bpf::Error),
    /// Once the tracer of a task with a seccomp filter is gone, the selected calls fail with
    /// ENOSYS.
    #[error(
        "the command has a seccomp filter that needs its tracer, so it cannot be detached: \
         end it"
    )]
    Inseparable,
    /// A system call failed that should not.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The cause.
        why: io::Error,
    },
}

impl Error {
    /// The error number of the latest libc call, with what was tried.
    pub(crate) fn last(what: &'static str) -> Self {
        Error::System { what, why: io::Error::last_os_error() }
    }
}
