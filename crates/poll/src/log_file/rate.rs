//! How two counters become a rate.
//!
//! The rules are those of `rateup`: a counter that went back by less than 2^32 has wrapped at 32
//! bits; one that went back further gives 0; an hour without an update, a missing counter and a rate
//! above the limit give the last rate again, or 0 with `unknaszero`.  A rate is a whole number.
//!
//! `rateup` knows nothing of restarts.  Here a counter that was reset since the last update is
//! taken as an unknown one, and not as one that has wrapped.

use text::c_number::to_long;

use crate::{PollTarget, Reading, TargetOptions};

/// How the values of a target are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// A counter; the rate is per second.
    #[default]
    PerSecond,
    /// A counter; the rate is per minute (`perminute`).
    PerMinute,
    /// A counter; the rate is per hour (`perhour`).
    PerHour,
    /// A counter that is set to 0 by reading it; the rate is per second (`absolute`).
    Absolute,
    /// A value, which is kept as it is (`gauge`).
    Gauge,
    /// A counter that does not wrap; falling gives 0 (`derive`).  MRTG knows this for round-robin
    /// databases only: its `rateup` refuses it.
    Derive,
}

/// What was read from a target, and how it is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogReading {
    /// Time of the reading, seconds since 1970.
    pub time: i64,
    /// First variable; None if it is unknown.
    pub input: Option<i128>,
    /// Second variable.
    pub output: Option<i128>,
    /// Largest rate that is believed: `AbsMax`, else the larger `MaxBytes`.
    pub rate_max: i64,
    /// What the variables are.
    pub counting: Counting,
    /// Whether an unknown rate is 0 (`unknaszero`), not the last one again.
    pub unknown_as_zero: bool,
    /// Whether a counter is known to have been reset since the last update.
    pub was_reset: bool,
    /// How long ago the device was started, in seconds: a counter that is less than before has begun
    /// anew if that was after the last update.
    pub up_s: Option<i64>,
}

/// A counter as the file's first line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastCounter {
    /// `-1`, or text that is no number.
    #[default]
    Missing,
    /// A number.
    Counter(i128),
}

/// The seconds without an update after which the last counters are not used.
const PERIOD_MAX: i64 = 3_600;

impl Counting {
    /// How the values of a target are meant: of several options gauge counts first, `perminute` last.
    #[must_use]
    pub fn of(options: &TargetOptions) -> Self {
        let all = [
            (options.gauge, Counting::Gauge),
            (options.absolute, Counting::Absolute),
            (options.derive, Counting::Derive),
            (options.perhour, Counting::PerHour),
            (options.perminute, Counting::PerMinute),
        ];
        all.iter().find(|(is_set, _)| *is_set).map_or(Counting::PerSecond, |(_, kind)| *kind)
    }
}

impl LogReading {
    /// What a round read from a target, as its log file takes it.
    #[must_use]
    pub fn of(target: &PollTarget, reading: &Reading) -> Self {
        let [input, output] = reading
            .values
            .each_ref()
            .map(|value| value.as_ref().and_then(|value| value.rounded().to_i128()))
            // MRTG takes a negative number for a counter that the agent has as signed.
            .map(|value| value.map(|value| if value < 0 { value + (1 << 31) } else { value }));
        let rate_max = target.abs_max.unwrap_or(target.max_bytes[0].max(target.max_bytes[1]));
        LogReading {
            time: reading.time_s(),
            input,
            output,
            rate_max: rate_max as i64,
            counting: Counting::of(&target.options),
            unknown_as_zero: target.options.unknaszero,
            was_reset: reading.was_reset,
            up_s: reading.up_s,
        }
    }

    /// Whether the counters were reset since an update.
    pub(super) fn was_reset_since(&self, last: Option<(i64, LastCounter, LastCounter)>) -> bool {
        let Some((time, input, output)) = last else { return false };
        let is_less = |(value, before): (Option<i128>, LastCounter)| match before {
            LastCounter::Counter(before) => value.is_some_and(|value| value < before),
            LastCounter::Missing => false,
        };
        let is_started = self.up_s.is_some_and(|up_s| up_s < self.time - time);
        self.was_reset
            || is_started && [(self.input, input), (self.output, output)].into_iter().any(is_less)
    }

    /// The rates since the last update; `None` as `last` if there was none.  `newest` has the last
    /// rates.
    pub(super) fn rates(
        &self,
        last: Option<(i64, LastCounter, LastCounter)>,
        newest: (f64, f64),
    ) -> (i64, i64) {
        let period = last.map_or(0, |(time, ..)| self.time - time);
        let usual = (1..=PERIOD_MAX).contains(&period) && !self.was_reset_since(last);
        let one = |value: Option<i128>, before: Option<LastCounter>, newest: f64| {
            let again = if self.unknown_as_zero { 0 } else { to_long(newest) };
            let rate = match (usual, value, before) {
                (true, Some(value), Some(LastCounter::Counter(before))) if value != -1 => {
                    self.rate(value, before, period as f64)
                }
                _ => again,
            };
            if (0..=self.rate_max).contains(&rate) { rate } else { again }
        };
        let input = one(self.input, last.map(|(_, input, _)| input), newest.0);
        let output = one(self.output, last.map(|(_, _, output)| output), newest.1);
        (input, output)
    }

