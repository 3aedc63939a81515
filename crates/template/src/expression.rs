//! The language of `{= =}` and `--rpl`: the subset of Perl that replacement strings use.
//!
//! It has `s///`, `tr///`, matches, strings with variables, arithmetic, comparisons, `?:`,
//! `if`/`unless`, variables, and functions of Perl and of the job (`seq()`, `skip()` ...).  It has
//! no loops, lists, references, files or programs: every expression ends, in time proportional to
//! its length and that of the values.  Unsupported features are rejected by name when the command
//! is parsed.
//!
//! `$_` is the value.  Other variables are empty at the start of each job and shared by the
//! expressions of one command line; `@arg` has an empty entry before the first value, as in GNU
//! parallel.

mod number;
mod parse;
mod regexes;
mod run;
mod sprintf;
mod syntax;
mod value;

use regex::bytes::Regex;

pub(crate) use run::{Scope, Verdict};
use syntax::{Function, Node};

use super::{Context, RenderError, TemplateError};

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    root: Node,
    /// The position of its value, if the expression begins with it: `--rpl '{x} 1 ...'`.
    pub(crate) position: Option<i32>,
    /// It depends on the job only: it appears once, whatever values share the line.
    pub(crate) is_of_job: bool,
    /// It may request that its text is not quoted.
    pub(crate) unquotes: bool,
    pub(crate) needs_slot: bool,
    pub(crate) needs_total: bool,
}

impl Program {
    /// Parses an expression.  `groups` are the values of `$$1` ....
    pub(crate) fn parse(code: &[u8], groups: &[Vec<u8>]) -> Result<Self, TemplateError> {
        let root = parse::program(code, groups)?;
        let mentions = |text: &[u8]| memchr::memmem::find(code, text).is_some();
        Ok(Program {
            root,
            position: None,
            is_of_job: false,
            unquotes: mentions(b"uq"),
            needs_slot: mentions(b"slot"),
            needs_total: mentions(b"total_jobs"),
        })
    }

    /// Parses the expression of a `--rpl`, which may begin with a position: `1 $_ = seq()` appears
    /// once, whatever values share the line.
    pub(crate) fn of_rpl(code: &[u8], groups: &[Vec<u8>]) -> Result<Self, TemplateError> {
        let trimmed = code.trim_ascii_start();
        let sign = usize::from(trimmed.first() == Some(&b'-'));
        let digits = trimmed[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = trimmed.split_at(sign + digits);
        let is_position =
            digits > 0 && (rest.is_empty() || rest.first().is_some_and(u8::is_ascii_whitespace));
        if !is_position {
            return Program::parse(code, groups);
        }
        let mut program = Program::parse(rest, groups)?;
        program.position = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
        program.is_of_job = program.position == Some(1);
        Ok(program)
    }

    /// Appends the result for `value` to `out`.
    pub(crate) fn run(
        &self,
        scope: &mut Scope,
        context: &Context<'_>,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Verdict, RenderError> {
        if matches!(self.root, Node::Call(Function::Unquoted, _)) {
            out.extend_from_slice(value);
            return Ok(Verdict { skip: false, unquoted: true });
        }
        run::run(&self.root, scope, context, value, out)
    }
}

/// A pattern made of parts, for the strings of `--plus`.
pub(crate) fn pattern(parts: &[&[u8]]) -> Result<Regex, TemplateError> {
    regexes::compile(&parts.concat(), "").map_err(TemplateError::Expression)
}
