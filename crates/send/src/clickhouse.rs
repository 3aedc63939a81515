//! ClickHouse over HTTP: rows in its format RowBinary
//! (<https://clickhouse.com/docs/interfaces/formats/RowBinary>), into two tables, `whit_samples` and
//! `whit_logs`.
//!
//! Numbers are little-endian, a time is a count of its unit since 1970, a text has its length before it
//! (LEB128), a map the count of its pairs.  Each row has the number of its sample or record, as the cursor
//! has it.  An insert is there whole or not at all, since the tables have no partitions; so the largest
//! number says what is there: it is asked before the first insert and after each that failed.  An insert
//! that is still at work then is told from its repetition by `insert_deduplication_token`, for which the
//! tables keep the last thousand.  Costs a request a batch; memory: a batch.

use std::collections::HashMap;
use std::ops::Range;

use http_client::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http_client::{ClientAnswer, ClientSettings, HttpClient, HttpUrl, Method, StatusCode};
use log_format::{JsonFormat, LogRecord, RecordFormat as _, write_message};
use metric_names::JOB;
use promql::{Labels, NAME};
use serde_json::Value;
use text::error_text::with_causes;
use varint::put_bytes;

use crate::SendError;
use crate::asked::{AsksPoints, Points};
use crate::batch::{Batch, BatchSeries};
use crate::engine::{MetricEngine, SendOutcome};
use crate::exchange::{authorized, said};
use crate::http::{by_status, is_usually_later};
use crate::labels::SeriesLabels;
use crate::log_batch::{LogBatch, LogEngine, LogEntry};
use crate::settings::SendSettings;

/// The most bytes of an answer: a point has some 200.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The tables; both may have more columns.
const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS whit_samples (time DateTime64(3, 'UTC'), \
     host LowCardinality(String), name LowCardinality(String), \
     labels Map(LowCardinality(String), String), value Float64, recording UInt64, sample UInt64) \
     ENGINE = MergeTree ORDER BY (name, host, time) \
     SETTINGS non_replicated_deduplication_window = 1000",
    "CREATE TABLE IF NOT EXISTS whit_logs (time DateTime64(9, 'UTC'), \
     level LowCardinality(String), host LowCardinality(String), process LowCardinality(String), \
     pid UInt32, logger LowCardinality(String), message String, record String, \
     store LowCardinality(String), segment UInt64, number UInt64) \
     ENGINE = MergeTree ORDER BY (host, process, time) \
     SETTINGS non_replicated_deduplication_window = 1000",
];

const SAMPLES: &str = "whit_samples (time, host, name, labels, value, recording, sample)";
const LOGS: &str =
    "whit_logs (time, level, host, process, pid, logger, message, record, store, segment, number)";

/// The engine.
pub(crate) struct ClickHouse {
    client: HttpClient,
    /// The path, and what the address has behind `?`, with a mark behind it for more.
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    creates_tables: bool,
    format: JsonFormat,
    scratch: Vec<u8>,
    /// What the tables have, by recording, and of the store: the largest numbers.
    samples: HashMap<u64, u64>,
    logs: Option<(u64, u64)>,
}

/// What keeps rows from a table.
type Failed = SendOutcome;

impl ClickHouse {
    pub(crate) fn new(url: &HttpUrl, settings: &SendSettings) -> Result<Self, SendError> {
        let client =
            ClientSettings { answer_bytes_max: ANSWER_BYTES_MAX, ..settings.client.clone() };
        let client = HttpClient::new(url.clone(), client).map_err(SendError::Client)?;
        let (target, user) = target_and_user(&url.target());
        let mut headers = Vec::new();
        // A token is a password; ClickHouse takes it from headers if it takes all from there.
        let token = settings.authorization.as_ref().and_then(|value| value.to_str().ok());
        if let Some(token) = token {
            let token = token.strip_prefix("Bearer ").unwrap_or(token);
            let user = user.as_deref().unwrap_or("default");
            for (name, value) in [("x-clickhouse-user", user), ("x-clickhouse-key", token)] {
                let mut value = HeaderValue::from_str(value)
                    .map_err(|_| SendError::NoToken { kind: "clickhouse" })?;
                value.set_sensitive(true);
                headers.push((HeaderName::from_static(name), value));
            }
        }
        let target = match (token, &user) {
            (None, Some(user)) => format!("{target}{}&", http_client::form(&[("user", user)])),
            _ => target,
        };
        Ok(ClickHouse {
            client,
            target,
            headers,
            creates_tables: settings.creates_tables,
            format: JsonFormat::default(),
            scratch: Vec::new(),
            samples: HashMap::new(),
            logs: None,
        })
    }

