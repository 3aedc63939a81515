//! Evaluates a plan, step by step.
//!
//! The samples of all selectors are loaded first.  A subquery is evaluated over its whole period when
//! it is first needed, and kept.

use std::cell::OnceCell;
use std::sync::Arc;

use promql_parser::label::Matcher;

use crate::error::failed;
use crate::growing::{Growing, reserve};
use crate::labels::LabelSet;
use crate::plan::{LOOKBACK_MS, Node, Plan, SelectorTimes, Window};
use crate::storage::within;
use crate::windows::Fold;
use crate::{
    Labels, QueryBudget, QueryError, QuerySteps, SeriesPoint, SeriesStorage, folded, is_stale,
};

/// The bytes of an element of a vector.
const ELEMENT_BYTES: usize = 64;

/// Steps of a subquery: what they have is one sample at least, or takes a look at the clock.
const STEPS_MAX: u64 = 5_000_000;

/// One series at one step.
#[derive(Clone)]
pub(crate) struct Element {
    pub(crate) labels: Arc<Labels>,
    pub(crate) value: f64,
    /// When the value was read; of a result the time of the step.
    pub(crate) time_ms: i64,
}

/// A part of a query at one step.
pub(crate) enum Value {
    Scalar(f64),
    Text(String),
    Vector(Vec<Element>),
}

/// A series that was loaded.
pub(crate) struct Loaded {
    pub(crate) labels: Arc<Labels>,
    /// Without the name of the metric, as functions give them.
    pub(crate) nameless: Arc<Labels>,
    /// What a function makes of the samples: then there is the last of them alone.
    pub(crate) fold: Option<Fold>,
    samples: Vec<SeriesPoint>,
}

impl Loaded {
    fn new(labels: Arc<Labels>, samples: Vec<SeriesPoint>) -> Self {
        Loaded { nameless: without_name(&labels), labels, fold: None, samples }
    }

    fn folded(labels: Arc<Labels>, fold: Fold, last: SeriesPoint) -> Self {
        Loaded { fold: Some(fold), ..Loaded::new(labels, vec![last]) }
    }
}

/// A query that is being evaluated.
pub(crate) struct Evaluation<'a> {
    plan: &'a Plan,
    selected: Vec<Vec<Loaded>>,
    subqueries: Vec<OnceCell<Vec<Loaded>>>,
    pub(crate) budget: &'a QueryBudget<'a>,
}

impl<'a> Evaluation<'a> {
    /// Loads what the selectors of a plan need.
    pub(crate) fn new(
        plan: &'a Plan,
        storage: &dyn SeriesStorage,
        budget: &'a QueryBudget<'a>,
    ) -> Result<Self, QueryError> {
        let mut selected = Vec::new();
        for one in &plan.selections {
            budget.look()?;
            if let Some(fold) = &one.fold {
                let found = folded::load(one, fold, storage, budget)?.into_iter();
                let folded = |(labels, (fold, last))| Loaded::folded(labels, fold, last);
                selected.push(found.map(folded).collect());
                continue;
            }
            let mut series = storage.select(&one.matchers, one.from_ms, one.to_ms, budget)?;
            // Of equal values the first are chosen, so the order must not depend on the storage.
            series.sort_by(|one, other| one.labels.cmp(&other.labels));
            if one.is_window {
                for series in &mut series {
                    series.samples.retain(|sample| !is_stale(sample.value));
                }
            }
            selected
                .push(series.into_iter().map(|one| Loaded::new(one.labels, one.samples)).collect());
        }
        let subqueries = (0..plan.subqueries).map(|_| OnceCell::new()).collect();
        Ok(Evaluation { plan, selected, subqueries, budget })
    }

