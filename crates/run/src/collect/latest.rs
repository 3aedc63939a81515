//! `--latest-line`: a row for each running job, with the latest line that it has written.
//!
//! On a terminal the rows are written again at each new line, and the row of a job that has ended
//! stays above them.  Elsewhere each job's last line is written when it ends.  Of a line the first
//! bytes are kept, more than a terminal is wide; control characters and escape sequences, which could
//! move the cursor, are left out.

use memchr::memrchr2;

use super::CollectError;
use super::color::Color;
use super::sink::{Marks, Sink};

/// Bytes kept of a line: four for each character of the widest terminal seen.
const LINE_BYTES_MAX: usize = 4096;

/// Columns between tab stops.
const TAB_COLUMNS: usize = 8;

/// The columns and rows of the terminal that standard output is; `None` if it is none.
pub type OutputSize = fn() -> Option<(u16, u16)>;

/// The rows of the running jobs.
#[derive(Debug)]
pub(super) struct LatestLines {
    size: OutputSize,
    rows: Vec<Row>,
    /// Rows on the screen, above the cursor, that are written again.
    shown: usize,
    text: Vec<u8>,
}

/// One job's.
#[derive(Debug, Default)]
struct Row {
    seq: u64,
    tag: Option<Vec<u8>>,
    color: Option<Color>,
    line: Vec<u8>,
    /// The unfinished line of each stream.
    rest: [Vec<u8>; 2],
}

impl LatestLines {
    pub(super) fn new(size: OutputSize) -> Self {
        LatestLines { size, rows: Vec::new(), shown: 0, text: Vec::new() }
    }

    /// A job has written these bytes to its standard output (0) or error (1).
    pub(super) fn add(
        &mut self,
        seq: u64,
        which: usize,
        bytes: &[u8],
        marks: Marks<'_>,
        out: &mut Sink,
    ) -> Result<(), CollectError> {
        let at = match self.rows.iter().position(|row| row.seq == seq) {
            Some(at) => at,
            None => {
                let tag = marks.tag.map(<[u8]>::to_vec);
                self.rows.push(Row { seq, tag, color: marks.color, ..Row::default() });
                self.rows.len() - 1
            }
        };
        match self.rows[at].add(which, bytes) {
            true => self.draw(None, out),
            false => Ok(()),
        }
    }

    /// A job has ended: its last line stays, if that `counts`.
    pub(super) fn end(
        &mut self,
        seq: u64,
        counts: bool,
        out: &mut Sink,
    ) -> Result<(), CollectError> {
        let Some(at) = self.rows.iter().position(|row| row.seq == seq) else { return Ok(()) };
        let mut row = self.rows.remove(at);
        for which in 0..2 {
            row.add(which, b"\n");
        }
        self.draw(counts.then_some(&row), out)
    }

    /// Writes a row that stays, and the others below it.
    fn draw(&mut self, ended: Option<&Row>, out: &mut Sink) -> Result<(), CollectError> {
        self.text.clear();
        let Some((columns, lines)) = (self.size)() else {
            return match ended {
                Some(row) => {
                    row.push(usize::MAX, &mut self.text);
                    out.write(&self.text)
                }
                None => Ok(()),
            };
        };
        let most = usize::from(lines).saturating_sub(2).max(1);
        if self.shown > 0 {
            self.text.extend_from_slice(format!("\r\x1b[{}A", self.shown).as_bytes());
        }
        let live = self.rows.iter().take(most);
        for row in ended.into_iter().chain(live) {
            self.text.extend_from_slice(b"\r\x1b[K");
            // The last column stays free: a terminal would begin another line.
            row.push(usize::from(columns).saturating_sub(1), &mut self.text);
        }
        let drawn = self.rows.len().min(most);
        if drawn + usize::from(ended.is_some()) < self.shown {
            self.text.extend_from_slice(b"\x1b[J");
        }
        self.shown = drawn;
        out.write(&self.text)
    }
}

