//! Decodes a plan and a stream into samples, one after the other.
//!
//! Needs memory in proportion to the plan and to the columns that change, never to the output.

use sample::Interner;

use super::LIVE_MAX;
use super::coder::{Decoder, DecoderState};
use super::model::{Cell, RowModel, Shared};
use crate::columns::table::Cells;
use crate::format::{BLOCK_SAMPLES_MAX, CELLS_MAX};
use crate::frame::{BlockState, ROWS_MAX};
use crate::rows::read_edit;
use varint::{Bytes, Corrupt, unzigzag};

/// A table being replayed.
#[derive(Default)]
struct Table {
    readings: u32,
    done: u32,
    slots: usize,
    begun: Vec<bool>,
    starts: Vec<usize>,
    cells: Vec<Cell>,
    flags: Vec<RowModel>,
    /// The position of the next change of rows, the number of changes left, and its reading.
    change_at: usize,
    changes_left: usize,
    change_reading: u64,
    listed: usize,
    memory: Vec<u32>,
}

/// A dense body being replayed.
#[derive(Default)]
pub(in crate::columns) struct DenseReplay {
    tables: Vec<Table>,
    shared: Shared,
    decoder: DecoderState,
}

impl DenseReplay {
    /// Reads a plan into the cleared `state`, and returns the number of samples.
    pub(in crate::columns) fn begin(
        &mut self,
        plan: &[u8],
        stream: &[u8],
        state: &mut BlockState,
    ) -> Result<u32, Corrupt> {
        self.decoder = DecoderState::new(stream);
        self.tables.clear();
        let mut bytes = Bytes::new(plan);
        let mut live = LIVE_MAX;
        let width = state.tick.values.len();
        let mut cells = Cells { words: 0, width, left: CELLS_MAX };
        let mut nothing = (Interner::default(), Interner::default());
        let (names, texts) = (&mut nothing.0, &mut nothing.1);
        let ticks = &mut state.tick.values;
        let tick = read_table(&mut bytes, &mut cells, &mut live, ticks, names, texts);
        if ticks.len() != width {
            ticks.resize(width, 0);
            return Err(Corrupt("its ticks are not its samples"));
        }
        let samples = tick?;
        let readings = samples.readings;
        self.tables.push(samples);
        for source in &mut state.sources {
            (cells.words, cells.width) = (source.words, source.width);
            let (names, texts) = (&mut source.names, &mut source.texts);
            let values = &mut source.values;
            let table = read_table(&mut bytes, &mut cells, &mut live, values, names, texts)?;
            self.tables.push(table);
        }
        self.links(&mut bytes, LIVE_MAX - live)?;
        if bytes.left() > 0 {
            return Err(Corrupt("it is too long"));
        }
        Ok(readings)
    }

    /// Reads the links between columns.
    fn links(&mut self, bytes: &mut Bytes<'_>, count: usize) -> Result<(), Corrupt> {
        self.shared.clear(count);
        let mut cells = self.tables.iter_mut().flat_map(|table| &mut table.cells);
        let (mut next, mut bad) = (0, false);
        bytes.unpack(count, |id, link| {
            let cell = cells.nth(id - next);
            next = id + 1;
            let to = (id as u64).checked_sub(link >> 1).filter(|_| link > 1);
            match (cell, to) {
                (Some(cell), Some(to)) => cell.link(to as u32, link & 1 == 1),
                _ => bad = true,
            }
        })?;
        if bad { Err(Corrupt("a column is linked to a missing one")) } else { Ok(()) }
    }

    /// Replays the next sample.
    pub(in crate::columns) fn next(
        &mut self,
        plan: &[u8],
        stream: &[u8],
        state: &mut BlockState,
    ) -> Result<(), Corrupt> {
        let mut decoder = Decoder { state: &mut self.decoder, bytes: stream };
        let [tick, sources @ ..] = self.tables.as_mut_slice() else {
            return Err(Corrupt("it has no ticks"));
        };
        self.shared.next_sample();
        tick.reading(&[0], &mut state.tick.values, &mut decoder, &mut self.shared);
        decoder.check()?;
        for (index, (table, source)) in sources.iter_mut().zip(&mut state.sources).enumerate() {
            if !state.tick.has_table(index) {
                continue;
            }
            if table.done == table.readings {
                return Err(Corrupt("a source has fewer readings than ticks"));
            }
            table.change_rows(plan, source.columns(), &mut source.rows)?;
            table.done += 1;
            table.reading(&source.rows, &mut source.values, &mut decoder, &mut self.shared);
            decoder.check()?;
        }
        Ok(())
    }
}

