//! What a stop or an exit of a traced task means: events, and how the task is resumed.

use std::fs;
use std::ops::ControlFlow;

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

/// Where a frame for `rt_sigreturn` has the set of blocked signals, from the stack pointer on:
/// `uc_sigmask` of `struct ucontext`, behind flags, link, stack (40 bytes) and registers (256).
const FRAME_MASK_AT: u64 = 296;

/// Ends of tasks that nobody has told us of yet: as many as can be killed between their begin and
/// their parent's word of it.
const EARLY_EXITS_MAX: usize = 256;

/// How long such an end is kept.  A parent is rarely kept from the CPU for longer, and no number is
/// given to another task so soon.
const EARLY_EXIT_LIMIT_NS: u64 = 10_000_000_000;

/// Whether whoever looks at the events wants more.
pub(super) type Flow = ControlFlow<()>;

impl PtraceEngine {
    /// Deals with what happened to a task.
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
                let told = self.tell(id, EventKind::Stopped(signal), time_ns, each);
                let _ = requests::listen(id);
                told
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let told = match requests::event_message(id) {
                    Ok(child) => self.cloned(id, child, time_ns, each),
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
    fn tell(&self, id: i32, what: EventKind, time_ns: u64, each: &mut EventHandler<'_>) -> Flow {
        match self.tasks.get(&id) {
            Some(task) if task.reporting == Reporting::On => {
                let event = TraceEvent { time_ns, thread: id, process: task.process, what };
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
        let _ = if self.way == TraceWay::Ptrace || inside {
            requests::run_to_call(id, signal)
        } else {
            requests::run_on(id, signal)
        };
    }

    /// A task has stopped at the begin or the end of a call.
    fn at_call(&mut self, id: i32, time_ns: u64, each: &mut EventHandler<'_>) -> Flow {
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

    fn entered(
        &mut self,
        id: i32,
        info: &CallInfo,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let [number, arguments @ .., _] = info.words;
        let mut call = call_of(info.arch, number, arguments);
        if call.id == SIGRETURN {
            call.arguments = [info.stack_pointer.wrapping_add(FRAME_MASK_AT), 0, 0, 0, 0, 0];
        } else if call.id == SIGRETURN_32 {
            call.arguments = [0; 6];
        }
        let wanted = self.wanted.has(call.id);
        let Some(task) = self.tasks.get_mut(&id) else { return Flow::Continue(()) };
        if task.reporting == Reporting::FromExec && is_exec(call.id) {
            task.reporting = Reporting::On;
        }
        if self.way == TraceWay::Seccomp && task.reporting != Reporting::On {
            return Flow::Continue(());
        }
        let mut told = Flow::Continue(());
        if wanted {
            told = self.tell(id, EventKind::Enter(call), time_ns, each);
        }
        // What `each` took is no part of the call.
        let phase = Phase::Inside { call, since_ns: now_ns(), wanted };
        if let Some(task) = self.tasks.get_mut(&id) {
            task.phase = phase;
        }
        told
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
        let what = EventKind::Exit {
            call,
            result: info.words[0] as i64,
            wall_ns: time_ns.saturating_sub(since_ns),
            cpu_ns: None,
        };
        let told = if wanted { self.tell(id, what, time_ns, each) } else { Flow::Continue(()) };
        if !self.began && is_exec(call.id) && self.pid() == Some(id) {
            // The program could not be begun; what the child does now is our work.
            self.set_reporting(id, Reporting::Off);
        }
        told
    }

    /// A signal is about to be delivered.
    fn at_signal(
        &mut self,
        id: i32,
        signal: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let told = match requests::signal_info(id) {
            Ok(bytes) => {
                self.tell(id, EventKind::Signal(Signal::from_siginfo(&bytes)), time_ns, each)
            }
            Err(_) => Flow::Continue(()),
        };
        self.resume(id, signal);
        told
    }

    /// A task has told of a new one.
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
        let told = self.add(child, if thread { process } else { child }, id, time_ns, each);
        let oldest_ns = time_ns.saturating_sub(EARLY_EXIT_LIMIT_NS);
        self.early_exits.retain(|(_, _, since_ns)| *since_ns >= oldest_ns);
        let stray = self.early_exits.iter().position(|(stray, ..)| *stray == child);
        let stray = stray.and_then(|place| self.early_exits.remove(place));
        let Some((_, end, _)) = stray else { return told };
        let ended = self.ended(child, end, time_ns, each);
        if told.is_break() { told } else { ended }
    }

    /// A new task has stopped before its parent told of it.
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

    /// Takes a new task in; `parent` is the task or the process that begot it.
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
        self.tell(id, EventKind::Began { parent }, time_ns, each)
    }

    /// A task begins another program, and has the number of its process from now on.
    fn began_program(
        &mut self,
        id: i32,
        former: i32,
        time_ns: u64,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let mut told = Flow::Continue(());
        if former != id
            && let Some(task) = self.tasks.remove(&former)
        {
            self.tasks.insert(id, task);
            told = self.tell(id, EventKind::Superseded { former }, time_ns, each);
        }
        if !self.began && self.pid() == Some(id) {
            self.began = true;
            // With a filter there was no stop at the call itself if that is not wanted.
            self.set_reporting(id, Reporting::On);
        }
        told
    }

    fn set_reporting(&mut self, id: i32, reporting: Reporting) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.reporting = reporting;
        }
    }

    /// A task is no more.
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
        let told = self.tell(id, EventKind::Ended(end), time_ns, each);
        self.tasks.remove(&id);
        told
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
