//! The ptrace engines: a task stops at every call, or (with a seccomp filter) at the wanted calls.
//!
//! A call costs two stops of the task, each with two context switches, and three system calls of
//! ours: `wait4`, `PTRACE_GET_SYSCALL_INFO`, and one that resumes the task; with a filter the first
//! stop asks for the second.  Tasks are attached with `PTRACE_SEIZE`, which changes nothing about
//! their signals and stops, and they live on when we exit.
//!
//! The kernel ties a tracer to its thread, so an engine stays in the thread that made it (it is not
//! `Send`).  While it lives, that thread should have no other children: the engine would wait for
//! them and drop their status.  Children of other threads are not affected.
//!
//! Wall times run from resuming the task at the entry of a call to its stop at the exit.  No CPU
//! time is reported: most of what the kernel counts is that of the stops.

mod alarm;
mod attach;
mod stops;
mod tamper;

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use super::command::{HeldCommand, TracedCommand};
use super::requests::{self, TaskStatus, WaitResult};
use super::seccomp::Filter;
use super::{
    CallFilter, EngineCost, Error, EventHandler, FollowScope, RunResult, Tampering, TraceEngine,
    TraceWay,
};
use crate::clock::now_ns;
use crate::{Call, TraceEvent, WaitStatus};

use alarm::Alarm;

use stops::Flow;
use tamper::{CallNumbers, PendingTamper};

/// How long tasks have to stop when we detach.  One in uninterruptible sleep (a dead network disk)
/// does not; the kernel detaches it when this thread exits.
const DETACH_LIMIT: Duration = Duration::from_secs(2);

/// Whether a task is in a call.
#[derive(Clone, Copy)]
enum Phase {
    /// Not in a call, as far as we know.
    Outside,
    /// In a call since this time; whether it is wanted.
    Inside { call: Call, since_ns: u64, wanted: bool, begun: PendingTamper },
}

/// Whether the events of a task are handed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reporting {
    /// They are.
    On,
    /// Not before its `execve`: the child that this engine has forked.
    FromExec,
    /// Never: it is traced only because its filter needs a tracer.
    Off,
    /// Never: it is a child process, but only threads were asked for; it is detached at its first
    /// stop.
    Detach,
}

/// A task that we trace.
struct Task {
    process: i32,
    /// When we attached to it.
    held_ns: u64,
    phase: Phase,
    reporting: Reporting,
    /// Counts of the task's calls that are tampered with.
    numbers: CallNumbers,
}

impl Task {
    fn new(process: i32, reporting: Reporting) -> Self {
        Task {
            process,
            held_ns: now_ns(),
            phase: Phase::Outside,
            reporting,
            numbers: CallNumbers::new(),
        }
    }
}

/// Traces tasks by ptrace.
pub struct PtraceEngine {
    way: TraceWay,
    scope: FollowScope,
    wanted: CallFilter,
    tasks: HashMap<i32, Task>,
    /// Statuses from `wait4` that were not handled yet: task, status, time.
    queue: VecDeque<(i32, TaskStatus, u64)>,
    /// Tasks that have exited before they stopped or their parent's event came, and when.
    early_exits: VecDeque<(i32, WaitStatus, u64)>,
    /// Tasks that have stopped before their parent's event came; they may have exited since.
    early: HashSet<i32>,
    launch: Option<HeldCommand>,
    /// Whether the command runs its program.
    began: bool,
    end: Option<WaitStatus>,
    cost: EngineCost,
    alarm: Alarm,
    /// What is done to calls on purpose.
    tampering: Vec<Tampering>,
    /// Set by the event handler: the call whose entry it got is left alone.
    is_spared: Rc<Cell<bool>>,
    /// Tasks are detached from when they have called `execve`.
    detaches_at_exec: bool,
    /// Not `Send`: a tracer is a thread.
    _thread: PhantomData<*const ()>,
}

impl PtraceEngine {
    /// Starts a command and stops at its every call; only the wanted calls are handed over.
    ///
    /// # Errors
    ///
    /// See [`HeldCommand::start`]; [`Error::Denied`] if not even our own child may be traced.
    pub fn start(
        command: &TracedCommand,
        scope: FollowScope,
        wanted: CallFilter,
    ) -> Result<Self, Error> {
        // First, as this may go on in another process, which inherits no timer.
        let held = HeldCommand::start(command)?;
        let mut engine = Self::new(TraceWay::Ptrace, scope, wanted)?;
        engine.begin(held)?;
        Ok(engine)
    }