impl Table {
    /// Decodes the next values of a reading's rows.
    fn reading(
        &mut self,
        rows: &[u32],
        values: &mut [u64],
        decoder: &mut Decoder<'_>,
        shared: &mut Shared,
    ) {
        let columns = values.len() / self.slots.max(1);
        let mut above = false;
        for &slot in rows {
            let slot = slot as usize;
            let cells = self.starts[slot]..self.starts[slot + 1];
            let begun = std::mem::replace(&mut self.begun[slot], true);
            if !begun || cells.is_empty() {
                continue;
            }
            above = self.flags[slot].code(decoder, shared, false, above);
            if !above {
                continue;
            }
            let values = &mut values[slot * columns..][..columns];
            for cell in &mut self.cells[cells] {
                let value = &mut values[cell.column as usize];
                let step = cell.code(decoder, shared, 0);
                *value = if cell.is_presence { *value ^ step } else { value.wrapping_add(step) };
            }
        }
    }

    /// Applies a change of rows if it is due at the next reading.
    fn change_rows(
        &mut self,
        plan: &[u8],
        columns: usize,
        rows: &mut Vec<u32>,
    ) -> Result<(), Corrupt> {
        if self.changes_left == 0 || self.change_reading != u64::from(self.done) {
            return Ok(());
        }
        let mut bytes = Bytes::at(plan, self.change_at);
        bytes.varint()?;
        let most = ROWS_MAX.min(CELLS_MAX / columns.max(1));
        read_edit(&mut bytes, rows, &mut self.memory, &mut self.listed, most, |_| Ok(()))?;
        if self.listed > self.slots {
            rows.clear();
            return Err(Corrupt("a row has no instance"));
        }
        self.changes_left -= 1;
        self.change_at = bytes.position();
        if self.changes_left > 0 {
            self.change_reading = self.change_reading.saturating_add(bytes.varint()?);
        }
        Ok(())
    }
}

/// Reads a table's part of the plan; first values go to `values`.
fn read_table(
    bytes: &mut Bytes<'_>,
    cells: &mut Cells,
    live: &mut usize,
    values: &mut Vec<u64>,
    names: &mut Interner,
    texts: &mut Interner,
) -> Result<Table, Corrupt> {
    let readings = bytes.varint()?;
    if readings > u64::from(BLOCK_SAMPLES_MAX) {
        return Err(Corrupt("it has too many readings"));
    }
    let mut table = Table { readings: readings as u32, ..Table::default() };
    if readings == 0 {
        return Ok(table);
    }
    let columns = cells.words + cells.width;
    let slots = bytes.count()?;
    let count = slots.checked_mul(columns).filter(|&count| count <= cells.left);
    let count = count.ok_or(Corrupt("it has too many instances"))?;
    cells.left -= count;
    table.slots = slots;
    for _ in 0..slots {
        names.push(bytes.prefixed()?);
    }
    for _ in 0..bytes.count()? {
        texts.push(bytes.prefixed()?);
    }
    table.changes_left = bytes.count()?;
    table.change_at = bytes.position();
    skip_changes(bytes, &mut table)?;
    values.clear();
    values.resize(count, 0);
    for column in 0..columns {
        for value in values.iter_mut().skip(column).step_by(columns) {
            let first = bytes.varint()?;
            *value = if column < cells.words { first } else { unzigzag(first) };
        }
    }
    table.begun.resize(slots, false);
    table.flags.resize(slots, RowModel::default());
    let mut bad = false;
    let first = LIVE_MAX - *live;
    let (own, starts) = (&mut table.cells, &mut table.starts);
    bytes.unpack(count, |at, unit| {
        starts.resize(at / columns.max(1) + 1, own.len());
        bad |= unit > i64::MAX.unsigned_abs() || own.len() >= *live;
        if !bad {
            let column = at % columns.max(1);
            let id = first + own.len();
            own.push(Cell::new(id, column as u32, column < cells.words, unit));
        }
    })?;
    starts.resize(slots + 1, own.len());
    *live -= own.len();
    if bad { Err(Corrupt("it has too many columns that change")) } else { Ok(table) }
}

/// Skips the changes of rows.
fn skip_changes(bytes: &mut Bytes<'_>, table: &mut Table) -> Result<(), Corrupt> {
    for change in 0..table.changes_left {
        let since = bytes.varint()?;
        if change == 0 {
            table.change_reading = since;
        }
        for _ in 0..bytes.count()? {
            let run = bytes.varint()?;
            if run & 3 == crate::rows::COME {
                let length = usize::try_from(run >> 2).unwrap_or(usize::MAX);
                bytes.skip_varints(length)?;
            }
        }
    }
    Ok(())
}
