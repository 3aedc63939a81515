//! CSV (RFC 4180), with a line of names first.

use text::escape::{CsvFormulas, push_csv_text};
use text::integer::push_u64;

use crate::format::RecordFormat;
use crate::message::write_message;
use crate::record::LogRecord;
use crate::text::put_value;
use crate::time::{LogZone, TimeText};

/// The columns.
const NAMES: &[u8] =
    b"time,level,logger,host,process,pid,thread,tid,file,line,routine,ring,sequence,\
message,data\n";

/// A line for each record; names and values of context and data are the last column.
#[derive(Debug)]
pub struct CsvFormat {
    formulas: CsvFormulas,
    time: TimeText,
    /// A text that is put together.
    scratch: Vec<u8>,
    /// A field that is being made visible.
    visible: Vec<u8>,
}

impl CsvFormat {
    /// Lines, with formulas of spreadsheets as they are or quoted.
    #[must_use]
    pub fn new(formulas: CsvFormulas) -> Self {
        let time = TimeText::new(LogZone::default());
        CsvFormat { formulas, time, scratch: Vec::new(), visible: Vec::new() }
    }
}

impl RecordFormat for CsvFormat {
    fn head(&self) -> &'static [u8] {
        NAMES
    }

    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        let formulas = self.formulas;
        let origin = &record.origin;
        self.time.put(out, record.time_ns, 9);
        out.extend_from_slice(b"Z,");
        out.extend_from_slice(record.level().name().as_bytes());
        for text in [record.logger(), origin.host, origin.process] {
            out.push(b',');
            push_csv_text(out, text.as_bytes(), formulas, &mut self.visible);
        }
        out.push(b',');
        push_u64(out, u64::from(origin.pid));
        out.push(b',');
        push_csv_text(out, origin.thread.as_bytes(), formulas, &mut self.visible);
        out.push(b',');
        push_u64(out, u64::from(origin.tid));
        out.push(b',');
        push_csv_text(out, record.file().as_bytes(), formulas, &mut self.visible);
        out.push(b',');
        push_u64(out, u64::from(record.line()));
        out.push(b',');
        push_csv_text(out, record.routine().as_bytes(), formulas, &mut self.visible);
        for number in [u64::from(origin.ring), record.record.sequence] {
            out.push(b',');
            push_u64(out, number);
        }
        out.push(b',');
        self.scratch.clear();
        write_message(&mut self.scratch, record);
        push_csv_text(out, &self.scratch, formulas, &mut self.visible);
        out.push(b',');
        self.scratch.clear();
        for (name, value) in record.pairs() {
            put_pair(&mut self.scratch, name.as_bytes());
            self.scratch.extend_from_slice(value.as_bytes());
        }
        for field in record.attributes() {
            put_pair(&mut self.scratch, field.name);
            put_value(&mut self.scratch, &field, record);
        }
        push_csv_text(out, &self.scratch, formulas, &mut self.visible);
        out.push(b'\n');
    }
}

fn put_pair(out: &mut Vec<u8>, name: &[u8]) {
    if !out.is_empty() {
        out.push(b' ');
    }
    out.extend_from_slice(name);
    out.push(b'=');
}
