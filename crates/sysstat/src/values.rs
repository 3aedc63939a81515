//! What a report reads: the values of a source over a span of time.
//!
//! A [`Span`] lies between two readings, or between the boot of the machine and one.  A counter gives
//! its change and rate, a gauge its level; over several intervals the level is the mean of their ends,
//! as `sar` prints it under `Average:`.

use std::collections::HashMap;
use std::sync::Arc;

use sample::{Sample, SourceDef, State, Table};

/// A span of time and what was read at its ends.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    /// The sources, in the order of the samples.
    pub(crate) defs: &'a [Arc<SourceDef>],
    /// What was read when it began; nothing for a span since boot, at which counters were 0.
    pub(crate) then: Option<&'a [Sample]>,
    /// What was read when it ended.
    pub(crate) now: &'a [Sample],
    /// The means of gauges, if the span has several intervals.
    pub(crate) means: Option<&'a Means>,
    /// When it began, since the epoch; of a span since boot when it ended.
    pub(crate) began_ns: i64,
    /// When it ended, since the epoch.
    pub(crate) ended_ns: i64,
}

/// One instance of a source over a span.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    def: &'a SourceDef,
    now: &'a Table,
    index: usize,
    then: Option<(&'a Table, usize)>,
    means: Option<&'a Mean>,
    /// The length of the span, by the clock of this source.
    pub(crate) seconds: f64,
}

/// Sums of gauges over the ends of intervals: for each source by the name of the instance.
#[derive(Default)]
pub(crate) struct Means {
    sources: Vec<HashMap<Vec<u8>, Mean>>,
}

/// The sums of one instance, by field.
#[derive(Default)]
pub(crate) struct Mean {
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl Means {
    /// Adds the end of an interval.
    pub(crate) fn add(&mut self, samples: &[Sample]) {
        self.sources.resize_with(samples.len(), HashMap::new);
        for (sums, sample) in self.sources.iter_mut().zip(samples) {
            let table = &sample.table;
            if sample.state != State::Ok {
                continue;
            }
            for row in 0..table.rows() {
                if !sums.contains_key(table.name(row)) {
                    sums.insert(table.name(row).to_vec(), Mean::default());
                }
                let Some(mean) = sums.get_mut(table.name(row)) else { continue };
                mean.sums.resize(table.width(), 0.0);
                mean.counts.resize(table.width(), 0);
                for field in 0..table.width() {
                    if let Some(value) = table.get(row, field) {
                        mean.sums[field] += value as i64 as f64;
                        mean.counts[field] += 1;
                    }
                }
            }
        }
    }

    fn of(&self, source: usize, name: &[u8]) -> Option<&Mean> {
        self.sources.get(source)?.get(name)
    }
}

impl Mean {
    fn level(&self, field: usize) -> Option<f64> {
        let count = *self.counts.get(field).filter(|count| **count > 0)?;
        Some(self.sums[field] / f64::from(count))
    }
}

/// Nanoseconds as seconds, rounded.
pub(crate) fn whole_seconds(ns: u64) -> i64 {
    (ns.saturating_add(500_000_000) / 1_000_000_000).cast_signed()
}

impl<'a> Span<'a> {
    /// The length of the span in seconds, rounded; since boot if it has no beginning.
    pub(crate) fn whole_seconds(&self) -> i64 {
        let latest = |samples: &[Sample]| samples.iter().map(|sample| sample.monotonic_ns).max();
        let then = self.then.and_then(latest).unwrap_or(0);
        whole_seconds(latest(self.now).unwrap_or(0).saturating_sub(then))
    }

    /// Whether a source was read, so that it has values.
    pub(crate) fn has(&self, source: &str) -> bool {
        self.place(source).is_some()
    }

    fn place(&self, source: &str) -> Option<usize> {
        let index = self.defs.iter().position(|def| def.name == source)?;
        (self.now[index].state == State::Ok).then_some(index)
    }

    /// The instances of a source, in the kernel's order; none if it was not read.
    pub(crate) fn rows(&self, source: &str) -> Vec<Row<'a>> {
        let Some(place) = self.place(source) else { return Vec::new() };
        let (def, now) = (&*self.defs[place], &self.now[place]);
        let then = self.then.map(|samples| &samples[place]);
        let then = then.filter(|sample| sample.state == State::Ok);
        let begun_ns = then.map_or(0, |sample| sample.monotonic_ns);
        let seconds = now.monotonic_ns.saturating_sub(begun_ns) as f64 / 1e9;
        let row = |index| {
            let name = now.table.name(index);
            let then = then.map(|sample| &sample.table);
            let then = then.and_then(|table| table.find(name, index).map(|row| (table, row)));
            let means = self.means.and_then(|means| means.of(place, name));
            Row { def, now: &now.table, index, then, means, seconds }
        };
        (0..now.table.rows()).map(row).collect()
    }

    /// The only row of a source without instances.
    pub(crate) fn row(&self, source: &str) -> Option<Row<'a>> {
        self.rows(source).into_iter().next()
    }
}

impl Row<'_> {
    /// The name of the instance, for output.
    pub(crate) fn name(&self) -> String {
        text::escape::escape(self.now.name(self.index))
    }

    /// The labels of an instance that has two, for output: an interrupt and its CPU.
    pub(crate) fn labels(&self) -> Option<(String, String)> {
        let name = self.now.name(self.index);
        let at = name.iter().position(|byte| *byte == SourceDef::INSTANCE_SEPARATOR)?;
        Some((text::escape::escape(&name[..at]), text::escape::escape(&name[at + 1..])))
    }

    fn field(&self, name: &str) -> Option<usize> {
        self.def.field(name)
    }

    /// The level of a gauge, or its mean over several intervals; `None` if it is missing.
    pub(crate) fn level(&self, field: &str) -> Option<f64> {
        let field = self.field(field)?;
        match self.means {
            Some(means) => means.level(field),
            None => self.now.get(self.index, field).map(|value| value as i64 as f64),
        }
    }

    /// What a counter says now, from the boot on.
    pub(crate) fn count(&self, field: &str) -> Option<u64> {
        self.now.get(self.index, self.field(field)?)
    }

    /// How much a counter grew; of an instance that is new, from 0 on.  `None` if it is missing or was
    /// reset.
    pub(crate) fn change(&self, field: &str) -> Option<f64> {
        let field = self.field(field)?;
        let now = self.now.get(self.index, field)?;
        let then = match self.then {
            Some((table, row)) => table.get(row, field)?,
            None => 0,
        };
        sample::increase(then, now).map(|change| change as f64)
    }

    /// How much a counter grew a second.
    pub(crate) fn rate(&self, field: &str) -> Option<f64> {
        let change = self.change(field)?;
        (self.seconds > 0.0).then(|| change / self.seconds)
    }

    /// The rates of several counters, added up; those that the kernel does not have do not count.
    pub(crate) fn rates(&self, fields: &[&str]) -> Option<f64> {
        fields.iter().filter_map(|field| self.rate(field)).reduce(|sum, rate| sum + rate)
    }

    /// The changes of several counters, added up, as [`rates`](Self::rates).
    pub(crate) fn changes(&self, fields: &[&str]) -> Option<f64> {
        fields.iter().filter_map(|field| self.change(field)).reduce(|sum, change| sum + change)
    }

    /// A text, for output; empty if it is missing.
    pub(crate) fn text(&self, field: &str) -> String {
        let text = self.field(field).and_then(|field| self.now.text(self.index, field));
        text.map(text::escape::escape).unwrap_or_default()
    }
}
