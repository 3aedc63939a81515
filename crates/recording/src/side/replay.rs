//! Replays a segment of a side file from any of its ticks on: whole samples, as the blocks of the
//! recording give them.
//!
//! A dense block is decoded from its start, 0.2 µs for each value that changes.  Here the columns that
//! change are passed over at some nanoseconds a value, and those that do not change cost nothing.

use std::sync::Arc;

use sample::{Snapshot, SourceDef};

use super::column::{ColumnStream, Plain};
use super::read::{SideColumns, SideFile, WholeSegment, column};
use crate::focus::Focus;
use crate::format::CELLS_MAX;
use crate::frame::{BlockState, ROWS_MAX};
use crate::reader::Reader;
use crate::rows::read_edit;
use crate::schema::Mapping;
use crate::state::{SourceState, state_of};
use varint::{Bytes, Corrupt};

/// The samples of a segment, from some time on.
pub struct SideSamples {
    replay: SideReplay,
    state: BlockState,
    mappings: Vec<Mapping>,
    focus: Vec<Focus>,
    /// The number of the last block that they are of.
    pub last_block: u32,
    /// The number of the first sample of the segment in the recording.
    first_sequence: u64,
}

impl SideFile {
    /// The samples of a segment from the first one at or after a time; `None` if that one is the first
    /// of its block, or if the side file has not all of the segment's samples.
    #[must_use]
    pub fn samples(&self, reader: &Reader, from_realtime_ns: i64) -> Option<SideSamples> {
        let (block, sequence) = reader.block_within(from_realtime_ns)?;
        let segment = self.segments().iter().find(|segment| segment.blocks().contains(&block))?;
        let of_blocks = reader.samples_of_blocks(segment.blocks())?;
        let whole = self.whole(segment, reader.schemas())?;
        if whole.ticks.len() as u64 != of_blocks.end - of_blocks.start {
            return None;
        }
        let passed = usize::try_from(sequence.checked_sub(of_blocks.start)?).ok()?;
        let mut ticks = whole.ticks.iter().skip(passed);
        let first = ticks.position(|&tick| tick.cast_signed() >= from_realtime_ns)? + passed;
        let mut state = BlockState::new(reader.schemas());
        let replay = SideReplay::begin(whole, reader.schemas(), first, &mut state).ok()?;
        let focus = vec![Focus::Whole; reader.schemas().len()];
        let (mappings, last_block) = (reader.mappings().to_vec(), segment.last_block);
        let first_sequence = of_blocks.start;
        Some(SideSamples { replay, state, mappings, focus, last_block, first_sequence })
    }
}

impl SideSamples {
    /// Reads the next sample into `snapshot`, which must be made for [`Reader::defs`]; false if there
    /// is none.
    ///
    /// # Errors
    /// The side file is damaged: the recording has the sample with [`next_number`](Self::next_number).
    pub fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, Corrupt> {
        let is_sample = self.replay.next(&mut self.state)?;
        if is_sample {
            self.state.copy_to(&self.mappings, &self.focus, snapshot);
        }
        Ok(is_sample)
    }

    /// The number of the sample in the recording that [`next`](Self::next) reads next, or has failed to
    /// read.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.first_sequence + self.replay.next as u64
    }
}

/// A segment being replayed.
#[derive(Debug)]
struct SideReplay {
    /// For each tick its time since the epoch.
    ticks: Vec<u64>,
    /// For each tick: its monotonic_ns less that of its first reading, or else less its time; 1 for a
    /// restart; the gap.
    facts: [Vec<u64>; 5],
    sources: Vec<SourceReplay>,
    /// The part that has the edits of rows.
    moments: Plain,
    /// The tick that comes next, and what is known of it without its tables.
    next: usize,
    bare: Snapshot,
}

/// A source of a segment.
#[derive(Debug, Default)]
struct SourceReplay {
    readings: Vec<Reading>,
    /// Readings that were replayed.
    done: usize,
    /// The columns of each field.
    parts: Vec<Plain>,
    /// The columns that change, instance by instance, and for each instance its first one.
    streams: Vec<Live>,
    starts: Vec<usize>,
    slots: usize,
    edits: Edits,
}

#[derive(Debug)]
struct Reading {
    tick: usize,
    clocks: (u64, i64),
    state: u64,
    cost_ns: u64,
}

/// A column that changes.
#[derive(Debug)]
struct Live {
    field: usize,
    stream: ColumnStream,
}

