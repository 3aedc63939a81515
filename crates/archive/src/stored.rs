//! Stored values of a source, as they were read: for who has another arithmetic than that of the
//! archive.

use std::ops::Range;

use recording::{SideReading, SideValues};
use sample::{Interner, Kind, SourceDef, State};

use crate::Error;
use crate::archive::Recordings;
use crate::reading::{Select, SourceReading};
use crate::scan::Visit;
use crate::tracker::{FileColumns, INSTANCES_MAX};

/// Readings of a side file that are taken at once: so much memory is used for a field.
const READINGS_AT_ONCE: usize = 8192;

/// What is stored of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredValue<'a> {
    /// It was not read, or the recording does not have it.
    Missing,
    /// A counter, or the bits of a signed gauge.
    Number(u64),
    /// A text.
    Text(&'a [u8]),
}

/// An instance in one reading.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    /// When the source was read, since the epoch.
    pub realtime_ns: i64,
    /// The index of its recording ([`Recordings::path`]).
    pub file: usize,
    /// The definition of its fields.
    pub def: &'a SourceDef,
    /// The number of the instance, from 0.
    pub instance: usize,
    /// The name of the instance.
    pub name: &'a [u8],
    /// The fields, in the order in which they were asked for; `None` if the reading does not have the
    /// instance, and the one before had it.
    pub values: Option<&'a [StoredValue<'a>]>,
}

/// A field of an instance in some readings, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct StoredColumn<'a> {
    /// The index of its recording ([`Recordings::path`]).
    pub file: usize,
    /// The definition of its fields.
    pub def: &'a SourceDef,
    /// The number of the instance, from 0.
    pub instance: usize,
    /// The name of the instance.
    pub name: &'a [u8],
    /// The field, by its place among those that were asked for.
    pub field: usize,
    values: &'a SideValues,
    /// The readings of the values that are given.
    window: &'a Range<usize>,
}

impl StoredColumn<'_> {
    /// The values: of each run of readings that have one, its first reading, by its place among the
    /// times, and the values: counters, or the bits of signed gauges.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[u64])> {
        self.values.runs().filter_map(|(begun, values)| {
            let before = self.window.start.saturating_sub(begun);
            let length = self.window.end.saturating_sub(begun).min(values.len());
            let values = values.get(before..length).filter(|values| !values.is_empty())?;
            Some((begun + before - self.window.start, values))
        })
    }
}

/// What takes the rows of a source.
pub trait VisitStored {
    /// Whether an instance is wanted.  It is asked once for each.
    fn wants(&mut self, name: &[u8]) -> bool;

