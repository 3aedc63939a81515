//! Folders of recordings as a storage of series.
//!
//! For each question the wanted fields of its period are read, columns of side files where there are
//! some, and nothing is kept unless that is wanted (`held_selectors.rs`).  A field is a metric of
//! node_exporter (`names.rs`), or `whit_SOURCE_FIELD_UNIT` as in OpenMetrics; counters are counters
//! and not rates.  A row that is no longer there ends with a stale mark.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use archive::{
    RecordedSpan, Recordings, Select, StoredColumn, StoredRow, StoredValue, VisitStored,
    target_source,
};
use metric_names::{MACHINE, MetricValue, NamesOfHost, SourcePlan, is_host_asked, known};
use promql::{
    Labels, Matcher, Metadata, QueryBudget, QueryError, Series, SeriesPoint, SeriesStorage,
    reserve, stale_mark,
};
use sample::{Kind, SourceDef};
use view::{BaseUnits, FieldMetric};

use crate::clock::{Deadline, now};
use crate::held_selectors::{BeginMs, FoundSource, HeldSelectors, SelectorRequest};

/// A recorder may add recordings at any time; they are looked for so often at most.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Between the beginning of a tick and the reading of a source in it, at most: the clock of a series
/// is that of the reading.
const TICK_MAX_NS: i64 = 10_000_000_000;

/// Recordings of several machines.
pub struct RecordingStorage {
    latest: Mutex<Latest>,
    held: Option<HeldSelectors>,
}

/// The recordings as they were found last.
struct Latest {
    recordings: Arc<Recordings>,
    /// When they are looked for again.
    until: Deadline,
}

