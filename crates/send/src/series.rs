//! Series of a recording: the labels of its rows, and the points of a sample.

use std::collections::HashMap;
use std::sync::Arc;

use metric_names::{MetricValue, NamesOfHost, SourcePlan};
use promql::stale_mark;
use sample::{Meta, Sample, Snapshot, SourceDef, State, Table};
use view::raw_in_base;

use crate::batch::{Batch, BatchPoint, BatchSeries};

/// Which sources are sent.
#[derive(Clone, Debug, Default)]
pub struct SourceChoice {
    /// These alone; empty for all but those with a row for each process, of which there is no end of
    /// series.
    pub sources: Vec<String>,
}

impl SourceChoice {
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
    meta: Meta,
    /// Of which numbers the series below are.
    generation: u64,
}

/// Those of one source.
struct SourceSeries {
    /// Its index in the snapshot.
    index: usize,
    plan: SourcePlan,
    /// For each field of the plan, its index in the table.
    fields: Vec<Option<usize>>,
    rows: HashMap<Vec<u8>, RowSeries>,
    /// The number of the latest reading.
    reading: u64,
}

/// The series of a row: as many as the plan has metrics.
struct RowSeries {
    numbers: Vec<u32>,
    /// Which of them had a value in the latest reading.
    is_there: Vec<bool>,
    /// The texts when the series were found: they are labels.
    texts: Vec<Vec<u8>>,
    reading: u64,
}

impl RecordingSeries {
    /// The series of the sources of a recording.
    pub(crate) fn new(meta: &Meta, defs: &[Arc<SourceDef>], selection: &SourceChoice) -> Self {
        let mut names = NamesOfHost::new();
        let mut sources = Vec::new();
        let mut has_machine = false;
        for (index, def) in defs.iter().enumerate().filter(|(_, def)| selection.has(def)) {
            let mut plan = SourcePlan::new(def, &[], &mut names);
            if !has_machine && def.instance.is_empty() {
                plan.add_machine(&[]);
                has_machine = true;
            }
            let fields = plan.fields.iter().map(|name| def.field(name)).collect();
            sources.push(SourceSeries { index, plan, fields, rows: HashMap::new(), reading: 0 });
        }
        RecordingSeries { sources, meta: meta.clone(), generation: 0 }
    }

    /// What has to be read: the index of each source, and its fields.
    pub(crate) fn wanted(&self) -> Vec<(usize, Vec<usize>)> {
        let one = |source: &SourceSeries| {
            (source.index, source.fields.iter().flatten().copied().collect())
        };
        self.sources.iter().map(one).collect()
    }

    /// Adds the points of a sample.
    pub(crate) fn add(&mut self, snapshot: &Snapshot, series: &mut BatchSeries, batch: &mut Batch) {
        if self.generation != series.generation() {
            self.generation = series.generation();
            self.sources.iter_mut().for_each(|source| source.rows.clear());
        }
        for source in &mut self.sources {
            if snapshot.fresh[source.index] {
                source.add(&snapshot.samples[source.index], &self.meta, series, batch);
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
                end(row, time_ms, batch);
            }
            row.reading == reading
        });
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
            let texts = self.plan.texts.iter().map(|&place| self.text(table, row, place));
            known.texts.iter().map(Vec::as_slice).eq(texts)
        };
        if !self.rows.get(name).is_some_and(is_known) {
            let found = self.find(table, row, meta, series);
            if let Some(mut before) = self.rows.insert(name.to_owned(), found) {
                end(&mut before, time_ms, batch);
            }
        }
        let Some(known) = self.rows.get_mut(name) else { return };
        known.reading = self.reading;
        for (at, metric) in self.plan.metrics.iter().enumerate() {
            let value = match metric.value {
                MetricValue::Info => Some(1.0),
                MetricValue::BootTime => {
                    let booted_ns: Option<i64> = meta.get("boot_ns").and_then(|ns| ns.parse().ok());
                    booted_ns.map(|ns| ns as f64 / 1e9)
                }
                MetricValue::Time => Some(sample.realtime_ns as f64 / 1e9),
                MetricValue::Field(place) => self.fields[place].and_then(|field| {
                    let raw = table.get(row, field)?;
                    Some(raw_in_base(&self.plan.def.fields[field], raw, meta))
                }),
            };
            // A value that is missing now ends the series until there is one again.
            let was_there = std::mem::replace(&mut known.is_there[at], value.is_some());
            if let Some(value) = value.or(was_there.then(stale_mark)) {
                batch.points.push(BatchPoint { series: known.numbers[at], time_ms, value });
            }
        }
    }

    fn text<'t>(&self, table: &'t Table, row: usize, place: usize) -> &'t [u8] {
        self.fields[place].and_then(|field| table.text(row, field)).unwrap_or_default()
    }

    fn find(&self, table: &Table, row: usize, meta: &Meta, series: &mut BatchSeries) -> RowSeries {
        let text = |place: usize| layout::text::escape(self.text(table, row, place));
        let labels = self.plan.metrics.iter().map(|metric| {
            metric.labels(&self.plan.def, meta.host(), table.name(row), text, Some(meta))
        });
        let numbers: Vec<u32> = labels.map(|labels| series.number(labels)).collect();
        let texts = self.plan.texts.iter().map(|&place| self.text(table, row, place).to_vec());
        RowSeries {
            is_there: vec![false; numbers.len()],
            numbers,
            texts: texts.collect(),
            reading: self.reading,
        }
    }
}

/// Marks the end of the series of a row.
fn end(row: &mut RowSeries, time_ms: i64, batch: &mut Batch) {
    for (&series, is_there) in row.numbers.iter().zip(&mut row.is_there) {
        if std::mem::take(is_there) {
            batch.points.push(BatchPoint { series, time_ms, value: stale_mark() });
        }
    }
}
