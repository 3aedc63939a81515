//! From a body back to samples, one after the other.
//!
//! Values are not laid out beforehand: each column that changes keeps its place in its stream,
//! so that a block takes memory by its instances and its bytes, not by the product of its samples
//! and its columns, whatever a damaged or hostile file claims.

use super::{
    CONSTANT, DIFFERENCES, FROM_FIRST, PART_COLUMNS, PART_TEXTS, SECOND_DIFFERENCES, SPARSE,
};
use crate::compression;
use crate::format::{BLOCK_SAMPLES_MAX, BODY_BYTES_MAX, CELLS_MAX};
use crate::frame::{BlockState, KernelText, ROWS_MAX};
use crate::varint::{Bytes, Corrupt, unzigzag};
use zstd::bulk::Decompressor;

/// A column that changes.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Which cell of the slot's table.
    cell: usize,
    coding: u8,
    is_presence: bool,
    /// Where its next varint is.
    at: usize,
    /// First value, or the difference before, as the coding needs.
    base: u64,
    /// Sparse: steps left that are not 0.
    left: u64,
    /// Sparse: zeros before the next of them.
    zeros: u64,
}

impl Stream {
    /// Takes the next step.
    #[inline]
    fn step(&mut self, plain: &[u8], value: &mut u64) -> Result<(), Corrupt> {
        if self.coding == SPARSE {
            if self.left == 0 {
                return Ok(());
            }
            if self.zeros > 0 {
                self.zeros -= 1;
                return Ok(());
            }
        }
        let mut bytes = Bytes::at(plain, self.at);
        let read = bytes.varint()?;
        match self.coding {
            _ if self.is_presence => *value ^= read,
            SECOND_DIFFERENCES => {
                self.base = self.base.wrapping_add(unzigzag(read));
                *value = value.wrapping_add(self.base);
            }
            FROM_FIRST => *value = self.base.wrapping_add(unzigzag(read)),
            _ => *value = value.wrapping_add(unzigzag(read)),
        }
        if self.coding == SPARSE {
            self.left -= 1;
            self.zeros = if self.left > 0 { bytes.varint()? } else { 0 };
        }
        self.at = bytes.position();
        Ok(())
    }
}

/// A table being replayed.
#[derive(Clone, Debug, Default)]
struct TableReplay {
    /// The streams, slot by slot.
    streams: Vec<Stream>,
    /// For each slot where its streams begin, and where the last one's end.
    starts: Vec<usize>,
    /// For each slot the readings that list it, counted down when replayed.
    listed: Vec<u32>,
    /// For each slot whether its first value has been told.
    begun: Vec<bool>,
    readings: u32,
    /// Readings replayed.
    done: u32,
    /// Where the next change of rows stands, how many there are, and at which reading it is.
    change_at: usize,
    changes_left: usize,
    change_reading: u64,
}

impl TableReplay {
    fn clear(&mut self) {
        self.streams.clear();
        self.starts.clear();
        self.listed.clear();
        self.begun.clear();
        (self.readings, self.done) = (0, 0);
        (self.change_at, self.changes_left, self.change_reading) = (0, 0, 0);
    }

    /// Moves one slot to its next value.
    #[inline]
    fn advance(&mut self, plain: &[u8], slot: usize, values: &mut [u64]) -> Result<(), Corrupt> {
        if !self.begun[slot] {
            self.begun[slot] = true;
            return Ok(());
        }
        for stream in &mut self.streams[self.starts[slot]..self.starts[slot + 1]] {
            stream.step(plain, &mut values[stream.cell])?;
        }
        Ok(())
    }
}

/// A body being replayed.
#[derive(Default)]
pub(crate) struct BlockReplay {
    plain: Vec<u8>,
    texts_plain: Vec<u8>,
    /// The tick's table, then the sources'.
    tables: Vec<TableReplay>,
    texts: Vec<TextReplay>,
    samples: u32,
    done: u32,
}

/// The texts of one kernel file, being replayed.
#[derive(Clone, Debug, Default)]
struct TextReplay {
    index_at: usize,
    left: u64,
    sample: u64,
    bytes_at: usize,
}

impl BlockReplay {
    /// Begins to replay a body into `state`, which is cleared.
    pub(crate) fn begin(
        &mut self,
        body: &[u8],
        decompressor: &mut Decompressor<'static>,
        state: &mut BlockState,
    ) -> Result<(), Corrupt> {
        state.clear();
        self.plain.clear();
        self.texts_plain.clear();
        self.tables.resize_with(state.sources.len() + 1, TableReplay::default);
        self.tables.iter_mut().for_each(TableReplay::clear);
        self.texts.clear();
        (self.samples, self.done) = (0, 0);
        let mut bytes = Bytes::new(body);
        while bytes.left() > 0 {
            let (kind, code) = (bytes.byte()?, bytes.byte()?);
            let stored = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            let plain = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            let stored = bytes.take(stored)?;
            let out = match kind {
                PART_COLUMNS => &mut self.plain,
                PART_TEXTS => &mut self.texts_plain,
                _ => continue,
            };
            if plain > BODY_BYTES_MAX {
                return Err(Corrupt("it is too large"));
            }
            compression::unpack(code, stored, plain, decompressor, out)?;
        }
        self.columns(state)?;
        if !self.texts_plain.is_empty() {
            self.texts(state)?;
        }
        Ok(())
    }

