//! Encodes a snapshot as a frame's payload.

use sample::{Interner, Snapshot, Table};

use super::{BlockState, EDIT_FOLLOWS, ROWS_CHANGED, TEXTS_FOLLOW};
use crate::rows::put_edit;
use crate::state::SourceState;
use varint::{pack, put, put_bytes, zigzag};

/// Tables with at least this many rows and columns leave out rows that did not change.
const MANY_ROWS: usize = 16;
const MANY_COLUMNS: usize = 24;

/// Writes frames.  Its working memory is separate from the state, which readers have too.
#[derive(Default)]
pub(crate) struct FrameEncoder {
    /// The previous row of the tick.
    before: Vec<u64>,
    /// Differences of a reading.
    differences: Vec<u64>,
    /// For each slot the latest reading that used it, to distinguish rows of equal names.
    used: Vec<u32>,
    reading: u32,
    /// The previous rows, and memory to compute the edit.
    rows: Vec<u32>,
    mark: Vec<u32>,
    /// Rows that changed, each as the number of rows since the previous one.
    changed: Vec<u32>,
}

impl FrameEncoder {
    /// Appends the payload of a snapshot's frame to `out` and makes it `state`.
    pub(crate) fn encode<'a>(
        &mut self,
        state: &mut BlockState,
        snapshot: &Snapshot,
        unwritten: u64,
        texts: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
        out: &mut Vec<u8>,
    ) {
        let has_texts = texts.clone().next().is_some();
        self.before.clone_from(&state.tick.values);
        state.tick.set_tick(snapshot, unwritten, has_texts);
        let pairs = self.before.iter().zip(&state.tick.values);
        self.differences.clear();
        self.differences.extend(pairs.map(|(&old, &new)| zigzag(new.wrapping_sub(old))));
        pack(out, &self.differences);
        for (index, sample) in snapshot.samples.iter().enumerate() {
            if state.tick.has_table(index) {
                self.reading(&mut state.sources[index], &sample.table, out);
            }
        }
        if has_texts {
            state.texts.encode(texts, out);
        }
    }

    fn reading(&mut self, state: &mut SourceState, table: &Table, out: &mut Vec<u8>) {
        let flags_at = out.len();
        out.push(0);
        if !same_rows(state, table) {
            out[flags_at] |= EDIT_FOLLOWS;
            self.rows(state, table, out);
        }
        let texts = state.texts.len();
        let leaves_out = table.rows() >= MANY_ROWS && state.columns() >= MANY_COLUMNS;
        self.differences(state, table, leaves_out);
        if state.texts.len() > texts {
            out[flags_at] |= TEXTS_FOLLOW;
            put(out, (state.texts.len() - texts) as u64);
            for number in texts..state.texts.len() {
                put_bytes(out, state.texts.get(number).unwrap_or_default());
            }
        }
        if leaves_out {
            out[flags_at] |= ROWS_CHANGED;
            put(out, self.changed.len() as u64);
            for &since in &self.changed {
                put(out, u64::from(since));
            }
        }
        pack(out, &self.differences);
    }

    /// Writes the rows of a table, and gives new instances their slots.
    fn rows(&mut self, state: &mut SourceState, table: &Table, out: &mut Vec<u8>) {
        self.reading = self.reading.wrapping_add(1).max(1);
        self.used.clear();
        self.used.resize(state.names.len() + table.rows(), 0);
        let listed = state.names.len();
        self.rows.clone_from(&state.rows);
        state.rows.clear();
        for row in 0..table.rows() {
            let name = table.name(row);
            let found = state.names.find(name, |slot| self.used[slot] != self.reading);
            let slot = found.unwrap_or_else(|| state.add_slot(name));
            self.used[slot] = self.reading;
            state.rows.push(slot as u32);
        }
        let names = &state.names;
        put_edit(out, &self.rows, &state.rows, listed, &mut self.mark, |out, slot| {
            put_bytes(out, names.get(slot).unwrap_or_default());
        });
    }

    /// Computes the differences of a reading and makes it the latest.  With `leaves_out` only of the
    /// rows that changed.
    fn differences(&mut self, state: &mut SourceState, table: &Table, leaves_out: bool) {
        self.differences.clear();
        if leaves_out {
            self.changed_rows(state, table);
            return;
        }
        let (words, width, columns) = (state.words, state.width, state.columns());
        self.differences.resize(table.rows() * columns, 0);
        let values = table.values().chunks_exact(width.max(1));
        let presence = table.presence().chunks_exact(words.max(1));
        let differences = self.differences.chunks_exact_mut(columns.max(1));
        for (row, ((values, present), out)) in values.zip(presence).zip(differences).enumerate() {
            let slot = state.rows[row] as usize;
            difference(state, table, row, slot, (values, present), out);
        }
    }

    /// Computes the differences of the rows that changed.
    fn changed_rows(&mut self, state: &mut SourceState, table: &Table) {
        let (words, width, columns) = (state.words, state.width, state.columns());
        self.changed.clear();
        let mut told = 0;
        for row in 0..table.rows() {
            let slot = state.rows[row] as usize;
            if is_same(state, table, row, slot) {
                continue;
            }
            let at = self.differences.len();
            self.differences.resize(at + columns, 0);
            let out = &mut self.differences[at..];
            let values = &table.values()[row * width..][..width];
            let present = &table.presence()[row * words..][..words];
            difference(state, table, row, slot, (values, present), out);
            if out.iter().all(|&difference| difference == 0) {
                self.differences.truncate(at);
            } else {
                self.changed.push((row - told) as u32);
                told = row;
            }
        }
    }
}

