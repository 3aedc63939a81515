//! What makes a record a text: one trait for text, JSON lines, CSV, ACS XML and syslog.
//!
//! A sink takes any of them, so a new format is one file and no sink changes.

use crate::record::LogRecord;

/// Writes records as text.
pub trait RecordFormat: Send {
    /// What a file begins with.
    fn head(&self) -> &'static [u8] {
        b""
    }

    /// Appends a record, with the end of its line.
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>);
}
