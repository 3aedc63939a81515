//! The clock of ticks and of silence: `CLOCK_BOOTTIME`, as in samples.

use procfs::SystemClock;
use sample::Clock as _;

/// Nanoseconds since the machine was started, with the time that it slept.
pub(crate) fn monotonic_ns() -> u64 {
    SystemClock.now().monotonic_ns
}
