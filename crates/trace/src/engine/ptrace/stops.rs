//! What a stop or an exit of a traced task means: events, and how the task is resumed.

use std::fs;
use std::ops::ControlFlow;

use super::tamper::PendingTamper;
use super::{Phase, PtraceEngine, Reporting, Task, attach};
use crate::clock::now_ns;
use crate::engine::memory::TaskMemory;
use crate::engine::requests::{self, CallInfo, TaskStatus};
use crate::engine::seccomp::ARCH_I386;
use crate::engine::{EventHandler, FollowScope, TraceWay};
use crate::{Abi, Call, CallId, EventKind, Signal, TraceEvent, WaitStatus};

/// `rt_sigreturn` of both tables.
const SIGRETURN: CallId = CallId::native(15);
const SIGRETURN_32: CallId = CallId { abi: Abi::I386, number: 173 };

/// Offset of the set of blocked signals from the stack pointer at `rt_sigreturn`: `uc_sigmask` of
/// `struct ucontext`, after flags, link, stack (40 bytes) and registers (256).
const FRAME_MASK_AT: u64 = 296;

/// Most exits of unknown tasks that are kept: as many as can be killed between their creation and
/// the event of their parent.
const EARLY_EXITS_MAX: usize = 256;

/// How long such an exit is kept.  A parent rarely waits for a CPU for longer, and the kernel does
/// not reuse a number so soon.
const EARLY_EXIT_LIMIT_NS: u64 = 10_000_000_000;

/// Whether the event handler wants more.
pub(super) type Flow = ControlFlow<()>;

impl PtraceEngine {
    /// Handles a result of `wait4`.
    pub(super) fn handle(
        &mut self,
        id: i32,
        status: TaskStatus,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let (event, signal) = match status {
            TaskStatus::Exited(status) => {
                return self.ended(id, WaitStatus::Exited(status), time_ns, each);
            }
            TaskStatus::Killed { signal, dumped } => {
                return self.ended(
                    id,
                    WaitStatus::Signaled { number: signal, dumped },
                    time_ns,
                    each,
                );
            }
            TaskStatus::Stopped { event, signal } => (event, signal),
        };
        // A handler that breaks does not excuse us from resuming the task.
        let adopted = if self.tasks.contains_key(&id) {
            Flow::Continue(())
        } else {
            self.adopt(id, time_ns, each)
        };
        let stopped = self.stopped(id, event, signal, time_ns, each);
        if adopted.is_break() { adopted } else { stopped }
    }

