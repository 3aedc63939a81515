//! Operators between numbers and vectors.

use std::sync::Arc;

use crate::error::failed;
use crate::evaluation::{Element, Evaluation, Value};
use crate::labels::{LabelMap, LabelSet};
use crate::plan::{Binary, Grouping, Many};
use crate::words::Operator;
use crate::{Labels, NAME, QueryError};

impl Binary {
    /// The result for two values; `None` if a comparison leaves it out.  `kept` is what a comparison
    /// that only filters keeps.
    fn apply(&self, left: f64, right: f64, kept: f64) -> Option<f64> {
        match self.operator {
            Operator::Arithmetic(operate) => Some(operate(left, right)),
            Operator::Comparison(holds) if self.is_bool => Some(f64::from(holds(&left, &right))),
            Operator::Comparison(holds) => holds(&left, &right).then_some(kept),
            _ => None,
        }
    }

    /// Whether the result is still a value of the metric.
    fn keeps_name(&self) -> bool {
        matches!(self.operator, Operator::Comparison(_)) && !self.is_bool
    }
}

impl Evaluation<'_> {
    /// The result of an operator at one step.
    pub(crate) fn binary(&self, binary: &Binary, time_ms: i64) -> Result<Value, QueryError> {
        let left = self.value(&binary.left, time_ms)?;
        let right = self.value(&binary.right, time_ms)?;
        match (left, right) {
            (Value::Scalar(left), Value::Scalar(right)) => {
                // Between numbers a comparison gives 0 or 1.
                Ok(Value::Scalar(binary.apply(left, right, left).unwrap_or(0.0)))
            }
            (Value::Vector(left), Value::Scalar(right)) => {
                self.with_number(binary, left, |value| binary.apply(value, right, value))
            }
            (Value::Scalar(left), Value::Vector(right)) => {
                self.with_number(binary, right, |value| binary.apply(left, value, value))
            }
            (Value::Vector(left), Value::Vector(right)) => match binary.operator {
                Operator::And => self.set(binary, left, &right, true),
                Operator::Unless => self.set(binary, left, &right, false),
                Operator::Or => {
                    let others = self.set(binary, right, &left, false)?;
                    let Value::Vector(others) = others else { return Ok(others) };
                    Ok(Value::Vector(left.into_iter().chain(others).collect()))
                }
                _ => self.matched(binary, &left, &right, time_ms).map(Value::Vector),
            },
            _ => failed("binary expression must contain only scalar and instant vector types"),
        }
    }

    fn with_number(
        &self,
        binary: &Binary,
        elements: Vec<Element>,
        apply: impl Fn(f64) -> Option<f64>,
    ) -> Result<Value, QueryError> {
        let mut result = Vec::with_capacity(elements.len());
        for element in elements {
            let Some(value) = apply(element.value) else { continue };
            let labels = match binary.keeps_name() {
                true => element.labels,
                false => self.nameless(&element.labels)?,
            };
            result.push(Element { labels, value, ..element });
        }
        self.distinct(result).map(Value::Vector)
    }

    /// The elements that have a partner among the others, or have none.
    fn set(
        &self,
        binary: &Binary,
        elements: Vec<Element>,
        others: &[Element],
        with_partner: bool,
    ) -> Result<Value, QueryError> {
        let mut partners = LabelSet::default();
        partners.reserve(others.len());
        for other in others {
            partners.insert(self.key(&binary.on, &other.labels)?);
        }
        let mut kept = Vec::new();
        for element in elements {
            if partners.contains(&self.key(&binary.on, &element.labels)?) == with_partner {
                kept.push(element);
            }
        }
        Ok(Value::Vector(kept))
    }

    /// Each element of one side with its partner of the other.
    fn matched(
        &self,
        binary: &Binary,
        left: &[Element],
        right: &[Element],
        time_ms: i64,
    ) -> Result<Vec<Element>, QueryError> {
        if left.is_empty() || right.is_empty() {
            // Nothing can match: Prometheus does not look whether labels are unique then.
            return Ok(Vec::new());
        }
        let is_swapped = matches!(binary.many, Many::Right(_));
        let (many, one) = if is_swapped { (right, left) } else { (left, right) };
        let mut partners: LabelMap<Labels, &Element> = LabelMap::default();
        partners.reserve(one.len());
        for element in one {
            let key = self.key(&binary.on, &element.labels)?;
            if let Some(other) = partners.get(&key) {
                let side = if is_swapped { "left" } else { "right" };
                return failed(format!(
                    "found duplicate series for the match group {key} on the {side} hand-side of \
                     the operation: [{}, {}];many-to-many matching not allowed: matching labels \
                     must be unique on one side",
                    element.labels, other.labels
                ));
            }
            partners.insert(key, element);
        }
        let (mut result, mut seen) = (Vec::new(), LabelSet::default());
        for element in many {
            let key = self.key(&binary.on, &element.labels)?;
            let Some(partner) = partners.get(&key) else { continue };
            let (first, second) =
                if is_swapped { (*partner, element) } else { (element, *partner) };
            let value = binary.apply(first.value, second.value, first.value);
            let Some(value) = value else { continue };
            let labels = self.result_labels(binary, &element.labels, &partner.labels)?;
            if !seen.insert(labels.clone()) {
                return failed(match binary.many {
                    Many::None => {
                        "multiple matches for labels: many-to-one matching must be explicit \
                         (group_left/group_right)"
                    }
                    _ => "multiple matches for labels: grouping labels must ensure unique matches",
                });
            }
            result.push(Element { labels, value, time_ms });
        }
        Ok(result)
    }

    /// The labels by which elements are partners.
    fn key(&self, on: &Grouping, labels: &Labels) -> Result<Labels, QueryError> {
        let key = on.labels(labels);
        self.budget.take_bytes(key.size_bytes())?;
        Ok(key)
    }

    fn result_labels(
        &self,
        binary: &Binary,
        many: &Arc<Labels>,
        one: &Labels,
    ) -> Result<Arc<Labels>, QueryError> {
        let mut labels = Labels::clone(many);
        if !binary.keeps_name() {
            labels.set(NAME, "");
        }
        match &binary.many {
            Many::None => {
                labels = match &binary.on {
                    Grouping::Only(names) => labels.keep(names),
                    Grouping::AllBut(names) => labels.but(names),
                }
            }
            Many::Left(include) | Many::Right(include) => {
                for name in include {
                    labels.set(name, one.get(name));
                }
            }
        }
        self.budget.take_bytes(labels.size_bytes())?;
        Ok(Arc::new(labels))
    }
}
