//! A recording, and its samples in Prometheus: the same queries have the same answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use promql::{
    NAME, QueryBudget, QueryContext, QueryLimits, QuerySteps, Series, SeriesStorage as _, is_stale,
    selector,
};
use serve::RecordingStorage;
use testkit::{Prometheus, compare_answers, http};

use crate::recorded::{FILES, SAMPLES, STARTED_S, record};

/// Sources whose rows mostly stay.
const SOURCES: &[&str] = &[
    "cpu",
    "cpu_core",
    "disk",
    "inode",
    "memory",
    "network",
    "pressure",
    "schedstat",
    "socket",
    "softirq",
    "tcp",
];

const COUNTERS: &[&str] = &[
    "rate(N[10s])",
    "irate(N[5s])",
    "increase(N[30s])",
    "sum(rate(N[20s])) by (instance)",
    "max_over_time(rate(N[10s])[30s:5s])",
    "resets(N[1m])",
    "avg without (instance) (rate(N[7s] offset 3s))",
    "rate(N[10s]) > 0",
];

const LEVELS: &[&str] = &[
    "N",
    "avg_over_time(N[30s])",
    "max_over_time(N[10s]) - min_over_time(N[10s])",
    "delta(N[30s])",
    "quantile_over_time(0.9, N[30s])",
    "sum by (job) (N)",
    "N offset 20s",
    "changes(N[1m])",
];

/// Queries, at least.
const QUERIES: usize = 300;

/// The samples as Prometheus imports them.  It has no marks of ends: metrics of which a series comes or
/// goes are left out.
fn open_metrics(series: &[Series]) -> (String, BTreeSet<String>) {
    let mut metrics: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for one in series {
        metrics.entry(one.labels.get(NAME)).or_default().push(one);
    }
    metrics.retain(|_, series| {
        let is_whole = |one: &&Series| {
            one.samples.len() as i64 == FILES * SAMPLES
                && one.samples.iter().all(|point| !is_stale(point.value))
        };
        series.iter().all(is_whole)
    });
    let mut text = String::new();
    for one in metrics.values().flatten() {
        let labels = one.labels.iter().filter(|(label, _)| *label != NAME);
        let labels: Vec<String> =
            labels.map(|(label, value)| format!("{label}={value:?}")).collect();
        let (name, labels) = (one.labels.get(NAME), labels.join(","));
        for point in &one.samples {
            let (seconds, rest) = (point.time_ms / 1000, point.time_ms % 1000);
            writeln!(text, "{name}{{{labels}}} {} {seconds}.{rest:03}", point.value).unwrap();
        }
    }
    (text + "# EOF\n", metrics.into_keys().map(str::to_owned).collect())
}

/// Each metric with some of the queries for its kind.
fn queries(storage: &RecordingStorage, metrics: &BTreeSet<String>) -> Vec<String> {
    let known = storage.metadata();
    let mut queries = Vec::new();
    for (index, name) in metrics.iter().enumerate() {
        let kind = known.iter().find(|one| one.name == *name).map(|one| one.kind);
        let forms = if kind == Some("counter") { COUNTERS } else { LEVELS };
        // Those with the usual names more often: of the others there are hundreds.
        for form in 0..if name.starts_with("node_") { 4 } else { 1 } {
            queries.push(forms[(index + form) % forms.len()].replace('N', name));
        }
    }
    queries
}

#[test]
fn a_recording_answers_as_prometheus_does_with_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), SOURCES, |_| ());
    let (storage, _) = RecordingStorage::open(&[folder.path().to_owned()]).unwrap();
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let all = selector("{__name__=~\".+\"}").unwrap();
    let series = storage.select(&all, 0, i64::MAX / 2_000_000, &budget).unwrap();
    let names: BTreeSet<&str> = series.iter().map(|one| one.labels.get(NAME)).collect();
    let (text, metrics) = open_metrics(&series);
    assert!(metrics.len() * 10 > names.len() * 8, "{} of {}", metrics.len(), names.len());
    let queries = queries(&storage, &metrics);
    assert!(queries.len() >= QUERIES, "{}", queries.len());
    let Some(prometheus) = Prometheus::start(&text) else { return };
    let mut differences = Vec::new();
    for (index, query) in queries.iter().enumerate() {
        if index == queries.len() / 2 {
            // From here on with columns.
            assert!(storage.recordings().unwrap().write_side_files().is_empty());
        }
        let (start_ms, end_ms) = ((STARTED_S + 50) * 1000, (STARTED_S + 590) * 1000);
        let steps = QuerySteps { start_ms, end_ms, step_ms: 7_300 };
        let limits = QueryLimits::default();
        let context = QueryContext { storage: &storage, limits, control: &|| None };
        let answer = promql::range(query, steps, &context).unwrap();
        let mut ours = "{\"status\":\"success\",\"data\":".to_owned();
        let mut writer = promql::AnswerWriter::new(answer);
        while writer.write_next(&mut ours).unwrap() {}
        ours.push('}');
        let [start, end] = [start_ms, end_ms].map(|time_ms| (time_ms / 1000).to_string());
        let asked = [("query", &query[..]), ("start", &start), ("end", &end), ("step", "7.3")];
        let theirs = http(prometheus.address(), "POST", "/api/v1/query_range", &asked).body;
        if let Err(difference) = compare_answers(&theirs, &ours) {
            differences.push(format!("{query}: {difference}"));
        }
    }
    let shown: Vec<&String> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{} of {}: {shown:#?}", differences.len(), queries.len());
}
