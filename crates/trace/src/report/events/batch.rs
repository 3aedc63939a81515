//! Lines that wait to be written: many go into one write.
//!
//! A write of its own for each line would cost more than making it.

use std::io::{self, Write as _};

use crate::report::ReportError;
use crate::report::output::TraceOutput;

/// StructBytes that are gathered for a write: it then costs less than copying them.
const BATCH_BYTES: usize = 128 << 10;

/// Lines that are not written yet, and where they go.
pub(super) struct Batch {
    text: Vec<u8>,
    output: TraceOutput,
    /// Whether somebody may look on, so that each line is written at once.
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

    /// What the next line is added to.
    pub(super) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// A line, or a piece of one, has been added.
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
        // What could not be written would come twice.
        self.text.clear();
        written
    }

    /// Writes everything out.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.output.flush()
    }

    /// Tasks do not stand still at their events: these come many at a time, and so do lines.
    pub(super) fn set_exact(&mut self, is_exact: bool) {
        self.is_watched &= is_exact;
    }

    /// Where lines go; what was added before has to be written out first.
    pub(super) fn output(&mut self) -> &mut TraceOutput {
        &mut self.output
    }

    /// Writes everything out and closes.
    pub(super) fn close(mut self) -> Result<(), ReportError> {
        self.write()?;
        self.output.close()
    }
}
