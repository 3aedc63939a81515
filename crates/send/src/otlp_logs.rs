//! OTLP over HTTP for log records: protobuf, packed by gzip, for collectors of OpenTelemetry.
//!
//! The numbers of fields are in `otlp_messages`; answers mean what they mean for metrics (`otlp.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use http_client::{ClientAnswer, HttpUrl};
use log_format::{LogRecord, RecordField, put_value, write_message};
use logring::LogValue;
use otlp_messages::log_field::{
    ATTRIBUTES, BODY, LOG_RECORDS, RESOURCE, RESOURCE_ATTRIBUTES, RESOURCE_LOGS, SCOPE, SCOPE_LOGS,
    SEVERITY_NUMBER, SEVERITY_TEXT, TIME,
};
use otlp_messages::{AnyValue, KeyValue, OtlpScope, severity};
use prost::encoding;

use crate::engine::SendOutcome;
use crate::gzip::GzipPacker;
use crate::http::{FormRequest, HttpLogForm};
use crate::log_batch::{LogBatch, LogEntry, LogOrigin};
use crate::otlp::{answered, packed};
use crate::protobuf::put_bytes;

/// Where collectors take it.
const USUAL_PATH: &str = "/v1/logs";

/// The form.
pub(crate) struct OtlpLogs {
    target: String,
    packer: GzipPacker,
}

impl OtlpLogs {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        OtlpLogs { target: url.target_or(USUAL_PATH), packer: GzipPacker::default() }
    }
}

/// A value of a record, in its own type.
fn any_value(field: &RecordField<'_>, record: &LogRecord<'_>) -> AnyValue {
    match &field.value {
        LogValue::Signed(number) => AnyValue::integer(*number),
        LogValue::Unsigned(number) => match i64::try_from(*number) {
            Ok(number) => AnyValue::integer(number),
            Err(_) => AnyValue::text(&number.to_string()),
        },
        LogValue::Float(number) => AnyValue::float(*number),
        LogValue::Bool(is) => AnyValue::truth(*is),
        LogValue::Bytes(bytes) => AnyValue::bytes(bytes),
        _ => {
            let mut text = Vec::new();
            put_value(&mut text, field, record);
            AnyValue::text(&String::from_utf8_lossy(&text))
        }
    }
}

/// Appends an attribute.
fn put(tag: u32, key: &str, value: AnyValue, out: &mut Vec<u8>) {
    let attribute = KeyValue { key: key.to_owned(), value: Some(value) };
    encoding::message::encode(tag, &attribute, out);
}

/// `ResourceLogs.resource`: the process.
fn resource(origin: &LogOrigin) -> Vec<u8> {
    let mut resource = Vec::new();
    for (key, value) in [
        ("service.name", AnyValue::text(&origin.process)),
        ("service.instance.id", AnyValue::text(&format!("{}:{}", origin.host, origin.pid))),
        ("host.name", AnyValue::text(&origin.host)),
        ("process.pid", AnyValue::integer(i64::from(origin.pid))),
    ] {
        put(RESOURCE_ATTRIBUTES, key, value, &mut resource);
    }
    resource
}

/// The records of a process, by logger.
struct ProcessLogs<'a> {
    origin: &'a LogOrigin,
    loggers: Vec<(&'a str, Vec<u8>)>,
}

/// `ExportLogsServiceRequest`.
fn message(batch: &LogBatch, entries: &[LogEntry]) -> Vec<u8> {
    let mut processes: Vec<ProcessLogs<'_>> = Vec::new();
    let mut places: HashMap<&LogOrigin, (usize, usize)> = HashMap::new();
    let mut before: Option<(&Arc<LogOrigin>, (usize, usize))> = None;
    for one in entries {
        let same = before.filter(|(origin, _)| Arc::ptr_eq(origin, &one.origin));
        let (process, logger) = same.map_or_else(
            || *places.entry(&one.origin).or_insert_with(|| place(&mut processes, &one.origin)),
            |(_, place)| place,
        );
        before = Some((&one.origin, (process, logger)));
        let records = &mut processes[process].loggers[logger].1;
        put_bytes(LOG_RECORDS, batch.text(one), records);
    }
    let mut message = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    for ProcessLogs { origin, loggers } in processes {
        let mut logs = Vec::new();
        encoding::bytes::encode(RESOURCE, &resource(origin), &mut logs);
        for (logger, records) in loggers {
            let mut scope_logs = Vec::new();
            let scope = OtlpScope { name: logger.to_owned(), version: version.to_owned() };
            encoding::message::encode(SCOPE, &scope, &mut scope_logs);
            scope_logs.extend_from_slice(&records);
            encoding::bytes::encode(SCOPE_LOGS, &scope_logs, &mut logs);
        }
        encoding::bytes::encode(RESOURCE_LOGS, &logs, &mut message);
    }
    message
}

/// The place of the records of an origin: of its process, and of its logger there.
fn place<'a>(processes: &mut Vec<ProcessLogs<'a>>, origin: &'a LogOrigin) -> (usize, usize) {
    let of = |one: &LogOrigin| (one.host.clone(), one.process.clone(), one.pid);
    let known = processes.iter().position(|one| of(one.origin) == of(origin));
    let process = known.unwrap_or_else(|| {
        processes.push(ProcessLogs { origin, loggers: Vec::new() });
        processes.len() - 1
    });
    let loggers = &mut processes[process].loggers;
    loggers.push((&origin.logger, Vec::new()));
    (process, loggers.len() - 1)
}

impl HttpLogForm for OtlpLogs {
    /// `LogRecord`.
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        encoding::fixed64::encode(TIME, &record.time_ns, out);
        encoding::int32::encode(SEVERITY_NUMBER, &severity(record.level()), out);
        encoding::string::encode(SEVERITY_TEXT, &record.level().name().to_owned(), out);
        let mut text = Vec::new();
        write_message(&mut text, record);
        encoding::message::encode(BODY, &AnyValue::text(&String::from_utf8_lossy(&text)), out);
        for (key, text) in [
            ("thread.name", record.origin.thread),
            ("code.file.path", record.file()),
            ("code.function.name", record.routine()),
        ] {
            if !text.is_empty() {
                put(ATTRIBUTES, key, AnyValue::text(text), out);
            }
        }
        let number = |number: u32| AnyValue::integer(i64::from(number));
        put(ATTRIBUTES, "thread.id", number(record.origin.tid), out);
        if record.line() > 0 {
            put(ATTRIBUTES, "code.line.number", number(record.line()), out);
        }
        put(ATTRIBUTES, "whit.ring", number(record.origin.ring), out);
        let sequence = i64::try_from(record.record.sequence).unwrap_or(i64::MAX);
        put(ATTRIBUTES, "whit.sequence", AnyValue::integer(sequence), out);
        for (key, value) in record.pairs() {
            put(ATTRIBUTES, key, AnyValue::text(value), out);
        }
        for field in record.attributes() {
            let key = String::from_utf8_lossy(field.name);
            put(ATTRIBUTES, &key, any_value(&field, record), out);
        }
    }

    fn request(&mut self, batch: &LogBatch, entries: &[LogEntry]) -> FormRequest {
        packed(&self.target, &message(batch, entries), &mut self.packer)
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        answered(answer)
    }
}
