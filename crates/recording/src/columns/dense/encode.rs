//! Encodes the frames of a block as a plan and a stream, in two passes: the first finds the columns
//! that change, their units and links, the second writes the values.

use super::LIVE_MAX;
use super::coder::{Encoder, EncoderState};
use super::model::{Cell, RowModel, Shared};
use crate::columns::texts::put_names;
use crate::frame::{BlockState, Visit, Walker};
use crate::rows::put_edit;
use varint::{Corrupt, pack, pack_each, put, unzigzag};

/// A table: that of the tick, or a source's.
#[derive(Debug, Default)]
pub(super) struct Table {
    words: usize,
    width: usize,
    readings: u32,
    /// The latest reading's rows.
    rows: Vec<u32>,
    changes: u32,
    last_change: u32,
    /// Changes of rows, as they will be written.
    changed_rows: Vec<u8>,
    slots: usize,
    /// For each slot whether its first values were seen.
    begun: Vec<bool>,
    /// Slots by columns: first values, as differences from 0.
    firsts: Vec<u64>,
    /// Slots by columns: 1 + the index in `live` of a column that changes, 0 for others.
    live_indexes: Vec<u32>,
    live: Vec<Live>,
    /// For each slot the index of its first cell, and the end of the last slot's.
    starts: Vec<usize>,
    cells: Vec<Cell>,
    flags: Vec<RowModel>,
    /// Slots that have been listed.
    listed: usize,
    mark: Vec<u32>,
}

impl Table {
    fn columns(&self) -> usize {
        self.words + self.width
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.changed_rows.clear();
        self.begun.clear();
        self.firsts.clear();
        self.live_indexes.clear();
        self.live.clear();
        self.starts.clear();
        self.cells.clear();
        self.flags.clear();
        (self.readings, self.changes, self.last_change) = (0, 0, 0);
        (self.slots, self.listed) = (0, 0);
    }

    fn add_slot(&mut self) {
        self.slots += 1;
        self.begun.push(false);
        let cells = self.slots * self.columns();
        self.firsts.resize(cells, 0);
        self.live_indexes.resize(cells, 0);
    }

    /// The column `at`, which changes.
    #[inline]
    fn live(&mut self, at: usize) -> &mut Live {
        if self.live_indexes[at] == 0 {
            self.live.push(Live::default());
            self.live_indexes[at] = self.live.len() as u32;
        }
        &mut self.live[self.live_indexes[at] as usize - 1]
    }

    /// Makes a model for each column that changes, numbered from `id` on; returns the next number.
    fn plan(&mut self, mut id: usize) -> usize {
        let columns = self.columns();
        self.begun.fill(false);
        self.flags.resize(self.slots, RowModel::default());
        for (at, &index) in self.live_indexes.iter().enumerate() {
            if at % columns == 0 {
                self.starts.push(self.cells.len());
            }
            if index != 0 {
                let column = at % columns;
                let live = &mut self.live[index as usize - 1];
                self.cells.push(Cell::new(id, column as u32, column < self.words, live.unit));
                live.candidate.id = id as u32;
                id += 1;
            }
        }
        self.starts.push(self.cells.len());
        id
    }
}

/// A column that changes, as the first pass finds it.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    /// The greatest common divisor of all its steps.
    unit: u64,
    /// The earlier column that may predict it.
    candidate: LinkCandidate,
}

/// An earlier column that had the same steps, found by majority vote over the samples.
#[derive(Clone, Copy, Debug, Default)]
struct LinkCandidate {
    table: u32,
    at: u32,
    opposite: bool,
    /// How much more often it had the same step than another column had.
    lead: u32,
    /// The number of the column itself among those that change.
    id: u32,
}

/// Entries of the hash table of a sample's steps; a later step replaces one of equal hash.
const RECENT_STEPS: usize = 1 << RECENT_STEPS_BITS;
const RECENT_STEPS_BITS: u32 = 10;

/// Smaller steps are equal by chance.
const STEP_SIZE_MIN: u64 = 5;

/// A step of the current sample: its size, its sample, its column, its sign.
#[derive(Clone, Copy, Debug, Default)]
struct RecentStep {
    size: u64,
    sample: u32,
    table: u32,
    at: u32,
    negative: bool,
}

