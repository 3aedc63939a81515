//! What a round read: the answer to a query, and the reading of a target.

use std::sync::Arc;

use crate::Decimal;

/// What a device or a program answered to one query, before any arithmetic.
///
/// Values are text, as MRTG has them: a counter as decimal digits, an octet string as its bytes,
/// time ticks as `1 day, 2:03:04.05`.  Code conversions work on this text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryAnswer {
    /// When the answer arrived, in seconds since the epoch.
    pub time_s: i64,
    /// The in and the out value; `None` for unknown.
    pub values: [Option<Vec<u8>>; 2],
    /// How long the device has been up, as text.
    pub uptime: Option<Arc<str>>,
    /// The name of the device.
    pub name: Option<Arc<str>>,
    /// Whether a counter was reset since the round before: what it grew by is not known.
    pub was_reset: bool,
    /// How long ago the device was started, in seconds; only of counters.
    pub up_s: Option<i64>,
}

/// What a round read for one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When, in seconds since the epoch.
    pub time_s: i64,
    /// The in and the out value, as the target's outputs take them: rounded to integers, except
    /// of a gauge in a round-robin database.  `None` is unknown, which is not zero.
    pub values: [Option<Decimal>; 2],
    /// How long the device has been up, as text; only of a target that asks one device.
    pub uptime: Option<Arc<str>>,
    /// The name of the device; only of a target that asks one device.
    pub device_name: Option<Arc<str>>,
    /// Whether a counter was reset since the round before: what it grew by is not known.
    pub was_reset: bool,
    /// How long ago the device was started, of several the latest, in seconds; only of counters.
    pub up_s: Option<i64>,
}

impl Reading {
    /// Whether the counters were reset since `last_s`, when they were `last`: as the asker says,
    /// or because the device was started since and a counter is less.
    pub fn was_reset_since(&self, last_s: i64, last: [Option<i128>; 2]) -> bool {
        let is_less = |(now, last): (&Option<Decimal>, Option<i128>)| {
            let now = now.as_ref().and_then(|now| now.rounded().to_i128());
            now.zip(last).is_some_and(|(now, last)| now < last)
        };
        let is_started = self.up_s.is_some_and(|up_s| up_s < self.time_s.saturating_sub(last_s));
        self.was_reset || is_started && self.values.iter().zip(last).any(is_less)
    }
}
