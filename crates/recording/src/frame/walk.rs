//! Decodes frames.

use super::{
    BlockState, EDIT_FOLLOWS, FRAME_HEADER_BYTES, ROWS_CHANGED, ROWS_FOLLOW, ROWS_MAX,
    TEXTS_FOLLOW, frame_header,
};
use crate::focus::Focus;
use crate::format::CELLS_MAX;
use crate::rows::read_edit;
use crate::state::{SourceState, TickState};
use varint::{Bytes, Corrupt, unzigzag};

/// Receives the parts of frames.
pub(crate) trait Visit {
    /// A frame begins.
    fn begin(&mut self) {}
    /// Whether it takes the parts of a source; without it they are only passed over.
    fn wants(&self, _source: usize) -> bool {
        true
    }
    /// The end of a table in this frame: 0 is the tick's, the sources' follow from 1 on.
    fn end(&mut self, _table: usize) {}
    /// A difference in the tick's row; called before any source of the frame.
    fn tick(&mut self, column: usize, difference: u64);
    /// A new slot.
    fn name(&mut self, source: usize, name: &[u8]);
    /// A new text.
    fn text(&mut self, source: usize, text: &[u8]);
    /// A reading's rows; its cells follow.
    fn rows(&mut self, source: usize, rows: &[u32], changed: bool);
    /// A cell that differs.
    fn cell(&mut self, source: usize, slot: usize, column: usize, difference: u64);
    /// A kernel text: the number of its path, the path if it is new, and the text if it changed.
    fn kernel_text(&mut self, path: usize, new: Option<&[u8]>, text: Option<&[u8]>);
}

/// Decodes the frames of one block in order, and passes their parts to a visitor.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    tick: TickState,
    columns: Vec<usize>,
    rows: Vec<Vec<u32>>,
    slots: Vec<usize>,
    paths: usize,
    cells: usize,
    /// Working memory: the previous rows, the rows that changed.
    old: Vec<u32>,
    changed: Vec<u32>,
}