impl RecordingStorage {
    /// The recordings in folders, and single ones.  Also returns a sentence for each file that is left
    /// out.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(paths: &[PathBuf]) -> Result<(Self, Vec<String>), archive::Error> {
        let recordings = Arc::new(Recordings::open(paths, &now())?);
        let left_out = recordings.complaints().into_iter().map(str::to_owned).collect();
        let latest = Mutex::new(Latest { recordings, until: Deadline::after(LOOK_EVERY) });
        Ok((RecordingStorage { latest, held: None }, left_out))
    }

    /// From now on holds what selectors found, for one who asks the same again and again as time goes on:
    /// only what is new is read then.
    #[must_use]
    pub fn holding(self) -> Self {
        RecordingStorage { held: Some(HeldSelectors::default()), ..self }
    }

    /// The recordings as they are now.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn recordings(&self) -> Result<Arc<Recordings>, archive::Error> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.until.has_passed() {
            Arc::make_mut(&mut latest.recordings).refresh(&now())?;
            latest.until = Deadline::after(LOOK_EVERY);
        }
        Ok(latest.recordings.clone())
    }

    /// The series that match, of each source of each host; `begin_ms` says from when on.
    fn read(
        recordings: &Recordings,
        asked: &SelectorRequest<'_>,
        begin_ms: BeginMs<'_>,
    ) -> Result<Vec<FoundSource>, QueryError> {
        let mut found = Vec::new();
        let matchers = asked.matchers;
        for host in recordings.hosts().into_iter().filter(|host| is_host_asked(matchers, host)) {
            let mut names = NamesOfHost::new();
            let mut has_machine = false;
            let grow = |span: &&RecordedSpan| span.thru_ns.is_none();
            let is_appended = recordings.spans(host).iter().filter(grow).count() <= 1;
            for def in recordings.sources(host) {
                asked.budget.look()?;
                // What pollers recorded is shown as of the devices.
                if def.device().is_some() {
                    continue;
                }
                let mut plan = SourcePlan::new(&def, matchers, &mut names);
                if !has_machine && def.instance.is_empty() {
                    plan.add_machine(matchers);
                    has_machine = true;
                }
                if plan.metrics.is_empty() {
                    continue;
                }
                let asked = SelectorRequest { from_ms: begin_ms(host, &def.name), ..*asked };
                let mut of_source =
                    FoundSeries { asked, series: Vec::new(), places: HashMap::new() };
                of_source.read(recordings, host, &plan)?;
                found.push(FoundSource {
                    host: host.to_owned(),
                    source: def.name.to_string(),
                    is_appended,
                    series: of_source.ordered(),
                });
            }
        }
        Ok(found)
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
        let recordings = self.recordings().map_err(|error| unreadable(&error))?;
        let asked = SelectorRequest { matchers, from_ms, to_ms, with_samples: true, budget };
        let read = |begin_ms: BeginMs<'_>| Self::read(&recordings, &asked, begin_ms);
        match &self.held {
            Some(held) => held.select(&asked, recordings.recorded_spans().collect(), &read),
            None => Ok(read(&|_, _| from_ms)?.into_iter().flat_map(|one| one.series).collect()),
        }
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        let recordings = self.recordings().map_err(|error| unreadable(&error))?;
        let asked = SelectorRequest { matchers, from_ms, to_ms, with_samples: false, budget };
        let found = Self::read(&recordings, &asked, &|_, _| from_ms)?;
        let series = found.into_iter().flat_map(|one| one.series);
        Ok(series.map(|series| series.labels).collect())
    }

    fn metadata(&self) -> Vec<Metadata> {
        let of_machine = MACHINE.iter().map(|one| {
            let (name, help) = (one.name.to_owned(), one.help.to_owned());
            (name.clone(), Metadata { name, kind: "gauge", help, unit: String::new() })
        });
        let mut found: BTreeMap<String, Metadata> = of_machine.collect();
        for def in source::definitions().iter().map(|def| &**def).chain([&target_source()]) {
            for field in def.fields.iter() {
                let metric = FieldMetric::of(def, field);
                let name = known(&def.name, &field.name)
                    .map_or(metric.name, |(_, name, _)| name.to_owned());
                let kind = match metric.kind {
                    Kind::Counter if !name.ends_with("_total") => "unknown",
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

fn unreadable(error: &archive::Error) -> QueryError {
    QueryError::Execution(format!("the recordings cannot be read: {error}"))
}

/// The series of a source that were found so far.
struct FoundSeries<'a> {
    asked: SelectorRequest<'a>,
    series: Vec<Series>,
    places: HashMap<Arc<Labels>, usize>,
}

impl FoundSeries<'_> {
    /// The series that have samples, each in the order of their times.
    fn ordered(self) -> Vec<Series> {
        let mut series = self.series;
        series.retain(|one| !one.samples.is_empty());
        for one in &mut series {
            // The clock may have been set back.
            if !one.samples.is_sorted_by(|before, after| before.time_ms < after.time_ms) {
                one.samples.sort_by_key(|sample| sample.time_ms);
                one.samples.dedup_by_key(|sample| sample.time_ms);
            }
        }
        series
    }

    /// Adds what the recordings have of a source.
    fn read(
        &mut self,
        recordings: &Recordings,
        host: &str,
        plan: &SourcePlan,
    ) -> Result<(), QueryError> {
        let fields: Vec<&str> = plan.fields.iter().map(String::as_str).collect();
        let begin_ns = self.asked.from_ms.saturating_mul(1_000_000);
        let select = Select {
            host,
            source: &plan.def.name,
            fields: &fields,
            from_ns: begin_ns.saturating_sub(TICK_MAX_NS),
            thru_ns: self.asked.to_ms.saturating_add(1).saturating_mul(1_000_000),
        };
        let mut series = SourceSeries {
            found: self,
            recordings,
            host,
            plan,
            rows: Vec::new(),
            units: (usize::MAX, Vec::new()),
            times: ColumnTimes::default(),
            failed: None,
        };
        match recordings.stored(&select, &mut series) {
            Ok(()) => Ok(()),
            Err(error) => Err(series.failed.unwrap_or_else(|| unreadable(&error))),
        }
    }

    fn push(&mut self, series: usize, time_ms: i64, value: f64) -> Result<(), QueryError> {
        // For a list of labels one sample tells that there is any.
        if !self.asked.with_samples && !self.series[series].samples.is_empty() {
            return Ok(());
        }
        self.asked.budget.take_samples(1)?;
        let samples = &mut self.series[series].samples;
        reserve(samples, 1);
        samples.push(SeriesPoint { time_ms, value });
        Ok(())
    }

    /// Marks the end of series.
    fn end<'s>(
        &mut self,
        series: impl Iterator<Item = &'s mut RowSeries>,
        time_ms: i64,
    ) -> Result<(), QueryError> {
        for one in series.filter(|one| one.is_there) {
            one.is_there = false;
            self.push(one.place, time_ms, stale_mark())?;
        }
        Ok(())
    }

    /// Adds the values of a column, and the end of the series where there are none.
    fn column(
        &mut self,
        one: &mut RowSeries,
        column: &StoredColumn<'_>,
        times: &ColumnTimes,
        units: Option<(Kind, BaseUnits)>,
    ) -> Result<(), QueryError> {
        let Some((kind, units)) = units else {
            return self.gap(one, times.within(0..usize::MAX));
        };
        let mut next = 0;
        for (begun, values) in column.runs() {
            self.gap(one, times.within(next..begun))?;
            next = begun + values.len();
            let within = times.within(begun..next);
            let before = times.in_period.start.saturating_sub(begun);
            let values = values.get(before..).unwrap_or_default();
            let most = match self.asked.with_samples {
                true => within.len(),
                // For a list of labels one sample tells that there is any.
                false => within.len().min(usize::from(self.series[one.place].samples.is_empty())),
            };
            self.asked.budget.take_samples(most)?;
            let points = within[..most].iter().zip(values);
            let point = |(&time_ms, &raw)| SeriesPoint { time_ms, value: units.raw(kind, raw) };
            let samples = &mut self.series[one.place].samples;
            reserve(samples, most);
            samples.extend(points.map(point));
            one.is_there |= !within.is_empty();
        }
        self.gap(one, times.within(next..usize::MAX))
    }

    /// Marks the end of a series that is there, at the first of some readings.
    fn gap(&mut self, one: &mut RowSeries, times_ms: &[i64]) -> Result<(), QueryError> {
        match times_ms.first() {
            Some(&time_ms) => self.end(std::iter::once(one), time_ms),
            None => Ok(()),
        }
    }

    /// The place of a series, if it matches.
    fn place(&mut self, labels: Labels) -> Result<Option<usize>, QueryError> {
        if !self.asked.matchers.iter().all(|matcher| matcher.is_match(labels.get(&matcher.name))) {
            return Ok(None);
        }
        if let Some(&place) = self.places.get(&labels) {
            return Ok(Some(place));
        }
        self.asked.budget.take_series(&labels)?;
        let labels = Arc::new(labels);
        self.places.insert(labels.clone(), self.series.len());
        self.series.push(Series { labels, samples: Vec::new() });
        Ok(Some(self.series.len() - 1))
    }
}

/// The series of a source of a host, while its rows come.
struct SourceSeries<'a, 'b> {
    found: &'a mut FoundSeries<'b>,
    recordings: &'a Recordings,
    host: &'a str,
    plan: &'a SourcePlan,
    /// By the number of the instance.
    rows: Vec<Option<KnownRow>>,
    /// A recording, and what makes numbers of its fields.
    units: (usize, Vec<Option<(Kind, BaseUnits)>>),
    times: ColumnTimes,
    /// Why it was ended.
    failed: Option<QueryError>,
}

/// When the readings of columns were read, in milliseconds, and which of them are in the period.
#[derive(Default)]
struct ColumnTimes {
    times_ms: Vec<i64>,
    in_period: Range<usize>,
}

impl ColumnTimes {
    /// The times of some readings, of those in the period.
    fn within(&self, readings: Range<usize>) -> &[i64] {
        let (begin, end) = (&self.in_period.start, &self.in_period.end);
        self.times_ms.get(readings.start.max(*begin)..readings.end.min(*end)).unwrap_or_default()
    }
}

struct KnownRow {
    /// The recording: its facts may be labels.
    file: usize,
    series: Vec<RowSeries>,
    /// The texts when its series were found: they are labels.
    texts: Vec<Option<Vec<u8>>>,
}

impl KnownRow {
    fn is_of(&self, plan: &SourcePlan, row: &StoredRow<'_>, values: &[StoredValue<'_>]) -> bool {
        let now = plan.texts.iter().map(|&place| text(values[place]));
        self.file == row.file && self.texts.iter().map(Option::as_deref).eq(now)
    }
}

