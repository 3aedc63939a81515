//! The state of a block: the latest value of every cell, from which the next frame is a difference.
//!
//! Within a block each instance of a source has a *slot*, numbered in the order of first
//! appearance.  Slots never change, so when instances come, go or are reordered, only the list of
//! slots changes.  A slot's columns are its presence words, then its fields.
//! The tick itself is one more row of numbers: times, gaps, and each source's state.

use sample::SourceDef;
use sample::{Gap, Interner, Sample, Snapshot, State, Table};

use crate::focus::Focus;
use crate::schema::Mapping;

/// One source of the block.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceState {
    /// Fields of a row.
    pub(crate) width: usize,
    /// Presence words of a row.
    pub(crate) words: usize,
    /// Which fields are text: their values are numbers in `texts`.
    pub(crate) text_fields: Vec<usize>,
    /// Which fields are texts: a bit a field, in `words` words.
    pub(crate) text_bits: Vec<u64>,
    /// Slots' names.
    pub(crate) names: Interner,
    /// Texts by number.
    pub(crate) texts: Interner,
    /// The slots of the latest reading's rows.
    pub(crate) rows: Vec<u32>,
    /// Slots by columns.
    pub(crate) values: Vec<u64>,
}

impl SourceState {
    /// The state of a source at the start of a block.
    pub(crate) fn new(schema: &SourceDef) -> Self {
        let words = schema.fields.len().div_ceil(64);
        let text_fields = crate::schema::text_fields(schema);
        let mut text_bits = vec![0; words];
        for &field in &text_fields {
            text_bits[field / 64] |= 1 << (field % 64);
        }
        SourceState {
            width: schema.fields.len(),
            words,
            text_fields,
            text_bits,
            ..SourceState::default()
        }
    }

    /// Columns of a slot.
    pub(crate) fn columns(&self) -> usize {
        self.words + self.width
    }

    /// Cells of all slots.
    pub(crate) fn cells(&self) -> usize {
        self.values.len()
    }

    /// Clears the state, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.texts.clear();
        self.rows.clear();
        self.values.clear();
    }

    /// Gives a new instance its slot, with zeros.
    pub(crate) fn add_slot(&mut self, name: &[u8]) -> usize {
        let slot = self.names.push(name);
        self.values.resize((slot + 1) * self.columns(), 0);
        slot
    }

    /// Makes `table` the latest reading, of which it sets the fields that `focus` has.
    pub(crate) fn fill(&self, mapping: &Mapping, focus: &Focus, table: &mut Table) {
        table.begin();
        let columns = self.columns();
        let is_whole = mapping.fields.is_empty() && *focus == Focus::Whole;
        for &slot in &self.rows {
            let slot = slot as usize;
            let name = self.names.get(slot).unwrap_or_default();
            let Some(cells) = self.values.get(slot * columns..(slot + 1) * columns) else {
                continue;
            };
            let (present, values) = cells.split_at(self.words);
            let mut row = table.row(name);
            let has = |field: usize| present[field / 64] >> (field % 64) & 1 == 1;
            let text = |field: usize| self.texts.get(usize::try_from(values[field]).ok()?);
            if is_whole {
                row.fill(values, present, &self.text_fields);
                for field in self.text_fields.iter().copied().filter(|field| has(*field)) {
                    text(field).into_iter().for_each(|text| row.set_text(field, text));
                }
                continue;
            }
            let mut set = |field: usize| {
                let place = mapping.fields.get(field).copied().unwrap_or(Some(field));
                let Some(place) = place else { return };
                if !has(field) {
                    return;
                }
                if !self.text_fields.contains(&field) {
                    row.set(place, values[field]);
                } else if let Some(text) = text(field) {
                    row.set_text(place, text);
                }
            };
            match focus {
                Focus::Whole => (0..values.len()).for_each(&mut set),
                Focus::Fields(fields) => fields.iter().copied().for_each(&mut set),
                Focus::Nothing => {}
            }
        }
    }
}

/// Columns of the tick's row: first these, then for each source its state, then for each source
/// its start, its clock, its cost.
const MONOTONIC: usize = 0;
/// `realtime_ns` less `monotonic_ns`.
const CLOCK: usize = 1;
const FLAGS: usize = 2;
const TICKS_MISSED: usize = 3;
const UNWRITTEN: usize = 4;
const UNREADABLE: usize = 5;
const FIXED: usize = 6;

/// [`Snapshot::restart`].
const FLAG_RESTART: u64 = 1;
/// The frame has kernel texts.
pub(crate) const FLAG_TEXTS: u64 = 2;

/// A source's state in the tick's row: 0 if it was not read at this tick.  The `errno` of a failure
/// is in the bits above the low eight.
const STATE_OK: u64 = 1;

pub(crate) fn state_code(state: State) -> u64 {
    match state {
        State::Ok => STATE_OK,
        State::Absent => 2,
        State::Denied => 3,
        State::Failed(errno) => 4 | u64::from(errno.cast_unsigned()) << 8,
        State::Skipped => 5,
        State::NotRecorded => 6,
    }
}

