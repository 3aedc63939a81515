//! The clock of ticks and of silence.  One read of `CLOCK_BOOTTIME`.

use procfs::SystemClock;
use sample::Clock as _;

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    SystemClock.now().monotonic_ns
}
