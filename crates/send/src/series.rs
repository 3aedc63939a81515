//! Series of a recording: the labels of its rows, and the points of a sample.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use metric_names::{MACHINE, MetricValue, NamesOfHost, SourcePlan};
use sample::{Kind, Meta, Sample, Snapshot, SourceDef, State, Table};
use view::raw_in_base;

use crate::SendError;
use crate::batch::{Batch, BatchPoint, BatchSeries, SeriesAbout, SeriesKind};
use crate::groups::ProcessChoice;
use crate::steps::StepChoice;

/// What is sent of a recording: which sources, and in which form.
#[derive(Clone, Debug, Default)]
pub struct SourceChoice {
    /// These alone; empty for all but those with a row for each process, of which there is no end of
    /// series.
    pub sources: Vec<String>,
    /// By what processes are summed, if their sums are sent.
    pub processes: Option<ProcessChoice>,
    /// How samples are thinned, if they are.
    pub step: Option<StepChoice>,
}

impl SourceChoice {
    /// These sources alone; all but those with a row for each process if there is none.
    ///
    /// # Errors
    /// If there is no such source.
    pub fn new(sources: Vec<String>) -> Result<Self, SendError> {
        let known = source::definitions();
        let is_known = |name: &String| known.iter().any(|def| *def.name == **name);
        match sources.iter().find(|name| !is_known(name)) {
            Some(name) => Err(SendError::NoSource(name.clone())),
            None => Ok(SourceChoice { sources, ..SourceChoice::default() }),
        }
    }

    /// Whether nothing is chosen.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.sources.is_empty() && self.processes.is_none() && self.step.is_none()
    }

    /// Whether a source is sent.
    #[must_use]
    pub fn has(&self, def: &SourceDef) -> bool {
        match self.sources.is_empty() {
            true => !def.instance.iter().any(|label| label == "pid"),
            false => self.sources.iter().any(|name| *name == def.name),
        }
    }
}

/// The series of a recording.
pub(crate) struct RecordingSeries {
    sources: Vec<SourceSeries>,
    named: Arc<NamedSources>,
    meta: Arc<Meta>,
}

/// What the series of a source are called.
struct NamedSource {
    /// The index of the source in the snapshot.
    index: usize,
    plan: SourcePlan,
    /// For each field of the plan, its index in the table.
    fields: Vec<Option<usize>>,
}

/// The sources of a recording, and what the series of those that are sent are called.
pub(crate) struct NamedSources {
    pub(crate) defs: Vec<Arc<SourceDef>>,
    named: Vec<Arc<NamedSource>>,
}

/// What is sent of recordings: hundreds of the same sources have the names of their series once, which are
/// some 60 KiB.
pub(crate) struct SeriesNames {
    selection: SourceChoice,
    /// Names of the latest recordings of different sources.
    known: VecDeque<Arc<NamedSources>>,
}

/// So many different lists of sources are kept: versions of whit, and what their recorders read.
const KNOWN_MAX: usize = 8;

impl SeriesNames {
    pub(crate) fn new(selection: SourceChoice) -> Self {
        SeriesNames { selection, known: VecDeque::new() }
    }

    /// What is sent.
    pub(crate) fn selection(&self) -> &SourceChoice {
        &self.selection
    }

    fn of(&mut self, defs: Vec<Arc<SourceDef>>) -> Arc<NamedSources> {
        if let Some(known) = self.known.iter().find(|known| known.defs == defs) {
            return known.clone();
        }
        let named = named(&defs, &self.selection);
        let new = Arc::new(NamedSources { defs, named });
        self.known.truncate(KNOWN_MAX - 1);
        self.known.push_front(new.clone());
        new
    }
}

/// What the series of those sources are called that are sent.
fn named(defs: &[Arc<SourceDef>], selection: &SourceChoice) -> Vec<Arc<NamedSource>> {
    let mut names = NamesOfHost::new();
    let mut named = Vec::new();
    let mut has_machine = false;
    for (index, def) in defs.iter().enumerate().filter(|(_, def)| selection.has(def)) {
        let mut plan = SourcePlan::new(def, &[], &mut names);
        if !has_machine && def.instance.is_empty() {
            plan.add_machine(&[]);
            has_machine = true;
        }
        let fields = plan.fields.iter().map(|name| def.field(name)).collect();
        named.push(Arc::new(NamedSource { index, plan, fields }));
    }
    named
}

