//! Readings into round-robin databases: made, tuned and updated as MRTG does, directly or through a
//! caching daemon.
//!
//! A direct update is one open file a target; files stay open between rounds, as many as allowed, so
//! that a round neither opens, maps nor parses them.  A daemon gets all updates of a round in one batch.
//! MRTG does not look at thresholds in cached mode; here the rows of those targets that have
//! thresholds are fetched from the daemon, and no others.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rrd::header::{ConsolidationFunction, Time};
use rrd::image::Image;
use rrd::update::{Moments, Options, Updater, WrittenValue};
use rrd::{Access, File, Locking};
use rrdclient::{Client, CreateRequest};

use crate::config::Global;
use crate::notices::Notices;
use crate::path_of;
use crate::reading::{Reading, SECOND_NS, time_text};
use crate::target::PollTarget;
use crate::thresholds::ThresholdRules;

use super::design::{Design, SOURCES};

/// Why a database was not updated.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    /// The database cannot be made.
    #[error("cannot create {path}: {error}")]
    Create { path: String, error: rrd::Error },
    /// The database cannot be changed.
    #[error("cannot tune {path}: {error}")]
    Tune { path: String, error: rrd::Error },
    /// The database refuses the reading.
    #[error("cannot update {path} with '{argument}': {error}")]
    Update { path: String, argument: String, error: rrd::Error },
    /// The old log cannot be converted.
    #[error("cannot convert {path}: {error}")]
    Convert { path: String, error: super::log_conversion::ConversionError },
    /// The daemon refuses.
    #[error("{0}")]
    Daemon(#[from] rrdclient::ClientError),
}

impl DatabaseError {
    /// Adds it to the notices of a round: with its path alone, with others by its cause.
    pub(super) fn add_to(&self, notices: &mut Notices) {
        let (path, cause) = match self {
            DatabaseError::Create { path, error } => {
                (path, format!("cannot create: {}", root(error)))
            }
            DatabaseError::Tune { path, error } => (path, format!("cannot tune: {}", root(error))),
            DatabaseError::Update { path, error, .. } => {
                (path, format!("cannot update: {}", root(error)))
            }
            DatabaseError::Convert { path, error } => (path, format!("cannot convert: {error}")),
            DatabaseError::Daemon(error) => {
                return notices.add(|| "a database".into(), error.to_string());
            }
        };
        notices.add_or(|| path.clone(), cause, || Some(self.to_string()));
    }

    /// Whether there is no database, and none can be made.
    pub(super) fn is_of_making(&self) -> bool {
        matches!(self, DatabaseError::Create { .. } | DatabaseError::Daemon(_))
    }
}

