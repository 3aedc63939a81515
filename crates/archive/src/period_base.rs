//! The reading from which a period is counted: the latest one before it, or its first one if there is
//! none before, or none that can be compared with it.

use sample::State;

use crate::Error;
use crate::archive::Recordings;
use crate::reading::{Select, SourceReading};
use crate::scan::Visit;
use crate::tracker::{FileColumns, Tracker};

/// What a source said when a period began.
pub(crate) struct PeriodBase<'a> {
    select: Select<'a>,
    tracker: Tracker,
    /// When that was, since boot; `None` if no reading was found.
    monotonic_ns: Option<u64>,
    /// Readings that were looked at.
    pub(crate) readings: u64,
    is_done: bool,
}

impl Recordings {
    /// What a source said when a period began.  Costs as much for a long period as for a short one.
    pub(crate) fn base<'a>(&self, select: Select<'a>) -> Result<PeriodBase<'a>, Error> {
        let tracker = Tracker::new(select.fields);
        let mut base =
            PeriodBase { select, tracker, monotonic_ns: None, readings: 0, is_done: false };
        self.visit(&select, &mut base)?;
        Ok(base)
    }
}

impl PeriodBase<'_> {
    /// Whether a time, since boot, is before the reading, or that of it.
    pub(crate) fn is_after(&self, monotonic_ns: f64) -> bool {
        self.monotonic_ns.is_some_and(|own_ns| monotonic_ns <= own_ns as f64)
    }

    /// The raw value of a field of an instance: 0 of one that was not there yet; `None` if it was
    /// there without that value.
    pub(crate) fn raw(&self, name: &[u8], field: usize) -> Option<u64> {
        match self.tracker.find(name).filter(|_| self.monotonic_ns.is_some()) {
            Some(instance) => self.tracker.raw(instance, field),
            None => Some(0),
        }
    }

    /// Whether the reading has an instance.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.monotonic_ns.is_some() && self.tracker.find(name).is_some()
    }
}

impl Visit for PeriodBase<'_> {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error> {
        self.readings += 1;
        if reading.restart {
            self.monotonic_ns = None;
        }
        let is_in_period = reading.realtime_ns >= self.select.from_ns;
        if self.monotonic_ns.is_none() && reading.sample.state == State::Ok {
            self.tracker = Tracker::new(self.select.fields);
            self.tracker.add_reading(reading, i64::MAX, &mut |_, _| Ok(()))?;
            self.monotonic_ns = Some(reading.sample.monotonic_ns);
        }
        self.is_done = is_in_period && self.monotonic_ns.is_some();
        Ok(())
    }

    fn columns(&mut self, _: &FileColumns<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    fn takes_columns(&self) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn needs_base(&self) -> bool {
        true
    }
}