    /// The values at all steps of a period, each with its position among those of its step.
    pub(crate) fn over(
        &self,
        node: &Node,
        period: QuerySteps,
        mut take: impl FnMut(usize, Arc<Labels>, SeriesPoint) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        if period.steps() > STEPS_MAX {
            return failed("a subquery has too many steps: choose a longer step");
        }
        let mut time_ms = period.start_ms;
        while time_ms <= period.end_ms {
            self.budget.turn()?;
            let at_begin = self.budget.begin_step();
            let elements = match self.value(node, time_ms)? {
                Value::Vector(elements) => elements,
                Value::Scalar(value) => vec![Element { labels: Arc::default(), value, time_ms }],
                Value::Text(_) => return failed("a text has no series"),
            };
            for (position, element) in elements.into_iter().enumerate() {
                self.budget.take_samples(1)?;
                take(position, element.labels, SeriesPoint { time_ms, value: element.value })?;
            }
            self.budget.end_step(at_begin);
            time_ms += period.step_ms;
        }
        Ok(())
    }

    /// The value of a part at one step.
    pub(crate) fn value(&self, node: &Node, time_ms: i64) -> Result<Value, QueryError> {
        self.budget.turn()?;
        match node {
            Node::Number(number) => Ok(Value::Scalar(*number)),
            Node::Text(text) => Ok(Value::Text(text.clone())),
            Node::Latest(place) => self.latest(place, time_ms).map(Value::Vector),
            Node::Window(_) => failed("a range vector stands where an instant vector must"),
            Node::Negate(inner) => match self.value(inner, time_ms)? {
                Value::Scalar(value) => Ok(Value::Scalar(-value)),
                Value::Vector(elements) => self.each(elements, |value| -value).map(Value::Vector),
                Value::Text(_) => failed("a text has no sign"),
            },
            Node::Binary(binary) => self.binary(binary, time_ms),
            Node::Aggregate(aggregate) => self.aggregate(aggregate, time_ms).map(Value::Vector),
            Node::Call(function, arguments) => self.call(*function, arguments, time_ms),
        }
    }

    /// A part that is a vector.
    pub(crate) fn vector(&self, node: &Node, time_ms: i64) -> Result<Vec<Element>, QueryError> {
        match self.value(node, time_ms)? {
            Value::Vector(elements) => Ok(elements),
            _ => failed("an instant vector is expected"),
        }
    }

    /// A part that is a number.
    pub(crate) fn scalar(&self, node: &Node, time_ms: i64) -> Result<f64, QueryError> {
        match self.value(node, time_ms)? {
            Value::Scalar(value) => Ok(value),
            _ => failed("a scalar is expected"),
        }
    }

