//! Splits a value into columns (`--colsep`, `--csv`) and trims them (`--trim`).

use std::fmt::Write;

use memchr::memchr_iter;
use regex::bytes::{Regex, RegexBuilder};

use super::{Columns, InputError, InputOptions, Trim, ValueNames};

/// Most memory of a compiled regular expression.
const PATTERN_BYTES_MAX: usize = 4 << 20;

/// Splits values into columns.
pub(crate) struct Cut {
    how: How,
    trim: Trim,
}

enum How {
    Whole,
    /// A separator of one literal byte, the common case.
    Byte(u8),
    Pattern(Box<Regex>),
    Csv(Vec<u8>),
}

impl Cut {
    pub(crate) fn new(options: &InputOptions) -> Result<Cut, InputError> {
        let (how, default) = match &options.columns {
            // Names in a header are separated by tabs, and so are the values below them.
            Columns::None if options.header == ValueNames::First => (How::Byte(b'\t'), Trim::None),
            Columns::None => (How::Whole, Trim::None),
            Columns::Separator(pattern) => {
                let how = match plain_byte(pattern) {
                    Some(byte) => How::Byte(byte),
                    None => How::Pattern(Box::new(bytes_pattern(pattern).map_err(|error| {
                        InputError::Pattern {
                            pattern: String::from_utf8_lossy(pattern).into_owned(),
                            option: "--colsep",
                            error,
                        }
                    })?)),
                };
                (how, Trim::Both)
            }
            Columns::Csv(separator) if separator.is_empty() => return Err(InputError::Separator),
            Columns::Csv(separator) => (How::Csv(separator.clone()), Trim::None),
        };
        Ok(Cut { how, trim: options.trim.unwrap_or(default) })
    }

    /// Whether a quoted value may contain delimiters.
    pub(super) fn is_csv(&self) -> bool {
        matches!(self.how, How::Csv(_))
    }

    /// The columns of a header: split like a value, but not trimmed.
    pub(crate) fn names(&self, header: Vec<u8>) -> Result<Vec<Vec<u8>>, &'static str> {
        Ok(match &self.how {
            How::Whole => vec![header],
            How::Byte(byte) => split_byte(header, *byte),
            How::Pattern(pattern) => split_pattern(&header, pattern),
            How::Csv(separator) => split_csv(&header, separator)?,
        })
    }

    /// The columns of a value.
    pub(crate) fn columns(&self, value: Vec<u8>) -> Result<Vec<Vec<u8>>, &'static str> {
        let mut columns = self.names(value)?;
        if self.trim != Trim::None {
            for column in &mut columns {
                trim(column, self.trim);
            }
        }
        Ok(columns)
    }
}

/// White space as in regular expressions.
pub(crate) fn is_space(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == 0x0b
}

fn trim(value: &mut Vec<u8>, how: Trim) {
    if matches!(how, Trim::Right | Trim::Both) {
        let end = value.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
        value.truncate(end);
    }
    if matches!(how, Trim::Left | Trim::Both) {
        let start = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
        value.drain(..start);
    }
}

/// The byte that a pattern matches if it matches a single byte: `,`, `\|`, `\t`.
fn plain_byte(pattern: &[u8]) -> Option<u8> {
    match *pattern {
        [b'\\', b't'] => Some(b'\t'),
        [b'\\', byte] if byte.is_ascii_punctuation() => Some(byte),
        [byte] if !br"\.+*?()|[]{}^$".contains(&byte) => Some(byte),
        _ => None,
    }
}

/// Compiles a regular expression over bytes: `\d`, `\s` and the like are ASCII, and other
/// characters stand for their bytes.
pub(crate) fn bytes_pattern(pattern: &[u8]) -> Result<Regex, String> {
    let mut text = String::with_capacity(pattern.len());
    for &byte in pattern {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    RegexBuilder::new(&text)
        .unicode(false)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| last_line(&error.to_string()))
}

/// The reason alone: the library shows the pattern on several lines before it.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ").to_owned()
}

fn split_byte(value: Vec<u8>, byte: u8) -> Vec<Vec<u8>> {
    let mut columns = Vec::new();
    let mut start = 0;
    for at in memchr_iter(byte, &value) {
        columns.push(value[start..at].to_vec());
        start = at + 1;
    }
    if start == 0 {
        return vec![value];
    }
    columns.push(value[start..].to_vec());
    columns
}

/// Splits like Perl's `split` without a limit: an empty match counts only after the first byte of
/// its field, groups are columns of their own, and what follows the last match is a column even if
/// it is empty.
fn split_pattern(value: &[u8], pattern: &Regex) -> Vec<Vec<u8>> {
    let mut columns = Vec::new();
    let mut start = 0;
    while start < value.len() {
        let mut found = pattern.captures_at(value, start);
        if found.as_ref().and_then(|groups| groups.get(0)).is_some_and(|all| all.end() == start) {
            found = pattern.captures_at(value, start + 1);
        }
        let Some(groups) = found else { break };
        let Some(all) = groups.get(0) else { break };
        columns.push(value[start..all.start()].to_vec());
        for group in groups.iter().skip(1) {
            columns.push(group.map_or(Vec::new(), |group| group.as_bytes().to_vec()));
        }
        start = all.end();
    }
    columns.push(value[start..].to_vec());
    columns
}

/// Whether a quoted field is still open at the end: the record continues after the delimiter.
pub(super) fn quotes_open(value: &[u8]) -> bool {
    !memchr_iter(b'"', value).count().is_multiple_of(2)
}

/// The fields of a CSV record (RFC 4180): in quotes `""` is a quote; outside quotes none is
/// allowed.
fn split_csv(value: &[u8], separator: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut columns = Vec::new();
    let mut rest = value;
    loop {
        let mut column = Vec::new();
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            rest = quoted;
            loop {
                let at = memchr::memchr(b'"', rest).ok_or("a quote is not closed")?;
                column.extend_from_slice(&rest[..at]);
                rest = &rest[at + 1..];
                let Some(more) = rest.strip_prefix(b"\"") else { break };
                column.push(b'"');
                rest = more;
            }
            // Lines of files from other systems end in CR LF.
            if rest == b"\r" {
                rest = b"";
            }
            if !rest.is_empty() && !rest.starts_with(separator) {
                return Err("there is something between a closing quote and the separator");
            }
        } else {
            let at = memchr::memmem::find(rest, separator).unwrap_or(rest.len());
            if memchr::memchr(b'"', &rest[..at]).is_some() {
                return Err("there is a quote in a field without quotes around it");
            }
            let end = if at == rest.len() && rest.ends_with(b"\r") { at - 1 } else { at };
            column.extend_from_slice(&rest[..end]);
            rest = &rest[at..];
        }
        columns.push(column);
        match rest.strip_prefix(separator) {
            Some(more) => rest = more,
            None => return Ok(columns),
        }
    }
}
