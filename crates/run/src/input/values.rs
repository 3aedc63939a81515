//! The values of one source, ready for records: joined, filtered, split into columns.

use super::columns::{Cut, is_space, quotes_open};
use super::lines::{Lines, VALUE_BYTES_MAX};
use super::{InputError, InputOptions};

/// The columns of one value; a single one if it is not split.
pub(super) type Cells = Vec<Vec<u8>>;

/// Most memory of values that are used more than once: those of a product's later sources, of
/// linked sources that start again, and of all values when they are shuffled.  It holds about ten
/// million short values.
pub(super) const KEPT_BYTES_MAX: usize = 1 << 30;

/// State that all sources share.
pub(super) struct Reading {
    /// The open sources, by number.
    pub(super) lines: Vec<Lines>,
    /// How values are split.
    pub(super) cut: Cut,
    /// Bytes of the values that are kept.
    kept_bytes: usize,
    /// Whether a NUL was replaced.
    pub(super) had_nul: bool,
}

impl Reading {
    pub(super) fn new(lines: Vec<Lines>, cut: Cut) -> Reading {
        Reading { lines, cut, kept_bytes: 0, had_nul: false }
    }

    /// Counts a value that is kept against the limit.
    pub(super) fn keep(&mut self, cells: &Cells) -> Result<(), InputError> {
        // Each value and their list are a heap block with its header and a `Vec`.
        const OVERHEAD_BYTES: usize = 16 + size_of::<Vec<u8>>();
        let bytes = cells.iter().map(|cell| cell.len() + OVERHEAD_BYTES).sum::<usize>();
        self.kept_bytes += bytes + OVERHEAD_BYTES;
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(InputError::TooMuch { limit: KEPT_BYTES_MAX });
        }
        Ok(())
    }
}

/// One source.
pub(super) struct Values {
    /// The index of its [`Lines`]: several sources may share standard input and take turns.
    lines: usize,
    end_of_file: Option<Vec<u8>>,
    continued: bool,
    drop_blank: bool,
    /// The beginning of a value that is continued in the next line.
    begun: Option<Vec<u8>>,
    /// Whether a quote is open at its end.
    quote_open: bool,
    ended: bool,
    /// Whether it has given any value.
    gave: bool,
    /// Whether that was an empty value because there was none.
    filled: bool,
}

impl Values {
    pub(super) fn new(lines: usize, options: &InputOptions) -> Values {
        Values {
            lines,
            end_of_file: options.end_of_file.clone().filter(|text| !text.is_empty()),
            continued: options.continued,
            drop_blank: options.no_run_if_empty,
            begun: None,
            quote_open: false,
            ended: false,
            gave: false,
            filled: false,
        }
    }

    /// Whether at most one value is to come, as far as that is known without reading.
    pub(super) fn at_most_one(&self, reading: &Reading) -> bool {
        self.ended || reading.lines[self.lines].at_most_one()
    }

    /// Whether a real value was given.
    pub(super) fn has_given(&self) -> bool {
        self.gave && !self.filled
    }

    /// Reads the first line as the names of the columns.
    pub(super) fn header(&mut self, reading: &mut Reading) -> Result<Cells, InputError> {
        let lines = &mut reading.lines[self.lines];
        let Some(mut line) = lines.next()? else { return Ok(Cells::new()) };
        if line.ends_with(b"\r") {
            line.pop();
        }
        let shown = shown(&line);
        reading.cut.names(line).map_err(|reason| InputError::Csv {
            name: lines.name().to_owned(),
            line: shown,
            reason,
        })
    }

    /// Skips one line.
    pub(super) fn skip_line(&mut self, reading: &mut Reading) -> Result<(), InputError> {
        reading.lines[self.lines].next().map(drop)
    }

    /// The columns of the next value; `None` at the end.
    pub(super) fn next(&mut self, reading: &mut Reading) -> Result<Option<Cells>, InputError> {
        let (lines, cut) = (&mut reading.lines[self.lines], &reading.cut);
        while let Some(mut value) = self.next_whole(lines, cut.is_csv())? {
            if self.drop_blank && value.iter().all(is_space) {
                continue;
            }
            if memchr::memchr(0, &value).is_some() {
                reading.had_nul = true;
                value = without_nul(&value);
            }
            // Kept for a message before the value is moved; only CSV can be invalid.
            let shown = cut.is_csv().then(|| shown(&value));
            let columns = cut.columns(value).map_err(|reason| {
                let line = shown.unwrap_or_default();
                InputError::Csv { name: lines.name().to_owned(), line, reason }
            })?;
            self.gave = true;
            return Ok(Some(columns));
        }
        Ok(None)
    }

    /// As [`Values::next`], but a source without any value gives one empty value, since a product
    /// with an empty source would be empty.
    pub(super) fn next_or_empty(
        &mut self,
        reading: &mut Reading,
    ) -> Result<Option<Cells>, InputError> {
        let cells = self.next(reading)?;
        if cells.is_none() && !self.gave {
            self.gave = true;
            self.filled = true;
            return Ok(Some(vec![Vec::new()]));
        }
        Ok(cells)
    }

    /// The next value, with the lines that continue it.
    fn next_whole(&mut self, lines: &mut Lines, csv: bool) -> Result<Option<Vec<u8>>, InputError> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let line = lines.next()?;
            let Some(line) = line.filter(|line| Some(line) != self.end_of_file.as_ref()) else {
                self.ended = true;
                return Ok(self.begun.take());
            };
            // Only the new line is searched: a quote may stay open over millions of lines.
            let was_open = self.quote_open;
            self.quote_open = csv && (was_open != quotes_open(&line));
            let value = match self.begun.take() {
                None => line,
                Some(mut begun) => {
                    // A quoted field contains the delimiter; a continued line does not.
                    if was_open {
                        begun.extend_from_slice(lines.delimiter());
                    }
                    begun.extend_from_slice(&line);
                    begun
                }
            };
            if value.len() > VALUE_BYTES_MAX {
                self.ended = true;
                let name = lines.name().to_owned();
                return Err(InputError::TooLong { name, limit: VALUE_BYTES_MAX });
            }
            let goes_on = self.quote_open || (self.continued && value.last().is_some_and(is_space));
            if !goes_on {
                return Ok(Some(value));
            }
            self.begun = Some(value);
        }
    }
}

/// Writes NUL as `\0`, because no argument can contain it.
fn without_nul(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() + 8);
    for &byte in value {
        if byte == 0 {
            text.extend_from_slice(b"\\0");
        } else {
            text.push(byte);
        }
    }
    text
}

/// The beginning of a value for a message.
pub(super) fn shown(value: &[u8]) -> String {
    /// Bytes shown: enough to find the value in its source.
    const SHOWN_BYTES: usize = 60;
    let mut text = String::from_utf8_lossy(&value[..value.len().min(SHOWN_BYTES)]).into_owned();
    if value.len() > SHOWN_BYTES {
        text.push('…');
    }
    text
}
