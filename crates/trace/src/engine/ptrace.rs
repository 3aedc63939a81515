//! The ptrace engines: every call stops its task, or (with a filter) the wanted calls do.
//!
//! A call costs two stops of the task, each two switches between it and this thread, and three
//! system calls of ours: `wait4`, `PTRACE_GET_SYSCALL_INFO`, and one that lets the task run on; with
//! a seccomp filter the second stop is asked for at the first.  Tasks are held by `PTRACE_SEIZE`:
//! nothing of their signals and stops changes by our presence, and they live on when we end.
//!
//! The kernel ties a tracer to its thread: an engine stays in the thread that made it (it is not
//! `Send`).  While it lives that thread should have no children of its own besides: their ends would
//! be taken note of, and be lost.  Children of other threads are left to them.
//!
//! Wall times run from letting the task go at the begin of a call to its stop at the end.  No time
//! on a CPU is told: what the kernel counts is mostly that of the stops.

mod alarm;
mod attach;
mod stops;

use std::collections::{HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::time::Duration;

use super::command::{HeldCommand, TracedCommand};
use super::requests::{self, TaskStatus, WaitResult};
use super::seccomp::Filter;
use super::{
    CallFilter, EngineCost, Error, EventHandler, FollowScope, RunResult, TraceEngine, TraceWay,
};
use crate::clock::now_ns;
use crate::{Call, TraceEvent, WaitStatus};

use alarm::Alarm;

use stops::Flow;

/// How long tasks get to stop when we let go of them.  One that sleeps in the kernel without
/// interruption (a dead network disk) does not; it is let go when this thread ends.
const DETACH_LIMIT: Duration = Duration::from_secs(2);

/// Where a task is.
#[derive(Clone, Copy)]
enum Phase {
    /// Not in a call, as far as we know.
    Outside,
    /// In a call, since this time; whether it is wanted.
    Inside { call: Call, since_ns: u64, wanted: bool },
}

/// Whether the events of a task are handed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reporting {
    /// They are.
    On,
    /// Not until it calls `execve`: the child that this engine has forked.
    FromExec,
    /// Never: it is traced only because its filter needs a tracer.
    Off,
    /// Never: it is detached at its first stop, as it is a child and only threads were asked for.
    Detach,
}

/// A task that we hold.
struct Task {
    process: i32,
    /// Since when we hold it.
    held_ns: u64,
    phase: Phase,
    reporting: Reporting,
}

impl Task {
    fn new(process: i32, reporting: Reporting) -> Self {
        Task { process, held_ns: now_ns(), phase: Phase::Outside, reporting }
    }
}

/// Watches tasks by ptrace.
pub struct PtraceEngine {
    way: TraceWay,
    scope: FollowScope,
    wanted: CallFilter,
    tasks: HashMap<i32, Task>,
    /// What has happened and was not looked at yet: task, what, when.
    queue: VecDeque<(i32, TaskStatus, u64)>,
    /// Tasks that have ended before they stopped or we were told of them, and when.
    early_exits: VecDeque<(i32, WaitStatus, u64)>,
    /// Tasks that have stopped before we were told of them, until we are; they may have ended.
    early: HashSet<i32>,
    launch: Option<HeldCommand>,
    /// Whether the command runs its program.
    began: bool,
    end: Option<WaitStatus>,
    cost: EngineCost,
    alarm: Alarm,
    /// A tracer is one thread.
    _thread: PhantomData<*const ()>,
}

impl PtraceEngine {
    /// Starts a command and stops at its every call; only the wanted are handed over.
    ///
    /// # Errors
    ///
    /// See [`HeldCommand::start`]; [`Error::Denied`] if not even one's own child may be traced.
    pub fn start(
        command: &TracedCommand,
        scope: FollowScope,
        wanted: CallFilter,
    ) -> Result<Self, Error> {
        let mut engine = Self::new(TraceWay::Ptrace, scope, wanted)?;
        engine.begin(HeldCommand::start(command)?)?;
        Ok(engine)
    }

    /// Starts a command with a filter, and stops at the wanted calls only.  All processes that come
    /// of it are held, as they have the filter too; what the scope leaves out is not told.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); [`Error::Filter`] comes from [`run`](TraceEngine::run).
    pub fn start_selected(
        command: &TracedCommand,
        scope: FollowScope,
        wanted: CallFilter,
    ) -> Result<Self, Error> {
        let filter = Filter::of(&wanted);
        let mut engine = Self::new(TraceWay::Seccomp, scope, wanted)?;
        engine.begin(HeldCommand::with(command, Some(filter))?)?;
        Ok(engine)
    }

