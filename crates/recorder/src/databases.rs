//! `--export rrd`: each sample goes to round-robin databases, a file for each source as a whole and
//! for each instance, a data source for each field.
//!
//! Values are those of JSON: levels, and rates per second over the true time between two readings,
//! in base units.  They are stored as `GAUGE`s: a counter that was reset has no rate for that
//! interval and is unknown there, while RRDtool would guess that it wrapped.  A source as a whole
//! is its one row, or the sums over the instances that its layout counts.
//!
//! Rows wait and are written in batches, one file after the other, so that no sample waits for
//! all files.  A file that cannot be written is reported once, its rows wait, and those that are
//! given up are counted: nothing ends a recording.
//!
//! Begin with `frame`, then read `table.rs` (what is kept), `file.rs` (the rows of one file),
//! `grid.rs` (times) and `names.rs`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use layout::{Frame, Options, Row};
use rrd::update::Updater;
use sample::{Field, Kind, Level, Meta, SourceDef, State};
use view::export::{DEFAULT_TABLE, Databases};
use view::{View, base_number, is_shown, to_base};

mod ahead;
mod daemon;
mod file;
mod grid;
pub mod names;
mod table;

pub use table::{DatabaseTable, NamedSource, TableError};

use crate::messages::Notify;
use ahead::ClockAhead;
use daemon::{DaemonWriter, FILES_AT_ONCE, Prepared};
use file::{Plan, SeriesFile, WriteOutcome, Writing, folder_bytes};
use grid::Grid;
use table::{Fields, TABLE_BYTES_MAX, TableLine};

/// Files that stay open; others are opened for each batch.
const OPEN_MAX: usize = 512;

/// Most files; far above the devices of any machine seen.
const FILES_MAX: usize = 10_000;

/// Rows of a recording that are written at once.
const PLAYED_ROWS: usize = 512;

/// Reads a table, or the default.
///
/// # Errors
/// `InvalidInput` with the file and the line, and those of reading it.
pub fn read_table(path: Option<&std::path::Path>) -> io::Result<DatabaseTable> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    let Some(path) = path else {
        return DatabaseTable::parse(DEFAULT_TABLE).map_err(|error| invalid(error.to_string()));
    };
    let name = path.display();
    let named = |error: io::Error| io::Error::new(error.kind(), format!("table={name}: {error}"));
    let file = std::fs::File::open(path).map_err(named)?;
    let mut text = String::new();
    let limited = io::Read::take(file, TABLE_BYTES_MAX + 1);
    io::Read::read_to_string(&mut { limited }, &mut text).map_err(named)?;
    if text.len() as u64 > TABLE_BYTES_MAX {
        return Err(invalid(format!("table={name}: more than {TABLE_BYTES_MAX} bytes")));
    }
    DatabaseTable::parse(&text).map_err(|error| invalid(format!("table={name}: {error}")))
}

/// The databases, as a view that writes no text.
pub(crate) struct DatabaseView {
    settings: Databases,
    table: DatabaseTable,
    notify: Notify,
    host: String,
    tracks: Vec<TrackPlan>,
    files: Vec<SeriesFile>,
    /// The index of each file.
    by_path: HashMap<PathBuf, usize>,
    updater: Updater,
    /// What writes the files, if we do not.
    daemon: Option<DaemonWriter>,
    folder_bytes: u64,
    notices: Vec<String>,
    /// Files that could not be written at the last try: each outage is reported once.
    failing: usize,
    /// When the latest tick began.
    now_us: i64,
    ahead: ClockAhead,
    counts: Counts,
    values: Vec<f64>,
}

/// What was not stored.
#[derive(Debug, Default)]
struct Counts {
    /// Samples that are not newer than what the files hold.
    past: u64,
    /// Instances without a file because of a limit.
    refused: u64,
    /// Readings soon after the clock was set far ahead.
    ahead: u64,
}

/// What is kept of a source.
struct TrackPlan {
    whole: Option<WholePlan>,
    /// The lines about instances, the first that fits decides; without a plan nothing is kept.
    instances: Vec<(TableLine, Option<Arc<Plan>>)>,
    grid: Grid,
    /// The file of each row of the latest reading, and the name that it was found by.
    rows: Vec<(Vec<u8>, Option<usize>)>,
}

