//! ACS's XML records: what jlog and the tools around it read.
//!
//! Elements, attributes and their order are ACS's.  Its writer escapes nothing but `Routine`; here
//! everything is escaped, so that each record is well-formed, also with `]]>` in a message.

use logring::LogLevel;
use text::integer::push_u64;
use text::plain::{is_beyond_ascii, is_plain};

use crate::constant::{ConstantPart, ConstantParts};
use crate::format::RecordFormat;
use crate::message::{is_plain_format, write_message, write_plain_message};
use crate::record::{LogRecord, RecordField};
use crate::text::put_value;
use crate::time::{LogZone, TimeText};

/// How text begins in which nothing is escaped.
const CDATA: &[u8] = b"<![CDATA[";

/// Attributes of a record that have a place of their own, in ACS's order, behind `Context`.
const PLACES: [&str; 9] = [
    "SourceObject",
    "StackId",
    "StackLevel",
    "LogId",
    "Uri",
    "Priority",
    "Audience",
    "Array",
    "Antenna",
];

/// An element a line, in a document whose element is `Log`.
pub struct AcsXmlFormat {
    time: TimeText,
    constant: ConstantParts,
    scratch: Vec<u8>,
}

impl Default for AcsXmlFormat {
    fn default() -> Self {
        let (time, constant) = (TimeText::new(LogZone::default()), ConstantParts::new());
        AcsXmlFormat { time, constant, scratch: Vec::new() }
    }
}

/// The name of a level's element.
fn element(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "Trace",
        LogLevel::Delouse => "Delouse",
        LogLevel::Debug => "Debug",
        LogLevel::Info => "Info",
        LogLevel::Notice => "Notice",
        LogLevel::Warning => "Warning",
        LogLevel::Error => "Error",
        LogLevel::Critical => "Critical",
        LogLevel::Alert => "Alert",
        LogLevel::Emergency => "Emergency",
    }
}

impl RecordFormat for AcsXmlFormat {
    fn head(&self) -> &'static [u8] {
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Log>\n"
    }

    fn foot(&self) -> &'static [u8] {
        b"</Log>\n"
    }

    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        let site_level = record.site.and_then(|site| site.level);
        let level = record.level();
        // A record whose level is not that of its call site says so by its priority.
        let name = element(site_level.unwrap_or(level));
        out.push(b'<');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b" TimeStamp=\"");
        self.time.put(out, record.time_ns, 3);
        let has_priority = site_level.is_some_and(|own| own != level);
        let scratch = &mut self.scratch;
        let constant = self.constant.get(record, |part| put_constant(part, record, scratch));
        // Attributes of the record itself stand among the others.
        if record.has_attributes() {
            put_head(out, record);
            put_places(out, record, has_priority, true, &mut self.scratch);
            out.push(b'>');
        } else {
            out.extend_from_slice(&constant.text);
        }
        let start = out.len();
        out.extend_from_slice(CDATA);
        if constant.has_plain_format && write_plain_message(out, record, is_beyond_cdata) {
            out.extend_from_slice(b"]]>");
        } else {
            out.truncate(start);
            self.scratch.clear();
            write_message(&mut self.scratch, record);
            put_cdata(out, &self.scratch);
        }
        self.put_data(out, record);
        out.extend_from_slice(b"</");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b">\n");
    }
}

/// What may end a text that is not escaped, or is no ASCII.
#[inline]
fn is_beyond_cdata(byte: u8) -> bool {
    is_beyond_ascii(byte) | (byte == b'>')
}

/// Attributes that every record has, behind its time.
fn put_head(out: &mut Vec<u8>, record: &LogRecord<'_>) {
    out.push(b'"');
    if !record.file().is_empty() {
        put_attribute(out, "File", record.file().as_bytes());
        out.extend_from_slice(b" Line=\"");
        push_u64(out, u64::from(record.line()));
        out.push(b'"');
    }
    let origin = &record.origin;
    for (name, text) in [
        ("Routine", record.routine()),
        ("Host", origin.host),
        ("Process", origin.process),
        ("Thread", origin.thread),
        ("Context", record.pair("Context").unwrap_or_default()),
    ] {
        put_attribute(out, name, text.as_bytes());
    }
}

