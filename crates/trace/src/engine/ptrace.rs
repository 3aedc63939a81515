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
mod memory;
mod requests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::Duration;

use super::launch::{Command, Launch};
use super::seccomp::{ARCH_I386, Filter};
use super::{Each, Engine, Error, Progress, Scope, Wanted, Way, Weight};
use crate::clock::now_ns;
use crate::{Abi, Call, CallId, End, Event, Signal, What};

use alarm::Alarm;
pub(super) use memory::TaskMemory;
use requests::{CallInfo, Status, Waited};

/// `rt_sigreturn` of both tables.
const SIGRETURN: CallId = CallId::native(15);
const SIGRETURN_32: CallId = CallId { abi: Abi::I386, number: 173 };

/// Where a frame for `rt_sigreturn` has the set of blocked signals, from the stack pointer on:
/// `uc_sigmask` of `struct ucontext`, behind flags, link, stack (40 bytes) and registers (256).
const FRAME_MASK_AT: u64 = 296;

/// How long tasks get to stop when we let go of them.  One that sleeps in the kernel without
/// interruption (a dead network disk) does not; it is let go when this thread ends.
const DETACH_LIMIT: Duration = Duration::from_secs(2);

/// Ends of tasks that nobody has told us of yet: as many as can be killed between their begin and
/// their parent's word of it.
const STRAYS: usize = 256;

/// How long such an end is kept.  A parent is rarely kept from the CPU for longer, and no number is
/// given to another task so soon.
const STRAY_LIMIT_NS: u64 = 10_000_000_000;

/// Where a task is.
#[derive(Clone, Copy)]
enum Phase {
    /// Not in a call, as far as we know.
    Outside,
    /// In a call, since this time; whether it is wanted.
    Inside { call: Call, since_ns: u64, wanted: bool },
}

/// Who hears of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// Whoever looks at the events.
    Told,
    /// Nobody until it runs its program: the child that we have begun ourselves.
    Hidden,
    /// Nobody ever: it is held only since its filter needs a tracer.
    Muted,
    /// Nobody: it is let go at its first stop, as it is a child, and only threads were asked for.
    Unwanted,
}

/// A task that we hold.
struct Task {
    process: i32,
    /// Since when we hold it.
    held_ns: u64,
    phase: Phase,
    voice: Voice,
}

impl Task {
    fn new(process: i32, voice: Voice) -> Self {
        Task { process, held_ns: now_ns(), phase: Phase::Outside, voice }
    }
}

/// Watches tasks by ptrace.
pub struct Ptrace {
    way: Way,
    scope: Scope,
    wanted: Wanted,
    tasks: HashMap<i32, Task>,
    /// What has happened and was not looked at yet: task, what, when.
    queue: VecDeque<(i32, Status, u64)>,
    /// Tasks that have ended before they stopped or we were told of them, and when.
    strays: VecDeque<(i32, End, u64)>,
    /// Tasks that have stopped before we were told of them, until we are; they may have ended.
    early: HashSet<i32>,
    launch: Option<Launch>,
    /// Whether the command runs its program.
    began: bool,
    end: Option<End>,
    weight: Weight,
    alarm: Alarm,
    /// A tracer is one thread.
    _thread: PhantomData<*const ()>,
}

impl Ptrace {
    /// Starts a command and stops at its every call; only the wanted are handed over.
    ///
    /// # Errors
    ///
    /// See [`Launch::start`]; [`Error::Denied`] if not even one's own child may be traced.
    pub fn start(command: &Command, scope: Scope, wanted: Wanted) -> Result<Self, Error> {
        let mut engine = Self::new(Way::Ptrace, scope, wanted)?;
        engine.begin(Launch::start(command)?)?;
        Ok(engine)
    }

    /// Starts a command with a filter, and stops at the wanted calls only.  All processes that come
    /// of it are held, as they have the filter too; what the scope leaves out is not told.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); [`Error::Filter`] comes from [`run`](Engine::run).
    pub fn start_selected(command: &Command, scope: Scope, wanted: Wanted) -> Result<Self, Error> {
        let filter = Filter::of(&wanted);
        let mut engine = Self::new(Way::Seccomp, scope, wanted)?;
        engine.begin(Launch::with(command, Some(filter))?)?;
        Ok(engine)
    }