/// The first pass: finds the columns that change, their units and links.
struct PlanPass<'a> {
    tables: &'a mut [Table],
    seen: &'a mut [RecentStep],
}

impl PlanPass<'_> {
    #[inline]
    fn step(&mut self, table: usize, slot: usize, column: usize, difference: u64) {
        let index = table;
        let table = &mut self.tables[table];
        let at = slot * table.columns() + column;
        if !table.begun[slot] {
            table.firsts[at] = difference;
            return;
        }
        if column < table.words {
            table.live(at).unit = 1;
            return;
        }
        let step = unzigzag(difference).cast_signed();
        let live = table.live(at);
        live.unit = common(live.unit, step.unsigned_abs());
        self.update_candidate(index, at, step);
    }

    /// Looks for an earlier column with the same step in this sample.  Factors of two are
    /// ignored, since one column may count pages and the other KiB.
    #[inline]
    fn update_candidate(&mut self, table: usize, at: usize, step: i64) {
        let size = step.unsigned_abs() >> (step | i64::MIN).trailing_zeros();
        if size < STEP_SIZE_MIN {
            return;
        }
        let sample = self.tables[0].readings;
        let hash = size.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT_STEPS_BITS);
        let seen = &mut self.seen[hash as usize];
        if seen.sample != sample || seen.size != size {
            let (table, at, negative) = (table as u32, at as u32, step < 0);
            *seen = RecentStep { size, sample, table, at, negative };
            return;
        }
        let candidate = &mut self.tables[table].live(at).candidate;
        let opposite = seen.negative != (step < 0);
        if (candidate.table, candidate.at, candidate.opposite) == (seen.table, seen.at, opposite) {
            candidate.lead += 1;
        } else if candidate.lead > 0 {
            candidate.lead -= 1;
        } else {
            *candidate = LinkCandidate { table: seen.table, at: seen.at, opposite, lead: 1, id: 0 };
        }
    }
}

/// The greatest common divisor; 1 beyond what a signed number holds.
#[inline]
fn common(unit: u64, step: u64) -> u64 {
    if unit == 1 || step > i64::MAX.unsigned_abs() {
        return 1;
    }
    let (mut large, mut small) = (step, unit);
    while small != 0 {
        (large, small) = (small, large % small);
    }
    large
}

impl Visit for PlanPass<'_> {
    fn begin(&mut self) {
        self.tables[0].readings += 1;
    }

    #[inline]
    fn tick(&mut self, column: usize, difference: u64) {
        self.step(0, 0, column, difference);
    }

    fn name(&mut self, source: usize, _: &[u8]) {
        self.tables[source + 1].add_slot();
    }

    fn text(&mut self, _: usize, _: &[u8]) {}

    fn rows(&mut self, source: usize, rows: &[u32], changed: bool) {
        let table = &mut self.tables[source + 1];
        if changed {
            put(&mut table.changed_rows, u64::from(table.readings - table.last_change));
            let out = &mut table.changed_rows;
            put_edit(out, &table.rows, rows, table.listed, &mut table.mark, |_, _| {});
            table.listed = table.slots;
            table.rows.clear();
            table.rows.extend_from_slice(rows);
            table.last_change = table.readings;
            table.changes += 1;
        }
        table.readings += 1;
    }

    #[inline]
    fn cell(&mut self, source: usize, slot: usize, column: usize, difference: u64) {
        self.step(source + 1, slot, column, difference);
    }

    fn end(&mut self, table: usize) {
        let table = &mut self.tables[table];
        for &slot in &table.rows {
            table.begun[slot as usize] = true;
        }
    }

    fn kernel_text(&mut self, _: usize, _: Option<&[u8]>, _: Option<&[u8]>) {}
}

/// The second pass: writes the values.
struct StreamPass<'a> {
    tables: &'a mut [Table],
    shared: &'a mut Shared,
    stream: Encoder<'a>,
    /// Differences of the current reading: slot, column, difference.
    pending: &'a mut Vec<(u32, u32, u64)>,
}

