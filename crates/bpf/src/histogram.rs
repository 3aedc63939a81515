//! Histogram of the durations of a system call: four steps for each doubling, so that a quantile is
//! right within a tenth.  It takes 640 bytes; counting a call takes some nanoseconds.

/// Steps for each doubling, as a power of two.
const STEP_BITS: u32 = 2;

/// Steps of a histogram.  They reach 2^40 ns, 18 minutes; longer calls are counted in the last.
pub const STEPS: usize = 40 << STEP_BITS;

/// How many calls took how long, by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; STEPS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: Box::new([0; STEPS]) }
    }
}

impl Histogram {
    /// The step that a duration belongs to: exact below 4 ns, then four steps for each doubling.
    #[must_use]
    pub fn step(time_ns: u64) -> usize {
        if time_ns < 1 << STEP_BITS {
            return time_ns as usize;
        }
        let octave = time_ns.ilog2();
        let within = (time_ns >> (octave - STEP_BITS)) as usize & ((1 << STEP_BITS) - 1);
        ((((octave - STEP_BITS + 1) as usize) << STEP_BITS) + within).min(STEPS - 1)
    }

    /// The shortest duration of a step.
    #[must_use]
    pub fn floor_ns(step: usize) -> u64 {
        if step < 1 << STEP_BITS {
            return step as u64;
        }
        let octave = (step >> STEP_BITS) as u32 + STEP_BITS - 1;
        let within = (step & ((1 << STEP_BITS) - 1)) as u64;
        (1 << octave) + (within << (octave - STEP_BITS))
    }

    /// Counts one duration.
    pub fn add(&mut self, time_ns: u64) {
        self.counts[Self::step(time_ns)] += 1;
    }

    /// Counts `count` durations in a step.
    pub fn add_step(&mut self, step: usize, count: u64) {
        self.counts[step.min(STEPS - 1)] += count;
    }

    /// The counts, by step.
    #[must_use]
    pub fn counts(&self) -> &[u64; STEPS] {
        &self.counts
    }

    /// The duration that this share (0 to 1) of the calls did not exceed, taken as the middle of
    /// its step; `None` if nothing was counted.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().sum();
        let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let floor = Self::floor_ns(step);
        Some(floor + (Self::floor_ns(step + 1) - floor) / 2)
    }

    /// Combines each step with the same step of another histogram.
    pub fn combine(&mut self, other: &Self, by: impl Fn(u64, u64) -> u64) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine = by(*mine, *theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn steps_and_their_floors_belong_together() {
        for step in 0..STEPS - 1 {
            assert_eq!(Histogram::step(Histogram::floor_ns(step)), step);
            assert_eq!(Histogram::step(Histogram::floor_ns(step + 1) - 1), step);
        }
        assert_eq!(Histogram::step(u64::MAX), STEPS - 1);
    }

    #[test]
    fn quantiles_are_right_within_a_step() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|time| histogram.add(time * 100));
        for (share, true_ns) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.0, 100.0), (1.0, 1e5)] {
            let found = histogram.quantile_ns(share).unwrap() as f64;
            assert!((found / true_ns - 1.0).abs() < 0.13, "{share}: {found}");
        }
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }
}
