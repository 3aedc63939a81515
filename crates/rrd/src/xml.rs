//! Just enough XML for a dump: elements and text, with the line of each.
//!
//! Comments, declarations and attributes are passed over.  Nothing is resolved, so no document can
//! make this read another file or grow in memory.

use crate::error::{Result, refuse};

/// A piece of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Start(&'a str),
    End(&'a str),
    Text(&'a str),
    Done,
}

/// Reads a document piece by piece.
#[derive(Debug)]
pub(crate) struct DocumentReader<'a> {
    text: &'a str,
    position: usize,
    line: usize,
    /// An element without content ends at once.
    ends: Option<&'a str>,
    /// Names of the open elements.
    open: Vec<&'a str>,
    has_root: bool,
}

/// Deepest element: a dump has five.
const DEPTH_MAX: usize = 64;

impl<'a> DocumentReader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0, line: 1, ends: None, open: Vec::new(), has_root: false }
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest()[..bytes];
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count();
        self.position += bytes;
        taken
    }

    fn refused(&self, what: &str) -> crate::Error {
        refuse!("error reading/parsing XML: {what} ")
    }

    /// The next piece; text of blanks only is passed over.
    pub(crate) fn next(&mut self) -> Result<Event<'a>> {
        if let Some(name) = self.ends.take() {
            return self.end(name);
        }
        loop {
            if self.rest().is_empty() {
                return match (self.open.last(), self.has_root) {
                    (Some(name), _) => {
                        Err(self.refused(&format!("Premature end of data in tag {name}")))
                    }
                    (None, false) => Err(self.refused("Document is empty")),
                    (None, true) => Ok(Event::Done),
                };
            }
            let until = self.rest().find('<').unwrap_or(self.rest().len());
            if until > 0 {
                let text = self.advance(until).trim();
                if text.is_empty() {
                    continue;
                }
                if self.open.is_empty() {
                    let what = if self.has_root {
                        "Extra content at the end of the document"
                    } else {
                        "Document is empty"
                    };
                    return Err(self.refused(what));
                }
                return Ok(Event::Text(text));
            }
            if let Some(end) = self.passed_over()? {
                self.advance(end);
                continue;
            }
            return self.tag();
        }
    }

    /// Length of a comment or declaration here.
    fn passed_over(&self) -> Result<Option<usize>> {
        for (start, end) in [("<!--", "-->"), ("<?", "?>"), ("<!", ">")] {
            if let Some(inner) = self.rest().strip_prefix(start) {
                let length =
                    inner.find(end).ok_or_else(|| self.refused("Comment not terminated"))?;
                return Ok(Some(start.len() + length + end.len()));
            }
        }
        Ok(None)
    }

    fn tag(&mut self) -> Result<Event<'a>> {
        let end =
            self.rest().find('>').ok_or_else(|| self.refused("Couldn't find end of Start Tag"))?;
        let tag = self.advance(end + 1);
        let tag = &tag[1..tag.len() - 1];
        if let Some(name) = tag.strip_prefix('/') {
            return self.end(name.trim());
        }
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name = tag.split_whitespace().next().unwrap_or_default();
        if name.is_empty()
            || self.open.len() >= DEPTH_MAX
            || (self.open.is_empty() && self.has_root)
        {
            return Err(self.refused("StartTag: invalid element name"));
        }
        self.has_root = true;
        self.open.push(name);
        if is_empty {
            self.ends = Some(name);
        }
        Ok(Event::Start(name))
    }

    fn end(&mut self, name: &'a str) -> Result<Event<'a>> {
        match self.open.pop() {
            Some(open) if open == name => Ok(Event::End(name)),
            open => {
                let (open, line) = (open.unwrap_or_default(), self.line);
                Err(self.refused(&format!(
                    "Opening and ending tag mismatch: {open} line {line} and {name}"
                )))
            }
        }
    }

    /// The next start of an element, or `None` at the end of the one that is open.
    pub(crate) fn child(&mut self) -> Result<Option<&'a str>> {
        match self.next()? {
            Event::Start(name) => Ok(Some(name)),
            Event::End(_) | Event::Done => Ok(None),
            Event::Text(text) => {
                Err(refuse!("line {}: expected element but found text '{text}'", self.line))
            }
        }
    }

    /// Expects the start of an element.
    pub(crate) fn expect(&mut self, name: &str) -> Result<()> {
        let line = self.line;
        match self.next()? {
            Event::Start(found) if found == name => Ok(()),
            Event::Start(found) => {
                Err(refuse!("line {line}: expected <{name}> element but found <{found}>"))
            }
            Event::End(found) => {
                Err(refuse!("line {line}: expected <{name}> element but found </{found}>"))
            }
            Event::Text(text) => {
                Err(refuse!("line {line}: expected element but found text '{text}'"))
            }
            Event::Done => Err(refuse!("line {line}: expected <{name}> element but found <>")),
        }
    }

    /// The text of the open element, to its end.
    pub(crate) fn text(&mut self, name: &str) -> Result<&'a str> {
        let line = self.line;
        match self.next()? {
            Event::End(_) => Ok(""),
            Event::Text(text) => match self.next()? {
                Event::End(_) => Ok(text),
                Event::Start(found) => {
                    Err(refuse!("line {line}: expected </{name}> end element but found <{found}>"))
                }
                _ => Err(refuse!("line {line}: expected </{name}> end element but found <>")),
            },
            Event::Start(found) => {
                Err(refuse!("line {line}: expected a value but found a <{found}> element"))
            }
            Event::Done => Err(refuse!("line {line}: expected a value but found a <> element")),
        }
    }
}
