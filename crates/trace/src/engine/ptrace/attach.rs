//! Attaches to running tasks, and explains a refusal.

use std::fs;

use crate::engine::{Error, requests};

/// `PF_KTHREAD` of linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Rounds of listing threads, for those created while others were attached to.  The kernel attaches
/// new threads of traced threads by itself, so a second round rarely finds any.
const ROUNDS: usize = 16;

/// Fields of `/proc/PID/status`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProcStatus {
    /// The process of the task.
    pub(super) process: i32,
    /// The parent of its process.
    pub(super) parent: i32,
    /// The process that traces the task; 0 for none.
    pub(super) tracer: i32,
    /// The user id of the task.
    uid: Option<u32>,
    /// The state of the task, one letter.
    state: Option<u8>,
}

impl ProcStatus {
    pub(super) fn of(task: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{task}/status")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line[name.len()..].split_ascii_whitespace().next()
        };
        Some(ProcStatus {
            process: value("Tgid:")?.parse().ok()?,
            parent: value("PPid:")?.parse().ok()?,
            tracer: value("TracerPid:").and_then(|value| value.parse().ok()).unwrap_or(0),
            uid: value("Uid:").and_then(|value| value.parse().ok()),
            state: value("State:").and_then(|value| value.bytes().next()),
        })
    }
}

/// Attaches to a task, or to all threads of its process.  Returns those attached; they continue.
pub(super) fn attach(pid: i32, all_threads: bool, options: i32) -> Result<Vec<i32>, Error> {
    if pid <= 0 {
        return Err(Error::NoProcess(pid));
    }
    let mut held: Vec<i32> = Vec::new();
    let mut refused = None;
    for _ in 0..if all_threads { ROUNDS } else { 1 } {
        let threads = if all_threads { threads_of(pid) } else { vec![pid] };
        let before = held.len();
        for thread in threads {
            if held.contains(&thread) {
                continue;
            }
            match requests::seize(thread, options) {
                Ok(()) => held.push(thread),
                // The kernel has already attached a new thread of a traced thread.
                Err(libc::EPERM) if held_by_us(thread) => (),
                Err(error) => refused = Some((thread, error)),
            }
        }
        if held.len() == before {
            break;
        }
    }
    match refused {
        // A thread that exits meanwhile is no reason to give up, nor a first thread that has exited
        // before the others.
        _ if !held.is_empty() => Ok(held),
        Some((thread, error)) => Err(explain(thread, error)),
        None => Err(Error::NoProcess(pid)),
    }
}

/// Whether this thread is the tracer of a task.
fn held_by_us(task: i32) -> bool {
    // SAFETY: a plain call.
    let me = unsafe { libc::gettid() };
    ProcStatus::of(task).is_some_and(|facts| facts.tracer == me)
}

/// The threads of a process; none if it does not exist.
fn threads_of(pid: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// Why a task may not be traced, and what to do.
pub(super) fn explain(pid: i32, error: i32) -> Error {
    if error == libc::ESRCH {
        return Error::NoProcess(pid);
    }
    // An option or request that this kernel does not have.
    if error == libc::EIO || error == libc::EINVAL {
        return Error::OldKernel;
    }
    let Some(facts) = ProcStatus::of(pid) else { return Error::NoProcess(pid) };
    if facts.tracer != 0 {
        return Error::Traced { pid, by: facts.tracer };
    }
    Error::Denied { pid, why: reason(pid, &facts) }
}

fn reason(pid: i32, facts: &ProcStatus) -> String {
    let me = rustix::process::geteuid().as_raw();
    if facts.process == std::process::id() as i32 {
        return "it is this very process".to_owned();
    }
    if matches!(facts.state, Some(b'Z' | b'X')) {
        return "it has exited, and its parent has not waited for it yet".to_owned();
    }
    if flags(pid).is_some_and(|flags| flags & KERNEL_THREAD != 0) {
        return "it is a kernel thread".to_owned();
    }
    if let Some(uid) = facts.uid
        && me != 0
        && uid != me
    {
        return format!("it belongs to user {uid}: run as that user or as root");
    }
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match yama.trim() {
        "1" | "2" if me != 0 => format!(
            "kernel.yama.ptrace_scope is {}, which leaves this to root: run as root, or start the \
             command by this program",
            yama.trim()
        ),
        "3" => "kernel.yama.ptrace_scope is 3, which forbids it until the next boot".to_owned(),
        _ => "a set-uid program, a security module or a container forbids it: run as root outside \
              the container"
            .to_owned(),
    }
}

/// The flags of a task, from `/proc/PID/stat`.
fn flags(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may contain anything, come state, parent, group, session, terminal and
    // its group, then the flags.
    text[text.rfind(')')? + 1..].split_ascii_whitespace().nth(6)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn facts_are_those_of_the_kernel() {
        let me = std::process::id() as i32;
        let facts = ProcStatus::of(me).unwrap();
        assert_eq!(facts.process, me);
        assert_eq!(facts.parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        assert_eq!(facts.uid, Some(rustix::process::getuid().as_raw()));
        assert_eq!(ProcStatus::parse(""), None);
        assert_eq!(ProcStatus::parse("Tgid:\nPPid:\t1\n"), None);
    }

    #[test]
    fn refusals_say_why() {
        let me = std::process::id() as i32;
        assert!(matches!(explain(i32::MAX, libc::EPERM), Error::NoProcess(_)));
        assert!(explain(me, libc::EPERM).to_string().ends_with("it is this very process"));
        // kthreadd, where it can be seen.
        if flags(2).is_some_and(|flags| flags & KERNEL_THREAD != 0) {
            assert!(explain(2, libc::EPERM).to_string().ends_with("a kernel thread"));
        }
    }
}
