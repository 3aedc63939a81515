//! What makes a record a text: one trait for text, JSON lines, CSV, ACS XML and syslog.
//!
//! A sink takes any of them, so a new format is one file and no sink changes.

use text::escape::CsvFormulas;

use crate::record::LogRecord;
use crate::time::LogZone;

/// What a format may be told; each takes what concerns it.
#[derive(Debug, Default, Clone, Copy)]
pub struct FormatOptions {
    /// Text: whether levels have colours.
    pub has_colors: bool,
    /// Text: of times.
    pub zone: LogZone,
    /// CSV: what is done with formulas of spreadsheets.
    pub formulas: CsvFormulas,
}

/// Writes records as text.
pub trait RecordFormat: Send {
    /// What a file begins with.
    fn head(&self) -> &'static [u8] {
        b""
    }

    /// What a file ends with.
    fn foot(&self) -> &'static [u8] {
        b""
    }

    /// Appends a record, with the end of its line.
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>);
}
