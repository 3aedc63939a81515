//! TREND and PREDICT: operators that read values before the current one.

use calendar::CivilZone;
use text::c_number::{to_int, to_long};

use crate::{EvaluateError as E, Operator as O, Stack, order};

/// Where in a series an expression is evaluated.
pub(crate) struct SeriesPosition<'a> {
    /// How many values precede.
    pub(crate) position: usize,
    /// The result at the step before; unknown at the first.
    pub(crate) previous: f64,
    /// The end of the step, in seconds since 1970.
    pub(crate) time_s: i64,
    pub(crate) step_s: i64,
    pub(crate) zone: &'a CivilZone,
}

/// The series that a node reads, and the row that it reads next.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) columns: usize,
    pub(crate) column: usize,
    pub(crate) step_s: i64,
    pub(crate) row: i64,
}

impl Window<'_> {
    /// The value some rows before the next one; `None` outside the series.
    pub(crate) fn back(&self, rows: i64) -> Option<f64> {
        let row = usize::try_from(self.row.checked_sub(rows)?).ok()?;
        let index = row.checked_mul(self.columns)?.checked_add(self.column)?;
        self.values.get(index).copied()
    }
}

/// How many steps a time takes, with RRDtool's single precision.
fn steps(time_s: f32, step_s: i64) -> i32 {
    to_int(f64::from((time_s / step_s as f32).ceil()))
}

/// The average of the values of the last `duration` seconds; unknown at the begin of the series.
pub(crate) fn trend(
    place: &SeriesPosition<'_>,
    window: &Window<'_>,
    duration: f64,
    ignores_unknown: bool,
) -> f64 {
    let mut left_s = to_long(duration);
    if window.step_s <= 0 || duration.is_nan() {
        return crate::UNKNOWN;
    }
    if i64::try_from(place.position).unwrap_or(i64::MAX) + 1
        < i64::from(steps(left_s as f32, window.step_s))
    {
        return crate::UNKNOWN;
    }
    let (mut sum, mut count) = (0.0, 0_u32);
    let mut back = 1;
    loop {
        match window.back(back) {
            Some(value) if ignores_unknown && value.is_nan() => {}
            Some(value) => {
                sum += value;
                count += 1;
            }
            None if ignores_unknown => break,
            None => return crate::UNKNOWN,
        }
        back += 1;
        left_s = left_s.saturating_sub(window.step_s);
        if left_s <= 0 {
            break;
        }
    }
    if count == 0 { crate::UNKNOWN } else { sum / f64::from(count) }
}

/// Average, deviation or percentile of the values of a time before each of several shifts.
///
/// The stack holds the shifts, their number (or one shift and minus the number of its multiples),
/// the length of the time, for PREDICTPERC the percentile, and the current value of the series.
pub(crate) fn predict(
    operator: O,
    place: &SeriesPosition<'_>,
    window: Option<Window<'_>>,
    stack: &mut Stack,
) -> Result<(), E> {
    stack.need(if operator == O::PredictPercentile { 4 } else { 3 })?;
    stack.drop_top(1)?;
    let percentile = if operator == O::PredictPercentile { stack.pop()? } else { crate::UNKNOWN };
    if operator == O::PredictPercentile && (percentile.is_nan() || percentile.abs() > 100.0) {
        return Err(E::Percentile(percentile));
    }
    let length_s = to_int(stack.pop()?);
    let shifts = to_int(stack.pop()?);
    let (count, held) = match usize::try_from(shifts) {
        Ok(count) => (count, count),
        Err(_) => (shifts.unsigned_abs() as usize, 1),
    };
    stack.need(held)?;
    let first = stack.depth() - held;
    let shift_s = |which: usize| {
        let seconds =
            if shifts < 0 { which as f64 * stack.at(first) } else { stack.at(first + which) };
        let seconds = to_int(seconds);
        if seconds < 0 { Err(E::NegativeShift(seconds)) } else { Ok(seconds) }
    };
    let mut values = Vec::new();
    match window.filter(|window| window.step_s > 0) {
        Some(window) => collect(place, &window, count, length_s, shift_s, &mut values)?,
        None => (0..count.min(1)).try_for_each(|which| shift_s(which).map(drop))?,
    }
    stack.drop_top(held)?;
    stack.push(match operator {
        O::Predict => mean(&values),
        O::PredictSigma => sigma(&values),
        _ => percentile_of(&mut values, percentile / 100.0),
    })
}

fn collect(
    place: &SeriesPosition<'_>,
    window: &Window<'_>,
    count: usize,
    length_s: i32,
    shift_s: impl Fn(usize) -> Result<i32, E>,
    values: &mut Vec<f64>,
) -> Result<(), E> {
    let length = i64::from(steps(length_s as f32, window.step_s));
    let position = i64::try_from(place.position).unwrap_or(i64::MAX);
    for which in 0..count {
        let shift = i64::from(steps(shift_s(which)? as f32, window.step_s));
        // Shifts that are multiples only grow: no later one is inside the series.
        if shift >= position && which > position as usize {
            break;
        }
        let end = shift.saturating_add(length).min(position - 1);
        let inside = (shift..=end).filter_map(|back| window.back(back));
        values.extend(inside.filter(|value| !value.is_nan()));
    }
    Ok(())
}

/// The sum from 0, not from -0 as in the standard library.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        crate::UNKNOWN
    } else {
        sum(values.iter().copied()) / values.len() as f64
    }
}

fn sigma(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return crate::UNKNOWN;
    }
    let total = sum(values.iter().copied());
    let squares = sum(values.iter().map(|value| value * value));
    let count = values.len();
    let difference = count as f64 * squares - total * total;
    let single = f64::from(count as f32);
    if difference < 0.0 { crate::UNKNOWN } else { (difference / (single * (single - 1.0))).sqrt() }
}

/// A share of less than 0 takes the nearest value, others interpolate.
fn percentile_of(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return crate::UNKNOWN };
    order::sort(values);
    let rank = share * (f64::from(values.len() as f32) - 1.0);
    if share < 0.0 {
        return values[(rank.abs().round() as usize).min(last)];
    }
    let below = (rank.floor() as usize).min(last);
    let beyond = rank - below as f64;
    let above = values[(below + 1).min(last)];
    if beyond == 0.0 { values[below] } else { values[below] + (above - values[below]) * beyond }
}
