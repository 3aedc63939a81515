//! What a consumer in this process sleeps on.
//!
//! A number of the process, not of its files: those who log wake the consumers of other processes by
//! the doorbell of the folder.  A wake-up costs those who log a system call, if the consumer sleeps
//! for long; else an addition and a load, on ways that are slow anyway.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::system::timespec;

/// Shorter sleeps end by themselves.
const ARM_FROM_NS: u64 = 2_000_000;

/// Grows with each wake-up; a futex.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// 1 while the consumer sleeps for long.
static SLEEPS: AtomicU32 = AtomicU32::new(0);

/// The number of wake-ups so far: read it before the rings are looked at.
#[must_use]
pub fn local_wakes() -> u32 {
    NUMBER.load(Ordering::SeqCst)
}

/// Sleeps until a thread of this process wakes its consumer, or for `timeout_ns`; at once if one did
/// since there were `wakes`.  What wakes it: a flush, a record that finds no room, one of level ERROR
/// or above, any record after [`ProcessFile::ask_to_wake`](crate::ProcessFile::ask_to_wake), and
/// [`wake_local`].
pub fn wait_for_local_wake(wakes: u32, timeout_ns: u64) {
    SLEEPS.store(u32::from(timeout_ns >= ARM_FROM_NS), Ordering::SeqCst);
    let time = timespec(timeout_ns);
    // SAFETY: the word is a static, and the time outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            &raw const NUMBER,
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            wakes,
            &time,
        );
    }
    SLEEPS.store(0, Ordering::SeqCst);
}

/// Wakes the consumer of this process, if it sleeps for long.
pub fn wake_local() {
    NUMBER.fetch_add(1, Ordering::SeqCst);
    if SLEEPS.load(Ordering::SeqCst) != 0 {
        // SAFETY: the word is a static.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                &raw const NUMBER,
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            );
        }
    }
}
