//! Splits the words of a command into pieces: text, blanks and replacement strings.
//!
//! This is done once for a command.  At each byte, from left to right, the parser looks first for
//! an expression in its delimiters, then for fixed strings (the longest match), then for strings
//! with a position or a column name after the `{`, then for those with parameters.

use super::expression::Program;
use super::replacement::{Position, Replacement, What};
use super::strings::Strings;
use super::value::Cut;
use super::{Syntax, TemplateError};

/// Longest command in bytes that is parsed: the limit of one argument of execve(2).  A longer one
/// could never be run.
const COMMAND_BYTES_MAX: usize = 128 * 1024;

/// A part of the command line.
#[derive(Clone, Debug)]
pub(crate) enum LinePart {
    /// Text without blanks.
    Text(Vec<u8>),
    /// Blanks, tabs and line ends between words.
    Blank(Vec<u8>),
    /// The end of a word of the command, if each word is quoted (`-q`).
    Join,
    /// A replacement string.
    Value(Replacement),
}

/// Parses the words of the command.
pub(super) fn pieces(words: &[Vec<u8>], syntax: &Syntax) -> Result<Vec<LinePart>, TemplateError> {
    let mut text = Vec::new();
    let mut joints = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            joints.push(text.len());
            text.push(b' ');
        }
        text.extend_from_slice(word);
    }
    if text.len() > COMMAND_BYTES_MAX {
        return Err(TemplateError::TooLong { bytes: text.len(), most: COMMAND_BYTES_MAX });
    }
    if !syntax.quote_command {
        joints.clear();
    }
    let strings = Strings::new(syntax)?;
    let mut reader = TemplateReader { syntax, strings: &strings, text: &text, pieces: Vec::new() };
    let mut joints = joints.into_iter().peekable();
    let mut place = 0;
    while place < text.len() {
        while joints.next_if(|joint| *joint < place).is_some() {}
        if joints.next_if_eq(&place).is_some() {
            reader.pieces.push(LinePart::Join);
            place += 1;
            continue;
        }
        match reader.replacement(place)? {
            Some((length, found)) => {
                reader.pieces.extend(found.map(LinePart::Value));
                place += length;
            }
            None => {
                reader.literal(text[place]);
                place += 1;
            }
        }
    }
    Ok(reader.pieces)
}

struct TemplateReader<'a> {
    syntax: &'a Syntax,
    strings: &'a Strings,
    text: &'a [u8],
    pieces: Vec<LinePart>,
}

/// The strings that take the name of a column, with an empty one.
const OF_UNNAMED: [&[u8]; 5] = [b"{}", b"{.}", b"{/}", b"{//}", b"{/.}"];

/// A replacement string in the text: its length, and its meaning if it has one.
type FoundReplacement = Option<(usize, Option<Replacement>)>;

