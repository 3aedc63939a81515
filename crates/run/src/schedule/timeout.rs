//! `--timeout`: how long a job may run, as a duration or as a part of what others took.

use std::time::Duration;

/// How long a job may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timeout {
    /// So long.
    Fixed(Duration),
    /// So many percent of the median time of those that did well; none while none has.
    Percent(f64),
}

/// The median of a stream of times, in constant memory: the remedian of Rousseeuw and Bassett
/// (1990).
///
/// A buffer of [`Median::WIDTH`] times is replaced by its median, which goes into the next
/// buffer, and so on.  Up to `WIDTH` times it is the exact (lower) median; beyond that, the lower
/// weighted median of what all buffers hold.
#[derive(Clone, Debug, Default)]
pub struct Median {
    /// Each held in order.
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

    /// A job took so long and did well.
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
