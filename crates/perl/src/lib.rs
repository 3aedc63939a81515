//! Scalar Perl: the part of Perl that replacement strings, filters, templates and conversions use.
//!
//! A program is statements over scalars: `=` and its relatives, arithmetic, comparisons, `?:`,
//! `if`/`unless`, matches, `s///`, `tr///`, strings with variables, `<<TAG`, and functions.  There
//! are no loops, no references, files or programs: every program ends, in time proportional to its
//! length and that of the values.  What is Perl and not offered is refused by name when a program is
//! parsed.
//!
//! A [`Dialect`] says what a user of this crate offers beyond that; an [`PerlEnvironment`] gives values
//! and does the work of functions that Perl does not have.  Texts are bytes, as in Perl without
//! `use utf8`.  Parsing allocates a tree; evaluating copies the texts that it changes.
//!
//! Uses no crate of whit.  Begin with `syntax.rs` (what there is), then `parse.rs` and `run.rs`.
#![forbid(unsafe_code)]

mod fault;
pub mod hash;
mod number;
mod parse;
mod regexes;
mod run;
mod sprintf;
mod syntax;
mod value;

pub use fault::{PerlFault, RunError};
pub use number::{Literal, Number};
pub use regexes::compile;
pub use run::{PerlEnvironment, Scope};
pub use syntax::{Dialect, OwnFunction};
pub use value::Value;

use syntax::{Function, Node, UsedName};

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
pub struct PerlProgram {
    root: Node,
    names: Vec<UsedName>,
}

impl PerlProgram {
    /// Parses a program.
    ///
    /// # Errors
    /// If the text is not Perl, or uses what the dialect does not offer.
    pub fn parse(code: &[u8], dialect: &Dialect) -> Result<Self, ParseError> {
        PerlProgram::parse_with_groups(code, dialect, &[])
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
        let (root, names) = parse::program(code, dialect, groups)?;
        Ok(PerlProgram { root, names })
    }

    /// Runs the program; the result is the value of its last statement, or of `return`.
    ///
    /// # Errors
    /// If the program dies, fails, or makes a text longer than the environment allows.
    pub fn run(
        &self,
        scope: &mut Scope,
        environment: &mut dyn PerlEnvironment,
    ) -> Result<Value, RunError> {
        run::run(&self.root, scope, environment)
    }

    /// The line and the name of the first variable that the scope does not have and the program
    /// neither declares nor sets: Perl's `use strict` refuses it.
    #[must_use]
    pub fn undeclared(&self, scope: &Scope) -> Option<(usize, String)> {
        let is_declared = |used: &UsedName| {
            let has_name = |one: &UsedName| one.is_declared && one.name == used.name;
            match used.is_hash {
                true => scope.hashes.contains_key(&used.name),
                false => {
                    used.name == "_"
                        || scope.scalars.contains_key(&used.name)
                        || self.names.iter().any(has_name)
                }
            }
        };
        let found = self.names.iter().find(|used| !is_declared(used))?;
        let end = if found.is_hash { "{…}" } else { "" };
        Some((found.line, format!("${}{end}", found.name)))
    }

    /// Whether the program uses a variable that keeps its value from run to run: not `$_`, and not
    /// declared with `my`.
    #[must_use]
    pub fn keeps_values(&self) -> bool {
        let is_own = |name: &str| self.names.iter().any(|one| one.is_own && one.name == name);
        self.names.iter().any(|used| used.name != "_" && !is_own(&used.name))
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

#[cfg(test)]
mod tests {
    use super::*;

    static DIALECT: Dialect = Dialect {
        functions: &["length", "return", "die"],
        own: &[("twice", 1, 1)],
        spellings: &[("job->name", "name")],
        array: Some("_"),
        has_hashes: false,
    };

    struct Two;

    impl PerlEnvironment for Two {
        fn text_bytes_max(&self) -> usize {
            100
        }

        fn array_length(&self) -> usize {
            2
        }

        fn element(&self, index: usize) -> Value {
            ["a", "b"].get(index).map_or(Value::Nothing, |text| Value::from(*text))
        }

        fn call(
            &mut self,
            function: &'static str,
            arguments: Vec<Value>,
        ) -> Result<Value, PerlFault> {
            let text = arguments.first().map_or(function.to_owned(), |one| one.string().repeat(2));
            Ok(Value::from(text))
        }
    }

    fn run(code: &str) -> Result<String, String> {
        let program = PerlProgram::parse(code.as_bytes(), &DIALECT).map_err(|error| {
            assert!(error.line > 0);
            error.to_string()
        })?;
        let value = program.run(&mut Scope::default(), &mut Two);
        value.map(|value| value.string()).map_err(|error| error.to_string())
    }

    #[test]
    fn environments_give_arrays_and_functions() {
        for (code, expected) in [
            ("my ($x) = @_; my $y = @_; \"$x$y$_[1]$_[-2]$_[2]\"", "a2ba"),
            ("twice('x') . $job->name . $#_ . \"@_\"", "xxname1a b"),
            ("my $x = <<A . <<\"B\" . 'c'; # two texts\n1$_[0]\nA\n2\nB\n$x", "1a\n2\nc"),
            ("$x = 5 if 0; 3 unless 2", ""),
            ("if (0) { 1 } elsif (2) { return 'r'; 3 } 4", "r"),
            ("undef", ""),
            ("length -1", "2"),
            ("0 || undef // 'u'", "u"),
        ] {
            assert_eq!(run(code).as_deref(), Ok(expected), "{code}");
        }
    }

    #[test]
    fn what_a_dialect_lacks_is_refused_by_name() {
        for (code, part) in [
            ("lc('A')", "`lc` is not supported"),
            ("\"@list\"", "an array is not supported"),
            ("$h{x}", "the hash `%h` is not supported"),
            ("1 foreach 2", "`foreach` is not supported here"),
            ("$x = 1 << 2", "the operator `<<` is not supported"),
            ("my @a", "this is not supported"),
            ("089", "not a number"),
        ] {
            let error = run(code).expect_err(code);
            assert!(error.contains(part), "{code}: {error}");
        }
        assert!(run(&"1 or ".repeat(100_000)).is_err());
        assert!(run(&"1+".repeat(100_000)).expect_err("long").contains("too many operators"));
        assert_eq!(run("\ndie \"no\\n\""), Err("line 2: no".to_owned()));
        assert!(run("'x' x 101").expect_err("too long").contains("too many bytes"));
        let deep = |count: usize| format!("{}1{}", "(".repeat(count), ")".repeat(count));
        assert_eq!(run(&deep(90)).as_deref(), Ok("1"));
        assert!(run(&deep(5_000)).is_err());
        let long = format!("{}1", "1+".repeat(499));
        assert_eq!(run(&long).as_deref(), Ok("500"));
    }
}
