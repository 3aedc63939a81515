//! Stamps of a ring become nanoseconds since 1970: a multiplication for each record.
//!
//! [`Calibration`] says how, exactly and slowly; between two of its readings its answer is a line,
//! of which this keeps the current piece.

use logring::Calibration;

/// A piece of the line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StampLine {
    from: u64,
    until: u64,
    base_ns: u64,
    ns_per_tick: f64,
}

impl StampLine {
    /// The time of a stamp, in ns since 1970.
    #[inline]
    pub(crate) fn time_ns(&mut self, stamp: u64, calibration: &Calibration) -> u64 {
        if stamp < self.from || stamp >= self.until {
            self.find(stamp, calibration);
        }
        let ticks = (stamp - self.from) as f64;
        self.base_ns + (ticks * self.ns_per_tick) as u64
    }

    #[cold]
    fn find(&mut self, stamp: u64, calibration: &Calibration) {
        let pairs = calibration.pairs();
        let after = pairs.partition_point(|pair| pair.stamp <= stamp);
        let second = calibration.stamp_hz().max(1);
        let from = match after.checked_sub(1) {
            Some(before) => pairs[before].stamp,
            // Before the first reading: a piece of its own, of at most a second.
            None => stamp,
        };
        // An hour of ticks at most: the line is exact to some ns.
        let most = from.saturating_add(second.saturating_mul(3600));
        let until = pairs.get(after).map_or(most, |pair| pair.stamp.min(most));
        self.from = if stamp >= until { stamp } else { from };
        self.until = until.max(self.from.saturating_add(1));
        self.base_ns = calibration.realtime_ns(self.from);
        let last = self.until - 1;
        let span = calibration.realtime_ns(last).saturating_sub(self.base_ns);
        let ticks = last - self.from;
        self.ns_per_tick = if ticks == 0 { 0.0 } else { span as f64 / ticks as f64 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logring::ClockPair;

    #[test]
    fn the_line_is_the_calibration() {
        let mut calibration = Calibration::new(2_600_000_000);
        let second = 1_000_000_000;
        for n in 0..10_u64 {
            // A step of the wall clock after five seconds.
            let step = if n >= 5 { 77 * second } else { 0 };
            calibration.add(ClockPair {
                stamp: 1_000_000 + n * 2_600_000_123,
                realtime_ns: 1_700_000_000 * second + n * second + step,
                boottime_ns: 5 * second + n * second,
            });
        }
        let mut line = StampLine::default();
        let mut random = testkit::Random::from_seed(7);
        for _ in 0..10_000 {
            let stamp = random.below(1 << 31) * 15;
            let (ours, exact) = (line.time_ns(stamp, &calibration), calibration.realtime_ns(stamp));
            assert!(ours.abs_diff(exact) <= 300, "{stamp}: {ours} {exact}");
        }
    }
}