struct WholePlan {
    plan: Arc<Plan>,
    file: usize,
    counts: fn(&Row<'_>) -> bool,
}

impl DatabaseView {
    /// Reads the table and makes the folder.
    pub(crate) fn open(settings: Databases, notify: Notify) -> io::Result<Self> {
        let table = read_table(settings.table.as_deref())?;
        let folder = &settings.folder;
        let daemon = settings.daemon.clone().map(DaemonWriter::new);
        if daemon.as_ref().is_none_or(DaemonWriter::is_here) {
            std::fs::create_dir_all(folder).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot make {}: {error}", folder.display()))
            })?;
        }
        Ok(DatabaseView {
            folder_bytes: folder_bytes(folder),
            settings,
            table,
            notify,
            host: String::new(),
            tracks: Vec::new(),
            files: Vec::new(),
            by_path: HashMap::new(),
            updater: Updater::default(),
            daemon,
            notices: Vec::new(),
            failing: 0,
            now_us: 0,
            ahead: ClockAhead::default(),
            counts: Counts::default(),
            values: Vec::new(),
        })
    }

    /// What is kept of a source that the user asked for.
    fn plan(&mut self, def: &SourceDef, meta: &Meta, options: &Options) -> io::Result<TrackPlan> {
        let interval_ns = meta.cadence_ns(def.cadence);
        let mut track = TrackPlan {
            whole: None,
            instances: Vec::new(),
            grid: Grid::new(interval_ns),
            rows: Vec::new(),
        };
        // A source of instances that have no sum is asked for as a whole, and kept by instances.
        let has_instances = !def.instance.is_empty();
        let has_detail = def.levels().any(|level| level == Level::Detail);
        let (whole, detail) = (Level::Summary, Level::Detail);
        let adds_up = has_detail || !has_instances;
        if options.asks(def, whole)
            && adds_up
            && let Some(line) = self.table.whole(&def.name).cloned()
            && let Some(plan) = self.plan_of(&line, def, interval_ns)?
        {
            let layout = options.layouts.at(def, Level::Summary);
            let counts = layout.map_or((|_| true) as fn(&Row<'_>) -> bool, |layout| layout.counts);
            let path = names::file_of(&self.settings.folder, &def.name, None);
            let plan = Arc::new(plan);
            if let Some(file) = self.file(path, &plan) {
                track.whole = Some(WholePlan { plan, file, counts });
            }
        }
        if has_instances && (options.asks(def, detail) || options.asks(def, whole) && !adds_up) {
            let lines: Vec<TableLine> = self.table.instances(&def.name).cloned().collect();
            let comes_and_goes = options.layouts.of(def).iter().any(|one| one.account.is_some());
            if comes_and_goes && !lines.is_empty() {
                return Err(invalid(format!(
                    "{}: its instances come and go, and each would leave a file: leave it out of -s",
                    def.name
                )));
            }
            for line in lines {
                let plan = self.plan_of(&line, def, interval_ns)?.map(Arc::new);
                track.instances.push((line, plan));
            }
        }
        Ok(track)
    }

    /// The fields of a source that a line names.
    fn plan_of(
        &self,
        line: &TableLine,
        def: &SourceDef,
        interval_ns: u64,
    ) -> io::Result<Option<Plan>> {
        let is_number = |field: &Field| field.kind != Kind::Text;
        // Levels of several instances have no sum that means anything in general.
        let adds_up = line.instances.is_some() || def.instance.is_empty();
        let is_meant = |field: &Field| is_number(field) && (adds_up || field.kind == Kind::Counter);
        let all = def.fields.iter().enumerate();
        let fields: Vec<(usize, &str)> = match &line.fields {
            Fields::Nothing => return Ok(None),
            Fields::All => all
                .filter(|(_, field)| is_meant(field))
                .map(|(index, field)| (index, &*field.name))
                .collect(),
            Fields::Named(names) => {
                let field = |name: &String| {
                    let found = def.field(name).filter(|&index| is_number(&def.fields[index]));
                    found.map(|index| (index, &*def.fields[index].name)).ok_or_else(|| {
                        let known = all.clone().filter(|(_, field)| is_number(field));
                        let known: Vec<&str> = known.map(|(_, field)| &*field.name).collect();
                        let place = match &self.settings.table {
                            Some(path) => format!("table={}: ", path.display()),
                            None => String::new(),
                        };
                        invalid(format!(
                            "{place}line {}: {} has no field '{name}' that is a number; it has {}",
                            line.line,
                            def.name,
                            known.join(", ")
                        ))
                    })
                };
                names.iter().map(field).collect::<io::Result<_>>()?
            }
        };
        Ok((!fields.is_empty()).then(|| Plan::new(fields, &line.archives, interval_ns)))
    }

    /// The file of this path, for this plan; `None` if there are too many.
    fn file(&mut self, path: PathBuf, plan: &Arc<Plan>) -> Option<usize> {
        if let Some(&index) = self.by_path.get(&path) {
            let file = &self.files[index];
            if !Arc::ptr_eq(&file.plan, plan) && file.plan.names != plan.names {
                self.write_files(&[index]);
                let lost = self.files[index].lost;
                self.files[index] = SeriesFile::new(path, Arc::clone(plan));
                self.files[index].lost = lost;
            }
            return Some(index);
        }
        if self.files.len() >= FILES_MAX {
            self.counts.refused += 1;
            return None;
        }
        let index = self.files.len();
        self.files.push(SeriesFile::new(path.clone(), Arc::clone(plan)));
        self.by_path.insert(path, index);
        Some(index)
    }

    /// The file of an instance; `None` if nothing is kept of it.
    #[cold]
    fn file_of_instance(&mut self, track: usize, def: &SourceDef, name: &[u8]) -> Option<usize> {
        let (_, plan) = self.tracks[track].instances.iter().find(|(line, _)| line.fits(name))?;
        let plan = plan.clone()?;
        let path = names::file_of(&self.settings.folder, &def.name, Some(name));
        self.file(path, &plan)
    }

    /// Takes what a row says, if anything.
    fn add_values(&mut self, file: usize, times_us: (i64, i64)) {
        if self.values.iter().all(|value| value.is_nan()) {
            return;
        }
        let (since_us, until_us) = times_us;
        let series = &mut self.files[file];
        if !series.push(since_us, until_us, &self.values) {
            self.counts.past += 1;
        } else if series.due_us.is_none() && self.settings.batch_seconds.is_some() {
            series.due_us = Some(until_us.saturating_add(batch_us(&self.settings)));
        }
    }

    /// Writes the rows of a file that wait.
    fn write(&mut self, index: usize) {
        let mut writing = Writing {
            updater: &mut self.updater,
            folder_bytes: &mut self.folder_bytes,
            limit_bytes: self.settings.limit_bytes,
            notices: &mut self.notices,
        };
        let written = self.files[index].write(&mut writing).map_err(|error| error.to_string());
        self.settle(index, written);
        if index >= OPEN_MAX {
            self.files[index].close();
        }
    }

    /// Takes note of how a write ended.
    fn settle(&mut self, index: usize, written: Result<WriteOutcome, String>) {
        let series = &mut self.files[index];
        let was_failing = std::mem::replace(&mut series.is_failing, written.is_err());
        self.failing -= usize::from(was_failing);
        match written {
            Ok(WriteOutcome::Done { past }) => self.counts.past += past,
            Ok(WriteOutcome::BeyondLimit) => {
                series.refuse();
                self.counts.refused += 1;
                if self.counts.refused == 1 {
                    let (path, limit) = (series.path.display(), self.settings.limit_bytes >> 20);
                    self.notices.push(format!(
                        "{path} is not begun: the files would take more than {limit} MiB; see \
                         limit= in --export rrd,h"
                    ));
                }
            }
            Err(error) => {
                if self.failing == 0 && !was_failing {
                    self.notices.push(format!("{error}; trying again with each batch"));
                }
                self.failing += 1;
                // Not at every sample.
                series.due_us = Some(self.now_us.saturating_add(batch_us(&self.settings)));
            }
        }
    }

    /// Writes files, or has the daemon write them.
    fn write_files(&mut self, indexes: &[usize]) {
        let Some(mut daemon) = self.daemon.take() else {
            indexes.iter().for_each(|index| self.write(*index));
            return;
        };
        for indexes in indexes.chunks(FILES_AT_ONCE) {
            self.hand_over(&mut daemon, indexes);
        }
        self.daemon = Some(daemon);
    }

    /// Hands the rows of some files to the daemon, in one batch.
    fn hand_over(&mut self, daemon: &mut DaemonWriter, indexes: &[usize]) {
        let mut ready = Vec::new();
        for &index in indexes {
            let series = &mut self.files[index];
            if series.rows() == 0 {
                series.due_us = None;
                continue;
            }
            let limit_bytes = self.settings.limit_bytes;
            match daemon.prepare(series, &mut self.folder_bytes, limit_bytes) {
                Ok(Prepared::Ready { past, missing }) => {
                    self.counts.past += past;
                    if !missing.is_empty() && !std::mem::replace(&mut series.told_missing, true) {
                        self.notices.push(format!(
                            "{}: the file has no data source {}, so that is not kept: a daemon \
                             adds none; run once with daemon=",
                            series.path.display(),
                            missing.join(", ")
                        ));
                    }
                    let sources = series.sources.clone().unwrap_or_default();
                    let path = series.path.to_string_lossy().into_owned();
                    ready.push((index, path, series.readings(&sources)));
                }
                Ok(Prepared::BeyondLimit) => self.settle(index, Ok(WriteOutcome::BeyondLimit)),
                Err(error) => self.settle(index, Err(error)),
            }
        }
        let updates: Vec<(&str, &[String])> =
            ready.iter().map(|(_, path, readings)| (path.as_str(), &readings[..])).collect();
        if updates.is_empty() {
            return;
        }
        let sent = daemon.send(&updates);
        for (index, ..) in &ready {
            let series = &mut self.files[*index];
            let done = match &sent {
                Ok(_) => {
                    series.handed_over();
                    Ok(WriteOutcome::Done { past: 0 })
                }
                // Some may have been taken: the file is asked for its last update.
                Err(error) => {
                    series.sources = None;
                    Err(error.clone())
                }
            };
            self.settle(*index, done);
        }
        for refused in sent.unwrap_or_default() {
            let Some((index, path, readings)) = ready.get(refused.index) else { continue };
            self.notices.push(format!("{path}: the daemon refuses rows: {}", refused.message));
            let series = &mut self.files[*index];
            series.lost += readings.len() as u64;
            series.sources = None;
        }
    }

    /// Writes the files that are due: as many as a batch has in this time, so that no sample waits
    /// for all of them.
    fn write_due(&mut self, now_us: i64) {
        let passed_us = now_us.saturating_sub(self.now_us).clamp(0, batch_us(&self.settings));
        self.now_us = now_us;
        let share = self.files.len() as i64 * passed_us / batch_us(&self.settings) + 1;
        // The daemon takes what there is.
        let share = if self.daemon.is_some() { i64::MAX } else { share };
        let mut due = Vec::new();
        for (index, series) in self.files.iter().enumerate() {
            let is_due = series.due_us.is_some_and(|due_us| now_us >= due_us);
            let is_full = series.rows() >= PLAYED_ROWS && !series.is_failing;
            if is_full || is_due && (due.len() as i64) < share {
                due.push(index);
            }
        }
        self.write_files(&due);
        self.tell();
    }

    fn write_all(&mut self) {
        let all: Vec<usize> = (0..self.files.len()).collect();
        self.write_files(&all);
        self.tell();
    }

    fn tell(&mut self) {
        for notice in self.notices.drain(..) {
            (self.notify)(&format!("--export rrd: {notice}"));
        }
    }
}

impl View for DatabaseView {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        if options.exact {
            let text = "--exact puts 0 where a value is missing; a history keeps it unknown";
            return Err(invalid(text));
        }
        if options.per_interval() {
            return Err(invalid("-on: files hold rates per second"));
        }
        if !self.host.is_empty() && self.host != meta.host() {
            return Err(invalid(format!(
                "these are recordings of {} and of {}: give each machine a folder of its own",
                layout::text::escape(self.host.as_bytes()),
                layout::text::escape(meta.host().as_bytes())
            )));
        }
        meta.host().clone_into(&mut self.host);
        self.tracks.clear();
        for def in defs {
            let track = self.plan(def, meta, options)?;
            self.tracks.push(track);
        }
        if !(0..self.tracks.len()).any(|index| self.looks_at(index)) {
            return Err(invalid("the table keeps nothing of what -s selects"));
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> io::Result<()> {
        for (index, track) in frame.tracks.iter().enumerate().take(self.tracks.len()) {
            let both = track.current.state == State::Ok && track.previous.state == State::Ok;
            // A first reading says nothing about the time before it.
            if !track.fresh || !both {
                continue;
            }
            if self.ahead.leaves_out(&track.previous, &track.current) {
                self.counts.ahead += 1;
                continue;
            }
            let plan = &mut self.tracks[index];
            let since_us = plan.grid.stamp_us(track.previous.realtime_ns);
            let times_us = (since_us, plan.grid.stamp_us(track.current.realtime_ns));
            let whole = frame.whole(track);
            if let Some(WholePlan { plan, file, counts }) = &plan.whole {
                sums(&whole, plan, *counts, &mut self.values);
                let file = *file;
                self.add_values(file, times_us);
            }
            if !self.tracks[index].instances.is_empty() {
                self.take_instances(index, &whole, times_us);
            }
        }
        self.write_due(frame.realtime_ns.div_euclid(1_000));
        Ok(())
    }

    fn looks_at(&self, source: usize) -> bool {
        self.tracks
            .get(source)
            .is_some_and(|track| track.whole.is_some() || !track.instances.is_empty())
    }

    fn flush(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        self.write_all();
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        self.write_all();
        for series in &mut self.files {
            series.give_up();
            series.close();
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let lost: u64 = self.files.iter().map(|series| series.lost).sum();
        let Counts { past, refused, ahead } = self.counts;
        let folder = self.settings.folder.display();
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(format!("--export rrd: {count} {text}"));
            }
        };
        note(lost, "rows could not be written");
        note(past, &format!("rows are not newer than the files in {folder}, which keep theirs"));
        note(ahead, "readings within 10 minutes after the clock was set ahead by more than a day");
        note(refused, "instances have no file, because of a limit");
        notes
    }
}

impl DatabaseView {
    fn take_instances(&mut self, index: usize, whole: &Row<'_>, times_us: (i64, i64)) {
        for (at, row) in whole.rows().enumerate() {
            let name = row.name();
            let found = self.tracks[index].rows.get(at);
            let file = match found.filter(|(known, _)| known == name) {
                Some((_, file)) => *file,
                None => {
                    let file = self.file_of_instance(index, &whole.track.def, name);
                    let rows = &mut self.tracks[index].rows;
                    if rows.len() <= at {
                        rows.resize_with(at + 1, Default::default);
                    }
                    rows[at] = (name.to_vec(), file);
                    file
                }
            };
            let Some(file) = file.filter(|_| is_shown(&row)) else { continue };
            self.values.clear();
            let fields = self.files[file].plan.fields.iter();
            self.values.extend(fields.map(|&field| base_number(&row, field).unwrap_or(f64::NAN)));
            self.add_values(file, times_us);
        }
    }
}

/// The values of a source as a whole.
fn sums(whole: &Row<'_>, plan: &Plan, counts: fn(&Row<'_>) -> bool, values: &mut Vec<f64>) {
    values.clear();
    if whole.track.def.instance.is_empty() {
        let numbers = plan.fields.iter().map(|&field| base_number(whole, field));
        values.extend(numbers.map(|number| number.unwrap_or(f64::NAN)));
        return;
    }
    values.resize(plan.fields.len(), f64::NAN);
    for row in whole.rows().filter(|row| counts(row)) {
        for (sum, &field) in values.iter_mut().zip(&plan.fields) {
            let part = match whole.track.def.fields[field].kind {
                Kind::Counter => row.delta(field),
                _ => row.gauge(field),
            };
            if let Some(part) = part {
                *sum = if sum.is_nan() { part } else { *sum + part };
            }
        }
    }
    for (sum, &field) in values.iter_mut().zip(&plan.fields) {
        let Field { kind, unit, .. } = &whole.track.def.fields[field];
        let sum_known = Some(*sum).filter(|sum| !sum.is_nan());
        let value = if *kind == Kind::Counter { whole.per_second(sum_known) } else { sum_known };
        let value = value.map(|value| to_base(*unit, value, whole.frame.meta));
        *sum = value.filter(|value| value.is_finite()).unwrap_or(f64::NAN);
    }
}

/// Microseconds of a batch; of tries again where a recording is played.
fn batch_us(settings: &Databases) -> i64 {
    i64::from(settings.batch_seconds.unwrap_or(10)) * 1_000_000
}

fn invalid(text: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("--export rrd: {text}"))
}

#[cfg(test)]
mod tests;
