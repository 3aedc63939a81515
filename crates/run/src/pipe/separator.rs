//! Where one record ends and the next begins.
//!
//! A split is a position between two records.  If both an end and a start are given, the end must
//! come just before it and the start just after it.

use memchr::{memchr, memchr_iter, memmem, memrchr};
use regex::bytes::{Captures, Regex};

use super::{PipeError, PipeOptions};
use crate::input::bytes_pattern;

/// What separates records.
#[derive(Clone, Debug)]
pub(super) enum Separator {
    /// Nothing: every byte is a record.
    Anywhere,
    /// A text, whose first `end` bytes belong to the record before.
    Text {
        text: Vec<u8>,
        end: usize,
    },
    /// This many newlines.
    Lines(u64),
    /// A newline outside quotes.
    Csv,
    Pattern(Box<Pattern>),
}

/// Regular expressions; a group `next` is the start of the record after the split.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    split: Regex,
    /// The start alone, to match at the beginning of a record.
    start: Option<Regex>,
    /// The end alone, to match at the end of the last record.
    end: Option<Regex>,
}

impl Separator {
    pub(super) fn new(options: &PipeOptions) -> Result<Separator, PipeError> {
        if let Some(lines) = options.record_lines.filter(|lines| *lines > 0) {
            return Ok(Separator::Lines(lines));
        }
        if options.csv {
            return Ok(Separator::Csv);
        }
        Separator::of_records(options)
    }

    /// The separator of `--recstart` and `--recend`, even if lines are counted: `--rrs` removes it.
    pub(super) fn of_records(options: &PipeOptions) -> Result<Separator, PipeError> {
        let neither = options.record_start.is_none() && options.record_end.is_none();
        let start = options.record_start.clone().unwrap_or_default();
        let end = match &options.record_end {
            _ if neither => b"\n".to_vec(),
            given => given.clone().unwrap_or_default(),
        };
        if start.is_empty() && end.is_empty() {
            return Ok(Separator::Anywhere);
        }
        if options.regexp {
            return Pattern::new(&start, &end).map(|it| Separator::Pattern(Box::new(it)));
        }
        let length = end.len();
        Ok(Separator::Text { text: [end, start].concat(), end: length })
    }

    /// The last split in `bytes`, which begins with a record; never 0.
    pub(super) fn last(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Separator::Anywhere => Some(bytes.len()),
            Separator::Text { text, end } => last_text(bytes, text, *end),
            Separator::Lines(lines) => {
                let count = memchr_iter(b'\n', bytes).count() as u64;
                let mut surplus = count % lines;
                if count < *lines {
                    return None;
                }
                let mut end = memrchr(b'\n', bytes)?;
                while surplus > 0 {
                    end = memrchr(b'\n', &bytes[..end])?;
                    surplus -= 1;
                }
                Some(end + 1)
            }
            Separator::Csv => last_csv(bytes),
            Separator::Pattern(pattern) => pattern.last(bytes),
        }
    }

    /// The split after `count` records of `bytes`, which begins with a record.  `whole` says that
    /// nothing follows or that no more can be waited for; otherwise a pattern that matches up to
    /// the end might match more.
    pub(super) fn after(&self, bytes: &[u8], count: u64, whole: bool) -> Option<usize> {
        match self {
            Separator::Anywhere => usize::try_from(count).ok().filter(|at| *at <= bytes.len()),
            Separator::Text { text, end } => after_text(bytes, text, *end, count),
            Separator::Lines(lines) => after_text(bytes, b"\n", 1, lines.saturating_mul(count)),
            Separator::Csv => after_csv(bytes, count),
            Separator::Pattern(pattern) => pattern.after(bytes, count, whole),
        }
    }

    /// Whether `bytes` begin with a whole record, as far as a pattern can tell.
    pub(super) fn is_start(&self, bytes: &[u8]) -> bool {
        match self {
            Separator::Pattern(pattern) => {
                pattern.start.as_ref().is_none_or(|start| start.is_match(bytes))
            }
            _ => true,
        }
    }

    /// The first split at or after `from` in `bytes`, which may begin inside a record.  If there is
    /// none, returns how many bytes at the beginning need not be searched again.
    pub(super) fn first(&self, bytes: &[u8], from: usize, whole: bool) -> Result<usize, usize> {
        match self {
            Separator::Anywhere => Ok(from),
            Separator::Text { text, end } => match find(&bytes[from..], text) {
                Some(at) => Ok(from + at + end),
                None => Err((bytes.len() + 1).saturating_sub(text.len()).max(from)),
            },
            // Not allowed for files.
            Separator::Lines(_) | Separator::Csv => Err(bytes.len()),
            Separator::Pattern(pattern) => match pattern.split.captures_at(bytes, from) {
                Some(found) if whole || end_of(&found) < bytes.len() => Ok(split_of(&found)),
                _ => Err(0),
            },
        }
    }

    /// Removes the separators from whole records (`--rrs`).
    pub(super) fn remove(&self, bytes: &mut Vec<u8>) {
        match self {
            Separator::Text { text, end } => remove_text(bytes, text, *end),
            Separator::Anywhere | Separator::Lines(_) | Separator::Csv => {}
            Separator::Pattern(pattern) => *bytes = pattern.without(bytes),
        }
    }
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    match *text {
        [byte] => memchr(byte, bytes),
        _ => memmem::find(bytes, text),
    }
}

fn last_text(bytes: &[u8], text: &[u8], end: usize) -> Option<usize> {
    let at = match *text {
        [byte] => memrchr(byte, bytes)?,
        _ => memmem::rfind(bytes, text)?,
    };
    // A start at the very beginning is that of the first record.
    (at + end > 0).then_some(at + end)
}

