//! The text of a script, character by character: spaces, names, quoted texts, lines.

use super::{DEPTH_MAX, ScriptError};

/// A place in a text.
pub(super) struct Scanner {
    text: Vec<char>,
    at: usize,
    depth: usize,
    /// Lines of texts after `<<TAG` that were taken out before this place.
    lines_removed: Vec<(usize, usize)>,
}

impl Scanner {
    pub(super) fn new(text: &str) -> Self {
        Scanner { text: text.chars().collect(), at: 0, depth: 0, lines_removed: Vec::new() }
    }

    /// The line of the place, from 1.
    pub(super) fn line(&self) -> usize {
        let newlines = self.text[..self.at.min(self.text.len())].iter().filter(|&&c| c == '\n');
        let removed = self.lines_removed.iter().filter(|(at, _)| *at <= self.at);
        1 + newlines.count() + removed.map(|(_, lines)| lines).sum::<usize>()
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line(), message: message.into() }
    }

    pub(super) fn refused(&self, what: &str) -> ScriptError {
        self.error(format!("{what} is not part of the language of filters and templates"))
    }

    /// One level deeper; texts from outside must not use up the stack.
    pub(super) fn deeper(&mut self) -> Result<(), ScriptError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(self.error(format!("more than {DEPTH_MAX} levels"))),
            false => Ok(()),
        }
    }

    pub(super) fn shallower(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<char> {
        self.text.get(self.at + offset).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    /// Spaces and comments.
    pub(super) fn skip_spaces(&mut self) {
        while let Some(character) = self.peek() {
            if character == '#' {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if !character.is_whitespace() {
                return;
            } else {
                self.at += 1;
            }
        }
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.at >= self.text.len()
    }

    /// Takes a sign if it comes next.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let comes = sign.chars().enumerate().all(|(at, c)| self.peek_at(at) == Some(c));
        self.at += if comes { sign.len() } else { 0 };
        comes
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), ScriptError> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.unexpected(sign))
    }

    fn unexpected(&self, wanted: &str) -> ScriptError {
        match self.peek() {
            Some(found) => self.error(format!("`{wanted}` is wanted, and `{found}` comes")),
            None => self.error(format!("`{wanted}` is wanted at the end")),
        }
    }

    /// The word that comes next, without taking it.
    pub(super) fn peek_word(&mut self) -> String {
        self.skip_spaces();
        let rest = self.text[self.at.min(self.text.len())..].iter();
        rest.take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect()
    }

    /// Takes a word if it comes next as a whole.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let comes = self.peek_word() == word;
        self.at += if comes { word.len() } else { 0 };
        comes
    }

    /// A name; empty if none comes.
    pub(super) fn name(&mut self) -> String {
        let rest = self.text[self.at.min(self.text.len())..].iter();
        let name: String = rest.take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        self.at += name.len();
        name
    }

    /// The text up to the end of a quotation whose beginning was taken; brackets nest.  Backslashes
    /// stay, except before the end sign.
    pub(super) fn quoted(&mut self, begin: char) -> Result<String, ScriptError> {
        let end = match begin {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        let start = self.error(format!("the text after `{begin}` has no end"));
        let mut text = String::new();
        let mut level = 0;
        while let Some(character) = self.next() {
            if character == '\\' {
                let Some(escaped) = self.next() else { break };
                if escaped != end || begin != end {
                    text.push('\\');
                }
                text.push(escaped);
            } else if character == end && level == 0 {
                return Ok(text);
            } else {
                level += i32::from(character == begin && begin != end);
                level -= i32::from(character == end);
                text.push(character);
            }
        }
        Err(start)
    }

    /// The lines after this one up to `tag`; they are taken out of the text.
    pub(super) fn lines_to(&mut self, tag: &str) -> Result<String, ScriptError> {
        let missing = self.error(format!("no line says `{tag}`"));
        let line_end = self.text[self.at..].iter().position(|&c| c == '\n');
        let Some(begin) = line_end.map(|length| self.at + length + 1) else { return Err(missing) };
        let mut from = begin;
        loop {
            let length = self.text[from..].iter().position(|&c| c == '\n');
            let end = length.map_or(self.text.len(), |length| from + length);
            if self.text[from..end].iter().copied().eq(tag.chars()) {
                let body: String = self.text[begin..from].iter().collect();
                let lines = body.matches('\n').count() + 1;
                self.text.drain(begin..(end + 1).min(self.text.len()));
                self.lines_removed.push((begin, lines));
                return Ok(body);
            }
            if length.is_none() {
                return Err(missing);
            }
            from = end + 1;
        }
    }
}