/// What is wrong, without the path.
fn root(error: &rrd::Error) -> String {
    match error {
        rrd::Error::File { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}

/// What thresholds look at: the latest row of averages and of failures, for in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LatestRow {
    pub(super) averages: [Option<f64>; 2],
    pub(super) failures: [Option<f64>; 2],
}

impl LatestRow {
    /// The newest values of a log file.
    pub(super) fn of(values: [i64; 2]) -> Self {
        LatestRow { averages: values.map(|value| Some(value as f64)), failures: [None, None] }
    }
}

/// Databases of a configuration.
#[derive(Debug, Default)]
pub(super) struct Databases {
    updater: Updater,
    /// Targets whose database has been compared with the configuration.
    verified: HashSet<usize>,
    /// Databases that stay open, by target; how many they are, and the most of them.
    open: Vec<Option<File>>,
    open_count: usize,
    open_max: usize,
    /// Whether the process ends after this round.
    is_last_round: bool,
    client: Option<Client>,
    /// Updates for the daemon.
    pending: Vec<PendingUpdate>,
    /// Readings of this round whose counters were reset since the file's latest one.
    pub(super) reset_count: usize,
}

/// An update for the daemon.
#[derive(Debug)]
struct PendingUpdate {
    target: usize,
    file: String,
    arguments: Vec<String>,
    time_s: i64,
}

/// The time of an update is always in numbers.
struct Now(i64);

impl Moments for Now {
    fn now(&self) -> Time {
        Time::of_seconds(self.0)
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(format!("{words} is no time"))
    }
}

/// What is said of a target whose counters were reset since its file was written.
pub(super) const COUNTERS_RESET: &str =
    "the device was started again since the last reading: what its counters grew by is unknown";

/// A reading as an update takes it.
fn argument(reading: &Reading) -> String {
    let value = |value: &Option<crate::Decimal>| match value {
        Some(value) => value.to_string(),
        None => "U".to_owned(),
    };
    let [input, output] = &reading.values;
    format!("{}:{}:{}", time_text(reading.time_ns), value(input), value(output))
}

/// The updates for a reading.  If counters were reset, a second before it is unknown: so is what
/// they grew by, and the next reading has something to be compared with.
fn arguments(reading: &Reading, was_reset: bool, last_ns: i64) -> Vec<String> {
    let time_ns = reading.time_ns;
    let unknown = |time_ns: i64| format!("{}:U:U", time_text(time_ns));
    match was_reset {
        false => vec![argument(reading)],
        true if last_ns < time_ns - SECOND_NS => {
            vec![unknown(time_ns - SECOND_NS), argument(reading)]
        }
        true => vec![unknown(time_ns)],
    }
}

/// When a database was updated, in ns since 1970, and with what.
fn latest_reading(file: &File) -> (i64, [Option<i128>; 2]) {
    let header = file.header();
    let last = SOURCES.map(|name| {
        let primary = header.primary.get(header.source_index(name)?)?;
        std::str::from_utf8(primary.reading()).ok()?.parse().ok()
    });
    let Time { seconds, microseconds } = header.last_update;
    (seconds.saturating_mul(SECOND_NS).saturating_add(microseconds.saturating_mul(1_000)), last)
}

/// The file of a target.
pub(super) fn path(global: &Global, target: &PollTarget) -> PathBuf {
    path_of(&format!("{}{}{}.rrd", global.log_dir, target.directory, target.name))
}

impl Databases {
    /// Lets so many databases stay open between rounds, or until the process ends after this round.
    pub(super) fn keep_open(&mut self, open_max: usize, is_last_round: bool) {
        if self.open_count > open_max {
            self.open.clear();
            self.open_count = 0;
        }
        (self.open_max, self.is_last_round) = (open_max, is_last_round);
    }

    /// Databases for a configuration that has changed, with the same limits.
    pub(super) fn unverified(&self) -> Self {
        let Databases { open_max, is_last_round, .. } = *self;
        Databases { open_max, is_last_round, ..Databases::default() }
    }

    /// Closes the database of a target that another poller has.
    pub(super) fn close(&mut self, number: usize) {
        if self.open.get_mut(number).and_then(Option::take).is_some() {
            self.open_count -= 1;
        }
    }

    /// Forgets the updates for the daemon: they are another poller's.
    pub(super) fn forget(&mut self, say: &mut dyn FnMut(String)) {
        let count = std::mem::take(&mut self.pending).len();
        if count > 0 {
            say(format!("{count} updates are not sent: the lease of this poller is over"));
        }
    }

    /// Updates the database of a target, or keeps the update for the daemon.
    pub(super) fn add(
        &mut self,
        global: &Global,
        number: usize,
        target: &PollTarget,
        reading: &Reading,
        notices: &mut Notices,
    ) -> Result<LatestRow, DatabaseError> {
        let Some(address) = &global.rrdcached else {
            return self.update(global, number, target, reading, notices);
        };
        let time_s = reading.time_s();
        let file = if address.starts_with("unix:") {
            let path = path(global, target);
            self.verify(global, number, target, &path, time_s)?;
            path.display().to_string()
        } else {
            let name = format!("{}{}.rrd", target.directory, target.name);
            self.verify_remote(global, number, target, &name, time_s, notices)?;
            name
        };
        let last_ns = reading.time_ns - i64::from(global.interval_s) * SECOND_NS;
        self.reset_count += usize::from(reading.was_reset);
        let arguments = arguments(reading, reading.was_reset, last_ns);
        self.pending.push(PendingUpdate { target: number, file, arguments, time_s });
        Ok(LatestRow::default())
    }

    /// Updates the database of a target directly.
    fn update(
        &mut self,
        global: &Global,
        number: usize,
        target: &PollTarget,
        reading: &Reading,
        notices: &mut Notices,
    ) -> Result<LatestRow, DatabaseError> {
        let time_s = reading.time_s();
        let failed = |error, argument: &str| DatabaseError::Update {
            path: path(global, target).display().to_string(),
            argument: argument.to_owned(),
            error,
        };
        let not_opened = |error| failed(error, &argument(reading));
        if !self.is_locked_again(number) {
            let file = self.opened(global, number, target, time_s, &not_opened)?;
            self.open.resize_with(self.open.len().max(number + 1), || None);
            self.open[number] = Some(file);
            self.open_count += 1;
        }
        // It was locked or put there above.
        let Some(Some(file)) = self.open.get_mut(number) else { return Ok(LatestRow::default()) };
        let (mut last_ns, mut last) = latest_reading(file);
        let mut was_reset = reading.was_reset_since(last_ns, last);
        if was_reset && file.refresh().is_ok() {
            // Another program may have updated the file that stayed open.
            (last_ns, last) = latest_reading(file);
            was_reset = reading.was_reset_since(last_ns, last);
        }
        if was_reset && !reading.was_reset {
            notices.add(|| target.name.clone(), COUNTERS_RESET);
        }
        self.reset_count += usize::from(was_reset);
        let arguments = arguments(reading, was_reset, last_ns);
        let texts: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
        let mut written = Vec::new();
        let wants_rows = target.thresholds.has_bounds() || target.hw_thresholds.has_bounds();
        let list = wants_rows.then_some(&mut written);
        let updated = self.updater.update(file, &Options::default(), &texts, &Now(time_s), list);
        let row = updated.map(|()| latest_row(file, &written, time_s, global.interval_s));
        if row.is_err() || self.open_count > self.open_max {
            self.open[number] = None;
            self.open_count -= 1;
        } else if self.is_last_round {
            self.open[number].take().into_iter().for_each(File::leave_to_exit);
        } else {
            file.unlock();
        }
        row.map_err(|error| failed(error, &arguments.join(" ")))
    }

    /// Whether the database of a target stayed open and its name still means that file; then it is
    /// locked again, and else closed.
    fn is_locked_again(&mut self, number: usize) -> bool {
        let Some(Some(file)) = self.open.get_mut(number) else { return false };
        let is_same = file.lock_again(Locking::default());
        if matches!(is_same, Ok(false)) {
            // The other file was not compared with the configuration.
            self.verified.remove(&number);
        }
        let is_locked = matches!(is_same, Ok(true));
        if !is_locked {
            self.open[number] = None;
            self.open_count -= 1;
        }
        is_locked
    }

    /// Opens the database of a target, which is made if there is none, and compared with the
    /// configuration if it was not yet.
    fn opened(
        &mut self,
        global: &Global,
        number: usize,
        target: &PollTarget,
        time_s: i64,
        failed: &dyn Fn(rrd::Error) -> DatabaseError,
    ) -> Result<File, DatabaseError> {
        let path = path(global, target);
        let access = Access::Write(Locking::default());
        match File::open(&path, access) {
            Ok(file) if self.verified.contains(&number) => return Ok(file),
            Ok(file) if !differs(&file, &Design::of(global, target)) => {
                self.verified.insert(number);
                return Ok(file);
            }
            Err(error) if !is_missing(&error) => return Err(failed(error)),
            _ => {}
        }
        self.verify(global, number, target, &path, time_s)?;
        File::open(&path, access).map_err(failed)
    }

    /// Makes the file, or compares it with the configuration; once in a run.
    fn verify(
        &mut self,
        global: &Global,
        number: usize,
        target: &PollTarget,
        path: &Path,
        time_s: i64,
    ) -> Result<(), DatabaseError> {
        let exists = path.exists();
        if exists && self.verified.contains(&number) {
            return Ok(());
        }
        let shown = || path.display().to_string();
        let design = Design::of(global, target);
        if exists {
            tune(path, &design).map_err(|error| DatabaseError::Tune { path: shown(), error })?;
        } else if path.with_extension("log").exists() {
            let log = path.with_extension("log");
            super::log_conversion::convert(&log, path, &design, target)
                .map_err(|error| DatabaseError::Convert { path: shown(), error })?;
        } else {
            let options = rrd::create::Options {
                start: Some(time_s - 10),
                step_seconds: Some(design.step_s),
                ..Default::default()
            };
            let definitions = design.definitions(target);
            let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
            rrd::create::create(path, &options, &definitions, time_s)
                .map_err(|error| DatabaseError::Create { path: shown(), error })?;
        }
        self.verified.insert(number);
        Ok(())
    }

    /// Makes or compares the file through a daemon of another machine, which cannot be asked to change a file.
    fn verify_remote(
        &mut self,
        global: &Global,
        number: usize,
        target: &PollTarget,
        name: &str,
        time_s: i64,
        notices: &mut Notices,
    ) -> Result<(), DatabaseError> {
        if self.verified.contains(&number) {
            return Ok(());
        }
        let design = Design::of(global, target);
        let client = self.client(global)?;
        match client.info(name) {
            Ok(fields) => {
                let limits = design.limit_texts();
                let is_of = |key: &str, wanted: &str| {
                    fields.iter().find(|(name, _)| name == key).is_none_or(|(_, value)| match value
                    {
                        rrdclient::InfoField::Text(text) => text == wanted,
                        rrdclient::InfoField::Double(number) => {
                            wanted.parse().map_or(number.is_nan(), |wanted: f64| wanted == *number)
                        }
                        _ => true,
                    })
                };
                let agrees = SOURCES.iter().zip(&limits).all(|(source, limit)| {
                    is_of(&format!("ds[{source}].type"), design.kind.name())
                        && is_of(&format!("ds[{source}].max"), limit)
                });
                if !agrees {
                    let cause =
                        "differs from the configuration and cannot be tuned through a daemon";
                    notices.add(|| name.to_owned(), cause);
                }
            }
            Err(rrdclient::ClientError::Refused { .. }) => {
                let definitions = design.definitions(target);
                let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
                client.create(
                    name,
                    &CreateRequest {
                        step_s: Some(design.step_s),
                        start_s: Some(time_s - 10),
                        keeps_existing: true,
                        definitions: &definitions,
                        ..CreateRequest::default()
                    },
                )?;
            }
            Err(error) => return Err(error.into()),
        }
        self.verified.insert(number);
        Ok(())
    }

    fn client(&mut self, global: &Global) -> Result<&Client, DatabaseError> {
        if self.client.is_none() {
            let address = global.rrdcached.as_deref().unwrap_or_default();
            self.client = Some(Client::connect(address, None, &rrdclient::TlsFiles::default())?);
        }
        // The line above has put it there.
        self.client.as_ref().ok_or_else(|| rrdclient::ClientError::AbsolutePath.into())
    }

    /// Hands all updates of the round to the daemon, and returns the rows that thresholds need.
    pub(super) fn finish(
        &mut self,
        global: &Global,
        targets: &[PollTarget],
        say: &mut dyn FnMut(String),
    ) -> Vec<(usize, LatestRow)> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Vec::new();
        }
        let client = match self.client(global) {
            Ok(client) => client,
            Err(error) => {
                say(format!("{} updates are lost: {error}", pending.len()));
                return Vec::new();
            }
        };
        let arguments: Vec<Vec<&str>> = pending
            .iter()
            .map(|update| update.arguments.iter().map(String::as_str).collect())
            .collect();
        let updates: Vec<(&str, &[&str])> = pending
            .iter()
            .zip(&arguments)
            .map(|(update, arguments)| (update.file.as_str(), arguments.as_slice()))
            .collect();
        match client.update_batch(&updates) {
            Ok(refused) => {
                let mut notices = Notices::default();
                for one in refused {
                    let PendingUpdate { file, arguments, .. } = &pending[one.index];
                    let message = &one.message;
                    notices.add_or(
                        || file.clone(),
                        format!("cannot update: {message}"),
                        || {
                            let arguments = arguments.join(" ");
                            Some(format!("cannot update {file} with '{arguments}': {message}"))
                        },
                    );
                }
                notices.say(say);
            }
            Err(error) => {
                say(format!("{} updates are lost: {error}", pending.len()));
                return Vec::new();
            }
        }
        let mut rows = Vec::new();
        for PendingUpdate { target: number, file, time_s, .. } in &pending {
            let (target, time_s) = (&targets[*number], *time_s);
            let both = [&target.thresholds, &target.hw_thresholds].map(ThresholdRules::has_bounds);
            if both.contains(&true) {
                rows.push((*number, fetch_row(client, file, time_s, global.interval_s, both, say)));
            }
        }
        rows
    }
}

