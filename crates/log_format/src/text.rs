//! A line of text for each record, for people; with colours where the caller says that they show.

use crate::constant::{ConstantPart, ConstantParts};
use crate::format::RecordFormat;
use crate::message::{is_plain_format, write_message, write_plain_message};
use crate::record::{LogRecord, RecordField};
use crate::time::{LogZone, TimeText};
use logring::{LogLevel, LogValue};
use text::encoding::hex;
use text::escape::{may_be_invisible, push_visible};
use text::integer::push_u64;

/// Lines as `2026-11-22T20:00:00.123456Z INFO     name.of.logger process[12]/thread file.c:7 text`.
pub struct TextFormat {
    has_colors: bool,
    time: TimeText,
    constant: ConstantParts,
    scratch: Vec<u8>,
}

impl TextFormat {
    /// Lines, with colours or without, with times of a zone.
    #[must_use]
    pub fn new(has_colors: bool, zone: LogZone) -> Self {
        let (time, constant) = (TimeText::new(zone), ConstantParts::new());
        TextFormat { has_colors, time, constant, scratch: Vec::new() }
    }
}

/// The colour of a level.
fn color(level: LogLevel) -> &'static [u8] {
    match level {
        LogLevel::Trace | LogLevel::Delouse | LogLevel::Debug => b"\x1b[2m",
        LogLevel::Info => b"",
        LogLevel::Notice => b"\x1b[1m",
        LogLevel::Warning => b"\x1b[33m",
        LogLevel::Error => b"\x1b[31m",
        LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => b"\x1b[1;31m",
    }
}

/// Names of levels, filled up to the longest.
fn padded_name(level: LogLevel) -> &'static [u8; 10] {
    match level {
        LogLevel::Trace => b" TRACE    ",
        LogLevel::Delouse => b" DELOUSE  ",
        LogLevel::Debug => b" DEBUG    ",
        LogLevel::Info => b" INFO     ",
        LogLevel::Notice => b" NOTICE   ",
        LogLevel::Warning => b" WARNING  ",
        LogLevel::Error => b" ERROR    ",
        LogLevel::Critical => b" CRITICAL ",
        LogLevel::Alert => b" ALERT    ",
        LogLevel::Emergency => b" EMERGENCY",
    }
}

impl RecordFormat for TextFormat {
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        let level = record.level();
        let color = if self.has_colors { color(level) } else { b"" };
        out.extend_from_slice(color);
        self.time.put(out, record.time_ns, 6);
        self.time.put_zone(out);
        let constant = self.constant.get(record, |part| put_constant(part, record));
        out.extend_from_slice(&constant.text);
        if !(constant.has_plain_format && write_plain_message(out, record, may_be_invisible)) {
            self.scratch.clear();
            write_message(&mut self.scratch, record);
            push_visible(out, &self.scratch);
        }
        for (name, value) in record.pairs() {
            put_pair(out, name.as_bytes(), value.as_bytes());
        }
        if record.has_attributes() {
            for field in record.attributes() {
                if let LogValue::Text(text) = field.value {
                    put_pair(out, field.name, text);
                    continue;
                }
                self.scratch.clear();
                put_value(&mut self.scratch, &field, record);
                put_pair(out, field.name, &self.scratch);
            }
        }
        if !color.is_empty() {
            out.extend_from_slice(b"\x1b[0m");
        }
        out.push(b'\n');
    }
}

/// What stands between time and message.
fn put_constant(part: &mut ConstantPart, record: &LogRecord<'_>) {
    let out = &mut part.text;
    out.extend_from_slice(padded_name(record.level()));
    out.push(b' ');
    push_visible(out, record.logger().as_bytes());
    out.push(b' ');
    push_visible(out, record.origin.process.as_bytes());
    out.push(b'[');
    push_u64(out, u64::from(record.origin.pid));
    out.extend_from_slice(b"]/");
    push_visible(out, record.origin.thread.as_bytes());
    if !record.file().is_empty() {
        out.push(b' ');
        push_visible(out, record.file().as_bytes());
        out.push(b':');
        push_u64(out, u64::from(record.line()));
    }
    out.push(b' ');
    let format = record.site.map_or("", |site| &site.format);
    part.has_plain_format = is_plain_format(format, may_be_invisible);
}

fn put_pair(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.push(b' ');
    push_visible(out, name);
    out.push(b'=');
    push_visible(out, value);
}

/// Whether the context or the record itself has a value of this name that fits, as text.
pub fn has_value(record: &LogRecord<'_>, name: &str, fits: impl Fn(&[u8]) -> bool) -> bool {
    if record.pairs().iter().any(|(one, value)| one == name && fits(value.as_bytes())) {
        return true;
    }
    let mut value = Vec::new();
    record.attributes().filter(|field| field.name == name.as_bytes()).any(|field| {
        value.clear();
        put_value(&mut value, &field, record);
        fits(&value)
    })
}

/// Appends a value of an attribute, as text.
pub fn put_value(out: &mut Vec<u8>, field: &RecordField<'_>, record: &LogRecord<'_>) {
    use std::io::Write as _;
    // Writing to a vector cannot fail.
    let _ = match field.value {
        LogValue::Signed(number) => write!(out, "{number}"),
        LogValue::Unsigned(number) => write!(out, "{number}"),
        LogValue::Float(number) => write!(out, "{number}"),
        LogValue::Bool(is) => write!(out, "{is}"),
        LogValue::Char(c) => write!(out, "{c}"),
        LogValue::Pointer(address) => write!(out, "{address:#x}"),
        LogValue::Text(text) => {
            out.extend_from_slice(text);
            Ok(())
        }
        LogValue::Interned(number) => {
            out.extend_from_slice(record.dictionary.text(number).unwrap_or_default());
            Ok(())
        }
        LogValue::Bytes(bytes) => write!(out, "{}", hex(bytes)),
    };
}
