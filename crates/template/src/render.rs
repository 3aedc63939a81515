//! Renders pieces and values to a command line, or to the arguments of a program.
//!
//! One walk over the pieces for every form; the form is a [`Sink`].  With the built-in strings
//! nothing is allocated once the buffers are warm: parts of values are slices, numbers are
//! formatted on the stack, and computed values use one buffer for each thread.

use std::cell::Cell;
use std::io::Write as _;

use super::expression::Scope;
use super::parse::LinePart;
use super::replacement::{Number, Position, Replacement, What, Width};
use super::value::{Cut, cut};
use super::{Context, Flow, Packing, RenderError};
use crate::Record;
use crate::quote::{self, Shell};

thread_local! {
    /// Buffer for a computed value before it is quoted.
    static COMPUTED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Buffer for a word of a command that is quoted (`-q`), or a line that is quoted again.
    static UNQUOTED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Buffer for a line of which only the length is needed.
    static MEASURED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `work` with this thread's empty buffer for measured lines.
pub(super) fn with_measured<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = MEASURED.take();
    buffer.clear();
    let result = work(&mut buffer);
    MEASURED.set(buffer);
    result
}

/// Calls `work` with this thread's empty buffer for unquoted text.
pub(super) fn with_unquoted<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = UNQUOTED.take();
    buffer.clear();
    let result = work(&mut buffer);
    UNQUOTED.set(buffer);
    result
}

/// Receives the pieces.
pub(super) trait Sink {
    /// Text of the command.
    fn text(&mut self, text: &[u8]);
    /// A blank of the command.
    fn blank(&mut self, text: &[u8]);
    /// The end of a word of the command (`-q`).
    fn join(&mut self);
    /// The blank between two values that share the command line.
    fn between(&mut self);
    /// A value, in two parts.  `quoted` is false for one that the shell reads as code.
    fn value(&mut self, first: &[u8], second: &[u8], quoted: bool);
}

/// A command line.  Values are quoted for this shell, or not at all.
pub(super) struct Line<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) shell: Option<Shell>,
}

impl Sink for Line<'_> {
    fn text(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn blank(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn join(&mut self) {
        self.out.push(b' ');
    }

    fn between(&mut self) {
        self.out.push(b' ');
    }

    fn value(&mut self, first: &[u8], second: &[u8], quoted: bool) {
        match self.shell {
            Some(shell) if quoted && second.is_empty() => quote::quote(shell, first, self.out),
            Some(shell) if quoted => quote::quote(shell, &[first, second].concat(), self.out),
            _ => {
                self.out.extend_from_slice(first);
                self.out.extend_from_slice(second);
            }
        }
    }
}

/// A command line in which every word is quoted (`-q`).
pub(super) struct QuotedLine<'a> {
    pub(super) out: &'a mut Vec<u8>,
    /// The current word so far.
    pub(super) word: &'a mut Vec<u8>,
    pub(super) shell: Shell,
}

impl QuotedLine<'_> {
    pub(super) fn end_word(&mut self) {
        quote::quote(self.shell, self.word, self.out);
        self.word.clear();
    }
}

impl Sink for QuotedLine<'_> {
    fn text(&mut self, text: &[u8]) {
        self.word.extend_from_slice(text);
    }

    fn blank(&mut self, text: &[u8]) {
        self.word.extend_from_slice(text);
    }

    fn join(&mut self) {
        self.end_word();
        self.out.push(b' ');
    }

    fn between(&mut self) {
        self.join();
    }

    fn value(&mut self, first: &[u8], second: &[u8], _quoted: bool) {
        self.word.extend_from_slice(first);
        self.word.extend_from_slice(second);
    }
}

/// The arguments of a program.
pub(super) struct Arguments<'a> {
    /// NUL-terminated words.
    pub(super) words: &'a mut Vec<u8>,
    /// Number of words.
    pub(super) count: usize,
    /// The current word has begun, maybe with an empty value.
    pub(super) has_begun: bool,
    /// The words of the command are quoted (`-q`): blanks are text, an empty word counts.
    pub(super) is_quoted: bool,
}

impl Arguments<'_> {
    pub(super) fn end_word(&mut self) {
        if self.has_begun {
            self.words.push(0);
            self.count += 1;
        }
        self.has_begun = self.is_quoted;
    }
}

