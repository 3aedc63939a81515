//! The section `logs`: records of a store of `whit log`, their counts by level, names, and new ones as
//! they come.

mod live;

use std::path::Path;
use std::sync::Arc;

use archive::Recordings;
use http_server::{HttpAnswer, answer as answer_of};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use layout::text::CsvFormulas;
use log_format::{CsvFormat, JsonFormat, LogRecord, RecordFormat, write_message};
use log_store::archive::{
    LogArchive, LogArchiveError, LogLosses, LogOrder, LogPage, LogSearch, LogSteps, RecordKey,
};
use log_store::query::Filter;
use logring::LogLevel;
use promql::{QueryError, Stop};
use serde_json::{Map, Value, json};

use self::live::LogLive;
use super::asked::{PERIOD_USUAL_MS, checked, ms};
use super::json_answer;
use super::section::{PageSection, SectionQuestion};
use super::steps::{Period, Steps};
use super::streams::RefusedStreams;
use super::table::Csv;
use crate::clock::now_ms;
use crate::parameters::{Parameters, invalid};

/// Records of an answer.
const RECORDS_USUAL: usize = 200;
const RECORDS_MAX: usize = 1000;

/// The header of a list in CSV that has what `behind` asks for, if there are more records.
pub(super) const BEHIND: &str = "whit-behind";

/// Bytes of the records of an answer, which are in memory beside its text: more records come with the
/// next question.
const RECORDS_BYTES_MAX: usize = 1 << 20;

/// Bytes of a record in a list: of a longer one there is the begin of its message.
const LISTED_BYTES_MAX: usize = 16 << 10;
const MESSAGE_BYTES: usize = 4 << 10;

/// What selects records.
const FILTER: [&str; 7] = ["level", "logger", "host", "process", "text", "pair", "regex"];

/// Longest text of a parameter.
const TEXT_BYTES_MAX: usize = 4096;

/// The records of a store.
pub(super) struct Logs {
    archive: LogArchive,
    live: Arc<LogLive>,
    refused: Arc<RefusedStreams>,
}

impl Logs {
    pub(super) fn new(store: &Path, refused: Arc<RefusedStreams>) -> Self {
        let live = Arc::new(LogLive::new(store));
        Logs { archive: LogArchive::new(store), live, refused }
    }
}

impl PageSection for Logs {
    fn name(&self) -> &'static str {
        "logs"
    }

    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError> {
        let stop = question.stop;
        let asked =
            LogQuestion { logs: self, parameters: question.parameters, ends: &|| stop().is_some() };
        let answered = match question.path {
            "records" => asked.records(),
            "record" => asked.record(),
            "counts" => asked.counts(),
            "loggers" => asked.loggers(),
            "live" => asked.live(),
            other => Err(QueryError::BadData(format!(
                "there is no logs/{other}: there are logs/records, logs/record, logs/counts, \
                 logs/loggers and logs/live"
            ))),
        };
        // A store that was ended does not say why.
        answered.map_err(|error| match (error, stop()) {
            (QueryError::Cancelled, Some(Stop::TimedOut)) => QueryError::TimedOut,
            (error, _) => error,
        })
    }

    fn end(&self) {
        self.live.end();
    }
}

/// A question, and whether anybody waits for its answer.
struct LogQuestion<'a> {
    logs: &'a Logs,
    parameters: &'a Parameters,
    ends: &'a dyn Fn() -> bool,
}

