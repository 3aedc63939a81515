//! What an engine's events are written to.

use std::io::{self, Write};

use crate::report::ReportError;
use crate::{Memory, TraceEvent};

/// Writes events in one format.
pub trait EventWriter {
    /// Writes one event.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()>;

    /// Whether tasks are stopped at their events, so that what `/proc` says of them is exact.
    fn set_exact(&mut self, is_exact: bool);

    /// A task is traced that ran already.
    fn attached(&mut self, thread: i32);

    /// The call that a task is in gets no line.
    fn give_up(&mut self, thread: i32);

    /// Writes out what is held, as nothing may come for a while.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn idle(&mut self) -> io::Result<()>;

    /// Ends the lines of calls under way, as tasks are detached.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn detach(&mut self) -> io::Result<()>;

    /// Where the table at the end goes; `None` if there are several files.
    fn output(&mut self) -> Option<&mut dyn Write>;

    /// Writes out everything and closes.
    ///
    /// # Errors
    /// When the output cannot be written or closed.
    fn close(self: Box<Self>) -> Result<(), ReportError>;
}
