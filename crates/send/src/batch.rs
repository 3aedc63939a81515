//! What is sent at once: points of series, of some samples in sequence.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use metric_names::MachineMetric;
use promql::Labels;
use sample::SourceDef;

use crate::labels::{LabelTable, SeriesLabels};

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchPoint {
    /// The number of the series ([`BatchSeries`]).
    pub series: u32,
    /// When it was read, in milliseconds since the epoch.
    pub time_ms: i64,
    /// Since when a counter counts, in milliseconds since the epoch.
    pub start_ms: i64,
    /// The value in base units, or the mark of a series that ends.
    pub value: f64,
}

/// Points in the order of their series: what the points of a series have in common stands together then.
/// Sorts points by series; the points of a series keep their order.
pub(crate) fn in_order_of_series(points: &[BatchPoint]) -> Vec<BatchPoint> {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.series);
    points
}

/// The points of each series, of points in the order of their series.
pub(crate) fn by_series(points: &[BatchPoint]) -> impl Iterator<Item = (u32, &[BatchPoint])> {
    let of_one = points.chunk_by(|one, next| one.series == next.series);
    of_one.filter_map(|points| Some((points.first()?.series, points)))
}

/// Where a sample or a record of a batch is from: what was sent up to here, once it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleEnd {
    /// The number of the recording, or of the segment.
    pub file_id: u64,
    /// The number of the next one in it.
    pub next: u64,
    /// How many it stands for: all of a step if samples are thinned.
    pub samples: u64,
    /// Points, or records, of the batch before this.
    pub points: usize,
    /// When it was taken or made, in nanoseconds since the epoch.
    pub realtime_ns: i64,
}

/// Which points some of those that were read have.
pub(crate) fn points_of(ends: &[SampleEnd], some: Range<usize>) -> Range<usize> {
    let end_of = |at: Option<usize>| at.map_or(0, |at| ends[at].points);
    end_of(some.start.checked_sub(1))..end_of(some.end.checked_sub(1))
}

/// Points of some samples.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The points, in the order of the samples.
    pub points: Vec<BatchPoint>,
    /// The end of each sample in it.
    pub ends: Vec<SampleEnd>,
}

impl Batch {
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.points.clear();
        self.ends.clear();
    }

    /// The points of some of its samples.
    pub(crate) fn points_of(&self, samples: Range<usize>) -> &[BatchPoint] {
        &self.points[points_of(&self.ends, samples)]
    }
}

/// A boot is another one if it is so much later: the time of one is measured anew by each recorder.
const BOOT_MS: i64 = 60_000;

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeriesKind {
    /// They only grow.
    Counter,
    /// Levels, of which a mean can be made.
    Gauge,
    /// What is known of the machine or of a row: of several the last one is taken.
    Fact,
}

