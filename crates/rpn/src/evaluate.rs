//! The operators.
//!
//! One loop over the nodes, for one value ([`Scalar`]) and for series ([`crate::series`]): what
//! they differ in are the [`Inputs`].

use text::c_number::to_int;

use crate::window::{SeriesPosition, Window, predict, trend};
use crate::{EvaluateError as E, Node, Operator as O, Stack, order};

/// RRDtool's factors, which are shorter than those of mathematics.
const DEGREES_OF_RADIAN: f64 = 57.295_779_51;
const RADIANS_OF_DEGREE: f64 = 0.017_453_295_2;

/// Where an expression gets its values from.
pub(crate) trait Inputs {
    /// The value of a variable; `node` is the position of the node that asks.
    fn variable(&mut self, node: usize, variable: usize) -> Result<f64, E>;
    /// The value of a variable at the step before.
    fn previous_of(&mut self, node: usize, variable: usize) -> Result<f64, E>;
    /// Seconds since 1970 of the wall clock.
    fn now_s(&self) -> f64;
    /// The place in a series, if this is one.
    fn place(&self) -> Option<SeriesPosition<'_>>;
    /// The series that `node` reads, if it is a variable.
    fn window(&self, node: usize) -> Option<Window<'_>>;
}

/// The inputs of a data source of type COMPUTE.
pub(crate) struct Scalar<'a> {
    pub(crate) variables: &'a [f64],
    pub(crate) now_s: f64,
}

impl Inputs for Scalar<'_> {
    fn variable(&mut self, _node: usize, variable: usize) -> Result<f64, E> {
        self.variables.get(variable).copied().ok_or(E::NoVariable(variable))
    }

    /// RRDtool stores `PREV(name)` of a data source and refuses to evaluate it.
    fn previous_of(&mut self, _node: usize, _variable: usize) -> Result<f64, E> {
        Err(E::PreviousOf)
    }

    fn now_s(&self) -> f64 {
        self.now_s
    }

    fn place(&self) -> Option<SeriesPosition<'_>> {
        None
    }

    fn window(&self, _node: usize) -> Option<Window<'_>> {
        None
    }
}

pub(crate) fn run(nodes: &[Node], inputs: &mut impl Inputs, stack: &mut Stack) -> Result<f64, E> {
    stack.clear();
    for (position, node) in nodes.iter().enumerate() {
        match *node {
            Node::Number(number) => stack.push(number)?,
            Node::Variable(variable) => stack.push(inputs.variable(position, variable)?)?,
            Node::PreviousOf(variable) => stack.push(inputs.previous_of(position, variable)?)?,
            Node::Operator(operator) => operate(operator, position, nodes, inputs, stack)?,
        }
    }
    if stack.depth() == 1 { stack.pop() } else { Err(E::FinalSize) }
}

fn operate(
    operator: O,
    position: usize,
    nodes: &[Node],
    inputs: &mut impl Inputs,
    stack: &mut Stack,
) -> Result<(), E> {
    match operator {
        O::Infinity => stack.push(f64::INFINITY),
        O::NegativeInfinity => stack.push(f64::NEG_INFINITY),
        O::Unknown => stack.push(crate::UNKNOWN),
        O::Now => stack.push(inputs.now_s()),
        O::Trend | O::TrendNan => {
            stack.need(2)?;
            let duration = stack.pop()?;
            let variable = position.checked_sub(2);
            let variable = variable.filter(|at| matches!(nodes[*at], Node::Variable(_)));
            let (Some(place), Some(window)) =
                (inputs.place(), variable.and_then(|at| inputs.window(at)))
            else {
                return Err(E::Trend);
            };
            stack.drop_top(1)?;
            stack.push(trend(&place, &window, duration, operator == O::TrendNan))
        }
        O::Predict | O::PredictSigma | O::PredictPercentile => {
            let place = inputs.place().ok_or(E::NoSeries(operator.name()))?;
            let window = position.checked_sub(1).and_then(|at| inputs.window(at));
            predict(operator, &place, window, stack)
        }
        O::Time
        | O::LocalTime
        | O::StepWidth
        | O::Previous
        | O::Count
        | O::NewDay
        | O::NewWeek
        | O::NewMonth
        | O::NewYear => {
            let place = inputs.place().ok_or(E::NoSeries(operator.name()))?;
            stack.push(of_place(operator, &place))
        }
        _ => arithmetic(operator, stack),
    }
}

fn of_place(operator: O, place: &SeriesPosition<'_>) -> f64 {
    let now = || place.zone.civil(place.time_s);
    let before = || place.zone.civil(place.time_s.saturating_sub(place.step_s));
    match operator {
        O::Time => place.time_s as f64,
        O::LocalTime => place.zone.offset(place.time_s).0 as f64 + place.time_s as f64,
        O::StepWidth => place.step_s as f64,
        O::Previous => place.previous,
        O::NewDay => truth(now().day != before().day),
        O::NewWeek => {
            // The C locale's weeks begin on Sunday.
            truth(now().weekday == 0 && before().weekday != 0)
        }
        O::NewMonth => truth(now().month != before().month),
        O::NewYear => truth(now().year != before().year),
        _ => (place.position + 1) as f64,
    }
}