    /// Samples of the block.
    pub(crate) fn samples(&self) -> u32 {
        self.samples
    }

    fn columns(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        let plain = std::mem::take(&mut self.plain);
        let read = self.read_tables(&plain, state);
        self.plain = plain;
        read
    }

    fn read_tables(&mut self, plain: &[u8], state: &mut BlockState) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(plain);
        let samples = bytes.varint()?;
        if samples > u64::from(BLOCK_SAMPLES_MAX) {
            return Err(Corrupt("it has too many samples"));
        }
        self.samples = samples as u32;
        let (tick, sources) = self.tables.split_at_mut(1);
        let mut cells = Cells { words: 0, width: state.tick.values.len(), left: CELLS_MAX };
        let ticks = &mut state.tick.values;
        let width = cells.width;
        read_table(&mut bytes, &mut tick[0], &mut cells, ticks, |_| {}, |_| {})?;
        let one_row = tick[0].begun.len() == 1 && ticks.len() == width;
        if tick[0].readings != self.samples || !one_row {
            ticks.resize(width, 0);
            return Err(Corrupt("its ticks are not its samples"));
        }
        for (table, source) in sources.iter_mut().zip(&mut state.sources) {
            (cells.words, cells.width) = (source.words, source.width);
            let (names, texts) = (&mut source.names, &mut source.texts);
            let add_name = |name: &[u8]| {
                names.push(name);
            };
            let add_text = |text: &[u8]| {
                texts.push(text);
            };
            read_table(&mut bytes, table, &mut cells, &mut source.values, add_name, add_text)?;
        }
        if bytes.left() == 0 { Ok(()) } else { Err(Corrupt("it is too long")) }
    }

    /// Replays the next sample; false when there is none.
    pub(crate) fn next(&mut self, state: &mut BlockState) -> Result<bool, Corrupt> {
        if self.done == self.samples {
            return Ok(false);
        }
        let plain = &self.plain;
        let (tick, sources) = self.tables.split_at_mut(1);
        tick[0].advance(plain, 0, &mut state.tick.values)?;
        for (index, (table, source)) in sources.iter_mut().zip(&mut state.sources).enumerate() {
            if !state.tick.has_table(index) {
                continue;
            }
            if table.done == table.readings {
                return Err(Corrupt("a source has fewer readings than ticks"));
            }
            change_rows(plain, table, &mut source.rows)?;
            table.done += 1;
            for &slot in &source.rows {
                table.advance(plain, slot as usize, &mut source.values)?;
            }
        }
        self.next_texts(state)?;
        self.done += 1;
        Ok(true)
    }

    fn texts(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(&self.texts_plain);
        let count = bytes.count()?;
        let mut total = 0_usize;
        for _ in 0..count {
            let path = bytes.prefixed()?.to_vec();
            let left = bytes.count()? as u64;
            let index_at = bytes.position();
            self.texts.push(TextReplay { index_at, left, sample: 0, bytes_at: total });
            state.texts.push(KernelText { path, ..KernelText::default() });
            for _ in 0..left {
                bytes.varint()?;
                let length = usize::try_from(bytes.varint()?.saturating_sub(1));
                total = total.saturating_add(length.unwrap_or(usize::MAX));
            }
        }
        if total != bytes.left() {
            return Err(Corrupt("its texts are not as long as they say"));
        }
        for text in &mut self.texts {
            text.bytes_at += bytes.position();
            if text.left > 0 {
                text.sample = Bytes::at(&self.texts_plain, text.index_at).varint()?;
            }
        }
        Ok(())
    }

    fn next_texts(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        for (replay, known) in self.texts.iter_mut().zip(&mut state.texts) {
            known.fresh = replay.left > 0 && replay.sample == u64::from(self.done);
            if !known.fresh {
                continue;
            }
            let mut index = Bytes::at(&self.texts_plain, replay.index_at);
            index.varint()?;
            if let Some(length) = index.varint()?.checked_sub(1) {
                let mut bytes = Bytes::at(&self.texts_plain, replay.bytes_at);
                known.text.clear();
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                known.text.extend_from_slice(bytes.take(length)?);
                replay.bytes_at = bytes.position();
            }
            replay.index_at = index.position();
            replay.left -= 1;
            if replay.left > 0 {
                let ahead = Bytes::at(&self.texts_plain, replay.index_at).varint()?;
                replay.sample = replay.sample.saturating_add(ahead);
            }
        }
        Ok(())
    }
}

/// The shape of a table's rows, and how many cells the block may still have.
struct Cells {
    words: usize,
    width: usize,
    left: usize,
}

