//! The functions, operators and aggregations, by their names; what is not here is refused.

use calendar::CivilTime;

use crate::QueryError;
use crate::error::refused;
use crate::windows::{Growth, OverWindow};

/// What a function does; in groups, so that each group stands once.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// Changes each value of a vector.
    Each(fn(f64) -> f64),
    /// A part of the date of each value, or of the step.
    Date(fn(&CivilTime) -> i64),
    Over(OverWindow),
    QuantileOverTime,
    AbsentOverTime,
    Clamp,
    ClampMin,
    ClampMax,
    Round,
    LabelReplace,
    LabelJoin,
    Pi,
    Time,
    Timestamp,
    Vector,
    Scalar,
    Absent,
    Sort,
    SortDescending,
}

/// The name of double exponential smoothing, and the one that Prometheus before 3 has for it.
pub(crate) const SMOOTHING: &str = "double_exponential_smoothing";
pub(crate) const SMOOTHING_BEFORE: &str = "holt_winters";

/// The function of a name.
pub(crate) fn function(name: &str) -> Result<Function, QueryError> {
    let growth =
        |is_counter, is_rate| Function::Over(OverWindow::Growth(Growth { is_counter, is_rate }));
    Ok(match name {
        "abs" => Function::Each(f64::abs),
        "ceil" => Function::Each(f64::ceil),
        "floor" => Function::Each(f64::floor),
        "exp" => Function::Each(f64::exp),
        "ln" => Function::Each(f64::ln),
        "log2" => Function::Each(f64::log2),
        "log10" => Function::Each(f64::log10),
        "sqrt" => Function::Each(f64::sqrt),
        "sgn" => Function::Each(|value| match value {
            _ if value < 0.0 => -1.0,
            _ if value > 0.0 => 1.0,
            _ => value,
        }),
        "sin" => Function::Each(f64::sin),
        "cos" => Function::Each(f64::cos),
        "tan" => Function::Each(f64::tan),
        "asin" => Function::Each(f64::asin),
        "acos" => Function::Each(f64::acos),
        "atan" => Function::Each(f64::atan),
        "sinh" => Function::Each(f64::sinh),
        "cosh" => Function::Each(f64::cosh),
        "tanh" => Function::Each(f64::tanh),
        "asinh" => Function::Each(f64::asinh),
        "acosh" => Function::Each(f64::acosh),
        "atanh" => Function::Each(f64::atanh),
        "deg" => Function::Each(f64::to_degrees),
        "rad" => Function::Each(f64::to_radians),
        "pi" => Function::Pi,
        "minute" => Function::Date(|date| date.minute),
        "hour" => Function::Date(|date| date.hour),
        "day_of_week" => Function::Date(|date| date.weekday),
        "day_of_month" => Function::Date(|date| date.day),
        "day_of_year" => Function::Date(|date| date.day_of_year() + 1),
        "days_in_month" => Function::Date(days_in_month),
        "month" => Function::Date(|date| date.month),
        "year" => Function::Date(|date| date.year),
        "rate" => growth(true, true),
        "increase" => growth(true, false),
        "delta" => growth(false, false),
        "irate" => Function::Over(OverWindow::LastRate),
        "idelta" => Function::Over(OverWindow::LastChange),
        "deriv" => Function::Over(OverWindow::Slope),
        "changes" => Function::Over(OverWindow::Changes),
        "resets" => Function::Over(OverWindow::Resets),
        "avg_over_time" => Function::Over(OverWindow::Average),
        "min_over_time" => Function::Over(OverWindow::Min),
        "max_over_time" => Function::Over(OverWindow::Max),
        "sum_over_time" => Function::Over(OverWindow::Sum),
        "count_over_time" => Function::Over(OverWindow::Count),
        "stddev_over_time" => Function::Over(OverWindow::Deviation),
        "stdvar_over_time" => Function::Over(OverWindow::Variance),
        "present_over_time" => Function::Over(OverWindow::Present),
        "last_over_time" => Function::Over(OverWindow::Last),
        "predict_linear" => Function::Over(OverWindow::Predicted),
        SMOOTHING => Function::Over(OverWindow::Smoothed),
        "quantile_over_time" => Function::QuantileOverTime,
        "absent_over_time" => Function::AbsentOverTime,
        "clamp" => Function::Clamp,
        "clamp_min" => Function::ClampMin,
        "clamp_max" => Function::ClampMax,
        "round" => Function::Round,
        "label_replace" => Function::LabelReplace,
        "label_join" => Function::LabelJoin,
        "time" => Function::Time,
        "timestamp" => Function::Timestamp,
        "vector" => Function::Vector,
        "scalar" => Function::Scalar,
        "absent" => Function::Absent,
        "sort" => Function::Sort,
        "sort_desc" => Function::SortDescending,
        _ => return refused(format!("the function {name} is not supported")),
    })
}

fn days_in_month(date: &CivilTime) -> i64 {
    let (year, month) =
        if date.month == 12 { (date.year + 1, 1) } else { (date.year, date.month + 1) };
    calendar::days_of_date(year, month, 1) - calendar::days_of_date(date.year, date.month, 1)
}

/// What stands between two parts.
#[derive(Clone, Copy)]
pub(crate) enum Operator {
    Arithmetic(fn(f64, f64) -> f64),
    Comparison(fn(&f64, &f64) -> bool),
    And,
    Or,
    Unless,
}

impl Operator {
    pub(crate) fn of(sign: &str) -> Result<Self, QueryError> {
        Ok(match sign {
            "+" => Operator::Arithmetic(|one, other| one + other),
            "-" => Operator::Arithmetic(|one, other| one - other),
            "*" => Operator::Arithmetic(|one, other| one * other),
            "/" => Operator::Arithmetic(|one, other| one / other),
            "%" => Operator::Arithmetic(|one, other| one % other),
            "^" => Operator::Arithmetic(f64::powf),
            "atan2" => Operator::Arithmetic(f64::atan2),
            "==" => Operator::Comparison(PartialEq::eq),
            "!=" => Operator::Comparison(PartialEq::ne),
            "<" => Operator::Comparison(PartialOrd::lt),
            "<=" => Operator::Comparison(PartialOrd::le),
            ">" => Operator::Comparison(PartialOrd::gt),
            ">=" => Operator::Comparison(PartialOrd::ge),
            "and" => Operator::And,
            "or" => Operator::Or,
            "unless" => Operator::Unless,
            _ => return refused(format!("the operator {sign} is not supported")),
        })
    }
}

/// What an aggregation does with the values of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    Average,
    Min,
    Max,
    Count,
    Group,
    Deviation,
    Variance,
    Top,
    Bottom,
    Quantile,
    CountValues,
}

impl Operation {
    pub(crate) fn of(name: &str) -> Result<Self, QueryError> {
        Ok(match name {
            "sum" => Operation::Sum,
            "avg" => Operation::Average,
            "min" => Operation::Min,
            "max" => Operation::Max,
            "count" => Operation::Count,
            "group" => Operation::Group,
            "stddev" => Operation::Deviation,
            "stdvar" => Operation::Variance,
            "topk" => Operation::Top,
            "bottomk" => Operation::Bottom,
            "quantile" => Operation::Quantile,
            "count_values" => Operation::CountValues,
            _ => return refused(format!("the aggregation {name} is not supported")),
        })
    }
}
