//! Syslog messages of RFC 5424.

use logring::LogLevel;
use text::escape::{may_be_invisible, push_visible};
use text::integer::push_u64;
use text::plain::{is_beyond_ascii, is_plain};

use crate::constant::{ConstantPart, ConstantParts};
use crate::format::RecordFormat;
use crate::message::{is_plain_format, write_message, write_plain_message};
use crate::record::LogRecord;
use crate::text::put_value;
use crate::time::{LogZone, TimeText};

/// The name of our structured data, under the number that RFC 5612 gives to examples: a name of an
/// enterprise of one's own is not needed to be understood.
const DATA_ID: &[u8] = b"whit@32473";

/// A message for each record.
pub struct SyslogFormat {
    facility: u8,
    time: TimeText,
    constant: ConstantParts,
    scratch: Vec<u8>,
}

impl SyslogFormat {
    /// Messages of a facility (0 to 23; 1 is `user`, 16 `local0`).
    #[must_use]
    pub fn new(facility: u8) -> Self {
        let (time, constant) = (TimeText::new(LogZone::default()), ConstantParts::new());
        SyslogFormat { facility: facility.min(23), time, constant, scratch: Vec::new() }
    }
}

/// The severity of a level, as syslog and the journal have it: 0 is the highest, 7 the lowest.
#[must_use]
pub fn severity(level: LogLevel) -> u8 {
    match level {
        LogLevel::Trace | LogLevel::Delouse | LogLevel::Debug => 7,
        LogLevel::Info => 6,
        LogLevel::Notice => 5,
        LogLevel::Warning => 4,
        LogLevel::Error => 3,
        LogLevel::Critical => 2,
        LogLevel::Alert => 1,
        LogLevel::Emergency => 0,
    }
}

impl RecordFormat for SyslogFormat {
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        out.push(b'<');
        push_u64(out, u64::from(self.facility * 8 + severity(record.level())));
        out.extend_from_slice(b">1 ");
        self.time.put(out, record.time_ns, 6);
        let constant = self.constant.get(record, |part| put_constant(part, record));
        out.extend_from_slice(&constant.text);
        if record.has_attributes() {
            for field in record.attributes() {
                self.scratch.clear();
                put_value(&mut self.scratch, &field, record);
                put_parameter(out, field.name, &self.scratch);
            }
        }
        out.extend_from_slice(b"] ");
        if !(constant.has_plain_format && write_plain_message(out, record, may_be_invisible)) {
            self.scratch.clear();
            write_message(&mut self.scratch, record);
            push_visible(out, &self.scratch);
        }
        out.push(b'\n');
    }
}

/// What stands between time and message, without what the record itself has.
fn put_constant(part: &mut ConstantPart, record: &LogRecord<'_>) {
    let out = &mut part.text;
    out.extend_from_slice(b"Z ");
    put_name(out, record.origin.host, 255);
    put_name(out, record.origin.process, 48);
    push_u64(out, u64::from(record.origin.pid));
    out.push(b' ');
    put_name(out, record.logger(), 32);
    out.push(b'[');
    out.extend_from_slice(DATA_ID);
    put_known(out, " level=\"", record.level().name());
    put_known(out, " file=\"", record.file());
    if !record.file().is_empty() {
        out.extend_from_slice(b" line=\"");
        push_u64(out, u64::from(record.line()));
        out.push(b'"');
    }
    put_known(out, " routine=\"", record.routine());
    put_known(out, " thread=\"", record.origin.thread);
    for (name, value) in record.pairs() {
        put_parameter(out, name.as_bytes(), value.as_bytes());
    }
    let format = record.site.map_or("", |site| &site.format);
    part.has_plain_format = is_plain_format(format, may_be_invisible);
}

/// Appends a name of printable ASCII and a space; `-` if there is none.
fn put_name(out: &mut Vec<u8>, name: &str, most: usize) {
    let name = &name.as_bytes()[..name.len().min(most)];
    if name.is_empty() {
        out.push(b'-');
    } else if is_plain(name, |byte| is_beyond_ascii(byte) | (byte == b' ')) {
        out.extend_from_slice(name);
    } else {
        let printable = |byte: &u8| if (33..127).contains(byte) { *byte } else { b'_' };
        out.extend(name.iter().map(printable));
    }
    out.push(b' ');
}

/// Appends a parameter whose name is known to be sound, unless it is empty.
fn put_known(out: &mut Vec<u8>, name: &str, value: &str) {
    if !value.is_empty() {
        out.extend_from_slice(name.as_bytes());
        put_parameter_value(out, value.as_bytes());
    }
}

fn put_parameter(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.push(b' ');
    let allowed = |byte: u8| (33..127).contains(&byte) && !matches!(byte, b'=' | b']' | b'"');
    // RFC 5424 demands a character at least.
    let name = if name.is_empty() { b"_" } else { name };
    out.extend(name.iter().take(32).map(|byte| if allowed(*byte) { *byte } else { b'_' }));
    out.extend_from_slice(b"=\"");
    put_parameter_value(out, value);
}

/// Appends a value and the mark behind it.
fn put_parameter_value(out: &mut Vec<u8>, value: &[u8]) {
    let is_special = |byte: u8| {
        may_be_invisible(byte) | (byte == b'\t') | (byte == b'"') | (byte == b'\\') | (byte == b']')
    };
    if is_plain(value, is_special) {
        out.extend_from_slice(value);
        return out.push(b'"');
    }
    let start = out.len();
    push_visible(out, value);
    // Also the backslashes of what was made visible: a reader takes one off.
    let escape = |byte: &u8| matches!(byte, b'"' | b'\\' | b']').then_some(b'\\');
    let escaped: Vec<u8> =
        out[start..].iter().flat_map(|byte| escape(byte).into_iter().chain([*byte])).collect();
    out.truncate(start);
    out.extend_from_slice(&escaped);
    out.push(b'"');
}
