//! What the writers with one output share: lines and JSON.

use std::io::{self, Write};

use super::batch::Batch;
use super::writer::EventWriter;
use crate::engine::LiveDescriptors;
use crate::report::ReportError;
use crate::report::output::TraceOutput;
use crate::{LineOptions, Memory, Printer, TraceEvent};

/// A printer, and the output of its lines.
pub(super) struct PrinterOutput {
    pub(super) printer: Printer,
    pub(super) descriptors: LiveDescriptors,
    pub(super) batch: Batch,
}

impl PrinterOutput {
    pub(super) fn new(options: LineOptions, output: TraceOutput) -> Self {
        let descriptors = LiveDescriptors { are_stopped: true };
        PrinterOutput { printer: Printer::new(options), descriptors, batch: Batch::new(output) }
    }
}

/// A format of events that goes to one output.
pub(super) trait SingleOutput {
    /// The printer and the output.
    fn inner(&mut self) -> &mut PrinterOutput;
    /// Writes one event.
    fn write_event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()>;
    /// Finishes the lines of calls under way.
    fn end_lines(&mut self) -> io::Result<()>;
    /// Called when nothing more is written.
    fn into_inner(self) -> PrinterOutput;
}

impl<F: SingleOutput> EventWriter for F {
    fn event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        self.write_event(event, memory)
    }

    fn hid_call(&mut self) -> bool {
        self.inner().printer.hid_call()
    }

    fn set_exact(&mut self, is_exact: bool) {
        let inner = self.inner();
        inner.descriptors = LiveDescriptors { are_stopped: is_exact };
        inner.batch.set_exact(is_exact);
    }

    fn attached(&mut self, thread: i32) {
        self.inner().printer.attached(thread);
    }

    fn give_up(&mut self, thread: i32) {
        self.inner().printer.give_up(thread);
    }

    fn idle(&mut self) -> io::Result<()> {
        self.inner().batch.flush()
    }

    fn detach(&mut self) -> io::Result<()> {
        self.end_lines()
    }

    fn output(&mut self) -> Option<&mut dyn Write> {
        Some(self.inner().batch.output())
    }

    fn close(self: Box<Self>) -> Result<(), ReportError> {
        self.into_inner().batch.close()
    }
}
