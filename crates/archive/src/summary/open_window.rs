//! The values of a source in the open window of a summary.
//!
//! Most processes sleep: their rows are the same at each reading.  Such a row costs a comparison; its
//! values, the same levels and no growth, are added when it changes or the window ends.

use std::sync::Arc;

use sample::{Interner, Kind, SourceDef};

use super::cell::{Cell, time_bits};
use crate::tracker::{ReadValue, RowValues, Took};
use crate::{Error, FieldValue};

/// Instances by fields, of one window.
pub(super) struct OpenWindow {
    def: Arc<SourceDef>,
    single_clock: bool,
    cells: Vec<Option<Cell>>,
    /// For each instance the latest readings in which its row was as before, not yet in its cells.
    runs: Vec<Run>,
    /// Times of the readings that can be compared with the one before.
    times: Vec<ReadingTime>,
    /// The time of the latest rate, as [`time_bits`] gives it.
    last_time: Option<u64>,
}

/// Readings by their index in the times.
#[derive(Clone, Copy, Default)]
struct Run {
    begin: usize,
    end: usize,
}

/// The time of a reading since the one before, and of all until its end.
#[derive(Clone, Copy)]
struct ReadingTime {
    seconds: f64,
    took_ns: u64,
    until_ns: u64,
}

impl ReadingTime {
    fn no_growth(&self) -> FieldValue {
        FieldValue::Growth { increase: 0, seconds: self.seconds, took_ns: self.took_ns }
    }
}

impl OpenWindow {
    pub(super) fn new(def: Arc<SourceDef>, single_clock: bool) -> Self {
        OpenWindow {
            def,
            single_clock,
            cells: Vec::new(),
            runs: Vec::new(),
            times: Vec::new(),
            last_time: None,
        }
    }

    /// The time of the latest rate since this was called before.
    pub(super) fn take_last_time(&mut self) -> Option<u64> {
        self.last_time.take()
    }

    /// The cells of an instance, whose latest raw values are these, with all that was read.
    pub(super) fn cells(&mut self, instance: usize, raw: &[Option<u64>]) -> &mut [Option<Cell>] {
        self.settle(instance, raw);
        let width = self.def.fields.len();
        self.make_room(instance);
        &mut self.cells[instance * width..(instance + 1) * width]
    }

    /// Begins the next window, when all cells are taken.
    pub(super) fn begin(&mut self) {
        self.times.clear();
    }

    fn make_room(&mut self, instance: usize) {
        let cells = (instance + 1) * self.def.fields.len();
        if self.cells.len() < cells {
            self.cells.resize(cells, None);
        }
    }

    fn add(&mut self, at: usize, later: &Cell) {
        match &mut self.cells[at] {
            Some(cell) => cell.merge(later),
            cell => *cell = Some(*later),
        }
    }

    /// Adds the readings in which the row of an instance was the same.
    fn settle(&mut self, instance: usize, raw: &[Option<u64>]) {
        let run = self.runs.get_mut(instance).map(std::mem::take).unwrap_or_default();
        let times = &self.times[run.begin..run.end];
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return };
        self.make_room(instance);
        let count = (run.end - run.begin) as u32;
        let growth = Cell {
            count,
            sum: 0,
            took_ns: last.until_ns - (first.until_ns - first.took_ns),
            min: first.no_growth(),
            max: first.no_growth(),
            last: last.no_growth(),
        };
        let def = Arc::clone(&self.def);
        let at = instance * def.fields.len();
        for (field, (raw, defined)) in raw.iter().zip(def.fields.iter()).enumerate() {
            match (defined.kind, raw) {
                (Kind::Gauge, Some(raw)) => {
                    let level = FieldValue::Level(raw.cast_signed());
                    let sum = i128::from(raw.cast_signed()) * i128::from(count);
                    self.add(at + field, &Cell { count, sum, ..Cell::of(level) });
                }
                (Kind::Counter, Some(_)) => self.add(at + field, &growth),
                _ => {}
            }
        }
    }
}

impl RowValues for OpenWindow {
    fn begin(&mut self, took: Took) {
        let before_ns = self.times.last().map_or(0, |time| time.until_ns);
        self.times.extend(took.map(|(seconds, took_ns)| ReadingTime {
            seconds,
            took_ns,
            until_ns: before_ns.saturating_add(took_ns),
        }));
    }

    fn same(&mut self, instance: usize, raw: &[Option<u64>]) {
        let end = self.times.len();
        if self.runs.len() <= instance {
            self.runs.resize(instance + 1, Run::default());
        }
        if self.runs[instance].end + 1 != end {
            self.settle(instance, raw);
            self.runs[instance] = Run { begin: end - 1, end };
        }
        self.runs[instance].end = end;
        if self.last_time.is_none() {
            let mut counters = raw.iter().zip(self.def.fields.iter());
            let has_rate = counters.any(|(raw, f)| f.kind == Kind::Counter && raw.is_some());
            let time = self.times.last().filter(|_| has_rate);
            self.last_time = time.map(|time| time_bits(time.no_growth(), self.single_clock));
        }
    }

    fn changed(&mut self, instance: usize, raw: &[Option<u64>]) {
        self.settle(instance, raw);
    }

    fn value(&mut self, _: &Interner, read: &ReadValue) -> Result<(), Error> {
        self.make_room(read.instance);
        self.add(read.instance * self.def.fields.len() + read.field, &Cell::of(read.value));
        if let FieldValue::Growth { .. } = read.value {
            self.last_time = Some(time_bits(read.value, self.single_clock));
        }
        Ok(())
    }
}
