//! The times under which readings are stored.
//!
//! A reading comes some time after a whole second, and never after exactly the same.  Stored under
//! such times, each reading would be spread over two cells of the finest archive, and no cell would
//! be what was measured.  So the time is rounded to the whole interval; readings that come a little
//! early or late keep their places, also when they fall between two seconds.  Intervals that are no
//! whole seconds are stored under their true times, and cells are weighted means, as RRDtool's are.

/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;

/// Times of one source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The interval; 0 for true times.
    interval_ns: i64,
    /// A reading and the time that it was given.
    anchor: Option<(i64, i64)>,
}

impl Grid {
    /// For readings at this interval.
    pub(super) fn new(interval_ns: u64) -> Self {
        let interval_ns = i64::try_from(interval_ns).unwrap_or(0);
        let is_whole = interval_ns > 0 && interval_ns % SECOND_NS == 0;
        Grid { interval_ns: if is_whole { interval_ns } else { 0 }, anchor: None }
    }

    /// The time of a reading, in microseconds since the epoch; takes it since the epoch, too.
    pub(super) fn stamp_us(&mut self, at_ns: i64) -> i64 {
        if self.interval_ns == 0 {
            return at_ns.div_euclid(1_000);
        }
        if let Some((anchor_ns, stamp_ns)) = self.anchor {
            let passed_ns = at_ns.saturating_sub(anchor_ns);
            let whole_ns = round_ns(passed_ns, self.interval_ns);
            // Far from its place: ticks are late, or the clock was set.
            if (passed_ns - whole_ns).abs() <= self.interval_ns / 8 * 3 {
                return stamp_ns.saturating_add(whole_ns) / 1_000;
            }
        }
        let stamp_ns = round_ns(at_ns, self.interval_ns);
        self.anchor = Some((at_ns, stamp_ns));
        stamp_ns / 1_000
    }
}

/// The nearest multiple.
fn round_ns(ns: i64, step_ns: i64) -> i64 {
    ns.saturating_add(step_ns / 2).div_euclid(step_ns).saturating_mul(step_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(interval_ns: u64, milliseconds: &[i64]) -> Vec<i64> {
        let mut grid = Grid::new(interval_ns);
        milliseconds.iter().map(|ms| grid.stamp_us(ms * 1_000_000) / 1_000).collect()
    }

    #[test]
    fn readings_between_two_seconds_keep_their_places() {
        // 499, 501, 500: rounding alone would give 10, 12, 12.
        assert_eq!(stamps(1_000_000_000, &[10_499, 11_501, 12_500]), [10_000, 11_000, 12_000]);
        assert_eq!(stamps(1_000_000_000, &[10_001, 12_050, 13_000]), [10_000, 12_000, 13_000]);
        assert_eq!(stamps(10_000_000_000, &[3_000, 13_001, 22_900]), [0, 10_000, 20_000]);
    }

    #[test]
    fn a_clock_that_is_set_begins_anew() {
        let times = [10_000, 11_000, 7_430, 8_431, 100_980, 101_979];
        let wanted = [10_000, 11_000, 7_000, 8_000, 101_000, 102_000];
        assert_eq!(stamps(1_000_000_000, &times), wanted);
    }

    #[test]
    fn other_intervals_keep_their_times() {
        assert_eq!(stamps(100_000_000, &[10_499, 10_601]), [10_499, 10_601]);
        assert_eq!(stamps(1_500_000_000, &[10_499, 12_001]), [10_499, 12_001]);
        assert_eq!(stamps(0, &[-1]), [-1]);
        assert_eq!(Grid::new(1_000_000_000).stamp_us(i64::MAX) / 1_000_000, 9_223_372_036);
    }
}
