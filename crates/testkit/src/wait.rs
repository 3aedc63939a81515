//! Waiting for what another process or thread does, and for a moment in which nothing disturbs.
//!
//! No test says how long something may take: a busy machine takes as long as it takes.  All waiting
//! ends after one [`PATIENCE`], so that a test that would wait for ever fails instead.

use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long any test waits before it gives up.  The machine may be many times slower than usual.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The moment at which [`PATIENCE`] ends, for loops that have to do something while they wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Default for Deadline {
    /// The deadline of who begins to wait now.
    fn default() -> Self {
        Self(Instant::now() + PATIENCE)
    }
}

impl Deadline {
    /// Whether the test still waits.
    #[must_use]
    pub fn is_ahead(self) -> bool {
        Instant::now() < self.0
    }

    /// The time until the deadline.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Looks until there is something, for [`PATIENCE`] at most.
///
/// # Panics
/// If nothing came in that time; `what` says what was waited for.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Deadline::default();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(deadline.is_ahead(), "{what}: waited for in vain");
        std::thread::sleep(PAUSE);
    }
}

/// Looks until something is so, for [`PATIENCE`] at most.
///
/// # Panics
/// If it was not so in that time; `what` says what was waited for.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Connects to a Unix socket as soon as somebody listens there.
///
/// # Panics
/// If nobody listens within [`PATIENCE`].
#[track_caller]
pub fn connect(socket: &Path) -> UnixStream {
    wait_for("a listener on the socket", || UnixStream::connect(socket).ok())
}

/// How often a measurement of time is tried.
const TRIES: u32 = 5;

/// Runs a check of how long something takes until it succeeds, five times at most.
///
/// Another program may have the processor at any moment, and a virtual machine may stand still.  Such
/// a delay comes now and then; what is really slow or wrong fails each time.
///
/// # Panics
/// As the check does the last time.
pub fn undisturbed(check: impl Fn()) {
    // Each panic is printed where it happens.
    for _ in 1..TRIES {
        if catch_unwind(AssertUnwindSafe(&check)).is_ok() {
            return;
        }
    }
    if let Err(panic) = catch_unwind(AssertUnwindSafe(&check)) {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_was_disturbed_is_checked_again_and_what_is_wrong_fails() {
        let tries = Cell::new(0);
        let count_to = |last: u32| {
            tries.set(tries.get() + 1);
            assert!(tries.get() >= last, "disturbed");
        };
        undisturbed(|| count_to(TRIES));
        assert_eq!(tries.get(), TRIES);
        undisturbed(|| count_to(TRIES));
        assert_eq!(tries.get(), TRIES + 1);
        tries.set(0);
        assert!(catch_unwind(|| undisturbed(|| panic!("wrong"))).is_err());
    }
}
