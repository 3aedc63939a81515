//! The registry entry of a view: how it is opened, and what the command line needs to offer it.

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use crate::{Setup, View};

/// A view: its name, its description for the command line, and how to open it.
#[derive(Debug)]
pub struct ViewEntry {
    /// The name; a view of values for programs is selected by a switch of this name.
    pub name: &'static str,
    /// One sentence without a full stop: the help of that switch.
    pub about: &'static str,
    /// How it is selected, and which switches change it.
    pub class: ViewClass,
    /// Switches that exclude it, as long names (`stats`), besides those that its class excludes.
    pub conflicts: &'static [&'static str],
    /// Which of its lines are headings, for `--showcolheaders`.
    pub headings: HeadingLines,
    /// How `--by` and `--diff` write their tables if it is selected; `None`: it refuses them.
    pub table: Option<TableForm>,
    /// Whether its output names the sources that a machine lacks.  If not, `record` leaves them
    /// out, and `play` names them on stderr.
    pub shows_states: bool,
    /// Whether `--utc` changes its times.
    pub takes_utc: bool,
    /// Opens it.
    pub open: fn(&Setup) -> Box<dyn View>,
}

impl ViewEntry {
    /// The defaults of an entry: values for programs, without headings.
    pub const EMPTY: ViewEntry = ViewEntry {
        name: "",
        about: "",
        class: ViewClass::Values,
        conflicts: &[],
        headings: HeadingLines::None,
        table: None,
        shows_states: false,
        takes_utc: false,
        open: |_| Box::new(Nothing),
    };
}

/// How a view is selected, and which switches change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewClass {
    /// A line of all subsystems for each interval: the default.
    Lines,
    /// A block of lines for each subsystem: `--verbose`.
    Blocks,
    /// Columns of plain numbers: `-P`.
    Columns,
    /// Values for programs: a switch of the view's own name.  `--fields` selects among them;
    /// switches that change the format of lines are refused.
    Values,
}

/// Which lines of a view are headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadingLines {
    /// None.
    None,
    /// The first.
    First,
    /// The lines that begin with `#`.
    Comments,
}

impl HeadingLines {
    /// The headings in the text of a frame, each with the end of its line.
    pub(crate) fn among(self, text: &[u8]) -> impl Iterator<Item = &[u8]> {
        let lines = text.split_inclusive(|&byte| byte == b'\n').enumerate();
        let is_heading = move |(number, line): &(usize, &[u8])| match self {
            HeadingLines::None => false,
            HeadingLines::First => *number == 0,
            HeadingLines::Comments => line.first() == Some(&b'#'),
        };
        lines.filter(is_heading).map(|(_, line)| line)
    }
}

/// How a table of `--by` or `--diff` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Aligned columns for people.
    Text,
    /// Comma-separated values with a heading line.
    Csv,
    /// JSON objects, one a line.
    Json,
}

/// A view that writes nothing.
pub(crate) struct Nothing;

impl View for Nothing {
    fn begin(
        &mut self,
        _meta: &Meta,
        _defs: &[Arc<SourceDef>],
        _options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        Ok(())
    }

    fn frame(&mut self, _frame: &Frame<'_>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