impl LogQuestion<'_> {
    fn only(&self, more: &[&str]) -> Result<(), QueryError> {
        self.parameters.only(&[&FILTER, more].concat())
    }

    /// The period, which ends now and lasts an hour if not given.
    fn period(&self) -> Result<Period, QueryError> {
        let thru_ns = self.parameters.time_ns("thru")?;
        let thru_ns = thru_ns.unwrap_or_else(|| now_ms().saturating_mul(1_000_000));
        let from_ns = self.parameters.time_ns("from")?;
        let from_ns = from_ns.unwrap_or(thru_ns.saturating_sub(PERIOD_USUAL_MS * 1_000_000));
        checked("thru", from_ns.max(0), thru_ns)
    }

    fn records(&self) -> Result<HttpAnswer, QueryError> {
        self.only(&["from", "thru", "order", "count", "behind", "format"])?;
        let Period { from_ns, thru_ns } = self.period()?;
        let mut search = search(self.parameters)?;
        search.filter.from_ns = Some(from_ns.unsigned_abs());
        search.filter.until_ns = Some(thru_ns.unsigned_abs());
        let order = match self.parameters.get("order") {
            "" | "newest" => LogOrder::NewestFirst,
            "oldest" => LogOrder::OldestFirst,
            other => return Err(invalid("order", &format!("{other:?}: give newest or oldest"))),
        };
        let behind = match self.parameters.get("behind") {
            "" => None,
            text => Some(key("behind", text)?),
        };
        let limit = self.parameters.number("count", RECORDS_USUAL, RECORDS_MAX)?;
        let page = LogPage { order, limit, bytes_max: RECORDS_BYTES_MAX, behind };
        let is_csv = self.parameters.is_csv()?;
        let mut json_records = JsonRecords::default();
        let mut csv = CsvFormat::new(CsvFormulas::Keep);
        let found = self.logs.archive.records(&search, page, self.ends, &mut |key, record| {
            if is_csv {
                let mut text = Vec::new();
                csv.put(&mut text, record);
                return text;
            }
            json_records.listed(key, record)
        });
        let found = found.map_err(refused)?;
        let behind = found.records.last().filter(|_| found.has_more);
        let behind = behind.map(|record| record.key.to_string());
        let mut text = if is_csv { csv.head().to_vec() } else { b"{\"records\":[".to_vec() };
        for (number, record) in found.records.into_iter().enumerate() {
            if number > 0 && !is_csv {
                text.push(b',');
            }
            text.extend_from_slice(&record.text);
        }
        if is_csv {
            let mut answer = csv_answer(text);
            if let Some(behind) = behind.and_then(|key| HeaderValue::try_from(key).ok()) {
                answer.headers_mut().insert(BEHIND, behind);
            }
            return Ok(answer);
        }
        let rest = json!({ "behind": behind, "lost": lost(&found.losses) }).to_string();
        text.extend_from_slice(b"],");
        text.extend_from_slice(&rest.as_bytes()[1..]);
        Ok(json_answer(StatusCode::OK, lossy(text)))
    }

    /// One record with all its data.
    fn record(&self) -> Result<HttpAnswer, QueryError> {
        self.parameters.only(&["id"])?;
        let key = key("id", self.parameters.get("id"))?;
        let mut json_records = JsonRecords::default();
        let found = self
            .logs
            .archive
            .record(key, self.ends, &mut |key, record| json_records.whole(key, record));
        match found.map_err(refused)? {
            Some(text) => Ok(json_answer(StatusCode::OK, lossy(text))),
            None => Err(invalid("id", "the store has no such record, or not any more")),
        }
    }

    fn counts(&self) -> Result<HttpAnswer, QueryError> {
        self.only(&["from", "thru", "points", "format"])?;
        let (period, search) = (self.period()?, search(self.parameters)?);
        let points = self.parameters.points()?;
        let nice_ns = || Recordings::aligned_step(period.from_ns, period.thru_ns, points);
        let steps = Steps::of(period, points, 1_000_000, nice_ns, || None);
        let asked = LogSteps {
            from_ns: steps.from_ns.max(0).unsigned_abs(),
            step_ns: steps.step_ns.unsigned_abs(),
            count: steps.count,
        };
        let found = self.logs.archive.counts(&search, asked, self.ends).map_err(refused)?;
        let now_ns = now_ms().max(0).unsigned_abs().saturating_mul(1_000_000);
        // What was before the first record that is kept is not known, and what comes neither.
        let is_known = |step: usize| {
            let from_ns = asked.from_ns.saturating_add(asked.step_ns.saturating_mul(step as u64));
            let until_ns = from_ns.saturating_add(asked.step_ns);
            found
                .recorded_ns
                .is_some_and(|(first, last)| until_ns > first && from_ns <= now_ns.max(last))
        };
        let level = search.filter.level.unwrap_or(LogLevel::Trace);
        let levels = LogLevel::ALL.into_iter().filter(|one| *one >= level);
        let series: Vec<(&str, Vec<Value>)> =
            levels
                .map(|level| {
                    let number = usize::from(level.number());
                    let counts = found.steps.iter().enumerate();
                    let counts = counts.map(|(step, counts)| {
                        if is_known(step) { json!(counts[number]) } else { Value::Null }
                    });
                    (level.name(), counts.collect())
                })
                .collect();
        if self.parameters.is_csv()? {
            return Ok(csv_answer(counts_as_csv(&series, steps)));
        }
        let series: Map<String, Value> =
            series.into_iter().map(|(name, counts)| (name.to_owned(), json!(counts))).collect();
        let answer = json!({
            "from_ms": ms(steps.from_ns),
            "step_ms": ms(steps.step_ns),
            "levels": series,
            "recorded": recorded(found.recorded_ns),
            "lost": lost(&found.losses),
        });
        Ok(json_answer(StatusCode::OK, answer.to_string()))
    }

    fn loggers(&self) -> Result<HttpAnswer, QueryError> {
        self.parameters.only(&["from", "thru", "level", "host", "process", "format"])?;
        let Period { from_ns, thru_ns } = self.period()?;
        let mut filter = search(self.parameters)?.filter;
        filter.from_ns = Some(from_ns.unsigned_abs());
        filter.until_ns = Some(thru_ns.unsigned_abs());
        let names = self.logs.archive.names(&filter, self.ends).map_err(refused)?;
        if self.parameters.is_csv()? {
            let mut csv = Csv::new(&["kind", "name", "records"]);
            for (kind, names) in [("host", &names.hosts), ("process", &names.processes)] {
                for (name, records) in names {
                    csv.line(&[json!(kind), json!(name), json!(records)]);
                }
            }
            names.loggers.iter().for_each(|name| {
                csv.line(&[json!("logger"), json!(name), Value::Null]);
            });
            return Ok(csv_answer(csv.text));
        }
        let counted = |names: &std::collections::BTreeMap<String, u64>| -> Vec<Value> {
            names
                .iter()
                .map(|(name, records)| json!({ "name": name, "records": records }))
                .collect()
        };
        let levels: Vec<&str> = LogLevel::ALL.into_iter().map(LogLevel::name).collect();
        let answer = json!({
            "hosts": counted(&names.hosts),
            "processes": counted(&names.processes),
            "loggers": names.loggers,
            "levels": levels,
            "left_out": names.left_out,
            "recorded": recorded(names.recorded_ns),
            "lost": lost(&names.losses),
        });
        Ok(json_answer(StatusCode::OK, answer.to_string()))
    }

    fn live(&self) -> Result<HttpAnswer, QueryError> {
        self.only(&[])?;
        self.logs.live.add(search(self.parameters)?, &self.logs.refused)
    }
}

