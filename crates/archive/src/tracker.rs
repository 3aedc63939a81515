//! Values from readings: gauges as they are, counters as rates over the true time since the reading
//! before.  The rule is that of [`sample::History`] and `layout`, for fields that were chosen.
//!
//! Readings come one by one, or as the columns of a side file: many at once, instance by instance.

use recording::{SideColumns, SideReading, SideValues};
use sample::{Interner, Kind, SourceDef, State, increase, seconds_between};

use crate::Error;
use crate::reading::SourceReading;

/// How many rows of the reading before may have gone before the search by name is used again.
const ROWS_AHEAD: usize = 64;

/// The most instances of a scan: the processes of a busy machine's day.
pub(crate) const INSTANCES_MAX: usize = 1 << 18;

/// A value of a field at one reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue {
    /// A gauge.
    Level(i64),
    /// A counter.
    Growth {
        /// How much it grew since the reading before.
        increase: u64,
        /// The time between the two readings.
        seconds: f64,
        /// The same by the clock of the recording.
        took_ns: u64,
    },
}

impl FieldValue {
    /// The level, or the rate in units a second.
    #[must_use]
    #[inline]
    pub fn number(&self) -> f64 {
        match *self {
            FieldValue::Level(level) => level as f64,
            FieldValue::Growth { increase, seconds, .. } => increase as f64 / seconds,
        }
    }
}

/// A value that was read.  Values of one instance and field come in the order of the readings;
/// instances and fields in any.
#[derive(Clone, Copy, Debug)]
pub struct ReadValue<'a> {
    /// When the tick of the reading began, since the epoch.
    pub realtime_ns: i64,
    /// The index of its recording ([`Recordings::path`](crate::Recordings::path)).
    pub file: usize,
    /// The instances' names.
    pub names: &'a Interner,
    /// The number of the instance, from 0.
    pub instance: usize,
    /// The index of the field among those asked for.
    pub field: usize,
    /// The value.
    pub value: FieldValue,
}

/// What takes the values.
pub(crate) type Each<'a> = dyn FnMut(&ReadValue<'_>) -> Result<(), Error> + 'a;

/// The columns of a segment, and where they are from.
pub(crate) struct FileColumns<'a> {
    pub(crate) columns: &'a SideColumns,
    /// For each field asked for its index in the columns.
    pub(crate) fields: &'a [Option<usize>],
    pub(crate) def: &'a SourceDef,
    pub(crate) file: usize,
    pub(crate) single_clock: bool,
    /// Whether its first reading cannot be compared with the one before.
    pub(crate) restart: bool,
}

/// The time since the reading before, if it can be compared: in seconds, and by the clock of the
/// recording.
pub(crate) type Took = Option<(f64, u64)>;

/// The readings of a segment that are taken.
struct Taken {
    begin: usize,
    end: usize,
    /// Those before this time are bases only: the first one, and others where the wall clock was set
    /// back.
    from_ns: i64,
    /// For each of them.
    took: Vec<Took>,
}

impl Taken {
    /// The time since the reading before, of all readings from one on.
    fn took(&self, reading: usize) -> &[Took] {
        self.took.get(reading - self.begin..).unwrap_or_default()
    }
}

/// A field of an instance of a segment.
struct Cell {
    slot: usize,
    instance: usize,
    field: usize,
    /// Whether the reading before the first one has the instance.
    had: bool,
    /// The last reading that is taken and has it.
    last: usize,
}

/// The instances of a source, and their latest values of some fields.
#[derive(Debug)]
pub struct Tracker {
    fields: Vec<String>,
    names: Interner,
    texts: Interner,
    /// For each instance the number of the latest reading that has it.
    seen: Vec<u64>,
    /// Instances by fields: the latest raw values, of texts their numbers.
    raw: Vec<Option<u64>>,
    /// The instances of the latest reading's rows, and those of the reading before.
    rows: Vec<usize>,
    rows_before: Vec<usize>,
    /// Number of the latest reading, and its two clocks if it was read.
    reading: u64,
    before: Option<(u64, i64)>,
    /// For each field its place in the definition of the latest reading, and its kind.
    places: Vec<Option<(usize, Kind)>>,
    /// The column that was read last.
    column: SideValues,
    file: Option<usize>,
    /// Readings in the period, and the time that they cover.
    readings: u64,
    covered_ns: u64,
}