    /// Starts a command with a seccomp filter, and stops at the wanted calls only.  All its
    /// descendants are traced, because they inherit the filter; those beyond the scope are not
    /// reported.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); [`Error::Filter`] comes from [`run`](TraceEngine::run).
    pub fn start_selected(
        command: &TracedCommand,
        scope: FollowScope,
        wanted: CallFilter,
    ) -> Result<Self, Error> {
        let held = HeldCommand::with(command, Some(Filter::of(&wanted)))?;
        let mut engine = Self::new(TraceWay::Seccomp, scope, wanted)?;
        engine.begin(held)?;
        Ok(engine)
    }

    /// Attaches to running tasks.  If one exits meanwhile or is refused, all are detached and the
    /// call fails.
    ///
    /// # Errors
    ///
    /// [`Error::NoProcess`], [`Error::Traced`], [`Error::Denied`].
    pub fn attach(pids: &[i32], scope: FollowScope, wanted: CallFilter) -> Result<Self, Error> {
        let mut engine = Self::new(TraceWay::Ptrace, scope, wanted)?;
        for pid in pids {
            engine.hold(*pid)?;
        }
        Ok(engine)
    }

    /// Attaches to one more running task.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach); the others stay attached.
    pub fn hold(&mut self, pid: i32) -> Result<(), Error> {
        if self.tasks.contains_key(&pid) {
            return Ok(());
        }
        let threads = attach::attach(pid, self.scope != FollowScope::Thread, self.options(false))?;
        for thread in threads {
            let process = attach::ProcStatus::of(thread).map_or(pid, |facts| facts.process);
            self.tasks.insert(thread, Task::new(process, Reporting::On));
            // A thread that has exited reports that itself.
            let _ = requests::interrupt(thread);
        }
        Ok(())
    }

    fn new(way: TraceWay, scope: FollowScope, wanted: CallFilter) -> Result<Self, Error> {
        Ok(PtraceEngine {
            way,
            scope,
            wanted,
            tasks: HashMap::new(),
            queue: VecDeque::new(),
            early_exits: VecDeque::new(),
            early: HashSet::new(),
            launch: None,
            began: false,
            end: None,
            cost: EngineCost::default(),
            alarm: Alarm::new()?,
            tampering: Vec::new(),
            is_spared: Rc::default(),
            detaches_at_exec: false,
            _thread: PhantomData,
        })
    }

    /// The ptrace options for a command of ours, or for other tasks.
    fn options(&self, ours: bool) -> i32 {
        let mut options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC;
        let children = self.scope == FollowScope::Tree || self.way == TraceWay::Seccomp;
        if children {
            options |= libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
        }
        if children || self.scope == FollowScope::Process {
            options |= libc::PTRACE_O_TRACECLONE;
        }
        if self.way == TraceWay::Seccomp {
            options |= libc::PTRACE_O_TRACESECCOMP;
        }
        // If this program is killed, its command would stay stopped or fail.
        options | if ours { libc::PTRACE_O_EXITKILL } else { 0 }
    }

    /// Attaches to a held command, and releases it.
    fn begin(&mut self, mut launch: HeldCommand) -> Result<(), Error> {
        let pid = launch.pid();
        requests::seize(pid, self.options(true)).map_err(|error| attach::explain(pid, error))?;
        let task = Task::new(pid, Reporting::FromExec);
        self.tasks.insert(pid, task);
        if self.way == TraceWay::Ptrace {
            // With a filter nothing before the first stop at a wanted call matters.
            requests::interrupt(pid).map_err(|error| attach::explain(pid, error))?;
        }
        let released = launch.release();
        self.launch = Some(launch);
        released
    }

