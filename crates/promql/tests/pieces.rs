//! Long periods: the answer is that of each of their steps, and little is in memory at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use promql::{
    Labels, MemoryStorage, Metadata, QueryBudget, QueryContext, QueryError, QueryLimits,
    QuerySteps, QueryValue, Series, SeriesPoint, SeriesStorage,
};
use promql_parser::label::Matcher;

use crate::common::{START_MS, series_of};

/// Samples of each of two series, one a second.
const SAMPLES: i64 = 250_000;
const END_MS: i64 = START_MS + SAMPLES * 1000;

/// Counts what is asked for, and keeps the largest answer.
struct Watched {
    inner: MemoryStorage,
    asked: AtomicUsize,
    most: AtomicUsize,
}

impl SeriesStorage for Watched {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let series = self.inner.select(matchers, from_ms, to_ms, budget)?;
        let samples = series.iter().map(|one| one.samples.len()).sum();
        self.most.fetch_max(samples, Ordering::Relaxed);
        Ok(series)
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        self.inner.series(matchers, from_ms, to_ms, budget)
    }

    fn metadata(&self) -> Vec<Metadata> {
        Vec::new()
    }
}

fn storage() -> Watched {
    let series = ["a", "b"].map(|name| {
        let labels = [("__name__", "count"), ("is", name)];
        // The second one begins late: its answers are in the last pieces alone.
        let from = if name == "b" { SAMPLES / 2 } else { 0 };
        let sample = |second: i64| SeriesPoint {
            time_ms: START_MS + second * 1000,
            value: (second * 7 % 1_000_003) as f64,
        };
        Series {
            labels: Arc::new(labels.iter().copied().collect()),
            samples: (from..SAMPLES).map(sample).collect(),
        }
    });
    let inner = MemoryStorage { series: series.into(), metadata: Vec::new() };
    Watched { inner, asked: AtomicUsize::new(0), most: AtomicUsize::new(0) }
}

fn samples_at(answer: QueryValue, time_ms: i64) -> Vec<(Arc<Labels>, f64)> {
    let mut found = Vec::new();
    match answer {
        QueryValue::Scalar(point) => found.push((Arc::default(), point.value)),
        QueryValue::Vector(all) => {
            found.extend(all.into_iter().map(|(labels, point)| (labels, point.value)));
        }
        QueryValue::Text(..) => {}
        several => found.extend(series_of(several).into_iter().filter_map(|one| {
            let at = one.samples.binary_search_by_key(&time_ms, |sample| sample.time_ms).ok()?;
            Some((one.labels, one.samples[at].value))
        })),
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[test]
fn a_long_period_is_answered_in_pieces_as_each_of_its_steps() {
    let storage = storage();
    // Fewer samples than the period has: what is in memory counts.
    let limits = QueryLimits { memory_max: 300_000 * 16, ..QueryLimits::default() };
    let context = QueryContext { storage: &storage, limits, control: &|| None };
    let period = QuerySteps { start_ms: START_MS, end_ms: END_MS + 600_000, step_ms: 2_500_000 };
    for query in [
        "rate(count[30m])",
        "count",
        "sum(count) - min(count offset 1h)",
        "count @ 1700100000 + count",
        "max_over_time(sum(count)[1h:10m])",
        "absent(count{is=\"b\"})",
        "topk(1, count)",
    ] {
        storage.asked.store(0, Ordering::Relaxed);
        storage.most.store(0, Ordering::Relaxed);
        let answer = promql::range(query, period, &context).unwrap();
        let (asked, most) =
            (storage.asked.load(Ordering::Relaxed), storage.most.load(Ordering::Relaxed));
        assert!(
            most < 300_000 && (asked > 4 || query.starts_with("absent")),
            "{query}: {most} in {asked}"
        );
        for step in (0..period.steps().cast_signed()).step_by(7).chain([100]) {
            let time_ms = START_MS + step * period.step_ms;
            let one = promql::instant(query, time_ms, &context).unwrap();
            let (one, all) = (samples_at(one, time_ms), samples_at(answer.clone(), time_ms));
            assert_eq!(one, all, "{query} at step {step}");
        }
        let series = series_of(answer);
        let is_in_order = |one: &Series| one.samples.is_sorted_by(|a, b| a.time_ms < b.time_ms);
        assert!(series.iter().all(is_in_order), "{query}");
    }
}

#[test]
fn what_no_piece_has_room_for_is_refused() {
    let storage = storage();
    let limits = QueryLimits { memory_max: 300_000 * 16, ..QueryLimits::default() };
    let context = QueryContext { storage: &storage, limits, control: &|| None };
    let period = QuerySteps { start_ms: END_MS - 10_000, end_ms: END_MS, step_ms: 1000 };
    let query = "quantile_over_time(0.5, count[80h])";
    let refused = promql::range(query, period, &context).unwrap_err();
    assert!(refused.to_string().contains("too many samples"), "{refused}");
}

#[test]
fn a_long_window_is_read_in_pieces_of_its_time() {
    let storage = storage();
    let call = |function: &str| format!("{function}(count[80h])");
    let functions = ["rate", "increase", "delta", "irate", "idelta", "deriv", "changes", "resets"];
    let over_time = ["avg", "min", "max", "sum", "count", "stddev", "stdvar", "last", "present"];
    let over_time = over_time.map(|name| call(&format!("{name}_over_time")));
    let others = [
        "predict_linear(count[80h], 3600)",
        "holt_winters(count[80h], 0.3, 0.7)",
        "sum(rate(count[80h]))",
    ];
    let queries = functions.map(call).into_iter().chain(over_time);
    for query in queries.chain(others.map(str::to_owned)) {
        let ask = |memory_max| {
            let limits = QueryLimits { memory_max, ..QueryLimits::default() };
            QueryContext { storage: &storage, limits, control: &|| None }
        };
        // Of two steps the windows are in memory as they are.
        let period = QuerySteps { start_ms: END_MS - 1000, end_ms: END_MS, step_ms: 1000 };
        let whole = promql::range(&query, period, &ask(usize::MAX)).unwrap();
        assert!(storage.most.swap(0, Ordering::Relaxed) > 370_000);
        let pieces = promql::instant(&query, END_MS, &ask(3 << 20)).unwrap();
        assert!(storage.most.swap(0, Ordering::Relaxed) < 140_000, "{query}");
        let pieces = samples_at(pieces, END_MS);
        assert!(!pieces.is_empty(), "{query}");
        assert_eq!(pieces, samples_at(whole, END_MS), "{query}");
        // Where there is no room for two steps there is one after the other.
        let stepwise = promql::range(&query, period, &ask(3 << 20)).unwrap();
        assert_eq!(pieces, samples_at(stepwise, END_MS), "{query}");
    }
}