impl Tracker {
    pub(crate) fn new(fields: &[&str]) -> Self {
        Tracker {
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            names: Interner::default(),
            texts: Interner::default(),
            seen: Vec::new(),
            raw: Vec::new(),
            rows: Vec::new(),
            rows_before: Vec::new(),
            reading: 0,
            before: None,
            places: vec![None; fields.len()],
            column: SideValues::default(),
            file: None,
            readings: 0,
            covered_ns: 0,
        }
    }

    /// Readings of the source in the period, of those that were read.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.readings
    }

    /// The time between readings of the period that can be compared, by the clock of the recording.
    pub(crate) fn covered_ns(&self) -> u64 {
        self.covered_ns
    }

    /// The instances of the latest reading, in the order of its rows.
    pub(crate) fn latest_rows(&self) -> &[usize] {
        &self.rows
    }

    /// The latest raw value of a field of an instance.
    pub(crate) fn raw(&self, instance: usize, field: usize) -> Option<u64> {
        *self.raw.get(instance * self.places.len() + field)?
    }

    fn count(&mut self, took: Took) {
        self.readings += 1;
        self.covered_ns = self.covered_ns.saturating_add(took.map_or(0, |took| took.1));
    }

    /// The number of an instance that has been read.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.names.find(name, |_| true)
    }

    /// The name of an instance.
    #[must_use]
    pub fn name(&self, instance: usize) -> &[u8] {
        self.names.get(instance).unwrap_or_default()
    }

    /// The latest value of a field of an instance that is a text.
    #[must_use]
    pub fn text(&self, instance: usize, field: usize) -> Option<&[u8]> {
        let number = *self.raw.get(instance * self.places.len() + field)?;
        self.texts.get(usize::try_from(number?).ok()?)
    }

    fn begin_file(&mut self, file: usize, def: &SourceDef) {
        if self.file != Some(file) {
            self.file = Some(file);
            let place = |field: &String| {
                let place = def.field(field)?;
                Some((place, def.fields[place].kind))
            };
            self.places = self.fields.iter().map(place).collect();
        }
    }

    fn text_number(&mut self, text: &[u8]) -> u64 {
        let known = self.texts.find(text, |_| true);
        known.unwrap_or_else(|| self.texts.push(text)) as u64
    }

    /// Takes the next reading, and gives its values to `each` unless it is before the period.
    pub(crate) fn take(
        &mut self,
        reading: &SourceReading<'_>,
        from_ns: i64,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        self.begin_file(reading.file, reading.def);
        let sample = reading.sample;
        let then = self.before.take().filter(|_| !reading.restart);
        if sample.state != State::Ok {
            return Ok(());
        }
        let now = (sample.monotonic_ns, sample.realtime_ns);
        self.before = Some(now);
        self.reading += 1;
        let took = took(reading.single_clock, then, now);
        let gives = reading.realtime_ns >= from_ns;
        if gives {
            self.count(took);
        }
        let width = self.places.len();
        std::mem::swap(&mut self.rows, &mut self.rows_before);
        self.rows.clear();
        let mut expected = 0;
        for row in 0..sample.table.rows() {
            let instance = self.row(&mut expected, sample.table.name(row))?;
            // Of two rows with one name the first counts.
            if self.seen[instance] == self.reading {
                continue;
            }
            let had = self.seen[instance] + 1 == self.reading;
            self.seen[instance] = self.reading;
            for field in 0..width {
                let Some((place, kind)) = self.places[field] else { continue };
                let raw = match kind {
                    Kind::Text => sample.table.text(row, place).map(|text| self.text_number(text)),
                    _ => sample.table.get(row, place),
                };
                let before = std::mem::replace(&mut self.raw[instance * width + field], raw);
                let value = value_of(kind, before.filter(|_| had), raw, took);
                if let Some(value) = value.filter(|_| gives) {
                    let (realtime_ns, file) = (reading.realtime_ns, reading.file);
                    let names = &self.names;
                    each(&ReadValue { realtime_ns, file, names, instance, field, value })?;
                }
            }
        }
        Ok(())
    }

    /// Takes the readings of a segment up to `thru_ns`, and gives the values of those that are not
    /// before `from_ns` to `each`.  False if the columns are damaged.
    pub(crate) fn take_columns(
        &mut self,
        from: &FileColumns<'_>,
        (from_ns, thru_ns): (i64, i64),
        each: &mut Each<'_>,
    ) -> Result<bool, Error> {
        self.begin_file(from.file, from.def);
        let readings = &from.columns.readings;
        let first = readings.iter().position(|reading| reading.realtime_ns >= from_ns);
        let first = first.unwrap_or(readings.len());
        let in_period = readings[first..].iter();
        let end = first + in_period.take_while(|reading| reading.realtime_ns < thru_ns).count();
        // One reading before the period is the base of the first rates.
        let begin = first.saturating_sub(1);
        let Some(last) = readings[begin..end].last() else { return Ok(true) };
        let taken = Taken { begin, end, from_ns, took: self.took_each(from, begin, end) };
        for (reading, &took) in readings[begin..end].iter().zip(&taken.took) {
            if reading.is_ok && reading.realtime_ns >= from_ns {
                self.count(took);
            }
        }
        // Instances of the reading before the first one of this segment go on.
        let before = Some(self.reading).filter(|&number| begin == 0 && number > 0);
        self.reading += (end - begin) as u64;
        let mut texts = Vec::new();
        for slot in 0..from.columns.instances() {
            // Others of the segment are not in the period: what they had before stays their latest.
            let last = from.columns.last_reading(slot, end).filter(|&last| last >= begin);
            let Some(last) = last else { continue };
            let instance = self.instance(from.columns.name(slot))?;
            let had = before == Some(self.seen[instance]);
            for field in 0..self.places.len() {
                let cell = Cell { slot, instance, field, had, last };
                if !self.take_column(from, &taken, &cell, &mut texts, each)? {
                    return Ok(false);
                }
            }
            if last == end - 1 {
                self.seen[instance] = self.reading;
            }
        }
        self.before = last.is_ok.then_some(last.clocks);
        Ok(true)
    }

    /// Takes the readings of one field of one instance; false if the column is damaged.
    fn take_column(
        &mut self,
        from: &FileColumns<'_>,
        taken: &Taken,
        &Cell { slot, instance, field, had, last }: &Cell,
        texts: &mut Vec<Option<u64>>,
        each: &mut Each<'_>,
    ) -> Result<bool, Error> {
        let at = instance * self.places.len() + field;
        let (Some((_, kind)), Some(column)) = (self.places[field], from.fields[field]) else {
            self.raw[at] = None;
            return Ok(true);
        };
        if !from.columns.read_column(slot, column, &mut self.column) {
            return Ok(false);
        }
        let mut latest = (taken.begin, self.raw[at].filter(|_| had));
        for (run, values) in self.column.runs() {
            let (begun, ended) = (run.max(taken.begin), taken.end.min(run + values.len()));
            if begun >= ended {
                continue;
            }
            let values = &values[begun - run..ended - run];
            let mut before = latest.1.filter(|_| latest.0 == begun);
            let names = &self.names;
            let mut give = |reading: &SideReading, value| {
                let (realtime_ns, file) = (reading.realtime_ns, from.file);
                each(&ReadValue { realtime_ns, file, names, instance, field, value })
            };
            let readings = from.columns.readings[begun..ended].iter().zip(values);
            match kind {
                Kind::Text => {}
                Kind::Gauge => {
                    for (reading, &raw) in readings {
                        if reading.realtime_ns >= taken.from_ns {
                            give(reading, FieldValue::Level(raw.cast_signed()))?;
                        }
                    }
                }
                Kind::Counter => {
                    for ((reading, &raw), &took) in readings.zip(taken.took(begun)) {
                        let value = rate(before.replace(raw), raw, took);
                        if let Some(value) = value.filter(|_| reading.realtime_ns >= taken.from_ns)
                        {
                            give(reading, value)?;
                        }
                    }
                }
            }
            if let Some(&value) = values.last() {
                latest = (ended, Some(value));
            }
        }
        let raw = latest.1.filter(|_| latest.0 == last + 1);
        self.raw[at] = match kind {
            Kind::Text => raw.and_then(|text| self.text_of(from.columns, text, texts)),
            _ => raw,
        };
        Ok(true)
    }

    /// The number of a text of a segment; `known` are those of the segment's that were asked for.
    fn text_of(
        &mut self,
        columns: &SideColumns,
        text: u64,
        known: &mut Vec<Option<u64>>,
    ) -> Option<u64> {
        let index = usize::try_from(text).ok()?;
        known.resize(columns.texts(), None);
        let number = match *known.get(index)? {
            Some(number) => number,
            None => self.text_number(columns.text(text)?),
        };
        known[index] = Some(number);
        Some(number)
    }

    /// For each reading of a segment the time since the one before, if they can be compared.
    fn took_each(&self, from: &FileColumns<'_>, begin: usize, end: usize) -> Vec<Took> {
        let mut then = self.before.filter(|_| begin == 0 && !from.restart);
        let took_of = |reading: &SideReading| {
            let before = then.filter(|_| !reading.restart);
            then = reading.is_ok.then_some(reading.clocks);
            took(from.single_clock, before, then?)
        };
        from.columns.readings[begin..end].iter().map(took_of).collect()
    }

    /// The number of the instance of the next row.  Rows of two readings mostly have the same order.
    fn row(&mut self, expected: &mut usize, name: &[u8]) -> Result<usize, Error> {
        let before = self.rows_before.get(*expected).copied();
        let instance = match before.filter(|&instance| self.name(instance) == name) {
            Some(instance) => {
                *expected += 1;
                instance
            }
            None => {
                let instance = self.instance(name)?;
                let rows = self.rows_before.get(*expected..).unwrap_or_default();
                let ahead = rows.iter().take(ROWS_AHEAD).position(|&row| row == instance);
                *expected += ahead.map_or(0, |ahead| ahead + 1);
                instance
            }
        };
        self.rows.push(instance);
        Ok(instance)
    }

    /// The number of an instance.
    fn instance(&mut self, name: &[u8]) -> Result<usize, Error> {
        if let Some(instance) = self.names.find(name, |_| true) {
            return Ok(instance);
        }
        if self.names.len() == INSTANCES_MAX {
            return Err(Error::TooMuch { what: "instances", limit: INSTANCES_MAX });
        }
        self.seen.push(0);
        self.raw.resize(self.raw.len() + self.places.len(), None);
        Ok(self.names.push(name))
    }
}

/// The time between two readings.
pub(crate) fn took(single_clock: bool, then: Option<(u64, i64)>, now: (u64, i64)) -> Took {
    let seconds = seconds_between(single_clock, then?, now);
    (seconds > 0.0).then(|| (seconds, now.0.saturating_sub(then.map_or(0, |then| then.0))))
}

/// The value of a field of one kind, from its raw value and the one before.
#[inline]
fn value_of(kind: Kind, before: Option<u64>, raw: Option<u64>, took: Took) -> Option<FieldValue> {
    match kind {
        Kind::Gauge => Some(FieldValue::Level(raw?.cast_signed())),
        Kind::Counter => rate(before, raw?, took),
        Kind::Text => None,
    }
}

/// The value of a counter.
#[inline]
fn rate(before: Option<u64>, raw: u64, took: Took) -> Option<FieldValue> {
    let (seconds, took_ns) = took?;
    let increase = increase(before?, raw)?;
    Some(FieldValue::Growth { increase, seconds, took_ns })
}
