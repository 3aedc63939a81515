//! Recordings of what an engine has: the way back from series to sources and rows, by the table of names.
//!
//! An engine is asked for the raw points of a host, a window of time after the other; what it gives
//! becomes a recording in memory, which is shown as any other one is.  Times are those of the engine, in
//! milliseconds.  What no source has a field for (sums of processes, extremes of steps, series of
//! others) is counted and named.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use http_client::HttpUrl;
use metric_names::{JOB, MACHINE, MetricValue, NamesOfHost, SourcePlan};
use promql::{Labels, NAME};
use recording::{Writer, WriterOptions};
use rustix::fs::{MemfdFlags, memfd_create};
use sample::{Field, Kind, Meta, Snapshot, SourceDef, State};
use view::to_base;

use crate::SendError;
use crate::asked::{AskedEngine, AsksPoints, Points, all_of};
use crate::settings::{EngineAccess, SendSettings};

/// What an address begins with that is read back.
const KINDS: [&str; 2] = ["prometheus=", "victoriametrics="];

/// Where engines answer questions.
const USUAL_PATH: &str = "/api/v1/query";

/// The windows that an engine is asked for: begun with the first, longer while there is nothing, shorter
/// while an answer is too large.
const WINDOW_MS: i64 = 300_000;
const WINDOW_MS_LEAST: i64 = 10_000;
const WINDOW_MS_MOST: i64 = 6 * 3_600_000;

/// Points of all hosts: a recording of them has some 100 MB of memory.
const POINTS_MAX: u64 = 200_000_000;

/// Names that are told of those that no source has.
const UNKNOWN_MAX: usize = 10;

/// Series that are counted of those.
const UNKNOWN_SERIES_MAX: usize = 100_000;

/// A recording in memory of what an engine has of a host.
pub struct EngineRecording {
    /// Where it can be opened while this is there.
    pub path: PathBuf,
    /// What it is of.
    pub host: String,
    /// Points in it.
    pub points: u64,
    /// Series that no source has a field for.
    pub unknown: u64,
    /// The names of the first of them.
    pub unknown_names: BTreeSet<String>,
    _file: File,
}

impl EngineRecording {
    /// What is missing in it, for people.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let names = self.unknown_names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let Self { host, unknown, .. } = self;
        (*unknown > 0)
            .then(|| format!("{host}: {unknown} series of the engine are of no source: {names}"))
    }
}

/// Reads back what stands among paths as `prometheus=URL` or `victoriametrics=URL`, and puts recordings of
/// it there, which can be opened while what is returned is there.
///
/// # Errors
/// As [`read_back`].
pub fn read_back_all(
    paths: &mut Vec<PathBuf>,
    period_ns: (i64, i64),
    access: &EngineAccess,
) -> Result<Vec<EngineRecording>, SendError> {
    let mut all = Vec::new();
    for path in std::mem::take(paths) {
        let is_engine = |text: &&str| KINDS.iter().any(|kind| text.starts_with(kind));
        match path.to_str().filter(is_engine) {
            Some(address) => {
                let read = read_back(address, period_ns, access)?;
                paths.extend(read.iter().map(|one| one.path.clone()));
                all.extend(read);
            }
            None => paths.push(path),
        }
    }
    Ok(all)
}