/// The edits of a source's rows that are not applied yet.
#[derive(Debug, Default)]
struct Edits {
    at: usize,
    left: usize,
    /// The reading of the next one.
    reading: u64,
    /// Instances that were listed so far.
    listed: usize,
    memory: Vec<u32>,
}

impl SideReplay {
    /// Begins at the tick of that number; sets what all columns have before it.
    fn begin(
        whole: WholeSegment,
        schemas: &[Arc<SourceDef>],
        first: usize,
        state: &mut BlockState,
    ) -> Result<SideReplay, Corrupt> {
        let WholeSegment { ticks, moments, heads, parts } = whole;
        let (mut bytes, mut bits_at, count) = (Bytes::new(&moments.bytes), 0, ticks.len());
        let mut facts: [Vec<u64>; 5] = Default::default();
        for column_of in &mut facts {
            *column_of = column(&mut bytes, &mut bits_at, count, &moments.bits)?;
        }
        let mut sources = Vec::new();
        for (head, parts) in heads.iter().zip(parts) {
            let (columns, of_ticks) = SideColumns::read_with_ticks(head, &ticks)?;
            let count = columns.readings.len();
            let states = column(&mut bytes, &mut bits_at, count, &moments.bits)?;
            let costs = column(&mut bytes, &mut bits_at, count, &moments.bits)?;
            let readings = columns.readings.iter().zip(of_ticks).zip(states.iter().zip(costs));
            let readings = readings.map(|((reading, tick), (&state, cost_ns))| Reading {
                tick,
                clocks: reading.clocks,
                state,
                cost_ns,
            });
            let mut source = SourceReplay { parts, ..SourceReplay::default() };
            source.readings = readings.collect();
            source.edits.skip(&mut bytes)?;
            sources.push((source, columns));
        }
        if bytes.left() > 0 || sources.len() != state.sources.len() {
            return Err(Corrupt("a segment has other sources"));
        }
        let mut cells = CELLS_MAX;
        let mut done = Vec::new();
        for ((mut source, columns), own) in sources.into_iter().zip(&mut state.sources) {
            for text in 0..columns.texts() as u64 {
                own.texts.push(columns.text(text).unwrap_or_default());
            }
            source.seek(&columns, first, &mut cells, own)?;
            while source.edits.left > 0 && source.edits.reading < source.done as u64 {
                source.edits.apply(&moments, source.slots, own.columns(), &mut own.rows)?;
            }
            done.push(source);
        }
        let bare = Snapshot::new(schemas);
        Ok(SideReplay { ticks, facts, sources: done, moments, next: first, bare })
    }

    /// Replays the next sample; false when there is none.
    fn next(&mut self, state: &mut BlockState) -> Result<bool, Corrupt> {
        let tick = self.next;
        let Some(&realtime) = self.ticks.get(tick) else { return Ok(false) };
        let [late, restart, missed, unwritten, unreadable] = &self.facts;
        let bare = &mut self.bare;
        bare.realtime_ns = realtime.cast_signed();
        bare.restart = restart[tick] != 0;
        bare.gap.ticks_missed = missed[tick];
        bare.gap.samples_unwritten = unwritten[tick];
        bare.gap.samples_unreadable = unreadable[tick];
        // The cost of a source is stored as its difference from the time until the next one began.
        let mut next_began = None;
        for (index, source) in self.sources.iter().enumerate().rev() {
            let reading = source.readings.get(source.done).filter(|reading| reading.tick == tick);
            bare.fresh[index] = reading.is_some();
            let Some(reading) = reading else { continue };
            let sample = &mut bare.samples[index];
            (sample.monotonic_ns, sample.realtime_ns) = reading.clocks;
            sample.state = state_of(reading.state);
            let until = next_began.map_or(0, |next: u64| next.wrapping_sub(reading.clocks.0));
            sample.cost_ns = reading.cost_ns.wrapping_add(until);
            next_began = Some(reading.clocks.0);
        }
        bare.monotonic_ns = next_began.unwrap_or(realtime).wrapping_add(late[tick]);
        state.tick.set_tick(bare, 0, false);
        for (index, source) in self.sources.iter_mut().enumerate() {
            if !self.bare.fresh[index] {
                continue;
            }
            let number = source.done as u64;
            source.done += 1;
            let own = &mut state.sources[index];
            if source.edits.left > 0 && source.edits.reading == number {
                source.edits.apply(&self.moments, source.slots, own.columns(), &mut own.rows)?;
            }
            if state.tick.has_table(index) {
                source.advance(own)?;
            }
        }
        self.next += 1;
        Ok(true)
    }
}