/// Whether a row equals its slot's previous values.  May return false for an equal row with missing
/// cells.
fn is_same(state: &SourceState, table: &Table, row: usize, slot: usize) -> bool {
    let (words, width, columns) = (state.words, state.width, state.columns());
    let last = &state.values[slot * columns..][..columns];
    let values = &table.values()[row * width..][..width];
    if table.presence()[row * words..][..words] != last[..words] {
        return false;
    }
    let (last, mut from) = (&last[words..], 0);
    for &field in &state.text_fields {
        if values[from..field] != last[from..field] {
            return false;
        }
        if table
            .text(row, field)
            .is_some_and(|text| state.texts.get(last[field] as usize) != Some(text))
        {
            return false;
        }
        from = field + 1;
    }
    values[from..] == last[from..]
}

/// Writes a row's differences from its slot's previous values to `out`, which is all zeros, and
/// makes it the latest.  A missing cell keeps its value: no difference.
#[inline]
fn difference(
    state: &mut SourceState,
    table: &Table,
    row: usize,
    slot: usize,
    (values, present): (&[u64], &[u64]),
    out: &mut [u64],
) {
    let (words, columns) = (state.words, state.columns());
    let last = &mut state.values[slot * columns..][..columns];
    let (last_present, last_values) = last.split_at_mut(words);
    let (out_present, out_values) = out.split_at_mut(words);
    for ((out, last), &now) in out_present.iter_mut().zip(last_present).zip(present) {
        *out = now ^ *last;
        *last = now;
    }
    for (word, (&present, &texts)) in present.iter().zip(&state.text_bits).enumerate() {
        for run in runs(present & !texts, word * 64) {
            let cells = out_values[run.clone()].iter_mut().zip(&mut last_values[run.clone()]);
            for ((out, last), &now) in cells.zip(&values[run]) {
                *out = zigzag(now.wrapping_sub(*last));
                *last = now;
            }
        }
    }
    for &field in &state.text_fields {
        if let Some(text) = table.text(row, field) {
            let last = &mut last_values[field];
            let now = text_number(&mut state.texts, *last, text);
            out_values[field] = zigzag(now.wrapping_sub(*last));
            *last = now;
        }
    }
}

/// The number of a text cell, usually the same as before.
fn text_number(texts: &mut Interner, last: u64, text: &[u8]) -> u64 {
    if texts.get(last as usize) == Some(text) {
        return last;
    }
    let found = texts.find(text, |_| true);
    found.unwrap_or_else(|| texts.push(text)) as u64
}

/// The runs of set bits in a word, as ranges of the fields from `first` on.  Most rows are one or
/// two runs, and within a run the processor takes several cells at once.
#[inline]
fn runs(mut bits: u64, first: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    std::iter::from_fn(move || {
        let from = bits.trailing_zeros() as usize;
        if from == 64 {
            return None;
        }
        let to = from + (bits >> from).trailing_ones() as usize;
        bits &= u64::MAX.checked_shl(to as u32).unwrap_or(0);
        Some(first + from..first + to)
    })
}

/// Whether the table has the instances of the previous reading, in the same order.
fn same_rows(state: &SourceState, table: &Table) -> bool {
    let same =
        |(row, &slot): (usize, &u32)| state.names.get(slot as usize) == Some(table.name(row));
    state.rows.len() == table.rows() && state.rows.iter().enumerate().all(same)
}