    /// Takes a row.  Those of one instance come in the order of the readings; instances in any.
    ///
    /// # Errors
    /// What ends the scan; [`Error::Ended`] if nothing failed.
    fn row(&mut self, row: &StoredRow<'_>) -> Result<(), Error>;

    /// Whether it may be given columns of numbers in place of rows.
    fn takes_columns(&self) -> bool {
        false
    }

    /// Columns of some readings follow: when the source was read, of each, since the epoch, in rising
    /// order.
    fn begin_columns(&mut self, _times_ns: &[i64]) {}

    /// Takes a column, in place of the rows of its instance in these readings.  An instance gives a column
    /// for each field that was asked for; those of one field come in the order of the readings.  Rows of
    /// other readings may come between them.
    ///
    /// # Errors
    /// As of [`row`](Self::row).
    fn column(&mut self, _column: &StoredColumn<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl Recordings {
    /// Gives the rows of a source in a period to `visit`; those of a reading before it may come, too.
    ///
    /// # Errors
    /// An unknown host or source, a recording that cannot be read, more instances than a scan keeps,
    /// and those of `visit`.
    pub fn stored(&self, select: &Select<'_>, visit: &mut dyn VisitStored) -> Result<(), Error> {
        if self.stored_targets(select, visit)? {
            return Ok(());
        }
        self.visit(
            select,
            &mut StoredRows {
                select,
                visit,
                names: Interner::default(),
                instances: Vec::new(),
                reading: 0,
                realtime_ns: i64::MIN,
                rows: Vec::new(),
                present: Vec::new(),
                file: None,
                places: vec![None; select.fields.len()],
            },
        )
    }
}

/// The rows while the readings come.
struct StoredRows<'a> {
    select: &'a Select<'a>,
    visit: &'a mut dyn VisitStored,
    names: Interner,
    instances: Vec<SeenInstance>,
    /// The number of the latest reading, from 1, and its time.
    reading: u64,
    realtime_ns: i64,
    /// The instances of the latest reading's rows: mostly those of the next one, too.
    rows: Vec<usize>,
    /// The wanted instances of the latest reading.
    present: Vec<usize>,
    file: Option<usize>,
    /// For each field asked for its place in the definition of the recording.
    places: Vec<Option<usize>>,
}

#[derive(Clone, Copy)]
struct SeenInstance {
    is_wanted: bool,
    /// The latest reading that has it.
    reading: u64,
}

impl StoredRows<'_> {
    fn begin_file(&mut self, file: usize, def: &SourceDef) {
        if self.file != Some(file) {
            self.file = Some(file);
            self.places = self.select.fields.iter().map(|field| def.field(field)).collect();
        }
    }

    fn instance(&mut self, name: &[u8]) -> Result<usize, Error> {
        if let Some(instance) = self.names.find(name, |_| true) {
            return Ok(instance);
        }
        if self.names.len() == INSTANCES_MAX {
            return Err(Error::TooMuch { what: "instances", limit: INSTANCES_MAX });
        }
        self.instances.push(SeenInstance { is_wanted: self.visit.wants(name), reading: 0 });
        Ok(self.names.push(name))
    }

    /// The instance of a row.
    fn row(&mut self, row: usize, name: &[u8]) -> Result<usize, Error> {
        let expected = self.rows.get(row).copied();
        let found = expected.filter(|&instance| self.names.get(instance) == Some(name));
        let instance = match found {
            Some(instance) => return Ok(instance),
            None => self.instance(name)?,
        };
        match self.rows.get_mut(row) {
            Some(place) => *place = instance,
            None => self.rows.push(instance),
        }
        Ok(instance)
    }

    /// Gives a row, or the end of an instance.
    fn pass_row(
        &mut self,
        (realtime_ns, file, def): (i64, usize, &SourceDef),
        instance: usize,
        values: Option<&[StoredValue<'_>]>,
    ) -> Result<(), Error> {
        let name = self.names.get(instance).unwrap_or_default();
        self.visit.row(&StoredRow { realtime_ns, file, def, instance, name, values })
    }

    /// Gives the ends of the instances that the latest reading but one had and the latest has not.
    fn end_others(
        &mut self,
        of: (i64, usize, &SourceDef),
        present: Vec<usize>,
    ) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.present, present);
        for instance in before {
            if self.instances[instance].reading != self.reading {
                self.pass_row(of, instance, None)?;
            }
        }
        Ok(())
    }

    /// When the source was read, of all readings, if columns may be given of them; else nothing.
    fn column_times(&self, from: &FileColumns<'_>, readings: &[SideReading]) -> Vec<i64> {
        let is_number =
            |place: &Option<usize>| place.is_none_or(|at| from.def.fields[at].kind != Kind::Text);
        let may_be = self.visit.takes_columns()
            && from.fields.iter().all(Option::is_some)
            && readings.iter().all(|reading| reading.is_ok)
            && readings.is_sorted_by(|one, next| one.clocks.1 < next.clocks.1)
            && self.places.iter().all(is_number);
        let times = readings.iter().map(|reading| reading.clocks.1);
        if may_be { times.collect() } else { Vec::new() }
    }

