//! Encodes the frames of a block as columns, in two passes over the frames without a matrix of
//! values: the first measures each column in every coding, the second writes each value.
//!
//! Most values do not change from one sample to the next, are zeros in the frames and cost nothing
//! here: the work is proportional to the values that changed, not to the cells.

use super::column::Column;
use super::dense::DenseEncoder;
use super::texts::{Texts, put_names};
use super::{CONSTANT, PART_COLUMNS, PART_PLAN, PART_STREAM, PART_TEXTS};
use crate::compression::{Packer, STORED};
use crate::frame::{BlockState, Visit, Walker};
use varint::{Corrupt, put};

/// A table while it is measured and written: that of the tick, or a source's.
#[derive(Debug, Default)]
struct TableColumns {
    words: usize,
    width: usize,
    readings: u32,
    /// For each slot the number of readings that have it.
    listed: Vec<u32>,
    /// Slots by columns.
    columns: Vec<Column>,
    changes: u32,
    last_change: u32,
    /// Changes of rows, as they will be written.
    changed_rows: Vec<u8>,
}

impl TableColumns {
    fn clear(&mut self) {
        self.readings = 0;
        self.listed.clear();
        self.columns.clear();
        self.changes = 0;
        self.last_change = 0;
        self.changed_rows.clear();
    }

    fn add_slot(&mut self) {
        self.listed.push(0);
        self.columns.resize(self.columns.len() + self.words + self.width, Column::default());
    }
}

/// The visitor of both passes.
struct Pass<'a> {
    /// The tick's table, then the sources'.
    tables: &'a mut [TableColumns],
    /// The output of the second pass.
    plain: &'a mut [u8],
    writes: bool,
    texts: &'a mut Texts,
}

impl Pass<'_> {
    #[inline]
    fn step(&mut self, table: usize, slot: usize, column: usize, difference: u64) {
        let table = &mut self.tables[table];
        let step = table.listed[slot] - 1;
        let at = slot * (table.words + table.width) + column;
        let cell = &mut table.columns[at];
        if step == 0 {
            cell.first = difference;
        } else if self.writes {
            cell.write(self.plain, step, difference);
        } else {
            cell.measure(step, difference, column < table.words);
        }
    }
}

impl Visit for Pass<'_> {
    fn begin(&mut self) {
        self.tables[0].readings += 1;
        self.tables[0].listed[0] += 1;
    }

    #[inline]
    fn tick(&mut self, column: usize, difference: u64) {
        self.step(0, 0, column, difference);
    }

    fn name(&mut self, source: usize, _: &[u8]) {
        if !self.writes {
            self.tables[source + 1].add_slot();
        }
    }

    fn text(&mut self, _: usize, _: &[u8]) {}

    fn rows(&mut self, source: usize, rows: &[u32], changed: bool) {
        let table = &mut self.tables[source + 1];
        if changed && !self.writes {
            put(&mut table.changed_rows, u64::from(table.readings - table.last_change));
            put(&mut table.changed_rows, rows.len() as u64);
            for &slot in rows {
                put(&mut table.changed_rows, u64::from(slot));
            }
            table.last_change = table.readings;
            table.changes += 1;
        }
        table.readings += 1;
        for &slot in rows {
            table.listed[slot as usize] += 1;
        }
    }

    #[inline]
    fn cell(&mut self, source: usize, slot: usize, column: usize, difference: u64) {
        self.step(source + 1, slot, column, difference);
    }

    fn kernel_text(&mut self, path: usize, new: Option<&[u8]>, text: Option<&[u8]>) {
        if !self.writes {
            self.texts.add(self.tables[0].readings - 1, path, new, text);
        }
    }
}

/// The current stage of encoding a block.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The passes of the dense coding, and the steps after each.
    DensePlan,
    Plan,
    Tell,
    PackDense,
    /// The same for columns.
    Measure,
    Layout,
    Write,
    Pack,
}

/// Encodes frames as bodies, keeping its memory between blocks.
pub(crate) struct ColumnEncoder {
    stage: Stage,
    /// The position of the pass in the frames.
    at: usize,
    walker: Walker,
    dense: DenseEncoder,
    tables: Vec<TableColumns>,
    texts: Texts,
    plain: Vec<u8>,
}

