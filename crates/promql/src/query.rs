//! A query from its text to its answer.

use std::sync::Arc;

use promql_parser::label::Matcher;
use promql_parser::parser::value::ValueType;

use crate::error::refused;
use crate::evaluation::{Evaluation, Value};
use crate::plan::{Node, Plan, TIME_MS_MAX, parse_selector};
use crate::{
    Labels, QueryBudget, QueryControl, QueryError, QueryLimits, QuerySteps, Series, SeriesPoint,
    SeriesStorage, StepSeries, pieces,
};

/// What a query is evaluated with.
pub struct QueryContext<'a> {
    /// Where series come from.
    pub storage: &'a dyn SeriesStorage,
    /// What the query may use.
    pub limits: QueryLimits,
    /// Says whether the query must end, and whether it may be a large one.
    pub control: &'a dyn QueryControl,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryValue {
    /// A number.
    Scalar(SeriesPoint),
    /// A text, at a time in milliseconds.
    Text(i64, String),
    /// A sample of each series, at the time of the query.
    Vector(Vec<(Arc<Labels>, SeriesPoint)>),
    /// Samples of each series.
    Matrix(Vec<Series>),
    /// Values of each series at steps of a period.
    Steps(QuerySteps, Vec<StepSeries>),
}

impl QueryValue {
    /// The bytes that it takes in memory, about.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let sample = size_of::<SeriesPoint>();
        match self {
            QueryValue::Scalar(_) => sample,
            QueryValue::Text(_, text) => text.len(),
            QueryValue::Vector(found) => {
                found.iter().map(|(labels, _)| labels.size_bytes() + sample).sum()
            }
            QueryValue::Matrix(series) => series
                .iter()
                .map(|one| one.labels.size_bytes() + one.samples.capacity() * sample)
                .sum(),
            QueryValue::Steps(_, series) => series.iter().map(StepSeries::size_bytes).sum(),
        }
    }
}

/// Evaluates a query at one time.
///
/// # Errors
/// If the query is not valid, not offered, needs too much, or must end.
pub fn instant(
    text: &str,
    time_ms: i64,
    context: &QueryContext<'_>,
) -> Result<QueryValue, QueryError> {
    let period = QuerySteps { start_ms: time_ms, end_ms: time_ms, step_ms: 1 };
    let plan = Plan::new(text, checked(period)?)?;
    let budget = QueryBudget::new(context.limits, context.control);
    let evaluation = Evaluation::new(&plan, context.storage, &budget)?;
    if let Node::Window(window) = &plan.root {
        let mut series = Vec::new();
        for (found, samples) in evaluation.windows(window, time_ms)? {
            budget.take_samples(samples.len())?;
            series.push(Series { labels: found.labels.clone(), samples: samples.to_vec() });
        }
        series.sort_by(|one, other| one.labels.cmp(&other.labels));
        return Ok(QueryValue::Matrix(series));
    }
    Ok(match evaluation.value(&plan.root, time_ms)? {
        Value::Scalar(value) => QueryValue::Scalar(SeriesPoint { time_ms, value }),
        Value::Text(text) => QueryValue::Text(time_ms, text),
        Value::Vector(elements) => QueryValue::Vector(
            elements
                .into_iter()
                .map(|element| (element.labels, SeriesPoint { time_ms, value: element.value }))
                .collect(),
        ),
    })
}

/// Evaluates a query at each step of a period.
///
/// # Errors
/// As [`instant`]; also if there are too many steps, or the query gives no number or vector.
pub fn range(
    text: &str,
    period: QuerySteps,
    context: &QueryContext<'_>,
) -> Result<QueryValue, QueryError> {
    let points_max = context.limits.points_max.min(u64::from(u32::MAX));
    if period.steps() > points_max {
        return refused(format!(
            "exceeded maximum resolution of {} points per timeseries. Try decreasing the query \
             resolution (?step=XX)",
            text_of_count(points_max)
        ));
    }
    let plan = Plan::new(text, checked(period)?)?;
    let kind = match plan.kind {
        ValueType::Matrix => "range vector",
        ValueType::String => "string",
        ValueType::Scalar | ValueType::Vector => {
            let budget = QueryBudget::new(context.limits, context.control);
            let mut series = pieces::over(text, plan, period, context.storage, &budget)?;
            series.sort_by(|one, other| one.labels.cmp(&other.labels));
            return Ok(QueryValue::Steps(period, series));
        }
    };
    refused(format!(
        "invalid expression type \"{kind}\" for range query, must be Scalar or instant Vector"
    ))
}

/// The matchers of a text such as `up{job="whit"}`.
///
/// # Errors
/// If it is something else.
pub fn selector(text: &str) -> Result<Vec<Matcher>, QueryError> {
    parse_selector(text)
}

/// A period whose times can be added without overflow.
fn checked(period: QuerySteps) -> Result<QuerySteps, QueryError> {
    let QuerySteps { start_ms, end_ms, step_ms } = period;
    if step_ms < 1 {
        return refused("zero or negative step");
    }
    let is_far = |time_ms: i64| time_ms.unsigned_abs() > TIME_MS_MAX.unsigned_abs();
    if is_far(start_ms) || is_far(end_ms) || is_far(step_ms) {
        return refused("time out of range");
    }
    Ok(period)
}

/// `11,000`.
fn text_of_count(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}
