//! The key of a line (`--group-by`, `--shard`, `--bin`): a column of it, or what an expression makes
//! of that or of the whole line.
//!
//! One key is computed for each line, when it is read; our own expressions take about 1 µs.

use perl::leading_integer;
use template::{Context, Packing, PerlProcess, Record, Syntax, Template, Values};

use super::PipeError;
use crate::input::{Columns, Cut, InputOptions, Trim};

/// What surrounds the expression in a template: a command line's words cannot contain a NUL.
const PARENS: (&[u8], &[u8]) = (b"\0{", b"\0}");

/// How the key of a line is found.
#[derive(Clone, Debug)]
pub struct LineKey {
    /// The option, for messages.
    pub option: &'static str,
    /// `[column number|column name] [expression]`.
    pub text: Vec<u8>,
    /// What columns are separated by (`--colsep`), a tab by default.
    pub separator: Option<Vec<u8>>,
    /// An expression alone is of the whole line.
    pub takes_lines: bool,
    /// Runs expressions that are beyond our own language.
    pub perl: Option<PerlProcess>,
}

/// Finds keys of lines.
pub(crate) struct KeyFinder {
    option: &'static str,
    /// The column from 0; `None` for the whole line.
    column: Option<usize>,
    columns: Cut,
    expression: Option<Template>,
}

impl LineKey {
    /// `header` has the columns' names, in its first line; empty if there is none.
    ///
    /// # Errors
    ///
    /// If no column has that name, or an expression cannot be parsed.
    pub(crate) fn finder(&self, header: &[u8]) -> Result<KeyFinder, PipeError> {
        let error = |why: String| PipeError::Key { option: self.option, why };
        let separator = self.separator.clone().unwrap_or_else(|| b"\\t".to_vec());
        let columns = Cut::new(&InputOptions {
            columns: Columns::Separator(separator),
            trim: Some(Trim::None),
            ..InputOptions::default()
        });
        let columns = columns.map_err(|wrong| error(wrong.to_string()))?;
        let names = columns.names(first_line(header).to_vec());
        let names = names.map_err(|wrong| error(wrong.to_owned()))?;
        let (column, code) = self.parts(&names).map_err(error)?;
        let syntax = Syntax {
            parens: Some((PARENS.0.to_vec(), PARENS.1.to_vec())),
            perl: self.perl.clone(),
            ..Syntax::default()
        };
        let word = [PARENS.0, code, PARENS.1].concat();
        let expression = (!code.is_empty()).then(|| Template::parse(&[word], &syntax));
        let expression = expression.transpose().map_err(|wrong| error(wrong.to_string()))?;
        Ok(KeyFinder { option: self.option, column, columns, expression })
    }

    /// The column from 0, if one is named, and the expression.
    fn parts(&self, names: &[Vec<u8>]) -> Result<(Option<usize>, &[u8]), String> {
        let text = self.text.trim_ascii();
        let named = |name: &[u8]| names.iter().position(|other| other == name);
        if let Some(column) = named(text) {
            return Ok((Some(column), b""));
        }
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (word, rest) = (&text[..end], text[end..].trim_ascii_start());
        let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let number = is_number.then(|| leading_integer(&String::from_utf8_lossy(word)));
        match number.map(usize::try_from) {
            Some(Ok(number @ 1..)) => return Ok((Some(number - 1), rest)),
            Some(_) => return Err("columns are counted from 1".to_owned()),
            None => {}
        }
        if let Some(column) = named(word) {
            return Ok((Some(column), rest));
        }
        let is_name = word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let word = String::from_utf8_lossy(word);
        if is_name && names.iter().all(Vec::is_empty) {
            return Err(format!("the column {word} has a name only with --header :"));
        }
        if is_name || !self.takes_lines {
            let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            let names = names.join(" ");
            return Err(format!("no column {word}: write a number from 1, or one of: {names}"));
        }
        Ok((None, text))
    }
}

impl KeyFinder {
    /// The key of a line, with or without its newline.  A column that it does not have is empty.
    ///
    /// # Errors
    ///
    /// If an expression fails.
    pub(crate) fn key(&self, line: &[u8]) -> Result<Vec<u8>, PipeError> {
        let error = |why: String| PipeError::Key { option: self.option, why };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let value = match self.column {
            None => line.to_vec(),
            Some(column) => {
                let columns = self.columns.columns(line.to_vec());
                let columns = columns.map_err(|wrong| error(wrong.to_owned()))?;
                columns.into_iter().nth(column).unwrap_or_default()
            }
        };
        let Some(expression) = &self.expression else { return Ok(value) };
        let records = [Record::of(value)];
        let context = Context {
            seq: 1,
            slot: 1,
            slots: 1,
            total: None,
            records: &records,
            packing: Packing::One,
            local_time_s: 0,
        };
        let mut key = Vec::new();
        let rendered = expression.render(&context, Values::Bare, &mut key);
        rendered.map_err(|wrong| error(wrong.to_string()))?;
        Ok(key)
    }
}

