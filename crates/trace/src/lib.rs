//! System calls: counted and timed, or shown one by one.
//!
//! An **engine** traces tasks and hands over [`TraceEvent`]s (`engine`), or counts in the kernel
//! and hands over a [`CallTally`].  There are three ways, and the cheapest that is allowed is
//! taken: BPF programs (crate `bpf`), ptrace with a seccomp filter for a command that we start,
//! plain ptrace.  All hand over the same events, so what shows them knows no engine.  `report` does
//! a whole trace, from the choice of the engine to the lines and tables.
//!
//! * [`CallId`]: a system call, by its table and number;
//! * [`TraceEvent`] and [`Memory`]: what a task did, and the memory that its arguments point to;
//! * [`CallTally`]: calls, errors, times and histograms, in total and by process, command or
//!   thread;
//! * [`ProcessGroupCounts`]: the same by process group, for a job runner.
//!
//! Uses `bpf` and `procfs`.  Begin with `event.rs` (what is handed over) and `engine.rs` (by whom),
//! then `line.rs` and `report.rs`.

mod clock;
mod count;
mod decode;
mod descriptors;
pub mod engine;
mod event;
mod flags;
mod line;
mod process_groups;
pub mod report;
mod select;
pub mod strace_options;
mod summary;
mod table;
mod tally;
mod tasks;

pub use bpf::{Abi, CallId, Histogram, SLOTS, STEPS};
pub use clock::wall_offset_ns;
pub use count::{CountCriteria, EventCounts, KernelCounts};
pub use decode::{Capture, CaptureCount, CapturePhase, CapturedData, ConstantStyle, ValueStyle};
pub use descriptors::{DescriptorTarget, Descriptors, NetlinkSocket};
pub use event::{Call, CallChanges, EventKind, Memory, Signal, TraceEvent, WaitStatus, error_of};
pub use line::{
    CallText, LineOptions, PidPrefix, Precision, Printer, Stamp, TimeFormatError, line_of,
};
pub use process_groups::{ProcessGroupCalls, ProcessGroupCounts};
pub use select::{
    CallSet, CallStatus, CallStatuses, DescriptorSet, Dumps, EventSelection, Expression, Quiet,
    SelectError, SignalSet, short_time_ns,
};
pub use summary::details::{
    duration, unit_name, write_errors, write_histograms, write_text, write_unfinished, write_units,
};
pub use summary::machine::{json, write_csv, write_csv_heading};
pub use summary::{CallSummary, SummaryColumn, SummaryOrder, SummaryRow};
pub use table::{argument_count, captures, class_names};
pub use tally::{CallStats, CallTally, SplitKey};