    /// Asks something by parameters and a body; the answer of one that was done.
    fn ask(&mut self, parameters: &[(&str, &str)], body: Vec<u8>) -> Result<ClientAnswer, Failed> {
        let kind = (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        let mut headers = authorized(vec![kind], None);
        headers.extend(self.headers.iter().cloned());
        let target = format!("{}{}", self.target, http_client::form(parameters));
        let answer = self.client.send(Method::POST, &target, &headers, body);
        let later = |why| Failed::Retry { why, after: None };
        let answer = answer.map_err(|error| later(with_causes(&error)))?;
        if answer.status == StatusCode::NOT_FOUND {
            let why = format!("{}; whit send --create-tables makes the tables", said(&answer));
            return Err(later(why));
        }
        if answer.headers.contains_key("x-clickhouse-exception-code") && answer.status.is_success()
        {
            return Err(later(said(&answer)));
        }
        match by_status(&answer, said(&answer), is_usually_later) {
            SendOutcome::Acknowledged => Ok(answer),
            failed => Err(failed),
        }
    }

    /// The rows of a question, whose values have tabs between them.
    fn rows(&mut self, question: &str) -> Result<Vec<Vec<u64>>, Failed> {
        let question = format!("{question} FORMAT TabSeparated");
        let answer = self.ask(&[], question.into_bytes())?;
        let wrong =
            || Failed::Retry { why: "it answers with what is no number".into(), after: None };
        let text = std::str::from_utf8(&answer.body).map_err(|_| wrong())?;
        let row = |line: &str| line.split('\t').map(|word| word.parse().ok()).collect();
        text.lines().map(row).collect::<Option<_>>().ok_or_else(wrong)
    }

    /// Makes the tables, once, if that is wanted.
    fn create_tables(&mut self) -> Result<(), Failed> {
        if self.creates_tables {
            for table in TABLES {
                self.ask(&[], table.as_bytes().to_vec())?;
            }
            self.creates_tables = false;
        }
        Ok(())
    }

    /// Inserts rows.
    fn insert(&mut self, into: &str, token: &str, rows: Vec<u8>) -> Result<(), Failed> {
        let query = format!("INSERT INTO {into} FORMAT RowBinary");
        let parameters = [
            ("query", query.as_str()),
            ("insert_deduplicate", "1"),
            ("insert_deduplication_token", token),
            // The answer is to say that the rows are there.
            ("async_insert", "0"),
        ];
        self.ask(&parameters, rows).map(|_| ())
    }

    /// Inserts the samples that the table has not.
    fn insert_samples(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> Result<(), Failed> {
        self.create_tables()?;
        let (mut rows, mut first, mut last) = (Vec::new(), None, (0, 0));
        for at in samples {
            let end = &batch.ends[at];
            if !self.samples.contains_key(&end.file_id) {
                let recording = end.file_id;
                let question =
                    format!("SELECT max(sample) FROM whit_samples WHERE recording = {recording}");
                let has = self.rows(&question)?.first().and_then(|row| row.first().copied());
                self.samples.insert(recording, has.unwrap_or(0));
            }
            if self.samples.get(&end.file_id).is_some_and(|has| end.next <= *has) {
                continue;
            }
            for point in batch.points_of(at..at + 1).iter().filter(|one| !one.value.is_nan()) {
                rows.extend_from_slice(&point.time_ms.to_le_bytes());
                put_labels(series.labels(point.series), &mut rows);
                rows.extend_from_slice(&point.value.to_le_bytes());
                rows.extend_from_slice(&end.file_id.to_le_bytes());
                rows.extend_from_slice(&end.next.to_le_bytes());
            }
            last = (end.file_id, end.next);
            first.get_or_insert(last);
        }
        let Some(first) = first.filter(|_| !rows.is_empty()) else { return Ok(()) };
        let token = format!("{:016x}-{}.{:016x}-{}", first.0, first.1, last.0, last.1);
        self.insert(SAMPLES, &token, rows)
    }

    /// Inserts the log records that the table has not.
    fn insert_logs(&mut self, batch: &LogBatch, entries: &[LogEntry]) -> Result<(), Failed> {
        self.create_tables()?;
        let has = match self.logs {
            Some(has) => has,
            None => {
                let question = format!(
                    "SELECT segment, max(number) FROM whit_logs WHERE store = '{}' \
                     GROUP BY segment ORDER BY segment DESC LIMIT 1",
                    batch.store
                );
                match self.rows(&question)?.first().map(Vec::as_slice) {
                    Some(&[segment, number]) => (segment, number),
                    _ => (0, 0),
                }
            }
        };
        self.logs = Some(has);
        let lacking = |entry: &&LogEntry| (entry.segment, entry.next) > has;
        let lacking: Vec<&LogEntry> = entries.iter().filter(lacking).collect();
        let (Some(first), Some(last)) = (lacking.first(), lacking.last()) else { return Ok(()) };
        let mut rows = Vec::new();
        for entry in &lacking {
            rows.extend_from_slice(batch.text(entry));
            put_bytes(&mut rows, batch.store.as_bytes());
            rows.extend_from_slice(&entry.segment.to_le_bytes());
            rows.extend_from_slice(&entry.next.to_le_bytes());
        }
        let (from, to) = ((first.segment, first.next), (last.segment, last.next));
        let token = format!("{}-{}.{}-{}.{}", batch.store, from.0, from.1, to.0, to.1);
        self.insert(LOGS, &token, rows)?;
        self.logs = Some(to);
        Ok(())
    }

    /// What became of an insert; after a failure nobody knows what is there.
    fn outcome(&mut self, done: Result<(), Failed>) -> SendOutcome {
        let Err(failed) = done else { return SendOutcome::Acknowledged };
        (self.samples, self.logs) = (HashMap::new(), None);
        failed
    }
}

/// The target with a mark behind it for more parameters, and the user that it names.
fn target_and_user(target: &str) -> (String, Option<String>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (mut target, mut user) = (format!("{path}?"), None);
    for parameter in query.split('&').filter(|one| !one.is_empty()) {
        match parameter.strip_prefix("user=") {
            Some(name) => user = Some(name.to_owned()),
            None => target += &format!("{parameter}&"),
        }
    }
    (target, user)
}

/// A parameter of a question, as ClickHouse reads it: backslashes are escapes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

/// A point of an answer, with the labels of its series.
pub(crate) fn point_of(row: &Value, host: &str) -> Option<(Labels, i64, f64)> {
    let mut labels = vec![(NAME, row[0].as_str()?), ("instance", host), ("job", JOB)];
    for (name, value) in row[1].as_object()? {
        labels.push((name, value.as_str()?));
    }
    let value = row[3].as_f64().or_else(|| row[3].as_str()?.parse().ok())?;
    Some((labels.into_iter().collect(), row[2].as_i64()?, value))
}

/// Adds what a row of a series has between its time and its value: host, name and other labels.
fn put_labels(labels: SeriesLabels<'_>, row: &mut Vec<u8>) {
    put_bytes(row, labels.get("instance").as_bytes());
    put_bytes(row, labels.get(NAME).as_bytes());
    let others = || labels.iter().filter(|(name, _)| ![NAME, "instance", "job"].contains(name));
    varint::put(row, others().count() as u64);
    for (name, value) in others() {
        put_bytes(row, name.as_bytes());
        put_bytes(row, value.as_bytes());
    }
}

impl AsksPoints for ClickHouse {
    fn points(
        &mut self,
        host: &str,
        first_ms: i64,
        last_ms: i64,
    ) -> Result<HashMap<Labels, Points>, SendError> {
        let question = format!(
            "SELECT name, labels, toUnixTimestamp64Milli(time), value FROM whit_samples \
             WHERE host = {{host:String}} \
             AND time >= fromUnixTimestamp64Milli({first_ms}, 'UTC') \
             AND time <= fromUnixTimestamp64Milli({last_ms}, 'UTC') ORDER BY time \
             FORMAT JSONCompactEachRow"
        );
        let parameters = [
            ("param_host", escaped(host)),
            ("output_format_json_quote_64bit_integers", "0".to_owned()),
            ("output_format_json_quote_denormals", "1".to_owned()),
        ];
        let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
        let server = self.client.url().to_string();
        let failed = |why: String| SendError::NoAnswer { server: server.clone(), why };
        let answer = self.ask(&parameters, question.into_bytes()).map_err(|error| match error {
            Failed::Retry { why, .. } | Failed::Refused { why, .. } => failed(why),
            _ => failed(String::new()),
        })?;
        let mut held: HashMap<Labels, Points> = HashMap::new();
        for line in answer.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Value =
                serde_json::from_slice(line).map_err(|error| failed(error.to_string()))?;
            let point = point_of(&row, host);
            let (labels, time_ms, value) =
                point.ok_or_else(|| failed("it gives no points".to_owned()))?;
            held.entry(labels).or_default().push((time_ms, value));
        }
        Ok(held)
    }
}

impl MetricEngine for ClickHouse {
    fn hand_over(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> SendOutcome {
        let done = self.insert_samples(series, batch, samples.clone());
        if done.is_ok() {
            for end in &batch.ends[samples] {
                let has = self.samples.entry(end.file_id).or_default();
                *has = end.next.max(*has);
            }
        }
        self.outcome(done)
    }
}

impl LogEngine for ClickHouse {
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&record.time_ns.to_le_bytes());
        let origin = &record.origin;
        for text in [record.level().name(), origin.host, origin.process] {
            put_bytes(out, text.as_bytes());
        }
        out.extend_from_slice(&origin.pid.to_le_bytes());
        put_bytes(out, record.logger().as_bytes());
        self.scratch.clear();
        write_message(&mut self.scratch, record);
        put_bytes(out, &self.scratch);
        self.scratch.clear();
        self.format.put(&mut self.scratch, record);
        put_bytes(out, self.scratch.trim_ascii_end());
    }

    fn hand_over(&mut self, batch: &LogBatch, entries: Range<usize>) -> SendOutcome {
        let done = self.insert_logs(batch, &batch.entries[entries]);
        self.outcome(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::LabelTable;

    #[test]
    fn the_user_of_an_address_is_apart() {
        let user = |text| Some(String::from(text));
        assert_eq!(target_and_user("/"), ("/?".into(), None));
        assert_eq!(target_and_user("/?user=a&database=b"), ("/?database=b&".into(), user("a")));
    }

    #[test]
    fn rows_are_as_the_format_says() {
        let labels = [(NAME, "m"), ("instance", "h"), ("job", "whit"), ("device", "sda")];
        let mut table = LabelTable::default();
        let (number, _) = table.number(labels.into_iter());
        let mut row = Vec::new();
        put_labels(table.get(number), &mut row);
        assert_eq!(row, b"\x01h\x01m\x01\x06device\x03sda");
        let row = serde_json::json!(["m", { "device": "sda" }, 5, "inf"]);
        let (found, time_ms, value) = point_of(&row, "h").unwrap();
        assert_eq!((found, time_ms, value), (labels.into_iter().collect(), 5, f64::INFINITY));
    }
}
