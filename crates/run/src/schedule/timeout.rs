//! `--timeout`: how long a job may run, as a duration or as a percentage of the median.

use std::time::Duration;

use crate::units::{self, UnitError};

/// How long a job may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timeout {
    /// A duration.
    Fixed(Duration),
    /// Percent of the median time of successful jobs; no limit before the first.
    Percent(f64),
}

impl Timeout {
    /// Parses a duration (`0.5`, `1m30s`) or a percentage (`300%`).
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        match text.strip_suffix('%') {
            Some(percent) => units::amount(percent).map(|value| Timeout::Percent(value.max(0.0))),
            None => units::duration(text).map(Timeout::Fixed),
        }
    }
}

/// The median of a stream of times, in constant memory: the remedian of Rousseeuw and Bassett
/// (1990).
///
/// A buffer of [`Median::WIDTH`] times is replaced by its median, which goes into the next buffer,
/// and so on.  Up to `WIDTH` times it is the exact (lower) median; beyond that, the lower weighted
/// median of the contents of all buffers.
#[derive(Clone, Debug, Default)]
pub struct Median {
    /// The buffers, each sorted.
    levels: Vec<Vec<u64>>,
}

impl Median {
    /// Times in a buffer: four buffers hold the median of 10⁸ times in 3 KiB.
    const WIDTH: usize = 101;

    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        let mut value = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::with_capacity(Self::WIDTH));
            }
            let buffer = &mut self.levels[level];
            let place = buffer.partition_point(|held| *held < value);
            buffer.insert(place, value);
            if buffer.len() < Self::WIDTH {
                return;
            }
            value = buffer[Self::WIDTH / 2];
            buffer.clear();
        }
    }

    /// The median of all that was added.
    pub fn get(&self) -> Option<Duration> {
        let mut weighted: Vec<(u64, u128)> = Vec::new();
        let mut weight: u128 = 1;
        for level in &self.levels {
            weighted.extend(level.iter().map(|value| (*value, weight)));
            weight *= Self::WIDTH as u128;
        }
        weighted.sort_unstable();
        let total: u128 = weighted.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0;
        for (value, weight) in weighted {
            sum += weight;
            if sum * 2 >= total {
                return Some(Duration::from_nanos(value));
            }
        }
        None
    }
}

/// The time limit in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Limit {
    timeout: Option<Timeout>,
    median: Median,
    now: Option<Duration>,
}

impl Limit {
    pub(super) fn new(timeout: Option<Timeout>) -> Self {
        let now = match timeout {
            Some(Timeout::Fixed(limit)) if !limit.is_zero() => Some(limit),
            _ => None,
        };
        Limit { timeout, median: Median::default(), now }
    }

    /// How long a job may run now.
    pub(super) fn get(&self) -> Option<Duration> {
        self.now
    }

    /// A job took this time and succeeded.
    pub(super) fn learn(&mut self, time: Duration) {
        if let Some(Timeout::Percent(percent)) = self.timeout
            && percent > 0.0
        {
            self.median.add(time);
            let scaled = self.median.get().map(|median| median.as_secs_f64() * percent / 100.0);
            self.now = scaled.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(values: impl IntoIterator<Item = u64>) -> Option<u128> {
        let mut median = Median::default();
        for value in values {
            median.add(Duration::from_millis(value));
        }
        median.get().map(|median| median.as_millis())
    }

    #[test]
    fn few_times_give_their_lower_median() {
        assert_eq!(median([]), None);
        assert_eq!(median([7]), Some(7));
        assert_eq!(median([500, 100]), Some(100));
        assert_eq!(median([3, 1, 2]), Some(2));
        assert_eq!(median(1..=100), Some(50));
        assert_eq!(median((1..=101).rev()), Some(51));
    }

    #[test]
    fn many_times_give_nearly_their_median_in_little_memory() {
        // A fixed sequence that visits 0..100_000 once each, in no order.
        let mut estimate = Median::default();
        for step in 0..100_000_u64 {
            estimate.add(Duration::from_millis(step * 61_803 % 100_000));
        }
        let found = estimate.get().map_or(0, |median| median.as_millis());
        assert!((48_000..=52_000).contains(&found), "the median of 0..100000 came out as {found}");
        let held: usize = estimate.levels.iter().map(Vec::len).sum();
        assert!(held <= 3 * Median::WIDTH, "{held} times are kept");
    }

    #[test]
    fn a_percentage_begins_with_the_first_good_job() {
        let mut limit = Limit::new(Some(Timeout::Percent(300.0)));
        assert_eq!(limit.get(), None);
        limit.learn(Duration::from_millis(100));
        assert_eq!(limit.get(), Some(Duration::from_millis(300)));
        limit.learn(Duration::from_millis(500));
        assert_eq!(limit.get(), Some(Duration::from_millis(300)));
        limit.learn(Duration::from_millis(500));
        assert_eq!(limit.get(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn a_timeout_is_a_duration_or_a_percentage() {
        let parsed = |text| Timeout::parse(text).ok();
        assert_eq!(parsed("0.5"), Some(Timeout::Fixed(Duration::from_millis(500))));
        assert_eq!(parsed("1h1m"), Some(Timeout::Fixed(Duration::from_secs(3660))));
        assert_eq!(parsed("150%"), Some(Timeout::Percent(150.0)));
        assert_eq!(parsed("%"), None);
        assert_eq!(parsed("long"), None);
    }

    #[test]
    fn nothing_is_no_limit() {
        assert_eq!(Limit::new(None).get(), None);
        assert_eq!(Limit::new(Some(Timeout::Fixed(Duration::ZERO))).get(), None);
        let mut none = Limit::new(Some(Timeout::Percent(0.0)));
        none.learn(Duration::from_secs(1));
        assert_eq!(none.get(), None);
        // More than a Duration holds is no limit either, and no panic.
        let mut huge = Limit::new(Some(Timeout::Percent(f64::MAX)));
        huge.learn(Duration::from_secs(1));
        assert_eq!(huge.get(), None);
    }
}
