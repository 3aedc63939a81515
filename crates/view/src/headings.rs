//! The headings of a view alone, as `--showcolheaders` shows them: those of the first frame that has any.
//!
//! Views write headings where they stand among the numbers, so this one lets another view write a
//! frame and keeps the lines that [`HeadingLines`] tells.

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use crate::{HeadingLines, View};

/// Another view, of which only the headings are written.
pub struct HeadingsOnly {
    view: Box<dyn View>,
    lines: HeadingLines,
    text: Vec<u8>,
    is_complete: bool,
}

impl HeadingsOnly {
    /// Of `view`, whose headings are these lines.
    pub fn new(view: Box<dyn View>, lines: HeadingLines) -> Self {
        HeadingsOnly { view, lines, text: Vec::new(), is_complete: false }
    }
}

impl View for HeadingsOnly {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.view.begin(meta, defs, options, &mut io::sink())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if self.is_complete {
            return Ok(());
        }
        self.text.clear();
        self.view.frame(frame, &mut self.text)?;
        for line in self.lines.among(&self.text) {
            self.is_complete = true;
            out.write_all(line)?;
        }
        Ok(())
    }

    fn looks_at(&self, source: usize) -> bool {
        self.view.looks_at(source)
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        self.view.end(&mut io::sink())
    }

    fn notes(&self) -> Vec<String> {
        self.view.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_by_their_place_or_their_mark() {
        let among = |lines: HeadingLines, text: &str| -> String {
            let lines = lines.among(text.as_bytes()).map(String::from_utf8_lossy);
            lines.collect::<Vec<_>>().concat()
        };
        assert_eq!(among(HeadingLines::First, "time,cpu\n1,2\n3,4\n"), "time,cpu\n");
        assert_eq!(among(HeadingLines::Comments, "\n# CPU\n#u s\n 1 2\n"), "# CPU\n#u s\n");
        assert_eq!(among(HeadingLines::Comments, " 1 2\n"), "");
        assert_eq!(among(HeadingLines::None, "{}\n"), "");
    }
}
