//! Running without a shell: whether the text of a template means the same without one, and the
//! words that a shell would make of it.
//!
//! This is decided once for a template: values are always quoted, so only the text of the command
//! can need a shell.  Quotes and backslashes around plain text are removed here, so that `awk
//! '{print $1}' {}` needs no shell.  Builtins and functions are looked up in [`crate::shell`].

use super::parse::LinePart;
use super::render::{self, Arguments};
use super::{Context, Flow, RenderError, Template};
use crate::shell_reason::ShellReason;

/// The first word of a template that a shell would only split into words, or why it would do more
/// than that.
pub(crate) fn first_word(template: &Template) -> Result<Vec<u8>, ShellReason> {
    let pieces = template.plain.as_ref().map_err(Clone::clone)?;
    let mut name: Option<Vec<u8>> = None;
    for piece in pieces {
        match piece {
            LinePart::Text(text) => name.get_or_insert_default().extend_from_slice(text),
            LinePart::Blank(text) if template.quote_command.is_some() => {
                name.get_or_insert_default().extend_from_slice(text);
            }
            LinePart::Blank(_) if name.is_none() => {}
            LinePart::Blank(_) | LinePart::Join => break,
            LinePart::Value(_) => return Err(ShellReason::StartsWithValue),
        }
    }
    name.ok_or(ShellReason::NoCommand)
}

/// Renders the words of a template that needs no shell.
pub(super) fn render(
    template: &Template,
    context: &Context<'_>,
    words: &mut Vec<u8>,
) -> Result<Flow, RenderError> {
    words.clear();
    let pieces = match &template.plain {
        Ok(pieces) => pieces,
        Err(reason) => return Err(RenderError::NeedsShell(reason.clone())),
    };
    let is_quoted = template.quote_command.is_some();
    let mut sink = Arguments { words, count: 0, has_begun: is_quoted, is_quoted };
    let flow = render::walk(pieces, context, &mut sink)?;
    sink.end_word();
    let count = sink.count;
    if memchr::memchr_iter(0, words).count() != count {
        return Err(RenderError::Nul { seq: context.seq });
    }
    Ok(flow)
}

/// The pieces without their quotes; or why only a shell can run them.
pub(super) fn plain(pieces: &[LinePart], is_quoted: bool) -> Result<Vec<LinePart>, ShellReason> {
    if is_quoted {
        return Ok(pieces.to_vec());
    }
    let mut reader = ArgumentReader::default();
    for piece in pieces {
        match piece {
            LinePart::Text(text) => reader.text(text)?,
            LinePart::Blank(text) => reader.blank(text)?,
            LinePart::Join => reader.end_word(),
            LinePart::Value(replacement) => {
                if reader.quote.is_some() {
                    return Err(ShellReason::ValueInQuotes);
                }
                if reader.is_escaped {
                    return Err(ShellReason::Special('\\'));
                }
                if replacement.what.is_for_shell() {
                    return Err(ShellReason::Unquoted);
                }
                reader.has_value = true;
                reader.see_whether_torn()?;
                reader.pieces.push(piece.clone());
            }
        }
    }
    match reader.quote {
        None if reader.is_escaped => Err(ShellReason::Special('\\')),
        None => Ok(reader.pieces),
        Some(mark) => Err(ShellReason::Special(mark as char)),
    }
}

#[derive(Default)]
struct ArgumentReader {
    pieces: Vec<LinePart>,
    /// The quotation mark that is open.
    quote: Option<u8>,
    /// The text ended with a backslash, which escapes the next byte.
    is_escaped: bool,
    /// Number of complete words.
    words: usize,
    /// Whether this word has something, a value, a quoted blank.
    has_text: bool,
    has_value: bool,
    has_quoted_blank: bool,
}

impl ArgumentReader {
    fn text(&mut self, text: &[u8]) -> Result<(), ShellReason> {
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match (self.quote, byte) {
                (Some(mark), _) if mark == byte => self.quote = None,
                (Some(b'\''), _) => self.push(byte),
                (Some(_), b'$' | b'`' | b'\\' | b'!') => {
                    return Err(ShellReason::Special(byte as char));
                }
                (Some(_), _) => self.push(byte),
                (None, b'\'' | b'"') => {
                    self.quote = Some(byte);
                    // Even empty quotes make a word.
                    self.append(&[]);
                }
                (None, b'\\') => match rest.split_first() {
                    Some((&escaped, after)) => {
                        self.push(escaped);
                        rest = after;
                    }
                    None => self.is_escaped = true,
                },
                (None, b'=') if self.words == 0 => return Err(ShellReason::Assignment),
                // A value before it may be empty, so that the word begins here.
                (None, b'#' | b'=') if !self.has_text => {
                    return Err(ShellReason::Special(byte as char));
                }
                (None, _) if SPECIAL.contains(&byte) => {
                    return Err(ShellReason::Special(byte as char));
                }
                (None, _) => self.push(byte),
            }
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) {
        self.append(&[byte]);
    }

    fn append(&mut self, text: &[u8]) {
        self.has_text = true;
        match self.pieces.last_mut() {
            Some(LinePart::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(LinePart::Text(text.to_vec())),
        }
    }

    fn blank(&mut self, text: &[u8]) -> Result<(), ShellReason> {
        if self.quote.is_some() {
            self.append(text);
            self.has_quoted_blank = true;
            return self.see_whether_torn();
        }
        if text.contains(&b'\n') {
            return Err(ShellReason::Special('\n'));
        }
        let mut text = text;
        if std::mem::take(&mut self.is_escaped) {
            self.append(&text[..1]);
            self.has_quoted_blank = true;
            self.see_whether_torn()?;
            text = &text[1..];
        }
        if text.is_empty() {
            return Ok(());
        }
        self.end_word();
        self.pieces.push(LinePart::Blank(text.to_vec()));
        Ok(())
    }

    fn end_word(&mut self) {
        let has_something = self.has_text || self.has_value;
        self.words += usize::from(has_something);
        self.has_text = false;
        self.has_value = false;
        self.has_quoted_blank = false;
    }

    /// Packed values repeat the text around them up to a blank, quoted or not: only a shell can
    /// handle quotes that such a repetition splits.
    fn see_whether_torn(&self) -> Result<(), ShellReason> {
        if self.has_value && self.has_quoted_blank {
            Err(ShellReason::ValueInQuotes)
        } else {
            Ok(())
        }
    }
}

/// Bytes that are special to some shell anywhere in a word.
const SPECIAL: &[u8] = b"|&;<>()$`*?[]{}!^~";
