//! What a replacement string stands for: which part of which value, or a number of the job.

use crate::change::Change;
use crate::expression::Program;
use crate::value::Cut;

/// What stands in place of a replacement string.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(crate) what: What,
    pub(crate) position: Position,
}

/// Which values a replacement string is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Each of them.
    All,
    /// The one at this place, from 1; from the end when negative.
    At(i32),
    /// None: it is about the job.
    Job,
}

/// What a replacement string computes.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A part of the value.
    Value(Cut),
    /// The job's number, less so many, in a format.
    Seq(Number),
    /// The job's slot, less so many, in a format.
    Slot(Number),
    /// The number of all jobs.
    Total,
    /// The value, changed in one of the ways of `--plus`.
    Change(Box<Change>),
    /// The value; the job is skipped where values come twice (`{uniq}`) ...
    Unique,
    /// ... or are not in ascending order (`{choose_k}`).
    Ascending,
    /// A variable for the shell to look up: never quoted.
    Variable(&'static [u8]),
    /// What an expression makes of the value.
    Expression(Box<Program>),
}

impl What {
    /// The values it stands for when no position is given.
    pub(crate) fn own_position(&self) -> Position {
        match self {
            What::Expression(program) => match program.position {
                Some(place) if place != 0 => Position::At(place),
                _ => Position::All,
            },
            _ => Position::All,
        }
    }

    /// Whether the text it makes is to be read by a shell.
    pub(crate) fn is_for_shell(&self) -> bool {
        match self {
            What::Variable(_) => true,
            What::Expression(program) => program.unquotes,
            _ => false,
        }
    }

    /// Whether it is about the job and not about a value: it stands once, whatever is packed.
    pub(crate) fn is_of_job(&self) -> bool {
        match self {
            What::Seq(_) | What::Slot(_) | What::Total | What::Variable(_) => true,
            What::Expression(program) => program.is_of_job,
            _ => false,
        }
    }
}

/// How a number is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// Taken off the number.
    pub(crate) less: u64,
    /// Digits at least, with zeros before.
    pub(crate) width: Width,
}

/// The least number of digits, made up with zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Width {
    /// As many as it has.
    #[default]
    Own,
    /// So many; `true`: blanks instead of zeros.
    Fixed(usize, bool),
    /// As many as the largest such number of this run has.
    Largest,
}