/// The series of one source.
struct SourceSeries {
    named: Arc<NamedSource>,
    rows: HashMap<Vec<u8>, RowSeries>,
    /// The number of the latest reading.
    reading: u64,
    /// When its rows were read before, if they could be.
    before_ms: Option<i64>,
}

/// The series of a row: as many as the plan has metrics.
struct RowSeries {
    series: Vec<OneSeries>,
    /// The texts when the series were found: they are labels.
    texts: Vec<Vec<u8>>,
    reading: u64,
}

/// A series of a row: its number, and whether it had a value in the latest reading.
struct OneSeries {
    number: u32,
    is_there: bool,
}

impl RecordingSeries {
    /// The series of the sources of a recording.
    pub(crate) fn new(meta: Arc<Meta>, defs: Vec<Arc<SourceDef>>, names: &mut SeriesNames) -> Self {
        let source =
            |named| SourceSeries { named, rows: HashMap::new(), reading: 0, before_ms: None };
        let named = names.of(defs);
        let sources = named.named.iter().cloned().map(source).collect();
        RecordingSeries { sources, named, meta }
    }

    /// The sources of the recording.
    pub(crate) fn named(&self) -> &Arc<NamedSources> {
        &self.named
    }

    /// What has to be read: the index of each source, and its fields.
    pub(crate) fn wanted(&self) -> Vec<(usize, Vec<usize>)> {
        let one =
            |named: &NamedSource| (named.index, named.fields.iter().flatten().copied().collect());
        self.sources.iter().map(|source| one(&source.named)).collect()
    }

    /// Visits the number of each series of its rows.
    pub(crate) fn visit_numbers(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        let rows = self.sources.iter_mut().flat_map(|source| source.rows.values_mut());
        rows.flat_map(|row| &mut row.series).for_each(|one| visit(&mut one.number));
    }

    /// Adds the points of a sample.
    pub(crate) fn add(&mut self, snapshot: &Snapshot, series: &mut BatchSeries, batch: &mut Batch) {
        for source in &mut self.sources {
            let index = source.named.index;
            if snapshot.fresh[index] {
                source.add(&snapshot.samples[index], &self.meta, series, batch);
            }
        }
    }
}

impl SourceSeries {
    fn add(&mut self, sample: &Sample, meta: &Meta, series: &mut BatchSeries, batch: &mut Batch) {
        self.reading += 1;
        let time_ms = sample.realtime_ns.div_euclid(1_000_000);
        if sample.state == State::Ok {
            for row in 0..sample.table.rows() {
                self.row(sample, row, meta, time_ms, (series, batch));
            }
        }
        // Rows that are no longer there end; one that comes back is found again.
        let reading = self.reading;
        self.rows.retain(|_, row| {
            if row.reading != reading {
                end(row, time_ms, (series, batch));
            }
            row.reading == reading
        });
        self.before_ms = (sample.state == State::Ok).then_some(time_ms);
    }

