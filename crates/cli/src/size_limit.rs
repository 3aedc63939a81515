//! The limit of a file's size (`RLIMIT_FSIZE`, setrlimit(2)).
//!
//! A write beyond the limit sends SIGXFSZ, whose default action kills.  With a handler the write
//! fails with `EFBIG`, and each verb reports it as it reports a full disk.  Unlike an ignored signal,
//! a handler is not inherited: programs that whit starts have the default action.

use std::ptr;

/// Installs the handler, unless the caller of this program ignores the signal.
pub(crate) fn report_as_error() {
    // SAFETY: a `sigaction` of zeros is valid: no flags, an empty mask.  The handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGXFSZ, ptr::null(), &raw mut now) != 0
            || now.sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        action.sa_sigaction = ignore as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, ptr::null_mut());
    }
}

extern "C" fn ignore(_signal: libc::c_int) {}