impl ColumnEncoder {
    /// An encoder for blocks of these sources.
    pub(crate) fn new(state: &BlockState, plain_bytes: usize) -> Self {
        let tick = TableColumns { width: state.tick.values.len(), ..TableColumns::default() };
        let table = |source: &crate::state::SourceState| TableColumns {
            words: source.words,
            width: source.width,
            ..TableColumns::default()
        };
        ColumnEncoder {
            stage: Stage::DensePlan,
            at: 0,
            walker: Walker::new(&state.sources),
            dense: DenseEncoder::new(state),
            tables: std::iter::once(tick).chain(state.sources.iter().map(table)).collect(),
            texts: Texts::default(),
            plain: Vec::with_capacity(plain_bytes),
        }
    }

    /// Allocates memory in advance; `state` has the first sample, whose frame is `frames`.
    pub(crate) fn warm_up(
        &mut self,
        frames: &[u8],
        state: &BlockState,
        packer: &mut Packer,
        out: &mut Vec<u8>,
    ) {
        self.dense.reserve(state, self.plain.capacity() / 4);
        for dense in [false, true] {
            out.clear();
            // A failure would be reported when the block is closed.
            let _ = self.encode(frames, state, dense, packer, out);
        }
    }

    /// Appends to `out` the body of the block whose frames are `frames`, in dense coding if `dense`
    /// and possible; `state` is the state after them.  Fails only if the frames are damaged.
    pub(crate) fn encode(
        &mut self,
        frames: &[u8],
        state: &BlockState,
        dense: bool,
        packer: &mut Packer,
        out: &mut Vec<u8>,
    ) -> Result<(), Corrupt> {
        self.begin(state, dense);
        while !self.step(frames, state, usize::MAX, packer, out)? {}
        Ok(())
    }

    /// Begins a block, to be continued by [`step`](Self::step).
    pub(crate) fn begin(&mut self, state: &BlockState, dense: bool) {
        self.at = 0;
        self.stage = if dense && state.texts.is_empty() {
            self.dense.begin();
            Stage::DensePlan
        } else {
            self.begin_columns();
            Stage::Measure
        };
    }

    fn begin_columns(&mut self) {
        self.tables.iter_mut().for_each(TableColumns::clear);
        self.tables[0].add_slot();
        self.texts.clear();
        self.plain.clear();
    }

    /// Continues with about `bytes` of the frames.  When it returns true, `out` has the body, which
    /// does not depend on the size of the steps.
    pub(crate) fn step(
        &mut self,
        frames: &[u8],
        state: &BlockState,
        bytes: usize,
        packer: &mut Packer,
        out: &mut Vec<u8>,
    ) -> Result<bool, Corrupt> {
        let (at, walker) = (self.at, &mut self.walker);
        let next = match self.stage {
            Stage::DensePlan => {
                self.at = self.dense.plan_some(frames, at, bytes, walker)?;
                Stage::Plan
            }
            Stage::Plan if self.dense.plan(state) => Stage::Tell,
            Stage::Plan => {
                self.begin_columns();
                Stage::Measure
            }
            Stage::Tell => {
                self.at = self.dense.write_some(frames, at, bytes, walker)?;
                Stage::PackDense
            }
            Stage::PackDense => {
                self.dense.finish();
                part(PART_PLAN, &self.dense.plan, packer, out);
                stored_part(PART_STREAM, &self.dense.stream, out);
                return Ok(true);
            }
            Stage::Measure => {
                self.at = self.pass(frames, bytes, false)?;
                Stage::Layout
            }
            Stage::Layout => {
                self.layout(state);
                Stage::Write
            }
            Stage::Write => {
                self.at = self.pass(frames, bytes, true)?;
                Stage::Pack
            }
            Stage::Pack => {
                self.finish();
                part(PART_COLUMNS, &self.plain, packer, out);
                if !self.texts.is_empty() {
                    self.plain.clear();
                    self.texts.write(&mut self.plain);
                    part(PART_TEXTS, &self.plain, packer, out);
                }
                return Ok(true);
            }
        };
        let is_walk = !matches!(self.stage, Stage::Plan | Stage::Layout);
        if !is_walk || self.at == frames.len() {
            (self.stage, self.at) = (next, 0);
        }
        Ok(false)
    }

