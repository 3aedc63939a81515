//! The clock of traces: `CLOCK_MONOTONIC`, which the BPF programs use too.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time now, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic) as u64
}

/// What has to be added to `CLOCK_MONOTONIC` for the time since 1970, in nanoseconds.
#[must_use]
pub fn wall_offset_ns() -> i64 {
    nanoseconds(ClockId::Realtime).wrapping_sub(nanoseconds(ClockId::Monotonic))
}

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec)
}

/// The time now.
pub(crate) fn now() -> Duration {
    Duration::from_nanos(now_ns())
}