/// Reads what an engine has of each host between two times, in nanoseconds since the epoch.
///
/// # Errors
/// If the address is none, the period has no start, or the engine does not answer, or it has nothing
/// or too much.
pub fn read_back(
    address: &str,
    (from_ns, thru_ns): (i64, i64),
    access: &EngineAccess,
) -> Result<Vec<EngineRecording>, SendError> {
    let url = address.split_once('=').map_or(address, |(_, url)| url);
    let url = HttpUrl::parse(url.trim_end_matches('/'))?;
    let target = match url.has_path() {
        true => url.below(USUAL_PATH),
        false => USUAL_PATH.to_owned(),
    };
    if from_ns == i64::MIN {
        return Err(SendError::NoStart(url.to_string()));
    }
    let mut settings = SendSettings::default();
    access.load(&mut settings, url.is_encrypted())?;
    let mut engine = AskedEngine::new(&url, target, &settings)?;
    let period = (from_ns.div_euclid(1_000_000), thru_ns.div_euclid(1_000_000));
    let hosts = engine.values("instance", &format!("{{job=\"{JOB}\"}}"), period)?;
    let mut found = Vec::new();
    let mut points = 0;
    for host in hosts {
        let names = engine.values(NAME, &all_of(&host), period)?;
        let names: BTreeSet<String> = names.into_iter().collect();
        let mut reading = HostReading::new(host, &names);
        reading.read(&mut engine, period, &mut points, &url)?;
        found.extend(reading.finish()?);
    }
    if found.is_empty() {
        return Err(SendError::NothingThere(url.to_string()));
    }
    Ok(found)
}

/// A cell of a sample.
enum CellValue {
    Number(u64),
    Text(String),
}

/// The cells of a row: fields and their values.
type Row = Vec<(usize, CellValue)>;

/// The rows of a source at a time, by their names.
type Rows = BTreeMap<Vec<u8>, Row>;

/// A host while it is read.
struct HostReading {
    host: String,
    meta: Meta,
    defs: Vec<Arc<SourceDef>>,
    plans: Vec<SourcePlan>,
    /// By the name of a metric: source and metric.
    known: HashMap<String, Vec<(usize, usize)>>,
    unknown: BTreeSet<String>,
    unknown_series: BTreeSet<Labels>,
    /// What is not yet written: of each time and source its cells.
    waiting: BTreeMap<(i64, usize), Rows>,
    writer: Option<(Writer, File, i64)>,
    snapshot: Snapshot,
    interval_ms: i64,
    points: u64,
}

impl HostReading {
    fn new(host: String, names: &BTreeSet<String>) -> Self {
        let (mut of_host, mut defs, mut plans) = (NamesOfHost::new(), Vec::new(), Vec::new());
        let mut known: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for def in source::definitions() {
            let plan = SourcePlan::new(&def, &[], &mut of_host);
            let is_there = |value: MetricValue, name: &str| {
                names.contains(name) && matches!(value, MetricValue::Field(_))
            };
            if !plan.metrics.iter().any(|metric| is_there(metric.value, metric.name())) {
                continue;
            }
            for (at, metric) in plan.metrics.iter().enumerate() {
                known.entry(metric.name().to_owned()).or_default().push((plans.len(), at));
            }
            plans.push(plan);
            defs.push(def);
        }
        let mut meta = Meta::new();
        meta.set("host", host.as_str());
        // Brief views show what has a summary; the rest is there if it is asked for.
        let summary =
            |def: &&Arc<SourceDef>| def.letters.chars().any(|one| one.is_ascii_lowercase());
        let letters = defs.iter().filter(summary).flat_map(|def| def.letters.chars());
        let letters: BTreeSet<char> = letters.filter(char::is_ascii_lowercase).collect();
        let beside = defs.iter().filter(|def| !summary(def)).map(|def| format!(",{}", def.name));
        meta.set("subsystems", letters.into_iter().collect::<String>());
        meta.set(feed::RECORDED_BESIDE, beside.collect::<String>());
        let snapshot = Snapshot::new(&defs);
        HostReading {
            host,
            meta,
            defs,
            plans,
            known,
            unknown: BTreeSet::new(),
            unknown_series: BTreeSet::new(),
            waiting: BTreeMap::new(),
            writer: None,
            snapshot,
            interval_ms: 0,
            points: 0,
        }
    }