impl TemplateReader<'_> {
    fn literal(&mut self, byte: u8) {
        let is_blank = matches!(byte, b' ' | b'\t' | b'\n');
        match self.pieces.last_mut() {
            Some(LinePart::Blank(text)) if is_blank => text.push(byte),
            Some(LinePart::Text(text)) if !is_blank => text.push(byte),
            _ if is_blank => self.pieces.push(LinePart::Blank(vec![byte])),
            _ => self.pieces.push(LinePart::Text(vec![byte])),
        }
    }

    fn replacement(&self, place: usize) -> Result<FoundReplacement, TemplateError> {
        let text = &self.text[place..];
        if let Some(found) = self.expression(text)? {
            return Ok(Some(found));
        }
        if let Some((name, position)) = self.name_at_start(text)
            && let Some((length, what)) = self.after_brace(&text[1 + name..])?
        {
            return Ok(Some((1 + name + length, replacement(what, Some(position)))));
        }
        if let Some((length, what)) = self.strings.at_start(text)? {
            let is_of_unnamed = OF_UNNAMED.contains(&&text[..length]);
            let position = self.syntax.unnamed.filter(|_| is_of_unnamed);
            return Ok(Some((length, replacement(what, position))));
        }
        let Some((digits, position)) = text.strip_prefix(b"{").and_then(number) else {
            return Ok(None);
        };
        let rest = &text[1 + digits..];
        let blanks = rest.iter().take_while(|byte| matches!(byte, b'\t'..=b'\r' | b' ')).count();
        let Some((length, what)) = self.after_brace(&rest[blanks..])? else { return Ok(None) };
        Ok(Some((1 + digits + blanks + length, replacement(what, Some(position)))))
    }

    /// The string that `text` would begin with after a `{`.
    fn after_brace(&self, text: &[u8]) -> Result<Option<(usize, What)>, TemplateError> {
        // Only as far as a string can reach, so that the search takes linear time.
        let end = memchr::memchr(b'}', text).map_or(text.len(), |end| end + 1);
        let braced = [b"{", &text[..end]].concat();
        Ok(self.strings.at_start(&braced)?.map(|(length, what)| (length - 1, what)))
    }

    /// A column name after `{`: its length and position.  The longest match.
    fn name_at_start(&self, text: &[u8]) -> Option<(usize, i32)> {
        let body = text.strip_prefix(b"{")?;
        (self.syntax.names.iter().enumerate())
            .filter(|(_, name)| !name.is_empty() && body.starts_with(name))
            .max_by_key(|(_, name)| name.len())
            .map(|(index, name)| (name.len(), index as i32 + 1))
    }

    /// `{=2 s/a/b/ =}`.
    fn expression(&self, text: &[u8]) -> Result<FoundReplacement, TemplateError> {
        let (left, right): (&[u8], &[u8]) = match &self.syntax.parens {
            Some((left, right)) => (left, right),
            None => (b"{=", b"=}"),
        };
        let Some(body) = text.strip_prefix(left).filter(|_| !left.is_empty()) else {
            return Ok(None);
        };
        let Some(end) = memchr::memmem::find(body, right) else { return Ok(None) };
        let length = left.len() + end + right.len();
        let body = &body[..end];
        let name = (self.syntax.names.iter().enumerate())
            .filter(|(_, name)| !name.is_empty())
            .filter(|(_, name)| body.strip_prefix(&name[..]).is_some_and(is_code))
            .max_by_key(|(_, name)| name.len())
            .map(|(index, name)| (name.len(), index as i32 + 1));
        let (skipped, position) = match name.or_else(|| number(body)) {
            Some((skipped, position)) => (skipped, Some(position)),
            None => (0, self.syntax.unnamed),
        };
        let code = &body[skipped..];
        if code.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some((length, replacement(What::Value(Cut::Whole), position))));
        }
        let program = Program::parse(code, &[], self.syntax.perl.as_ref())?;
        Ok(Some((length, replacement(What::Expression(Box::new(program)), position))))
    }
}

/// Whether the code of an expression can begin like this: with a blank, or empty.
fn is_code(rest: &[u8]) -> bool {
    rest.is_empty() || rest[0].is_ascii_whitespace()
}

/// The meaning of a string found in the text.  A string about the job has no position; with one it
/// has no meaning.
fn replacement(what: What, position: Option<i32>) -> Option<Replacement> {
    let position = match (what.is_of_job(), position) {
        (true, Some(_)) => return None,
        (true, None) => Position::Job,
        (false, None | Some(0)) => what.own_position(),
        (false, Some(place)) => Position::At(place),
    };
    Some(Replacement { what, position })
}

/// Parses a position: its length and value.
fn number(text: &[u8]) -> Option<(usize, i32)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let value = std::str::from_utf8(&text[..sign + digits]).ok()?;
    // A position with too many digits is one that no job has a value for.
    Some((sign + digits, value.parse().unwrap_or(i32::MAX)))
}
