//! Folders of recordings as a storage of series.
//!
//! For each question the recordings of its period are decoded: as much as the period is long, and
//! nothing is kept.  A field is a metric of node_exporter (`names.rs`), or `whit_SOURCE_FIELD_UNIT`
//! as in OpenMetrics; counters are counters and not rates.  A row that is no longer there ends with a
//! stale mark.  Only recordings of whit are read, not collectl's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use feed::{Feed as _, FeedError, Origin, RecordedFile, WhitFeed};
use jiff::tz::TimeZone;
use promql::{
    Labels, Matcher, Metadata, NAME, QueryBudget, QueryError, Series, SeriesPoint, SeriesStorage,
    stale_mark,
};
use sample::{Kind, Meta, Sample, Snapshot, SourceDef, State, Table};
use view::{FieldMetric, instance_parts, raw_in_base};

use crate::names::known;

/// The label `job` of all series.
const JOB: &str = "whit";

/// Recordings, found anew for each question: a recorder may add some at any time.
pub struct RecordingStorage {
    paths: Vec<PathBuf>,
}

impl RecordingStorage {
    /// The recordings in folders, and single ones.  Also returns a sentence for each file that is left
    /// out.
    ///
    /// # Errors
    /// If there is no recording of whit.
    pub fn open(paths: Vec<PathBuf>) -> Result<(Self, Vec<String>), FeedError> {
        let storage = RecordingStorage { paths };
        let (found, mut left_out) = storage.find()?;
        let (of_whit, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|one| one.origin == Origin::Whit);
        left_out.extend(others.iter().map(|one| {
            format!("{}: a recording of collectl is not served yet; left out", one.path.display())
        }));
        if of_whit.is_empty() {
            return Err(FeedError::NoneUsable(left_out.join("; ")));
        }
        Ok((storage, left_out))
    }

    fn find(&self) -> Result<(Vec<RecordedFile>, Vec<String>), FeedError> {
        // No name of a file and no period depends on the time or the zone.
        let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        feed::find(&self.paths, None, &now)
    }

    /// The series that match in a period; without their samples if only labels are wanted.
    fn read(
        &self,
        matchers: &[Matcher],
        (from_ms, to_ms): (i64, i64),
        with_samples: bool,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        let (found, _) = self.find().map_err(|error| unreadable(&error))?;
        let mut reading = Reading {
            matchers,
            from_ms,
            to_ms,
            with_samples,
            budget,
            series: Vec::new(),
            places: HashMap::new(),
        };
        for recording in found.iter().filter(|one| one.origin == Origin::Whit) {
            budget.look()?;
            let written =
                recording.modified().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let ended_ms = written.map_or(i64::MAX, |time| time.as_millis() as i64);
            // A file that was last written before the period has nothing of it.
            if recording.started_ns / 1_000_000 <= to_ms && ended_ms.saturating_add(1000) >= from_ms
            {
                reading.add(recording)?;
            }
        }
        let mut series = reading.series;
        series.retain(|one| !one.samples.is_empty());
        for one in &mut series {
            // Two recorders may have written at the same time.
            if !one.samples.is_sorted_by(|before, after| before.time_ms < after.time_ms) {
                one.samples.sort_by_key(|sample| sample.time_ms);
                one.samples.dedup_by_key(|sample| sample.time_ms);
            }
        }
        Ok(series)
    }
}

impl SeriesStorage for RecordingStorage {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        self.read(matchers, (from_ms, to_ms), true, budget)
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        let series = self.read(matchers, (from_ms, to_ms), false, budget)?;
        Ok(series.into_iter().map(|series| series.labels).collect())
    }

    fn metadata(&self) -> Vec<Metadata> {
        let mut found = BTreeMap::new();
        for def in source::definitions() {
            for field in def.fields.iter() {
                let metric = FieldMetric::of(&def, field);
                let name = known(&def.name, &field.name)
                    .map_or(metric.name, |(_, name, _)| name.to_owned());
                let kind = match metric.kind {
                    Kind::Counter => "counter",
                    Kind::Gauge | Kind::Text => "gauge",
                };
                let entry =
                    Metadata { name: name.clone(), kind, help: metric.help, unit: metric.unit };
                found.entry(name).or_insert(entry);
            }
        }
        found.into_values().collect()
    }
}

fn unreadable(error: &FeedError) -> QueryError {
    QueryError::Execution(format!("the recordings cannot be read: {error}"))
}

/// The series that were found so far.
struct Reading<'a> {
    matchers: &'a [Matcher],
    from_ms: i64,
    to_ms: i64,
    with_samples: bool,
    budget: &'a QueryBudget<'a>,
    series: Vec<Series>,
    places: HashMap<Arc<Labels>, usize>,
}

