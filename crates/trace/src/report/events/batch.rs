//! Buffered lines: many go into one write.
//!
//! A write of its own for each line would cost more than making it.

use std::io::{self, Write as _};

use crate::report::ReportError;
use crate::report::output::TraceOutput;

/// Bytes that are buffered for a write: from here on it costs less than copying them.
const BATCH_BYTES: usize = 128 << 10;

/// Lines that are not written yet, and their output.
pub(super) struct Batch {
    text: Vec<u8>,
    output: TraceOutput,
    /// Each line is written at once, because a person may be reading.
    is_watched: bool,
}

impl Batch {
    pub(super) fn new(output: TraceOutput) -> Self {
        Batch {
            text: Vec::with_capacity(BATCH_BYTES + 4096),
            is_watched: output.is_watched(),
            output,
        }
    }

    /// The buffer to which the next line is appended.
    pub(super) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// A line, or a part of one, was appended.
    pub(super) fn added(&mut self) -> io::Result<()> {
        if self.is_watched {
            self.flush()
        } else if self.text.len() >= BATCH_BYTES {
            self.write()
        } else {
            Ok(())
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.output.write_all(&self.text);
        // After an error the same bytes must not be written again.
        self.text.clear();
        written
    }

    /// Writes the buffer and flushes the output.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.output.flush()
    }

    /// If tasks are not stopped, events come many at a time, so lines are buffered.
    pub(super) fn set_exact(&mut self, is_exact: bool) {
        self.is_watched &= is_exact;
    }

    /// The output; flush the buffer before.
    pub(super) fn output(&mut self) -> &mut TraceOutput {
        &mut self.output
    }

    /// Writes the buffer and closes the output.
    pub(super) fn close(mut self) -> Result<(), ReportError> {
        self.write()?;
        self.output.close()
    }
}