pub(crate) fn state_of(code: u64) -> State {
    match code & 0xff {
        STATE_OK => State::Ok,
        2 => State::Absent,
        3 => State::Denied,
        4 => State::Failed((code >> 8) as u32 as i32),
        5 => State::Skipped,
        _ => State::NotRecorded,
    }
}

/// The tick's own row.
#[derive(Clone, Debug)]
pub(crate) struct TickState {
    sources: usize,
    /// Times are rounded to multiples of this.
    grain_ns: u64,
    /// One value a column.
    pub(crate) values: Vec<u64>,
}

impl TickState {
    /// The state at the start of a block with this many sources.
    pub(crate) fn new(sources: usize) -> Self {
        TickState { sources, grain_ns: 1, values: vec![0; FIXED + 4 * sources] }
    }

    /// From now on rounds times to multiples of `grain_ns`.
    pub(crate) fn set_grain(&mut self, grain_ns: u64) {
        self.grain_ns = grain_ns.max(1);
    }

    /// Clears the state.
    pub(crate) fn clear(&mut self) {
        self.values.fill(0);
    }

    /// Whether the source was read and gave a table.
    pub(crate) fn has_table(&self, source: usize) -> bool {
        self.values[FIXED + source] & 0xff == STATE_OK
    }

    /// Whether the frame has kernel texts.
    pub(crate) fn has_texts(&self) -> bool {
        self.values[FLAGS] & FLAG_TEXTS != 0
    }

    /// The tick's `realtime_ns`.
    pub(crate) fn realtime_ns(&self) -> i64 {
        self.values[MONOTONIC].wrapping_add(self.values[CLOCK]).cast_signed()
    }

    /// Takes the tick of a snapshot.  The start of a source's read is stored as the difference from
    /// the end of the previous source's, usually 0; the offset of its two clocks as the difference
    /// from the tick's offset.
    pub(crate) fn set_tick(&mut self, snapshot: &Snapshot, unwritten: u64, has_texts: bool) {
        let (values, sources) = (&mut self.values, self.sources);
        let grain_ns = self.grain_ns;
        let round = |time_ns: u64| match grain_ns {
            1 => time_ns,
            _ => time_ns.wrapping_add(grain_ns / 2) / grain_ns * grain_ns,
        };
        // The two clocks are read one after the other: a change below a grain is noise.
        let steady = |clock: u64, before: u64| {
            let apart = clock.wrapping_sub(before).cast_signed().unsigned_abs();
            if apart < grain_ns { before } else { round(clock) }
        };
        let clock = snapshot.realtime_ns.cast_unsigned().wrapping_sub(snapshot.monotonic_ns);
        let clock = steady(clock, values[CLOCK]);
        let gap = &snapshot.gap;
        values[MONOTONIC] = round(snapshot.monotonic_ns);
        values[CLOCK] = clock;
        values[FLAGS] = if snapshot.restart { FLAG_RESTART } else { 0 }
            | if has_texts { FLAG_TEXTS } else { 0 };
        values[TICKS_MISSED] = gap.ticks_missed;
        values[UNWRITTEN] = gap.samples_unwritten.wrapping_add(unwritten);
        values[UNREADABLE] = gap.samples_unreadable;
        let mut expected = values[MONOTONIC];
        for (index, sample) in snapshot.samples.iter().enumerate() {
            let at = FIXED + index;
            if !snapshot.fresh[index] {
                values[at] = 0;
                continue;
            }
            values[at] = state_code(sample.state);
            let own_clock = sample.realtime_ns.cast_unsigned().wrapping_sub(sample.monotonic_ns);
            // Both ends are rounded, so that durations add up without error.
            let start = round(sample.monotonic_ns);
            let end = round(sample.monotonic_ns.wrapping_add(sample.cost_ns));
            values[at + sources] = start.wrapping_sub(expected);
            values[at + 2 * sources] = steady(own_clock, clock).wrapping_sub(clock);
            values[at + 3 * sources] = end.wrapping_sub(start);
            expected = end;
        }
    }

    /// Copies everything of the tick except the tables to `snapshot`.
    pub(crate) fn copy_to(&self, snapshot: &mut Snapshot) {
        let (values, sources) = (&self.values, self.sources);
        snapshot.monotonic_ns = values[MONOTONIC];
        snapshot.realtime_ns = self.realtime_ns();
        snapshot.restart = values[FLAGS] & FLAG_RESTART != 0;
        snapshot.gap = Gap {
            ticks_missed: values[TICKS_MISSED],
            samples_unwritten: values[UNWRITTEN],
            samples_unreadable: values[UNREADABLE],
        };
        let mut expected = values[MONOTONIC];
        for index in 0..sources {
            let at = FIXED + index;
            snapshot.fresh[index] = values[at] != 0;
            if values[at] == 0 {
                continue;
            }
            let sample: &mut Sample = &mut snapshot.samples[index];
            let clock = values[CLOCK].wrapping_add(values[at + 2 * sources]);
            sample.state = state_of(values[at]);
            sample.monotonic_ns = expected.wrapping_add(values[at + sources]);
            sample.realtime_ns = sample.monotonic_ns.wrapping_add(clock).cast_signed();
            sample.cost_ns = values[at + 3 * sources];
            expected = sample.monotonic_ns.wrapping_add(sample.cost_ns);
        }
    }
}
