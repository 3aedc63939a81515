//! The same samples and the same queries to Prometheus: the same answers.

use std::net::SocketAddr;

use promql::{MemoryStorage, QueryError, QuerySteps, QueryValue, Quoted};
use serde_json::Value;
use testkit::{Prometheus, compare_answers, http};

use crate::common::{END_MS, START_MS, instant, open_metrics, range, storage};

/// Queries by hand, one a line.
const QUERIES: &str = include_str!("queries.txt");

/// Queries that are refused, one a line.
const REFUSED: &str = include_str!("refused.txt");

/// Queries that differ from Prometheus 2.42, by a part of them, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("atan2", "2.42 keeps the name of the metric, unlike for every other operator"),
    ("minute(extreme)", NO_DATE),
    ("hour(extreme)", NO_DATE),
    ("day_of_week(extreme)", NO_DATE),
    ("day_of_month(extreme)", NO_DATE),
    ("day_of_year(extreme)", NO_DATE),
    ("days_in_month(extreme)", NO_DATE),
    ("month(extreme)", NO_DATE),
    ("year(extreme)", NO_DATE),
];

const NO_DATE: &str = "infinity is no date; Go gives the 4th of December 292277026596";

/// Queries that 2.42 refuses: since 3.0 a number is also a duration, and a duration a number.
const ACCEPTED: [&str; 3] = ["rate(temperature[5])", "temperature offset 5", "5m"];

#[test]
fn the_same_queries_have_the_same_answers() {
    let storage = storage();
    let Some(prometheus) = Prometheus::start(&open_metrics(&storage)) else { return };
    let queries = queries();
    assert!(queries.len() >= 300, "{}", queries.len());
    let mut differences = Vec::new();
    let (mut asked, mut equal_bytes) = (0, 0);
    for query in &queries {
        for form in [Form::Instant(START_MS + 1_800_007), Form::Range(240_000), Form::Range(37_500)]
        {
            asked += 1;
            let theirs = form.theirs(prometheus.address(), query);
            let ours = form.ours(&storage, query);
            equal_bytes += usize::from(theirs == ours);
            if let Err(difference) = compare_answers(&theirs, &ours) {
                differences.push(format!("{query}: {form:?}: {difference}"));
            }
        }
    }
    differences.retain(|one| !differs_by_design(one));
    let shown: Vec<&String> = differences.iter().take(40).collect();
    assert!(
        differences.is_empty(),
        "{} of {asked}, {equal_bytes} are equal: {shown:#?}",
        differences.len()
    );
    // Most are equal to the last byte; those with more than one order of summing are not.
    assert!(equal_bytes * 10 > asked * 8, "{equal_bytes} of {asked}");
}

