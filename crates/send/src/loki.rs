//! Loki's push interface: streams of lines as protobuf, in a block of snappy, over HTTP.
//!
//! A stream has few labels, since Loki keeps an index of them: `host`, `process`, `level` and `job`.  A line
//! is a record as a JSON object, as `whit log query --format json` shows it, so nothing of it is lost and
//! no two are equal: of equal lines of one time Loki keeps one
//! (<https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs>), and so a line that is sent
//! twice is there once.  The numbers of fields are those of `pkg/push/push.proto`, named beside each.

use std::collections::HashMap;
use std::fmt::Write as _;

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use http_client::{ClientAnswer, HttpUrl};
use log_format::{JsonFormat, LogRecord, RecordFormat as _};
use logring::LogLevel;
use promql::Quoted;
use prost::encoding;

use crate::engine::SendOutcome;
use crate::exchange::said;
use crate::http::{FormRequest, HttpLogForm, by_status, is_usually_later};
use crate::log_batch::{LogBatch, LogEntry};
use crate::protobuf::put_bytes;

/// Where Loki takes it.
pub(crate) const USUAL_PATH: &str = "/loki/api/v1/push";

/// `PushRequest.streams`.
const STREAMS: u32 = 1;
/// `StreamAdapter.labels` and its `entries`.
const LABELS: u32 = 1;
const ENTRIES: u32 = 2;
/// `EntryAdapter.timestamp` and its `line`.
const TIMESTAMP: u32 = 1;
const LINE: u32 = 2;

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// The form.
pub(crate) struct Loki {
    target: String,
    format: JsonFormat,
    encoder: snap::raw::Encoder,
}

impl Loki {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        let (format, encoder) = (JsonFormat::default(), snap::raw::Encoder::new());
        Loki { target: url.target_or(USUAL_PATH), format, encoder }
    }
}

/// The labels of a stream.
fn labels(host: &str, process: &str, level: LogLevel) -> String {
    let mut labels = String::new();
    let level = level.name().to_ascii_lowercase();
    for (name, value) in [("host", host), ("job", "whit"), ("level", &level), ("process", process)]
    {
        // A label without a value is none.
        if !value.is_empty() {
            labels.push(if labels.is_empty() { '{' } else { ',' });
            let _ = write!(labels, "{name}={}", Quoted(value));
        }
    }
    labels + "}"
}

/// `EntryAdapter`.
fn entry(time_ns: u64, line: &[u8]) -> Vec<u8> {
    let timestamp = Timestamp {
        seconds: i64::try_from(time_ns / 1_000_000_000).unwrap_or(i64::MAX),
        nanos: (time_ns % 1_000_000_000) as i32,
    };
    let mut encoded = Vec::with_capacity(line.len() + 24);
    encoding::message::encode(TIMESTAMP, &timestamp, &mut encoded);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    put_bytes(LINE, line, &mut encoded);
    encoded
}

impl HttpLogForm for Loki {
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        self.format.put(out, record);
    }

    fn request(&mut self, batch: &LogBatch, entries: &[LogEntry]) -> FormRequest {
        let mut places: HashMap<(&str, &str, LogLevel), usize> = HashMap::new();
        let mut streams: Vec<(String, Vec<u8>)> = Vec::new();
        for one in entries {
            let key = (one.origin.host.as_str(), one.origin.process.as_str(), one.level);
            let place = *places.entry(key).or_insert_with(|| {
                streams.push((labels(key.0, key.1, key.2), Vec::new()));
                streams.len() - 1
            });
            put_bytes(ENTRIES, &entry(one.time_ns, batch.text(one)), &mut streams[place].1);
        }
        let mut message = Vec::new();
        for (labels, entries) in streams {
            let mut stream = Vec::with_capacity(entries.len() + labels.len() + 10);
            encoding::string::encode(LABELS, &labels, &mut stream);
            stream.extend_from_slice(&entries);
            put_bytes(STREAMS, &stream, &mut message);
        }
        // A block of snappy has at most 4 GiB, a batch some MB.
        let body = self.encoder.compress_vec(&message).unwrap_or_default();
        let header = HeaderValue::from_static;
        FormRequest {
            target: self.target.clone(),
            headers: vec![
                (CONTENT_TYPE, header("application/x-protobuf")),
                (CONTENT_ENCODING, header("snappy")),
            ],
            body,
        }
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        by_status(answer, said(answer), is_usually_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_as_go_reads_them() {
        assert_eq!(
            labels("a\"b\\c\n", "", LogLevel::Warning),
            "{host=\"a\\\"b\\\\c\\n\",job=\"whit\",level=\"warning\"}"
        );
    }
}