    /// Takes hold of tasks that run already.  A process that ends meanwhile, or one of several that
    /// is refused, makes all fail, and those that are held already are let go.
    ///
    /// # Errors
    ///
    /// [`Error::NoProcess`], [`Error::Traced`], [`Error::Denied`].
    pub fn attach(pids: &[i32], scope: Scope, wanted: Wanted) -> Result<Self, Error> {
        let mut engine = Self::new(Way::Ptrace, scope, wanted)?;
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
        let threads = attach::attach(pid, self.scope != Scope::Thread, self.options(false))?;
        for thread in threads {
            let process = attach::Facts::of(thread).map_or(pid, |facts| facts.process);
            self.tasks.insert(thread, Task::new(process, Voice::Told));
            // One that has ended tells so by itself.
            let _ = requests::interrupt(thread);
        }
        Ok(())
    }

    fn new(way: Way, scope: Scope, wanted: Wanted) -> Result<Self, Error> {
        Ok(Ptrace {
            way,
            scope,
            wanted,
            tasks: HashMap::new(),
            queue: VecDeque::new(),
            strays: VecDeque::new(),
            early: HashSet::new(),
            launch: None,
            began: false,
            end: None,
            weight: Weight::default(),
            alarm: Alarm::new()?,
            _thread: PhantomData,
        })
    }

    /// The options of ptrace for a command of ours, or for somebody else's.
    fn options(&self, ours: bool) -> i32 {
        let mut options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC;
        let children = self.scope == Scope::Tree || self.way == Way::Seccomp;
        if children {
            options |= libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
        }
        if children || self.scope == Scope::Process {
            options |= libc::PTRACE_O_TRACECLONE;
        }
        if self.way == Way::Seccomp {
            options |= libc::PTRACE_O_TRACESECCOMP;
        }
        // Should this program be killed, its command would go on stopped or failing.
        options | if ours { libc::PTRACE_O_EXITKILL } else { 0 }
    }