impl Sink for Arguments<'_> {
    fn text(&mut self, text: &[u8]) {
        self.words.extend_from_slice(text);
        self.has_begun = true;
    }

    fn blank(&mut self, text: &[u8]) {
        if self.is_quoted { self.text(text) } else { self.end_word() }
    }

    fn join(&mut self) {
        self.end_word();
    }

    fn between(&mut self) {
        self.end_word();
    }

    fn value(&mut self, first: &[u8], second: &[u8], _quoted: bool) {
        self.words.extend_from_slice(first);
        self.words.extend_from_slice(second);
        self.has_begun = true;
    }
}

/// Walks over the pieces for one job.
pub(super) fn walk(
    pieces: &[LinePart],
    context: &Context<'_>,
    sink: &mut impl Sink,
) -> Result<Flow, RenderError> {
    let mut computed = COMPUTED.take();
    let mut job = Job {
        context,
        count: context.records.iter().map(|record| record.values.len()).sum(),
        found: Cell::default(),
        computed: &mut computed,
        scope: None,
        flow: Flow::Run,
    };
    let result = job.line(pieces, sink);
    let flow = job.flow;
    COMPUTED.set(computed);
    result.map(|()| flow)
}

struct Job<'a> {
    context: &'a Context<'a>,
    /// Number of values in all records.
    count: usize,
    /// The record of the last value, and how many values come before that record.
    found: Cell<(usize, usize)>,
    computed: &'a mut Vec<u8>,
    /// The variables of expressions, created for the first expression.
    scope: Option<Box<Scope>>,
    flow: Flow,
}

impl<'a> Job<'a> {
    fn line(&mut self, pieces: &[LinePart], sink: &mut impl Sink) -> Result<(), RenderError> {
        let repeats = self.context.packing == Packing::Repeat && self.count > 1;
        let mut rest = pieces;
        while let Some((piece, after)) = rest.split_first() {
            match piece {
                LinePart::Blank(text) => sink.blank(text),
                LinePart::Join => sink.join(),
                LinePart::Text(text) if !repeats => sink.text(text),
                LinePart::Value(replacement) if !repeats => self.whole(replacement, sink)?,
                LinePart::Text(_) | LinePart::Value(_) => {
                    let is_end =
                        |piece: &LinePart| matches!(piece, LinePart::Blank(_) | LinePart::Join);
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.word(&rest[..end], sink)?;
                    rest = &rest[end..];
                    continue;
                }
            }
            rest = after;
        }
        Ok(())
    }

    /// A word, once for each value if it contains a string that stands for all of them.
    fn word(&mut self, pieces: &[LinePart], sink: &mut impl Sink) -> Result<(), RenderError> {
        let is_of_all = |piece: &LinePart| matches!(piece, LinePart::Value(value) if value.position == Position::All);
        let times = if pieces.iter().any(is_of_all) { self.count } else { 1 };
        for index in 0..times {
            if index > 0 {
                sink.between();
            }
            for piece in pieces {
                match piece {
                    LinePart::Value(replacement) if replacement.position == Position::All => {
                        if let Some(value) = self.value_at(index) {
                            self.one(&replacement.what, value, sink)?;
                        }
                    }
                    LinePart::Value(replacement) => self.whole(replacement, sink)?,
                    LinePart::Text(text) | LinePart::Blank(text) => sink.text(text),
                    LinePart::Join => sink.join(),
                }
            }
        }
        Ok(())
    }

    /// A replacement string with all values that it stands for.
    fn whole(
        &mut self,
        replacement: &Replacement,
        sink: &mut impl Sink,
    ) -> Result<(), RenderError> {
        match replacement.position {
            Position::Job => self.one(&replacement.what, self.value_at(0).unwrap_or(b""), sink),
            Position::At(place) => match self.index_of(place).and_then(|at| self.value_at(at)) {
                Some(value) => self.one(&replacement.what, value, sink),
                None => Ok(()),
            },
            // Without values (`-N0`, `--nonall`) an expression runs once.
            Position::All if self.count == 0 && matches!(replacement.what, What::Expression(_)) => {
                self.one(&replacement.what, b"", sink)
            }
            Position::All => {
                let records = self.context.records;
                let values = records.iter().flat_map(|record| &record.values);
                for (index, value) in values.enumerate() {
                    if index > 0 {
                        sink.between();
                    }
                    self.one(&replacement.what, value, sink)?;
                }
                Ok(())
            }
        }
    }