    /// Gives the columns of an instance; false if one is damaged.
    fn give_columns(
        &mut self,
        from: &FileColumns<'_>,
        (slot, instance): (usize, usize),
        cells: &mut Cells,
    ) -> Result<bool, Error> {
        for (field, column) in from.fields.iter().enumerate() {
            let Some(column) = *column else { continue };
            if !from.columns.read_column(slot, column, cells.window.end, &mut cells.column) {
                return Ok(false);
            }
            self.visit.column(&StoredColumn {
                file: from.file,
                def: from.def,
                instance,
                name: self.names.get(instance).unwrap_or_default(),
                field,
                values: &cells.column,
                window: &cells.window,
            })?;
        }
        Ok(true)
    }

    /// Takes the readings of a window of columns.
    fn window(&mut self, from: &FileColumns<'_>, window: Range<usize>) -> Result<bool, Error> {
        let columns = from.columns;
        let readings = &columns.readings[window.clone()];
        let Some(first) = readings.iter().position(|reading| reading.is_ok) else {
            return Ok(true);
        };
        let last = readings.iter().rposition(|reading| reading.is_ok).unwrap_or(first);
        let before = self.reading;
        self.reading += 1;
        let mut present = Vec::new();
        let times_ns = self.column_times(from, readings);
        if !times_ns.is_empty() {
            self.visit.begin_columns(&times_ns);
        }
        let fields = self.select.fields.len();
        let mut cells = Cells::new(if times_ns.is_empty() { fields } else { 0 }, window);
        let mut values = vec![StoredValue::Missing; self.select.fields.len()];
        for slot in 0..columns.instances() {
            let instance = self.instance(columns.name(slot))?;
            let SeenInstance { is_wanted, reading: seen } = self.instances[instance];
            if !is_wanted {
                continue;
            }
            if !times_ns.is_empty() {
                if !self.give_columns(from, (slot, instance), &mut cells)? {
                    return Ok(false);
                }
                self.instances[instance].reading = self.reading;
                if cells.has_reading(from, slot, last) {
                    present.push(instance);
                }
                continue;
            }
            if !cells.fill(from, slot) {
                return Ok(false);
            }
            let mut is_there = seen == before && before > 0;
            for (index, reading) in readings.iter().enumerate().filter(|(_, one)| one.is_ok) {
                let of = (reading.clocks.1, from.file, from.def);
                if cells.has[index] {
                    for (field, value) in values.iter_mut().enumerate() {
                        let is_text = self.places[field]
                            .is_some_and(|place| from.def.fields[place].kind == Kind::Text);
                        *value = cells.value(from, index, field, is_text);
                    }
                    self.pass_row(of, instance, Some(&values))?;
                } else if is_there {
                    self.pass_row(of, instance, None)?;
                }
                is_there = cells.has[index];
            }
            // One that ended in the window was given its end.
            self.instances[instance].reading = self.reading;
            if cells.has[last] {
                present.push(instance);
            }
        }
        self.end_others((readings[first].clocks.1, from.file, from.def), present)?;
        // Those that are not there at the end are not at the next window's beginning.
        for slot in 0..columns.instances() {
            let instance = self.instance(columns.name(slot))?;
            self.instances[instance].reading = 0;
        }
        for &instance in &self.present {
            self.instances[instance].reading = self.reading;
        }
        self.realtime_ns = readings[last].clocks.1;
        Ok(true)
    }
}