/// What stands between time and message in a record without attributes of its own.
fn put_constant(part: &mut ConstantPart, record: &LogRecord<'_>, scratch: &mut Vec<u8>) {
    let format = record.site.map_or("", |site| &site.format);
    part.has_plain_format = is_plain_format(format, is_beyond_cdata);
    let site_level = record.site.and_then(|site| site.level);
    let has_priority = site_level.is_some_and(|own| own != record.level());
    put_head(&mut part.text, record);
    put_places(&mut part.text, record, has_priority, false, scratch);
    part.text.push(b'>');
}

fn put_places(
    out: &mut Vec<u8>,
    record: &LogRecord<'_>,
    has_priority: bool,
    has_attributes: bool,
    scratch: &mut Vec<u8>,
) {
    for name in PLACES {
        scratch.clear();
        let own = match has_attributes {
            true => record.attributes().find(|field| field.name == name.as_bytes()),
            false => None,
        };
        if let Some(field) = own {
            put_value(scratch, &field, record);
        } else if let Some(value) = record.pair(name) {
            scratch.extend_from_slice(value.as_bytes());
        } else if name == "SourceObject" && !record.logger().is_empty() {
            scratch.extend_from_slice(record.logger().as_bytes());
        } else if name == "Priority" && has_priority {
            push_u64(scratch, u64::from(record.level().number()));
        } else {
            continue;
        }
        put_attribute(out, name, scratch);
    }
}

impl AcsXmlFormat {
    fn put_data(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        let is_data = |name: &[u8]| {
            name != b"Context" && !PLACES.iter().any(|place| place.as_bytes() == name)
        };
        for (name, value) in record.pairs() {
            if is_data(name.as_bytes()) {
                put_datum(out, name.as_bytes(), value.as_bytes());
            }
        }
        if record.has_attributes() {
            for field in record.attributes().filter(|field| is_data(field.name)) {
                self.scratch.clear();
                put_value(&mut self.scratch, &RecordField { ..field }, record);
                put_datum(out, field.name, &self.scratch);
            }
        }
    }
}

fn put_datum(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(b"<Data Name=\"");
    put_escaped(out, name);
    out.extend_from_slice(b"\">");
    put_cdata(out, if value.is_empty() { b"N/A" } else { value });
    out.extend_from_slice(b"</Data>");
}

fn put_attribute(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    put_escaped(out, value);
    out.push(b'"');
}

/// Text of which XML may hold every character; others become U+FFFD.
fn for_xml(out: &mut Vec<u8>, text: &[u8], mut put: impl FnMut(&mut Vec<u8>, u8)) {
    let is_plain = |byte: &u8| (0x20..0x80).contains(byte) || matches!(byte, b'\n' | b'\t' | b'\r');
    if text.iter().all(is_plain) {
        return text.iter().for_each(|byte| put(out, *byte));
    }
    for c in String::from_utf8_lossy(text).chars() {
        let is_legal = c >= ' ' || matches!(c, '\n' | '\t' | '\r');
        let c = if is_legal && c != '\u{fffe}' && c != '\u{ffff}' { c } else { '\u{fffd}' };
        c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| put(out, byte));
    }
}

/// Appends the value of an attribute.
fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let is_special = |byte: u8| {
        is_beyond_ascii(byte) | (byte == b'&') | (byte == b'<') | (byte == b'>') | (byte == b'"')
    };
    if is_plain(text, is_special) {
        return out.extend_from_slice(text);
    }
    for_xml(out, text, |out, byte| match byte {
        b'&' => out.extend_from_slice(b"&amp;"),
        b'<' => out.extend_from_slice(b"&lt;"),
        b'>' => out.extend_from_slice(b"&gt;"),
        b'"' => out.extend_from_slice(b"&quot;"),
        b'\n' => out.extend_from_slice(b"&#10;"),
        b'\r' => out.extend_from_slice(b"&#13;"),
        b'\t' => out.extend_from_slice(b"&#9;"),
        byte => out.push(byte),
    });
}

/// Appends text as CDATA; what would end it is split over two.
fn put_cdata(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(CDATA);
    if is_plain(text, is_beyond_cdata) {
        out.extend_from_slice(text);
        return out.extend_from_slice(b"]]>");
    }
    let start = out.len();
    for_xml(out, text, |out, byte| {
        if byte == b'>' && out[start..].ends_with(b"]]") {
            out.extend_from_slice(b"]]><![CDATA[");
        }
        out.push(byte);
    });
    out.extend_from_slice(b"]]>");
}
