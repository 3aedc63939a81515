//! What a query means, where no other program is needed to say it: stale marks, limits, ends.

use std::cell::Cell;
use std::sync::Arc;

use promql::{
    Labels, MemoryStorage, QueryContext, QueryError, QueryLimits, QuerySteps, QueryValue, Series,
    SeriesPoint, Stop, stale_mark,
};

use crate::common::{END_MS, START_MS, instant, range, series_of, storage};

fn of(name: &str, values: &[(i64, f64)]) -> MemoryStorage {
    let labels = Arc::new([("__name__", name)].into_iter().collect::<Labels>());
    let samples = values.iter().map(|&(time_ms, value)| SeriesPoint { time_ms, value }).collect();
    MemoryStorage { series: vec![Series { labels, samples }], metadata: Vec::new() }
}

fn values(answer: Result<QueryValue, QueryError>) -> Vec<(i64, f64)> {
    let series = series_of(answer.unwrap());
    let samples = series.iter().flat_map(|one| &one.samples);
    samples.map(|sample| (sample.time_ms, sample.value)).collect()
}

#[test]
fn a_stale_mark_ends_a_series_at_once_and_is_no_value() {
    let storage = of("a", &[(1000, 1.0), (2000, 2.0), (3000, stale_mark()), (9000, 9.0)]);
    let seconds = QuerySteps { start_ms: 0, end_ms: 10_000, step_ms: 1000 };
    let found = values(range(&storage, "a", seconds));
    assert_eq!(found, [(1000, 1.0), (2000, 2.0), (9000, 9.0), (10_000, 9.0)]);
    let found = values(range(
        &storage,
        "count_over_time(a[20s])",
        QuerySteps { start_ms: 10_000, ..seconds },
    ));
    assert_eq!(found, [(10_000, 3.0)], "no value in a window");
    let found = values(instant(&storage, "a[20s]", 10_000));
    assert_eq!(found.len(), 3);
}

#[test]
fn the_latest_sample_counts_for_five_minutes() {
    let storage = of("a", &[(1000, 1.0)]);
    for (time_ms, count) in [(999, 0), (1000, 1), (301_000, 1), (301_001, 0)] {
        let QueryValue::Vector(found) = instant(&storage, "a", time_ms).unwrap() else { panic!() };
        assert_eq!(found.len(), count, "{time_ms}");
    }
}

#[test]
fn what_is_not_offered_is_refused_by_name() {
    let storage = storage();
    for (query, name) in [
        ("histogram_quantile(0.9, temperature)", "histogram_quantile"),
        ("mad_over_time(temperature[5m])", "mad_over_time"),
        ("histogram_sum(temperature)", "histogram_sum"),
        ("limitk(2, temperature)", "limitk"),
        ("temperature + fill(0) free_bytes", "fill"),
        ("{a=\"1\" or b=\"2\"}", "`or`"),
    ] {
        let error = instant(&storage, query, START_MS).unwrap_err();
        assert_eq!(error.kind(), "bad_data", "{query}: {error}");
        assert!(error.to_string().contains(name), "{query}: {error}");
    }
}

#[test]
fn limits_end_a_query() {
    let storage = storage();
    let ask = |query: &str, limits: QueryLimits| {
        let context = QueryContext { storage: &storage, limits, control: &|| None };
        let period = QuerySteps { start_ms: START_MS, end_ms: END_MS, step_ms: 1000 };
        promql::range(query, period, &context).map(drop).map_err(|error| error.to_string())
    };
    let limits = QueryLimits::default();
    ask("requests_total", limits).unwrap();
    let points_max = 3600;
    let error = ask("requests_total", QueryLimits { points_max, ..limits }).unwrap_err();
    assert!(error.contains("3,600 points per timeseries"), "{error}");
    let error = ask("requests_total", QueryLimits { series_max: 5, ..limits }).unwrap_err();
    assert!(error.contains("more than 5 series"), "{error}");
    for query in ["requests_total", "count_over_time(temperature[1h:1s])", "time()"] {
        let error = ask(query, QueryLimits { memory_max: 16_000, ..limits }).unwrap_err();
        assert!(error.contains("too many samples") || error.contains("too many steps"), "{error}");
    }
    let long =
        "label_join(".repeat(11) + "temperature" + &",\"a\",\"-\",\"a\",\"a\",\"room\")".repeat(11);
    let error = ask(&long, limits).unwrap_err();
    assert!(error.contains("more than 4096 bytes"), "{error}");
    let sums = "temperature".to_owned() + &" or on(a) (temperature + 1)".repeat(60);
    let error = ask(&sums, QueryLimits { memory_max: 200_000, ..limits }).unwrap_err();
    assert!(
        error.contains("one step of the query needs more than 200000 bytes of memory"),
        "{error}"
    );
}

#[test]
fn a_query_ends_when_it_is_told_to() {
    let storage = storage();
    for (stop, kind) in [(Stop::TimedOut, "timeout"), (Stop::Cancelled, "canceled")] {
        for query in [
            "sum(rate(cpu_seconds_total[5m]))",
            "nothing[50d:1s]",
            "max_over_time(vector(1)[1d:1s])",
        ] {
            let looks = Cell::new(0);
            let stop = || {
                looks.set(looks.get() + 1);
                (looks.get() > 3).then_some(stop)
            };
            let context =
                QueryContext { storage: &storage, limits: QueryLimits::default(), control: &stop };
            let period = QuerySteps { start_ms: START_MS, end_ms: END_MS, step_ms: 1000 };
            let asked = match query.starts_with("nothing") {
                true => promql::instant(query, START_MS, &context),
                false => promql::range(query, period, &context),
            };
            assert_eq!(asked.unwrap_err().kind(), kind, "{query}");
            assert_eq!(looks.get(), 4, "it ends at the first answer");
        }
    }
}

#[test]
fn times_far_away_overflow_nothing() {
    let storage = storage();
    for query in [
        "temperature @ 9e14",
        "temperature @ -1e300",
        "temperature offset 35000y",
        "temperature[292y] offset -292y",
        "rate(temperature[100y:50y] @ 1e11)",
        "sum_over_time(vector(1)[1000y:1000y])",
    ] {
        for time_ms in [0, START_MS, i64::MAX, i64::MIN, 1 << 50, -(1 << 50)] {
            let _ = instant(&storage, query, time_ms);
        }
        let period = QuerySteps { start_ms: -(1 << 50), end_ms: 1 << 50, step_ms: 1 << 49 };
        let _ = range(&storage, query, period);
    }
}

#[test]
fn selectors_for_lists_of_series() {
    assert_eq!(promql::selector("up{job=\"a\"}").unwrap().len(), 2);
    for text in ["1", "up offset 5m", "up[5m]", "sum(up)", "", "{}"] {
        promql::selector(text).unwrap_err();
    }
}
