//! Functions over the samples of a window: one number for each series.
//!
//! Each takes the samples one after the other and keeps a few numbers of them, so the samples of a long
//! window need not be in memory at once (`folded.rs`).  Sums are compensated as Prometheus compensates them
//! (Kahan and Neumaier), so results agree to the last digits.

use crate::SeriesPoint;

/// A function of the samples of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverWindow {
    Growth(Growth),
    /// The rate of the last two samples of a counter.
    LastRate,
    /// The change between the last two samples of a level.
    LastChange,
    /// The slope, by second, of the line nearest to the samples.
    Slope,
    /// The value of that line so many seconds after the step.
    Predicted,
    /// The last value smoothed by double exponential smoothing: how much a new value counts for the
    /// level, and a new step between two levels for the trend.
    Smoothed,
    Changes,
    Resets,
    Average,
    Min,
    Max,
    Sum,
    Count,
    Deviation,
    Variance,
    Present,
    Last,
}

/// How a counter or a level changes over a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// A value below the one before it means that the counter began again at 0.
    pub(crate) is_counter: bool,
    /// By second, not in all.
    pub(crate) is_rate: bool,
}

/// What is known of the samples of a window so far.
pub(crate) enum Fold {
    Growth(Growth, Grown),
    LastTwo { is_rate: bool, before: Option<SeriesPoint>, last: Option<SeriesPoint> },
    Line { at_ms: Option<i64>, after_s: Option<f64>, line: Line },
    Smoothed { level: f64, trend: f64, smooth: Smooth },
    Pairs { counts: fn(f64, f64) -> bool, before: Option<f64>, count: u64 },
    Average { mean: Sum, count: f64 },
    Chosen { chooses: fn(f64, f64) -> f64, value: Option<f64> },
    Sum(Sum),
    Count(u64),
    Variance { is_deviation: bool, mean: Sum, squares: Sum, count: f64 },
    Present,
    Last(Option<f64>),
}

impl Fold {
    /// Nothing yet of a function with its numbers, at a step.
    pub(crate) fn new(over: OverWindow, [first, second]: [f64; 2], step_ms: i64) -> Self {
        let line = Line::default();
        let variance = |is_deviation| Fold::Variance {
            is_deviation,
            mean: Sum::default(),
            squares: Sum::default(),
            count: 0.0,
        };
        match over {
            OverWindow::Growth(growth) => Fold::Growth(growth, Grown::default()),
            OverWindow::LastRate => Fold::LastTwo { is_rate: true, before: None, last: None },
            OverWindow::LastChange => Fold::LastTwo { is_rate: false, before: None, last: None },
            OverWindow::Slope => Fold::Line { at_ms: None, after_s: None, line },
            OverWindow::Predicted => {
                Fold::Line { at_ms: Some(step_ms), after_s: Some(first), line }
            }
            OverWindow::Smoothed => {
                Fold::Smoothed { level: first, trend: second, smooth: Smooth::default() }
            }
            OverWindow::Changes => Fold::Pairs { counts: is_change, before: None, count: 0 },
            OverWindow::Resets => {
                Fold::Pairs { counts: |before, value| value < before, before: None, count: 0 }
            }
            OverWindow::Average => Fold::Average { mean: Sum::default(), count: 0.0 },
            OverWindow::Min => Fold::Chosen { chooses: smaller, value: None },
            OverWindow::Max => Fold::Chosen { chooses: larger, value: None },
            OverWindow::Sum => Fold::Sum(Sum::default()),
            OverWindow::Count => Fold::Count(0),
            OverWindow::Deviation => variance(true),
            OverWindow::Variance => variance(false),
            OverWindow::Present => Fold::Present,
            OverWindow::Last => Fold::Last(None),
        }
    }