fn after_text(bytes: &[u8], text: &[u8], end: usize, count: u64) -> Option<usize> {
    if let ([byte], 1) = (text, end) {
        let nth = usize::try_from(count.checked_sub(1)?).ok()?;
        return memchr_iter(*byte, bytes).nth(nth).map(|at| at + 1);
    }
    let start = &text[end..];
    let mut from = if bytes.starts_with(start) { start.len() } else { 0 };
    let finder = memmem::Finder::new(text);
    for left in (0..count).rev() {
        let at = from + finder.find(&bytes[from..])?;
        if left == 0 {
            return Some(at + end);
        }
        from = at + text.len();
    }
    None
}

/// The records begin outside quotes; walking from the end, a newline counts when the number of
/// quotes before it is even.
fn last_csv(bytes: &[u8]) -> Option<usize> {
    let mut open = !memchr_iter(b'"', bytes).count().is_multiple_of(2);
    for at in memchr::memchr2_iter(b'"', b'\n', bytes).rev() {
        match bytes[at] {
            b'"' => open = !open,
            _ if !open => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn after_csv(bytes: &[u8], count: u64) -> Option<usize> {
    let (mut open, mut seen) = (false, 0);
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if bytes[at] == b'"' {
            open = !open;
        } else if !open {
            seen += 1;
            if seen == count {
                return Some(at + 1);
            }
        }
    }
    None
}

/// Removes a start at the beginning, an end at the end, and every end followed by a start.
fn remove_text(bytes: &mut Vec<u8>, text: &[u8], end: usize) {
    let (end_text, start_text) = text.split_at(end);
    if !end_text.is_empty() && bytes.ends_with(end_text) {
        bytes.truncate(bytes.len() - end_text.len());
    }
    let mut read = if bytes.starts_with(start_text) { start_text.len() } else { 0 };
    let mut written = 0;
    loop {
        let found = find(&bytes[read..], text);
        let stop = found.map_or(bytes.len(), |at| read + at);
        bytes.copy_within(read..stop, written);
        written += stop - read;
        if found.is_none() {
            break;
        }
        read = stop + text.len();
    }
    bytes.truncate(written);
}

impl Pattern {
    fn new(start: &[u8], end: &[u8]) -> Result<Pattern, PipeError> {
        let compile = |text: &[u8], option: &'static str| {
            bytes_pattern(&[b"(?m)", text].concat()).map_err(|error| PipeError::Pattern {
                pattern: String::from_utf8_lossy(text).into_owned(),
                option,
                error,
            })
        };
        // Each by itself first, so that an error shows what the user wrote.
        compile(start, "--recstart")?;
        compile(end, "--recend")?;
        let split = match (start.is_empty(), end.is_empty()) {
            (true, _) => [b"(?:", end, b")"].concat(),
            (_, true) => [b"(?P<next>", start, b")"].concat(),
            _ => [b"(?:", end, b")(?P<next>", start, b")"].concat(),
        };
        let alone = |text: &[u8], before: &[u8], after: &[u8], option| {
            let text = [before, text, after].concat();
            (text.len() > before.len() + after.len()).then(|| compile(&text, option)).transpose()
        };
        Ok(Pattern {
            split: compile(&split, "--recend")?,
            start: alone(start, b"\\A(?:", b")", "--recstart")?,
            end: alone(end, b"(?:", b")\\z", "--recend")?,
        })
    }

    /// The last split: the text is searched from its end in growing pieces.
    fn last(&self, bytes: &[u8]) -> Option<usize> {
        /// Where a search begins, from the end; most records are shorter.
        const PIECE_BYTES: usize = 4096;
        let mut piece = PIECE_BYTES;
        loop {
            let from = bytes.len().saturating_sub(piece);
            let mut at = from;
            let mut last = None;
            while let Some(found) = self.split.captures_at(bytes, at) {
                last = Some(split_of(&found)).filter(|split| *split > 0).or(last);
                // Matches may overlap: the last one counts.
                at = found.get(0).map_or(bytes.len(), |all| all.start()) + 1;
                if at > bytes.len() {
                    break;
                }
            }
            if last.is_some() || from == 0 {
                return last;
            }
            piece = piece.saturating_mul(4);
        }
    }

    fn after(&self, bytes: &[u8], count: u64, whole: bool) -> Option<usize> {
        let mut from =
            self.start.as_ref().and_then(|start| start.find(bytes)).map_or(0, |it| it.end());
        let mut seen = 0;
        while from <= bytes.len() {
            let found = self.split.captures_at(bytes, from)?;
            let (split, end) = (split_of(&found), end_of(&found));
            if end == bytes.len() && !whole {
                return None;
            }
            if split > 0 {
                seen += 1;
                if seen == count {
                    return Some(split);
                }
            }
            from = end.max(from + 1);
        }
        None
    }

    fn without(&self, bytes: &[u8]) -> Vec<u8> {
        let mut rest = bytes;
        if let Some(end) = self.end.as_ref().and_then(|end| end.find(rest)) {
            rest = &rest[..end.start()];
        }
        if let Some(start) = self.start.as_ref().and_then(|start| start.find(rest)) {
            rest = &rest[start.end()..];
        }
        self.split.replace_all(rest, &b""[..]).into_owned()
    }
}

/// Where a match splits: before the start of the next record, or at its end.
fn split_of(found: &Captures<'_>) -> usize {
    found.name("next").map_or_else(|| end_of(found), |next| next.start())
}

fn end_of(found: &Captures<'_>) -> usize {
    found.get(0).map_or(0, |all| all.end())
}
