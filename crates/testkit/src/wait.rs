//! Waiting for what another process or thread does, and for a moment in which nothing disturbs.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until there is something, for 60 s at most.
///
/// # Panics
/// If nothing came in that time; `what` says what was waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: waited for in vain");
        std::thread::sleep(PAUSE);
    }
}

/// Looks until something is so, for 60 s at most.
///
/// # Panics
/// If it was not so in that time; `what` says what was waited for.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
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
