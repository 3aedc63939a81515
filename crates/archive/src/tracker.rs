//! Values from readings: gauges as they are, counters as rates over the true time since the reading
//! before.  The rule is that of [`sample::History`] and `layout`, for fields that were chosen.
//!
//! Readings come one by one, or as the columns of a side file: many at once, instance by instance.

use std::ops::Range;

use recording::{SideColumns, SideReading, SideValues};
use sample::{Interner, Kind, SourceDef, State, Table, increase, seconds_between};

use crate::Error;
use crate::reading::SourceReading;
use crate::step_sums::{FieldValue, StepSums, Times};

/// How many rows of the reading before may have gone before the search by name is used again.
const ROWS_AHEAD: usize = 64;

/// The most instances of a scan: the processes of a busy machine's day.
pub(crate) const INSTANCES_MAX: usize = 1 << 18;

/// A value that was read, of an instance by its number, from 0, and a field by its index among those
/// asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadValue {
    pub(crate) instance: usize,
    pub(crate) field: usize,
    pub(crate) value: FieldValue,
}

/// What takes the values of a reading, and the names of the instances.
pub(crate) type Each<'a> = dyn FnMut(&Interner, &ReadValue) -> Result<(), Error> + 'a;

/// What takes the rows of a reading.
pub(crate) trait RowValues {
    /// A reading begins, so long after the one before.
    fn begin(&mut self, _took: Took) {}

    /// The row of an instance is as it was in the reading before, with these raw values; its values
    /// are not given.
    fn same(&mut self, instance: usize, raw: &[Option<u64>]);

    /// The values of an instance follow.  These are its latest raw values until then.
    fn changed(&mut self, _instance: usize, _raw: &[Option<u64>]) {}

    /// A value.
    fn value(&mut self, names: &Interner, read: &ReadValue) -> Result<(), Error>;
}

/// Each value is wanted.
struct AllValues<'a, 'b>(&'a mut Each<'b>);

impl RowValues for AllValues<'_, '_> {
    fn same(&mut self, _: usize, _: &[Option<u64>]) {}

    fn value(&mut self, names: &Interner, read: &ReadValue) -> Result<(), Error> {
        (self.0)(names, read)
    }
}

/// What readings of one step have of a field of an instance, both as in [`ReadValue`].  Those of one
/// instance and field come in the order of the readings; instances and fields in any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadValues<'a> {
    /// When the tick of the first of them began, since the epoch.
    pub(crate) realtime_ns: i64,
    /// The index of its recording ([`Recordings::path`](crate::Recordings::path)).
    pub(crate) file: usize,
    /// The instances' names.
    pub(crate) names: &'a Interner,
    pub(crate) instance: usize,
    pub(crate) field: usize,
    pub(crate) sums: StepSums,
}

/// What takes the values of steps.
pub(crate) type EachStep<'a> = dyn FnMut(&ReadValues<'_>) -> Result<(), Error> + 'a;

/// How values are gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps<'a> {
    /// The period.
    pub(crate) from_ns: i64,
    pub(crate) thru_ns: i64,
    /// A time at which a step begins, and the length of each.
    pub(crate) begins_ns: i64,
    pub(crate) step_ns: i64,
    /// The instances that are wanted, or none for all: columns of others are not decoded.
    pub(crate) instances: &'a [Vec<u8>],
}

impl Steps<'_> {
    /// The time of the step that has a time.
    fn step_at(&self, realtime_ns: i64) -> Range<i64> {
        let number = realtime_ns.saturating_sub(self.begins_ns).div_euclid(self.step_ns);
        let begin_ns = self.begins_ns.saturating_add(number.saturating_mul(self.step_ns));
        begin_ns..begin_ns.saturating_add(self.step_ns)
    }

    pub(crate) fn wants(&self, instance: &[u8]) -> bool {
        self.instances.is_empty() || self.instances.iter().any(|wanted| wanted == instance)
    }
}

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
struct SegmentReadings {
    begin: usize,
    end: usize,
    /// For each of them the time since the one before, as [`Times`] has them.
    seconds: Vec<f64>,
    took_ns: Vec<u64>,
    cuts: Vec<Cut>,
}

/// Readings of one step, one after the other.
struct Cut {
    begin: usize,
    end: usize,
    /// The time of all of them, if each can be compared with the one before.
    took_ns: Option<u64>,
}

impl SegmentReadings {
    /// The readings of a segment in a period, without those before it: they are bases only, the first
    /// one, and others where the wall clock was set back.
    fn new(readings: &[SideReading], (begin, end): (usize, usize), steps: &Steps<'_>) -> Self {
        // Readings mostly are of the step of the one before, which costs no division.
        let (mut cuts, mut step) = (Vec::<Cut>::new(), 0..0);
        for (index, reading) in readings.iter().enumerate().take(end).skip(begin) {
            let is_in = reading.realtime_ns >= steps.from_ns;
            match cuts.last_mut().filter(|_| is_in && step.contains(&reading.realtime_ns)) {
                Some(cut) => cut.end = index + 1,
                None if is_in => {
                    step = steps.step_at(reading.realtime_ns);
                    cuts.push(Cut { begin: index, end: index + 1, took_ns: None });
                }
                None => step = 0..0,
            }
        }
        SegmentReadings { begin, end, seconds: Vec::new(), took_ns: Vec::new(), cuts }
    }

