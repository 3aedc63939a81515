//! An expression over series: a CDEF of a graph.
//!
//! Series may have different steps.  The caller evaluates at each step of the result, in order; a
//! series moves to its next value when the time is a multiple of its step, as RRDtool does.

use crate::evaluate::{Inputs, Place, run};
use crate::number::{to_int, to_long};
use crate::{EvaluateError as E, LocalTime, Node, Operator as O, Program, Stack, order};

/// What a variable of the expression is.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// One value for all times.
    Constant(f64),
    /// A column of a table.
    Series {
        /// The table, row by row.
        values: &'a [f64],
        /// Columns of the table.
        columns: usize,
        /// Which column, from 0.
        column: usize,
        /// The row of the first value that is wanted.
        first_row: i64,
        /// Seconds between two rows.
        step_s: i64,
    },
}

/// An expression and how far it has come.
pub struct Evaluator<'a> {
    nodes: Vec<Node>,
    windows: Vec<Option<Window<'a>>>,
    step_s: i64,
    now_s: f64,
    local: &'a dyn LocalTime,
    stack: Stack,
    position: usize,
    previous: f64,
    time_s: i64,
}

/// The series that a node reads, and the row that it reads next.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    values: &'a [f64],
    columns: usize,
    column: usize,
    step_s: i64,
    row: i64,
}

impl Window<'_> {
    /// The value some rows before the next one; `None` outside the series.
    fn back(&self, rows: i64) -> Option<f64> {
        let row = usize::try_from(self.row.checked_sub(rows)?).ok()?;
        let index = row.checked_mul(self.columns)?.checked_add(self.column)?;
        self.values.get(index).copied()
    }
}

impl<'a> Evaluator<'a> {
    /// Starts an evaluation.  `input` gives the variable of an index; `step_s` is the step of the
    /// result; `now_s` is the wall clock, in seconds since 1970.
    pub fn new(
        program: &Program,
        mut input: impl FnMut(usize) -> Input<'a>,
        step_s: i64,
        now_s: f64,
        local: &'a dyn LocalTime,
    ) -> Self {
        let mut nodes = program.nodes().to_vec();
        let mut windows = vec![None; nodes.len()];
        for (node, window) in nodes.iter_mut().zip(&mut windows) {
            let (Node::Variable(index) | Node::PreviousOf(index)) = *node else { continue };
            match input(index) {
                Input::Constant(value) => *node = Node::Number(value),
                Input::Series { values, columns, column, first_row, step_s } => {
                    *window = Some(Window { values, columns, column, step_s, row: first_row });
                }
            }
        }
        Evaluator {
            nodes,
            windows,
            step_s,
            now_s,
            local,
            stack: Stack::new(),
            position: 0,
            previous: crate::UNKNOWN,
            time_s: 0,
        }
    }

    /// The value at the next step, which ends at `time_s`, in seconds since 1970.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn next(&mut self, time_s: i64) -> Result<f64, E> {
        self.time_s = time_s;
        let nodes = std::mem::take(&mut self.nodes);
        let mut stack = std::mem::take(&mut self.stack);
        let result = run(&nodes, self, &mut stack);
        self.nodes = nodes;
        self.stack = stack;
        self.position += 1;
        self.previous = result.clone()?;
        result
    }

    /// The value of a node's series, `back` rows before the next; then moves on.
    fn read(&mut self, node: usize, back: i64) -> f64 {
        let Some(window) = &mut self.windows[node] else { return crate::UNKNOWN };
        let value = window.back(back);
        if window.step_s > 0 && self.time_s % window.step_s == 0 {
            window.row += 1;
        }
        value.unwrap_or(crate::UNKNOWN)
    }
}

impl Inputs for Evaluator<'_> {
    fn variable(&mut self, node: usize, _variable: usize) -> Result<f64, E> {
        Ok(self.read(node, 0))
    }

    fn previous_of(&mut self, node: usize, _variable: usize) -> Result<f64, E> {
        let value = self.read(node, 1);
        Ok(if self.position == 0 { crate::UNKNOWN } else { value })
    }

    fn now_s(&self) -> f64 {
        self.now_s
    }

    fn place(&self) -> Option<Place<'_>> {
        Some(Place {
            position: self.position,
            previous: self.previous,
            time_s: self.time_s,
            step_s: self.step_s,
            local: self.local,
        })
    }

    fn window(&self, node: usize) -> Option<Window<'_>> {
        self.windows.get(node).copied().flatten()
    }
}

/// How many steps a time takes, with RRDtool's single precision.
fn steps(time_s: f32, step_s: i64) -> i32 {
    to_int(f64::from((time_s / step_s as f32).ceil()))
}

/// The average of the values of the last `duration` seconds; unknown at the begin of the series.
pub(crate) fn trend(
    place: &Place<'_>,
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
    place: &Place<'_>,
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
    place: &Place<'_>,
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

/// From 0, not from -0 as the standard library.
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