/// The fields of a source that are asked for.
struct SourcePlan {
    def: Arc<SourceDef>,
    /// The metric of each field.
    fields: Vec<FieldPlan>,
    /// The name of the metric that has the texts as labels, if it is asked for.
    info: Option<String>,
    /// For each row its series, and the reading at which it was there last.
    rows: HashMap<Vec<u8>, KnownRow>,
    reading: u64,
    time_ns: i64,
}

struct FieldPlan {
    index: usize,
    name: String,
    /// The label that tells this field from others of the metric.
    label: Option<(&'static str, &'static str)>,
    /// The label of its instances, and texts that are labels, by node_exporter's table.
    instance: Option<&'static str>,
    texts: &'static [(&'static str, &'static str)],
}

struct KnownRow {
    series: Vec<RowSeries>,
    reading: u64,
    /// The texts when its series were found: they are labels.
    texts: Vec<Option<Vec<u8>>>,
}

struct RowSeries {
    /// The field, or `None` for the texts.
    field: Option<usize>,
    place: usize,
    /// Whether the latest reading had a value.
    is_there: bool,
}

impl Reading<'_> {
    /// Adds what a recording has of the period.
    fn add(&mut self, recording: &RecordedFile) -> Result<(), QueryError> {
        let base_ns = self.from_ms.saturating_mul(1_000_000);
        let feed = WhitFeed::open(&recording.path, base_ns, false);
        let mut feed = feed.map_err(|error| unreadable(&error))?;
        let defs = feed.defs();
        let mut plans = self.plans(&defs);
        if plans.iter().all(|plan| plan.fields.is_empty() && plan.info.is_none()) {
            return Ok(());
        }
        let mut snapshot = Snapshot::new(&defs);
        while feed.next(&mut snapshot).map_err(|error| unreadable(&error))? {
            self.budget.look()?;
            if snapshot.realtime_ns.div_euclid(1_000_000) > self.to_ms {
                break;
            }
            for (plan, sample) in plans.iter_mut().zip(&snapshot.samples) {
                self.add_sample(plan, sample, &recording.meta)?;
            }
        }
        Ok(())
    }

    /// What is asked of each source, by the names of metrics alone.
    fn plans(&self, defs: &[Arc<SourceDef>]) -> Vec<SourcePlan> {
        let mut names = HashSet::new();
        let is_asked = |name: &str| {
            let mut of_name = self.matchers.iter().filter(|matcher| matcher.name == NAME);
            of_name.all(|matcher| matcher.is_match(name))
        };
        let plan = |def: &Arc<SourceDef>| {
            let (mut fields, mut info) = (Vec::new(), None);
            for (index, field) in def.fields.iter().enumerate() {
                let metric = FieldMetric::of(def, field);
                if metric.kind == Kind::Text {
                    info = Some(metric.name).filter(|name| is_asked(name));
                    continue;
                }
                let found = known(&def.name, &field.name);
                let label = found.filter(|(_, _, value)| !value.is_empty());
                let plan = FieldPlan {
                    index,
                    name: found.map_or(metric.name, |(_, name, _)| name.to_owned()),
                    label: label.map(|(known, _, value)| (known.label, value)),
                    instance: found.map(|(known, ..)| known.instance),
                    texts: found.map_or(&[], |(known, ..)| known.texts),
                };
                // Two fields of one name would be one series with two values.
                if names.insert((plan.name.clone(), plan.label)) && is_asked(&plan.name) {
                    fields.push(plan);
                }
            }
            let def = def.clone();
            SourcePlan { def, fields, info, rows: HashMap::new(), reading: 0, time_ns: 0 }
        };
        defs.iter().map(plan).collect()
    }

    fn add_sample(
        &mut self,
        plan: &mut SourcePlan,
        sample: &Sample,
        meta: &Meta,
    ) -> Result<(), QueryError> {
        let is_asked = !plan.fields.is_empty() || plan.info.is_some();
        // Some sources are read at every third tick only; the reading between is an old one.
        if !is_asked || sample.state != State::Ok || sample.realtime_ns == plan.time_ns {
            return Ok(());
        }
        plan.time_ns = sample.realtime_ns;
        plan.reading += 1;
        let time_ms = sample.realtime_ns.div_euclid(1_000_000);
        if time_ms < self.from_ms || time_ms > self.to_ms {
            return Ok(());
        }
        let table = &sample.table;
        for row in 0..table.rows() {
            let texts = texts(&plan.def, table, row);
            let name = table.name(row);
            if plan.rows.get(name).is_none_or(|known| known.texts != texts) {
                let series = self.series_of(plan, table, row, meta)?;
                let known = KnownRow { series, reading: 0, texts };
                if let Some(mut before) = plan.rows.insert(name.to_vec(), known) {
                    let now = plan.rows.get(name).map_or(&[][..], |known| &known.series);
                    before.series.retain(|old| now.iter().all(|one| one.place != old.place));
                    self.end(&before, time_ms)?;
                }
            }
            let Some(known) = plan.rows.get_mut(name) else { continue };
            known.reading = plan.reading;
            for one in &mut known.series {
                let value = match one.field {
                    None => Some(1.0),
                    Some(index) => {
                        let field = &plan.def.fields[index];
                        table.get(row, index).map(|raw| raw_in_base(field, raw, meta))
                    }
                };
                // A value that is missing now ends the series until there is one again.
                let point = value.or(one.is_there.then(stale_mark));
                one.is_there = value.is_some();
                if let Some(value) = point {
                    self.push(one.place, time_ms, value)?;
                }
            }
        }
        let reading = plan.reading;
        for (_, gone) in plan.rows.extract_if(|_, row| row.reading != reading) {
            self.end(&gone, time_ms)?;
        }
        Ok(())
    }

    /// Marks the end of a row.
    fn end(&mut self, row: &KnownRow, time_ms: i64) -> Result<(), QueryError> {
        for one in row.series.iter().filter(|one| one.is_there) {
            self.push(one.place, time_ms, stale_mark())?;
        }
        Ok(())
    }

    fn push(&mut self, series: usize, time_ms: i64, value: f64) -> Result<(), QueryError> {
        // For a list of labels one sample tells that there is any.
        if !self.with_samples && !self.series[series].samples.is_empty() {
            return Ok(());
        }
        self.budget.take_samples(1)?;
        self.series[series].samples.push(SeriesPoint { time_ms, value });
        Ok(())
    }

    /// The series of a row, those that match.
    fn series_of(
        &mut self,
        plan: &SourcePlan,
        table: &Table,
        row: usize,
        meta: &Meta,
    ) -> Result<Vec<RowSeries>, QueryError> {
        let mut found = Vec::new();
        let text = |field: &str| {
            let value = plan.def.field(field).and_then(|index| table.text(row, index));
            value.map(layout::text::escape).unwrap_or_default()
        };
        for field in &plan.fields {
            let mut labels = labels_of_row(&plan.def, table.name(row), field.instance, meta);
            labels.set(NAME, field.name.clone());
            for (source, label) in field.texts {
                labels.set(label, text(source));
            }
            if let Some((label, value)) = field.label {
                labels.set(label, value.to_owned());
            }
            let of_field = |place| RowSeries { field: Some(field.index), place, is_there: false };
            found.extend(self.place(labels)?.map(of_field));
        }
        if let Some(name) = &plan.info {
            let mut labels = labels_of_row(&plan.def, table.name(row), None, meta);
            labels.set(NAME, name.clone());
            for field in plan.def.fields.iter().filter(|field| field.kind == Kind::Text) {
                labels.set(&own_label(&field.name), text(&field.name));
            }
            let of_texts = |place| RowSeries { field: None, place, is_there: false };
            found.extend(self.place(labels)?.map(of_texts));
        }
        Ok(found)
    }

    /// The place of a series, if it matches.
    fn place(&mut self, labels: Labels) -> Result<Option<usize>, QueryError> {
        if !self.matchers.iter().all(|matcher| matcher.is_match(labels.get(&matcher.name))) {
            return Ok(None);
        }
        if let Some(&place) = self.places.get(&labels) {
            return Ok(Some(place));
        }
        self.budget.take_series()?;
        let labels = Arc::new(labels);
        self.places.insert(labels.clone(), self.series.len());
        self.series.push(Series { labels, samples: Vec::new() });
        Ok(Some(self.series.len() - 1))
    }
}

/// The host, and what names the row.
fn labels_of_row(def: &SourceDef, name: &[u8], instance: Option<&str>, meta: &Meta) -> Labels {
    let mut labels = Labels::default();
    for (label, part) in def.instance.iter().zip(instance_parts(name)) {
        let label = instance.map_or_else(|| own_label(label), str::to_owned);
        labels.set(&label, part);
    }
    labels.set("instance", meta.host().to_owned());
    labels.set("job", JOB.to_owned());
    labels
}

/// A label of ours that has the name of one that Prometheus sets: renamed as it does.
fn own_label(label: &str) -> String {
    match label {
        "instance" | "job" => format!("exported_{label}"),
        _ => label.to_owned(),
    }
}

fn texts(def: &SourceDef, table: &Table, row: usize) -> Vec<Option<Vec<u8>>> {
    let fields = def.fields.iter().enumerate().filter(|(_, field)| field.kind == Kind::Text);
    fields.map(|(index, _)| table.text(row, index).map(<[u8]>::to_vec)).collect()
}
