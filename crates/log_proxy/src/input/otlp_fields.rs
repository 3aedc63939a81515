//! What a record of OTLP becomes: its body is the text, everything else are names and values.
//!
//! `service.name`, `host.name` and `process.pid` have the names that other inputs give to these; further
//! attributes of the resource have `resource.` before theirs, so that none hides one of the record.

use std::borrow::Cow;

use log_format::{LogZone, TimeText};
use logring::{LogLevel, LogValue};
use otlp_messages::{OtlpLog, OtlpOrigin, OtlpValue, level_of_severity, severity};

use super::TEXT_BYTES_MAX;
use super::fields::LEFT_OUT;
use super::output::{Field, InputRecords};

/// Bytes of the attributes of a record; what is beyond is left out, and counted.  With the longest text
/// a record stays below its own limit of 524,280 bytes.
const ATTRIBUTE_BYTES_MAX: usize = 256 << 10;
/// How many attributes are left out.
const LEFT_OUT_ATTRIBUTES: &str = "LeftOutAttributes";

/// Writes the records of a request.
pub(super) struct OtlpWriter {
    records: InputRecords,
    times: TimeText,
}

impl OtlpWriter {
    pub(super) fn new(records: InputRecords) -> Self {
        OtlpWriter { records, times: TimeText::new(LogZone::default()) }
    }

    /// Writes a record; waits while there is no room.
    pub(super) fn write(&mut self, origin: &OtlpOrigin<'_>, log: &OtlpLog<'_>) {
        let level = level_of(log);
        let body = text_of(&log.body);
        let text = &body[..body.len().min(TEXT_BYTES_MAX)];
        let (time_ns, observed_ns) = match log.time_ns {
            0 => (log.observed_ns, 0),
            // A time that is told twice is written once.
            time_ns => (time_ns, if log.observed_ns == time_ns { 0 } else { log.observed_ns }),
        };
        let [time, observed] = [time_ns, observed_ns].map(|time_ns| self.time(time_ns));
        let names = origin.resource.iter().map(|one| resource_name(&one.key));
        let resource: Vec<Cow<'_, str>> = names.collect();
        let named: [(&str, &[u8]); 8] = [
            ("Time", &time),
            ("ObservedTime", &observed),
            ("Severity", if is_name(&log.severity_text, level) { b"" } else { &log.severity_text }),
            ("TraceId", log.trace_id.as_bytes()),
            ("SpanId", log.span_id.as_bytes()),
            ("EventName", &log.event_name),
            ("Scope", &origin.scope),
            ("ScopeVersion", &origin.scope_version),
        ];
        let most = named.len() + log.attributes.len() + resource.len() + 4;
        let mut fields: Vec<Field<'_>> = Vec::with_capacity(most);
        let mut room =
            Room { bytes: ATTRIBUTE_BYTES_MAX, left_out: origin.left_out + log.left_out };
        for (name, value) in named.into_iter().filter(|(_, value)| !value.is_empty()) {
            room.put(&mut fields, (name, LogValue::Text(value)));
        }
        if log.severity != 0 && log.severity != severity(level) {
            fields.push(("SeverityNumber", LogValue::Signed(log.severity.into())));
        }
        if log.flags != 0 {
            fields.push(("TraceFlags", LogValue::Unsigned(log.flags.into())));
        }
        for one in &log.attributes {
            room.put(&mut fields, (&*one.key, value_of(&one.value)));
        }
        for (one, name) in origin.resource.iter().zip(&resource) {
            room.put(&mut fields, (&**name, value_of(&one.value)));
        }
        if body.len() > text.len() {
            fields.push((LEFT_OUT, LogValue::Unsigned((body.len() - text.len()) as u64)));
        }
        if room.left_out > 0 {
            fields.push((LEFT_OUT_ATTRIBUTES, LogValue::Unsigned(room.left_out)));
        }
        self.records.write(level, text, &fields);
    }

    /// A time as other inputs have it; nothing: it is not known.
    fn time(&mut self, time_ns: u64) -> Vec<u8> {
        let mut text = Vec::new();
        if time_ns > 0 {
            self.times.put(&mut text, time_ns, 9);
            self.times.put_zone(&mut text);
        }
        text
    }
}

/// What attributes may still take.
struct Room {
    bytes: usize,
    left_out: u64,
}

impl Room {
    fn put<'a>(&mut self, fields: &mut Vec<Field<'a>>, field: Field<'a>) {
        let value = match field.1 {
            LogValue::Text(bytes) | LogValue::Bytes(bytes) => bytes.len(),
            _ => 8,
        };
        // Names have 255 bytes at most.
        match self.bytes.checked_sub(field.0.len().min(255) + value + 16) {
            Some(left) => {
                self.bytes = left;
                fields.push(field);
            }
            None => self.left_out += 1,
        }
    }
}

/// The level: by the number, or else by the program's own name of it, if that is one of ours.
fn level_of(log: &OtlpLog<'_>) -> LogLevel {
    let named = || {
        let name = std::str::from_utf8(&log.severity_text).ok()?;
        LogLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    };
    level_of_severity(log.severity).or_else(named).unwrap_or(LogLevel::Info)
}

fn is_name(text: &[u8], level: LogLevel) -> bool {
    text.eq_ignore_ascii_case(level.name().as_bytes())
}

fn resource_name(key: &str) -> Cow<'static, str> {
    match key {
        "service.name" => "Process".into(),
        "host.name" => "Host".into(),
        "process.pid" => "Pid".into(),
        _ => format!("resource.{key}").into(),
    }
}

fn value_of<'a>(value: &'a OtlpValue<'_>) -> LogValue<'a> {
    match value {
        OtlpValue::Empty => LogValue::Text(b""),
        OtlpValue::Text(text) => LogValue::Text(text),
        OtlpValue::Truth(is) => LogValue::Bool(*is),
        OtlpValue::Integer(number) => LogValue::Signed(*number),
        OtlpValue::Float(number) => LogValue::Float(*number),
        OtlpValue::Bytes(bytes) => LogValue::Bytes(bytes),
        OtlpValue::Nested(json) => LogValue::Text(json),
    }
}

fn text_of<'a>(value: &'a OtlpValue<'_>) -> Cow<'a, [u8]> {
    match value {
        OtlpValue::Empty => Cow::default(),
        OtlpValue::Text(bytes) | OtlpValue::Bytes(bytes) => Cow::Borrowed(&**bytes),
        OtlpValue::Nested(json) => Cow::Borrowed(json),
        OtlpValue::Truth(is) => is.to_string().into_bytes().into(),
        OtlpValue::Integer(number) => number.to_string().into_bytes().into(),
        OtlpValue::Float(number) => number.to_string().into_bytes().into(),
    }
}
