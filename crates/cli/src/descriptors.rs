//! Which of the standard descriptors were closed when this program was started.
//!
//! The Rust runtime opens `/dev/null` for each before `main`, so they are looked at even earlier.  A
//! traced command is started with the same ones closed.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Called by the C library before `main`.
#[used]
// SAFETY: entries of this section are functions that take no arguments that they must read.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for (descriptor, closed) in (0..).zip(&CLOSED) {
        // SAFETY: a plain system call.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Whether stdin, stdout and stderr were closed.
pub(crate) fn closed() -> [bool; 3] {
    CLOSED.each_ref().map(|closed| closed.load(Ordering::Relaxed))
}