/// Reads all of a table but its streams, of which it takes the places.  Its first values go to
/// `values`.
fn read_table(
    bytes: &mut Bytes<'_>,
    table: &mut TableReplay,
    cells: &mut Cells,
    values: &mut Vec<u64>,
    mut add_name: impl FnMut(&[u8]),
    mut add_text: impl FnMut(&[u8]),
) -> Result<(), Corrupt> {
    let readings = bytes.varint()?;
    if readings > u64::from(BLOCK_SAMPLES_MAX) {
        return Err(Corrupt("it has too many readings"));
    }
    table.readings = readings as u32;
    if readings == 0 {
        return Ok(());
    }
    let columns = cells.words + cells.width;
    let slots = bytes.count()?;
    let count = slots.checked_mul(columns).filter(|&count| count <= cells.left);
    let count = count.ok_or(Corrupt("it has too many instances"))?;
    cells.left -= count;
    for _ in 0..slots {
        add_name(bytes.prefixed()?);
    }
    for _ in 0..bytes.count()? {
        add_text(bytes.prefixed()?);
    }
    table.listed.resize(slots, 0);
    table.begun.resize(slots, false);
    read_changes(bytes, table, columns)?;
    values.clear();
    for cell in 0..count {
        let first = bytes.varint()?;
        let is_presence = cell % columns < cells.words;
        values.push(if is_presence { first } else { unzigzag(first) });
    }
    let codings = bytes.take(count)?;
    for slot in 0..slots {
        table.starts.push(table.streams.len());
        for (column, &coding) in codings[slot * columns..(slot + 1) * columns].iter().enumerate() {
            if coding != CONSTANT {
                let cell = slot * columns + column;
                let is_presence = column < cells.words;
                let stream = read_stream(bytes, coding, table.listed[slot], values[cell])?;
                table.streams.push(Stream { cell, is_presence, ..stream });
            }
        }
    }
    table.starts.push(table.streams.len());
    Ok(())
}

/// Reads the changes of rows, to learn how many readings list each slot, and keeps their place.
fn read_changes(
    bytes: &mut Bytes<'_>,
    table: &mut TableReplay,
    columns: usize,
) -> Result<(), Corrupt> {
    let changes = bytes.count()?;
    table.changes_left = changes;
    table.change_at = bytes.position();
    let slots = table.listed.len();
    if changes == 0 {
        // Only the tick's table: its one row is always there.
        table.listed.fill(table.readings);
        return Ok(());
    }
    let mut reading = 0_u64;
    let mut rows: Vec<u32> = Vec::new();
    for change in 0..changes {
        let since = bytes.varint()?;
        if change == 0 {
            table.change_reading = since;
        }
        for &slot in &rows {
            let listed = &mut table.listed[slot as usize];
            *listed = listed.saturating_add(u32::try_from(since).unwrap_or(u32::MAX));
        }
        reading = reading.saturating_add(since);
        if reading >= u64::from(table.readings) {
            return Err(Corrupt("its rows change after its end"));
        }
        let count = bytes.count()?;
        if count > ROWS_MAX || count.saturating_mul(columns) > CELLS_MAX {
            return Err(Corrupt("a reading has too many rows"));
        }
        rows.clear();
        for _ in 0..count {
            let slot = bytes.varint()?;
            if slot >= slots as u64 {
                return Err(Corrupt("a row has no instance"));
            }
            rows.push(slot as u32);
        }
    }
    for &slot in &rows {
        let listed = &mut table.listed[slot as usize];
        *listed = listed.saturating_add(table.readings - reading as u32);
    }
    Ok(())
}

/// Takes the place of a stream and steps over it.
fn read_stream(
    bytes: &mut Bytes<'_>,
    coding: u8,
    listed: u32,
    first: u64,
) -> Result<Stream, Corrupt> {
    let mut stream = Stream {
        cell: 0,
        coding,
        is_presence: false,
        at: bytes.position(),
        base: if coding == FROM_FIRST { first } else { 0 },
        left: 0,
        zeros: 0,
    };
    match coding {
        DIFFERENCES | SECOND_DIFFERENCES | FROM_FIRST => {
            bytes.skip_varints(listed.saturating_sub(1) as usize)?;
        }
        SPARSE => {
            stream.left = bytes.varint()?;
            let ahead = *bytes;
            stream.zeros = if stream.left > 0 { bytes.varint()? } else { 0 };
            stream.at = bytes.position();
            *bytes = ahead;
            let count = usize::try_from(stream.left).unwrap_or(usize::MAX);
            bytes.skip_varints(count.saturating_mul(2))?;
        }
        _ => return Err(Corrupt("a column has an unknown coding")),
    }
    Ok(stream)
}

/// Puts a change of rows into effect if it is due at the next reading.
fn change_rows(plain: &[u8], table: &mut TableReplay, rows: &mut Vec<u32>) -> Result<(), Corrupt> {
    if table.changes_left == 0 || table.change_reading != u64::from(table.done) {
        return Ok(());
    }
    let mut bytes = Bytes::at(plain, table.change_at);
    bytes.varint()?;
    rows.clear();
    for _ in 0..bytes.count()? {
        rows.push(bytes.varint()? as u32);
    }
    table.changes_left -= 1;
    table.change_at = bytes.position();
    if table.changes_left > 0 {
        table.change_reading = table.change_reading.saturating_add(bytes.varint()?);
    }
    Ok(())
}
