//! The clock of programs that run and of requests that are under way, and that of leases.  The time of a
//! reading comes from the caller.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Now, on a clock that never steps.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since the machine was started, with the time that it slept: a lease goes on meanwhile.
pub(crate) fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}
