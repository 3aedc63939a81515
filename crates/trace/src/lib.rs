//! System calls: counted and timed, or told one by one.
//!
//! An **engine** watches tasks and hands over [`Event`]s (`engine`), or counts in the kernel and
//! hands over a [`Tally`].  Three ways, the cheapest that is allowed: programs in the kernel (crate
//! `bpf`), ptrace with a seccomp filter for a command of one's own, plain ptrace.  What they hand
//! over is the same, so that whatever shows it knows no engine.
//!
//! * [`CallId`]: which call, of which of the kernel's tables;
//! * [`Event`] and [`Memory`]: what a task did, and what its pointers point to;
//! * [`Tally`]: calls, errors, times and histograms, in all and by process, command or thread;
//! * [`Groups`]: the same by process group, for who runs jobs.

mod clock;
mod count;
mod decode;
mod digits;
pub mod engine;
mod event;
mod flags;
mod groups;
mod line;
pub mod report;
mod select;
mod summary;
mod table;
mod tally;
mod tasks;

pub use bpf::{Abi, CallId, Histogram, SLOTS, STEPS};
pub use clock::wall_offset_ns;
pub use count::{Criteria, EventCounts, KernelCounts};
pub use decode::{Capture, Copied, Length, Style, When};
pub use event::{Call, End, Event, Memory, Signal, What};
pub use groups::{GroupCalls, Groups};
pub use line::{
    Descriptors, LineOptions, Naming, Precision, Printer, Stamp, Target, TimeFormatError, line_of,
};
pub use select::{
    CallSet, EventSelection, Expression, Quiet, SelectError, SignalSet, Status, Statuses,
};
pub use summary::details::{
    duration, unit_name, write_errors, write_histograms, write_spread, write_unfinished,
    write_units,
};
pub use summary::machine::{json, write_csv, write_csv_heading};
pub use summary::{Column, Row, Sort, Summary};
pub use table::{argument_count, captures};
pub use tally::{Stats, Tally, Unit, error_of};