struct RowSeries {
    value: MetricValue,
    place: usize,
    /// Whether the latest reading had a value.
    is_there: bool,
}

impl VisitStored for SourceSeries<'_, '_> {
    fn wants(&mut self, name: &[u8]) -> bool {
        self.plan.may_match(self.found.asked.matchers, self.host, name)
    }

    fn row(&mut self, row: &StoredRow<'_>) -> Result<(), archive::Error> {
        let taken = self.take(row);
        self.ended(taken)
    }

    fn takes_columns(&self) -> bool {
        let is_field = |value| matches!(value, MetricValue::Field(_));
        self.plan.texts.is_empty() && self.plan.metrics.iter().all(|metric| is_field(metric.value))
    }

    fn begin_columns(&mut self, times_ns: &[i64]) {
        let times_ms = &mut self.times.times_ms;
        times_ms.clear();
        times_ms.extend(times_ns.iter().map(|time_ns| time_ns.div_euclid(1_000_000)));
        let begin = times_ms.partition_point(|&time_ms| time_ms < self.found.asked.from_ms);
        let end = times_ms.partition_point(|&time_ms| time_ms <= self.found.asked.to_ms);
        self.times.in_period = begin..end.max(begin);
    }

    fn column(&mut self, column: &StoredColumn<'_>) -> Result<(), archive::Error> {
        let taken = self.take_column(column);
        self.ended(taken)
    }
}