fn truth(is_true: bool) -> f64 {
    if is_true { 1.0 } else { 0.0 }
}

fn arithmetic(operator: O, stack: &mut Stack) -> Result<(), E> {
    match operator {
        O::Add => two(stack, |left, right| left + right),
        O::Subtract => two(stack, |left, right| left - right),
        O::Multiply => two(stack, |left, right| left * right),
        O::Divide => two(stack, |left, right| left / right),
        O::Modulo => two(stack, |left, right| left % right),
        O::Power => two(stack, f64::powf),
        O::ArcTangent2 => two(stack, f64::atan2),
        O::AddNan => two(stack, |left, right| known(left, right, |left, right| left + right)),
        O::Less => compared(stack, |left, right| left < right),
        O::LessOrEqual => compared(stack, |left, right| left <= right),
        O::Greater => compared(stack, |left, right| left > right),
        O::GreaterOrEqual => compared(stack, |left, right| left >= right),
        O::Equal => compared(stack, |left, right| left == right),
        O::NotEqual => compared(stack, |left, right| left != right),
        O::Minimum => two(stack, |left, right| both(left, right, lesser)),
        O::Maximum => two(stack, |left, right| both(left, right, greater)),
        O::MinimumNan => two(stack, |left, right| known(left, right, lesser)),
        O::MaximumNan => two(stack, |left, right| known(left, right, greater)),
        O::Sine => one(stack, f64::sin),
        O::Cosine => one(stack, f64::cos),
        O::Logarithm => one(stack, f64::ln),
        O::Exponential => one(stack, f64::exp),
        O::SquareRoot => one(stack, f64::sqrt),
        O::ArcTangent => one(stack, f64::atan),
        O::RadiansToDegrees => one(stack, |value| DEGREES_OF_RADIAN * value),
        O::DegreesToRadians => one(stack, |value| RADIANS_OF_DEGREE * value),
        O::Floor => one(stack, f64::floor),
        O::Ceiling => one(stack, f64::ceil),
        O::Round => one(stack, f64::round),
        O::Absolute => one(stack, f64::abs),
        O::IsUnknown => one(stack, |value| truth(value.is_nan())),
        O::IsInfinite => one(stack, |value| truth(value.is_infinite())),
        O::If => {
            three(
                stack,
                |condition, then, otherwise| {
                    if condition.is_nan() || condition == 0.0 { otherwise } else { then }
                },
            )
        }
        O::Limit => three(stack, |value, least, most| {
            if value.is_nan() || least.is_nan() || most.is_nan() || value < least || value > most {
                crate::UNKNOWN
            } else {
                value
            }
        }),
        O::Duplicate => {
            let value = stack.top(1)?[0];
            stack.push(value)
        }
        O::Pop => stack.drop_top(1),
        O::Exchange => {
            stack.top(2)?.swap(0, 1);
            Ok(())
        }
        O::Depth => stack.push(stack.depth() as f64),
        O::Roll => roll(stack),
        O::Percent => percent(stack),
        _ => of_count(operator, stack),
    }
}

fn one(stack: &mut Stack, function: impl Fn(f64) -> f64) -> Result<(), E> {
    let top = stack.top(1)?;
    top[0] = function(top[0]);
    Ok(())
}

fn two(stack: &mut Stack, function: impl Fn(f64, f64) -> f64) -> Result<(), E> {
    let top = stack.top(2)?;
    top[0] = function(top[0], top[1]);
    stack.drop_top(1)
}

fn three(stack: &mut Stack, function: impl Fn(f64, f64, f64) -> f64) -> Result<(), E> {
    let top = stack.top(3)?;
    top[0] = function(top[0], top[1], top[2]);
    stack.drop_top(2)
}

fn compared(stack: &mut Stack, holds: impl Fn(f64, f64) -> bool) -> Result<(), E> {
    two(stack, |left, right| both(left, right, |left, right| truth(holds(left, right))))
}

/// Unknown, if one of the two is.
fn both(left: f64, right: f64, function: impl Fn(f64, f64) -> f64) -> f64 {
    match (left.is_nan(), right.is_nan()) {
        (true, _) => left,
        (false, true) => right,
        (false, false) => function(left, right),
    }
}

/// The known one, if only one is.
fn known(left: f64, right: f64, function: impl Fn(f64, f64) -> f64) -> f64 {
    match (left.is_nan(), right.is_nan()) {
        (true, _) => right,
        (false, true) => left,
        (false, false) => function(left, right),
    }
}

fn lesser(left: f64, right: f64) -> f64 {
    if left > right { right } else { left }
}

