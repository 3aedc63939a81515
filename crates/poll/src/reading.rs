//! What a round read: the answer to a query, and the reading of a target.

use std::sync::Arc;

use text::byte_text;

use crate::Decimal;

/// What a device or a program answered to one query, before any arithmetic.
///
/// Values are text, as MRTG has them: a counter as decimal digits, an octet string as its bytes,
/// time ticks as `1 day, 2:03:04.05`.  Code conversions work on this text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryAnswer {
    /// When the answer arrived, in ns since the epoch; of several requests the latest.
    pub time_ns: i64,
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
    /// Why a value is unknown, for people.
    pub why: Option<Arc<str>>,
}

/// What a round read for one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When, in ns since the epoch.
    pub time_ns: i64,
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
    /// Why a value is unknown, for people; none if that is not known either, as while a silent device
    /// rests.
    pub why: Option<Arc<str>>,
    /// Whether another poller has the target: nothing was asked, and nothing is written.
    pub is_elsewhere: bool,
}

/// A second, in ns.
pub(crate) const SECOND_NS: i64 = 1_000_000_000;

/// Characters of what a device or a program says about itself; the standard allows 255.
const TEXT_CHARACTERS_MAX: usize = 1_000;

/// What a device or a program says about itself, for pages and messages.
pub(crate) fn device_text(bytes: &[u8]) -> Arc<str> {
    // A character has at most four bytes.
    let bytes = &bytes[..bytes.len().min(4 * TEXT_CHARACTERS_MAX)];
    let text = byte_text::decode(bytes.to_vec());
    match text.char_indices().nth(TEXT_CHARACTERS_MAX) {
        Some((end, _)) => text[..end].into(),
        None => text.into(),
    }
}

/// A time in seconds, with the microseconds if there are some: as round-robin databases take it.
pub(crate) fn time_text(time_ns: i64) -> String {
    let (seconds, rest_ns) = (time_ns.div_euclid(SECOND_NS), time_ns.rem_euclid(SECOND_NS));
    match rest_ns / 1_000 {
        0 => seconds.to_string(),
        rest_us => format!("{seconds}.{rest_us:06}"),
    }
}

impl QueryAnswer {
    /// Keeps the first reason why a value is unknown.
    pub(crate) fn fails(&mut self, why: impl Into<Arc<str>>) {
        self.why.get_or_insert_with(|| why.into());
    }
}

impl Reading {
    /// When, in whole seconds since the epoch.
    #[must_use]
    pub fn time_s(&self) -> i64 {
        self.time_ns.div_euclid(SECOND_NS)
    }

    /// Whether the counters were reset since `last_ns`, when they were `last`: as the asker says,
    /// or because the device was started since and a counter is less.
    pub fn was_reset_since(&self, last_ns: i64, last: [Option<i128>; 2]) -> bool {
        let is_less = |(now, last): (&Option<Decimal>, Option<i128>)| {
            let now = now.as_ref().and_then(|now| now.rounded().to_i128());
            now.zip(last).is_some_and(|(now, last)| now < last)
        };
        let passed_s = self.time_ns.saturating_sub(last_ns) / SECOND_NS;
        let is_started = self.up_s.is_some_and(|up_s| up_s < passed_s);
        self.was_reset || is_started && self.values.iter().zip(last).any(is_less)
    }
}
