//! Signals that end the daemon.  They are blocked in all threads, and one thread waits for them.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// How the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// INT, TERM: as the options say.
    Term,
    /// USR1: all files are written.
    Flush,
    /// USR2: at once.
    Quick,
}

const ENDS: [(libc::c_int, End); 4] = [
    (libc::SIGINT, End::Term),
    (libc::SIGTERM, End::Term),
    (libc::SIGUSR1, End::Flush),
    (libc::SIGUSR2, End::Quick),
];

fn set() -> libc::sigset_t {
    // SAFETY: `sigemptyset` fills the set, and `sigaddset` is given signals that exist.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for (signal, _) in ENDS {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Blocks the signals in this thread and in those that it starts.
pub(crate) fn block() -> anyhow::Result<()> {
    let set = set();
    // SAFETY: the set is filled; the old one is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)).context("cannot block signals"),
    }
}

/// Waits for one of the signals.
pub(crate) fn wait() -> anyhow::Result<End> {
    let set = set();
    loop {
        let mut signal = 0;
        // SAFETY: both pointers are to values of this frame.
        match unsafe { libc::sigwait(&raw const set, &raw mut signal) } {
            0 => {
                if let Some((_, end)) = ENDS.iter().find(|(own, _)| *own == signal) {
                    return Ok(*end);
                }
            }
            libc::EINTR => {}
            code => {
                return Err(io::Error::from_raw_os_error(code)).context("cannot wait for signals");
            }
        }
    }
}

/// Says when to end.
#[derive(Default)]
pub(crate) struct Ending {
    is_asked: Mutex<bool>,
    changed: Condvar,
}

impl Ending {
    /// Blocks the signals, and takes the first of them for the wish to end.
    pub(crate) fn by_signals() -> anyhow::Result<Arc<Self>> {
        block()?;
        let ending = Arc::new(Ending::default());
        // The thread that waits for signals ends with the process.
        let asks = ending.clone();
        thread::spawn(move || wait().map(|_| asks.ask()));
        Ok(ending)
    }

    /// Asks for the end.
    pub(crate) fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for a time; false once the end is asked for.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_asked {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(is_asked, left);
            is_asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}
