//! The clock of deliveries, whose waits are bounded, and of the steps of a running book.

use std::time::{Duration, Instant, SystemTime};

/// A time from now.
pub(crate) fn after(wait: Duration) -> Instant {
    Instant::now() + wait
}

/// Whether a time has passed.
pub(crate) fn has_passed(until: Instant) -> bool {
    Instant::now() >= until
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
