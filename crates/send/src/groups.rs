//! Processes in a bounded number of series: their sums by command, user or control group, as `--by` of
//! whit play makes them.
//!
//! A group gets series of its own once it is among the heaviest by CPU time of an interval, until there
//! are as many as were asked for; these keep them to the end of the recording, and all others are summed as
//! `other`.  So the names depend on the recording alone, and samples that are sent again are the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use metric_names::JOB;
use promql::{Labels, NAME};
use recording::{ReadOutcome, Reader};
use sample::{Kind, Meta, Snapshot, SourceDef};
use view::{FieldMetric, GroupLine, GroupSums, own_label};

use crate::SendError;
use crate::batch::{Batch, BatchPoint, BatchSeries, SeriesKind};
use crate::cursor::RecordingCursor;

/// Groups with series of their own, if nobody says how many.
const GROUPS_USUAL: usize = 50;

/// Most of them: what is more is no bound.
const GROUPS_MAX: usize = 10_000;

/// What the rest is called, and instances of which the group is not known.
const OTHER: &str = "other";
const UNKNOWN: &str = "-";

/// By what processes are summed, and how many groups have series of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessChoice {
    by: String,
    groups_max: usize,
}

impl ProcessChoice {
    /// Reads `BY[:COUNT]`.
    ///
    /// # Errors
    /// If processes cannot be summed so.
    pub fn parse(text: &str) -> Result<Self, SendError> {
        let failed = |why: String| SendError::Processes { text: text.to_owned(), why };
        let (by, count) = match text.split_once(':') {
            Some((by, count)) => (by, Some(count)),
            None => (text, None),
        };
        let count = count.map_or(Ok(GROUPS_USUAL), str::parse);
        let groups_max = count.ok().filter(|count| (1..=GROUPS_MAX).contains(count));
        let groups_max =
            groups_max.ok_or_else(|| failed(format!("write a count from 1 to {GROUPS_MAX}")))?;
        let choice = ProcessChoice { by: by.to_owned(), groups_max };
        choice.sums(&source::definitions()).map_err(|error| failed(error.to_string()))?;
        Ok(choice)
    }

    fn sums(&self, defs: &[Arc<SourceDef>]) -> std::io::Result<Option<GroupSums>> {
        GroupSums::new(&self.by, layout::LayoutLookup(source::layouts_of), defs)
    }
}

/// The series of groups of a recording.
pub(crate) struct GroupSeries {
    choice: ProcessChoice,
    sums: GroupSums,
    /// The metric of each value.
    names: Vec<String>,
    folded: String,
    meta: Arc<Meta>,
    /// Groups with series of their own, each with the number behind that of the sample by which it got them.
    kept: Vec<(u64, String)>,
    rows: BTreeMap<String, Vec<Option<u32>>>,
}

impl GroupSeries {
    /// The series of the groups that a recording has, if it has processes.
    pub(crate) fn new(
        choice: &ProcessChoice,
        meta: Arc<Meta>,
        defs: &[Arc<SourceDef>],
        sent: &RecordingCursor,
    ) -> Option<Self> {
        // That there is such a criterion was checked.
        let sums = choice.sums(defs).ok().flatten()?;
        let name = format!("process_by_{}", choice.by);
        let def = SourceDef { name: name.clone().into(), ..SourceDef::EMPTY };
        let metric = |field: &sample::Field| {
            let FieldMetric { name, kind, .. } = FieldMetric::of(&def, field);
            match kind {
                Kind::Counter => format!("{}_per_second", name.trim_end_matches("_total")),
                _ => name,
            }
        };
        let names = sums.fields().iter().map(metric).collect();
        Some(GroupSeries {
            choice: choice.clone(),
            sums,
            names,
            folded: format!("whit_{name}_folded"),
            meta,
            kept: sent.groups.clone(),
            rows: BTreeMap::new(),
        })
    }

    /// The sources that have to be read as a whole.
    pub(crate) fn sources(&self) -> &[usize] {
        self.sums.sources()
    }

    /// The groups that have series of their own, in the order in which they got them.
    pub(crate) fn kept(&self) -> &[(u64, String)] {
        &self.kept
    }

    /// Visits the number of each series of its groups.
    pub(crate) fn visit_numbers(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.rows.values_mut().flatten().flatten().for_each(visit);
    }

