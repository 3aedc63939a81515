//! The termination signals as a file descriptor, so that they can be waited for together with the
//! exit of a command.
//!
//! A tracer must write its results before it exits, so it blocks these signals and reads them.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

use super::{Interruption, ReportError};

/// The signals that are blocked and read.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// These signals, blocked in this thread and read here.
#[derive(Debug)]
pub struct TerminationSignals(OwnedFd);

impl TerminationSignals {
    /// Blocks the signals in this thread.  Start a command before, or they are blocked in it too.
    ///
    /// # Errors
    /// When the signalfd cannot be created.
    pub fn take_over(interruption: Interruption) -> Result<Self, ReportError> {
        if interruption == Interruption::IgnoredWithStops {
            Self::block_stops();
        }
        // SAFETY: the set is plain data that `sigemptyset` makes valid; a new descriptor is ours.
        let descriptor = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in SIGNALS {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            let error = std::io::Error::last_os_error();
            return Err(ReportError::system("cannot create a signalfd")(error));
        }
        // SAFETY: the kernel has just made it for us.
        Ok(TerminationSignals(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Lets the signals come to this thread, and to a command that it starts, whatever its parent had blocked.
    pub(super) fn unblock() {
        // SAFETY: the set is plain data that `sigemptyset` makes valid.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in SIGNALS {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        }
    }

    /// Blocks the terminal's stop signal in this thread, too.
    fn block_stops() {
        // SAFETY: the set is plain data that `sigemptyset` makes valid.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    }

    /// The next pending signal; `None` if there is none.
    #[must_use]
    pub fn next(&self) -> Option<i32> {
        // `struct signalfd_siginfo` begins with the number.
        let mut bytes = [0; 128];
        let count = rustix::io::read(&self.0, &mut bytes).ok()?;
        let number = bytes[..count].first_chunk()?;
        Some(i32::from_ne_bytes(*number))
    }
}

impl AsFd for TerminationSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Leaves all signals to the thread that traces.
pub(super) fn block_signals() {
    // SAFETY: the set is plain data that `sigfillset` makes valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
