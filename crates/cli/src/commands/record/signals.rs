//! Signals: TERM and INT end a recorder cleanly, HUP has it begin new files, USR1 has it flush, and
//! USR2, which means nothing to it, does not end it.
//!
//! A handler sets a bit; the loop reads the bits once a tick, which costs a load.  A signal also
//! ends the sleep.  One that comes between the check and the sleep would be noticed a tick late,
//! which can be an hour: so the handler also starts a timer that interrupts the sleep every
//! [`NUDGE_US`] until the loop has read the bits.  Without a signal that costs no system call.

use std::sync::atomic::{AtomicU32, Ordering};

use recorder::{Control, Requests};
use rustix::process::Signal;

const STOP: u32 = 1;
const REOPEN: u32 = 2;
const FLUSH: u32 = 4;

/// Time between two interruptions of the sleep after a signal.
const NUDGE_US: libc::suseconds_t = 10_000;

static PENDING: AtomicU32 = AtomicU32::new(0);

/// The process's signals.
pub(crate) struct Signals(());

impl Signals {
    /// Installs the handlers.  Without `reopen` HUP keeps its default action: the terminal is gone,
    /// so nobody reads the output.
    pub(crate) fn install(reopen: bool) -> Self {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1, libc::SIGALRM] {
            handle(signal);
        }
        if reopen {
            handle(libc::SIGHUP);
        }
        // By default it ends a process, and a recording without its index.
        // SAFETY: changes only what a signal does that nothing here waits for.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        Signals(())
    }

    /// Ends this process as TERM from outside does.
    pub(crate) fn stop_own() {
        // A process may always signal itself.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TERM);
    }
}

impl Control for Signals {
    fn requests(&mut self) -> Requests {
        if PENDING.load(Ordering::Relaxed) == 0 {
            return Requests::default();
        }
        let pending = PENDING.swap(0, Ordering::Relaxed);
        nudge(0);
        Requests {
            stop: pending & STOP != 0,
            reopen: pending & REOPEN != 0,
            flush: pending & FLUSH != 0,
        }
    }
}

/// Starts the repeating timer, or stops it with 0.
fn nudge(interval_us: libc::suseconds_t) {
    let time = libc::timeval { tv_sec: 0, tv_usec: interval_us };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: the timer value lives through the call and no old value is asked for; setitimer is
    // a plain system call, so that a handler may make it.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

extern "C" fn note(signal: libc::c_int) {
    let bit = match signal {
        libc::SIGTERM | libc::SIGINT => STOP,
        libc::SIGHUP => REOPEN,
        libc::SIGUSR1 => FLUSH,
        _ => return,
    };
    PENDING.fetch_or(bit, Ordering::Relaxed);
    nudge(NUDGE_US);
}

fn handle(signal: libc::c_int) {
    // SAFETY: `sigaction` is plain data for which zero is a valid value (no flags, so that a
    // sleep is interrupted and not begun again; an empty mask); the handler only touches an
    // atomic and makes a system call, both of which a handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
