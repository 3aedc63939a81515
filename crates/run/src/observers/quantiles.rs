//! The distribution of durations: a histogram in constant memory.

use std::time::Duration;

/// Steps for each doubling, as a power of two: a quantile is right within a thirtieth.
const STEP_BITS: u32 = 4;

/// Steps for every duration that 64 bits of nanoseconds hold.
const STEPS: usize = 64 << STEP_BITS;

/// Counts of durations, 8 KiB.
#[derive(Debug)]
pub(super) struct DurationHistogram {
    counts: Box<[u64; STEPS]>,
    count: u64,
    longest_ns: u64,
}

impl Default for DurationHistogram {
    fn default() -> Self {
        DurationHistogram { counts: Box::new([0; STEPS]), count: 0, longest_ns: 0 }
    }
}

impl DurationHistogram {
    /// Counts one duration.
    pub(super) fn add(&mut self, time_ns: u64) {
        self.counts[step(time_ns)] += 1;
        self.count += 1;
        self.longest_ns = self.longest_ns.max(time_ns);
    }

    /// The duration that this share (0 to 1) of all did not exceed; `None` if none was counted.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        if wanted == self.count {
            return self.longest();
        }
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let (from, to) = (floor_ns(step), floor_ns(step + 1));
        Some(Duration::from_nanos((from + (to - from) / 2).min(self.longest_ns)))
    }

    /// The longest duration.
    pub(super) fn longest(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration::from_nanos(self.longest_ns))
    }
}

/// The step of a duration: exact below 16 ns, then sixteen steps for each doubling.
fn step(time_ns: u64) -> usize {
    if time_ns < 1 << STEP_BITS {
        return time_ns as usize;
    }
    let octave = time_ns.ilog2();
    let within = (time_ns >> (octave - STEP_BITS)) as usize & ((1 << STEP_BITS) - 1);
    (((octave - STEP_BITS + 1) as usize) << STEP_BITS) + within
}

/// The shortest duration of a step.
fn floor_ns(step: usize) -> u64 {
    if step < 1 << STEP_BITS {
        return step as u64;
    }
    let shift = (step >> STEP_BITS) as u32 - 1;
    let within = (step & ((1 << STEP_BITS) - 1)) as u64;
    let floor_ns = u128::from((1 << STEP_BITS) + within) << shift;
    u64::try_from(floor_ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn steps_and_their_floors_agree() {
        for time_ns in [0, 1, 15, 16, 17, 31, 32, 33, 1_000, 123_456_789, u64::MAX / 2, u64::MAX] {
            let step = step(time_ns);
            assert!(step < STEPS && floor_ns(step) <= time_ns, "{time_ns}");
            assert!(time_ns == u64::MAX || time_ns >> 63 == 1 || floor_ns(step + 1) > time_ns);
        }
    }

    #[test]
    fn quantiles_are_right_within_a_thirtieth() {
        let mut histogram = DurationHistogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.longest()), (None, None));
        (1..=1000).for_each(|ms| histogram.add(ms * 1_000_000));
        for (share, ms) in [(0.5, 500.0), (0.99, 990.0)] {
            let estimate = histogram.quantile(share).unwrap().as_secs_f64() * 1e3;
            assert!((estimate - ms).abs() < ms / 30.0, "{estimate} {ms}");
        }
        assert_eq!(histogram.longest(), Some(Duration::from_secs(1)));
        let mut one = DurationHistogram::default();
        one.add(u64::MAX);
        assert_eq!(one.quantile(0.99), one.longest());
    }
}
