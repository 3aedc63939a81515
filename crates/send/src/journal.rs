//! The journal of systemd on another machine, `systemd-journal-remote`: log records as entries in the Journal
//! Export Format (<https://systemd.io/JOURNAL_EXPORT_FORMATS/>), over HTTP.
//!
//! An entry is fields and an empty line.  A field is `NAME=TEXT`, or, if its value has bytes that a line
//! cannot show, `NAME`, the length as 64 bits (little-endian) and the bytes.  A journal wants the times of
//! entries in order, so the time of an entry is that of the record or of the newest before it in the
//! request; the record's own is in `_SOURCE_REALTIME_TIMESTAMP`.  A journal takes the same entry twice:
//! `WHIT_STORE`, `WHIT_SEGMENT` and `WHIT_NUMBER` tell it.

use std::fmt::Write as _;

use http_client::header::{CONTENT_TYPE, HeaderValue};
use http_client::{ClientAnswer, HttpUrl};
use log_format::{LogRecord, put_value, severity, write_message};

use crate::engine::SendOutcome;
use crate::exchange::said;
use crate::http::{FormRequest, HttpLogForm, by_status, is_usually_later};
use crate::log_batch::{LogBatch, LogEntry};

/// Where it takes entries.
const USUAL_PATH: &str = "/upload";

/// Bytes of the name of a field: a journal refuses longer ones.
const NAME_BYTES_MAX: usize = 64;

/// Fields of the context and the data of a record: a journal takes 1,024 of an entry.
const FIELDS_MAX: usize = 1000;

/// The form.
pub(crate) struct Journal {
    target: String,
    scratch: Vec<u8>,
}

impl Journal {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        Journal { target: url.target_or(USUAL_PATH), scratch: Vec::new() }
    }
}

/// Appends a field.
fn put(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    let is_line = std::str::from_utf8(value)
        .is_ok_and(|text| text.chars().all(|one| one == '\t' || !one.is_control()));
    if is_line {
        out.push(b'=');
    } else {
        out.push(b'\n');
        out.extend_from_slice(&(value.len() as u64).to_le_bytes());
    }
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// The name of a field for a name of the context or the data: capitals, digits and `_`.
fn field_name(name: &[u8]) -> String {
    let plain = |byte: &u8| match byte.to_ascii_uppercase() {
        one @ (b'A'..=b'Z' | b'0'..=b'9') => char::from(one),
        _ => '_',
    };
    let mut field = "WHIT_DATA_".to_owned();
    field.extend(name.iter().map(plain).take(NAME_BYTES_MAX - field.len()));
    field
}

impl HttpLogForm for Journal {
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        let (origin, level) = (&record.origin, record.level());
        self.scratch.clear();
        write_message(&mut self.scratch, record);
        put(out, "MESSAGE", &self.scratch);
        put(out, "PRIORITY", severity(level).to_string().as_bytes());
        for (name, text) in [
            ("_HOSTNAME", origin.host),
            ("SYSLOG_IDENTIFIER", origin.process),
            ("CODE_FILE", record.file()),
            ("CODE_FUNC", record.routine()),
            ("WHIT_LEVEL", level.name()),
            ("WHIT_LOGGER", record.logger()),
            ("WHIT_THREAD", origin.thread),
        ] {
            if !text.is_empty() {
                put(out, name, text.as_bytes());
            }
        }
        for (name, number) in [
            ("_PID", u64::from(origin.pid)),
            ("TID", u64::from(origin.tid)),
            ("CODE_LINE", u64::from(record.line())),
            ("WHIT_RING", u64::from(origin.ring)),
            ("WHIT_SEQUENCE", record.record.sequence),
            ("_SOURCE_REALTIME_TIMESTAMP", record.time_ns / 1000),
            ("WHIT_TIME_NANOSECONDS", record.time_ns),
        ] {
            put(out, name, number.to_string().as_bytes());
        }
        let mut left = FIELDS_MAX;
        for (name, value) in record.pairs().iter().take(left) {
            put(out, &field_name(name.as_bytes()), value.as_bytes());
            left -= 1;
        }
        for field in record.attributes() {
            if left == 0 {
                put(out, "WHIT_FIELDS_LEFT_OUT", b"1");
                break;
            }
            left -= 1;
            self.scratch.clear();
            put_value(&mut self.scratch, &field, record);
            put(out, &field_name(field.name), &self.scratch);
        }
    }

    fn request(&mut self, batch: &LogBatch, entries: &[LogEntry]) -> FormRequest {
        let mut body = Vec::new();
        let (mut newest_us, store) = (0, &batch.store);
        for one in entries {
            newest_us = newest_us.max(one.time_ns / 1000);
            let mut head = String::new();
            // A journal has the clock of a boot beside the time; a store is as one boot.
            let _ = write!(
                head,
                "__REALTIME_TIMESTAMP={newest_us}\n__MONOTONIC_TIMESTAMP={newest_us}\n\
                 _BOOT_ID={store}{store}\nWHIT_STORE={store}\nWHIT_SEGMENT={}\nWHIT_NUMBER={}\n",
                one.segment, one.next
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(batch.text(one));
            body.push(b'\n');
        }
        let kind = HeaderValue::from_static("application/vnd.fdo.journal");
        FormRequest { target: self.target.clone(), headers: vec![(CONTENT_TYPE, kind)], body }
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        by_status(answer, said(answer), is_usually_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_no_line_shows_has_its_length_before_it() {
        let mut out = Vec::new();
        put(&mut out, "A", "ä\tb".as_bytes());
        put(&mut out, "B", b"x\ny");
        put(&mut out, "C", b"\xff");
        let wanted = b"A=\xc3\xa4\tb\nB\n\x03\0\0\0\0\0\0\0x\ny\nC\n\x01\0\0\0\0\0\0\0\xff\n";
        assert_eq!(out, wanted);
        assert_eq!(field_name(b"Antenna 1.b"), "WHIT_DATA_ANTENNA_1_B");
        assert_eq!(field_name(&[b'a'; 300]).len(), NAME_BYTES_MAX);
    }
}