impl Visit for StoredRows<'_> {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error> {
        self.begin_file(reading.file, reading.def);
        let sample = reading.sample;
        // Some sources are read at every third tick only; the reading between is an old one.
        if sample.state != State::Ok || sample.realtime_ns == self.realtime_ns {
            return Ok(());
        }
        self.realtime_ns = sample.realtime_ns;
        self.reading += 1;
        let of = (sample.realtime_ns, reading.file, reading.def);
        let (mut present, mut values) = (Vec::new(), Vec::with_capacity(self.places.len()));
        for row in 0..sample.table.rows() {
            let instance = self.row(row, sample.table.name(row))?;
            let seen = &mut self.instances[instance];
            // Of two rows with one name the first counts.
            if !seen.is_wanted || std::mem::replace(&mut seen.reading, self.reading) == self.reading
            {
                continue;
            }
            present.push(instance);
            values.clear();
            values.extend(self.places.iter().map(|place| {
                let Some(place) = *place else { return StoredValue::Missing };
                let value = match reading.def.fields[place].kind {
                    Kind::Text => sample.table.text(row, place).map(StoredValue::Text),
                    _ => sample.table.get(row, place).map(StoredValue::Number),
                };
                value.unwrap_or(StoredValue::Missing)
            }));
            self.pass_row(of, instance, Some(&values))?;
        }
        self.end_others(of, present)
    }

    fn columns(&mut self, from: &FileColumns<'_>) -> Result<bool, Error> {
        self.begin_file(from.file, from.def);
        let readings = &from.columns.readings;
        let first = readings.iter().position(|one| one.realtime_ns >= self.select.from_ns);
        let first = first.unwrap_or(readings.len());
        let in_period = readings[first..].iter();
        let thru_ns = self.select.thru_ns;
        let end = first + in_period.take_while(|one| one.realtime_ns < thru_ns).count();
        let mut begin = first.saturating_sub(1);
        while begin < end {
            let next = end.min(begin + READINGS_AT_ONCE);
            if !self.window(from, begin..next)? {
                return Ok(false);
            }
            begin = next;
        }
        Ok(true)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        false
    }

    fn needs_base(&self) -> bool {
        false
    }
}

/// The fields of one instance in a window of readings.
struct Cells {
    window: Range<usize>,
    /// Whether a reading has the instance.
    has: Vec<bool>,
    /// For each field the values.
    values: Vec<Vec<Option<u64>>>,
    /// A column while it is read.
    column: SideValues,
}

impl Cells {
    fn new(fields: usize, window: Range<usize>) -> Self {
        let readings = window.len();
        Cells {
            window,
            has: vec![false; readings],
            values: vec![vec![None; readings]; fields],
            column: SideValues::default(),
        }
    }

    /// Whether a reading of the window has an instance.
    fn has_reading(&self, from: &FileColumns<'_>, slot: usize, reading: usize) -> bool {
        let reading = self.window.start + reading;
        let mut runs = from.columns.runs(slot).iter();
        runs.any(|&(begun, length)| (begun..begun + length).contains(&reading))
    }

    /// Takes the values of an instance; false if they are damaged.
    fn fill(&mut self, from: &FileColumns<'_>, slot: usize) -> bool {
        let window = &self.window;
        self.has.fill(false);
        for &(begun, length) in from.columns.runs(slot) {
            let (begun, end) = (begun.max(window.start), (begun + length).min(window.end));
            if begun < end {
                self.has[begun - window.start..end - window.start].fill(true);
            }
        }
        for (values, column) in self.values.iter_mut().zip(from.fields) {
            values.fill(None);
            let Some(column) = *column else { continue };
            if !from.columns.read_column(slot, column, window.end, &mut self.column) {
                return false;
            }
            for (run, stored) in self.column.runs() {
                for (reading, &value) in (run..).zip(stored) {
                    if window.contains(&reading) {
                        values[reading - window.start] = Some(value);
                    }
                }
            }
        }
        true
    }

    fn value<'a>(
        &self,
        from: &FileColumns<'a>,
        reading: usize,
        field: usize,
        is_text: bool,
    ) -> StoredValue<'a> {
        let value = match self.values[field][reading] {
            Some(text) if is_text => from.columns.text(text).map(StoredValue::Text),
            value => value.map(StoredValue::Number),
        };
        value.unwrap_or(StoredValue::Missing)
    }
}