    fn set_times(&mut self, tooks: impl Iterator<Item = Took>) {
        (self.seconds, self.took_ns) = tooks.map(Option::unwrap_or_default).unzip();
        for cut in &mut self.cuts {
            let at = cut.begin - self.begin..cut.end - self.begin;
            let is_whole = self.seconds[at.clone()].iter().all(|&seconds| seconds > 0.0);
            cut.took_ns = is_whole.then(|| self.took_ns[at].iter().sum());
        }
    }

    /// The times of some of the readings.
    fn times(&self, begin: usize, end: usize) -> Times<'_> {
        let at = begin - self.begin..end - self.begin;
        Times { seconds: &self.seconds[at.clone()], took_ns: &self.took_ns[at] }
    }

    /// The cuts that have some of the readings from `begun` to `ended`.
    fn cuts(&self, begun: usize, ended: usize) -> &[Cut] {
        let first = self.cuts.partition_point(|cut| cut.end <= begun);
        let end = self.cuts.partition_point(|cut| cut.begin < ended);
        self.cuts.get(first..end).unwrap_or_default()
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
pub(crate) struct Tracker {
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
    /// Whether two rows of the latest reading have one name.
    has_double: bool,
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
            has_double: false,
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
    pub(crate) fn readings(&self) -> u64 {
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

    /// The latest raw values of an instance.
    pub(crate) fn raws(&self, instance: usize) -> &[Option<u64>] {
        let width = self.places.len();
        self.raw.get(instance * width..(instance + 1) * width).unwrap_or_default()
    }

    /// The latest raw value of a field of an instance.
    pub(crate) fn raw(&self, instance: usize, field: usize) -> Option<u64> {
        *self.raw.get(instance * self.places.len() + field)?
    }

    fn count(&mut self, took_ns: u64) {
        self.readings += 1;
        self.covered_ns = self.covered_ns.saturating_add(took_ns);
    }

    /// The number of an instance that has been read.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.names.find(name, |_| true)
    }

    /// The name of an instance.
    pub(crate) fn name(&self, instance: usize) -> &[u8] {
        self.names.get(instance).unwrap_or_default()
    }

    /// The latest value of a field of an instance that is a text.
    pub(crate) fn text(&self, instance: usize, field: usize) -> Option<&[u8]> {
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
    pub(crate) fn add_reading(
        &mut self,
        reading: &SourceReading<'_>,
        from_ns: i64,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        self.take_rows(reading, from_ns, None, &mut AllValues(each))
    }

    /// As [`add_reading`](Self::add_reading).  `before` is the table of the reading before and its fields of texts:
    /// rows that are the same in both are told as such, if the two can be compared.  All fields must
    /// have been asked for.
    pub(crate) fn take_rows(
        &mut self,
        reading: &SourceReading<'_>,
        from_ns: i64,
        before: Option<(&Table, &[usize])>,
        to: &mut impl RowValues,
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
            self.count(took.map_or(0, |took| took.1));
        }
        to.begin(took);
        let is_doubled = std::mem::take(&mut self.has_double);
        let before = before.filter(|_| gives && took.is_some() && !is_doubled);
        let width = self.places.len();
        std::mem::swap(&mut self.rows, &mut self.rows_before);
        self.rows.clear();
        let mut expected = 0;
        for row in 0..sample.table.rows() {
            let (instance, row_before) = self.row(&mut expected, sample.table.name(row))?;
            // Of two rows with one name the first counts.
            if self.seen[instance] == self.reading {
                self.has_double = true;
                continue;
            }
            let had = self.seen[instance] + 1 == self.reading;
            self.seen[instance] = self.reading;
            let is_same = before
                .zip(row_before.filter(|_| had))
                .is_some_and(|(then, at)| sample.table.has_same_row(row, then.0, at, then.1));
            let raws = &self.raw[instance * width..(instance + 1) * width];
            if is_same {
                to.same(instance, raws);
                continue;
            }
            to.changed(instance, raws);
            for field in 0..width {
                let Some((place, kind)) = self.places[field] else { continue };
                let raw = match kind {
                    Kind::Text => sample.table.text(row, place).map(|text| self.text_number(text)),
                    _ => sample.table.get(row, place),
                };
                let before = std::mem::replace(&mut self.raw[instance * width + field], raw);
                let value = value_of(kind, before.filter(|_| had), raw, took);
                if let Some(value) = value.filter(|_| gives) {
                    to.value(&self.names, &ReadValue { instance, field, value })?;
                }
            }
        }
        Ok(())
    }

    /// Takes the readings of a segment, and gives what each step has of them to `each`.  False if the
    /// columns are damaged.
    pub(crate) fn take_columns(
        &mut self,
        from: &FileColumns<'_>,
        steps: &Steps<'_>,
        each: &mut EachStep<'_>,
    ) -> Result<bool, Error> {
        self.begin_file(from.file, from.def);
        let readings = &from.columns.readings;
        let first = readings.iter().position(|reading| reading.realtime_ns >= steps.from_ns);
        let first = first.unwrap_or(readings.len());
        let in_period = readings[first..].iter();
        let thru_ns = steps.thru_ns;
        let end = first + in_period.take_while(|reading| reading.realtime_ns < thru_ns).count();
        // One reading before the period is the base of the first rates.
        let begin = first.saturating_sub(1);
        let Some(last) = readings[begin..end].last() else { return Ok(true) };
        let mut taken = SegmentReadings::new(readings, (begin, end), steps);
        taken.set_times(self.times(from, begin, end));
        for (reading, &took_ns) in readings[begin..end].iter().zip(&taken.took_ns) {
            if reading.is_ok && reading.realtime_ns >= steps.from_ns {
                self.count(took_ns);
            }
        }
        // Instances of the reading before the first one of this segment go on.
        let before = Some(self.reading).filter(|&number| begin == 0 && number > 0);
        self.reading += (end - begin) as u64;
        let mut texts = Vec::new();
        for slot in 0..from.columns.instances() {
            // Others of the segment are not in the period: what they had before stays their latest.
            let last = from.columns.last_reading(slot, end).filter(|&last| last >= begin);
            let Some(last) = last.filter(|_| steps.wants(from.columns.name(slot))) else {
                continue;
            };
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
        taken: &SegmentReadings,
        &Cell { slot, instance, field, had, last }: &Cell,
        texts: &mut Vec<Option<u64>>,
        each: &mut EachStep<'_>,
    ) -> Result<bool, Error> {
        let at = instance * self.places.len() + field;
        let (Some((_, kind)), Some(column)) = (self.places[field], from.fields[field]) else {
            self.raw[at] = None;
            return Ok(true);
        };
        if !from.columns.read_column(slot, column, taken.end, &mut self.column) {
            return Ok(false);
        }
        let mut latest = (taken.begin, self.raw[at].filter(|_| had));
        for (run, values) in self.column.runs() {
            let (begun, ended) = (run.max(taken.begin), taken.end.min(run + values.len()));
            if begun >= ended {
                continue;
            }
            let first = latest.1.filter(|_| latest.0 == begun);
            latest = (ended, values.get(ended - 1 - run).copied());
            for cut in taken.cuts(begun, ended) {
                let (from_at, end) = (cut.begin.max(begun), cut.end.min(ended));
                let raws = &values[from_at - run..end - run];
                let sums = match kind {
                    Kind::Text => None,
                    Kind::Gauge => StepSums::of_levels(raws),
                    Kind::Counter => {
                        let before = match from_at == begun {
                            true => first,
                            false => Some(values[from_at - 1 - run]),
                        };
                        let times = taken.times(from_at, end);
                        let is_whole = (from_at, end) == (cut.begin, cut.end);
                        let took_ns = cut.took_ns.filter(|_| is_whole);
                        let is_at_rest = self.column.is_constant() && before.is_some();
                        match took_ns.filter(|_| is_at_rest && before == raws.first().copied()) {
                            Some(took_ns) => Some(StepSums::at_rest(raws.len(), took_ns)),
                            None => StepSums::of_growths(before, raws, times, took_ns),
                        }
                    }
                };
                let Some(sums) = sums else { continue };
                let realtime_ns = from.columns.readings[from_at].realtime_ns;
                let (file, names) = (from.file, &self.names);
                each(&ReadValues { realtime_ns, file, names, instance, field, sums })?;
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

    /// For each reading of a segment the time since the one before.
    fn times<'a>(
        &self,
        from: &'a FileColumns<'_>,
        begin: usize,
        end: usize,
    ) -> impl Iterator<Item = Took> + use<'a> {
        let mut then = self.before.filter(|_| begin == 0 && !from.restart);
        let single_clock = from.single_clock;
        from.columns.readings[begin..end].iter().map(move |reading| {
            let before = then.filter(|_| !reading.restart);
            then = reading.is_ok.then_some(reading.clocks);
            took(single_clock, before, then?)
        })
    }

    /// The number of the instance of the next row, and its row in the reading before if that was
    /// found.  Rows of two readings mostly have the same order.
    fn row(&mut self, expected: &mut usize, name: &[u8]) -> Result<(usize, Option<usize>), Error> {
        let before = self.rows_before.get(*expected).copied();
        let (instance, row_before) = match before.filter(|&instance| self.name(instance) == name) {
            Some(instance) => (instance, Some(*expected)),
            None => {
                let instance = self.instance(name)?;
                let rows = self.rows_before.get(*expected..).unwrap_or_default();
                let ahead = rows.iter().take(ROWS_AHEAD).position(|&row| row == instance);
                (instance, ahead.map(|ahead| *expected + ahead))
            }
        };
        *expected = row_before.map_or(*expected, |row| row + 1);
        self.rows.push(instance);
        Ok((instance, row_before))
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