impl SourceSeries<'_, '_> {
    fn ended(&mut self, taken: Result<(), QueryError>) -> Result<(), archive::Error> {
        taken.map_err(|error| {
            self.failed = Some(error);
            archive::Error::Ended
        })
    }

    /// Takes a field of an instance whose series have no texts as labels.
    fn take_column(&mut self, column: &StoredColumn<'_>) -> Result<(), QueryError> {
        self.found.asked.budget.look()?;
        let Some(&time_ms) = self.times.within(0..usize::MAX).first() else { return Ok(()) };
        let mut known = self.known(column.instance).take();
        if known.as_ref().is_none_or(|known| known.file != column.file) {
            known = Some(self.renewed(known, (column.file, column.name), &[], time_ms)?);
        }
        let units = self.units(column.file, column.def, column.field);
        for one in known.iter_mut().flat_map(|known| &mut known.series) {
            if matches!(one.value, MetricValue::Field(field) if field == column.field) {
                self.found.column(one, column, &self.times, units)?;
            }
        }
        self.rows[column.instance] = known;
        Ok(())
    }

    fn take(&mut self, row: &StoredRow<'_>) -> Result<(), QueryError> {
        self.found.asked.budget.turn()?;
        let time_ms = row.realtime_ns.div_euclid(1_000_000);
        if time_ms < self.found.asked.from_ms || time_ms > self.found.asked.to_ms {
            return Ok(());
        }
        let Some(values) = row.values else {
            let known = self.rows.get_mut(row.instance).and_then(Option::as_mut);
            return self.found.end(known.into_iter().flat_map(|known| &mut known.series), time_ms);
        };
        let mut known = self.known(row.instance).take();
        let plan = self.plan;
        if !known.as_ref().is_some_and(|known| known.is_of(plan, row, values)) {
            known = Some(self.renewed(known, (row.file, row.name), values, time_ms)?);
        }
        for one in known.iter_mut().flat_map(|known| &mut known.series) {
            let value = match one.value {
                MetricValue::Info => Some(1.0),
                MetricValue::Field(field) => self.number(row, field, values[field]),
                MetricValue::BootTime => self.boot_time(row),
                MetricValue::Time => Some(row.realtime_ns as f64 / 1e9),
            };
            // A value that is missing now ends the series until there is one again.
            let point = value.or(one.is_there.then(stale_mark));
            one.is_there = value.is_some();
            if let Some(value) = point {
                self.found.push(one.place, time_ms, value)?;
            }
        }
        self.rows[row.instance] = known;
        Ok(())
    }

