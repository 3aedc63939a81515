//! The clock of programs that run and of requests that are under way.  The time of a reading comes
//! from the caller.

use std::time::Instant;

/// Now, on a clock that never steps.
pub(crate) fn now() -> Instant {
    Instant::now()
}