    /// The index of the value at a position.  Negative positions count from the end.
    fn index_of(&self, position: i32) -> Option<usize> {
        let (position, count) = (i64::from(position), self.count as i64);
        let index = match position {
            0.. => position - 1,
            _ if position + count >= 0 => position + count,
            _ => position + 2 * count,
        };
        usize::try_from(index).ok().filter(|index| *index < self.count)
    }

    /// The value at an index in all records.  Values are usually read in order, so the search
    /// continues where the last one ended.
    fn value_at(&self, index: usize) -> Option<&'a [u8]> {
        let records = self.context.records;
        let (mut record, mut before) = self.found.get();
        if index < before {
            (record, before) = (0, 0);
        }
        while let Some(Record { values }) = records.get(record) {
            if let Some(value) = values.get(index - before) {
                self.found.set((record, before));
                return Some(value);
            }
            before += values.len();
            record += 1;
        }
        None
    }

    /// Writes a string for one value.
    fn one(&mut self, what: &What, value: &[u8], sink: &mut impl Sink) -> Result<(), RenderError> {
        match what {
            What::Value(part) => {
                let (first, second) = cut(*part, value);
                sink.value(first, second, true);
            }
            What::Seq(number) => {
                let largest = || self.context.total.unwrap_or(1);
                write_number(*number, self.context.seq, largest, sink);
            }
            What::Slot(number) => {
                let largest = || u64::from(self.context.slots);
                write_number(*number, u64::from(self.context.slot), largest, sink);
            }
            What::Total => {
                let total = self.context.total.ok_or(RenderError::NoTotal)?;
                write_number(Number::default(), total, || total, sink);
            }
            What::Variable(text) => sink.value(text, b"", false),
            What::Unique => {
                self.skip_if(|left, right| left == right, true);
                self.one(&What::Value(Cut::Whole), value, sink)?;
            }
            What::Ascending => {
                self.skip_if(|left, right| left >= right, false);
                self.one(&What::Value(Cut::Whole), value, sink)?;
            }
            What::Change(change) => {
                self.computed.clear();
                change.apply(value, self.computed);
                sink.value(self.computed, b"", true);
            }
            What::Expression(program) => {
                let scope = self.scope.get_or_insert_default();
                self.computed.clear();
                let verdict = program.run(scope, self.context, value, self.computed)?;
                if verdict.skip {
                    self.flow = Flow::Skip;
                }
                sink.value(self.computed, b"", !verdict.unquoted);
            }
        }
        Ok(())
    }

    /// Skips the job if two values are like this: any two, or two neighbours.
    fn skip_if(&mut self, is_so: impl Fn(&[u8], &[u8]) -> bool, any_two: bool) {
        for left in 0..self.count {
            let last = if any_two { self.count } else { usize::min(left + 2, self.count) };
            for right in left + 1..last {
                let pair = self.value_at(left).zip(self.value_at(right));
                if pair.is_some_and(|(left, right)| is_so(left, right)) {
                    self.flow = Flow::Skip;
                    return;
                }
            }
        }
    }
}

fn write_number(number: Number, value: u64, largest: impl Fn() -> u64, sink: &mut impl Sink) {
    let value = value.saturating_sub(number.less);
    // The widest format has 255 characters, and `Width::Largest` at most 20.
    let mut buffer = [0_u8; 256];
    let mut rest = &mut buffer[..];
    let written = match number.width {
        Width::Own => write!(rest, "{value}"),
        Width::Fixed(width, true) => write!(rest, "{value:width$}"),
        Width::Fixed(width, false) => write!(rest, "{value:0width$}"),
        Width::Largest => {
            let width = largest().max(1).ilog10() as usize + 1;
            write!(rest, "{value:0width$}")
        }
    };
    debug_assert!(written.is_ok(), "the buffer holds the widest number");
    let left = rest.len();
    let end = buffer.len() - left;
    sink.value(&buffer[..end], b"", true);
}
