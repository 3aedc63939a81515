//! JSON lines: an object for each record.

use logring::LogValue;
use text::escape::{may_be_json_special, push_json_string};
use text::integer::{push_i64, push_u64};

use crate::constant::{ConstantPart, ConstantParts};
use crate::format::RecordFormat;
use crate::message::{is_plain_format, write_message, write_plain_message};
use crate::record::LogRecord;
use crate::time::{LogZone, TimeText};

/// An object a line; members that are not known are left out.
pub struct JsonFormat {
    time: TimeText,
    constant: ConstantParts,
    scratch: Vec<u8>,
}

impl Default for JsonFormat {
    fn default() -> Self {
        let (time, constant) = (TimeText::new(LogZone::default()), ConstantParts::new());
        JsonFormat { time, constant, scratch: Vec::new() }
    }
}

impl RecordFormat for JsonFormat {
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        out.extend_from_slice(b"{\"time\":\"");
        self.time.put(out, record.time_ns, 9);
        let constant = self.constant.get(record, |part| put_constant(part, record));
        out.extend_from_slice(&constant.text);
        push_u64(out, record.record.sequence);
        out.extend_from_slice(b",\"message\":\"");
        if constant.has_plain_format && write_plain_message(out, record, may_be_json_special) {
            out.push(b'"');
        } else {
            out.pop();
            self.scratch.clear();
            write_message(&mut self.scratch, record);
            push_json_string(out, &self.scratch);
        }
        if record.is_cut() {
            out.extend_from_slice(b",\"cut\":true");
        }
        self.put_fields(out, record);
        out.extend_from_slice(b"}\n");
    }
}

/// What stands between time and sequence number.
fn put_constant(part: &mut ConstantPart, record: &LogRecord<'_>) {
    let out = &mut part.text;
    out.extend_from_slice(b"Z\",\"level\":\"");
    out.extend_from_slice(record.level().name().as_bytes());
    out.push(b'"');
    for (name, text) in [
        ("logger", record.logger()),
        ("host", record.origin.host),
        ("process", record.origin.process),
        ("thread", record.origin.thread),
        ("file", record.file()),
        ("routine", record.routine()),
    ] {
        if !text.is_empty() {
            put_name(out, name);
            push_json_string(out, text.as_bytes());
        }
    }
    for (name, number) in [
        ("pid", record.origin.pid),
        ("tid", record.origin.tid),
        ("line", record.line()),
        ("ring", record.origin.ring),
    ] {
        put_name(out, name);
        push_u64(out, u64::from(number));
    }
    put_name(out, "sequence");
    let format = record.site.map_or("", |site| &site.format);
    part.has_plain_format = is_plain_format(format, may_be_json_special);
}

impl JsonFormat {
    fn put_fields(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        if !record.pairs().is_empty() {
            put_name(out, "context");
            let mut mark = b'{';
            for (name, value) in record.pairs() {
                out.push(mark);
                push_json_string(out, name.as_bytes());
                out.push(b':');
                push_json_string(out, value.as_bytes());
                mark = b',';
            }
            out.push(b'}');
        }
        if !record.has_attributes() {
            return;
        }
        put_name(out, "data");
        let mut mark = b'{';
        for field in record.attributes() {
            out.push(mark);
            push_json_string(out, field.name);
            out.push(b':');
            put_value(out, &field.value, record);
            mark = b',';
        }
        if mark == b'{' {
            out.push(mark);
        }
        out.push(b'}');
    }
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn put_value(out: &mut Vec<u8>, value: &LogValue<'_>, record: &LogRecord<'_>) {
    use std::io::Write as _;
    match value {
        LogValue::Signed(number) => push_i64(out, *number),
        LogValue::Unsigned(number) => push_u64(out, *number),
        LogValue::Float(number) if number.is_finite() => {
            let _ = write!(out, "{number:?}");
        }
        LogValue::Bool(is) => out.extend_from_slice(if *is { b"true" } else { b"false" }),
        _ => {
            let mut text = Vec::new();
            let field = crate::record::RecordField { name: b"", value: *value };
            crate::text::put_value(&mut text, &field, record);
            push_json_string(out, &text);
        }
    }
}