    fn row(
        &mut self,
        sample: &Sample,
        row: usize,
        meta: &Meta,
        time_ms: i64,
        (series, batch): (&mut BatchSeries, &mut Batch),
    ) {
        let table = &sample.table;
        let name = table.name(row);
        let is_known = |known: &RowSeries| {
            let places = self.named.plan.texts.iter();
            let texts = places.map(|&place| self.text(table, row, place));
            known.texts.iter().map(Vec::as_slice).eq(texts)
        };
        if !self.rows.get(name).is_some_and(is_known) {
            let found = self.find(sample, row, meta, series);
            if let Some(mut before) = self.rows.remove(name) {
                end(&mut before, time_ms, (series, batch));
                // The counters are those of before; only their labels are others.
                for (now, before) in found.series.iter().zip(before.series) {
                    series.continue_series(now.number, before.number);
                }
            }
            self.rows.insert(name.to_owned(), found);
        }
        let Some(known) = self.rows.get_mut(name) else { return };
        known.reading = self.reading;
        let began_ms = self.before_ms.unwrap_or_else(|| booted_ms(meta, time_ms));
        let NamedSource { plan, fields, .. } = &*self.named;
        for (metric, one) in plan.metrics.iter().zip(&mut known.series) {
            let value = match metric.value {
                MetricValue::Info => Some(1.0),
                MetricValue::BootTime => booted_ns(meta).map(|ns| ns as f64 / 1e9),
                MetricValue::Time => Some(sample.realtime_ns as f64 / 1e9),
                MetricValue::Field(place) => fields[place].and_then(|field| {
                    let raw = table.get(row, field)?;
                    Some(raw_in_base(&plan.def.fields[field], raw, meta))
                }),
            };
            // A value that is missing now ends the series until there is one again.
            let was_there = std::mem::replace(&mut one.is_there, value.is_some());
            let number = one.number;
            if let Some(value) = value {
                let start_ms = series.count(number, value, began_ms);
                batch.points.push(BatchPoint { series: number, time_ms, start_ms, value });
            } else if was_there {
                batch.points.push(series.end(number, time_ms));
            }
        }
    }

    fn text<'t>(&self, table: &'t Table, row: usize, place: usize) -> &'t [u8] {
        self.named.fields[place].and_then(|field| table.text(row, field)).unwrap_or_default()
    }

    fn find(
        &self,
        sample: &Sample,
        row: usize,
        meta: &Meta,
        series: &mut BatchSeries,
    ) -> RowSeries {
        let table = &sample.table;
        let text = |place: usize| layout::text::escape(self.text(table, row, place));
        // A row that is there from the first reading on may be as old as the machine.
        let time_ms = sample.realtime_ns.div_euclid(1_000_000);
        let began = (self.before_ms, booted_ms(meta, time_ms));
        let NamedSource { plan, fields, .. } = &*self.named;
        let def = &plan.def;
        let found = plan.metrics.iter().map(|metric| {
            let labels = metric.labels(def, meta.host(), table.name(row), text, Some(meta));
            let (kind, about) = match metric.value {
                MetricValue::Field(place) => match fields[place] {
                    Some(field) if def.fields[field].kind == Kind::Counter => {
                        (SeriesKind::Counter, SeriesAbout::field(def, field))
                    }
                    Some(field) => (SeriesKind::Gauge, SeriesAbout::field(def, field)),
                    None => (SeriesKind::Gauge, SeriesAbout::Unknown),
                },
                _ => (SeriesKind::Fact, about_machine(metric.name())),
            };
            let number = series.number(&labels, kind, began);
            series.describe(number, about);
            OneSeries { number, is_there: false }
        });
        let texts = plan.texts.iter().map(|&place| self.text(table, row, place).to_vec());
        RowSeries { series: found.collect(), texts: texts.collect(), reading: self.reading }
    }
}

/// What a fact of the machine is.
fn about_machine(name: &str) -> SeriesAbout {
    let known = MACHINE.iter().find(|one| one.name == name);
    known.map_or(SeriesAbout::Unknown, SeriesAbout::Machine)
}

/// When the machine was started, in nanoseconds since the epoch.
fn booted_ns(meta: &Meta) -> Option<i64> {
    meta.get("boot_ns")?.parse().ok()
}

/// When the machine was started, in milliseconds since the epoch; now, if nobody knows.
fn booted_ms(meta: &Meta, time_ms: i64) -> i64 {
    booted_ns(meta).map_or(time_ms, |ns| ns.div_euclid(1_000_000)).min(time_ms)
}

/// Marks the end of the series of a row.
fn end(row: &mut RowSeries, time_ms: i64, (series, batch): (&BatchSeries, &mut Batch)) {
    for one in &mut row.series {
        if std::mem::take(&mut one.is_there) {
            batch.points.push(series.end(one.number, time_ms));
        }
    }
}
