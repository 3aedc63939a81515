//! The meaning of a replacement string: a part of a value, or a number of the job.

use crate::change::Change;
use crate::expression::Program;
use crate::value::Cut;

/// A replacement string.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(crate) what: What,
    pub(crate) position: Position,
}

/// The values that a replacement string stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// All values.
    All,
    /// The value at this position, from 1; from the end if negative.
    At(i32),
    /// None: it depends on the job only.
    Job,
}

/// What a replacement string computes.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A part of the value.
    Value(Cut),
    /// The number of the job, minus an offset, in a format.
    Seq(Number),
    /// The slot of the job, minus an offset, in a format.
    Slot(Number),
    /// The total number of jobs.
    Total,
    /// The value, changed in one of the ways of `--plus`.
    Change(Box<Change>),
    /// The value; the job is skipped if a value occurs twice (`{uniq}`) ...
    Unique,
    /// ... or if values are not in ascending order (`{choose_k}`).
    Ascending,
    /// A shell variable, which is never quoted.
    Variable(&'static [u8]),
    /// The result of an expression for the value.
    Expression(Box<Program>),
}

impl What {
    /// The values that it stands for without a position.
    pub(crate) fn own_position(&self) -> Position {
        match self {
            What::Expression(program) => match program.position {
                Some(place) if place != 0 => Position::At(place),
                _ => Position::All,
            },
            _ => Position::All,
        }
    }

    /// Whether a shell must read the text as code.
    pub(crate) fn is_for_shell(&self) -> bool {
        match self {
            What::Variable(_) => true,
            What::Expression(program) => program.unquotes,
            _ => false,
        }
    }

    /// Whether the string depends on the job only and so appears once, whatever is packed.
    pub(crate) fn is_of_job(&self) -> bool {
        match self {
            What::Seq(_) | What::Slot(_) | What::Total | What::Variable(_) => true,
            What::Expression(program) => program.is_of_job,
            _ => false,
        }
    }
}

/// The format of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// Subtracted from the number.
    pub(crate) less: u64,
    /// The least number of digits.
    pub(crate) width: Width,
}

/// The least number of digits, with leading zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Width {
    /// No padding.
    #[default]
    Own,
    /// This many; `true`: blanks instead of zeros.
    Fixed(usize, bool),
    /// As many as the largest such number of this run.
    Largest,
}