    /// A part that is a text.
    pub(crate) fn text<'n>(&self, node: &'n Node) -> Result<&'n str, QueryError> {
        match node {
            Node::Text(text) => Ok(text),
            _ => failed("a text is expected"),
        }
    }

    /// The latest sample of each series of a selector.
    fn latest(&self, place: &SelectorTimes, step_ms: i64) -> Result<Vec<Element>, QueryError> {
        let time_ms = place.time_ms(step_ms);
        let mut found = Vec::new();
        for series in &self.selected[place.index] {
            self.budget.turn()?;
            let until = series.samples.partition_point(|sample| sample.time_ms <= time_ms);
            let latest = until.checked_sub(1).map(|index| series.samples[index]);
            let latest = latest.filter(|sample| sample.time_ms >= time_ms - LOOKBACK_MS);
            if let Some(SeriesPoint { time_ms, value }) = latest.filter(|one| !is_stale(one.value))
            {
                self.budget.take_bytes(ELEMENT_BYTES)?;
                found.push(Element { labels: series.labels.clone(), value, time_ms });
            }
        }
        Ok(found)
    }

    /// The last time of each selector, and the last sample of each of its series.
    pub(crate) fn newest(
        &self,
    ) -> impl Iterator<Item = (i64, impl Iterator<Item = (&Labels, &SeriesPoint)>)> {
        let selections = self.plan.selections.iter().zip(&self.selected);
        selections.map(|(selection, series)| {
            (
                selection.to_ms,
                series.iter().filter_map(|one| Some((&*one.labels, one.samples.last()?))),
            )
        })
    }

    /// What the selector of a place asked for.
    pub(crate) fn matchers_of(&self, place: &SelectorTimes) -> &[Matcher] {
        &self.plan.selections[place.index].matchers
    }

    /// The samples of each series in a window; series without any are left out.
    pub(crate) fn windows(
        &self,
        window: &Window,
        step_ms: i64,
    ) -> Result<Vec<(&Loaded, &[SeriesPoint])>, QueryError> {
        let (from_ms, to_ms) = window.bounds(step_ms);
        let mut found = Vec::new();
        for series in self.series_of(window)? {
            self.budget.turn()?;
            let samples = within(&series.samples, from_ms, to_ms);
            if !samples.is_empty() {
                self.budget.take_bytes(ELEMENT_BYTES)?;
                found.push((series, samples));
            }
        }
        Ok(found)
    }

    fn series_of(&self, window: &Window) -> Result<&[Loaded], QueryError> {
        let index = window.place.index;
        let Some((node, period)) = &window.subquery else { return Ok(&self.selected[index]) };
        let cell = &self.subqueries[index];
        if cell.get().is_none() {
            let mut growing: Growing<Vec<SeriesPoint>> = Growing::new();
            self.over(node, *period, |position, labels, sample| {
                let samples = growing.values_of(position, labels, self.budget)?;
                reserve(samples, 1);
                samples.push(sample);
                Ok(())
            })?;
            let series = growing.into_series().into_iter();
            // It was empty, and nothing within the subquery has its number.
            let _ =
                cell.set(series.map(|(labels, samples)| Loaded::new(labels, samples)).collect());
        }
        Ok(cell.get().map_or(&[], Vec::as_slice))
    }

    /// Changes each value; the name of the metric is no longer right.
    pub(crate) fn each(
        &self,
        elements: Vec<Element>,
        change: impl Fn(f64) -> f64,
    ) -> Result<Vec<Element>, QueryError> {
        let mut changed = Vec::with_capacity(elements.len());
        for element in elements {
            let labels = self.nameless(&element.labels)?;
            changed.push(Element { labels, value: change(element.value), ..element });
        }
        self.distinct(changed)
    }

    /// Labels without the name of the metric.
    pub(crate) fn nameless(&self, labels: &Arc<Labels>) -> Result<Arc<Labels>, QueryError> {
        let nameless = without_name(labels);
        if !Arc::ptr_eq(&nameless, labels) {
            self.budget.take_bytes(nameless.size_bytes())?;
        }
        self.budget.turn()?;
        Ok(nameless)
    }

    /// Refuses a vector in which two elements have the same labels.
    pub(crate) fn distinct(&self, elements: Vec<Element>) -> Result<Vec<Element>, QueryError> {
        if elements.len() > 1 {
            let mut seen = LabelSet::default();
            seen.reserve(elements.len());
            for element in &elements {
                self.budget.turn()?;
                if !seen.insert(&element.labels) {
                    return failed("vector cannot contain metrics with the same labelset");
                }
            }
        }
        Ok(elements)
    }

    /// Takes memory for a new element; its labels are new too.
    pub(crate) fn element(
        &self,
        labels: Labels,
        value: f64,
        time_ms: i64,
    ) -> Result<Element, QueryError> {
        self.budget.take_bytes(ELEMENT_BYTES + labels.size_bytes())?;
        Ok(Element { labels: Arc::new(labels), value, time_ms })
    }
}

impl Window {
    /// The first and the last time of the range, at a step.
    pub(crate) fn bounds(&self, step_ms: i64) -> (i64, i64) {
        let to_ms = self.place.time_ms(step_ms);
        (to_ms - self.length_ms, to_ms)
    }
}

fn without_name(labels: &Arc<Labels>) -> Arc<Labels> {
    match labels.get(crate::NAME) {
        "" => labels.clone(),
        _ => Arc::new(labels.without(&[])),
    }
}
