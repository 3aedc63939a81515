//! What the sources `process`, `exit` and `process_total` share: how processes and exits are read,
//! and counters of all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use procfs::passwd::Users;

use super::attributed::AttributedCpuTime;
use super::inferred::Inference;
use crate::Counter;

/// How processes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMethodInUse {
    /// One pass of a BPF iterator.
    Iterator = 1,
    /// `/proc`, all of it.
    Proc = 2,
    /// `/proc`, as far as it may be read.
    Unprivileged = 3,
}

/// How ends are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitMethod {
    /// A ring that BPF programs fill.
    Bpf = 1,
    /// Taskstats over netlink.
    Taskstats = 2,
    /// They are not: what they used is read off their parents' child times.
    Inferred = 3,
}

/// What a pass over all processes came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTotals {
    /// Processes there were.
    pub processes: u64,
    /// Threads there were, those of processes with one included.
    pub threads: u64,
    /// Processes that ran or waited for a CPU.
    pub running: u64,
}

/// Counts of this recorder about all processes.  Who reads processes writes the first part, who
/// reads ends the second; `process_total` puts them into its row.
#[derive(Debug, Default)]
pub struct ProcessCounters {
    method: Counter,
    exit_method: Counter,
    totals: Mutex<Option<PassTotals>>,
    /// Command lines and the like that could not be read in time.
    pub facts_late: Counter,
    /// Programs begun.
    pub execs: Counter,
    /// Ends told.
    pub exits: Counter,
    /// Ends that happened of which nothing else is known.
    pub exits_lost: Counter,
    /// Programs begun of which the command line was not told.
    pub execs_lost: Counter,
    attributed: Mutex<AttributedCpuTime>,
    inference: Mutex<Inference>,
    users: Arc<Mutex<Users>>,
    method_reason: Mutex<String>,
}

impl ProcessCounters {
    /// Says how processes are read.
    pub fn set_method(&self, method: ProcessMethodInUse) {
        self.method.set(method as u64);
    }

    /// Says why processes are read this way and not a better one.
    pub fn set_method_reason(&self, reason: impl Into<String>) {
        *self.method_reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.into();
    }

    /// Why processes are read this way and not a better one, and what is missing because of it;
    /// empty if nothing is.
    pub fn method_reason(&self) -> String {
        self.method_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what the pass of this tick came to; `None` if there was none, so that nobody takes an
    /// earlier one for it.
    pub fn set_totals(&self, totals: Option<PassTotals>) {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = totals;
    }

    /// What the latest pass came to; `None` if it failed, or processes are not read.
    pub fn totals(&self) -> Option<PassTotals> {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how ends are told; `None` if they are not.
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

    /// How ends are told, as a word; `None` if they are not.
    pub fn exit_method(&self) -> Option<&'static str> {
        match self.exit_method.get() {
            1 => Some("bpf"),
            2 => Some("taskstats"),
            3 => Some("inferred"),
            _ => None,
        }
    }

    /// Whether programs that begin are told too.
    pub fn tells_execs(&self) -> bool {
        self.exit_method.get() == ExitMethod::Bpf as u64
    }

    /// Whether each end is told by itself.
    pub fn tells_exits(&self) -> bool {
        matches!(self.exit_method(), Some("bpf" | "taskstats"))
    }

    /// What a pass over all processes writes into, if it wants to be held against the one before.
    pub(crate) fn accounting(&self) -> PassAccounting<'_> {
        let is_inferred = self.exit_method.get() == ExitMethod::Inferred as u64;
        PassAccounting {
            attributed: self.attributed(),
            inference: is_inferred.then(|| self.inference()),
        }
    }

    /// Names of users, for all who tell of processes.
    pub(crate) fn users(&self) -> Arc<Mutex<Users>> {
        self.users.clone()
    }

    /// What parents' child times tell.
    pub(crate) fn inference(&self) -> MutexGuard<'_, Inference> {
        self.inference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been counted of whom.  Take it once a pass, not once a process.
    pub fn attributed(&self) -> MutexGuard<'_, AttributedCpuTime> {
        // Nothing that holds the lock leaves it half done.
        self.attributed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pass writes into.
pub(crate) struct PassAccounting<'a> {
    pub(crate) attributed: MutexGuard<'a, AttributedCpuTime>,
    /// Where ends are not told.
    pub(crate) inference: Option<MutexGuard<'a, Inference>>,
}

impl PassAccounting<'_> {
    /// Whether a pass tells the attributed of a process: of one that has begun to end only where nobody
    /// else tells of its end, and nothing else is known of what it used until its parent waits.
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

    /// Ends it; `whole` says whether it saw every process.
    pub(crate) fn end_pass(&mut self, whole: bool) {
        self.attributed.end_pass();
        match &mut self.inference {
            Some(inference) if whole => inference.end(&mut self.attributed, lives),
            Some(inference) => inference.abandon(),
            None => {}
        }
    }
}

/// Whether there is a process of this number, be it one that only waits to be waited for.
fn lives(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    let answer = pid.map(rustix::process::test_kill_process);
    !matches!(answer, None | Some(Err(rustix::io::Errno::SRCH)))
}