    /// Takes the next samples.
    pub(crate) fn add_samples(&mut self, samples: &[SeriesPoint]) {
        let mut values = samples.iter().map(|sample| sample.value);
        match self {
            Fold::Growth(growth, grown) => grown.add_samples(samples, growth.is_counter),
            Fold::LastTwo { before, last, .. } => match samples {
                [.., one, other] => (*before, *last) = (Some(*one), Some(*other)),
                [one] => *before = last.replace(*one),
                [] => {}
            },
            Fold::Line { at_ms, line, .. } => line.add_samples(samples, *at_ms),
            Fold::Smoothed { level, trend, smooth } => {
                values.for_each(|value| smooth.add_value(value, *level, *trend));
            }
            Fold::Pairs { counts, before, count } => {
                for value in values {
                    let before = before.replace(value);
                    *count += u64::from(before.is_some_and(|before| counts(before, value)));
                }
            }
            Fold::Average { mean, count } => {
                for value in values {
                    *count += 1.0;
                    // An infinite mean stays, except for the other infinity and what is no number.
                    let stays = match value.is_infinite() {
                        true => (mean.sum > 0.0) == (value > 0.0),
                        false => !value.is_nan(),
                    };
                    if !(mean.sum.is_infinite() && stays) {
                        mean.add(value / *count - mean.sum / *count);
                    }
                }
            }
            Fold::Chosen { chooses, value } => {
                *value = value.take().into_iter().chain(values).reduce(*chooses);
            }
            Fold::Sum(sum) => values.for_each(|value| sum.add(value)),
            Fold::Count(count) => *count += samples.len() as u64,
            Fold::Variance { mean, squares, count, .. } => {
                for value in values {
                    *count += 1.0;
                    let delta = value - mean.total();
                    mean.add(delta / *count);
                    squares.add(delta * (value - mean.total()));
                }
            }
            Fold::Present => {}
            Fold::Last(last) => *last = values.next_back().or(*last),
        }
    }