    /// What is known of an instance.
    fn known(&mut self, instance: usize) -> &mut Option<KnownRow> {
        if self.rows.len() <= instance {
            self.rows.resize_with(instance + 1, || None);
        }
        &mut self.rows[instance]
    }

    /// Finds the series of an instance again, by the facts of a recording and its texts; those that it no
    /// longer has end.
    fn renewed(
        &mut self,
        known: Option<KnownRow>,
        (file, name): (usize, &[u8]),
        values: &[StoredValue<'_>],
        time_ms: i64,
    ) -> Result<KnownRow, QueryError> {
        let mut before = known.map_or(Vec::new(), |known| known.series);
        let mut series = self.series_of(file, name, values)?;
        for one in &mut series {
            one.is_there = before.iter().any(|old| old.place == one.place && old.is_there);
        }
        before.retain(|old| series.iter().all(|one| one.place != old.place));
        self.found.end(before.iter_mut(), time_ms)?;
        let texts = self.plan.texts.iter();
        let texts = texts.map(|&place| text(values[place]).map(<[u8]>::to_vec)).collect();
        Ok(KnownRow { file, series, texts })
    }

    /// The series of a row, those that match.
    fn series_of(
        &mut self,
        file: usize,
        name: &[u8],
        values: &[StoredValue<'_>],
    ) -> Result<Vec<RowSeries>, QueryError> {
        let mut found = Vec::new();
        let text = |field: usize| {
            let text = values.get(field).copied().and_then(text);
            text.map(layout::text::escape).unwrap_or_default()
        };
        let meta = self.recordings.meta(file);
        for metric in &self.plan.metrics {
            let labels = metric.labels(&self.plan.def, self.host, name, text, meta);
            let value = metric.value;
            let series = |place| RowSeries { value, place, is_there: false };
            found.extend(self.found.place(labels)?.map(series));
        }
        Ok(found)
    }

    /// When the machine of a recording was booted, in seconds since the epoch.
    fn boot_time(&self, row: &StoredRow<'_>) -> Option<f64> {
        let booted_ns: i64 = self.recordings.meta(row.file)?.get("boot_ns")?.parse().ok()?;
        Some(booted_ns as f64 / 1e9)
    }

    /// A value in base units.
    fn number(&mut self, row: &StoredRow<'_>, field: usize, value: StoredValue<'_>) -> Option<f64> {
        let StoredValue::Number(raw) = value else { return None };
        let (kind, units) = self.units(row.file, row.def, field)?;
        Some(units.raw(kind, raw))
    }

    /// What makes numbers of the values of a field in a recording.
    fn units(&mut self, file: usize, def: &SourceDef, field: usize) -> Option<(Kind, BaseUnits)> {
        if self.units.0 != file {
            let meta = self.recordings.meta(file)?;
            let units = |name: &String| {
                let field = &def.fields[def.field(name)?];
                Some((field.kind, BaseUnits::of(field.unit, meta)))
            };
            self.units = (file, self.plan.fields.iter().map(units).collect());
        }
        *self.units.1.get(field)?
    }
}

fn text(value: StoredValue<'_>) -> Option<&[u8]> {
    match value {
        StoredValue::Text(text) => Some(text),
        StoredValue::Missing | StoredValue::Number(_) => None,
    }
}
