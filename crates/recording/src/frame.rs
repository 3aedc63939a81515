//! A frame: one sample as it reaches the file, by a single write.
//!
//! ```text
//! frame   = length (4), CRC (4), ordinal in the block (4), payload
//!           length counts the payload; the CRC covers file id (8), number of the block (4),
//!           ordinal (4), length (4), payload
//! payload = the tick's row, packed
//!           for each source whose state is "ok": reading
//!           if the tick's flags have bit 1: kernel texts
//! reading = byte: bit 0, rows follow; bit 1, texts follow
//!           [varint rows, for each: varint slot, and if it is the next new slot: string name]
//!           [varint texts, for each: string; they get the next numbers]
//!           the cells of all rows, packed
//! kernel texts = varint count, for each: varint path, and if it is the next new one: string;
//!           varint 0 for "as before", or 1 + length and so many bytes
//! ```
//!
//! A cell is told as its difference from the slot's last one in this block (0 before the first):
//! presence words by exclusive or, all others zigzagged.  A missing cell keeps its old value and
//! so costs nothing.  The first reading of a block is thereby a key: a block needs no other.
//!
//! Costs about a nanosecond a cell to write, most of which go away as zeros.

use sample::{Snapshot, Table};

use crate::format::{CELLS_MAX, FRAME_BYTES_MAX};
use crate::interner::Interner;
use crate::state::{SourceState, TickState};
use crate::varint::{Bytes, Corrupt, pack, put, put_bytes, unzigzag, zigzag};

/// Length, CRC and ordinal.
pub(crate) const FRAME_HEADER_BYTES: usize = 12;

/// Limit of the rows of a reading.
pub(crate) const ROWS_MAX: usize = 1 << 20;

const ROWS_FOLLOW: u8 = 1;
const TEXTS_FOLLOW: u8 = 2;

/// CRC of a frame, so that no other place's bytes pass for it.
fn frame_crc(file_id: u64, block: u32, ordinal: u32, payload: &[u8]) -> u32 {
    let length = payload.len() as u32;
    let mut seed = [0; 20];
    seed[..8].copy_from_slice(&file_id.to_le_bytes());
    seed[8..12].copy_from_slice(&block.to_le_bytes());
    seed[12..16].copy_from_slice(&ordinal.to_le_bytes());
    seed[16..].copy_from_slice(&length.to_le_bytes());
    crate::format::crc(&[&seed, payload])
}

/// Fills in the header of the frame that begins at `start` and ends with `out`.
pub(crate) fn seal(out: &mut [u8], start: usize, file_id: u64, block: u32, ordinal: u32) {
    let (header, payload) = out[start..].split_at_mut(FRAME_HEADER_BYTES);
    let crc = frame_crc(file_id, block, ordinal, payload);
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..8].copy_from_slice(&crc.to_le_bytes());
    header[8..].copy_from_slice(&ordinal.to_le_bytes());
}

/// Length and ordinal that a frame's header gives, if they can be.
pub(crate) fn frame_header(bytes: &[u8]) -> Option<(usize, u32)> {
    let header: &[u8; FRAME_HEADER_BYTES] = bytes.get(..FRAME_HEADER_BYTES)?.try_into().ok()?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = word(0) as usize;
    (length > 0 && length <= FRAME_BYTES_MAX).then(|| (length, word(8)))
}

/// The payload of the frame that `bytes` begin with, if it is the one expected, whole and sound.
pub(crate) fn open(bytes: &[u8], file_id: u64, block: u32, ordinal: u32) -> Option<&[u8]> {
    let (length, said) = frame_header(bytes)?;
    let payload = bytes.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length)?;
    let crc = frame_crc(file_id, block, ordinal, payload);
    (said == ordinal && bytes[4..8] == crc.to_le_bytes()).then_some(payload)
}

/// A kernel file's text at one tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelText {
    /// The file.
    pub(crate) path: Vec<u8>,
    /// Its latest text in this block.
    pub(crate) text: Vec<u8>,
    /// Whether the latest tick has it.
    pub(crate) fresh: bool,
}

/// Everything the open block has told: what the next frame differs from.
#[derive(Clone, Debug)]
pub(crate) struct BlockState {
    /// The tick's row.
    pub(crate) tick: TickState,
    /// The sources, in the feed's order.
    pub(crate) sources: Vec<SourceState>,
    /// Kernel texts, in the order of first appearance.
    pub(crate) texts: Vec<KernelText>,
}

