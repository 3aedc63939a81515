//! The clock of programs that run and of requests that are under way, and that of leases.  The time of a
//! reading comes from the caller.

use std::time::Instant;

use procfs::SystemClock;
use sample::Clock as _;

/// Now, on a clock that never steps.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since the machine was started, with the time that it slept: a lease goes on meanwhile.
pub(crate) fn boot_ns() -> u64 {
    SystemClock.now().monotonic_ns
}

/// Seconds since 1970: for people, not for leases.
pub(crate) fn realtime_s() -> i64 {
    SystemClock.now().realtime_ns.div_euclid(1_000_000_000)
}