/// What a series is about.
#[derive(Clone, Debug, Default)]
pub(crate) enum SeriesAbout {
    /// Nobody says it.
    #[default]
    Unknown,
    /// A fact of a machine.
    Machine(&'static MachineMetric),
    /// A field of a source, by its place.
    Field(Arc<SourceDef>, u32),
}

impl SeriesAbout {
    /// The field of a source at a place.
    pub(crate) fn field(def: &Arc<SourceDef>, place: usize) -> Self {
        // A source has at most 65,536 fields.
        SeriesAbout::Field(def.clone(), u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// A sentence for people, and the unit, as OpenMetrics names it; empty if there is none.
    pub(crate) fn help_and_unit(&self) -> (&str, &'static str) {
        match self {
            SeriesAbout::Unknown => ("", ""),
            SeriesAbout::Machine(metric) => (metric.help, ""),
            SeriesAbout::Field(def, place) => match def.fields.get(*place as usize) {
                Some(field) => (&field.help, field.unit.base_name()),
                None => ("", ""),
            },
        }
    }
}

/// What series are about, each once: all hosts have the same.
#[derive(Debug, Default)]
struct Abouts {
    all: Vec<SeriesAbout>,
    /// By what is pointed to, which lives as long as this does.
    numbers: HashMap<(usize, u32), u32>,
}

impl Abouts {
    fn number(&mut self, about: SeriesAbout) -> u32 {
        let key = match &about {
            SeriesAbout::Unknown => (0, 0),
            SeriesAbout::Machine(metric) => (std::ptr::from_ref(*metric).addr(), 0),
            SeriesAbout::Field(def, place) => (Arc::as_ptr(def).addr(), *place),
        };
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(about);
            u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn get(&self, number: u32) -> &SeriesAbout {
        self.all.get(number as usize).unwrap_or(&SeriesAbout::Unknown)
    }
}

/// A series.
#[derive(Debug)]
struct OneSeries {
    kind: SeriesKind,
    /// The number of what it is about.
    about: u32,
    /// Since when it counts, and its latest value.
    start_ms: i64,
    counted: f64,
}

/// Series that are kept without looking which of them have ended: some MB with what an engine keeps.
const SERIES_KEPT: usize = 4000;

/// The series seen so far, by their numbers: some 70 bytes each.
#[derive(Debug, Default)]
pub(crate) struct BatchSeries {
    all: Vec<OneSeries>,
    abouts: Abouts,
    /// The labels of each, under the same number.
    labels: LabelTable,
    /// Changes when numbers have got another meaning.
    generation: u64,
    /// Series that there were after the latest look which of them have ended.
    living: usize,
}

impl BatchSeries {
    /// The labels of a series.
    pub(crate) fn labels(&self, number: u32) -> SeriesLabels<'_> {
        self.labels.get(number)
    }

    /// The labels of all of them.
    pub(crate) fn table(&self) -> &LabelTable {
        &self.labels
    }

    /// Whether a series is a counter.
    pub(crate) fn is_counter(&self, number: u32) -> bool {
        self.kind(number) == SeriesKind::Counter
    }

    /// What a series is about.
    pub(crate) fn about(&self, number: u32) -> &SeriesAbout {
        self.abouts.get(self.all[number as usize].about)
    }

    /// Notes what a series is about.
    pub(crate) fn describe(&mut self, number: u32, about: SeriesAbout) {
        self.all[number as usize].about = self.abouts.number(about);
    }

    /// What the values of a series are.
    pub(crate) fn kind(&self, number: u32) -> SeriesKind {
        self.all[number as usize].kind
    }

    /// The number of the series with these labels.  `before_ms` is when it was not yet there, if that is
    /// known; else it counts since the machine was started.
    pub(crate) fn number(
        &mut self,
        labels: &Labels,
        kind: SeriesKind,
        (before_ms, booted_ms): (Option<i64>, i64),
    ) -> u32 {
        let (number, is_new) = self.labels.number(labels.iter());
        if !is_new {
            let one = &mut self.all[number as usize];
            if booted_ms > one.start_ms.saturating_add(BOOT_MS) {
                (one.start_ms, one.counted) = (booted_ms, 0.0);
            }
            return number;
        }
        let start_ms = before_ms.unwrap_or(booted_ms);
        let about = self.abouts.number(SeriesAbout::Unknown);
        self.all.push(OneSeries { kind, about, start_ms, counted: 0.0 });
        number
    }

    /// Since when a series counts that has now this value: one that is less than before began anew.
    pub(crate) fn count(&mut self, number: u32, value: f64, before_ms: i64) -> i64 {
        let one = &mut self.all[number as usize];
        if one.kind == SeriesKind::Counter {
            if value < one.counted {
                one.start_ms = before_ms;
            }
            one.counted = value;
        }
        one.start_ms
    }

    /// The mark of the end of a series.
    pub(crate) fn end(&self, number: u32, time_ms: i64) -> BatchPoint {
        let start_ms = self.all[number as usize].start_ms;
        BatchPoint { series: number, time_ms, start_ms, value: promql::stale_mark() }
    }

    /// Lets a series go on with the count of another one, which has ended.
    pub(crate) fn continue_series(&mut self, number: u32, ended: u32) {
        let OneSeries { start_ms, counted, .. } = self.all[ended as usize];
        let one = &mut self.all[number as usize];
        (one.start_ms, one.counted) = (start_ms, counted);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether it is time to look which series have ended: there may be as many as those that have not, so
    /// each look is paid for by the series that came since the last one.
    pub(crate) fn are_many(&self) -> bool {
        self.all.len() > SERIES_KEPT + 2 * self.living
    }

    /// Forgets all series but those whose numbers are shown to the visitor, which replaces them by new ones.
    pub(crate) fn renumber(&mut self, show: impl FnOnce(&mut dyn FnMut(&mut u32))) {
        let (all, labels) = (std::mem::take(&mut self.all), std::mem::take(&mut self.labels));
        let abouts = std::mem::take(&mut self.abouts);
        let mut old: Vec<Option<OneSeries>> = all.into_iter().map(Some).collect();
        let mut new = HashMap::new();
        show(&mut |number| {
            let was = *number;
            *number = *new.entry(was).or_insert_with(|| {
                self.all.extend(old.get_mut(was as usize).and_then(Option::take).map(|one| {
                    let about = self.abouts.number(abouts.get(one.about).clone());
                    OneSeries { about, ..one }
                }));
                self.labels.number(labels.get(was).iter()).0
            });
        });
        self.generation += 1;
        self.living = self.all.len();
    }

    /// Makes what an engine keeps for each series: of those that it has not yet seen, or of all if
    /// numbers have got another meaning since.
    pub(crate) fn learn<T>(&self, known: &mut SeriesFacts<T>, mut of: impl FnMut(u32) -> T) {
        if self.has_renumbered(known) {
            known.facts.clear();
            known.generation = self.generation;
        }
        while known.facts.len() < self.all.len() {
            known.facts.push(of(u32::try_from(known.facts.len()).unwrap_or(u32::MAX)));
        }
    }

    /// Whether numbers have got another meaning since an engine learned them.
    pub(crate) fn has_renumbered<T>(&self, known: &SeriesFacts<T>) -> bool {
        known.generation != self.generation
    }

    /// Forgets all series.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.abouts = Abouts::default();
        self.labels = LabelTable::default();
        self.generation += 1;
        self.living = 0;
    }
}

/// What an engine keeps for each series, so that it is made once.
#[derive(Debug)]
pub(crate) struct SeriesFacts<T> {
    facts: Vec<T>,
    generation: u64,
}

impl<T> Default for SeriesFacts<T> {
    fn default() -> Self {
        SeriesFacts { facts: Vec::new(), generation: 0 }
    }
}

impl<T> std::ops::Index<u32> for SeriesFacts<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.facts[number as usize]
    }
}