fn greater(left: f64, right: f64) -> f64 {
    if left < right { right } else { left }
}

/// A number of values.  What is no number is more than there are, as in RRDtool.
fn counted(value: f64) -> Result<i32, E> {
    match to_int(value) {
        i32::MIN => Err(E::Underflow),
        count => Ok(count),
    }
}

/// Operators whose topmost value says how many values below it they take.
fn of_count(operator: O, stack: &mut Stack) -> Result<(), E> {
    let count = counted(stack.pop()?)?;
    let Ok(count) = usize::try_from(count) else {
        return match operator {
            // RRDtool's loop over no values.
            O::Average => stack.push(crate::UNKNOWN),
            O::Reverse => Ok(()),
            _ => Err(E::NegativeCount { name: operator.name(), count }),
        };
    };
    stack.need(count)?;
    match operator {
        O::Sort => order::sort(stack.top(count)?),
        O::Reverse => stack.top(count)?.reverse(),
        O::Copy => {
            for _ in 0..count {
                let value = stack.at(stack.depth() - count);
                stack.push(value)?;
            }
        }
        O::Index => {
            let value = stack.at(stack.depth() - count);
            stack.push(value)?;
        }
        _ => {
            let values = stack.top(count)?;
            let result = match operator {
                O::Average => average(values),
                O::SetMinimum => extreme(values, lesser),
                O::SetMaximum => extreme(values, greater),
                O::Median => median(values),
                _ => standard_deviation(values),
            };
            stack.drop_top(count)?;
            stack.push(result)?;
        }
    }
    Ok(())
}

/// The values are added from the top of the stack, as RRDtool does.
fn average(values: &[f64]) -> f64 {
    let (sum, count) =
        known_of(values).fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count > 0 { sum / f64::from(count) } else { crate::UNKNOWN }
}

fn extreme(values: &[f64], chosen: impl Fn(f64, f64) -> f64) -> f64 {
    known_of(values).fold(
        crate::UNKNOWN,
        |best, value| {
            if best.is_nan() { value } else { chosen(best, value) }
        },
    )
}

/// Welford's method, from the top of the stack.
fn standard_deviation(values: &[f64]) -> f64 {
    let (mut count, mut mean, mut squares) = (0_u32, 0.0, 0.0);
    for value in known_of(values) {
        count += 1;
        let delta = value - mean;
        mean += delta / f64::from(count);
        squares += delta * (value - mean);
    }
    if count < 2 { crate::UNKNOWN } else { (squares / f64::from(count - 1)).sqrt() }
}

fn known_of(values: &[f64]) -> impl Iterator<Item = f64> + '_ {
    values.iter().rev().copied().filter(|value| !value.is_nan())
}

fn median(values: &mut [f64]) -> f64 {
    // Known values to the front; each unknown one is replaced by the last.
    let (mut at, mut end) = (0, values.len());
    while at < end {
        if values[at].is_nan() {
            end -= 1;
            values[at] = values[end];
        } else {
            at += 1;
        }
    }
    let known = &mut values[..end];
    order::sort(known);
    match end {
        0 => crate::UNKNOWN,
        odd if odd % 2 == 1 => known[end / 2],
        _ => 0.5 * (known[end / 2] + known[end / 2 - 1]),
    }
}

/// Sorts the topmost values and picks the one of a rank.  Rank 0 is the value below them.
fn percent(stack: &mut Stack) -> Result<(), E> {
    stack.need(2)?;
    let count = counted(stack.pop()?)?;
    let percent = stack.pop()?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(E::Percent);
    }
    let Ok(length) = usize::try_from(count) else {
        return Err(E::NegativeCount { name: O::Percent.name(), count });
    };
    order::sort(stack.top(length)?);
    let rank = (percent * f64::from(count) / 100.0).round() as usize;
    let bottom = stack.depth() - length;
    let value = match bottom + rank {
        0 => crate::UNKNOWN,
        above => stack.at(above - 1),
    };
    stack.drop_top(length)?;
    stack.push(value)
}

/// ROLL as RRDtool 1.7.2 has it: for more than one value it takes the values to roll from the top
/// upwards, where its own arguments lie, and puts them in place of those below.
fn roll(stack: &mut Stack) -> Result<(), E> {
    stack.need(2)?;
    let shift = to_int(stack.pop()?);
    let count = counted(stack.pop()?)?;
    let Ok(length) = usize::try_from(count) else { return Err(E::Roll(count)) };
    stack.need(length)?;
    if length == 0 {
        return Ok(());
    }
    let top = stack.depth() - 1;
    let taken: Vec<f64> = (0..length).map(|above| stack.at(top + length - 1 - above)).collect();
    let shift = i64::from(shift).rem_euclid(i64::from(count)) as usize;
    for (position, slot) in stack.top(length)?.iter_mut().enumerate() {
        *slot = taken[(position + length - shift) % length];
    }
    Ok(())
}
