//! SIGCHLD by a signalfd, exit statuses and resource usage by `wait4`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::details::ExitDetails;
use crate::usage::{ResourceUsage, ShellTime};

/// A process that has exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// The process id.
    pub pid: i32,
    /// The exit code, if the process exited by itself.
    pub exit: Option<u8>,
    /// The signal that killed it, or 0.
    pub signal: u8,
    /// The resource usage of the process.
    pub usage: ResourceUsage,
}

/// A signalfd for SIGCHLD and other signals.
///
/// While it lives, SIGPIPE is not ignored (as the Rust runtime sets it) but blocked: a write to a
/// closed pipe still returns an error here, and programs get the default action without a system
/// call for each.  The signals are blocked in the thread that made it and in threads that this one
/// starts; programs get the previous mask.
#[derive(Debug)]
pub struct SignalFd {
    fd: OwnedFd,
    heard: libc::sigset_t,
    before: libc::sigset_t,
}

impl SignalFd {
    /// Blocks SIGCHLD and `signals`, and opens a signalfd for them.
    ///
    /// # Errors
    ///
    /// As signalfd(2): no descriptor is left, for example.
    pub fn listen(signals: &[i32]) -> io::Result<Self> {
        // SAFETY: a set is valid once sigemptyset has written it; the calls are plain.
        let (fd, heard, before) = unsafe {
            let mut heard = MaybeUninit::uninit();
            libc::sigemptyset(heard.as_mut_ptr());
            for &signal in [libc::SIGCHLD].iter().chain(signals) {
                libc::sigaddset(heard.as_mut_ptr(), signal);
            }
            let mut blocked = heard;
            libc::sigaddset(blocked.as_mut_ptr(), libc::SIGPIPE);
            let mut before = MaybeUninit::uninit();
            libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
            // The Rust runtime ignores it, and an ignored signal stays ignored in a program.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let fd = libc::signalfd(-1, heard.as_ptr(), flags);
            (fd, heard.assume_init(), before.assume_init())
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(SignalFd { fd, heard, before })
    }

    /// The previous signal mask, which programs get.
    pub fn mask(&self) -> libc::sigset_t {
        self.before
    }

    /// Waits for a signal, at most for this time; for callers that wait for nothing else.
    ///
    /// # Errors
    ///
    /// As sigtimedwait(2), except that the time was over or that another signal interrupted.
    pub fn wait(&self, at_most: Option<Duration>) -> io::Result<Option<i32>> {
        let limit = at_most.map(|left| libc::timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the set and the limit are valid; no siginfo is requested.
        let signal = unsafe { libc::sigtimedwait(&self.heard, std::ptr::null_mut(), limit) };
        if signal >= 0 {
            return Ok(Some(signal));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(None),
            _ => Err(error),
        }
    }

    /// Passes all pending signals to `each`.
    pub fn read_pending(&self, mut each: impl FnMut(i32)) {
        loop {
            let mut infos = [const { MaybeUninit::<libc::signalfd_siginfo>::uninit() }; 8];
            let size = std::mem::size_of_val(&infos);
            // SAFETY: the buffer is as large as said.
            let count = unsafe { libc::read(self.fd.as_raw_fd(), infos.as_mut_ptr().cast(), size) };
            let one = size_of::<libc::signalfd_siginfo>();
            let count = usize::try_from(count).unwrap_or(0) / one;
            for info in &infos[..count] {
                // SAFETY: the kernel wrote `count` of them.
                each(unsafe { info.assume_init_ref() }.ssi_signo.cast_signed());
            }
            if count < infos.len() {
                return;
            }
        }
    }
}

/// The next process that has exited, if there is one; `details` inspects it before it is reaped.
pub fn reap(details: Option<&mut ExitDetails>) -> Option<Reaped> {
    let Some(details) = details else { return wait_for(-1) };
    let pid = first_ended()?;
    let shell = details.shell(pid);
    let mut reaped = wait_for(pid)?;
    let usage = &mut reaped.usage;
    usage.shell = shell;
    usage.resident_kib = usage.resident_kib.take().and_then(|kib| details.resident_kib(kib));
    Some(reaped)
}

/// A process that has exited, without reaping it.
fn first_ended() -> Option<i32> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is live; zeros are valid, and stay if no process has exited.
    let pid = unsafe {
        libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags);
        info.assume_init_ref().si_pid()
    };
    (pid > 0).then_some(pid)
}

/// Reaps a process that has exited; -1 for any.
fn wait_for(pid: i32) -> Option<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both structures are live.
    let pid = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if pid <= 0 {
        return None;
    }
    // SAFETY: zeroed is valid, and the kernel has written it.
    let usage = unsafe { usage.assume_init() };
    let exit = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u8);
    let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) as u8 } else { 0 };
    Some(Reaped { pid, exit, signal, usage: resource_usage(&usage) })
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for SignalFd {
    fn drop(&mut self) {
        // SAFETY: plain calls; the mask is the previous one, and a pending SIGPIPE is discarded
        // once it is ignored.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}

/// Converts the numbers of getrusage(2) to our units.
fn resource_usage(usage: &libc::rusage) -> ResourceUsage {
    let us = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    ResourceUsage {
        user_us: us(usage.ru_utime),
        system_us: us(usage.ru_stime),
        resident_kib: Some(usage.ru_maxrss.cast_unsigned()),
        voluntary_switches: usage.ru_nvcsw.cast_unsigned(),
        involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
        minor_faults: usage.ru_minflt.cast_unsigned(),
        major_faults: usage.ru_majflt.cast_unsigned(),
        spawn_ns: 0,
        shell: ShellTime::Unknown,
    }
}
