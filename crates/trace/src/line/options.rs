//! How lines look, and which there are.

use super::stamp::{Precision, Stamp};
use crate::decode::ValueStyle;
use crate::select::{CallSet, CallStatuses, SignalSet};

/// When the number of its task stands before a line.
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

/// How lines look, and which there are.
#[derive(Clone, Debug)]
pub struct LineOptions {
    /// Calls that have lines.
    pub calls: CallSet,
    /// Calls whose arguments are shown as plain words (`-e raw=`).
    pub raw: CallSet,
    /// Calls whose structures are abbreviated (`-e abbrev=`); the others are shown whole, as with `-v`.
    pub abbreviated: CallSet,
    /// Signals that have lines.
    pub signals: SignalSet,
    /// Calls have lines only if they went like this.
    pub statuses: CallStatuses,
    /// Only calls that name one of these paths, or use a descriptor of them (`-P`).
    pub paths: Vec<Vec<u8>>,
    /// Who is named before a line.
    pub pid_prefix: PidPrefix,
    /// Time of the day before each line.
    pub stamp: Option<Stamp>,
    /// Time since the line before, before each line.
    pub relative: Option<Precision>,
    /// Time in the call, behind its line.
    pub took: Option<Precision>,
    /// The number of the task's latest call before each line.
    pub numbers: bool,
    /// The column of `= `.
    pub column: usize,
    /// A call's line is written when the call ends, and never broken.
    pub whole_lines: bool,
    /// Says which tasks are new: `strace: Process 1201 attached`.
    pub announce: bool,
    /// Says with which status tasks end.  The end by a signal is said if its signal has lines.
    pub ends: bool,
    /// Says which task began a program in place of its process's others.
    pub supersedes: bool,
    /// What stands between the arguments of a call: `, `.  Whoever takes lines apart gives a character
    /// that no argument has: all below the space are escaped.
    pub separator: &'static str,
    /// How values are written.
    pub style: ValueStyle,
    /// What has to be added to the monotonic clock for the time since 1970.
    pub wall_offset_ns: i64,
}

impl Default for LineOptions {
    fn default() -> Self {
        LineOptions {
            calls: CallSet::all(),
            raw: CallSet::none(),
            abbreviated: CallSet::all(),
            signals: SignalSet::all(),
            statuses: CallStatuses::all(),
            paths: Vec::new(),
            pid_prefix: PidPrefix::Never,
            stamp: None,
            relative: None,
            took: None,
            numbers: false,
            column: 40,
            whole_lines: false,
            announce: true,
            ends: true,
            supersedes: true,
            separator: ", ",
            style: ValueStyle::default(),
            wall_offset_ns: 0,
        }
    }
}
