//! Functions over the samples of a window: one number for each series.
//!
//! Sums are compensated as Prometheus compensates them (Kahan and Neumaier), so results agree to the
//! last digits.

use crate::SeriesPoint;

/// A function of the samples of a window, which has one at least; `None`: no result.
pub(crate) type OverWindow = fn(&[SeriesPoint]) -> Option<f64>;

/// How a counter or a level changes over a window.
#[derive(Clone, Copy)]
pub(crate) struct Growth {
    /// A value below the one before it means that the counter began again at 0.
    pub(crate) is_counter: bool,
    /// By second, not in all.
    pub(crate) is_rate: bool,
}

impl Growth {
    /// The change over the whole window, extrapolated from the first and last sample to its ends, unless
    /// these are far from the samples.
    pub(crate) fn over(self, samples: &[SeriesPoint], (from_ms, to_ms): (i64, i64)) -> Option<f64> {
        let [first, .., last] = samples else { return None };
        let mut change = last.value - first.value;
        if self.is_counter {
            let mut before = 0.0;
            for sample in samples {
                if sample.value < before {
                    change += before;
                }
                before = sample.value;
            }
        }
        let sampled_s = (last.time_ms - first.time_ms) as f64 / 1000.0;
        let gap_s = sampled_s / (samples.len() - 1) as f64;
        let mut to_start_s = (first.time_ms - from_ms) as f64 / 1000.0;
        let to_end_s = (to_ms - last.time_ms) as f64 / 1000.0;
        if self.is_counter && change > 0.0 && first.value >= 0.0 {
            // A counter was not below 0 at the start.
            to_start_s = to_start_s.min(sampled_s * (first.value / change));
        }
        // An end that is further than a gap between two samples: the series began or ended within.
        let extended =
            |distance_s: f64| if distance_s < gap_s * 1.1 { distance_s } else { gap_s / 2.0 };
        // In this order, for equal digits.
        let whole_s = sampled_s + extended(to_start_s) + extended(to_end_s);
        let mut factor = whole_s / sampled_s;
        if self.is_rate {
            factor /= (to_ms - from_ms) as f64 / 1000.0;
        }
        Some(change * factor)
    }
}

/// The rate of the last two samples of a counter.
pub(crate) fn irate(samples: &[SeriesPoint]) -> Option<f64> {
    let [.., before, last] = samples else { return None };
    let change = if last.value < before.value { last.value } else { last.value - before.value };
    let interval_ms = last.time_ms - before.time_ms;
    (interval_ms != 0).then(|| change / (interval_ms as f64 / 1000.0))
}

/// The change between the last two samples of a level.
pub(crate) fn idelta(samples: &[SeriesPoint]) -> Option<f64> {
    let [.., before, last] = samples else { return None };
    (last.time_ms != before.time_ms).then_some(last.value - before.value)
}

/// The slope, by second, of the line nearest to the samples.
pub(crate) fn deriv(samples: &[SeriesPoint]) -> Option<f64> {
    Some(line(samples, samples.first()?.time_ms)?.0)
}

/// The value of the line nearest to the samples, so many seconds after a time.
pub(crate) fn predict(samples: &[SeriesPoint], at_ms: i64, after_s: f64) -> Option<f64> {
    let (slope, value) = line(samples, at_ms)?;
    Some(slope * after_s + value)
}

/// The line nearest to the samples: its slope by second, and its value at a time.
fn line(samples: &[SeriesPoint], at_ms: i64) -> Option<(f64, f64)> {
    let [first, _, ..] = samples else { return None };
    if samples.iter().all(|sample| sample.value == first.value) {
        let is_infinite = first.value.is_infinite();
        return Some(if is_infinite { (f64::NAN, f64::NAN) } else { (0.0, first.value) });
    }
    let (mut x_sum, mut y_sum) = (Sum::default(), Sum::default());
    let (mut xy_sum, mut xx_sum) = (Sum::default(), Sum::default());
    for sample in samples {
        let x = (sample.time_ms - at_ms) as f64 / 1000.0;
        x_sum.add(x);
        y_sum.add(sample.value);
        xy_sum.add(x * sample.value);
        xx_sum.add(x * x);
    }
    let count = samples.len() as f64;
    let (x, y) = (x_sum.total(), y_sum.total());
    let covariance = xy_sum.total() - x * y / count;
    let variance = xx_sum.total() - x * x / count;
    let slope = covariance / variance;
    Some((slope, y / count - slope * x / count))
}

