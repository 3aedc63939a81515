//! From records in rings to text: messages are made here, not where they were logged.
//!
//! [`LogRecord`] joins a record with what its numbers mean; a [`RecordFormat`] writes it as a line of
//! text, JSON, ACS XML, syslog or CSV; a [`LogSink`] takes it to where it goes.  [`Drain`] reads many
//! rings, merged by time; [`recover`] reads those of processes that are dead.
//!
//! Uses `logring`, `calendar` and `text`; prints nothing except through the sinks that it is given, and reads no clock.
//! Nothing is allocated for a record.  Begin with `record.rs`, then `message.rs`.
#![forbid(unsafe_code)]

mod acs_xml;
mod constant;
mod cpp;
mod csv;
mod drain;
mod format;
mod json;
mod message;
mod output;
mod read_json;
mod record;
mod sink;
mod spec;
mod syslog;
mod syslog_sink;
mod text;
mod time;

pub use acs_xml::AcsXmlFormat;
pub use csv::CsvFormat;
pub use drain::{Drain, DrainCounters, DrainError, Recovered, RecoveredRings, recover};
pub use format::{FormatOptions, RecordFormat};
pub use json::JsonFormat;
pub use message::{message, write_message};
pub use output::{LogOutputOptions, OutputError, format_named, open_output};
pub use read_json::ReadRecord;
pub use record::{LogRecord, RecordField, RecordOrigin, shown_level};
pub use sink::{FileRotation, FileSink, LogSink, NoSink, WriterSink};
pub use syslog::{SyslogFormat, severity};
pub use syslog_sink::SyslogSink;
pub use text::{TextFormat, has_value, put_value};
pub use time::{LogZone, TimeText};
