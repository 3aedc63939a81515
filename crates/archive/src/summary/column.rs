//! The columns of a field in a segment: for each instance its windows, one after the other.

use recording::{Corrupt, put, put_bytes, zigzag};
use sample::Interner;

use super::cell::{Before, Cell, Coding, Expected, MISSING, SAME};
use super::streams::{Numbers, STREAMS, Stream, Streams};

/// A field being written.
#[derive(Debug)]
pub(super) struct FieldColumns {
    coding: Coding,
    columns: Vec<Column>,
    texts: Interner,
}

#[derive(Clone, Debug, Default)]
struct Column {
    out: Numbers,
    /// Windows like the one before, or without a value, that are not written yet.
    run: u64,
    is_missing: bool,
    before: Before,
}

/// A field of a segment as it is stored.
#[derive(Debug)]
pub(super) enum FieldBytes {
    /// No column changes in any window.
    Same,
    /// No column has a value.
    Missing,
    Columns(Box<[Vec<u8>; STREAMS]>),
}

impl Column {
    fn wait(&mut self, is_missing: bool) {
        if self.is_missing != is_missing {
            self.flush();
            self.is_missing = is_missing;
        }
        self.run += 1;
    }

    fn flush(&mut self) {
        if self.run > 0 {
            let kind = if self.is_missing { MISSING } else { SAME };
            self.out.put(Stream::Tokens, self.run << 2 | kind);
            self.run = 0;
        }
    }
}

impl FieldColumns {
    pub(super) fn new(coding: Coding) -> Self {
        FieldColumns { coding, columns: Vec::new(), texts: Interner::default() }
    }

    fn column(&mut self, slot: usize) -> &mut Column {
        if self.columns.len() <= slot {
            self.columns.resize_with(slot + 1, Column::default);
        }
        &mut self.columns[slot]
    }

    /// Adds the next window that has the instance.
    pub(super) fn push(&mut self, slot: usize, cell: Option<&Cell>, expected: &Expected) {
        let coding = self.coding;
        let column = self.column(slot);
        if coding.is_same(cell, expected, column.before.level) {
            return column.wait(false);
        }
        let Some(cell) = cell else { return column.wait(true) };
        column.flush();
        coding.write(cell, expected, &mut column.before, &mut column.out);
    }

    /// Adds the next window that has the instance, with its latest text.
    pub(super) fn push_text(&mut self, slot: usize, text: Option<&[u8]>) {
        let number = text.map_or(0, |text| {
            let known = self.texts.find(text, |_| true);
            1 + known.unwrap_or_else(|| self.texts.push(text)) as u64
        });
        let column = self.column(slot);
        if number == column.before.level {
            return column.wait(false);
        }
        column.flush();
        column.out.put(Stream::Tokens, number << 2 | MISSING);
        column.before.level = number;
    }

    pub(super) fn finish(mut self, slots: usize) -> FieldBytes {
        self.columns.resize_with(slots, Column::default);
        let is_plain = |column: &Column| column.out.is_empty();
        let is = |missing: bool| move |c: &Column| c.run == 0 || c.is_missing == missing;
        if self.columns.iter().all(is_plain) {
            if self.columns.iter().all(is(false)) {
                return FieldBytes::Same;
            }
            if self.columns.iter().all(is(true)) {
                return FieldBytes::Missing;
            }
        }
        let mut streams: Box<[Vec<u8>; STREAMS]> = Box::default();
        if self.coding == Coding::Text {
            let out = &mut streams[Stream::Texts as usize];
            put(out, self.texts.len() as u64);
            for text in 0..self.texts.len() {
                put_bytes(out, self.texts.get(text).unwrap_or_default());
            }
        }
        let mut first = 0;
        for mut column in self.columns {
            column.flush();
            column.out.divide(&mut streams);
            if column.before.has_level {
                let apart = zigzag(column.before.first.wrapping_sub(first));
                put(&mut streams[Stream::Firsts as usize], apart);
                first = column.before.first;
            }
        }
        FieldBytes::Columns(streams)
    }
}

/// A field being read: its instances, one after the other.
#[derive(Debug)]
pub(super) struct FieldReader<'a> {
    coding: Coding,
    stored: Stored<'a>,
    texts: Vec<&'a [u8]>,
    run: u64,
    is_missing: bool,
    before: Before,
}

#[derive(Debug)]
enum Stored<'a> {
    Same,
    Missing,
    Columns(Box<Streams<'a>>),
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(coding: Coding, stored: &'a FieldBytes) -> Result<Self, Corrupt> {
        let mut texts = Vec::new();
        let stored = match stored {
            FieldBytes::Same => Stored::Same,
            FieldBytes::Missing => Stored::Missing,
            FieldBytes::Columns(streams) => {
                let mut streams = Streams::new(streams);
                if coding == Coding::Text {
                    let bytes = streams.of(Stream::Texts);
                    for _ in 0..bytes.count()? {
                        texts.push(bytes.prefixed()?);
                    }
                }
                Stored::Columns(Box::new(streams))
            }
        };
        let before = Before::default();
        Ok(FieldReader { coding, stored, texts, run: 0, is_missing: false, before })
    }

    /// Begins the next instance.
    pub(super) fn begin(&mut self) {
        (self.run, self.is_missing) = (0, false);
        self.before.begin();
    }

    /// The token of the next window, if it is not one of a run.
    fn token(&mut self) -> Result<Option<u64>, Corrupt> {
        let streams = match &mut self.stored {
            Stored::Columns(streams) => streams,
            Stored::Same => return Ok(None),
            Stored::Missing => {
                self.is_missing = true;
                return Ok(None);
            }
        };
        if self.run == 0 {
            let token = streams.next(Stream::Tokens)?;
            let is_run = match self.coding {
                Coding::Text => token & 3 == SAME,
                _ => matches!(token & 3, SAME | MISSING),
            };
            if !is_run {
                return Ok(Some(token));
            }
            (self.run, self.is_missing) = (token >> 2, token & 3 == MISSING);
        }
        self.run = self.run.checked_sub(1).ok_or(Corrupt("a run is empty"))?;
        Ok(None)
    }

    /// The next window of the instance.
    pub(super) fn next(&mut self, expected: &Expected) -> Result<Option<Cell>, Corrupt> {
        let Some(token) = self.token()? else {
            let same = || self.coding.same(expected, self.before.level);
            return Ok(if self.is_missing { None } else { same() });
        };
        let Stored::Columns(streams) = &mut self.stored else { return Ok(None) };
        self.coding.read(token, expected, &mut self.before, streams).map(Some)
    }

    /// The text of the next window of the instance.
    pub(super) fn next_text(&mut self) -> Result<Option<&'a [u8]>, Corrupt> {
        if let Some(token) = self.token()? {
            self.before.level = token >> 2;
        }
        let Some(number) = self.before.level.checked_sub(1) else { return Ok(None) };
        let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number));
        text.copied().map(Some).ok_or(Corrupt("a text is not there"))
    }
}
