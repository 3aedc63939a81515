//! The signal mask of a program that [`std::process::Command`] starts.
//!
//! A program inherits the mask of the thread that starts it, and few programs set their own: one that is
//! started by a thread which waits for TERM by sigwait(3) would never get TERM.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Lets all signals come to the program that `command` starts.
pub fn unblock_in(command: &mut Command) {
    // SAFETY: `unblock` makes one system call, and neither allocates nor takes locks.
    unsafe {
        command.pre_exec(|| {
            unblock();
            Ok(())
        });
    }
}

/// Lets all signals come to this thread.  May be called between fork(2) and execve(2).
pub fn unblock() {
    // SAFETY: the set is plain data that `sigemptyset` makes valid; both calls may be made after a fork.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