impl SourceReplay {
    /// Goes to the first reading that is not before a tick: sets what all columns have there.
    fn seek(
        &mut self,
        columns: &SideColumns,
        tick: usize,
        cells: &mut usize,
        own: &mut SourceState,
    ) -> Result<(), Corrupt> {
        self.done = self.readings.partition_point(|reading| reading.tick < tick);
        self.slots = columns.instances();
        let count = self.slots.checked_mul(own.columns()).filter(|count| count <= cells);
        *cells -= count.ok_or(Corrupt("it has too many instances"))?;
        let mut places = vec![(0, 0); self.parts.len()];
        for slot in 0..self.slots {
            own.add_slot(columns.name(slot));
            self.starts.push(self.streams.len());
            let passed =
                |&(begun, length): &(usize, usize)| self.done.saturating_sub(begun).min(length);
            let passed: usize = columns.runs(slot).iter().map(passed).sum();
            for (field, part) in self.parts.iter().enumerate() {
                let mut stream = ColumnStream::parse(part, &mut places[field])?;
                let at = slot * own.columns();
                let row = &mut own.values[at..at + own.words + own.width];
                if !stream.changes() {
                    stream.set(part, field, own.words, row)?;
                    continue;
                }
                if passed > 0 {
                    stream.pass(part, passed)?;
                    stream.set(part, field, own.words, row)?;
                }
                self.streams.push(Live { field, stream });
            }
        }
        self.starts.push(self.streams.len());
        Ok(())
    }

    /// Sets what the rows have in the next reading.
    fn advance(&mut self, own: &mut SourceState) -> Result<(), Corrupt> {
        let columns = own.columns();
        for &slot in &own.rows {
            let slot = slot as usize;
            let row = &mut own.values[slot * columns..(slot + 1) * columns];
            for Live { field, stream } in
                &mut self.streams[self.starts[slot]..self.starts[slot + 1]]
            {
                stream.set(&self.parts[*field], *field, own.words, row)?;
            }
        }
        Ok(())
    }
}

impl Edits {
    /// Keeps the position of the edits, and passes over them.
    fn skip(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Corrupt> {
        self.left = bytes.count()?;
        let edits = bytes.prefixed()?;
        self.at = bytes.position() - edits.len();
        if self.left > 0 {
            self.reading = Bytes::new(edits).varint()?;
        }
        Ok(())
    }

    /// Applies the next one.
    fn apply(
        &mut self,
        moments: &Plain,
        slots: usize,
        columns: usize,
        rows: &mut Vec<u32>,
    ) -> Result<(), Corrupt> {
        let mut bytes = Bytes::at(&moments.bytes, self.at);
        bytes.varint()?;
        let most = ROWS_MAX.min(CELLS_MAX / columns.max(1));
        read_edit(&mut bytes, rows, &mut self.memory, &mut self.listed, most, |_| Ok(()))?;
        if self.listed > slots {
            rows.clear();
            return Err(Corrupt("a row has no instance"));
        }
        self.left -= 1;
        self.at = bytes.position();
        if self.left > 0 {
            self.reading = self.reading.saturating_add(bytes.varint()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_segment_is_replayed_or_refused(
            parts in proptest::collection::vec(proptest::collection::vec(
                prop_oneof![4 => 0_u8..4, 1 => any::<u8>()], 0..60), 4),
            first in 0_usize..4,
        ) {
            let plain = |bytes: &Vec<u8>| Plain { bytes: bytes.clone(), bits: vec![7; 40] };
            let schema = SourceDef {
                fields: (0..2).map(|_| sample::Field::counter("n", sample::Unit::Count, "n")).collect(),
                ..SourceDef::EMPTY
            };
            let schemas = [Arc::new(schema)];
            let whole = WholeSegment {
                ticks: vec![5; 3],
                moments: plain(&parts[0]),
                heads: vec![plain(&parts[1])],
                parts: vec![vec![plain(&parts[2]), plain(&parts[3])]],
            };
            let (mut state, mut snapshot) = (BlockState::new(&schemas), Snapshot::new(&schemas));
            let mappings = [Mapping::new(&schemas[0], &[])];
            if let Ok(mut replay) = SideReplay::begin(whole, &schemas, first, &mut state) {
                while let Ok(true) = replay.next(&mut state) {
                    state.copy_to(&mappings, &[Focus::Whole], &mut snapshot);
                }
            }
        }
    }
}
