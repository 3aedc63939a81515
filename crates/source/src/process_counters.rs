//! State that the sources `process`, `exit` and `process_total` share: how processes and exits are
//! read, and their counters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use procfs::passwd::Users;

pub(crate) mod attributed;
pub(crate) mod inferred;

use attributed::AttributedCpuTime;
use inferred::Inference;

use crate::program_counters::Counter;

/// How processes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMethodInUse {
    /// By a BPF iterator.
    Iterator = 1,
    /// From `/proc`, with permission to read all of it.
    Proc = 2,
    /// From `/proc`, without permission to read all of it.
    Unprivileged = 3,
}

/// How exits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitMethod {
    /// From a BPF ring buffer.
    Bpf = 1,
    /// From taskstats over netlink.
    Taskstats = 2,
    /// There are no exit events: usage is inferred from the parents' child times.
    Inferred = 3,
}

/// The totals of a pass over all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTotals {
    /// Processes.
    pub processes: u64,
    /// Threads, including the first of each process.
    pub threads: u64,
    /// Runnable processes.
    pub running: u64,
}

/// This recorder's counters about all processes.  The source `process` writes the first part, the
/// source `exit` the second; `process_total` copies them to its row.
#[derive(Debug, Default)]
pub struct ProcessCounters {
    method: Counter,
    exit_method: Counter,
    totals: Mutex<Option<PassTotals>>,
    /// Command lines and other facts that could not be read in time.
    pub facts_late: Counter,
    /// Exec events read.
    pub execs: Counter,
    /// Exit events read.
    pub exits: Counter,
    /// Exit events lost.
    pub exits_lost: Counter,
    /// Exec events lost, whose command lines are unknown.
    pub execs_lost: Counter,
    attributed: Mutex<AttributedCpuTime>,
    inference: Mutex<Inference>,
    users: Arc<Mutex<Users>>,
    method_reason: Mutex<String>,
}

impl ProcessCounters {
    /// Sets how processes are read.
    pub fn set_method(&self, method: ProcessMethodInUse) {
        self.method.set(method as u64);
    }

    /// Sets why no better method is used.
    pub fn set_method_reason(&self, reason: impl Into<String>) {
        *self.method_reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.into();
    }

    /// Why no better method is used, and what is missing because of it; empty if nothing is.
    pub fn method_reason(&self) -> String {
        self.method_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the totals of this tick's pass; `None` if there was none, so that the totals of an
    /// earlier pass are not used.
    pub fn set_totals(&self, totals: Option<PassTotals>) {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = totals;
    }

    /// The totals of the latest pass; `None` if it failed, or processes are not read.
    pub fn totals(&self) -> Option<PassTotals> {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how exits are read; `None` if they are not.
    pub fn set_exit_method(&self, method: Option<ExitMethod>) {
        self.exit_method.set(method.map_or(0, |method| method as u64));
    }

    /// How processes are read, as a word; `None` if they are not.
    pub fn method(&self) -> Option<&'static str> {
        match self.method.get() {
            1 => Some("iterator"),
            2 => Some("proc"),
            3 => Some("unprivileged"),
            _ => None,
        }
    }

    /// How exits are read, as a word; `None` if they are not.
    pub fn exit_method(&self) -> Option<&'static str> {
        match self.exit_method.get() {
            1 => Some("bpf"),
            2 => Some("taskstats"),
            3 => Some("inferred"),
            _ => None,
        }
    }

    /// Whether exec events are read.
    pub fn has_exec_events(&self) -> bool {
        self.exit_method.get() == ExitMethod::Bpf as u64
    }

    /// Whether exit events are read.
    pub fn has_exit_events(&self) -> bool {
        matches!(self.exit_method(), Some("bpf" | "taskstats"))
    }

    /// The state that a pass over all processes updates.
    pub(crate) fn accounting(&self) -> PassAccounting<'_> {
        let is_inferred = self.exit_method.get() == ExitMethod::Inferred as u64;
        PassAccounting {
            attributed: self.attributed(),
            inference: is_inferred.then(|| self.inference()),
        }
    }

    /// User names, shared by the sources of processes.
    pub(crate) fn users(&self) -> Arc<Mutex<Users>> {
        self.users.clone()
    }

    /// Inference of exited children's usage from their parents' child times.
    pub(crate) fn inference(&self) -> MutexGuard<'_, Inference> {
        self.inference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The CPU time counted for each process.  Lock it once per pass, not once per process.
    pub fn attributed(&self) -> MutexGuard<'_, AttributedCpuTime> {
        // No holder of the lock leaves the state inconsistent.
        self.attributed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that a pass updates.
pub(crate) struct PassAccounting<'a> {
    pub(crate) attributed: MutexGuard<'a, AttributedCpuTime>,
    /// If exit events are not read.
    pub(crate) inference: Option<MutexGuard<'a, Inference>>,
}

impl PassAccounting<'_> {
    /// Whether a pass counts the CPU time of a process.  A process that has begun to exit is counted
    /// only if there are no exit events: its usage is then unknown until its parent waits for it.
    pub(crate) fn counts(&self, lives: bool) -> bool {
        lives || self.inference.is_some()
    }

    /// Begins a pass over all processes.
    pub(crate) fn begin_pass(&mut self) {
        self.attributed.begin_pass();
        if let Some(inference) = &mut self.inference {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
            let rest_ns = u64::try_from(now.tv_nsec).unwrap_or(0);
            inference.begin(seconds.saturating_mul(1_000_000_000).saturating_add(rest_ns));
        }
    }

    /// Ends a pass; `whole` says whether it saw every process.
    pub(crate) fn end_pass(&mut self, whole: bool) {
        self.attributed.end_pass();
        match &mut self.inference {
            Some(inference) if whole => inference.end(&mut self.attributed, lives),
            Some(inference) => inference.abandon(),
            None => {}
        }
    }
}

/// Whether a process with this id exists, including zombies.
fn lives(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    let answer = pid.map(rustix::process::test_kill_process);
    !matches!(answer, None | Some(Err(rustix::io::Errno::SRCH)))
}