/// The last value smoothed by double exponential smoothing: how much a new value counts for the level,
/// and a new step between two levels for the trend.
pub(crate) fn smoothed(samples: &[SeriesPoint], level: f64, trend: f64) -> Option<f64> {
    let [first, second, ..] = samples else { return None };
    let (mut before, mut smooth) = (0.0, first.value);
    let mut slope = second.value - first.value;
    for (index, sample) in samples[1..].iter().enumerate() {
        // The first slope is that of the first two values.
        if index > 0 {
            slope = trend * (smooth - before) + (1.0 - trend) * slope;
        }
        before = smooth;
        smooth = level * sample.value + (1.0 - level) * (smooth + slope);
    }
    Some(smooth)
}

pub(crate) fn sum(samples: &[SeriesPoint]) -> Option<f64> {
    let mut sum = Sum::default();
    samples.iter().for_each(|sample| sum.add(sample.value));
    Some(if sum.sum.is_infinite() { sum.sum } else { sum.total() })
}

pub(crate) fn average(samples: &[SeriesPoint]) -> Option<f64> {
    let mut mean = Sum::default();
    for (index, sample) in samples.iter().enumerate() {
        let (value, count) = (sample.value, (index + 1) as f64);
        // An infinite mean stays, except for the other infinity and what is no number.
        let stays =
            if value.is_infinite() { (mean.sum > 0.0) == (value > 0.0) } else { !value.is_nan() };
        if !(mean.sum.is_infinite() && stays) {
            mean.add(value / count - mean.sum / count);
        }
    }
    Some(if mean.sum.is_infinite() { mean.sum } else { mean.total() })
}

pub(crate) fn count(samples: &[SeriesPoint]) -> Option<f64> {
    Some(samples.len() as f64)
}

pub(crate) fn present(_samples: &[SeriesPoint]) -> Option<f64> {
    Some(1.0)
}

pub(crate) fn last(samples: &[SeriesPoint]) -> Option<f64> {
    samples.last().map(|sample| sample.value)
}

pub(crate) fn max(samples: &[SeriesPoint]) -> Option<f64> {
    let larger = |most: f64, value: f64| if value > most || most.is_nan() { value } else { most };
    samples.iter().map(|sample| sample.value).reduce(larger)
}

pub(crate) fn min(samples: &[SeriesPoint]) -> Option<f64> {
    let smaller =
        |least: f64, value: f64| if value < least || least.is_nan() { value } else { least };
    samples.iter().map(|sample| sample.value).reduce(smaller)
}

pub(crate) fn variance(samples: &[SeriesPoint]) -> Option<f64> {
    let (mut mean, mut squares, mut count) = (Sum::default(), Sum::default(), 0.0);
    for sample in samples {
        count += 1.0;
        let delta = sample.value - mean.total();
        mean.add(delta / count);
        squares.add(delta * (sample.value - mean.total()));
    }
    Some(squares.total() / count)
}

pub(crate) fn deviation(samples: &[SeriesPoint]) -> Option<f64> {
    variance(samples).map(f64::sqrt)
}

pub(crate) fn changes(samples: &[SeriesPoint]) -> Option<f64> {
    let changed = |pair: &&[SeriesPoint]| {
        let (before, value) = (pair[0].value, pair[1].value);
        value != before && !(value.is_nan() && before.is_nan())
    };
    Some(samples.windows(2).filter(changed).count() as f64)
}

pub(crate) fn resets(samples: &[SeriesPoint]) -> Option<f64> {
    Some(samples.windows(2).filter(|pair| pair[1].value < pair[0].value).count() as f64)
}

/// The value below which a share of the values lies, interpolated; the values are sorted by this.
pub(crate) fn quantile(share: f64, values: &mut [f64]) -> f64 {
    if values.is_empty() || share.is_nan() {
        return f64::NAN;
    }
    if share < 0.0 {
        return f64::NEG_INFINITY;
    }
    if share > 1.0 {
        return f64::INFINITY;
    }
    values.sort_by(|one, other| order(*one, *other));
    let last = values.len() - 1;
    let rank = share * last as f64;
    let (lower, weight) = (rank.floor(), rank - rank.floor());
    // The share is from 0 to 1, so the rank is a place.
    let lower = lower as usize;
    let upper = (lower + 1).min(last);
    values[lower] * (1.0 - weight) + values[upper] * weight
}

/// The order of numbers, with what is no number before all others.
pub(crate) fn order(one: f64, other: f64) -> std::cmp::Ordering {
    other
        .is_nan()
        .cmp(&one.is_nan())
        .then(one.partial_cmp(&other).unwrap_or(std::cmp::Ordering::Equal))
}

/// A sum that keeps what rounding loses.
#[derive(Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += match self.sum.abs() >= value.abs() {
            true => (self.sum - sum) + value,
            false => (value - sum) + self.sum,
        };
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        self.sum + self.lost
    }
}
