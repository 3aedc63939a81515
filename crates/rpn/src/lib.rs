//! RPN: the expressions of round-robin databases (`a,b,+,8,*`), in reverse Polish notation.
//!
//! A text is parsed once ([`Program::parse`]), to nodes that name variables by index.  A program is
//! then evaluated for one value (a data source of type COMPUTE: [`Program::evaluate`]) or over
//! series with steps of their own (a CDEF of a graph: [`series::Evaluator`]).  Data sources of
//! type COMPUTE store their program in the file: [`compact`] is that form.
//!
//! Numbers, operators and error texts are those of RRDtool 1.7.2, to the last bit, where it has
//! defined behaviour.  What makes it read outside its memory is an error or an unknown value here.
//!
//! An evaluation allocates nothing once its [`Stack`] is warm.  No input makes it panic, and its
//! memory is bounded by the length of the program.
//!
//! Uses `text` and `calendar`, and does no I/O.  Begin reading with [`Program`] in this file, then
//! `parse.rs`, `evaluate.rs` (the operators) and `series.rs`.

#![forbid(unsafe_code)]

pub mod compact;
mod error;
mod evaluate;
mod operator;
pub mod order;
mod parse;
pub mod series;
mod stack;
mod window;

pub use error::{EvaluateError, ProgramError};
pub use operator::Operator;
pub use stack::Stack;

/// The unknown value, as RRDtool makes it: a NaN whose sign is set, so C prints it as `-nan`.
pub const UNKNOWN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// Longest name of a variable, in bytes.
pub const VARIABLE_NAME_BYTES_MAX: usize = 255;

/// Most nodes of a program.  RRDtool has no limit; a command line that it accepts (2 MiB, the
/// kernel's limit) has fewer.
pub const NODES_MAX: usize = 1 << 20;

/// A step of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Pushes a number.
    Number(f64),
    /// Pushes the value of a variable, named by its index.
    Variable(usize),
    /// `PREV(name)`: pushes the value of a variable at the step before.
    PreviousOf(usize),
    /// All others.
    Operator(Operator),
}

/// A parsed expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    nodes: Vec<Node>,
}

impl Program {
    /// Parses an expression.  `index_of` gives the index of a variable by its name, or `None` if
    /// there is no such variable.
    ///
    /// # Errors
    /// If the expression is empty, or a word is no number, operator or variable; the text is RRDtool's.
    pub fn parse(
        text: &str,
        index_of: impl FnMut(&str) -> Option<usize>,
    ) -> Result<Self, ProgramError> {
        parse::parse(text, index_of).map(|nodes| Program { nodes })
    }

    /// The steps of the program, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Indexes of the variables that the program uses, in order, also twice.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            Node::Variable(index) | Node::PreviousOf(index) => Some(*index),
            Node::Number(_) | Node::Operator(_) => None,
        })
    }

    /// The expression as text, as `info` and `dump` show it.  `name_of` gives a variable's name.
    pub fn to_text<'a>(&self, mut name_of: impl FnMut(usize) -> &'a str) -> String {
        let words = self.nodes.iter().map(|node| match node {
            Node::Number(number) => format!("{number}"),
            Node::Variable(index) => name_of(*index).to_owned(),
            Node::PreviousOf(index) => format!("PREV({})", name_of(*index)),
            Node::Operator(operator) => operator.name().to_owned(),
        });
        words.collect::<Vec<_>>().join(",")
    }

    /// The value of the expression for a data source of type COMPUTE.  `variables` are the rates of
    /// the data sources before it, in their order; `now_s` is the wall clock, in seconds since 1970.
    ///
    /// # Errors
    /// A stack with too few values, a stack that does not end with one value, an argument out of
    /// its range, an operator that needs a series, a variable that is not in `variables`.
    pub fn evaluate(
        &self,
        stack: &mut Stack,
        variables: &[f64],
        now_s: f64,
    ) -> Result<f64, EvaluateError> {
        let mut inputs = evaluate::Scalar { variables, now_s };
        evaluate::run(&self.nodes, &mut inputs, stack)
    }
}