    /// Takes hold of tasks that run already.  A process that ends meanwhile, or one of several that
    /// is refused, makes all fail, and those that are held already are let go.
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

    /// Takes hold of one more that runs already.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach); what is held already stays so.
    pub fn hold(&mut self, pid: i32) -> Result<(), Error> {
        if self.tasks.contains_key(&pid) {
            return Ok(());
        }
        let threads = attach::attach(pid, self.scope != FollowScope::Thread, self.options(false))?;
        for thread in threads {
            let process = attach::ProcStatus::of(thread).map_or(pid, |facts| facts.process);
            self.tasks.insert(thread, Task::new(process, Reporting::On));
            // One that has ended tells so by itself.
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
            _thread: PhantomData,
        })
    }

    /// The options of ptrace for a command of ours, or for somebody else's.
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
        // Should this program be killed, its command would go on stopped or failing.
        options | if ours { libc::PTRACE_O_EXITKILL } else { 0 }
    }

    /// Takes hold of a command that waits, and lets it go on.
    fn begin(&mut self, mut launch: HeldCommand) -> Result<(), Error> {
        let pid = launch.pid();
        requests::seize(pid, self.options(true)).map_err(|error| attach::explain(pid, error))?;
        let task = Task::new(pid, Reporting::FromExec);
        self.tasks.insert(pid, task);
        if self.way == TraceWay::Ptrace {
            // With a filter nothing needs to be seen before the first stop at a wanted call.
            requests::interrupt(pid).map_err(|error| attach::explain(pid, error))?;
        }
        let released = launch.release();
        self.launch = Some(launch);
        released
    }

    /// The process that the command runs as.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.launch.as_ref().map(HeldCommand::pid)
    }

    /// Takes what has happened into the queue; whether anything came.
    fn collect(&mut self) -> Result<WaitResult, Error> {
        let failed = |source| Error::System { what: "waiting for a traced task", why: source };
        let first = requests::wait(true).map_err(failed)?;
        let WaitResult::Task(task, status) = first else { return Ok(first) };
        self.enqueue(task, status);
        // The kernel answers in the order of its list.  Who stands behind two busy ones in it would
        // never have its turn if we dealt with the first at once.
        if self.tasks.len() > 1 {
            while let WaitResult::Task(task, status) = requests::wait(false).map_err(failed)? {
                self.enqueue(task, status);
            }
        }
        Ok(first)
    }

    fn enqueue(&mut self, id: i32, status: TaskStatus) {
        if matches!(status, TaskStatus::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) {
            // Another thread has taken this number on; where its former bearer had stopped, nobody
            // stands any more.
            self.queue.retain(|(other, ..)| *other != id);
        }
        self.queue.push_back((id, status, now_ns()));
    }

    /// Nothing is left: says so, or why the command could not be begun.
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
                let told = self.handle(id, status, time_ns, each);
                if matches!(status, TaskStatus::Stopped { .. }) {
                    self.cost.times += 1;
                    self.cost.held_ns += now_ns().saturating_sub(time_ns);
                }
                if told.is_break() {
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

    /// Stops all tasks and lets each go as it stops.
    fn let_go(&mut self) -> Result<(), Error> {
        let deadline_ns = now_ns() + DETACH_LIMIT.as_nanos() as u64;
        self.alarm.set(Some(Duration::from_millis(5)))?;
        for id in self.tasks.keys() {
            let _ = requests::interrupt(*id);
        }
        let mut nobody = |_: &TraceEvent, _: &dyn crate::Memory| Flow::Continue(());
        while !self.tasks.is_empty() && now_ns() < deadline_ns {
            let Some((id, status, time_ns)) = self.queue.pop_front() else {
                match self.collect()? {
                    WaitResult::Nobody => break,
                    _ => continue,
                }
            };
            let TaskStatus::Stopped { event, signal } = status else {
                let _ = self.handle(id, status, time_ns, &mut nobody);
                continue;
            };
            let births =
                [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE];
            if births.contains(&event)
                && let Ok(child) = requests::event_message(id)
            {
                // It stops by itself, as every new one does.
                let _ = self.cloned(id, child, time_ns, &mut nobody);
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
        // What the caller does now is not to be interrupted.
        self.alarm.set(None)?;
        progress
    }

    fn lost(&self) -> u64 {
        // A task does not go on before its stop was looked at.
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
    /// Nobody is left stopped: tasks are let go, or ended if they cannot live without us.
    fn drop(&mut self) {
        if self.way == TraceWay::Seccomp {
            for id in self.tasks.keys() {
                // SAFETY: a plain call; the number is that of a task that was not waited for.
                unsafe { libc::kill(*id, libc::SIGKILL) };
            }
        }
        let _ = self.let_go();
    }
}