    fn pass(&mut self, frames: &[u8], bytes: usize, writes: bool) -> Result<usize, Corrupt> {
        let mut pass = Pass {
            tables: &mut self.tables,
            plain: &mut self.plain,
            writes,
            texts: &mut self.texts,
        };
        if self.at == 0 {
            for table in pass.tables.iter_mut() {
                table.readings = 0;
                table.listed.fill(0);
            }
        }
        self.walker.walk_some(frames, self.at, bytes, &mut pass)
    }

    /// Writes everything except the streams, and reserves space for these.
    fn layout(&mut self, state: &BlockState) {
        let plain = &mut self.plain;
        put(plain, u64::from(self.tables[0].readings));
        for (index, table) in self.tables.iter_mut().enumerate() {
            put(plain, u64::from(table.readings));
            if table.readings == 0 {
                continue;
            }
            let source = index.checked_sub(1).map(|index| &state.sources[index]);
            put_names(plain, source, table.listed.len());
            put(plain, u64::from(table.changes));
            plain.extend_from_slice(&table.changed_rows);
            for column in &table.columns {
                put(plain, column.first);
            }
            streams(table, plain);
        }
        // `put_at` needs space for the longest varint after every position.
        plain.resize(plain.len() + varint::VARINT_BYTES_MAX, 0);
    }

    /// Writes the zeros at the ends of the streams.
    fn finish(&mut self) {
        for table in &mut self.tables {
            let columns = (table.words + table.width).max(1);
            for (index, column) in table.columns.iter_mut().enumerate() {
                if column.coding != CONSTANT {
                    let steps = table.listed[index / columns] - 1;
                    column.write_zeros(&mut self.plain, steps - column.last);
                }
            }
        }
        self.plain.truncate(self.plain.len() - varint::VARINT_BYTES_MAX);
    }
}

/// Writes the codings of a table's columns and reserves space for their streams.
fn streams(table: &mut TableColumns, plain: &mut Vec<u8>) {
    let columns = (table.words + table.width).max(1);
    let codings = plain.len();
    plain.resize(codings + table.columns.len(), CONSTANT);
    let mut end = plain.len();
    for (index, column) in table.columns.iter_mut().enumerate() {
        let steps = table.listed[index / columns].saturating_sub(1);
        let bytes = column.decide(steps, index % columns < table.words);
        plain[codings + index] = column.coding;
        column.at = end as u32;
        end += bytes as usize;
    }
    plain.resize(end + varint::VARINT_BYTES_MAX, 0);
    for column in table.columns.iter_mut().filter(|column| column.coding != CONSTANT) {
        column.rewind(column.at, plain);
    }
    plain.truncate(end);
}

/// Appends a part of a body.
fn part(kind: u8, plain: &[u8], packer: &mut Packer, out: &mut Vec<u8>) {
    out.push(kind);
    let code_at = out.len();
    // The lengths precede bytes of unknown length; five bytes hold any of them.
    out.resize(code_at + 1 + 2 * LENGTH_BYTES, 0);
    let start = out.len();
    out[code_at] = packer.append(plain, out);
    let stored = (out.len() - start) as u64;
    put_padded(&mut out[code_at + 1..], stored);
    put_padded(&mut out[code_at + 1 + LENGTH_BYTES..], plain.len() as u64);
}

/// Appends a part without compression.
fn stored_part(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, STORED]);
    put(out, bytes.len() as u64);
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes of a padded length.
const LENGTH_BYTES: usize = 5;

/// Writes a varint in five bytes whatever its value, as the format allows.
fn put_padded(out: &mut [u8], value: u64) {
    for (index, byte) in out[..LENGTH_BYTES].iter_mut().enumerate() {
        let more = if index + 1 < LENGTH_BYTES { 0x80 } else { 0 };
        *byte = (value >> (7 * index)) as u8 & 0x7f | more;
    }
}