impl Walker {
    /// For blocks of these sources.
    pub(crate) fn new(sources: &[SourceState]) -> Self {
        Walker {
            tick: TickState::new(sources.len()),
            columns: sources.iter().map(SourceState::columns).collect(),
            rows: vec![Vec::new(); sources.len()],
            slots: vec![0; sources.len()],
            paths: 0,
            cells: 0,
            old: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// Begins another block.
    pub(crate) fn clear(&mut self) {
        self.tick.clear();
        self.rows.iter_mut().for_each(Vec::clear);
        self.slots.fill(0);
        self.paths = 0;
        self.cells = 0;
    }

    /// Decodes all frames of a complete block.
    pub(crate) fn walk_all(
        &mut self,
        frames: &[u8],
        visit: &mut impl Visit,
    ) -> Result<(), Corrupt> {
        self.walk_some(frames, 0, usize::MAX, visit).map(|_| ())
    }

    /// Decodes frames of a block from `at` on, at least one and then at most `bytes` of them, and
    /// returns the position after them.  `at` 0 begins a new block.  A block must be decoded
    /// completely before the next one.
    pub(crate) fn walk_some(
        &mut self,
        frames: &[u8],
        mut at: usize,
        bytes: usize,
        visit: &mut impl Visit,
    ) -> Result<usize, Corrupt> {
        if at == 0 {
            self.clear();
        }
        let until = frames.len().min(at.saturating_add(bytes));
        while at < until {
            let rest = &frames[at..];
            let (length, _) = frame_header(rest).ok_or(Corrupt("a frame is damaged"))?;
            let end = FRAME_HEADER_BYTES + length;
            let payload = rest.get(FRAME_HEADER_BYTES..end).ok_or(Corrupt("a frame ends early"))?;
            self.walk(payload, visit)?;
            at += end;
        }
        Ok(at)
    }

    /// Decodes one frame's payload.  After an error neither the walker nor the visitor can be used
    /// for this block any more.
    pub(crate) fn walk(&mut self, payload: &[u8], visit: &mut impl Visit) -> Result<(), Corrupt> {
        visit.begin();
        let mut bytes = Bytes::new(payload);
        let tick = &mut self.tick.values;
        bytes.unpack(tick.len(), |column, difference| {
            tick[column] = tick[column].wrapping_add(unzigzag(difference));
            visit.tick(column, difference);
        })?;
        visit.end(0);
        for source in 0..self.columns.len() {
            if self.tick.has_table(source) {
                self.reading(source, &mut bytes, visit)?;
                visit.end(source + 1);
            }
        }
        if self.tick.has_texts() {
            self.texts(&mut bytes, visit)?;
        }
        if bytes.left() == 0 { Ok(()) } else { Err(Corrupt("a frame is too long")) }
    }

    fn reading(
        &mut self,
        source: usize,
        bytes: &mut Bytes<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Corrupt> {
        let flags = bytes.byte()?;
        if flags & ROWS_FOLLOW != 0 {
            self.new_rows(source, bytes, visit)?;
        }
        if flags & EDIT_FOLLOWS != 0 {
            self.edit_rows(source, bytes, visit)?;
        }
        let changed = flags & (ROWS_FOLLOW | EDIT_FOLLOWS) != 0;
        let is_wanted = visit.wants(source);
        if is_wanted {
            visit.rows(source, &self.rows[source], changed);
        }
        if flags & TEXTS_FOLLOW != 0 {
            for _ in 0..bytes.count()? {
                let text = bytes.prefixed()?;
                if is_wanted {
                    visit.text(source, text);
                }
            }
        }
        let (mut rows, columns) = (&self.rows[source], self.columns[source]);
        if flags & ROWS_CHANGED != 0 {
            self.changed.clear();
            let mut at = 0_usize;
            for _ in 0..bytes.count()? {
                at = at.saturating_add(usize::try_from(bytes.varint()?).unwrap_or(usize::MAX));
                let row = rows.get(at).ok_or(Corrupt("a row that changed is not there"))?;
                self.changed.push(*row);
            }
            rows = &self.changed;
        }
        if rows.len() > ROWS_MAX {
            return Err(Corrupt("a reading has too many rows"));
        }
        if !is_wanted {
            return bytes.unpack(rows.len() * columns, |_, _| {});
        }
        let (mut row, mut end) = (0, columns);
        bytes.unpack(rows.len() * columns, |index, difference| {
            while index >= end {
                row += 1;
                end += columns;
            }
            visit.cell(source, rows[row] as usize, index + columns - end, difference);
        })
    }

    fn edit_rows(
        &mut self,
        source: usize,
        bytes: &mut Bytes<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Corrupt> {
        let columns = self.columns[source];
        let (rows, next) = (&mut self.rows[source], &mut self.slots[source]);
        let most = ROWS_MAX.min(CELLS_MAX / columns.max(1));
        let mut cells = self.cells;
        read_edit(bytes, rows, &mut self.old, next, most, |bytes| {
            visit.name(source, bytes.prefixed()?);
            cells += columns;
            if cells > CELLS_MAX { Err(Corrupt("a block has too many instances")) } else { Ok(()) }
        })?;
        self.cells = cells;
        Ok(())
    }

    fn new_rows(
        &mut self,
        source: usize,
        bytes: &mut Bytes<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Corrupt> {
        let count = bytes.count()?;
        if count > ROWS_MAX || count * self.columns[source] > CELLS_MAX {
            return Err(Corrupt("a reading has too many rows"));
        }
        let rows = &mut self.rows[source];
        rows.clear();
        for _ in 0..count {
            let slot = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            if slot > self.slots[source] {
                return Err(Corrupt("a row has no instance"));
            }
            if slot == self.slots[source] {
                visit.name(source, bytes.prefixed()?);
                self.slots[source] += 1;
                self.cells += self.columns[source];
                if self.cells > CELLS_MAX {
                    return Err(Corrupt("a block has too many instances"));
                }
            }
            rows.push(slot as u32);
        }
        Ok(())
    }

    fn texts(&mut self, bytes: &mut Bytes<'_>, visit: &mut impl Visit) -> Result<(), Corrupt> {
        for _ in 0..bytes.count()? {
            let path = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            if path > self.paths {
                return Err(Corrupt("a kernel text has no path"));
            }
            let new = if path == self.paths { Some(bytes.prefixed()?) } else { None };
            self.paths += usize::from(new.is_some());
            let text = match bytes.varint()? {
                0 => None,
                length => {
                    let length = usize::try_from(length - 1).unwrap_or(usize::MAX);
                    Some(bytes.next_bytes(length)?)
                }
            };
            visit.kernel_text(path, new, text);
        }
        Ok(())
    }
}

/// The visitor that applies frames to a state, of the sources that a reader decodes.
pub(crate) struct FocusedReplay<'a> {
    pub(crate) replay: Replay<'a>,
    pub(crate) focus: &'a [Focus],
}

impl Visit for FocusedReplay<'_> {
    fn wants(&self, source: usize) -> bool {
        self.focus.get(source) != Some(&Focus::Nothing)
    }

    fn tick(&mut self, column: usize, difference: u64) {
        self.replay.tick(column, difference);
    }

    fn name(&mut self, source: usize, name: &[u8]) {
        if self.wants(source) {
            self.replay.name(source, name);
        }
    }

    fn text(&mut self, source: usize, text: &[u8]) {
        self.replay.text(source, text);
    }

    fn rows(&mut self, source: usize, rows: &[u32], changed: bool) {
        self.replay.rows(source, rows, changed);
    }

    #[inline]
    fn cell(&mut self, source: usize, slot: usize, column: usize, difference: u64) {
        self.replay.cell(source, slot, column, difference);
    }

    fn kernel_text(&mut self, path: usize, new: Option<&[u8]>, text: Option<&[u8]>) {
        self.replay.kernel_text(path, new, text);
    }
}

/// The visitor that applies frames to a state.
pub(crate) struct Replay<'a>(pub(crate) &'a mut BlockState);

impl Visit for Replay<'_> {
    fn tick(&mut self, column: usize, difference: u64) {
        let value = &mut self.0.tick.values[column];
        *value = value.wrapping_add(unzigzag(difference));
    }

    fn name(&mut self, source: usize, name: &[u8]) {
        self.0.sources[source].add_slot(name);
    }

    fn text(&mut self, source: usize, text: &[u8]) {
        self.0.sources[source].texts.push(text);
    }

    fn rows(&mut self, source: usize, rows: &[u32], changed: bool) {
        if changed {
            let own = &mut self.0.sources[source].rows;
            own.clear();
            own.extend_from_slice(rows);
        }
    }

    #[inline]
    fn cell(&mut self, source: usize, slot: usize, column: usize, difference: u64) {
        let source = &mut self.0.sources[source];
        let at = slot * source.columns() + column;
        let value = &mut source.values[at];
        *value = if column < source.words {
            *value ^ difference
        } else {
            value.wrapping_add(unzigzag(difference))
        };
    }

    fn kernel_text(&mut self, path: usize, new: Option<&[u8]>, text: Option<&[u8]>) {
        if let Some(path) = new {
            self.0.texts.push(path);
        }
        let known = &mut self.0.texts.all_mut()[path];
        known.fresh = true;
        if let Some(text) = text {
            known.text.clear();
            known.text.extend_from_slice(text);
        }
    }
}
