//! Limits the time of a wait, because `wait4` has no timeout.
//!
//! A timer sends this thread a signal whose handler does nothing, which interrupts the wait.  It
//! repeats every few milliseconds, since the first signal may come just before the wait begins.

use std::io;
use std::time::Duration;

use crate::engine::Error;

/// Time between repeated signals.
const AGAIN: Duration = Duration::from_millis(5);

/// A timer of the thread that made it.
pub(super) struct Alarm {
    timer: libc::timer_t,
    set: bool,
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// The signal: a real-time signal from the middle of the range, where programs rarely use one.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 11
}

impl Alarm {
    pub(super) fn new() -> Result<Self, Error> {
        let failed = || Error::last("making a timer");
        // SAFETY: zeros are valid for each of these structures; the handler does nothing, so it may
        // run at any point; the variable for the timer is live.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            // Without SA_RESTART, so that the wait fails with EINTR.
            action.sa_sigaction = nothing as *const () as libc::sighandler_t;
            if libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) != 0 {
                return Err(failed());
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::mem::zeroed();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) != 0 {
                return Err(failed());
            }
            Ok(Alarm { timer, set: false })
        }
    }

    /// Fires after this time and repeatedly from then on; `None` stops it.
    pub(super) fn set(&mut self, after: Option<Duration>) -> Result<(), Error> {
        if after.is_none() && !self.set {
            return Ok(());
        }
        if after.is_some() {
            // A caller that uses a signalfd may have blocked all signals.
            // SAFETY: the set is live and made valid by `sigemptyset`.
            unsafe {
                let mut ours: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut ours);
                libc::sigaddset(&raw mut ours, signal());
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const ours, std::ptr::null_mut());
            }
        }
        self.set = after.is_some();
        let time = |duration: Duration| libc::timespec {
            tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(duration.subsec_nanos()),
        };
        let value = after.map_or(Duration::ZERO, |after| after.max(Duration::from_nanos(1)));
        let interval = if after.is_some() { AGAIN } else { Duration::ZERO };
        let times = libc::itimerspec { it_interval: time(interval), it_value: time(value) };
        // SAFETY: the timer is ours until it is dropped, and the times are live.
        let failed =
            unsafe { libc::timer_settime(self.timer, 0, &raw const times, std::ptr::null_mut()) };
        if failed == 0 {
            return Ok(());
        }
        Err(Error::System { what: "setting a timer", why: io::Error::last_os_error() })
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and not used any more.
        unsafe { libc::timer_delete(self.timer) };
    }
}
