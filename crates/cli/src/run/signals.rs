//! Ending by a signal, so that whoever started us sees which.

use std::process::ExitCode;

/// Ends this process by `signal`, as if nobody had listened for it.
pub(crate) fn die_of(signal: i32) -> anyhow::Result<ExitCode> {
    // SAFETY: plain calls; the set is valid once sigemptyset has written it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
    // A signal that ends nobody: say it by number, as shells do.
    Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)))
}
