//! Lines to one output, as strace writes them.

use std::io;

use super::single::{PrinterOutput, SingleOutput};
use crate::report::output::TraceOutput;
use crate::{LineOptions, Memory, TraceEvent};

/// Writes each event as a line.
pub struct LineWriter(PrinterOutput);

impl LineWriter {
    /// A writer to this output.
    #[must_use]
    pub fn new(options: LineOptions, output: TraceOutput) -> Self {
        LineWriter(PrinterOutput::new(options, output))
    }
}

/// Writes no event: for a table alone whose calls are selected as those of lines are (`-c -P`).
pub struct TableWriter(PrinterOutput);

impl TableWriter {
    /// A writer to this output.
    #[must_use]
    pub fn new(options: LineOptions, output: TraceOutput) -> Self {
        TableWriter(PrinterOutput::new(options, output))
    }
}

impl SingleOutput for TableWriter {
    fn inner(&mut self) -> &mut PrinterOutput {
        &mut self.0
    }

    fn write_event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        let PrinterOutput { printer, descriptors, .. } = &mut self.0;
        printer.event(event, memory, descriptors, &mut io::sink())
    }

    fn end_lines(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn into_inner(self) -> PrinterOutput {
        self.0
    }
}

impl SingleOutput for LineWriter {
    fn inner(&mut self) -> &mut PrinterOutput {
        &mut self.0
    }

    fn write_event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        let PrinterOutput { printer, descriptors, batch } = &mut self.0;
        printer.event(event, memory, descriptors, batch.text())?;
        batch.added()
    }

    fn end_lines(&mut self) -> io::Result<()> {
        self.0.printer.detach(self.0.batch.text())
    }

    fn into_inner(self) -> PrinterOutput {
        self.0
    }
}