impl BlockState {
    /// Forgets all, keeps the memory of the sources.
    pub(crate) fn clear(&mut self) {
        self.tick.clear();
        self.sources.iter_mut().for_each(SourceState::clear);
        self.texts.clear();
    }

    /// Cells of all slots.
    pub(crate) fn cells(&self) -> usize {
        self.sources.iter().map(SourceState::cells).sum()
    }
}

/// Writes frames.  Its working memory is apart from the state, which a reader has as well.
#[derive(Default)]
pub(crate) struct FrameEncoder {
    /// The tick's row before.
    before: Vec<u64>,
    /// Differences of a reading.
    differences: Vec<u64>,
    /// A row's values as they are told: missing ones as before, texts by their numbers.
    row: Vec<u64>,
    /// For each slot the reading that last used it, to tell twins apart.
    used: Vec<u32>,
    reading: u32,
}

impl FrameEncoder {
    /// Appends the payload of a snapshot's frame to `out` and makes it `state`.
    pub(crate) fn encode(
        &mut self,
        state: &mut BlockState,
        snapshot: &Snapshot,
        unwritten: u64,
        texts: &[(&[u8], &[u8])],
        out: &mut Vec<u8>,
    ) {
        self.before.clone_from(&state.tick.values);
        state.tick.take(snapshot, unwritten, !texts.is_empty());
        let pairs = self.before.iter().zip(&state.tick.values);
        self.differences.clear();
        self.differences.extend(pairs.map(|(&old, &new)| zigzag(new.wrapping_sub(old))));
        pack(out, &self.differences);
        for (index, sample) in snapshot.samples.iter().enumerate() {
            if state.tick.has_table(index) {
                self.reading(&mut state.sources[index], &sample.table, out);
            }
        }
        if !texts.is_empty() {
            encode_texts(&mut state.texts, texts, out);
        }
    }

    fn reading(&mut self, state: &mut SourceState, table: &Table, out: &mut Vec<u8>) {
        let flags_at = out.len();
        out.push(0);
        if !same_rows(state, table) {
            out[flags_at] |= ROWS_FOLLOW;
            self.rows(state, table, out);
        }
        let texts = state.texts.len();
        self.differences(state, table);
        if state.texts.len() > texts {
            out[flags_at] |= TEXTS_FOLLOW;
            put(out, (state.texts.len() - texts) as u64);
            for number in texts..state.texts.len() {
                put_bytes(out, state.texts.get(number).unwrap_or_default());
            }
        }
        pack(out, &self.differences);
    }

    /// Tells the rows of a table, giving new instances their slots.
    fn rows(&mut self, state: &mut SourceState, table: &Table, out: &mut Vec<u8>) {
        self.reading = self.reading.wrapping_add(1).max(1);
        self.used.clear();
        self.used.resize(state.names.len() + table.rows(), 0);
        state.rows.clear();
        put(out, table.rows() as u64);
        for row in 0..table.rows() {
            let name = table.name(row);
            let found = state.names.find(name, |slot| self.used[slot] != self.reading);
            let slot = found.unwrap_or_else(|| state.add_slot(name));
            self.used[slot] = self.reading;
            state.rows.push(slot as u32);
            put(out, slot as u64);
            if found.is_none() {
                put_bytes(out, name);
            }
        }
    }

    /// Takes the differences of a reading and makes it the latest.
    fn differences(&mut self, state: &mut SourceState, table: &Table) {
        let (words, width, columns) = (state.words, state.width, state.columns());
        self.differences.clear();
        self.differences.resize(table.rows() * columns, 0);
        let values = table.values().chunks_exact(width.max(1));
        let presence = table.presence().chunks_exact(words.max(1));
        let differences = self.differences.chunks_exact_mut(columns.max(1));
        let rows = state.rows.iter().zip(values).zip(presence).zip(differences).enumerate();
        for (row, (((&slot, values), present), out)) in rows {
            let last = &mut state.values[slot as usize * columns..][..columns];
            let (last_present, last_values) = last.split_at_mut(words);
            let (out_present, out_values) = out.split_at_mut(words);
            for ((out, last), &now) in out_present.iter_mut().zip(last_present).zip(present) {
                *out = now ^ *last;
                *last = now;
            }
            self.row.clear();
            self.row.extend_from_slice(values);
            for field in missing(present, width) {
                self.row[field] = last_values[field];
            }
            for &field in &state.text_fields {
                if let Some(text) = table.text(row, field) {
                    self.row[field] = text_number(&mut state.texts, last_values[field], text);
                }
            }
            for ((out, last), &now) in out_values.iter_mut().zip(last_values).zip(&self.row) {
                *out = zigzag(now.wrapping_sub(*last));
                *last = now;
            }
        }
    }
}

