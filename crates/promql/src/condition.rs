//! A query as a condition: which of its elements hold, which do not, and whether there is data at all.
//!
//! The value of a comparison has the elements that hold alone; an alarm must know more: whether an
//! element does not hold, or is not known.

use std::collections::BTreeSet;
use std::sync::Arc;

use promql_parser::parser::value::ValueType;

use crate::error::{failed, refused};
use crate::evaluation::{Evaluation, Value};
use crate::plan::{LOOKBACK_MS, Node, Plan};
use crate::words::Operator;
use crate::{
    Labels, QueryBudget, QueryContext, QueryError, QuerySteps, Series, SeriesPoint, is_stale,
};

/// The label of the host.
const HOST: &str = "instance";

/// An element of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionElement {
    /// The labels of the series.
    pub labels: Arc<Labels>,
    /// The value that is compared; without a comparison, that of the query.
    pub value: f64,
    /// Whether the condition holds.
    pub holds: bool,
    /// Whether it would hold with the other limit that was asked for.
    pub holds_at_limit: bool,
}

/// What a condition is at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// The series of the answer.
    pub elements: Vec<ConditionElement>,
    /// Whether the elements are all that are known; otherwise those that hold.
    pub is_complete: bool,
    /// Whether each selector found a sample that is not older than five minutes.
    pub has_data: bool,
    /// The hosts (labels `instance`) of which each selector found one.
    pub hosts: BTreeSet<String>,
}

impl Condition {
    /// Whether an element with these labels would be among the elements if it were known and held.
    #[must_use]
    pub fn is_known(&self, labels: &Labels) -> bool {
        match labels.get(HOST) {
            _ if self.is_complete => false,
            "" => self.has_data,
            host => self.hosts.contains(host),
        }
    }
}

/// Checks that a text is a condition: a query whose value is a vector.  `true` if it is a comparison
/// with a number, which has a limit.
///
/// # Errors
/// If the text is no query, or none of a vector.
pub fn check_condition(text: &str) -> Result<bool, QueryError> {
    let plan = planned(text, QuerySteps { start_ms: 0, end_ms: 0, step_ms: 1 })?;
    Ok(compared(&plan).is_some())
}

/// Evaluates a condition at a time; `limit` is another one for its comparison.
///
/// # Errors
/// As of [`crate::instant`].
pub fn condition(
    text: &str,
    limit: Option<f64>,
    time_ms: i64,
    context: &QueryContext<'_>,
) -> Result<Condition, QueryError> {
    let period = QuerySteps { start_ms: time_ms, end_ms: time_ms, step_ms: 1 };
    let plan = planned(text, period)?;
    let budget = QueryBudget::new(context.limits, context.control);
    let evaluation = Evaluation::new(&plan, context.storage, &budget)?;
    let (has_data, hosts) = evaluation.fresh();
    let element = |labels, value, holds, holds_at_limit| ConditionElement {
        labels,
        value,
        holds,
        holds_at_limit,
    };
    let Some((left, right, compare)) = compared(&plan) else {
        let Value::Vector(found) = evaluation.value(&plan.root, time_ms)? else {
            return failed("a condition is a vector");
        };
        let found = found.into_iter().map(|one| element(one.labels, one.value, true, true));
        return Ok(Condition { elements: found.collect(), is_complete: false, has_data, hosts });
    };
    let bound = evaluation.scalar(right, time_ms)?;
    let limit = limit.unwrap_or(bound);
    let elements = evaluation.vector(left, time_ms)?.into_iter().map(|one| {
        let (holds, at_limit) = (compare(&one.value, &bound), compare(&one.value, &limit));
        element(one.labels, one.value, holds, at_limit)
    });
    Ok(Condition { elements: elements.collect(), is_complete: true, has_data, hosts })
}

/// The values that a condition compares over a period, and what with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConditionValues {
    /// The values of each set of labels that has any.
    pub series: Vec<Series>,
    /// What they are compared with at the end of the period; `None` if they are not.
    pub bound: Option<f64>,
}

/// The values that a condition compares, at each step of a period: of at most `series_max` sets of labels
/// for which `is_wanted`.
///
/// # Errors
/// As of [`crate::range`].
pub fn condition_values(
    text: &str,
    period: QuerySteps,
    (series_max, is_wanted): (usize, &dyn Fn(&Labels) -> bool),
    context: &QueryContext<'_>,
) -> Result<ConditionValues, QueryError> {
    let plan = planned(text, period)?;
    let budget = QueryBudget::new(context.limits, context.control);
    let evaluation = Evaluation::new(&plan, context.storage, &budget)?;
    let compared = compared(&plan);
    let node = compared.map_or(&plan.root, |(left, ..)| left);
    let mut found = ConditionValues::default();
    let mut time_ms = period.start_ms;
    while time_ms <= period.end_ms {
        for one in evaluation.vector(node, time_ms)? {
            let sample = SeriesPoint { time_ms, value: one.value };
            let is_full = found.series.len() >= series_max;
            match found.series.iter_mut().find(|known| known.labels == one.labels) {
                Some(known) => known.samples.push(sample),
                None if !is_full && is_wanted(&one.labels) => {
                    found.series.push(Series { labels: one.labels, samples: vec![sample] });
                }
                None => {}
            }
        }
        time_ms = time_ms.saturating_add(period.step_ms.max(1));
    }
    if let Some((_, right, _)) = compared {
        found.bound = Some(evaluation.scalar(right, period.end_ms)?);
    }
    Ok(found)
}

fn planned(text: &str, period: QuerySteps) -> Result<Plan, QueryError> {
    let plan = Plan::new(text, period)?;
    match plan.kind {
        ValueType::Vector => Ok(plan),
        _ => refused("a condition gives a vector, such as node_load1 > 20"),
    }
}

type Compared<'a> = (&'a Node, &'a Node, fn(&f64, &f64) -> bool);

/// The vector on the left, the number on the right and how they are compared.
fn compared(plan: &Plan) -> Option<Compared<'_>> {
    let Node::Binary(binary) = &plan.root else { return None };
    match (binary.operator, is_number(&binary.right) && !is_number(&binary.left)) {
        (Operator::Comparison(compare), true) if !binary.is_bool => {
            Some((&binary.left, &binary.right, compare))
        }
        _ => None,
    }
}

fn is_number(node: &Node) -> bool {
    match node {
        Node::Number(_) => true,
        Node::Negate(inner) => is_number(inner),
        Node::Binary(binary) => is_number(&binary.left) && is_number(&binary.right),
        _ => false,
    }
}

impl Evaluation<'_> {
    /// Whether each selector found a sample that is not too old, and no mark of an end behind it; and of
    /// which hosts each did.
    fn fresh(&self) -> (bool, BTreeSet<String>) {
        let mut all: Option<BTreeSet<String>> = None;
        let mut has_data = true;
        for (to_ms, newest) in self.newest() {
            let is_fresh =
                |last: &SeriesPoint| !is_stale(last.value) && last.time_ms >= to_ms - LOOKBACK_MS;
            let found = newest.filter(|(_, last)| is_fresh(last));
            let found: BTreeSet<String> =
                found.map(|(labels, _)| labels.get(HOST).to_owned()).collect();
            has_data &= !found.is_empty();
            all = Some(all.map_or(found.clone(), |all| &all & &found));
        }
        (has_data, all.unwrap_or_default())
    }
}
