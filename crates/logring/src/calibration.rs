//! From stamps to time: a history of readings of all clocks at once.
//!
//! Between two readings `CLOCK_BOOTTIME`, which never steps, is interpolated; `CLOCK_REALTIME` is it
//! plus the difference that the earlier reading found.  So a step of the wall clock moves later
//! records only, and a conversion can be repeated.

/// A reading of all clocks at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockPair {
    /// The clock of stamps: TSC ticks, or nanoseconds.
    pub stamp: u64,
    /// `CLOCK_REALTIME`.
    pub realtime_ns: u64,
    /// `CLOCK_BOOTTIME`.
    pub boottime_ns: u64,
}

/// Shortest distance of two readings from which a slope is taken: 1 µs of error is then 0.1 ‰.
const BASELINE_NS_MIN: u64 = 10_000_000;

/// Most readings kept; the oldest are dropped.  At one a second, an hour.
const PAIRS_MAX: usize = 4096;

/// A history of readings.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    pairs: Vec<ClockPair>,
    stamp_hz: u64,
}

impl Calibration {
    /// Without readings: stamps count `stamp_hz` times a second (0: a thousand million).
    #[must_use]
    pub fn new(stamp_hz: u64) -> Self {
        let stamp_hz = if stamp_hz == 0 { 1_000_000_000 } else { stamp_hz };
        Calibration { pairs: Vec::new(), stamp_hz }
    }

    /// The readings, by stamp.
    #[must_use]
    pub fn pairs(&self) -> &[ClockPair] {
        &self.pairs
    }

    /// Ticks of the stamp in a second, as the writer measured it.
    #[must_use]
    pub fn stamp_hz(&self) -> u64 {
        self.stamp_hz
    }

    /// Adds a reading.  One whose clocks run against each other is left out.
    pub fn add(&mut self, pair: ClockPair) {
        let at = self.pairs.partition_point(|one| one.stamp < pair.stamp);
        let before = at.checked_sub(1).map(|before| self.pairs[before]);
        let after = self.pairs.get(at);
        let is_wrong = before.is_some_and(|before| before.boottime_ns > pair.boottime_ns)
            || after.is_some_and(|after| {
                after.stamp == pair.stamp || after.boottime_ns < pair.boottime_ns
            });
        if !is_wrong {
            self.pairs.insert(at, pair);
        }
        if self.pairs.len() > PAIRS_MAX {
            self.pairs.drain(..PAIRS_MAX / 4);
        }
    }

    /// `CLOCK_REALTIME` of a stamp, in ns since 1970.  Without a reading: 0.
    #[must_use]
    pub fn realtime_ns(&self, stamp: u64) -> u64 {
        self.reference(stamp).map_or(0, |(pair, boottime_ns)| {
            let offset_ns = i128::from(pair.realtime_ns) - i128::from(pair.boottime_ns);
            clamped(boottime_ns + offset_ns)
        })
    }

    /// `CLOCK_BOOTTIME` of a stamp, in ns.  Without a reading: 0.
    #[must_use]
    pub fn boottime_ns(&self, stamp: u64) -> u64 {
        self.reference(stamp).map_or(0, |(_, boottime_ns)| clamped(boottime_ns))
    }

    /// The reading that a stamp is converted by, and its `CLOCK_BOOTTIME`.
    fn reference(&self, stamp: u64) -> Option<(ClockPair, i128)> {
        let first = *self.pairs.first()?;
        let after = self.pairs.partition_point(|one| one.stamp <= stamp);
        let pair = after.checked_sub(1).map_or(first, |before| self.pairs[before]);
        let (ticks, span_ns) = self.slope(after);
        let distance = i128::from(stamp) - i128::from(pair.stamp);
        // Of hostile readings the product may be any number.
        let moved = distance.saturating_mul(span_ns) / ticks;
        Some((pair, i128::from(pair.boottime_ns) + moved))
    }

    /// Ticks and nanoseconds of the segment that ends at the reading `after`, or of the longest
    /// near it.
    fn slope(&self, after: usize) -> (i128, i128) {
        let of = |from: ClockPair, to: ClockPair| {
            let ticks = i128::from(to.stamp) - i128::from(from.stamp);
            (ticks, i128::from(to.boottime_ns) - i128::from(from.boottime_ns))
        };
        let count = self.pairs.len();
        if after > 0 && after < count {
            return of(self.pairs[after - 1], self.pairs[after]);
        }
        if let (Some(first), Some(last)) = (self.pairs.first(), self.pairs.last()) {
            // Beyond an end: the nearest segments that are long enough.
            let is_long = |one: &ClockPair, other: &ClockPair| {
                one.boottime_ns.abs_diff(other.boottime_ns) >= BASELINE_NS_MIN
            };
            let far = if after == 0 {
                self.pairs.iter().find(|one| is_long(one, first)).map(|far| of(*first, *far))
            } else {
                self.pairs.iter().rev().find(|one| is_long(one, last)).map(|far| of(*far, *last))
            };
            if let Some((ticks, span_ns)) = far.filter(|(ticks, _)| *ticks > 0) {
                return (ticks, span_ns);
            }
        }
        (i128::from(self.stamp_hz), 1_000_000_000)
    }
}

fn clamped(ns: i128) -> u64 {
    u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(stamp: u64, realtime_ns: u64, boottime_ns: u64) -> ClockPair {
        ClockPair { stamp, realtime_ns, boottime_ns }
    }

    #[test]
    fn a_step_of_the_clock_moves_later_records_only() {
        let mut history = Calibration::new(2_000_000_000);
        let second = 1_000_000_000;
        history.add(pair(0, 100 * second, 0));
        history.add(pair(2 * second, 101 * second, second));
        // Fifty seconds back.
        history.add(pair(4 * second, 52 * second, 2 * second));
        assert_eq!(history.realtime_ns(second), 100 * second + second / 2);
        assert_eq!(history.realtime_ns(3 * second), 101 * second + second / 2);
        assert_eq!(history.realtime_ns(4 * second), 52 * second);
        assert_eq!(history.realtime_ns(5 * second), 52 * second + second / 2);
        assert_eq!(history.boottime_ns(5 * second), 5 * second / 2);
    }

    #[test]
    fn one_reading_uses_the_measured_frequency() {
        let mut history = Calibration::new(2_600_000_000);
        assert_eq!(history.realtime_ns(7), 0);
        history.add(pair(1000, 5_000_000_000, 1_000));
        assert_eq!(history.realtime_ns(1000 + 2_600), 5_000_001_000);
        assert_eq!(history.realtime_ns(1000 - 260), 5_000_000_000 - 100);
    }

    #[test]
    fn readings_against_each_other_are_left_out() {
        let mut history = Calibration::new(0);
        history.add(pair(100, 1000, 100));
        history.add(pair(200, 1100, 50));
        history.add(pair(100, 9, 100));
        assert_eq!(history.pairs(), [pair(100, 1000, 100)]);
        history.add(pair(u64::MAX, u64::MAX, u64::MAX));
        for stamp in [0, 1, 100, 101, u64::MAX / 2, u64::MAX] {
            let _ = history.realtime_ns(stamp);
            let _ = history.boottime_ns(stamp);
        }
    }
}