    fn rate(&self, value: i128, before: i128, period: f64) -> i64 {
        const WRAP: f64 = 4_294_967_296.0;
        let rate = match self.counting {
            Counting::Absolute => difference(value, 0) / period,
            Counting::Gauge => difference(value, 0),
            Counting::Derive => difference(value, before).max(0.0) / period,
            Counting::PerSecond | Counting::PerMinute | Counting::PerHour => {
                let risen = difference(value, before);
                let risen = match risen {
                    0.0.. => risen,
                    _ if risen > -WRAP => risen + WRAP,
                    _ => 0.0,
                };
                match self.counting {
                    Counting::PerHour => risen * (3600.0 / period),
                    Counting::PerMinute => risen * (60.0 / period),
                    _ => risen / period,
                }
            }
        };
        to_long(rate + 0.5)
    }
}

/// `value - before` as `rateup` subtracts: by their digits; a sign counts only if both have one.
fn difference(value: i128, before: i128) -> f64 {
    let (value, before) = match value < 0 && before < 0 {
        true => (before, value),
        false => (value, before),
    };
    let (value, before) = (value.unsigned_abs(), before.unsigned_abs());
    if value >= before { (value - before) as f64 } else { -((before - value) as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(counting: Counting, value: i128) -> LogReading {
        LogReading {
            time: 1_000_300,
            input: Some(value),
            output: Some(value),
            rate_max: 1 << 40,
            counting,
            unknown_as_zero: false,
            was_reset: false,
            up_s: None,
        }
    }

    fn rate(counting: Counting, before: i128, value: i128) -> i64 {
        let last = (1_000_000, LastCounter::Counter(before), LastCounter::Counter(before));
        reading(counting, value).rates(Some(last), (7.0, 7.0)).0
    }

    #[test]
    fn a_counter_wraps_at_32_bits_only() {
        assert_eq!(rate(Counting::PerSecond, 4_294_967_295, 2_999), 10);
        assert_eq!(rate(Counting::PerSecond, (1 << 63) + 5, 3_000), 0);
        assert_eq!(rate(Counting::Derive, 4_294_967_295, 2_999), 0);
        assert_eq!(rate(Counting::Derive, 0, 3_000), 10);
    }

    #[test]
    fn a_64_bit_counter_keeps_its_last_digits() {
        let high = u64::MAX as i128 - 4_000;
        assert_eq!(rate(Counting::PerSecond, high, high + 3_000), 10);
    }

    #[test]
    fn a_counter_that_has_begun_anew_is_unknown() {
        let last = (1_000_000, LastCounter::Counter(4_000), LastCounter::Counter(4_000));
        let mut reading = reading(Counting::PerSecond, 1_000);
        let wrapped = 14_316_548;
        assert_eq!(reading.rates(Some(last), (7.0, 7.0)).0, wrapped);
        // Started before the last update: it has wrapped.
        reading.up_s = Some(301);
        assert_eq!(reading.rates(Some(last), (7.0, 7.0)).0, wrapped);
        reading.up_s = Some(299);
        assert_eq!(reading.rates(Some(last), (7.0, 7.0)).0, 7);
        // Only the agent was started again.
        (reading.input, reading.output) = (Some(7_000), Some(7_000));
        assert_eq!(reading.rates(Some(last), (7.0, 7.0)).0, 10);
        reading.was_reset = true;
        reading.unknown_as_zero = true;
        assert_eq!(reading.rates(Some(last), (7.0, 7.0)).0, 0);
    }

    #[test]
    fn counters_are_rates_per_second_minute_or_hour_and_gauges_are_kept() {
        assert_eq!(rate(Counting::PerMinute, 0, 3_000), 600);
        assert_eq!(rate(Counting::PerHour, 0, 3_000), 36_000);
        assert_eq!(rate(Counting::Absolute, 900, 3_000), 10);
        assert_eq!(rate(Counting::Gauge, 900, 3_000), 3_000);
    }

    #[test]
    fn what_is_unknown_is_the_last_rate_or_zero() {
        let mut reading = reading(Counting::PerSecond, 3_000);
        assert_eq!(reading.rates(None, (7.0, 8.0)), (7, 8));
        reading.input = None;
        let last = (1_000_000, LastCounter::Counter(0), LastCounter::Counter(0));
        assert_eq!(reading.rates(Some(last), (7.0, 8.0)), (7, 10));
        reading.unknown_as_zero = true;
        assert_eq!(reading.rates(Some(last), (7.0, 8.0)), (0, 10));
        reading.rate_max = 9;
        assert_eq!(reading.rates(Some(last), (7.0, 8.0)), (0, 0));
    }
}
