//! Signals and nice values to processes; a signal never reaches another process with a reused pid.
//!
//! A process file descriptor (pidfd_open(2)) is opened first; then the start time of the process is
//! compared with that of the selected one, and the signal is sent to the descriptor.  So the signal
//! reaches the process that was compared, or none.

use std::fmt;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Signals to choose from, the common ones first.
pub(crate) const SIGNALS: &[(&str, i32)] = &[
    ("TERM", libc::SIGTERM),
    ("KILL", libc::SIGKILL),
    ("INT", libc::SIGINT),
    ("HUP", libc::SIGHUP),
    ("QUIT", libc::SIGQUIT),
    ("STOP", libc::SIGSTOP),
    ("CONT", libc::SIGCONT),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("ABRT", libc::SIGABRT),
    ("ALRM", libc::SIGALRM),
    ("WINCH", libc::SIGWINCH),
];

/// A process that gets a signal or a nice value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) pid: i32,
    /// In ticks since boot.
    pub(crate) start: u64,
    pub(crate) command: Vec<u8>,
}

/// The result of sending a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalOutcome {
    Sent,
    /// The process has ended before.
    Gone,
    /// The pid now belongs to another process.
    Reused,
    /// The process belongs to another user.
    Denied,
    /// Another error.
    Failed(i32),
}

impl fmt::Display for SignalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignalOutcome::Sent => f.write_str("done"),
            SignalOutcome::Gone => f.write_str("not done: the process has ended"),
            SignalOutcome::Reused => {
                f.write_str("not done: the process has ended, and its pid was reused")
            }
            SignalOutcome::Denied => f.write_str("not permitted"),
            SignalOutcome::Failed(errno) => {
                write!(f, "not done: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

/// Sends a signal to the process `pid` if it started at `start`, in ticks since boot.
pub(crate) fn send(pid: i32, start: u64, signal: i32) -> SignalOutcome {
    // kill(2) takes 0 and negative numbers for process groups, which cannot be selected.
    let process = if pid > 0 { Pid::from_raw(pid) } else { None };
    let Some(process) = process else { return SignalOutcome::Gone };
    let held = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(held) => Some(held),
        Err(rustix::io::Errno::SRCH) => return SignalOutcome::Gone,
        // Without pidfd_open(2) (before Linux 5.3, or under a seccomp filter) the start time is
        // compared right before kill(2).
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => None,
        Err(error) => return SignalOutcome::Failed(error.raw_os_error()),
    };
    match began(pid) {
        None => return SignalOutcome::Gone,
        Some(began) if began != start => return SignalOutcome::Reused,
        Some(_) => {}
    }
    let Some(signal) = Signal::from_named_raw(signal) else {
        return SignalOutcome::Failed(libc::EINVAL);
    };
    let sent = match &held {
        Some(held) => pidfd_send_signal(held, signal),
        None => rustix::process::kill_process(process, signal),
    };
    match sent {
        Ok(()) => SignalOutcome::Sent,
        Err(rustix::io::Errno::SRCH) => SignalOutcome::Gone,
        Err(rustix::io::Errno::PERM) => SignalOutcome::Denied,
        Err(error) => SignalOutcome::Failed(error.raw_os_error()),
    }
}

/// Adds `step` to the nice value of the process `pid` if it started at `start`, in ticks since boot.
///
/// There is no call for a held process: its start is compared before, and a pid that is reused between the
/// comparison and the call is as unlikely as 4 million new processes in some microseconds.
pub(crate) fn renice(pid: i32, start: u64, step: i32) -> SignalOutcome {
    use rustix::process::{getpriority_process, setpriority_process};
    let Some(process) = (if pid > 0 { Pid::from_raw(pid) } else { None }) else {
        return SignalOutcome::Gone;
    };
    match began(pid) {
        None => return SignalOutcome::Gone,
        Some(began) if began != start => return SignalOutcome::Reused,
        Some(_) => {}
    }
    let set = getpriority_process(Some(process))
        .and_then(|nice| setpriority_process(Some(process), (nice + step).clamp(-20, 19)));
    match set {
        Ok(()) => SignalOutcome::Sent,
        Err(rustix::io::Errno::SRCH) => SignalOutcome::Gone,
        Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => SignalOutcome::Denied,
        Err(error) => SignalOutcome::Failed(error.raw_os_error()),
    }
}

/// When a process started, in ticks since boot (proc_pid_stat(5), field 22).
fn began(pid: i32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // A name may contain parentheses; the last one ends it.
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields = text.get(end + 2..)?.split(|&byte| byte == b' ');
    std::str::from_utf8(fields.nth(19)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    #[test]
    fn only_the_process_that_was_meant_is_hit() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let start = began(pid).unwrap();
        assert_eq!(send(pid, start + 1, libc::SIGKILL), SignalOutcome::Reused);
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(renice(pid, start + 1, 1), SignalOutcome::Reused);
        let nice = |pid| {
            let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
            procfs::pid::parse_stat(&stat).unwrap().field(19).unwrap().cast_signed()
        };
        let before = nice(pid);
        assert_eq!(renice(pid, start, 1), SignalOutcome::Sent);
        assert_eq!(nice(pid), (before + 1).min(19));
        assert_eq!(send(pid, start, libc::SIGTERM), SignalOutcome::Sent);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(send(pid, start, libc::SIGTERM), SignalOutcome::Gone);
        assert_eq!(renice(pid, start, 1), SignalOutcome::Gone);
        assert_eq!(send(-1, start, libc::SIGTERM), SignalOutcome::Gone);
        assert_eq!(send(0, start, libc::SIGTERM), SignalOutcome::Gone);
    }
}
