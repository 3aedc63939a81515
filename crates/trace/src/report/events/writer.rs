//! The interface of the formats that events are written in.

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

    /// Whether the latest event was of a call that is not shown: the table leaves it out too.
    fn hid_call(&mut self) -> bool {
        false
    }

    /// Sets whether tasks are stopped at their events, so that `/proc` shows their state at the
    /// event.
    fn set_exact(&mut self, is_exact: bool);

    /// A running task was attached to.
    fn attached(&mut self, thread: i32);

    /// The call that a task is in gets no line.
    fn give_up(&mut self, thread: i32);

    /// Writes buffered output, because no event may come for a while.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn idle(&mut self) -> io::Result<()>;

    /// Finishes the lines of calls under way, because their tasks are detached.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn detach(&mut self) -> io::Result<()>;

    /// The output for the table at the end; `None` if there are several files.
    fn output(&mut self) -> Option<&mut dyn Write>;

    /// Writes buffered output and closes.
    ///
    /// # Errors
    /// When the output cannot be written or closed.
    fn close(self: Box<Self>) -> Result<(), ReportError>;
}
