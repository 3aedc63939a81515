//! One table of a block while it is decoded: its rows, and each column's position in its stream.

use super::{CONSTANT, DIFFERENCES, FROM_FIRST, SECOND_DIFFERENCES, SPARSE};
use crate::focus::Focus;
use crate::format::{BLOCK_SAMPLES_MAX, CELLS_MAX};
use crate::frame::ROWS_MAX;
use varint::{Bytes, Corrupt, unzigzag};

/// A column that changes.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The index of the cell in the table.
    cell: usize,
    coding: u8,
    is_presence: bool,
    /// The position of its next varint.
    at: usize,
    /// First value, or the previous difference, as the coding needs.
    base: u64,
    /// Sparse: steps left that are not 0.
    left: u64,
    /// Sparse: zeros before the next of them.
    zeros: u64,
}

impl Stream {
    /// Decodes the next step.
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
pub(super) struct TableReplay {
    /// The streams, slot by slot.
    streams: Vec<Stream>,
    /// For each slot the index of its first stream, and the end of the last slot's.
    starts: Vec<usize>,
    /// For each slot the number of readings left that have it.
    listed: Vec<u32>,
    /// For each slot whether its first value was decoded.
    pub(super) begun: Vec<bool>,
    pub(super) readings: u32,
    /// Whether nothing of it is decoded.
    pub(super) is_skipped: bool,
    /// Readings replayed.
    pub(super) done: u32,
    /// The position of the next change of rows, the number of changes left, and its reading.
    change_at: usize,
    changes_left: usize,
    change_reading: u64,
}

impl TableReplay {
    pub(super) fn clear(&mut self) {
        self.streams.clear();
        self.starts.clear();
        self.listed.clear();
        self.begun.clear();
        (self.readings, self.is_skipped, self.done) = (0, false, 0);
        (self.change_at, self.changes_left, self.change_reading) = (0, 0, 0);
    }

    /// Decodes the next values of one slot.
    #[inline]
    pub(super) fn advance(
        &mut self,
        plain: &[u8],
        slot: usize,
        values: &mut [u64],
    ) -> Result<(), Corrupt> {
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

/// The columns of a table's rows, and how many cells the block may still have.
pub(super) struct Cells {
    pub(super) words: usize,
    pub(super) width: usize,
    pub(super) left: usize,
}

/// Reads a table, except its streams: it keeps the positions of those that are decoded.  The first
/// values go to `values`, unless nothing of the table is decoded.
pub(super) fn read_table(
    bytes: &mut Bytes<'_>,
    table: &mut TableReplay,
    cells: &mut Cells,
    focus: &Focus,
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
    if *focus == Focus::Nothing {
        bytes.skip_varints(count)?;
    } else {
        for cell in 0..count {
            let first = bytes.varint()?;
            let is_presence = cell % columns < cells.words;
            values.push(if is_presence { first } else { unzigzag(first) });
        }
    }
    let codings = bytes.next_bytes(count)?;
    for slot in 0..slots {
        table.starts.push(table.streams.len());
        for (column, &coding) in codings[slot * columns..(slot + 1) * columns].iter().enumerate() {
            if coding != CONSTANT {
                let cell = slot * columns + column;
                let is_presence = column < cells.words;
                let stream = read_stream(bytes, coding, table.listed[slot])?;
                if focus.has_column(column, cells.words) {
                    let base = if coding == FROM_FIRST { values[cell] } else { 0 };
                    table.streams.push(Stream { cell, is_presence, base, ..stream });
                }
            }
        }
    }
    table.starts.push(table.streams.len());
    Ok(())
}

/// Reads the changes of rows to count the readings that have each slot, and keeps their position.
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
        // Only the tick's table: every reading has its one row.
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

/// Keeps the position of a stream and skips it.
fn read_stream(bytes: &mut Bytes<'_>, coding: u8, listed: u32) -> Result<Stream, Corrupt> {
    let mut stream = Stream {
        cell: 0,
        coding,
        is_presence: false,
        at: bytes.position(),
        base: 0,
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

/// Applies a change of rows if it is due at the next reading.
pub(super) fn change_rows(
    plain: &[u8],
    table: &mut TableReplay,
    rows: &mut Vec<u32>,
) -> Result<(), Corrupt> {
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
