//! How lines are formatted, and which events have lines.

use super::stamp::{Precision, Stamp};
use crate::decode::ValueStyle;
use crate::select::{CallSet, CallStatuses, Dumps, SignalSet};

/// When a line begins with the number of its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PidPrefix {
    /// Never.
    #[default]
    Never,
    /// As soon as there are several tasks: `[pid  1201] `, as `strace -f` does on a terminal.
    WhenSeveral,
    /// Always: `1201  `, as `strace -f -o FILE` does.
    Always,
}

/// How lines are formatted, and which events have lines.
#[derive(Clone, Debug)]
pub struct LineOptions {
    /// Calls that have lines.
    pub calls: CallSet,
    /// Calls whose arguments are shown as plain words (`-e raw=`).
    pub raw: CallSet,
    /// Calls whose structures are abbreviated (`-e abbrev=`); others are shown whole, as with `-v`.
    pub abbreviated: CallSet,
    /// Calls whose structures are decoded (`-e verbose=`); others show their addresses.
    pub verbose: CallSet,
    /// Descriptors whose data is dumped after the lines of calls (`-e read=`, `-e write=`).
    pub dumps: Dumps,
    /// Signals that have lines.
    pub signals: SignalSet,
    /// Calls have lines only if they ended like this.
    pub statuses: CallStatuses,
    /// Only calls that name one of these paths, or use a descriptor that points to one (`-P`).
    pub paths: Vec<Vec<u8>>,
    /// When a line begins with the number of its task.
    pub pid_prefix: PidPrefix,
    /// Time of the day before each line.
    pub stamp: Option<Stamp>,
    /// Time since the previous line, before each line.
    pub relative: Option<Precision>,
    /// Duration of the call, at the end of its line.
    pub took: Option<Precision>,
    /// The number of the task's latest system call, before each line.
    pub numbers: bool,
    /// The instruction pointer, before each line.
    pub pointers: bool,
    /// The column at which `= ` is aligned.
    pub column: usize,
    /// Write the line of a call at its exit, and never break it.
    pub whole_lines: bool,
    /// Keep the parts of each finished call for [`take_call`](super::Printer::take_call); the lines
    /// must be whole.
    pub keep_calls: bool,
    /// Write which tasks are new: `strace: Process 1201 attached`.
    pub announce: bool,
    /// Write how tasks exit.  A death by a signal is written if the signal has lines.
    pub ends: bool,
    /// Write which thread called `execve` and so replaced the other threads of its process.
    pub supersedes: bool,
    /// How values are written.
    pub style: ValueStyle,
    /// What has to be added to `CLOCK_MONOTONIC` for the time since 1970, in nanoseconds.
    pub wall_offset_ns: i64,
}

impl Default for LineOptions {
    fn default() -> Self {
        LineOptions {
            calls: CallSet::all(),
            raw: CallSet::none(),
            abbreviated: CallSet::all(),
            verbose: CallSet::all(),
            dumps: Dumps::default(),
            signals: SignalSet::all(),
            statuses: CallStatuses::all(),
            paths: Vec::new(),
            pid_prefix: PidPrefix::Never,
            stamp: None,
            relative: None,
            took: None,
            numbers: false,
            pointers: false,
            column: 40,
            whole_lines: false,
            keep_calls: false,
            announce: true,
            ends: true,
            supersedes: true,
            style: ValueStyle::default(),
            wall_offset_ns: 0,
        }
    }
}
