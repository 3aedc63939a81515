//! Signals that ask a tracer to come to an end, as a descriptor that can be waited for together with
//! the end of a command.
//!
//! A tracer must not die before it has shown what it counted, so it takes them itself.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

use anyhow::Context as _;

/// What is waited for.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The signals, taken from their usual effect for the life of the process.
#[derive(Debug)]
pub(crate) struct Interruption(OwnedFd);

impl Interruption {
    /// Takes the signals.  A command is to be started before, or they would be blocked in it too.
    pub(crate) fn take_over() -> anyhow::Result<Self> {
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
            return Err(std::io::Error::last_os_error()).context("cannot watch for signals");
        }
        // SAFETY: the kernel has just made it for us.
        Ok(Interruption(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// The next signal that has come; `None` if none has.
    pub(crate) fn next(&self) -> Option<i32> {
        // `struct signalfd_siginfo`, of which the number comes first.
        let mut bytes = [0; 128];
        let count = rustix::io::read(&self.0, &mut bytes).ok()?;
        let number = bytes[..count].first_chunk()?;
        Some(i32::from_ne_bytes(*number))
    }
}

impl AsFd for Interruption {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