    /// Handles a stop of a task, and resumes it.
    fn stopped(
        &mut self,
        id: i32,
        event: i32,
        signal: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let reporting = self.tasks.get(&id).map_or(Reporting::Off, |task| task.reporting);
        if reporting == Reporting::Detach {
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
                let flow = self.hand_over(id, EventKind::Stopped(signal), time_ns, each);
                let _ = requests::listen(id);
                flow
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let flow = match requests::event_message(id) {
                    Ok(child) => self.cloned(id, child, time_ns, each),
                    Err(_) => Flow::Continue(()),
                };
                self.resume(id, 0);
                flow
            }
            libc::PTRACE_EVENT_EXEC => {
                let former = requests::event_message(id).unwrap_or(id);
                let is_first = !self.began && self.pid() == Some(id);
                let flow = self.began_program(id, former, time_ns, each);
                if self.detaches_at_exec && !is_first {
                    return self.let_one_go(id, time_ns, each);
                }
                self.resume(id, 0);
                flow
            }
            _ => {
                self.resume(id, 0);
                Flow::Continue(())
            }
        }
    }

    /// Detaches from a task that has stopped.
    fn let_one_go(&mut self, id: i32, time_ns: u64, each: &mut EventHandler<'_>) -> Flow {
        let flow = self.hand_over(id, EventKind::Detached, time_ns, each);
        let _ = requests::detach(id, 0);
        self.tasks.remove(&id);
        flow
    }

    /// Hands an event over, if events of the task are reported.
    fn hand_over(
        &self,
        id: i32,
        what: EventKind,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        match self.tasks.get(&id) {
            Some(task) if task.reporting == Reporting::On => {
                let event = TraceEvent { time_ns, thread: id, process: task.process, what };
                each(&event, &TaskMemory(id))
            }
            _ => Flow::Continue(()),
        }
    }

    /// Resumes a stopped task until the next stop that matters.
    fn resume(&self, id: i32, signal: i32) {
        let inside =
            self.tasks.get(&id).is_some_and(|task| matches!(task.phase, Phase::Inside { .. }));
        // ESRCH: it was killed, and its exit is still to come.
        let _ = if self.way == TraceWay::Ptrace || inside {
            requests::run_to_call(id, signal)
        } else {
            requests::run_on(id, signal)
        };
    }

    /// A task has stopped at the entry or the exit of a call.
    fn at_call(&mut self, id: i32, time_ns: u64, each: &mut EventHandler<'_>) -> Flow {
        let Ok(info) = requests::call_info(id) else {
            self.resume(id, 0);
            return Flow::Continue(());
        };
        let (flow, signal) = match info.op {
            requests::OP_ENTRY | requests::OP_SECCOMP => self.entered(id, &info, time_ns, each),
            requests::OP_EXIT => (self.left(id, &info, time_ns, each), 0),
            _ => (Flow::Continue(()), 0),
        };
        self.resume(id, signal);
        flow
    }

    /// A task enters a call; returns the signal to resume it with, too.
    fn entered(
        &mut self,
        id: i32,
        info: &CallInfo,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> (Flow, i32) {
        let [number, arguments @ .., _] = info.words;
        let mut call = call_of(info.arch, number, arguments);
        if call.id == SIGRETURN {
            call.arguments = [info.stack_pointer.wrapping_add(FRAME_MASK_AT), 0, 0, 0, 0, 0];
        } else if call.id == SIGRETURN_32 {
            call.arguments = [0; 6];
        }
        let wanted = self.wanted.has(call.id);
        let Some(task) = self.tasks.get_mut(&id) else { return (Flow::Continue(()), 0) };
        if task.reporting == Reporting::FromExec && is_exec(call.id) {
            task.reporting = Reporting::On;
        }
        let is_on = task.reporting == Reporting::On;
        if self.way == TraceWay::Seccomp && !is_on {
            return (Flow::Continue(()), 0);
        }
        let mut flow = Flow::Continue(());
        if wanted {
            flow = self.hand_over(id, EventKind::Enter(call), time_ns, each);
        }
        let (begun, signal) = match wanted && is_on {
            true => self.tamper_entry(id, call.id),
            false => (PendingTamper::default(), 0),
        };
        // The time that `each` took is not part of the call.
        let phase = Phase::Inside { call, since_ns: now_ns(), wanted, begun };
        if let Some(task) = self.tasks.get_mut(&id) {
            task.phase = phase;
        }
        (flow, signal)
    }

    fn left(
        &mut self,
        id: i32,
        info: &CallInfo,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let Some(task) = self.tasks.get_mut(&id) else { return Flow::Continue(()) };
        let phase = std::mem::replace(&mut task.phase, Phase::Outside);
        let held_ns = task.held_ns;
        let (call, since_ns, wanted, begun) = match phase {
            Phase::Inside { call, since_ns, wanted, begun } => (call, since_ns, wanted, begun),
            // We attached while it was in the call.
            Phase::Outside => {
                let Ok((number, arguments)) = requests::call_registers(id) else {
                    return Flow::Continue(());
                };
                let call = call_of(info.arch, number, arguments);
                (call, held_ns, self.wanted.has(call.id), PendingTamper::default())
            }
        };
        let (result, changes) = Self::tamper_exit(id, &begun, info.words[0] as i64);
        let wall_ns = time_ns.saturating_sub(since_ns);
        let what = EventKind::Exit { call, result, wall_ns, cpu_ns: None, changes };
        let flow =
            if wanted { self.hand_over(id, what, time_ns, each) } else { Flow::Continue(()) };
        Self::delay_exit(&begun);
        if !self.began && is_exec(call.id) && self.pid() == Some(id) {
            // `execve` failed; what the child does now is our own code.
            self.set_reporting(id, Reporting::Off);
        }
        flow
    }

    /// A signal is about to be delivered.
    fn at_signal(
        &mut self,
        id: i32,
        signal: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let flow = match requests::signal_info(id) {
            Ok(bytes) => {
                self.hand_over(id, EventKind::Signal(Signal::from_siginfo(&bytes)), time_ns, each)
            }
            Err(_) => Flow::Continue(()),
        };
        self.resume(id, signal);
        flow
    }

    /// A task has reported a new one.
    pub(super) fn cloned(
        &mut self,
        id: i32,
        child: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        if self.early.remove(&child) || self.tasks.contains_key(&child) {
            return Flow::Continue(());
        }
        let process = self.tasks.get(&id).map_or(id, |task| task.process);
        let thread = fs::exists(format!("/proc/{process}/task/{child}")).unwrap_or(false);
        let flow = self.add(child, if thread { process } else { child }, id, time_ns, each);
        let oldest_ns = time_ns.saturating_sub(EARLY_EXIT_LIMIT_NS);
        self.early_exits.retain(|(_, _, since_ns)| *since_ns >= oldest_ns);
        let stray = self.early_exits.iter().position(|(stray, ..)| *stray == child);
        let stray = stray.and_then(|index| self.early_exits.remove(index));
        let Some((_, end, _)) = stray else { return flow };
        let ended = self.ended(child, end, time_ns, each);
        if flow.is_break() { flow } else { ended }
    }

    /// A new task has stopped before its parent reported it.
    fn adopt(&mut self, id: i32, time_ns: u64, each: &mut EventHandler<'_>) -> Flow {
        self.early.insert(id);
        let Some(facts) = attach::ProcStatus::of(id) else {
            let task = Task::new(id, Reporting::Off);
            self.tasks.insert(id, task);
            return Flow::Continue(());
        };
        let parent = if facts.process == id { facts.parent } else { facts.process };
        self.add(id, facts.process, parent, time_ns, each)
    }

    /// Adds a new task; `parent` is the task or the process that created it.
    fn add(
        &mut self,
        id: i32,
        process: i32,
        parent: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let of_parent = self.tasks.get(&parent);
        let heard = of_parent.map_or(Reporting::On, |task| task.reporting);
        let parent = of_parent.map_or(parent, |task| task.process);
        let in_scope = match self.scope {
            FollowScope::Tree => true,
            FollowScope::Process => process == parent,
            FollowScope::Thread => false,
        };
        let reporting = match (in_scope, self.way) {
            (true, _) => heard,
            (false, TraceWay::Seccomp) => Reporting::Off,
            (false, _) => Reporting::Detach,
        };
        self.tasks.insert(id, Task::new(process, reporting));
        self.hand_over(id, EventKind::Began { parent }, time_ns, each)
    }

    /// A task has called `execve`, and has the number of its process from now on.
    fn began_program(
        &mut self,
        id: i32,
        former: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let mut flow = Flow::Continue(());
        if former != id
            && let Some(task) = self.tasks.remove(&former)
        {
            self.tasks.insert(id, task);
            flow = self.hand_over(id, EventKind::Superseded { former }, time_ns, each);
        }
        if !self.began && self.pid() == Some(id) {
            self.began = true;
            // With a filter there was no stop at the call itself, unless it is wanted.
            self.set_reporting(id, Reporting::On);
        }
        flow
    }

    fn set_reporting(&mut self, id: i32, reporting: Reporting) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.reporting = reporting;
        }
    }

    /// A task has exited.
    fn ended(
        &mut self,
        id: i32,
        end: WaitStatus,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        if !self.tasks.contains_key(&id) {
            if self.early_exits.len() == EARLY_EXITS_MAX {
                self.early_exits.pop_front();
            }
            self.early_exits.push_back((id, end, time_ns));
            return Flow::Continue(());
        }
        if self.pid() == Some(id) {
            self.end = Some(end);
        }
        let flow = self.hand_over(id, EventKind::Ended(end), time_ns, each);
        self.tasks.remove(&id);
        flow
    }
}

/// The call of this number in the table of an audit architecture.
fn call_of(arch: u32, number: u64, arguments: [u64; 6]) -> Call {
    if arch == ARCH_I386 {
        let low = |word: u64| word & 0xFFFF_FFFF;
        let id = CallId { abi: Abi::I386, number: low(number) };
        return Call { id, arguments: arguments.map(low) };
    }
    Call { id: CallId::native(number), arguments }
}

/// Whether a call is `execve` or `execveat`.
fn is_exec(call: CallId) -> bool {
    matches!(call.known_name(), Some("execve" | "execveat"))
}
