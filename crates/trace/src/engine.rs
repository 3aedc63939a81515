//! Engines: what watches tasks and tells what they do.
//!
//! Three ways, each with its own price ([`TraceWay`]).  All hand over the same [`TraceEvent`]s, in the order of
//! their time for each task.  A command of one's own is started by [`HeldCommand`], which holds it just
//! before its `execve`, until the engine has hold of it.

mod command;
mod kernel;
mod memory;
mod proc_descriptors;
mod ptrace;
mod requests;
mod seccomp;

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::{CallId, Memory, SLOTS, TraceEvent, WaitStatus};

pub use command::{CommandUser, HeldCommand, TracedCommand};
pub use kernel::{KernelEngine, KernelSettings};
pub use proc_descriptors::LiveDescriptors;
pub use ptrace::PtraceEngine;

/// How tasks are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWay {
    /// By programs in the kernel.
    Kernel,
    /// By ptrace, with a seccomp filter that stops a task at the selected calls only.
    Seccomp,
    /// By ptrace, at every call.
    Ptrace,
}

impl TraceWay {
    /// Its name, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceWay::Kernel => "kernel",
            TraceWay::Seccomp => "seccomp",
            TraceWay::Ptrace => "ptrace",
        }
    }

    /// What it does to what it watches: one sentence, without a full stop.
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

/// Which tasks are watched besides the one that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowScope {
    /// None: that thread alone, as `strace` without `-f`.
    Thread,
    /// All threads of its process.
    Process,
    /// All threads of its process, and all processes that they begin, and so on: `strace -f`.
    Tree,
}

/// Calls that are wanted, of both tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFilter(Box<[bool; SLOTS]>);

impl CallFilter {
    /// Asks for each call whether it is wanted.  Numbers that are no calls are asked for once, with
    /// the number of the last slot of their table.
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

/// Why an engine came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunResult {
    /// Nothing is left to watch.
    Ended,
    /// The time is over.
    Elapsed,
    /// A signal came to the caller.
    Interrupted,
    /// Whoever looks at the events wants no more for now.
    Paused,
}

/// What an engine has cost the tasks that it watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCost {
    /// How often a task was held up: runs of a program in the kernel, or stops.
    pub times: u64,
    /// For how long in all, as far as the engine can see: a stop is seen from when we are told of it
    /// until we let the task run on, without the switches between tasks before and after, which
    /// take several microseconds more.
    pub held_ns: u64,
}

impl EngineCost {
    /// For how long a task was held up by one call, at whose begin and end it was; `None` if none
    /// was.
    #[must_use]
    pub fn call_ns(&self) -> Option<f64> {
        (self.times > 0).then(|| self.held_ns as f64 / self.times as f64 * 2.0)
    }
}

/// Who looks at the events.  The memory is that of the event's task, at the event.
pub type EventHandler<'a> = dyn FnMut(&TraceEvent, &dyn Memory) -> ControlFlow<()> + 'a;

/// What watches tasks and tells what they do.
pub trait TraceEngine {
    /// Which way it is.
    fn way(&self) -> TraceWay;

    /// Hands over what happens, until nothing is left to watch, the time is over, a signal comes or
    /// `each` breaks off.  To be called again after all but the first.
    ///
    /// A signal that comes just before this call does not interrupt it: whoever waits for one gives
    /// a limit.
    ///
    /// # Errors
    ///
    /// [`Error::Exec`] when the command could not be begun; what a system call said that must not
    /// fail.
    fn run(
        &mut self,
        limit: Option<Duration>,
        each: &mut EventHandler<'_>,
    ) -> Result<RunResult, Error>;

    /// Events that happened and could not be handed over.
    fn lost(&self) -> u64;

    /// What it has cost so far.
    fn cost(&self) -> EngineCost;

    /// How the command that the engine was made for ended; `None` while it runs, or if the engine was
    /// attached to tasks that run already.
    fn end(&self) -> Option<WaitStatus>;

    /// Lets go of all tasks, which run on.  Nothing is handed over after it.
    ///
    /// # Errors
    ///
    /// [`Error::Inseparable`] if they cannot run on without it.
    fn detach(&mut self) -> Result<(), Error>;
}

/// What keeps an engine from watching.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command is in none of the folders.
    #[error("no command {0:?} in the folders of PATH")]
    NotFound(String),
    /// `execve` refused.
    #[error("cannot run {program}: {why}")]
    Exec {
        /// The file.
        program: String,
        /// Why.
        why: io::Error,
    },
    /// An argument, or what is added to the environment, has a zero byte in it.
    #[error("{0:?} has a zero byte in it, which no command can be given")]
    ZeroByte(String),
    /// There is no user of that name.
    #[error("no user {0:?} on this machine")]
    NoUser(String),
    /// The user could not be taken on.
    #[error("cannot run as user {user}: {why}: only root can run a command as somebody else")]
    User {
        /// Its name.
        user: String,
        /// Why.
        why: io::Error,
    },
    /// There is no such process, or no longer.
    #[error("no process {0}: it may have ended")]
    NoProcess(i32),
    /// Another traces it.
    #[error(
        "process {pid} is traced by process {by} already, and only one can: end that, or count in \
         the kernel"
    )]
    Traced {
        /// The process.
        pid: i32,
        /// Who has hold of it.
        by: i32,
    },
    /// The kernel does not let us.
    #[error("not allowed to trace process {pid}: {why}")]
    Denied {
        /// The process.
        pid: i32,
        /// Why, and what to do.
        why: String,
    },
    /// The filter was refused.
    #[error("the kernel takes no seccomp filter ({0}): trace without one")]
    Filter(io::Error),
    /// Before Linux 5.3 a call could not be told from its answer without guessing.
    #[error("this kernel has no PTRACE_GET_SYSCALL_INFO (Linux 5.3 and later have)")]
    OldKernel,
    /// The kernel takes no programs.
    #[error(transparent)]
    Kernel(#[from] bpf::Error),
    /// Tasks with a seccomp filter fail in the selected calls once their tracer is gone.
    #[error(
        "the command has a seccomp filter that needs its tracer to the end, and cannot be let go: \
         end it"
    )]
    Inseparable,
    /// A system call failed that must not.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        why: io::Error,
    },
}

impl Error {
    /// The last error of the C library, with what was tried.
    pub(crate) fn last(what: &'static str) -> Self {
        Error::System { what, why: io::Error::last_os_error() }
    }
}
