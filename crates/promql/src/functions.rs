//! What each function does at a step.

use calendar::CivilTime;
use promql_parser::label::MatchOp;
use regex::Regex;
use std::sync::Arc;

use crate::error::failed;
use crate::evaluation::{Element, Evaluation, Value};
use crate::labels::check_label;
use crate::plan::{Node, Window, window_of};
use crate::windows::{self, Fold, OverWindow};
use crate::words::Function;
use crate::{Labels, NAME, QueryError};

/// Bytes of the value of a label that a function makes.
const LABEL_BYTES_MAX: usize = 4096;

impl Evaluation<'_> {
    /// The result of a function at one step.
    pub(crate) fn call(
        &self,
        function: Function,
        arguments: &[Node],
        time_ms: i64,
    ) -> Result<Value, QueryError> {
        let now_s = time_ms as f64 / 1000.0;
        let elements = match (function, arguments) {
            (Function::Time, []) => return Ok(Value::Scalar(now_s)),
            (Function::Pi, []) => return Ok(Value::Scalar(std::f64::consts::PI)),
            (Function::Scalar, [inner]) => {
                let elements = self.vector(inner, time_ms)?;
                let only = if let [one] = &elements[..] { one.value } else { f64::NAN };
                return Ok(Value::Scalar(only));
            }
            (Function::Vector, [inner]) => {
                let value = self.scalar(inner, time_ms)?;
                vec![self.element(Labels::default(), value, time_ms)?]
            }
            (Function::Each(change), [inner]) => {
                let elements = self.vector(inner, time_ms)?;
                self.each(elements, change)?
            }
            (Function::Date(part), []) => {
                vec![self.element(Labels::default(), date_part(part, now_s), time_ms)?]
            }
            (Function::Date(part), [inner]) => {
                let elements = self.vector(inner, time_ms)?;
                self.each(elements, |value| date_part(part, value))?
            }
            (Function::Sort | Function::SortDescending, [inner]) => {
                let mut elements = self.vector(inner, time_ms)?;
                sort(&mut elements, matches!(function, Function::SortDescending));
                elements
            }
            (Function::Timestamp, [inner]) => self.timestamp(inner, time_ms)?,
            (Function::Absent, [inner]) => {
                let is_absent = self.vector(inner, time_ms)?.is_empty();
                self.absent(inner, is_absent, time_ms)?
            }
            (Function::AbsentOverTime, [inner @ Node::Window(window)]) => {
                let is_absent = self.windows(window, time_ms)?.is_empty();
                self.absent(inner, is_absent, time_ms)?
            }
            (
                Function::Clamp | Function::ClampMin | Function::ClampMax | Function::Round,
                [inner, bounds @ ..],
            ) => self.bounded(function, inner, bounds, time_ms)?,
            (Function::LabelReplace, [inner, target, new, source, pattern]) => {
                let texts =
                    [self.text(target)?, self.text(new)?, self.text(source)?, self.text(pattern)?];
                self.label_replace(self.vector(inner, time_ms)?, texts)?
            }
            (Function::LabelJoin, [inner, target, separator, sources @ ..]) => {
                let sources = sources.iter().map(|one| self.text(one));
                let sources = sources.collect::<Result<Vec<_>, _>>()?;
                let elements = self.vector(inner, time_ms)?;
                self.label_join(elements, self.text(target)?, self.text(separator)?, &sources)?
            }
            (Function::Over(over), _) => self.over_window(over, arguments, time_ms)?,
            (Function::QuantileOverTime, [share, Node::Window(window)]) => {
                self.quantile(self.scalar(share, time_ms)?, window, time_ms)?
            }
            _ => return failed("wrong arguments of a function"),
        };
        Ok(Value::Vector(elements))
    }

    fn over_window(
        &self,
        over: OverWindow,
        arguments: &[Node],
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        let Some((window, others)) = window_of(arguments) else {
            return failed("wrong arguments of a function");
        };
        let numbers = others.map(|other| other.map_or(Ok(0.0), |one| self.scalar(one, time_ms)));
        let [first, second] = numbers;
        let numbers = [first?, second?];
        if over == OverWindow::Smoothed {
            check_factors(numbers)?;
        }
        let bounds = window.bounds(time_ms);
        let mut elements = Vec::new();
        for (series, samples) in self.windows(window, time_ms)? {
            for _ in samples.chunks(64) {
                self.budget.turn()?;
            }
            let value = match &series.fold {
                Some(fold) => fold.result(bounds),
                None => {
                    let mut fold = Fold::new(over, numbers, time_ms);
                    fold.add_samples(samples);
                    fold.result(bounds)
                }
            };
            // The last value is still one of the metric.
            let keeps_name = over == OverWindow::Last;
            let labels = if keeps_name { &series.labels } else { &series.nameless };
            let labels = labels.clone();
            elements.extend(value.map(|value| Element { labels, value, time_ms }));
        }
        self.distinct(elements)
    }

    fn quantile(
        &self,
        share: f64,
        window: &Window,
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        let mut elements = Vec::new();
        for (series, samples) in self.windows(window, time_ms)? {
            for _ in samples.chunks(64) {
                self.budget.turn()?;
            }
            let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
            let value = windows::quantile(share, &mut values);
            elements.push(Element { labels: series.nameless.clone(), value, time_ms });
        }
        self.distinct(elements)
    }

    fn timestamp(&self, inner: &Node, time_ms: i64) -> Result<Vec<Element>, QueryError> {
        let is_selector = matches!(inner, Node::Latest(_));
        let mut elements = self.vector(inner, time_ms)?;
        for element in &mut elements {
            let read_ms = if is_selector { element.time_ms } else { time_ms };
            element.value = read_ms as f64 / 1000.0;
        }
        self.each(elements, |value| value)
    }

    /// 1 with the labels that the selector asks for, if there is nothing.
    fn absent(
        &self,
        inner: &Node,
        is_absent: bool,
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        if !is_absent {
            return Ok(Vec::new());
        }
        let place = match inner {
            Node::Latest(place) | Node::Window(Window { place, subquery: None, .. }) => Some(place),
            _ => None,
        };
        let (mut labels, mut seen) = (Labels::default(), Vec::new());
        for matcher in place.map_or(&[][..], |place| self.matchers_of(place)) {
            if matcher.name == NAME {
                continue;
            }
            // A label that is asked for twice has no certain value.
            let is_first = !seen.contains(&&matcher.name);
            match matcher.op {
                MatchOp::Equal if is_first => {
                    labels.set(&matcher.name, &matcher.value);
                    seen.push(&matcher.name);
                }
                _ => labels.set(&matcher.name, ""),
            }
        }
        Ok(vec![self.element(labels, 1.0, time_ms)?])
    }

    fn bounded(
        &self,
        function: Function,
        inner: &Node,
        bounds: &[Node],
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        let bounds = bounds.iter().map(|bound| self.scalar(bound, time_ms));
        let bounds = bounds.collect::<Result<Vec<_>, _>>()?;
        let elements = self.vector(inner, time_ms)?;
        match (function, &bounds[..]) {
            (Function::Clamp, &[least, most]) if most < least => Ok(Vec::new()),
            (Function::Clamp, &[least, most]) => {
                self.each(elements, |value| larger(least, smaller(most, value)))
            }
            (Function::ClampMin, &[least]) => self.each(elements, |value| larger(least, value)),
            (Function::ClampMax, &[most]) => self.each(elements, |value| smaller(most, value)),
            (Function::Round, []) => self.each(elements, |value| (value + 0.5).floor()),
            (Function::Round, &[unit]) => {
                // By the inverse, for equal digits.
                let inverse = 1.0 / unit;
                self.each(elements, |value| (value * inverse + 0.5).floor() / inverse)
            }
            _ => failed("wrong arguments of a function"),
        }
    }

    fn label_replace(
        &self,
        elements: Vec<Element>,
        [target, new, source, pattern]: [&str; 4],
    ) -> Result<Vec<Element>, QueryError> {
        let Ok(regex) = Regex::new(&format!("^(?:{pattern})$")) else {
            return failed(format!("invalid regular expression in label_replace(): {pattern}"));
        };
        check_label(target, "label_replace()")?;
        self.relabelled(elements, target, |labels| {
            let captures = regex.captures(labels.get(source))?;
            let mut value = String::new();
            captures.expand(new, &mut value);
            Some(value)
        })
    }

    fn label_join(
        &self,
        elements: Vec<Element>,
        target: &str,
        separator: &str,
        sources: &[&str],
    ) -> Result<Vec<Element>, QueryError> {
        for name in sources {
            check_label(name, "label_join()")?;
        }
        check_label(target, "label_join()")?;
        self.relabelled(elements, target, |labels| {
            let values: Vec<&str> = sources.iter().map(|name| labels.get(name)).collect();
            Some(values.join(separator))
        })
    }

    /// Sets one label of each element, unless there is no value for it.
    fn relabelled(
        &self,
        mut elements: Vec<Element>,
        target: &str,
        value: impl Fn(&Labels) -> Option<String>,
    ) -> Result<Vec<Element>, QueryError> {
        for element in &mut elements {
            let Some(value) = value(&element.labels) else { continue };
            if value.len() > LABEL_BYTES_MAX {
                return failed(format!("a label would have more than {LABEL_BYTES_MAX} bytes"));
            }
            let labels = Arc::make_mut(&mut element.labels);
            labels.set(target, &value);
            self.budget.take_bytes(labels.size_bytes())?;
        }
        self.distinct(elements)
    }
}