    /// Reads a period, a window after the other.
    fn read(
        &mut self,
        engine: &mut dyn AsksPoints,
        (from_ms, thru_ms): (i64, i64),
        points: &mut u64,
        url: &HttpUrl,
    ) -> Result<(), SendError> {
        let (mut begin_ms, mut window_ms) = (from_ms, WINDOW_MS);
        while begin_ms <= thru_ms {
            let end_ms = (begin_ms + window_ms - 1).min(thru_ms);
            let held = match engine.points(&self.host, begin_ms, end_ms) {
                Ok(held) => held,
                Err(_) if window_ms > WINDOW_MS_LEAST => {
                    window_ms /= 2;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let before = self.points;
            for (labels, values) in held {
                self.add_points(&labels, &values, begin_ms..=end_ms);
            }
            *points += self.points - before;
            if *points > POINTS_MAX {
                let server = url.to_string();
                return Err(SendError::TooMuch { server, points: POINTS_MAX });
            }
            self.write(false)?;
            begin_ms = end_ms + 1;
            window_ms = match self.points == before {
                true => (window_ms * 2).min(WINDOW_MS_MOST),
                false => window_ms.min(WINDOW_MS),
            };
        }
        Ok(())
    }

    /// Takes the points of a series.
    fn add_points(&mut self, labels: &Labels, values: &Points, asked_ms: RangeInclusive<i64>) {
        let name = labels.get(NAME);
        let metrics = self.known.get(name).map_or(&[][..], Vec::as_slice);
        let found = metrics.iter().find_map(|&(source, at)| {
            let row = self.plans[source].metrics[at].row_of(&self.defs[source], labels)?;
            Some((source, at, row))
        });
        let Some((source, at, row)) = found else {
            if MACHINE.iter().all(|one| one.name != name) {
                if self.unknown.len() < UNKNOWN_MAX {
                    self.unknown.insert(name.to_owned());
                }
                if self.unknown_series.len() < UNKNOWN_SERIES_MAX {
                    self.unknown_series.insert(labels.clone());
                }
            }
            return;
        };
        let (def, plan) = (&self.defs[source], &self.plans[source]);
        let metric = &plan.metrics[at];
        let place = |place: usize| def.field(&plan.fields[place]);
        // An older engine gives the last point of the window before once more, and one may give anything.
        for (time_ms, value) in values.iter().filter(|(time_ms, _)| asked_ms.contains(time_ms)) {
            let cells = self.waiting.entry((*time_ms, source)).or_default();
            let cells = cells.entry(row.clone()).or_default();
            if let MetricValue::Field(number) = metric.value
                && let Some(field) = place(number)
            {
                let raw = raw_of(&def.fields[field], *value, &self.meta);
                cells.push((field, CellValue::Number(raw)));
                self.points += 1;
            }
            for (text, label) in metric.texts() {
                let text = place(*text).filter(|_| !labels.get(label).is_empty());
                let cell = text.map(|field| (field, CellValue::Text(labels.get(label).to_owned())));
                cells.extend(cell);
            }
        }
    }

    /// Writes what waits as samples; the newest one waits on if more may come.
    fn write(&mut self, is_end: bool) -> Result<(), SendError> {
        if self.interval_ms == 0 {
            self.interval_ms = interval_of(self.waiting.keys()).unwrap_or(0);
        }
        let tolerance_ms = (self.interval_ms / 2).max(1);
        let mut tick: Vec<(i64, usize)> = Vec::new();
        for (time_ms, source) in self.waiting.keys().copied().collect::<Vec<_>>() {
            let is_more = tick.first().is_none_or(|(first_ms, _)| {
                time_ms - first_ms < tolerance_ms && tick.iter().all(|(_, other)| *other != source)
            });
            if !is_more {
                self.write_tick(&tick)?;
                tick.clear();
            }
            tick.push((time_ms, source));
        }
        if is_end { self.write_tick(&tick) } else { Ok(()) }
    }

    fn write_tick(&mut self, tick: &[(i64, usize)]) -> Result<(), SendError> {
        let Some((first_ms, _)) = tick.first() else { return Ok(()) };
        if self.writer.is_none() {
            self.writer = Some(self.writer(*first_ms)?);
        }
        let Some((writer, _, started_ms)) = &mut self.writer else { return Ok(()) };
        let monotonic = |time_ms: i64| (time_ms - *started_ms).max(0).cast_unsigned() * 1_000_000;
        let snapshot = &mut self.snapshot;
        snapshot.fresh.fill(false);
        (snapshot.realtime_ns, snapshot.monotonic_ns) =
            (first_ms * 1_000_000, monotonic(*first_ms));
        for key @ (time_ms, source) in tick {
            let Some(rows) = self.waiting.remove(key) else { continue };
            let sample = &mut snapshot.samples[*source];
            snapshot.fresh[*source] = true;
            (sample.realtime_ns, sample.monotonic_ns) = (time_ms * 1_000_000, monotonic(*time_ms));
            sample.state = State::Ok;
            sample.table.begin();
            for (name, cells) in in_order(rows) {
                let mut row = sample.table.row(&name);
                for (field, value) in cells {
                    match value {
                        CellValue::Number(raw) => row.set(field, raw),
                        CellValue::Text(text) => row.set_text(field, text.as_bytes()),
                    }
                }
            }
        }
        writer.append(snapshot)?;
        Ok(())
    }

    fn writer(&mut self, first_ms: i64) -> Result<(Writer, File, i64), SendError> {
        let file = memfd_create("whit", MemfdFlags::CLOEXEC);
        let file = File::from(file.map_err(|error| SendError::Memory(error.into()))?);
        let started_ms = first_ms - self.interval_ms.max(1);
        self.meta.set("started_ns", (started_ms * 1_000_000).to_string());
        self.meta.set("interval_ns", (self.interval_ms.max(1) * 1_000_000).to_string());
        let storage = Box::new(file.try_clone().map_err(SendError::Memory)?);
        let path = path_of(&file);
        let options = WriterOptions::default();
        let writer = Writer::with_storage(storage, &path, &self.meta, &self.defs, options)?;
        Ok((writer, file, started_ms))
    }

    /// The recording, if there is anything in it.
    fn finish(mut self) -> Result<Option<EngineRecording>, SendError> {
        self.write(true)?;
        let Some((writer, file, _)) = self.writer else { return Ok(None) };
        writer.close()?;
        Ok(Some(EngineRecording {
            path: path_of(&file),
            host: self.host,
            points: self.points,
            unknown: self.unknown_series.len() as u64,
            unknown_names: self.unknown,
            _file: file,
        }))
    }
}

/// The recording of a host of what an engine gives in this time, in milliseconds since the epoch, if it
/// gives anything: for fuzz targets.
pub(crate) fn fuzz_recording(
    engine: &mut dyn AsksPoints,
    names: &BTreeSet<String>,
    period_ms: (i64, i64),
) -> Result<Option<EngineRecording>, SendError> {
    let mut reading = HostReading::new("host".to_owned(), names);
    reading.read(engine, period_ms, &mut 0, &HttpUrl::parse("http://engine")?)?;
    reading.finish()
}

fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The time between two readings: the least that a source has.
fn interval_of<'a>(times: impl Iterator<Item = &'a (i64, usize)>) -> Option<i64> {
    let mut latest: HashMap<usize, i64> = HashMap::new();
    let between = times.filter_map(|(time_ms, source)| {
        let before = latest.insert(*source, *time_ms)?;
        Some((time_ms - before).max(1))
    });
    between.min()
}

/// Rows as kernels list them: `cpu2` before `cpu10`.
fn in_order(rows: Rows) -> Vec<(Vec<u8>, Row)> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_cached_key(|(name, _)| {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (stem, number) = name.split_at(name.len() - digits);
        (stem.to_vec(), number.len(), number.to_vec())
    });
    rows
}

/// The stored number of a value in base units.
fn raw_of(field: &Field, value: f64, meta: &Meta) -> u64 {
    let raw = (value / to_base(field.unit, 1.0, meta)).round();
    match field.kind {
        Kind::Gauge => (raw as i64).cast_unsigned(),
        _ => raw as u64,
    }
}
