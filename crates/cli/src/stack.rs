//! A stack that is large enough, however low `ulimit -s` is.
//!
//! Options of a verb take more than the 64 KiB that some services and containers give the first
//! thread; a stack of another thread has the size that we ask for.  The limit itself stays, since
//! programs that whit starts inherit it.

use std::process::ExitCode;

/// The least limit with which the first thread does the work: an eighth of the usual one.
const FIRST_THREAD_BYTES_MIN: u64 = 1 << 20;

/// The stack of the other thread: the usual limit.  Only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Runs the program on a stack of the usual size.
pub(crate) fn with_room(run: fn() -> ExitCode) -> ExitCode {
    if !is_low() {
        return run();
    }
    let thread = std::thread::Builder::new().name("whit".to_owned()).stack_size(STACK_BYTES);
    let Ok(thread) = thread.spawn(run) else { return run() };
    leave_signals_to_others();
    // A panic was reported already.
    thread.join().unwrap_or(ExitCode::from(101))
}

/// Whether the stack of the first thread is small.
pub(crate) fn is_low() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit.is_some_and(|limit| limit < FIRST_THREAD_BYTES_MIN)
}

/// Blocks all signals in this thread, so that they interrupt the one that does the work.
fn leave_signals_to_others() {
    // SAFETY: `sigset_t` is plain data that `sigfillset` writes; both live through the calls, and
    // the mask is that of this thread alone.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}