    /// The process of the command.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.launch.as_ref().map(HeldCommand::pid)
    }

    /// Moves the results of `wait4` into the queue; returns the first.
    fn collect(&mut self) -> Result<WaitResult, Error> {
        let failed = |source| Error::System { what: "waiting for a traced task", why: source };
        let first = requests::wait(true).map_err(failed)?;
        let WaitResult::Task(task, status) = first else { return Ok(first) };
        self.enqueue(task, status);
        // The kernel answers in the order of its list.  If we handled the first result at once, a
        // task behind two busy ones in that list would never have its turn.
        if self.tasks.len() > 1 {
            while let WaitResult::Task(task, status) = requests::wait(false).map_err(failed)? {
                self.enqueue(task, status);
            }
        }
        Ok(first)
    }

    fn enqueue(&mut self, id: i32, status: TaskStatus) {
        if matches!(status, TaskStatus::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) {
            // Another thread has taken this number by an `execve`, so stops queued for the former
            // thread of this number no longer exist.
            self.queue.retain(|(other, ..)| *other != id);
        }
        self.queue.push_back((id, status, now_ns()));
    }

    /// No task is left: returns that, or why the command could not be run.
    fn finish(&mut self) -> Result<RunResult, Error> {
        match &mut self.launch {
            Some(launch) if !self.began => launch.running()?,
            _ => (),
        }
        Ok(RunResult::Ended)
    }

    fn run_until(
        &mut self,
        deadline_ns: Option<u64>,
        each: &mut EventHandler<'_>,
    ) -> Result<RunResult, Error> {
        loop {
            if let Some((id, status, time_ns)) = self.queue.pop_front() {
                let flow = self.handle(id, status, time_ns, each);
                if matches!(status, TaskStatus::Stopped { .. }) {
                    self.cost.times += 1;
                    self.cost.held_ns += now_ns().saturating_sub(time_ns);
                }
                if flow.is_break() {
                    return Ok(RunResult::Paused);
                }
                if deadline_ns.is_some_and(|deadline| time_ns >= deadline) {
                    return Ok(RunResult::Elapsed);
                }
                continue;
            }
            if self.tasks.is_empty() {
                return self.finish();
            }
            match self.collect()? {
                WaitResult::Task(..) | WaitResult::Nothing => (),
                WaitResult::Nobody => self.tasks.clear(),
                WaitResult::Interrupted => {
                    let over = deadline_ns.is_some_and(|deadline| now_ns() >= deadline);
                    return Ok(if over { RunResult::Elapsed } else { RunResult::Interrupted });
                }
            }
        }
    }

    /// Stops all tasks and detaches from each as it stops.
    fn let_go(&mut self) -> Result<(), Error> {
        let deadline_ns = now_ns() + DETACH_LIMIT.as_nanos() as u64;
        self.alarm.set(Some(Duration::from_millis(5)))?;
        for id in self.tasks.keys() {
            let _ = requests::interrupt(*id);
        }
        let mut ignore = |_: &TraceEvent, _: &dyn crate::Memory| Flow::Continue(());
        while !self.tasks.is_empty() && now_ns() < deadline_ns {
            let Some((id, status, time_ns)) = self.queue.pop_front() else {
                match self.collect()? {
                    WaitResult::Nobody => break,
                    _ => continue,
                }
            };
            let TaskStatus::Stopped { event, signal } = status else {
                let _ = self.handle(id, status, time_ns, &mut ignore);
                continue;
            };
            let births =
                [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE];
            if births.contains(&event)
                && let Ok(child) = requests::event_message(id)
            {
                // It stops by itself, as every new task does.
                let _ = self.cloned(id, child, time_ns, &mut ignore);
            }
            let signal = if event == 0 && signal != libc::SIGTRAP | 0x80 { signal } else { 0 };
            let _ = requests::detach(id, signal);
            self.tasks.remove(&id);
        }
        self.tasks.clear();
        self.queue.clear();
        self.alarm.set(None)
    }
}

impl TraceEngine for PtraceEngine {
    fn way(&self) -> TraceWay {
        self.way
    }

    fn run(
        &mut self,
        limit: Option<Duration>,
        each: &mut EventHandler<'_>,
    ) -> Result<RunResult, Error> {
        let deadline_ns = limit.map(|limit| {
            now_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
        });
        self.alarm.set(limit)?;
        let progress = self.run_until(deadline_ns, each);
        // System calls of the caller are not to be interrupted.
        self.alarm.set(None)?;
        progress
    }

    fn lost(&self) -> u64 {
        // A task does not continue before its stop was handled.
        0
    }

    fn cost(&self) -> EngineCost {
        self.cost
    }

    fn end(&self) -> Option<WaitStatus> {
        self.end
    }

    fn detach(&mut self) -> Result<(), Error> {
        if self.way == TraceWay::Seccomp && !self.tasks.is_empty() {
            return Err(Error::Inseparable);
        }
        self.let_go()
    }
}

impl Drop for PtraceEngine {
    /// No task stays stopped: tasks are detached, or killed if they cannot continue without a
    /// tracer.
    fn drop(&mut self) {
        if self.way == TraceWay::Seccomp {
            for id in self.tasks.keys() {
                // SAFETY: a plain call; the task was not waited for, so the number is still its.
                unsafe { libc::kill(*id, libc::SIGKILL) };
            }
        }
        let _ = self.let_go();
    }
}
