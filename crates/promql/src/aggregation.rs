//! Aggregations: several elements of a vector become one, or a few of them are chosen.

use crate::error::failed;
use crate::evaluation::{Element, Evaluation, Value};
use crate::labels::LabelMap;
use crate::number::write_number;
use crate::plan::{Aggregate, Grouping};
use crate::windows::{order, quantile};
use crate::words::Operation;
use crate::{Labels, QueryError};

impl Operation {
    /// The number for the values of a group, which has one at least.
    fn of_values(self, values: &mut [f64], parameter: f64) -> f64 {
        let larger =
            |most: f64, value: f64| if most < value || most.is_nan() { value } else { most };
        let smaller =
            |least: f64, value: f64| if least > value || least.is_nan() { value } else { least };
        let all = values.iter().copied();
        match self {
            Operation::Sum => all.sum(),
            Operation::Average => average(values),
            Operation::Min => all.reduce(smaller).unwrap_or(f64::NAN),
            Operation::Max => all.reduce(larger).unwrap_or(f64::NAN),
            Operation::Count => values.len() as f64,
            Operation::Deviation => variance(values).sqrt(),
            Operation::Variance => variance(values),
            Operation::Quantile => quantile(parameter, values),
            Operation::Group | Operation::Top | Operation::Bottom | Operation::CountValues => 1.0,
        }
    }
}

impl Grouping {
    /// The labels that elements of one group have in common.
    pub(crate) fn labels(&self, labels: &Labels) -> Labels {
        match self {
            Grouping::Only(names) => labels.keep(names),
            Grouping::AllBut(names) => labels.without(names),
        }
    }
}

impl Evaluation<'_> {
    /// The result of an aggregation at one step.
    pub(crate) fn aggregate(
        &self,
        aggregate: &Aggregate,
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        let parameter = aggregate.parameter.as_ref().map(|node| self.value(node, time_ms));
        let parameter = parameter.transpose()?;
        let elements = self.vector(&aggregate.inner, time_ms)?;
        let (number, text) = match parameter {
            None => (0.0, String::new()),
            Some(Value::Scalar(number)) => (number, String::new()),
            Some(Value::Text(text)) => (0.0, text),
            Some(Value::Vector(_)) => return failed("a vector is no parameter of an aggregation"),
        };
        let operation = aggregate.operation;
        if operation == Operation::CountValues {
            return self.count_values(aggregate, &elements, &text, time_ms);
        }
        let mut result = Vec::new();
        for (labels, members) in self.groups(&aggregate.by, &elements)? {
            if matches!(operation, Operation::Top | Operation::Bottom) {
                let chosen = chosen(operation, number, members)?;
                result.extend(chosen.into_iter().map(|element| Element { time_ms, ..element }));
                continue;
            }
            let mut values: Vec<f64> = members.iter().map(|element| element.value).collect();
            let value = operation.of_values(&mut values, number);
            result.push(self.element(labels, value, time_ms)?);
        }
        Ok(result)
    }

    /// The groups in the order of their first elements.
    fn groups<'e>(
        &self,
        by: &Grouping,
        elements: &'e [Element],
    ) -> Result<Vec<(Labels, Vec<&'e Element>)>, QueryError> {
        let mut places: LabelMap<Labels, usize> = LabelMap::default();
        let mut members: Vec<Vec<&Element>> = Vec::new();
        for element in elements {
            self.budget.turn()?;
            let labels = by.labels(&element.labels);
            self.budget.take_bytes(labels.size_bytes())?;
            let place = *places.entry(labels).or_insert(members.len());
            match members.get_mut(place) {
                Some(group) => group.push(element),
                None => members.push(vec![element]),
            }
        }
        let mut labels: Vec<(usize, Labels)> =
            places.into_iter().map(|(labels, place)| (place, labels)).collect();
        labels.sort_by_key(|(place, _)| *place);
        Ok(labels.into_iter().map(|(_, labels)| labels).zip(members).collect())
    }

    /// For each value in a group, how many elements have it; the value becomes a label.
    fn count_values(
        &self,
        aggregate: &Aggregate,
        elements: &[Element],
        label: &str,
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        crate::labels::check_label(label, "count_values")?;
        let mut labelled = Vec::with_capacity(elements.len());
        for element in elements {
            let mut labels = aggregate.by.labels(&element.labels);
            let mut value = String::new();
            // A string takes everything.
            let _ = write_number(element.value, &mut value);
            labels.set(label, &value);
            labelled.push(self.element(labels, 1.0, time_ms)?);
        }
        let mut counted = Vec::new();
        for (labels, members) in self.groups(&Grouping::AllBut(Vec::new()), &labelled)? {
            counted.push(self.element(labels, members.len() as f64, time_ms)?);
        }
        Ok(counted)
    }
}

/// The elements of a group with the largest or smallest values; what is no number comes last.
fn chosen(
    operation: Operation,
    count: f64,
    mut members: Vec<&Element>,
) -> Result<Vec<Element>, QueryError> {
    if !(count > -9.3e18 && count < 9.2e18) {
        return failed(format!("Scalar value {count} overflows int64"));
    }
    members.sort_by(|one, other| {
        let by_value = match operation {
            Operation::Top => order(other.value, one.value),
            _ => order(one.value, other.value),
        };
        one.value.is_nan().cmp(&other.value.is_nan()).then(by_value)
    });
    // Below 1 it becomes 0.
    members.truncate(count as usize);
    Ok(members.into_iter().cloned().collect())
}

/// The mean, as Prometheus moves it from value to value; an infinite one stays.
fn average(values: &[f64]) -> f64 {
    let mut mean = 0.0_f64;
    for (index, &value) in values.iter().enumerate() {
        let count = (index + 1) as f64;
        let stays =
            if value.is_infinite() { (mean > 0.0) == (value > 0.0) } else { !value.is_nan() };
        if index == 0 || !(mean.is_infinite() && stays) {
            mean += value / count - mean / count;
        }
    }
    mean
}

/// The variance, as Prometheus 2.42 adds it up: a single value has none, and be it infinite.
fn variance(values: &[f64]) -> f64 {
    let (mut mean, mut squares) = (values.first().copied().unwrap_or(f64::NAN), 0.0);
    for (index, &value) in values.iter().enumerate().skip(1) {
        let delta = value - mean;
        mean += delta / (index + 1) as f64;
        squares += delta * (value - mean);
    }
    squares / values.len() as f64
}