#[test]
fn the_same_queries_are_refused() {
    let storage = storage();
    let Some(prometheus) = Prometheus::start(&open_metrics(&storage)) else { return };
    let mut differences = Vec::new();
    for query in REFUSED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        for form in [Form::Instant(START_MS + 1_800_007), Form::Range(240_000)] {
            let theirs = kind_of(&form.theirs(prometheus.address(), query));
            let ours = kind_of(&form.ours(&storage, query));
            let is_named = ACCEPTED.contains(&query);
            if theirs != ours && !is_named {
                differences.push(format!("{query}: {form:?}: {theirs}, ours {ours}"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn a_quoted_text_is_read_as_it_was() {
    let texts: Vec<String> = ('\u{1}'..'\u{a1}')
        .chain(['\u{200b}', '\u{202e}', '\u{feff}', '\u{e0001}', '日', '🦀', '\u{301}'])
        .map(|letter| format!("a{letter}\\{letter}0'\"z"))
        .collect();
    let text = texts.concat().replace('$', "");
    // The text becomes a label of the answer.
    let query = format!("label_replace(vector(1), \"is\", {}, \"\", \"\")", Quoted(&text));
    let is = |body: &str| {
        let answer: Value = serde_json::from_str(body).unwrap();
        answer["data"]["result"][0]["metric"]["is"].as_str().map(str::to_owned)
    };
    let form = Form::Instant(START_MS);
    assert_eq!(is(&form.ours(&storage(), &query)), Some(text.clone()), "{query}");
    let Some(prometheus) = Prometheus::scraping("global: {}\n") else { return };
    assert_eq!(is(&form.theirs(prometheus.address(), &query)), Some(text), "{query}");
}

/// Whether a difference, which names its query, is one of those that are meant.
pub(crate) fn differs_by_design(difference: &str) -> bool {
    DIFFERENT.iter().any(|(part, _)| difference.contains(part))
}

/// How a query is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// At a time.
    Instant(i64),
    /// Over all samples, by a step in milliseconds.
    Range(i64),
    /// Over a period.
    Period(QuerySteps),
}

impl Form {
    pub(crate) fn theirs(self, address: SocketAddr, query: &str) -> String {
        let seconds = |time_ms: i64| (time_ms as f64 / 1000.0).to_string();
        match self {
            Form::Instant(time_ms) => {
                let parameters = [("query", query), ("time", &seconds(time_ms))];
                http(address, "POST", "/api/v1/query", &parameters).body
            }
            Form::Range(step_ms) => Form::Period(whole(step_ms)).theirs(address, query),
            Form::Period(QuerySteps { start_ms, end_ms, step_ms }) => {
                let [start, end, step] = [start_ms, end_ms, step_ms].map(seconds);
                let parameters =
                    [("query", query), ("start", &start[..]), ("end", &end), ("step", &step)];
                http(address, "POST", "/api/v1/query_range", &parameters).body
            }
        }
    }

    pub(crate) fn ours(self, storage: &MemoryStorage, query: &str) -> String {
        let answer = match self {
            Form::Instant(time_ms) => instant(storage, query, time_ms),
            Form::Range(step_ms) => range(storage, query, whole(step_ms)),
            Form::Period(period) => range(storage, query, period),
        };
        text(answer)
    }
}

/// The period of all samples.
fn whole(step_ms: i64) -> QuerySteps {
    QuerySteps { start_ms: START_MS - 60_000, end_ms: END_MS + 60_000, step_ms }
}

fn text(answer: Result<QueryValue, QueryError>) -> String {
    match answer {
        Ok(answer) => {
            let mut data = String::new();
            let mut writer = promql::AnswerWriter::new(answer);
            while writer.write_next(&mut data).unwrap() {}
            format!("{{\"status\":\"success\",\"data\":{data}}}")
        }
        Err(error) => {
            let error_type = error.kind();
            serde_json::json!({"status": "error", "errorType": error_type, "error": error.to_string()})
                .to_string()
        }
    }
}

fn kind_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    match body["errorType"].as_str() {
        Some(kind) => kind.to_owned(),
        None => "an answer".to_owned(),
    }
}

/// All queries: those by hand, and each function, operator and aggregation in turn.
fn queries() -> Vec<String> {
    let by_hand = QUERIES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut queries: Vec<String> = by_hand.map(str::to_owned).collect();
    for function in "rate increase delta irate idelta deriv changes resets avg_over_time \
                     min_over_time max_over_time sum_over_time count_over_time stddev_over_time \
                     stdvar_over_time present_over_time last_over_time absent_over_time"
        .split_whitespace()
    {
        for window in [
            "requests_total[5m]",
            "cpu_seconds_total[61s]",
            "temperature[4m] offset 3m",
            "extreme[2m]",
            "free_bytes[10m:40s]",
            "brief[3m]",
        ] {
            queries.push(format!("{function}({window})"));
        }
    }
    for function in "abs ceil floor exp ln log2 log10 sqrt sgn round sort sort_desc timestamp \
                     minute hour day_of_week day_of_month day_of_year days_in_month month year \
                     absent scalar"
        .split_whitespace()
    {
        for inner in ["temperature", "extreme", "start_seconds * 1.3"] {
            // The last series of a vector that is sorted by values stay in their order.
            queries.push(format!("{function}({inner})"));
        }
    }
    for operator in "+ - * / % ^ atan2 == != < <= > >=".split_whitespace() {
        queries.push(format!("temperature {operator} 3"));
        queries.push(format!("2.5 {operator} extreme"));
        queries.push(format!("free_bytes {operator} on(instance) temperature"));
        queries.push(format!("free_bytes {operator} ignoring(job, room) group_left temperature"));
    }
    for operator in ["and", "or", "unless"] {
        queries.push(format!("free_bytes {operator} temperature"));
        queries.push(format!("free_bytes {operator} on(instance) (temperature > 0)"));
        queries.push(format!("free_bytes {operator} ignoring(room, job) (temperature > 0)"));
    }
    for operation in "sum avg min max count group stddev stdvar".split_whitespace() {
        for by in ["", "by (job)", "by (job, code)", "without (instance)"] {
            queries.push(format!("{operation} {by} (requests_total)"));
        }
        queries.push(format!("{operation}(extreme)"));
    }
    queries
}
