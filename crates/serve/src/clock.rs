//! The clock of requests: the default time of a query, and when a query has taken too long.

use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub(crate) use alert::now_ms;

/// Seconds since this machine was booted.
pub(crate) fn since_boot_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Now, for what does not depend on the zone.
pub(crate) fn now() -> Zoned {
    Timestamp::now().to_zoned(TimeZone::UTC)
}

/// A time until which something holds: how long a query may take.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// So long from now; far away is never.
    pub(crate) fn after(time: Duration) -> Self {
        Deadline(Instant::now().checked_add(time))
    }

    /// Whether it has passed.
    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(|end| Instant::now() > end)
    }
}