impl Visit for StreamPass<'_> {
    fn begin(&mut self) {
        self.shared.next_sample();
    }

    #[inline]
    fn tick(&mut self, column: usize, difference: u64) {
        self.pending.push((0, column as u32, difference));
    }

    fn name(&mut self, _: usize, _: &[u8]) {}

    fn text(&mut self, _: usize, _: &[u8]) {}

    fn rows(&mut self, source: usize, rows: &[u32], changed: bool) {
        if changed {
            let own = &mut self.tables[source + 1].rows;
            own.clear();
            own.extend_from_slice(rows);
        }
    }

    #[inline]
    fn cell(&mut self, _: usize, slot: usize, column: usize, difference: u64) {
        self.pending.push((slot as u32, column as u32, difference));
    }

    fn end(&mut self, table: usize) {
        let table = &mut self.tables[table];
        let mut pending = self.pending.iter().peekable();
        let mut above = false;
        for &slot in &table.rows {
            let cells = table.starts[slot as usize]..table.starts[slot as usize + 1];
            let begun = std::mem::replace(&mut table.begun[slot as usize], true);
            let changed = pending.peek().is_some_and(|&&(of, ..)| of == slot);
            if begun && !cells.is_empty() {
                let flag = &mut table.flags[slot as usize];
                above = flag.code(&mut self.stream, self.shared, changed, above);
            }
            if begun && changed {
                for cell in &mut table.cells[cells] {
                    let own =
                        |&&(of, column, _): &&(u32, u32, u64)| of == slot && column == cell.column;
                    let step = pending.next_if(own).map_or(0, |&(.., difference)| difference);
                    let step = if cell.is_presence { step } else { unzigzag(step) };
                    cell.code(&mut self.stream, self.shared, step);
                }
            } else {
                while pending.next_if(|&&(of, ..)| of == slot).is_some() {}
            }
        }
        self.pending.clear();
    }

    fn kernel_text(&mut self, _: usize, _: Option<&[u8]>, _: Option<&[u8]>) {}
}

/// Columns that change, and bytes of changes of rows, for which memory is allocated in advance.
const RESERVED_MAX: usize = 1 << 14;
const RESERVED_ROWS_BYTES: usize = 4 << 10;

/// The lead of a candidate that makes a link.
const LINK_LEAD_MIN: u32 = 4;

/// Makes plans and streams, keeping its memory between blocks.
pub(in crate::columns) struct DenseEncoder {
    tables: Vec<Table>,
    shared: Shared,
    pending: Vec<(u32, u32, u64)>,
    seen: Vec<RecentStep>,
    links: Vec<u64>,
    coder: EncoderState,
    pub(in crate::columns) plan: Vec<u8>,
    pub(in crate::columns) stream: Vec<u8>,
}

impl DenseEncoder {
    /// An encoder for blocks of these sources.
    pub(in crate::columns) fn new(state: &BlockState) -> Self {
        let tick = Table { width: state.tick.values.len(), ..Table::default() };
        let table = |source: &crate::state::SourceState| Table {
            words: source.words,
            width: source.width,
            ..Table::default()
        };
        DenseEncoder {
            tables: std::iter::once(tick).chain(state.sources.iter().map(table)).collect(),
            shared: Shared::default(),
            pending: Vec::new(),
            seen: vec![RecentStep::default(); RECENT_STEPS],
            links: Vec::new(),
            coder: EncoderState::default(),
            plan: Vec::new(),
            stream: Vec::new(),
        }
    }

    /// Allocates memory for blocks with the instances of `state`, assuming that every column
    /// changes.
    pub(in crate::columns) fn reserve(&mut self, state: &BlockState, bytes: usize) {
        let ticks = state.tick.values.len();
        let cells = state.sources.iter().map(crate::state::SourceState::cells);
        let mut total = 0;
        for (table, cells) in self.tables.iter_mut().zip(std::iter::once(ticks).chain(cells)) {
            let cells = cells.min(RESERVED_MAX - total);
            table.cells.reserve(cells);
            table.live.reserve(cells);
            table.changed_rows.reserve(RESERVED_ROWS_BYTES);
            total += cells;
        }
        self.pending.reserve(total);
        self.links.reserve(total);
        self.shared.reserve(total);
        self.plan.reserve(bytes);
        self.stream.reserve(bytes);
    }