impl Row {
    /// Adds output; whether there is another latest line.  An empty line does not count.
    fn add(&mut self, which: usize, bytes: &[u8]) -> bool {
        let rest = &mut self.rest[which];
        let Some(end) = memrchr2(b'\n', b'\r', bytes) else {
            keep(rest, bytes);
            return false;
        };
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let first = bytes.iter().position(is_end).unwrap_or(end);
        keep(rest, &bytes[..first]);
        let later = bytes[first..end].rsplit(is_end).find(|line| !line.is_empty());
        let latest = later.unwrap_or(rest);
        let is_new = !latest.is_empty();
        if is_new {
            self.line.clear();
            keep(&mut self.line, latest);
        }
        rest.clear();
        keep(rest, &bytes[end + 1..]);
        is_new
    }

    /// Appends the row, at most so many columns wide, with a newline.
    fn push(&self, columns: usize, out: &mut Vec<u8>) {
        if let Some(color) = self.color {
            color.push_begin(out);
        }
        let tag = self.tag.as_ref().map(|tag| [tag, &b"\t"[..]].concat());
        let text = [&tag.unwrap_or_default()[..], &self.line].concat();
        match columns {
            // No terminal: the line as it is.
            usize::MAX => out.extend_from_slice(&text),
            _ => push_visible(&text, columns, out),
        }
        if self.color.is_some() {
            Color::push_end(out);
        }
        out.push(b'\n');
    }
}

/// Appends the first bytes of a line.
fn keep(line: &mut Vec<u8>, bytes: &[u8]) {
    let room = LINE_BYTES_MAX.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Appends what can be seen of a text, at most so many columns wide.
fn push_visible(text: &[u8], columns: usize, out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    let mut used = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let (width, shown) = match character {
            '\x1b' => {
                skip_sequence(&mut characters);
                continue;
            }
            '\t' => (TAB_COLUMNS - used % TAB_COLUMNS, ' '),
            _ if character.is_control() => continue,
            // Characters from Hangul on may take two columns.
            '\u{1100}'.. => (2, character),
            _ => (1, character),
        };
        if used + width > columns {
            return;
        }
        let count = if character == '\t' { width } else { 1 };
        let mut buffer = [0; 4];
        for _ in 0..count {
            out.extend_from_slice(shown.encode_utf8(&mut buffer).as_bytes());
        }
        used += width;
    }
}

/// Skips the rest of an escape sequence (ECMA-48).
fn skip_sequence(characters: &mut std::str::Chars<'_>) {
    match characters.next() {
        Some('[') => drop(characters.find(|next| matches!(next, '@'..='~'))),
        Some(']' | 'P' | '_' | '^') => drop(characters.find(|next| matches!(next, '\x07' | '\\'))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_line_is_the_last_that_is_not_empty() {
        let mut row = Row::default();
        assert!(!row.add(0, b"a"));
        assert!(row.add(0, b"b\nc"));
        assert_eq!(row.line, b"ab");
        assert!(row.add(0, b"d\r\n"));
        assert_eq!(row.line, b"cd");
        assert!(!row.add(1, b"\n\n"));
        assert!(row.add(0, b"x\ny\n\nz"));
        assert_eq!((&row.line[..], &row.rest[0][..]), (&b"y"[..], &b"z"[..]));
        row.add(0, &[b'l'; 2 * LINE_BYTES_MAX]);
        assert_eq!(row.rest[0].len(), LINE_BYTES_MAX);
    }

    #[test]
    fn what_would_move_the_cursor_is_left_out() {
        let seen = |text: &str, columns| {
            let mut out = Vec::new();
            push_visible(text.as_bytes(), columns, &mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(seen("a\x1b[31mb\x1b[5Ac\x08\x1b]0;title\x07d", 80), "abcd");
        assert_eq!(seen("1\tx", 80), "1       x");
        assert_eq!(seen("abcdef", 4), "abcd");
        assert_eq!(seen("a漢b", 3), "a漢");
        assert_eq!(seen("\u{9b}5A", 9), "5A");
    }
}
