//! `VDEF`: a value of a series, and when it was.

use rpn::{UNKNOWN, order};

use crate::data::{Point, RegularSeries};
use crate::elements::{Vdef, VdefFunction};

/// The point of a series.
pub(crate) fn calculate(vdef: &Vdef, series: &RegularSeries) -> Point {
    let values = inside(series);
    let of_series = |value: f64| Point { value, time_s: None };
    match vdef.function {
        VdefFunction::Maximum => extreme(series, values, |value, best| value > best),
        VdefFunction::Minimum => extreme(series, values, |value, best| value < best),
        VdefFunction::First => {
            let first = at(series, values, values.iter().position(|value| !value.is_nan()));
            // The first value has the time at which its step begins.
            Point { time_s: first.time_s.map(|time_s| time_s - series.step_s), ..first }
        }
        VdefFunction::Last => at(series, values, values.iter().rposition(|value| !value.is_nan())),
        VdefFunction::Percent => of_series(percentile(values.to_vec(), vdef.parameter)),
        VdefFunction::PercentNan => {
            let known = values.iter().copied().filter(|value| !value.is_nan());
            of_series(percentile(known.collect(), vdef.parameter))
        }
        VdefFunction::Average | VdefFunction::Total | VdefFunction::StandardDeviation => {
            of_series(moment(vdef.function, series, values))
        }
        _ => of_series(least_squares(vdef.function, values)),
    }
}

/// The values up to the end of the series; a table may have a row more.
fn inside(series: &RegularSeries) -> &[f64] {
    let count = usize::try_from((series.end_s - series.start_s) / series.step_s).unwrap_or(0);
    &series.values[..count.min(series.values.len())]
}

fn at(series: &RegularSeries, values: &[f64], position: Option<usize>) -> Point {
    match position {
        Some(position) => {
            let steps = i64::try_from(position).unwrap_or(i64::MAX) + 1;
            let time_s = series.start_s.saturating_add(steps.saturating_mul(series.step_s));
            Point { value: values[position], time_s: Some(time_s) }
        }
        None => Point::default(),
    }
}

fn extreme(series: &RegularSeries, values: &[f64], is_better: impl Fn(f64, f64) -> bool) -> Point {
    let mut best = values.iter().position(|value| !value.is_nan());
    for (position, value) in values.iter().enumerate() {
        if let Some(known) = best
            && value.is_finite()
            && is_better(*value, values[known])
        {
            best = Some(position);
        }
    }
    at(series, values, best)
}

/// The value below which a share of the values lies.
fn percentile(mut values: Vec<f64>, percent: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return UNKNOWN };
    order::sort_of_vdef(&mut values);
    let rank = (percent * last as f64 / 100.0).round() as usize;
    values[rank.min(last)]
}

fn moment(function: VdefFunction, series: &RegularSeries, values: &[f64]) -> f64 {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let count = finite().count();
    if count == 0 {
        return UNKNOWN;
    }
    let sum: f64 = finite().fold(0.0, |sum, value| sum + value);
    let average = sum / count as f64;
    match function {
        VdefFunction::Total => sum * series.step_s as f64,
        VdefFunction::Average => average,
        _ => {
            let squares = finite().fold(0.0, |sum, value| sum + (value - average).powf(2.0));
            // C's pow(), which a compiler that sees the 0.5 replaces by a square root: that
            // differs in the last place at times.
            (squares / count as f64).powf(std::hint::black_box(0.5))
        }
    }
}

/// The line through the values over their positions from 0.
fn least_squares(function: VdefFunction, values: &[f64]) -> f64 {
    let (mut count, mut x, mut y, mut xy, mut xx, mut yy) = (0_u32, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (position, value) in values.iter().enumerate() {
        if value.is_finite() {
            let position = position as f64;
            count += 1;
            x += position;
            xx += position * position;
            xy += position * value;
            y += value;
            yy += value * value;
        }
    }
    if count == 0 {
        return UNKNOWN;
    }
    let count = f64::from(count);
    let slope = (x * y - count * xy) / (x * x - count * xx);
    match function {
        VdefFunction::LeastSquaresSlope => slope,
        VdefFunction::LeastSquaresIntercept => (y - slope * x) / count,
        _ => (xy - (x * y) / count) / ((xx - (x * x) / count) * (yy - (y * y) / count)).sqrt(),
    }
}
