//! Scalar Perl: the part of Perl that replacement strings, filters, templates and conversions use.
//!
//! A program is statements over scalars: `=` and its relatives, arithmetic, comparisons, `?:`,
//! `if`/`unless`, matches, `s///`, `tr///`, strings with variables, `<<TAG`, and functions.  There
//! are no loops, no references, files or programs: every program ends, in time proportional to its
//! length and that of the values.  What is Perl and not offered is refused by name when a program is
//! parsed.
//!
//! A [`Dialect`] says what a user of this crate offers beyond that; an [`Environment`] gives values
//! and does the work of functions that Perl does not have.  Texts are bytes, as in Perl without
//! `use utf8`.  Parsing allocates a tree; evaluating copies the texts that it changes.
//!
//! Uses no crate of whit.  Begin with `syntax.rs` (what there is), then `parse.rs` and `run.rs`.
#![forbid(unsafe_code)]

pub mod hash;
mod number;
mod parse;
mod regexes;
mod run;
mod sprintf;
mod syntax;
mod value;

pub use number::{Literal, Number};
pub use regexes::compile;
pub use run::{Environment, Fault, RunError, Scope};
pub use syntax::{Dialect, OwnFunction};
pub use value::Value;

use syntax::{Function, Node};

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what the text is there.
    pub message: String,
}

/// A parsed program.
#[derive(Clone, Debug)]
pub struct Program {
    root: Node,
}

impl Program {
    /// Parses a program.
    ///
    /// # Errors
    /// If the text is not Perl, or uses what the dialect does not offer.
    pub fn parse(code: &[u8], dialect: &Dialect) -> Result<Self, ParseError> {
        Program::parse_with_groups(code, dialect, &[])
    }

    /// Parses a program in which `$$1` … stand for these texts.
    ///
    /// # Errors
    /// If the text is not Perl, or uses what the dialect does not offer.
    pub fn parse_with_groups(
        code: &[u8],
        dialect: &Dialect,
        groups: &[Vec<u8>],
    ) -> Result<Self, ParseError> {
        Ok(Program { root: parse::program(code, dialect, groups)? })
    }

    /// Runs the program; the result is the value of its last statement, or of `return`.
    ///
    /// # Errors
    /// If the program dies, fails, or makes a text longer than the environment allows.
    pub fn run(
        &self,
        scope: &mut Scope,
        environment: &mut dyn Environment,
    ) -> Result<Value, RunError> {
        run::run(&self.root, scope, environment)
    }

    /// The environment's function that is the whole program.
    #[must_use]
    pub fn only_call(&self) -> Option<&'static str> {
        match &self.root {
            Node::Call(Function::Own(name), arguments) if arguments.is_empty() => Some(name),
            _ => None,
        }
    }
}

/// The number at the beginning of a text, 0 if there is none, as Perl reads it.
#[must_use]
pub fn leading_number(text: &str) -> f64 {
    number::prefix(text.as_bytes()).1.as_f64()
}

/// The whole part of the number at the beginning of a text; numbers that are too large saturate.
#[must_use]
pub fn leading_integer(text: &str) -> i64 {
    number::prefix(text.as_bytes()).1.as_i64()
}

/// A number as Perl writes it, with at most 15 digits.
#[must_use]
pub fn written_number(value: f64) -> String {
    number::general(value, 15)
}