/// Whether there is no file.
fn is_missing(error: &rrd::Error) -> bool {
    let rrd::Error::File { source, .. } = error else { return false };
    source.kind() == std::io::ErrorKind::NotFound
}

/// Whether kinds or limits differ from the configuration.
fn differs(file: &File, design: &Design) -> bool {
    let header = file.header();
    SOURCES.iter().zip(&design.limits).any(|(name, limit)| {
        let source = header.source_index(name).map(|index| &header.sources[index]);
        source.is_none_or(|source| {
            let most = source.maximum();
            let is_same = most == *limit || (most.is_nan() && limit.is_nan());
            source.kind != design.kind || !is_same
        })
    })
}

/// Sets kinds and limits that differ from the configuration.
fn tune(path: &Path, design: &Design) -> rrd::Result<()> {
    if !differs(&File::open(path, Access::Read)?, design) {
        return Ok(());
    }
    let mut image = Image::read(path)?;
    for (name, limit) in SOURCES.iter().zip(design.limit_texts()) {
        rrd::tune::change(&mut image, 'a', &format!("{name}:{limit}"))?;
        rrd::tune::change(&mut image, 'd', &format!("{name}:{}", design.kind.name()))?;
    }
    image.write(path)
}

/// The rows that an update has written at the begin of the step that the reading is in.
fn latest_row(file: &File, written: &[WrittenValue], time_s: i64, interval_s: u32) -> LatestRow {
    let mut row = LatestRow::default();
    let begin = time_s - time_s.rem_euclid(i64::from(interval_s));
    let header = file.header();
    for value in written.iter().filter(|value| value.time == begin) {
        let archive = &header.archives[value.archive];
        if archive.steps_per_row != 1 {
            continue;
        }
        let source = header.sources.get(value.source).map(|source| source.name.as_str());
        let Some(direction) = SOURCES.iter().position(|name| Some(*name) == source) else {
            continue;
        };
        let known = Some(value.value).filter(|value| !value.is_nan());
        match archive.function {
            ConsolidationFunction::Average => row.averages[direction] = known,
            ConsolidationFunction::Failures => row.failures[direction] = known,
            _ => {}
        }
    }
    row
}

/// The newest row, from a daemon.
fn fetch_row(
    client: &Client,
    file: &str,
    time_s: i64,
    interval_s: u32,
    wants: [bool; 2],
    say: &mut dyn FnMut(String),
) -> LatestRow {
    let step = i64::from(interval_s);
    let begin = time_s - time_s.rem_euclid(step);
    let mut row = LatestRow::default();
    let functions = [("AVERAGE", &mut row.averages), ("FAILURES", &mut row.failures)];
    for ((function, values), wanted) in functions.into_iter().zip(wants) {
        if !wanted {
            continue;
        }
        match client.fetch(file, function, begin - step, begin) {
            Ok(reply) => {
                let place = (begin - reply.start_s) / reply.step_s.max(1) - 1;
                let first = usize::try_from(place).unwrap_or(usize::MAX);
                let found = reply.values.chunks(reply.names.len().max(1)).nth(first);
                for (name, value) in reply.names.iter().zip(found.unwrap_or_default()) {
                    if let Some(direction) = SOURCES.iter().position(|source| source == name) {
                        values[direction] = Some(*value).filter(|value| !value.is_nan());
                    }
                }
            }
            Err(error) => say(format!("thresholds of {file} cannot be looked at: {error}")),
        }
    }
    row
}