/// Refuses factors of smoothing that are none.
fn check_factors([level, trend]: [f64; 2]) -> Result<(), QueryError> {
    for (name, factor) in [("smoothing", level), ("trend", trend)] {
        if factor <= 0.0 || factor >= 1.0 {
            return failed(format!("invalid {name} factor: it is between 0 and 1, not {factor}"));
        }
    }
    Ok(())
}

/// The larger one, as Go has it: what is no number stays none, except beside infinity.
fn larger(one: f64, other: f64) -> f64 {
    let is_number = !one.is_nan() && !other.is_nan();
    if is_number || one == f64::INFINITY || other == f64::INFINITY {
        one.max(other)
    } else {
        f64::NAN
    }
}

/// The smaller one, likewise.
fn smaller(one: f64, other: f64) -> f64 {
    -larger(-one, -other)
}

fn date_part(part: fn(&CivilTime) -> i64, seconds: f64) -> f64 {
    // Beyond three million years there is no date.
    if seconds.abs() < 1e14 { part(&CivilTime::of_local(seconds as i64)) as f64 } else { f64::NAN }
}

/// Sorts by value, with what is no number at the end.
fn sort(elements: &mut [Element], descending: bool) {
    elements.sort_by(|one, other| {
        let (first, second) = if descending { (other, one) } else { (one, other) };
        one.value
            .is_nan()
            .cmp(&other.value.is_nan())
            .then(windows::order(first.value, second.value))
    });
}
