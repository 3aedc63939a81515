//! From the frames of a block to its columns, in two walks over the frames and no matrix: the
//! first measures each column in every coding, the second writes each value where it belongs.
//!
//! Most values of most sources do not change from one sample to the next, are zeros in the frames
//! and cost nothing here: the work is by values that changed, not by cells.

use super::column::Column;
use super::dense::DenseEncoder;
use super::texts::{Texts, put_names};
use super::{CONSTANT, PART_COLUMNS, PART_PLAN, PART_STREAM, PART_TEXTS};
use crate::compression::{Packer, STORED};
use crate::frame::{BlockState, Visit, Walker};
use crate::varint::{Corrupt, put};

/// A table while it is measured and written: that of the tick, or a source's.
#[derive(Debug, Default)]
struct TableColumns {
    words: usize,
    width: usize,
    readings: u32,
    /// For each slot the readings that listed it.
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

/// Both walks.
struct Pass<'a> {
    /// The tick's table, then the sources'.
    tables: &'a mut [TableColumns],
    /// Where the second walk writes.
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

/// What is being done with the frames of a block.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The walks of the dense coding, and what follows each.
    Survey,
    Plan,
    Tell,
    PackDense,
    /// Those of columns.
    Measure,
    Layout,
    Write,
    Pack,
}

/// Makes bodies of frames, keeping its memory between blocks.
pub(crate) struct ColumnEncoder {
    stage: Stage,
    /// How far the walk has come.
    at: usize,
    walker: Walker,
    dense: DenseEncoder,
    tables: Vec<TableColumns>,
    texts: Texts,
    plain: Vec<u8>,
}

impl ColumnEncoder {
    /// For blocks of this shape.
    pub(crate) fn new(state: &BlockState, plain_bytes: usize) -> Self {
        let tick = TableColumns { width: state.tick.values.len(), ..TableColumns::default() };
        let table = |source: &crate::state::SourceState| TableColumns {
            words: source.words,
            width: source.width,
            ..TableColumns::default()
        };
        ColumnEncoder {
            stage: Stage::Survey,
            at: 0,
            walker: Walker::new(&state.sources),
            dense: DenseEncoder::new(state),
            tables: std::iter::once(tick).chain(state.sources.iter().map(table)).collect(),
            texts: Texts::default(),
            plain: Vec::with_capacity(plain_bytes),
        }
    }

    /// Takes what memory it can beforehand; `state` has the first sample, whose frame is `frames`.
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
            // A failure would be told when the block is closed.
            let _ = self.encode(frames, state, dense, packer, out);
        }
    }

    /// Appends to `out` the body of the block whose frames are `frames`, `dense` if it can be;
    /// `state` is what they told.  Fails only if they are not whole and sound.
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

    /// Begins with a block, to be gone on with by [`step`](Self::step).
    pub(crate) fn begin(&mut self, state: &BlockState, dense: bool) {
        self.at = 0;
        self.stage = if dense && state.texts.is_empty() {
            self.dense.begin();
            Stage::Survey
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

    /// Goes on, by some `bytes` of the frames.  Once it is true, `out` has the body.  Whatever the
    /// steps, the body is the same.
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
            Stage::Survey => {
                self.at = self.dense.survey(frames, at, bytes, walker)?;
                Stage::Plan
            }
            Stage::Plan if self.dense.plan(state) => Stage::Tell,
            Stage::Plan => {
                self.begin_columns();
                Stage::Measure
            }
            Stage::Tell => {
                self.at = self.dense.tell(frames, at, bytes, walker)?;
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

    /// Writes all but the streams, and makes room for these.
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
        // `put_at` wants room for the longest varint behind every place.
        plain.resize(plain.len() + crate::varint::VARINT_BYTES_MAX, 0);
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
        self.plain.truncate(self.plain.len() - crate::varint::VARINT_BYTES_MAX);
    }
}

/// Writes the codings of a table's columns and makes room for their streams.
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
    plain.resize(end + crate::varint::VARINT_BYTES_MAX, 0);
    for column in table.columns.iter_mut().filter(|column| column.coding != CONSTANT) {
        column.rewind(column.at, plain);
    }
    plain.truncate(end);
}

/// Appends a part of a body.
fn part(kind: u8, plain: &[u8], packer: &mut Packer, out: &mut Vec<u8>) {
    out.push(kind);
    let code_at = out.len();
    // The lengths come before bytes whose length is not known yet; five bytes hold any of them.
    out.resize(code_at + 1 + 2 * LENGTH_BYTES, 0);
    let start = out.len();
    out[code_at] = packer.append(plain, out);
    let stored = (out.len() - start) as u64;
    put_padded(&mut out[code_at + 1..], stored);
    put_padded(&mut out[code_at + 1 + LENGTH_BYTES..], plain.len() as u64);
}

/// Appends a part as it is.
fn stored_part(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, STORED]);
    put(out, bytes.len() as u64);
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes of a padded length.
const LENGTH_BYTES: usize = 5;

/// A varint in five bytes whatever its value, as the format allows.
fn put_padded(out: &mut [u8], value: u64) {
    for (index, byte) in out[..LENGTH_BYTES].iter_mut().enumerate() {
        let more = if index + 1 < LENGTH_BYTES { 0x80 } else { 0 };
        *byte = (value >> (7 * index)) as u8 & 0x7f | more;
    }
}