fn counts_as_csv(series: &[(&str, Vec<Value>)], steps: Steps) -> String {
    let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
    let mut csv = Csv::new(&[&["time_ms"], names.as_slice()].concat());
    for step in 0..steps.count {
        let time_ms = ms(steps.from_ns + steps.step_ns * step as i64);
        let counts = series.iter().map(|(_, counts)| counts[step].clone());
        csv.line(&std::iter::once(json!(time_ms)).chain(counts).collect::<Vec<Value>>());
    }
    csv.text
}

/// What selects records, of the parameters of a question.
fn search(parameters: &Parameters) -> Result<LogSearch, QueryError> {
    let text = |name: &str| -> Result<String, QueryError> {
        let text = parameters.get(name);
        match text.len() <= TEXT_BYTES_MAX {
            true => Ok(text.to_owned()),
            false => Err(invalid(name, &format!("it has more than {TEXT_BYTES_MAX} bytes"))),
        }
    };
    let level = match parameters.get("level") {
        "" => None,
        text => Some(LogLevel::parse(text).ok_or_else(|| {
            let names: Vec<&str> = LogLevel::ALL.into_iter().map(LogLevel::name).collect();
            invalid("level", &format!("give one of {}", names.join(", ")))
        })?),
    };
    let pairs = parameters.all("pair").map(|pair| {
        let parts = pair.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = parts.ok_or_else(|| invalid("pair", "give NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    let regex = match text("regex")?.as_str() {
        "" => None,
        regex => Some(
            regex::bytes::Regex::new(regex)
                .map_err(|error| invalid("regex", &error.to_string()))?,
        ),
    };
    let filter = Filter {
        level,
        logger: text("logger")?,
        host: text("host")?,
        process: text("process")?,
        pairs: pairs.collect::<Result<_, QueryError>>()?,
        regex,
        ..Filter::default()
    };
    LogSearch::new(filter, &text("text")?).map_err(refused)
}

fn key(name: &str, text: &str) -> Result<RecordKey, QueryError> {
    text.parse().map_err(|()| invalid(name, "give the id of a record"))
}

fn refused(error: LogArchiveError) -> QueryError {
    match error {
        LogArchiveError::Ended => QueryError::Cancelled,
        LogArchiveError::Search(why) => invalid("text", &why),
        LogArchiveError::Io { .. } => {
            QueryError::Execution(format!("the log store cannot be read: {error}"))
        }
    }
}

fn csv_answer(text: impl Into<hyper::body::Bytes>) -> HttpAnswer {
    answer_of(StatusCode::OK, "text/csv; charset=utf-8", text.into())
}

/// The text of bytes that are mostly one: it takes no more memory then.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|other| String::from_utf8_lossy(other.as_bytes()).into_owned())
}

fn recorded(span: Option<(u64, u64)>) -> Value {
    let whole_ms = |time_ns: u64| time_ns / 1_000_000;
    span.map_or(Value::Null, |(first_ns, last_ns)| {
        json!({ "from_ms": whole_ms(first_ns), "thru_ms": whole_ms(last_ns) })
    })
}

/// What the store lacks, as far as it knows.
fn lost(losses: &LogLosses) -> Value {
    let of = losses.lost().map(|loss| {
        json!({
            "host": loss.host,
            "process": loss.process,
            "why": loss.reason.text(),
            "records": loss.records,
        })
    });
    let damaged = losses.damaged.iter().map(|(path, from, to)| {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        json!({ "file": file, "from": from, "to": to })
    });
    json!({
        "records": losses.records(),
        "of": of.collect::<Vec<_>>(),
        "damaged": damaged.collect::<Vec<_>>(),
        "damaged_more": losses.more_damaged,
    })
}

/// Records as objects of JSON: as `whit log query --format json` has them, with `id` and `at_ms`.
#[derive(Default)]
struct JsonRecords {
    format: JsonFormat,
}

impl JsonRecords {
    fn whole(&mut self, key: RecordKey, record: &LogRecord<'_>) -> Vec<u8> {
        let mut text =
            format!("{{\"id\":\"{key}\",\"at_ms\":{},", key.time_ns / 1_000_000).into_bytes();
        let head = text.len();
        self.format.put(&mut text, record);
        // One object of both; its line ends with it.
        text.remove(head);
        text.truncate(text.trim_ascii_end().len());
        text
    }

    /// Writes a record for a list, where a long text is shortened and says so.
    fn listed(&mut self, key: RecordKey, record: &LogRecord<'_>) -> Vec<u8> {
        let text = self.whole(key, record);
        if text.len() <= LISTED_BYTES_MAX {
            return text;
        }
        let mut message = Vec::new();
        write_message(&mut message, record);
        let bytes = message.len();
        message.truncate(MESSAGE_BYTES);
        let begin = |text: &str| text.chars().take(200).collect::<String>();
        let short = json!({
            "id": key.to_string(),
            "at_ms": key.time_ns / 1_000_000,
            "level": record.level().name(),
            "logger": begin(record.logger()),
            "host": begin(record.origin.host),
            "process": begin(record.origin.process),
            "pid": record.origin.pid,
            "message": String::from_utf8_lossy(&message),
            "message_bytes": bytes,
            "is_short": true,
        });
        short.to_string().into_bytes()
    }
}
