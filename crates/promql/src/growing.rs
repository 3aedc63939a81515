//! Series that grow while a query is evaluated step by step, and the values of an answer at its steps.
//!
//! An answer over a period has values at steps that all its series share: where values follow at each
//! step, their times need no memory, so that a value is 8 bytes and not the 16 of a [`SeriesPoint`].
//! What follows a gap costs 8 bytes more, so no series needs more than 16 bytes a value.

use std::sync::Arc;

use crate::labels::LabelMap;
use crate::{Labels, QueryBudget, QueryError, QuerySteps, SeriesPoint};

/// Series with what is known of each so far.
pub(crate) struct Growing<V> {
    series: Vec<(Arc<Labels>, V)>,
    places: LabelMap<Arc<Labels>, usize>,
}

impl<V: Default> Growing<V> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Growing { series: Vec::new(), places: LabelMap::default() }
    }

    /// The values of a series, which has a position among those of a step: most steps have the same
    /// series in the same order.
    pub(crate) fn values_of(
        &mut self,
        position: usize,
        labels: Arc<Labels>,
        budget: &QueryBudget<'_>,
    ) -> Result<&mut V, QueryError> {
        let same = self.series.get(position).is_some_and(|one| one.0 == labels);
        let known = if same { Some(position) } else { self.places.get(&labels).copied() };
        let place = match known {
            Some(place) => place,
            None => {
                let place = self.series.len();
                budget.check_series(place)?;
                budget.hold_labels(&labels)?;
                self.places.insert(labels.clone(), place);
                self.series.push((labels, V::default()));
                place
            }
        };
        Ok(&mut self.series[place].1)
    }

    /// All series, in the order in which they began.
    pub(crate) fn into_series(self) -> Vec<(Arc<Labels>, V)> {
        self.series
    }
}

impl Growing<StepValues> {
    /// The bytes that they take in memory, about.
    pub(crate) fn size_bytes(&self) -> usize {
        self.series.iter().map(|(labels, values)| labels.size_bytes() + values.size_bytes()).sum()
    }
}

/// A series of an answer over a period: values at some of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSeries {
    /// The labels of the series, the name of the metric among them.
    pub labels: Arc<Labels>,
    pub(crate) values: StepValues,
}

impl StepSeries {
    /// The samples from the first-th on; the period is that of the answer.
    pub fn samples_from(
        &self,
        first: usize,
        period: QuerySteps,
    ) -> impl Iterator<Item = SeriesPoint> {
        let StepValues { values, runs } = &self.values;
        let mut next_run = runs.partition_point(|run| run.value as usize <= first);
        (first..values.len()).map(move |index| {
            if runs.get(next_run).is_some_and(|run| run.value as usize <= index) {
                next_run += 1;
            }
            // The first run begins with the first value.
            let run = runs[next_run - 1];
            let step = i64::from(run.step) + (index - run.value as usize) as i64;
            SeriesPoint { time_ms: period.start_ms + step * period.step_ms, value: values[index] }
        })
    }

    /// The bytes that it takes in memory, about.
    pub(crate) fn size_bytes(&self) -> usize {
        self.labels.size_bytes() + self.values.size_bytes()
    }

    /// The number of its samples.
    pub(crate) fn count(&self) -> usize {
        self.values.values.len()
    }
}

/// Makes room for more items as a vector does, but not for twice as many: for an eighth more than there are.
pub fn reserve<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        items.reserve_exact(more + items.len() / 8);
    }
}

/// Values at steps of a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StepValues {
    values: Vec<f64>,
    runs: Vec<Run>,
}

/// Values at one step after another, up to the next run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    /// The step of the first.
    step: u32,
    /// The place of the value among the values.
    value: u32,
}

impl StepValues {
    /// Adds a value at a step after all others.
    pub(crate) fn push(&mut self, step: u32, value: f64) {
        // There are no more values than steps.
        let place = self.values.len() as u32;
        if self.runs.last().is_none_or(|run| run.step + (place - run.value) != step) {
            reserve(&mut self.runs, 1);
            self.runs.push(Run { step, value: place });
        }
        reserve(&mut self.values, 1);
        self.values.push(value);
    }

    fn size_bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
            + self.runs.capacity() * size_of::<Run>()
            + size_of::<StepSeries>()
    }
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    #[test]
    fn values_at_steps_are_those_that_were_added() {
        let period = QuerySteps { start_ms: -5000, end_ms: 5_000_000, step_ms: 7 };
        let mut random = Random::from_seed(testkit::seed(12));
        for gaps in [0, 1, 50, 99] {
            let steps = (0..1000_u32).filter(|_| !random.percent(gaps)).collect::<Vec<_>>();
            let mut values = StepValues::default();
            steps.iter().for_each(|&step| values.push(step, f64::from(step) / 3.0));
            assert!(
                values.runs.len() <= values.values.len() && (gaps > 0 || values.runs.len() == 1)
            );
            let series = StepSeries { labels: Arc::default(), values };
            assert_eq!(series.count(), steps.len());
            for first in (0..=steps.len()).step_by(13).chain([steps.len()]) {
                let samples = steps[first..].iter().map(|&step| SeriesPoint {
                    time_ms: -5000 + i64::from(step) * 7,
                    value: f64::from(step) / 3.0,
                });
                assert!(series.samples_from(first, period).eq(samples), "{gaps} % from {first}");
            }
        }
    }
}
