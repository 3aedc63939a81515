//! Series for tests, the same in memory and as OpenMetrics text.

use std::fmt::Write as _;
use std::sync::Arc;

use promql::{
    Labels, MemoryStorage, QueryContext, QueryError, QueryLimits, QuerySteps, QueryValue, Series,
    SeriesPoint, StepSeries,
};

/// When the samples begin.
pub(crate) const START_MS: i64 = 1_700_000_000_000;
/// When they end.
pub(crate) const END_MS: i64 = START_MS + 3_600_000;

/// Counters with resets and gaps, levels, extreme numbers, short-lived series: an hour.
pub(crate) fn storage() -> MemoryStorage {
    let mut random = testkit::Random::from_seed(1);
    let mut series = Vec::new();
    let mut add = |labels: &[(&str, &str)], value: &mut dyn FnMut(i64) -> Option<f64>| {
        let times = (0..240).map(|step| START_MS + step * 15_000 + (step * 7919) % 1500);
        let samples = times.enumerate().filter_map(|(step, time_ms)| {
            value(step as i64).map(|value| SeriesPoint { time_ms, value })
        });
        let labels = Arc::new(labels.iter().copied().collect::<Labels>());
        series.push(Series { labels, samples: samples.collect() });
    };
    for (job, instance, code) in [
        ("api", "a:1", "200"),
        ("api", "a:1", "500"),
        ("api", "b:1", "200"),
        ("api", "b:1", "500"),
        ("web", "c:1", "200"),
        ("web", "c:1", "404"),
    ] {
        let mut count = 0;
        let labels =
            [("__name__", "requests_total"), ("job", job), ("instance", instance), ("code", code)];
        add(&labels, &mut |step| {
            // A restart now and then, and a scrape that fails.
            count = if random.percent(2) { 0 } else { count + random.below(40) };
            let is_lost = random.percent(3) || instance == "b:1" && (80..110).contains(&step);
            (!is_lost).then_some(count as f64)
        });
    }
    for cpu in ["0", "1", "2", "10"] {
        for (mode, share) in [("idle", 0.9), ("user", 0.07), ("system", 0.03)] {
            let labels = [
                ("__name__", "cpu_seconds_total"),
                ("cpu", cpu),
                ("mode", mode),
                ("instance", "a:1"),
            ];
            let mut sum = 1000.0 * share;
            add(&labels, &mut |_| {
                sum += share * (14.0 + random.below(200) as f64 / 100.0);
                Some((sum * 100.0_f64).round() / 100.0)
            });
        }
    }
    for (instance, job) in [("a:1", "api"), ("b:1", "api"), ("c:1", "web"), ("d:1", "web")] {
        let labels = [("__name__", "free_bytes"), ("instance", instance), ("job", job)];
        add(&labels, &mut |_| Some(random.below(1 << 40) as f64));
        let labels = [("__name__", "temperature"), ("instance", instance), ("room", "x&y<z>\"q\"")];
        add(&labels, &mut |step| (step % 3 != 1).then(|| random.below(4000) as f64 / 100.0 - 20.0));
        let version = format!("1.{}", instance.len() + job.len());
        let labels = [("__name__", "build_info"), ("instance", instance), ("version", &version)];
        add(&labels, &mut |_| Some(1.0));
        let labels = [("__name__", "start_seconds"), ("instance", instance)];
        add(&labels, &mut |step| Some(1.69e9 + (step / 90) as f64 * 12345.5));
    }
    let extremes = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-9, 1e25, -5.5];
    for (index, extreme) in extremes.into_iter().enumerate() {
        let labels = [
            ("__name__", "extreme"),
            ("kind", ["nan", "inf", "ninf", "zero", "nzero", "small", "large", "minus"][index]),
        ];
        add(&labels, &mut |step| Some(if step % 5 == 4 { 1.0 } else { extreme }));
    }
    add(&[("__name__", "brief")], &mut |step| (!(20..=200).contains(&step)).then_some(step as f64));
    add(&[("__name__", "constant"), ("a", "1")], &mut |_| Some(42.0));
    MemoryStorage { series, metadata: Vec::new() }
}

/// The samples as Prometheus imports them.
pub(crate) fn open_metrics(storage: &MemoryStorage) -> String {
    let mut text = String::new();
    for series in &storage.series {
        let name = series.labels.get("__name__");
        let mut labels = String::new();
        for (label, value) in series.labels.iter().filter(|(label, _)| *label != "__name__") {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(labels, "{label}=\"{value}\",");
        }
        for SeriesPoint { time_ms, value } in &series.samples {
            let (seconds, rest) = (time_ms / 1000, time_ms % 1000);
            let _ = writeln!(
                text,
                "{name}{{{}}} {value} {seconds}.{rest:03}",
                labels.trim_end_matches(',')
            );
        }
    }
    text.replace(" inf ", " +Inf ").replace(" -inf ", " -Inf ") + "# EOF\n"
}

/// The answer at a time.
pub(crate) fn instant(
    storage: &MemoryStorage,
    query: &str,
    time_ms: i64,
) -> Result<QueryValue, QueryError> {
    promql::instant(query, time_ms, &context(storage))
}

/// The answer over a period.
pub(crate) fn range(
    storage: &MemoryStorage,
    query: &str,
    period: QuerySteps,
) -> Result<QueryValue, QueryError> {
    promql::range(query, period, &context(storage))
}

/// The series of an answer that has samples of each.
pub(crate) fn series_of(answer: QueryValue) -> Vec<Series> {
    match answer {
        QueryValue::Matrix(series) => series,
        QueryValue::Steps(period, series) => {
            let samples = |one: &StepSeries| one.samples_from(0, period).collect();
            let one = |one: StepSeries| Series { samples: samples(&one), labels: one.labels };
            series.into_iter().map(one).collect()
        }
        other => panic!("no series: {other:?}"),
    }
}

fn context(storage: &MemoryStorage) -> QueryContext<'_> {
    QueryContext { storage, limits: QueryLimits::default(), control: &|| None }
}
