//! Values from readings: gauges as they are, counters as rates over the true time since the reading
//! before.  The rule is that of [`sample::History`] and `layout`, for fields that were chosen.

use sample::{Interner, Kind, State, increase, seconds_between};

use crate::{Error, SourceReading};

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
    pub fn number(&self) -> f64 {
        match *self {
            FieldValue::Level(level) => level as f64,
            FieldValue::Growth { increase, seconds, .. } => increase as f64 / seconds,
        }
    }
}

/// How many rows of the reading before may have gone before the search by name is used again.
const ROWS_AHEAD: usize = 64;

/// The most instances of a scan: the processes of a busy machine's day.
const INSTANCES_MAX: usize = 1 << 18;

/// A value that was read.
#[derive(Clone, Copy, Debug)]
pub struct ReadValue<'a> {
    /// The reading.
    pub reading: &'a SourceReading<'a>,
    /// The tracker, which knows the instances' names.
    pub tracker: &'a Tracker,
    /// The number of the instance.
    pub instance: usize,
    /// The index of the field among those asked for.
    pub field: usize,
    /// The value.
    pub value: FieldValue,
}

/// The instances of a source, and their latest values of some fields.
#[derive(Debug)]
pub struct Tracker {
    fields: Vec<String>,
    names: Interner,
    /// For each instance the number of the latest reading that has it.
    seen: Vec<u64>,
    /// Instances by fields: the latest raw values.
    raw: Vec<Option<u64>>,
    /// The instances of the latest reading's rows, and those of the reading before.
    rows: Vec<usize>,
    rows_before: Vec<usize>,
    /// Number of the latest reading, and its two clocks if it was read.
    reading: u64,
    before: Option<(u64, i64)>,
    /// For each field its place in the definition of the latest reading, and its kind.
    places: Vec<Option<(usize, Kind)>>,
    file: Option<usize>,
}

impl Tracker {
    /// A tracker of fields with these names.
    #[must_use]
    pub fn new(fields: &[&str]) -> Self {
        Tracker {
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            names: Interner::default(),
            seen: Vec::new(),
            raw: Vec::new(),
            rows: Vec::new(),
            rows_before: Vec::new(),
            reading: 0,
            before: None,
            places: Vec::new(),
            file: None,
        }
    }

    /// Instances seen so far: they are numbered from 0.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.names.len()
    }

    /// The name of an instance.
    #[must_use]
    pub fn name(&self, instance: usize) -> &[u8] {
        self.names.get(instance).unwrap_or_default()
    }

    /// The instances of the latest reading, in the order of its rows.
    #[must_use]
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Takes the next reading, and gives its values to `each` unless it is before the period.
    ///
    /// # Errors
    /// Too many instances, and those of `each`.
    pub fn take(
        &mut self,
        reading: &SourceReading<'_>,
        from_ns: i64,
        each: &mut dyn FnMut(&ReadValue<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.file != Some(reading.file) {
            self.file = Some(reading.file);
            let place = |field: &String| {
                let place = reading.def.field(field)?;
                Some((place, reading.def.fields[place].kind))
            };
            self.places = self.fields.iter().map(place).collect();
        }
        let sample = reading.sample;
        let then = self.before.take().filter(|_| !reading.restart);
        if sample.state != State::Ok {
            return Ok(());
        }
        let now = (sample.monotonic_ns, sample.realtime_ns);
        self.before = Some(now);
        self.reading += 1;
        let seconds = then.map(|then| seconds_between(reading.single_clock, then, now));
        let took_ns = then.map_or(0, |then| now.0.saturating_sub(then.0));
        let seconds = seconds.filter(|&seconds| seconds > 0.0);
        let gives = reading.realtime_ns >= from_ns;
        let width = self.places.len();
        std::mem::swap(&mut self.rows, &mut self.rows_before);
        self.rows.clear();
        let mut expected = 0;
        for row in 0..sample.table.rows() {
            let instance = self.instance(&mut expected, sample.table.name(row))?;
            // Of two rows with one name the first counts.
            if self.seen[instance] == self.reading {
                continue;
            }
            let had = self.seen[instance] + 1 == self.reading;
            self.seen[instance] = self.reading;
            for field in 0..width {
                let Some((place, kind)) = self.places[field] else { continue };
                let raw = sample.table.get(row, place);
                let before = std::mem::replace(&mut self.raw[instance * width + field], raw);
                let Some(raw) = raw.filter(|_| gives) else { continue };
                let value = match kind {
                    Kind::Gauge => Some(FieldValue::Level(raw.cast_signed())),
                    Kind::Counter => {
                        let grown = before.filter(|_| had).and_then(|before| increase(before, raw));
                        let grown = grown.zip(seconds);
                        grown.map(|(increase, seconds)| FieldValue::Growth {
                            increase,
                            seconds,
                            took_ns,
                        })
                    }
                    Kind::Text => None,
                };
                if let Some(value) = value {
                    each(&ReadValue { reading, tracker: self, instance, field, value })?;
                }
            }
        }
        Ok(())
    }

    /// The number of the instance of the next row.  Rows of two readings mostly have the same order.
    fn instance(&mut self, expected: &mut usize, name: &[u8]) -> Result<usize, Error> {
        let before = self.rows_before.get(*expected).copied();
        let instance = match before.filter(|&instance| self.name(instance) == name) {
            Some(instance) => {
                *expected += 1;
                instance
            }
            None => match self.names.find(name, |_| true) {
                Some(instance) => {
                    let rows = self.rows_before.get(*expected..).unwrap_or_default();
                    let ahead = rows.iter().take(ROWS_AHEAD).position(|&row| row == instance);
                    *expected += ahead.map_or(0, |ahead| ahead + 1);
                    instance
                }
                None if self.names.len() == INSTANCES_MAX => {
                    return Err(Error::TooMuch { what: "instances", limit: INSTANCES_MAX });
                }
                None => {
                    self.seen.push(0);
                    self.raw.resize(self.raw.len() + self.places.len(), None);
                    self.names.push(name)
                }
            },
        };
        self.rows.push(instance);
        Ok(instance)
    }
}