    /// Reads what is before a sample, so far as its sums depend on it: three readings of processes.
    pub(crate) fn prime(
        &mut self,
        reader: &mut Reader,
        snapshot: &mut Snapshot,
        next: u64,
    ) -> Result<(), SendError> {
        // Those that got series later get them again.
        self.kept.retain(|(number, _)| *number <= next);
        let mut back = 4_u64;
        loop {
            let from = next.saturating_sub(back);
            self.sums.forget();
            reader.seek_number(from);
            let mut readings = 0;
            while reader.next_number() < next && reader.next(snapshot)? == ReadOutcome::Sample {
                let is_fresh = self.sources().first().is_some_and(|&index| snapshot.fresh[index]);
                readings += u32::from(is_fresh);
                let _ = self.sums.add(snapshot, &self.meta);
            }
            if readings >= 3 || from == 0 {
                return Ok(());
            }
            back = back.saturating_mul(8);
        }
    }

    /// Adds the points of the sample before that number, whose readings it takes.
    pub(crate) fn add(
        &mut self,
        number: u64,
        snapshot: &mut Snapshot,
        series: &mut BatchSeries,
        batch: &mut Batch,
    ) {
        let time_ms = snapshot.realtime_ns.div_euclid(1_000_000);
        let Some(lines) = self.sums.add(snapshot, &self.meta) else { return };
        let (rows, folded) = self.folded(number, &lines);
        for (name, values) in &rows {
            self.row(name, values, time_ms, (series, batch));
        }
        let gone: Vec<String> =
            self.rows.keys().filter(|name| !rows.contains_key(*name)).cloned().collect();
        for name in gone {
            let all = self.rows.remove(&name).unwrap_or_default();
            batch
                .points
                .extend(all.into_iter().flatten().map(|number| series.end(number, time_ms)));
        }
        let labels = self.labels(None, &self.folded);
        let number = series.number(&labels, SeriesKind::Gauge, (None, time_ms));
        batch.points.push(BatchPoint {
            series: number,
            time_ms,
            start_ms: time_ms,
            value: folded as f64,
        });
    }

    /// The groups with series of their own, the sums of the others, and how many these are.
    fn folded(
        &mut self,
        number: u64,
        lines: &[GroupLine],
    ) -> (BTreeMap<String, Vec<Option<f64>>>, usize) {
        let mut rows: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        let mut folded = 0;
        for (rank, line) in lines.iter().enumerate() {
            let name = line.name.as_deref().map_or_else(|| UNKNOWN.into(), layout::text::escape);
            let is_kept = self.kept.iter().any(|(_, kept)| *kept == name);
            let max = self.choice.groups_max;
            let name = match is_kept || (rank < max && self.kept.len() < max) {
                true => {
                    if !is_kept {
                        self.kept.push((number, name.clone()));
                    }
                    name
                }
                false => {
                    folded += 1;
                    OTHER.to_owned()
                }
            };
            let sums = rows.entry(name).or_insert_with(|| vec![None; line.values.len()]);
            for (sum, value) in sums.iter_mut().zip(&line.values) {
                *sum = match (*sum, *value) {
                    (Some(sum), Some(value)) => Some(sum + value),
                    (sum, value) => sum.or(value),
                };
            }
        }
        (rows, folded)
    }

    fn row(
        &mut self,
        name: &str,
        values: &[Option<f64>],
        time_ms: i64,
        (series, batch): (&mut BatchSeries, &mut Batch),
    ) {
        let mut known = self.rows.remove(name).unwrap_or_else(|| vec![None; values.len()]);
        for (at, value) in values.iter().enumerate() {
            match value {
                Some(value) => {
                    let number = *known[at].get_or_insert_with(|| {
                        let labels = self.labels(Some(name), &self.names[at]);
                        series.number(&labels, SeriesKind::Gauge, (None, time_ms))
                    });
                    let start_ms = time_ms;
                    batch.points.push(BatchPoint {
                        series: number,
                        time_ms,
                        start_ms,
                        value: *value,
                    });
                }
                // A value that is missing now ends the series until there is one again.
                None => batch.points.extend(known[at].take().map(|one| series.end(one, time_ms))),
            }
        }
        self.rows.insert(name.to_owned(), known);
    }

    fn labels(&self, group: Option<&str>, metric: &str) -> Labels {
        let mut labels = Labels::default();
        if let Some(group) = group {
            labels.set(&own_label(&self.choice.by), group);
        }
        labels.set("instance", self.meta.host());
        labels.set("job", JOB);
        labels.set(NAME, metric);
        labels
    }
}
