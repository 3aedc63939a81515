//! What the forms that write to one place have in common: lines and JSON.

use std::io;

use trace::engine::LiveDescriptors;
use trace::{Event, LineOptions, Memory, Printer};

use super::Sink;
use super::batch::Batch;
use crate::trace::output::Output;

/// A printer, and where what it writes goes.
pub(crate) struct Place {
    pub(super) printer: Printer,
    pub(super) descriptors: LiveDescriptors,
    pub(super) batch: Batch,
}

impl Place {
    pub(super) fn new(options: LineOptions, output: Output) -> Self {
        let descriptors = LiveDescriptors { are_stopped: true };
        Place { printer: Printer::new(options), descriptors, batch: Batch::new(output) }
    }
}

/// A form of events that goes to one place.
pub(crate) trait Form {
    /// Where it goes.
    fn place(&mut self) -> &mut Place;
    /// Writes one event.
    fn tell(&mut self, event: &Event, memory: &dyn Memory) -> io::Result<()>;
    /// Ends what was begun, as tasks are let go.
    fn let_go(&mut self) -> io::Result<()>;
    /// Nothing more is written.
    fn into_place(self) -> Place;
}

impl<F: Form> Sink for F {
    fn event(&mut self, event: &Event, memory: &dyn Memory) -> io::Result<()> {
        self.tell(event, memory)
    }

    fn set_exact(&mut self, is_exact: bool) {
        let place = self.place();
        place.descriptors = LiveDescriptors { are_stopped: is_exact };
        place.batch.set_exact(is_exact);
    }

    fn attached(&mut self, thread: i32) {
        self.place().printer.attached(thread);
    }

    fn give_up(&mut self, thread: i32) {
        self.place().printer.give_up(thread);
    }

    fn idle(&mut self) -> io::Result<()> {
        self.place().batch.flush()
    }

    fn detach(&mut self) -> io::Result<()> {
        self.let_go()
    }

    fn output(&mut self) -> Option<&mut Output> {
        Some(self.place().batch.output())
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        self.into_place().batch.close()
    }
}