    /// Begins another block.
    pub(in crate::columns) fn begin(&mut self) {
        self.tables.iter_mut().for_each(Table::clear);
        self.tables[0].add_slot();
        self.tables[0].rows.push(0);
        self.plan.clear();
        self.stream.clear();
        self.seen.fill(RecentStep::default());
    }

    /// The first pass, or a part of it: see [`Walker::walk_some`].
    pub(in crate::columns) fn plan_some(
        &mut self,
        frames: &[u8],
        at: usize,
        bytes: usize,
        walker: &mut Walker,
    ) -> Result<usize, Corrupt> {
        let mut pass = PlanPass { tables: &mut self.tables, seen: &mut self.seen };
        walker.walk_some(frames, at, bytes, &mut pass)
    }

    /// Makes the plan after the first pass; false if the block has more columns that change than
    /// a reader accepts.
    pub(in crate::columns) fn plan(&mut self, state: &BlockState) -> bool {
        if self.tables.iter().map(|table| table.live.len()).sum::<usize>() > LIVE_MAX {
            return false;
        }
        // The second pass starts with empty lists of rows, like the first.
        self.tables[1..].iter_mut().for_each(|table| table.rows.clear());
        let cells = self.tables.iter_mut().fold(0, |id, table| table.plan(id));
        self.shared.clear(cells);
        self.put_plan(state);
        self.put_links(cells);
        self.coder = EncoderState::default();
        true
    }

    /// The second pass, or a part of it.
    pub(in crate::columns) fn write_some(
        &mut self,
        frames: &[u8],
        at: usize,
        bytes: usize,
        walker: &mut Walker,
    ) -> Result<usize, Corrupt> {
        let mut pass = StreamPass {
            tables: &mut self.tables,
            shared: &mut self.shared,
            stream: Encoder::new(self.coder, &mut self.stream),
            pending: &mut self.pending,
        };
        let at = walker.walk_some(frames, at, bytes, &mut pass)?;
        self.coder = pass.stream.pause();
        Ok(at)
    }

    /// Ends the stream after the second pass.
    pub(in crate::columns) fn finish(&mut self) {
        Encoder::new(self.coder, &mut self.stream).finish();
    }

    /// Links columns to earlier ones with the same steps, and writes the links into the plan.
    fn put_links(&mut self, cells: usize) {
        self.links.clear();
        self.links.resize(cells, 0);
        for index in 0..self.tables.len() {
            let before: usize = self.tables[..index].iter().map(|table| table.cells.len()).sum();
            for at in 0..self.tables[index].live.len() {
                let candidate = self.tables[index].live[at].candidate;
                if candidate.lead < LINK_LEAD_MIN {
                    continue;
                }
                let to =
                    self.tables[candidate.table as usize].live(candidate.at as usize).candidate.id;
                if to >= candidate.id {
                    continue;
                }
                self.links[candidate.id as usize] =
                    u64::from(candidate.id - to) << 1 | u64::from(candidate.opposite);
                let own = candidate.id as usize - before;
                self.tables[index].cells[own].link(to, candidate.opposite);
            }
        }
        pack(&mut self.plan, &self.links);
    }

    fn put_plan(&mut self, state: &BlockState) {
        let plan = &mut self.plan;
        for (index, table) in self.tables.iter().enumerate() {
            put(plan, u64::from(table.readings));
            if table.readings == 0 {
                continue;
            }
            let source = index.checked_sub(1).and_then(|index| state.sources.get(index));
            put_names(plan, source, table.slots);
            put(plan, u64::from(table.changes));
            plan.extend_from_slice(&table.changed_rows);
            let columns = table.columns();
            for column in 0..columns {
                for &first in table.firsts.iter().skip(column).step_by(columns) {
                    put(plan, first);
                }
            }
            let unit = |&index: &u32| match index {
                0 => 0,
                _ => table.live[index as usize - 1].unit,
            };
            pack_each(plan, table.live_indexes.iter().map(unit));
        }
    }
}