    /// The number for all samples, of which there is one at least; the window has these ends.
    /// `None`: no result.
    pub(crate) fn result(&self, bounds_ms: (i64, i64)) -> Option<f64> {
        match self {
            Fold::Growth(growth, grown) => growth.over(grown, bounds_ms),
            Fold::LastTwo { is_rate, before, last } => last_change(*is_rate, (*before)?, (*last)?),
            Fold::Line { after_s, line, .. } => {
                let (slope, value) = line.nearest()?;
                Some(after_s.map_or(slope, |after_s| slope * after_s + value))
            }
            Fold::Smoothed { smooth, .. } => (smooth.count > 1).then_some(smooth.value),
            Fold::Pairs { count, .. } | Fold::Count(count) => Some(*count as f64),
            Fold::Average { mean: sum, .. } | Fold::Sum(sum) => {
                Some(if sum.sum.is_infinite() { sum.sum } else { sum.total() })
            }
            Fold::Chosen { value, .. } | Fold::Last(value) => *value,
            Fold::Variance { is_deviation, squares, count, .. } => {
                let variance = squares.total() / count;
                Some(if *is_deviation { variance.sqrt() } else { variance })
            }
            Fold::Present => Some(1.0),
        }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn size_bytes(&self) -> usize {
        let resets = match self {
            Fold::Growth(_, grown) => grown.resets.capacity() * size_of::<f64>(),
            _ => 0,
        };
        size_of::<Fold>() + resets
    }
}

/// What is known of how a counter or a level has changed.
#[derive(Default)]
pub(crate) struct Grown {
    ends: Option<(SeriesPoint, SeriesPoint)>,
    count: usize,
    /// What a counter had before each of its resets.  They are added to the change in the end, for
    /// equal digits.
    resets: Vec<f64>,
}

impl Grown {
    fn add_samples(&mut self, samples: &[SeriesPoint], is_counter: bool) {
        let ([first, ..], [.., last]) = (samples, samples) else { return };
        if is_counter {
            let mut before = self.ends.map_or(0.0, |(_, last)| last.value);
            for sample in samples {
                if sample.value < before {
                    self.resets.push(before);
                }
                before = sample.value;
            }
        }
        self.count += samples.len();
        self.ends = Some((self.ends.map_or(*first, |(first, _)| first), *last));
    }
}

impl Growth {
    /// The change over the whole window, extrapolated from the first and last sample to its ends, unless
    /// these are far from the samples.
    fn over(self, grown: &Grown, (from_ms, to_ms): (i64, i64)) -> Option<f64> {
        let (first, last) = grown.ends.filter(|_| grown.count > 1)?;
        let mut change = last.value - first.value;
        grown.resets.iter().for_each(|before| change += before);
        let sampled_s = (last.time_ms - first.time_ms) as f64 / 1000.0;
        let gap_s = sampled_s / (grown.count - 1) as f64;
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

/// The change between two samples of a level, or the rate between those of a counter.
fn last_change(is_rate: bool, before: SeriesPoint, last: SeriesPoint) -> Option<f64> {
    let is_reset = is_rate && last.value < before.value;
    let change = if is_reset { last.value } else { last.value - before.value };
    let interval_ms = last.time_ms - before.time_ms;
    let change = if is_rate { change / (interval_ms as f64 / 1000.0) } else { change };
    (interval_ms != 0).then_some(change)
}

/// The line nearest to samples.
#[derive(Default)]
pub(crate) struct Line {
    first: Option<SeriesPoint>,
    /// Whether there is a value other than the first.
    is_bent: bool,
    count: usize,
    x: Sum,
    y: Sum,
    xy: Sum,
    xx: Sum,
}

impl Line {
    /// Takes samples, their times from a time on; without one from the first on.
    fn add_samples(&mut self, samples: &[SeriesPoint], at_ms: Option<i64>) {
        for sample in samples {
            let first = *self.first.get_or_insert(*sample);
            self.is_bent |= sample.value != first.value;
            let x = (sample.time_ms - at_ms.unwrap_or(first.time_ms)) as f64 / 1000.0;
            self.count += 1;
            self.x.add(x);
            self.y.add(sample.value);
            self.xy.add(x * sample.value);
            self.xx.add(x * x);
        }
    }

    /// The slope by second of the fitted line, and its value at the time.
    fn nearest(&self) -> Option<(f64, f64)> {
        let first = self.first.filter(|_| self.count > 1)?;
        if !self.is_bent {
            let is_infinite = first.value.is_infinite();
            return Some(if is_infinite { (f64::NAN, f64::NAN) } else { (0.0, first.value) });
        }
        let count = self.count as f64;
        let (x, y) = (self.x.total(), self.y.total());
        let covariance = self.xy.total() - x * y / count;
        let variance = self.xx.total() - x * x / count;
        let slope = covariance / variance;
        Some((slope, y / count - slope * x / count))
    }
}

/// A value that is smoothed.
#[derive(Default)]
pub(crate) struct Smooth {
    count: usize,
    before: f64,
    value: f64,
    slope: f64,
}

impl Smooth {
    fn add_value(&mut self, value: f64, level: f64, trend: f64) {
        self.count += 1;
        if self.count == 1 {
            self.value = value;
            return;
        }
        // The first slope is that of the first two values.
        self.slope = match self.count {
            2 => value - self.value,
            _ => trend * (self.value - self.before) + (1.0 - trend) * self.slope,
        };
        self.before = self.value;
        self.value = level * value + (1.0 - level) * (self.value + self.slope);
    }
}

fn is_change(before: f64, value: f64) -> bool {
    value != before && !(value.is_nan() && before.is_nan())
}

fn larger(most: f64, value: f64) -> f64 {
    if value > most || most.is_nan() { value } else { most }
}

fn smaller(least: f64, value: f64) -> f64 {
    if value < least || least.is_nan() { value } else { least }
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
pub(crate) struct Sum {
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