/// Where groups of lines with the same key begin, in a stream that is read piece by piece.
///
/// Positions count from the first byte that was not handed out.
pub(super) struct Groups {
    rule: LineKey,
    /// Made when the header is known.
    finder: Option<KeyFinder>,
    /// Bytes whose lines have been looked at.
    scanned: usize,
    latest: Option<Vec<u8>>,
    /// The lines with which the key changes: where they begin and end.
    borders: std::collections::VecDeque<std::ops::Range<usize>>,
}

impl Groups {
    pub(super) fn new(rule: LineKey) -> Self {
        let borders = std::collections::VecDeque::new();
        Groups { rule, finder: None, scanned: 0, latest: None, borders }
    }

    /// Looks at the whole lines of `bytes` that are new; also at an incomplete last one if `ended`.
    pub(super) fn scan(
        &mut self,
        bytes: &[u8],
        header: &[u8],
        ended: bool,
    ) -> Result<(), PipeError> {
        let finder = match &mut self.finder {
            Some(finder) => finder,
            none => none.insert(self.rule.finder(header)?),
        };
        while let Some(rest) = bytes.get(self.scanned..).filter(|rest| !rest.is_empty()) {
            let length = match memchr::memchr(b'\n', rest) {
                Some(at) => at + 1,
                None if ended => rest.len(),
                None => break,
            };
            let key = finder.key(&rest[..length])?;
            if self.latest.as_ref().is_some_and(|latest| *latest != key) {
                self.borders.push_back(self.scanned..self.scanned + length);
            }
            self.latest = Some(key);
            self.scanned += length;
        }
        Ok(())
    }

    /// The end of so many groups.
    pub(super) fn after(&self, count: u64) -> Option<usize> {
        let nth = usize::try_from(count.checked_sub(1)?).ok()?;
        self.borders.get(nth).map(|line| line.start)
    }

    /// The last end of a group that the lines in so many bytes show, whatever was read beyond them.
    pub(super) fn last(&self, bytes: usize) -> Option<usize> {
        self.borders.iter().rev().find(|line| line.end <= bytes).map(|line| line.start)
    }

    /// So many bytes were handed out.
    pub(super) fn gave(&mut self, bytes: usize) {
        self.scanned = self.scanned.saturating_sub(bytes);
        while self.borders.front().is_some_and(|line| line.start <= bytes) {
            self.borders.pop_front();
        }
        for line in &mut self.borders {
            *line = line.start - bytes..line.end - bytes;
        }
    }
}

/// The first change of the key between whole lines that begin at or after `from`.  `bytes` begin
/// with a line if `from` is 0.  If there is none, returns how many bytes at the beginning need not be
/// searched again; the rest begins with a line.
pub(super) fn first_change(
    finder: &KeyFinder,
    bytes: &[u8],
    from: usize,
    whole: bool,
) -> Result<Result<usize, usize>, PipeError> {
    let mut start = match from.checked_sub(1) {
        None => 0,
        Some(before) => match memchr::memchr(b'\n', &bytes[before..]) {
            Some(at) => before + at + 1,
            None => return Ok(Err(0)),
        },
    };
    let mut first = None;
    let mut same = start;
    while start < bytes.len() {
        let at = match memchr::memchr(b'\n', &bytes[start..]) {
            Some(at) => at,
            None if whole => bytes.len() - start,
            None => break,
        };
        let key = finder.key(&bytes[start..start + at])?;
        if first.get_or_insert_with(|| key.clone()) != &key {
            return Ok(Ok(start));
        }
        (same, start) = (start, start + at + 1);
    }
    Ok(Err(same))
}

fn first_line(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> LineKey {
        LineKey {
            option: "--group-by",
            text: text.as_bytes().to_vec(),
            separator: Some(b",".to_vec()),
            takes_lines: true,
            perl: None,
        }
    }

    #[track_caller]
    fn is(text: &str, header: &str, line: &str, wanted: &str) {
        let finder = rule(text).finder(header.as_bytes()).expect("a rule");
        let key = finder.key(line.as_bytes()).expect("a key");
        assert_eq!(String::from_utf8_lossy(&key), wanted, "{text} of {line}");
    }

    #[test]
    fn keys_are_columns_or_what_an_expression_makes_of_them() {
        is("2", "", "a,b,c\n", "b");
        is("3", "", "a,b,c\n", "c");
        is("4", "", "a,b,c\n", "");
        is("id", "n,id\n", "a,b\n", "b");
        is("id s/\\D//g", "n,id\n", "a,1-2\n", "12");
        is("2 $_*=2", "", "a,21\n", "42");
        is("$_=int($_/10)", "", "37\n", "3");
        is("s/}.*//", "", "a}b", "a");
    }

    #[test]
    fn what_is_no_column_is_told() {
        let why = |text: &str, header: &str| {
            rule(text).finder(header.as_bytes()).map(drop).expect_err(text).to_string()
        };
        assert!(why("0", "").contains("counted from 1"));
        assert!(why("id", "").contains("--header"));
        assert!(why("id", "n,x\n").contains("one of: n x"));
        assert!(why("$_=", "").contains("--group-by"));
    }
}
