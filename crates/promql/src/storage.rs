//! Where series come from.

use std::sync::Arc;

use promql_parser::label::Matcher;

use crate::{Labels, NAME, QueryBudget, QueryError};

/// One value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The value; [`stale_mark`] says that the series ended here.
    pub value: f64,
}

/// A series and its samples in the order of their times.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The labels of the series, the name of the metric among them.
    pub labels: Arc<Labels>,
    /// The samples of the series; no two have the same time.
    pub samples: Vec<SeriesPoint>,
}

/// What is known of a metric beside its values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metadata {
    /// The name of the metric.
    pub name: String,
    /// `counter`, `gauge` or `unknown`.
    pub kind: &'static str,
    /// What it means.
    pub help: String,
    /// The unit of the metric, or nothing.
    pub unit: String,
}

/// A storage of series.
pub trait SeriesStorage: Send + Sync {
    /// The series that match all matchers, with their samples from `from_ms` to `to_ms`, both included.
    /// No two series have the same labels.
    ///
    /// # Errors
    /// If the storage cannot be read, or the budget is used up: it must be asked for each series and
    /// for samples before they take memory.
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError>;

    /// The labels of the series that match all matchers and have a sample in the period.
    ///
    /// # Errors
    /// As of [`SeriesStorage::select`].
    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError>;

    /// What is known of each metric, in the order of their names.
    fn metadata(&self) -> Vec<Metadata>;
}

/// Series in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    /// All series.
    pub series: Vec<Series>,
    /// What is known of the metrics.
    pub metadata: Vec<Metadata>,
}

impl MemoryStorage {
    fn found(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
    ) -> impl Iterator<Item = (&Series, &[SeriesPoint])> {
        let series = self.series.iter().filter(|series| matches(matchers, &series.labels));
        let series = series.map(move |series| (series, within(&series.samples, from_ms, to_ms)));
        series.filter(|(_, samples)| !samples.is_empty())
    }
}

impl SeriesStorage for MemoryStorage {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        let mut found = Vec::new();
        for (series, samples) in self.found(matchers, from_ms, to_ms) {
            budget.take_series(&series.labels)?;
            budget.take_samples(samples.len())?;
            found.push(Series { labels: series.labels.clone(), samples: samples.to_vec() });
        }
        Ok(found)
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        let mut found = Vec::new();
        for (series, _) in self.found(matchers, from_ms, to_ms) {
            budget.take_series(&series.labels)?;
            found.push(series.labels.clone());
        }
        Ok(found)
    }

    fn metadata(&self) -> Vec<Metadata> {
        self.metadata.clone()
    }
}

/// Whether labels match all matchers; a label that is not there is empty.
fn matches(matchers: &[Matcher], labels: &Labels) -> bool {
    matchers.iter().all(|matcher| matcher.is_match(labels.get(&matcher.name)))
}

/// The samples of a period, its ends included.
pub(crate) fn within(samples: &[SeriesPoint], from_ms: i64, to_ms: i64) -> &[SeriesPoint] {
    let samples = &samples[samples.partition_point(|sample| sample.time_ms < from_ms)..];
    &samples[..samples.partition_point(|sample| sample.time_ms <= to_ms)]
}

/// The bits of the mark that ends a series: a number that is none, and no result of arithmetic.
const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;

/// The value that says: the series ended here.
#[must_use]
pub fn stale_mark() -> f64 {
    f64::from_bits(STALE_BITS)
}

/// Whether a value says that the series ended here.
#[must_use]
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE_BITS
}

/// A matcher for the name of a metric.
pub(crate) fn name_matcher(name: &str) -> Matcher {
    Matcher::new(promql_parser::label::MatchOp::Equal, NAME, name)
}