    /// Takes hold of a command that waits, and lets it go on.
    fn begin(&mut self, mut launch: Launch) -> Result<(), Error> {
        let pid = launch.pid();
        requests::seize(pid, self.options(true)).map_err(|error| attach::explain(pid, error))?;
        let task = Task::new(pid, Voice::Hidden);
        self.tasks.insert(pid, task);
        if self.way == Way::Ptrace {
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
        self.launch.as_ref().map(Launch::pid)
    }

    /// Takes what has happened into the queue; whether anything came.
    fn collect(&mut self) -> Result<Waited, Error> {
        let failed = |source| Error::System { what: "waiting for a traced task", source };
        let first = requests::wait(true).map_err(failed)?;
        let Waited::Task(task, status) = first else { return Ok(first) };
        self.enqueue(task, status);
        // The kernel answers in the order of its list.  Who stands behind two busy ones in it would
        // never have its turn if we dealt with the first at once.
        if self.tasks.len() > 1 {
            while let Waited::Task(task, status) = requests::wait(false).map_err(failed)? {
                self.enqueue(task, status);
            }
        }
        Ok(first)
    }

    fn enqueue(&mut self, id: i32, status: Status) {
        if matches!(status, Status::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) {
            // Another thread has taken this number on; where its former bearer had stopped, nobody
            // stands any more.
            self.queue.retain(|(other, ..)| *other != id);
        }
        self.queue.push_back((id, status, now_ns()));
    }

    /// Nothing is left: says so, or why the command could not be begun.
    fn finish(&mut self) -> Result<Progress, Error> {
        match &mut self.launch {
            Some(launch) if !self.began => launch.running()?,
            _ => (),
        }
        Ok(Progress::Ended)
    }

    /// Deals with what happened to a task.
    fn handle(&mut self, id: i32, status: Status, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let (event, signal) = match status {
            Status::Exited(status) => return self.ended(id, End::Status(status), time_ns, each),
            Status::Killed { signal, dumped } => {
                return self.ended(id, End::Signal { number: signal, dumped }, time_ns, each);
            }
            Status::Stopped { event, signal } => (event, signal),
        };
        // Breaking off does not excuse from letting the task run on.
        let adopted = if self.tasks.contains_key(&id) {
            Flow::Continue(())
        } else {
            self.adopt(id, time_ns, each)
        };
        let stopped = self.stopped(id, event, signal, time_ns, each);
        if adopted.is_break() { adopted } else { stopped }
    }

    /// Deals with a stop of a task, and lets it run on.
    fn stopped(
        &mut self,
        id: i32,
        event: i32,
        signal: i32,
        time_ns: u64,
        each: &mut Each<'_>,
    ) -> Flow {
        let voice = self.tasks.get(&id).map_or(Voice::Muted, |task| task.voice);
        if voice == Voice::Unwanted {
            let signal = if event == 0 && signal != libc::SIGTRAP | 0x80 { signal } else { 0 };
            let _ = requests::detach(id, signal);
            self.tasks.remove(&id);
            return Flow::Continue(());
        }
        match event {
            0 if signal == libc::SIGTRAP | 0x80 => self.at_call(id, time_ns, each),
            0 => self.at_signal(id, signal, time_ns, each),
            libc::PTRACE_EVENT_SECCOMP => self.at_call(id, time_ns, each),
            requests::EVENT_STOP if signal != libc::SIGTRAP => {
                let told = self.tell(id, What::Stopped(signal), time_ns, each);
                let _ = requests::listen(id);
                told
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let told = match requests::event_message(id) {
                    Ok(child) => self.begot(id, child, time_ns, each),
                    Err(_) => Flow::Continue(()),
                };
                self.resume(id, 0);
                told
            }
            libc::PTRACE_EVENT_EXEC => {
                let former = requests::event_message(id).unwrap_or(id);
                let told = self.began_program(id, former, time_ns, each);
                self.resume(id, 0);
                told
            }
            _ => {
                self.resume(id, 0);
                Flow::Continue(())
            }
        }
    }

    /// Hands an event over, if anybody may hear of the task.
    fn tell(&self, id: i32, what: What, time_ns: u64, each: &mut Each<'_>) -> Flow {
        match self.tasks.get(&id) {
            Some(task) if task.voice == Voice::Told => {
                let event = Event { time_ns, thread: id, process: task.process, what };
                each(&event, &TaskMemory(id))
            }
            _ => Flow::Continue(()),
        }
    }

    /// Lets a stopped task run to the next stop that is of interest.
    fn resume(&self, id: i32, signal: i32) {
        let inside =
            self.tasks.get(&id).is_some_and(|task| matches!(task.phase, Phase::Inside { .. }));
        // ESRCH: it was killed, and its end is to come.
        let _ = if self.way == Way::Ptrace || inside {
            requests::run_to_call(id, signal)
        } else {
            requests::run_on(id, signal)
        };
    }

    /// A task has stopped at the begin or the end of a call.
    fn at_call(&mut self, id: i32, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let Ok(info) = requests::call_info(id) else {
            self.resume(id, 0);
            return Flow::Continue(());
        };
        let told = match info.op {
            requests::OP_ENTRY | requests::OP_SECCOMP => self.entered(id, &info, time_ns, each),
            requests::OP_EXIT => self.left(id, &info, time_ns, each),
            _ => Flow::Continue(()),
        };
        self.resume(id, 0);
        told
    }

    fn entered(&mut self, id: i32, info: &CallInfo, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let [number, arguments @ .., _] = info.words;
        let mut call = call_of(info.arch, number, arguments);
        if call.id == SIGRETURN {
            call.arguments = [info.stack_pointer.wrapping_add(FRAME_MASK_AT), 0, 0, 0, 0, 0];
        } else if call.id == SIGRETURN_32 {
            call.arguments = [0; 6];
        }
        let wanted = self.wanted.has(call.id);
        let Some(task) = self.tasks.get_mut(&id) else { return Flow::Continue(()) };
        if task.voice == Voice::Hidden && is_exec(call.id) {
            task.voice = Voice::Told;
        }
        if self.way == Way::Seccomp && task.voice != Voice::Told {
            return Flow::Continue(());
        }
        let mut told = Flow::Continue(());
        if wanted {
            told = self.tell(id, What::Enter(call), time_ns, each);
        }
        // What `each` took is no part of the call.
        let phase = Phase::Inside { call, since_ns: now_ns(), wanted };
        if let Some(task) = self.tasks.get_mut(&id) {
            task.phase = phase;
        }
        told
    }

    fn left(&mut self, id: i32, info: &CallInfo, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let Some(task) = self.tasks.get_mut(&id) else { return Flow::Continue(()) };
        let phase = std::mem::replace(&mut task.phase, Phase::Outside);
        let held_ns = task.held_ns;
        let (call, since_ns, wanted) = match phase {
            Phase::Inside { call, since_ns, wanted } => (call, since_ns, wanted),
            // We have taken hold of it while it was in the call.
            Phase::Outside => {
                let Ok((number, arguments)) = requests::call_registers(id) else {
                    return Flow::Continue(());
                };
                let call = call_of(info.arch, number, arguments);
                (call, held_ns, self.wanted.has(call.id))
            }
        };
        let what = What::Exit {
            call,
            result: info.words[0] as i64,
            wall_ns: time_ns.saturating_sub(since_ns),
            cpu_ns: None,
        };
        let told = if wanted { self.tell(id, what, time_ns, each) } else { Flow::Continue(()) };
        if !self.began && is_exec(call.id) && self.pid() == Some(id) {
            // The program could not be begun; what the child does now is our work.
            self.set_voice(id, Voice::Muted);
        }
        told
    }

    /// A signal is about to be delivered.
    fn at_signal(&mut self, id: i32, signal: i32, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let told = match requests::signal_info(id) {
            Ok(bytes) => self.tell(id, What::Signal(Signal::from_siginfo(&bytes)), time_ns, each),
            Err(_) => Flow::Continue(()),
        };
        self.resume(id, signal);
        told
    }

    /// A task has told of a new one.
    fn begot(&mut self, id: i32, child: i32, time_ns: u64, each: &mut Each<'_>) -> Flow {
        if self.early.remove(&child) || self.tasks.contains_key(&child) {
            return Flow::Continue(());
        }
        let process = self.tasks.get(&id).map_or(id, |task| task.process);
        let thread = fs::exists(format!("/proc/{process}/task/{child}")).unwrap_or(false);
        let told = self.add(child, if thread { process } else { child }, id, time_ns, each);
        let oldest_ns = time_ns.saturating_sub(STRAY_LIMIT_NS);
        self.strays.retain(|(_, _, since_ns)| *since_ns >= oldest_ns);
        let stray = self.strays.iter().position(|(stray, ..)| *stray == child);
        let stray = stray.and_then(|place| self.strays.remove(place));
        let Some((_, end, _)) = stray else { return told };
        let ended = self.ended(child, end, time_ns, each);
        if told.is_break() { told } else { ended }
    }

    /// A new task has stopped before its parent told of it.
    fn adopt(&mut self, id: i32, time_ns: u64, each: &mut Each<'_>) -> Flow {
        self.early.insert(id);
        let Some(facts) = attach::Facts::of(id) else {
            let task = Task::new(id, Voice::Muted);
            self.tasks.insert(id, task);
            return Flow::Continue(());
        };
        let parent = if facts.process == id { facts.parent } else { facts.process };
        self.add(id, facts.process, parent, time_ns, each)
    }

    /// Takes a new task in; `parent` is the task or the process that begot it.
    fn add(
        &mut self,
        id: i32,
        process: i32,
        parent: i32,
        time_ns: u64,
        each: &mut Each<'_>,
    ) -> Flow {
        let of_parent = self.tasks.get(&parent);
        let heard = of_parent.map_or(Voice::Told, |task| task.voice);
        let parent = of_parent.map_or(parent, |task| task.process);
        let in_scope = match self.scope {
            Scope::Tree => true,
            Scope::Process => process == parent,
            Scope::Thread => false,
        };
        let voice = match (in_scope, self.way) {
            (true, _) => heard,
            (false, Way::Seccomp) => Voice::Muted,
            (false, _) => Voice::Unwanted,
        };
        self.tasks.insert(id, Task::new(process, voice));
        self.tell(id, What::Began { parent }, time_ns, each)
    }

    /// A task begins another program, and has the number of its process from now on.
    fn began_program(&mut self, id: i32, former: i32, time_ns: u64, each: &mut Each<'_>) -> Flow {
        let mut told = Flow::Continue(());
        if former != id
            && let Some(task) = self.tasks.remove(&former)
        {
            self.tasks.insert(id, task);
            told = self.tell(id, What::Superseded { former }, time_ns, each);
        }
        if !self.began && self.pid() == Some(id) {
            self.began = true;
            // With a filter there was no stop at the call itself if that is not wanted.
            self.set_voice(id, Voice::Told);
        }
        told
    }

    fn set_voice(&mut self, id: i32, voice: Voice) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.voice = voice;
        }
    }

    /// A task is no more.
    fn ended(&mut self, id: i32, end: End, time_ns: u64, each: &mut Each<'_>) -> Flow {
        if !self.tasks.contains_key(&id) {
            if self.strays.len() == STRAYS {
                self.strays.pop_front();
            }
            self.strays.push_back((id, end, time_ns));
            return Flow::Continue(());
        }
        if self.pid() == Some(id) {
            self.end = Some(end);
        }
        let told = self.tell(id, What::Ended(end), time_ns, each);
        self.tasks.remove(&id);
        told
    }

    fn run_until(
        &mut self,
        deadline_ns: Option<u64>,
        each: &mut Each<'_>,
    ) -> Result<Progress, Error> {
        loop {
            if let Some((id, status, time_ns)) = self.queue.pop_front() {
                let told = self.handle(id, status, time_ns, each);
                if matches!(status, Status::Stopped { .. }) {
                    self.weight.times += 1;
                    self.weight.held_ns += now_ns().saturating_sub(time_ns);
                }
                if told.is_break() {
                    return Ok(Progress::Paused);
                }
                if deadline_ns.is_some_and(|deadline| time_ns >= deadline) {
                    return Ok(Progress::Elapsed);
                }
                continue;
            }
            if self.tasks.is_empty() {
                return self.finish();
            }
            match self.collect()? {
                Waited::Task(..) | Waited::Nothing => (),
                Waited::Nobody => self.tasks.clear(),
                Waited::Interrupted => {
                    let over = deadline_ns.is_some_and(|deadline| now_ns() >= deadline);
                    return Ok(if over { Progress::Elapsed } else { Progress::Interrupted });
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
        let mut nobody = |_: &Event, _: &dyn crate::Memory| Flow::Continue(());
        while !self.tasks.is_empty() && now_ns() < deadline_ns {
            let Some((id, status, time_ns)) = self.queue.pop_front() else {
                match self.collect()? {
                    Waited::Nobody => break,
                    _ => continue,
                }
            };
            let Status::Stopped { event, signal } = status else {
                let _ = self.handle(id, status, time_ns, &mut nobody);
                continue;
            };
            let births =
                [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE];
            if births.contains(&event)
                && let Ok(child) = requests::event_message(id)
            {
                // It stops by itself, as every new one does.
                let _ = self.begot(id, child, time_ns, &mut nobody);
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

/// Whether whoever looks at the events wants more.
type Flow = ControlFlow<()>;

impl Engine for Ptrace {
    fn way(&self) -> Way {
        self.way
    }

    fn run(&mut self, limit: Option<Duration>, each: &mut Each<'_>) -> Result<Progress, Error> {
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

    fn weight(&self) -> Weight {
        self.weight
    }

    fn end(&self) -> Option<End> {
        self.end
    }

    fn detach(&mut self) -> Result<(), Error> {
        if self.way == Way::Seccomp && !self.tasks.is_empty() {
            return Err(Error::Inseparable);
        }
        self.let_go()
    }
}

impl Drop for Ptrace {
    /// Nobody is left stopped: tasks are let go, or ended if they cannot live without us.
    fn drop(&mut self) {
        if self.way == Way::Seccomp {
            for id in self.tasks.keys() {
                // SAFETY: a plain call; the number is that of a task that was not waited for.
                unsafe { libc::kill(*id, libc::SIGKILL) };
            }
        }
        let _ = self.let_go();
    }
}

/// The call of this number in the table of an architecture.
fn call_of(arch: u32, number: u64, arguments: [u64; 6]) -> Call {
    if arch == ARCH_I386 {
        let low = |word: u64| word & 0xFFFF_FFFF;
        let id = CallId { abi: Abi::I386, number: low(number) };
        return Call { id, arguments: arguments.map(low) };
    }
    Call { id: CallId::native(number), arguments }
}

/// Whether a call begins a program: `execve` and `execveat`.
fn is_exec(call: CallId) -> bool {
    matches!(call.known_name(), Some("execve" | "execveat"))
}