/// The number of a text cell, which most often is the one it had before.
fn text_number(texts: &mut Interner, last: u64, text: &[u8]) -> u64 {
    if texts.get(last as usize) == Some(text) {
        return last;
    }
    let found = texts.find(text, |_| true);
    found.unwrap_or_else(|| texts.push(text)) as u64
}

/// The fields of a row that are not there.
fn missing(present: &[u64], width: usize) -> impl Iterator<Item = usize> {
    present.iter().enumerate().flat_map(move |(word, &bits)| {
        let fields = (width - word * 64).min(64);
        let mut missing = !bits & (u64::MAX >> (64 - fields));
        std::iter::from_fn(move || {
            let bit = missing.trailing_zeros() as usize;
            missing &= missing.wrapping_sub(1);
            (bit < 64).then_some(word * 64 + bit)
        })
    })
}

/// Whether the table has the instances of the reading before, in the same order.
fn same_rows(state: &SourceState, table: &Table) -> bool {
    let same =
        |(row, &slot): (usize, &u32)| state.names.get(slot as usize) == Some(table.name(row));
    state.rows.len() == table.rows() && state.rows.iter().enumerate().all(same)
}

fn encode_texts(known: &mut Vec<KernelText>, texts: &[(&[u8], &[u8])], out: &mut Vec<u8>) {
    put(out, texts.len() as u64);
    for &(path, text) in texts {
        let found = known.iter().position(|known| known.path == path);
        put(out, found.unwrap_or(known.len()) as u64);
        let place = found.unwrap_or_else(|| {
            put_bytes(out, path);
            known.push(KernelText { path: path.to_vec(), ..KernelText::default() });
            known.len() - 1
        });
        let known = &mut known[place];
        if found.is_some() && known.text == text {
            put(out, 0);
            continue;
        }
        put(out, 1 + text.len() as u64);
        out.extend_from_slice(text);
        known.text.clear();
        known.text.extend_from_slice(text);
    }
}

/// What to do with the parts of a frame.
pub(crate) trait Visit {
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
    /// A kernel text: which path (the next number is a new one), and what it is now if it changed.
    fn kernel_text(&mut self, path: usize, new: Option<&[u8]>, text: Option<&[u8]>);
}

/// Reads frames of one block, in order, and hands out what they say.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    tick: TickState,
    columns: Vec<usize>,
    rows: Vec<Vec<u32>>,
    slots: Vec<usize>,
    paths: usize,
    cells: usize,
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

    /// Reads one frame's payload.  After an error neither the walker nor the visitor is of use
    /// for this block.
    pub(crate) fn walk(&mut self, payload: &[u8], visit: &mut impl Visit) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(payload);
        let tick = &mut self.tick.values;
        bytes.unpack(tick.len(), |column, difference| {
            tick[column] = tick[column].wrapping_add(unzigzag(difference));
            visit.tick(column, difference);
        })?;
        for source in 0..self.columns.len() {
            if self.tick.has_table(source) {
                self.reading(source, &mut bytes, visit)?;
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
        visit.rows(source, &self.rows[source], flags & ROWS_FOLLOW != 0);
        if flags & TEXTS_FOLLOW != 0 {
            for _ in 0..bytes.count()? {
                visit.text(source, bytes.prefixed()?);
            }
        }
        let (rows, columns) = (&self.rows[source], self.columns[source]);
        let (mut row, mut end) = (0, columns);
        bytes.unpack(rows.len() * columns, |index, difference| {
            while index >= end {
                row += 1;
                end += columns;
            }
            visit.cell(source, rows[row] as usize, index + columns - end, difference);
        })
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
                    Some(bytes.take(length)?)
                }
            };
            visit.kernel_text(path, new, text);
        }
        Ok(())
    }
}

/// The visitor that makes frames the state they came from.
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
            self.0.texts.push(KernelText { path: path.to_vec(), ..KernelText::default() });
        }
        let known = &mut self.0.texts[path];
        known.fresh = true;
        if let Some(text) = text {
            known.text.clear();
            known.text.extend_from_slice(text);
        }
    }
}
