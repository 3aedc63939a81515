//! One round-robin database: rows wait in memory, and are written together.
//!
//! What a row says holds for the time since the row before it.  Where that time was not observed
//! (a start, a failed reading, an instance that comes back), a row without values stands between,
//! so that nothing is stretched over a gap.
//!
//! A write costs seven system calls, however many rows wait; memory is bounded by `ROWS_MAX`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rrd::header::Time;
use rrd::image::Image;
use rrd::update::Updater;
use rrd::{Access, File, Locking};

use super::names::data_source;
use super::table::ArchiveSpan;

/// Most rows that wait for a file that cannot be written, and of a recording that is played.
pub(super) const ROWS_MAX: usize = 600;

/// Intervals that one reading may cover; after longer ones, values are unknown.
const HEARTBEAT_INTERVALS: u64 = 10;

/// What the files of a source or of its instances keep.
#[derive(Debug)]
pub(super) struct Plan {
    /// Indexes of fields.
    pub(super) fields: Vec<usize>,
    /// The data sources of the database.
    pub(super) names: Vec<String>,
    pub(super) archives: Vec<ArchiveSpan>,
    pub(super) step_seconds: u64,
}

impl Plan {
    /// Plans a file for fields by index and name, read every `interval_ns`.
    pub(super) fn new(
        fields: Vec<(usize, &str)>,
        archives: &[ArchiveSpan],
        interval_ns: u64,
    ) -> Self {
        let step_seconds = interval_ns.div_ceil(1_000_000_000).max(1);
        let names = fields.iter().map(|(_, name)| data_source(name)).collect();
        let fields = fields.into_iter().map(|(index, _)| index).collect();
        Plan { fields, names, archives: fitted(archives, step_seconds), step_seconds }
    }

    pub(super) fn definitions(&self) -> Vec<String> {
        let mut definitions: Vec<String> =
            self.names.iter().map(|name| self.data_source(name)).collect();
        for ArchiveSpan { step_seconds, span_seconds, function } in &self.archives {
            let steps = step_seconds / self.step_seconds;
            let rows = span_seconds.div_ceil(*step_seconds);
            definitions.push(format!("RRA:{function}:0.5:{steps}:{rows}"));
        }
        definitions
    }

    fn data_source(&self, name: &str) -> String {
        format!("DS:{name}:GAUGE:{}:U:U", self.heartbeat_seconds())
    }

    fn heartbeat_seconds(&self) -> u64 {
        self.step_seconds.saturating_mul(HEARTBEAT_INTERVALS)
    }
}

/// Archives whose steps are multiples of the file's, without those that another one contains.
fn fitted(archives: &[ArchiveSpan], step_seconds: u64) -> Vec<ArchiveSpan> {
    let fitted: Vec<ArchiveSpan> = archives
        .iter()
        .map(|archive| {
            let step = archive.step_seconds.div_ceil(step_seconds).saturating_mul(step_seconds);
            ArchiveSpan {
                step_seconds: step,
                span_seconds: archive.span_seconds.max(step),
                ..*archive
            }
        })
        .collect();
    let contains = |one: &ArchiveSpan, other: &ArchiveSpan| {
        (one.function, one.step_seconds) == (other.function, other.step_seconds)
            && one.span_seconds >= other.span_seconds
    };
    let is_needed = |&(index, archive): &(usize, &ArchiveSpan)| {
        let mut others = fitted.iter().enumerate().filter(|(other, _)| *other != index);
        !others.any(|(other, one)| {
            contains(one, archive) && (other < index || !contains(archive, one))
        })
    };
    fitted.iter().enumerate().filter(is_needed).map(|(_, archive)| *archive).collect()
}

/// How a write ended.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// All rows are in the file, apart from so many that are not newer than its last update.
    Done { past: u64 },
    /// The file would make the folder larger than its limit: it is not begun.
    BeyondLimit,
}

/// What several files share while they are written.
pub(super) struct Writing<'a> {
    pub(super) updater: &'a mut Updater,
    /// Bytes below the folder, and their limit.
    pub(super) folder_bytes: &'a mut u64,
    pub(super) limit_bytes: u64,
    /// What the user should be told.
    pub(super) notices: &'a mut Vec<String>,
}

/// A database and the rows that wait for it.
#[derive(Debug)]
pub(super) struct SeriesFile {
    pub(super) path: PathBuf,
    pub(super) plan: Arc<Plan>,
    times_us: VecDeque<i64>,
    /// A value for each field and row; not a number is unknown.
    values: VecDeque<f64>,
    /// The time of the latest row.
    last_us: i64,
    /// When what waits is to be written; `None` if nothing waits.
    pub(super) due_us: Option<i64>,
    opened: Option<OpenedDatabase>,
    /// The field of each of the file's sources, once the daemon has said which it has.
    pub(super) sources: Option<Vec<Option<usize>>>,
    /// Whether the user knows for which fields the daemon's file has no source.
    pub(super) told_missing: bool,
    /// Whether it must not be begun.
    is_refused: bool,
    /// Whether the last write failed.
    pub(super) is_failing: bool,
    /// Rows with values that were given up.
    pub(super) lost: u64,
}

#[derive(Debug)]
struct OpenedDatabase {
    file: File,
    /// Where each field of the plan is among the file's sources.
    targets: Vec<usize>,
}

impl SeriesFile {
    pub(super) fn new(path: PathBuf, plan: Arc<Plan>) -> Self {
        SeriesFile {
            path,
            plan,
            times_us: VecDeque::new(),
            values: VecDeque::new(),
            last_us: i64::MIN,
            due_us: None,
            opened: None,
            sources: None,
            told_missing: false,
            is_refused: false,
            is_failing: false,
            lost: 0,
        }
    }

    /// Rows that wait.
    pub(super) fn rows(&self) -> usize {
        self.times_us.len()
    }

    /// Adds what is known about the time from `since_us` to `until_us`.  False if that is not newer
    /// than what was added before.
    pub(super) fn push(&mut self, since_us: i64, until_us: i64, values: &[f64]) -> bool {
        if self.is_refused {
            return true;
        }
        if until_us <= self.last_us || until_us <= since_us {
            return false;
        }
        if since_us > self.last_us {
            self.push_row(since_us, None);
        }
        self.push_row(until_us, Some(values));
        while self.times_us.len() > ROWS_MAX {
            self.drop_oldest();
        }
        true
    }

    fn push_row(&mut self, at_us: i64, values: Option<&[f64]>) {
        self.times_us.push_back(at_us);
        match values {
            Some(values) => self.values.extend(values),
            None => self.values.extend(std::iter::repeat_n(f64::NAN, self.plan.fields.len())),
        }
        self.last_us = at_us;
    }

    /// Gives up the oldest row.  The next one cannot say what was in between, so it loses its
    /// values, too.
    fn drop_oldest(&mut self) {
        let width = self.plan.fields.len();
        self.times_us.pop_front();
        let is_known = |value: &f64| !value.is_nan();
        self.lost += u64::from(self.values.drain(..width).any(|value| is_known(&value)));
        let next = self.values.range_mut(..width.min(self.values.len()));
        let mut known = false;
        for value in next {
            known |= is_known(value);
            *value = f64::NAN;
        }
        self.lost += u64::from(known);
    }

    /// Takes no rows from now on.
    pub(super) fn refuse(&mut self) {
        self.is_refused = true;
        self.clear();
    }

    /// Gives up all rows.
    pub(super) fn give_up(&mut self) {
        let rows = self.values.make_contiguous().chunks_exact(self.plan.fields.len());
        let known = rows.filter(|row| row.iter().any(|value| !value.is_nan())).count() as u64;
        self.lost += known;
        self.clear();
    }

    fn clear(&mut self) {
        self.times_us.clear();
        self.values.clear();
        self.due_us = None;
    }

    /// Writes all rows that wait; they stay if that fails.
    pub(super) fn write(&mut self, writing: &mut Writing<'_>) -> Result<WriteOutcome, rrd::Error> {
        if self.times_us.is_empty() {
            self.due_us = None;
            return Ok(WriteOutcome::Done { past: 0 });
        }
        let Some(mut opened) = self.take_locked(writing)? else {
            return Ok(WriteOutcome::BeyondLimit);
        };
        let width = self.plan.fields.len();
        let times = self.times_us.iter();
        let values = self.values.make_contiguous();
        let rows = times.zip(values.chunks_exact(width)).map(|(&at_us, values)| {
            let seconds = at_us.div_euclid(1_000_000);
            (Time { seconds, microseconds: at_us.rem_euclid(1_000_000) }, values)
        });
        let done = writing.updater.update_values(&mut opened.file, &opened.targets, rows);
        opened.file.unlock();
        let past = done?;
        self.opened = Some(opened);
        self.clear();
        Ok(WriteOutcome::Done { past })
    }

    /// Drops rows until a time, in seconds since 1970; how many of them say something.
    pub(super) fn drop_until(&mut self, last_update_s: i64) -> u64 {
        let width = self.plan.fields.len();
        let mut past = 0;
        while self.times_us.front().is_some_and(|at| at.div_euclid(1_000_000) <= last_update_s) {
            self.times_us.pop_front();
            past += u64::from(self.values.drain(..width).any(|value| !value.is_nan()));
        }
        past
    }

    /// The time before which a new file has nothing, in seconds since 1970.
    pub(super) fn start_s(&self) -> i64 {
        self.times_us.front().copied().unwrap_or_default().div_euclid(1_000_000)
    }

    /// The rows that wait, as texts for a file with these sources: `TIME:VALUE:…`.
    pub(super) fn readings(&self, sources: &[Option<usize>]) -> Vec<String> {
        let width = self.plan.fields.len();
        let rows = self.times_us.iter().enumerate().map(|(row, at_us)| {
            let (seconds, micros) = (at_us.div_euclid(1_000_000), at_us.rem_euclid(1_000_000));
            let mut text = match micros {
                0 => seconds.to_string(),
                micros => format!("{seconds}.{micros:06}"),
            };
            for field in sources {
                let value = field.map_or(f64::NAN, |field| self.values[row * width + field]);
                text.push(':');
                push_value(&mut text, value);
            }
            text
        });
        rows.collect()
    }

    /// The rows that wait are with the daemon.
    pub(super) fn handed_over(&mut self) {
        self.clear();
    }

    /// Closes the file; the next write opens it again.
    pub(super) fn close(&mut self) {
        self.opened = None;
    }

    /// The file, open and locked; made if it is not there.  `None`: there is no room for it.
    fn take_locked(
        &mut self,
        writing: &mut Writing<'_>,
    ) -> Result<Option<OpenedDatabase>, rrd::Error> {
        let named = |error| match error {
            rrd::Error::Locked => rrd::Error::Locked.of(&self.path),
            error => error,
        };
        if let Some(mut opened) = self.opened.take()
            && opened.file.lock_again(Locking::Try).map_err(named)?
        {
            return Ok(Some(opened));
        }
        if !self.path.exists() && !self.begin(writing)? {
            return Ok(None);
        }
        let file = File::open(&self.path, Access::Write(Locking::Try)).map_err(named)?;
        self.adopt(file, writing).map(Some)
    }

    /// Makes the file; false if there is no room for it.
    fn begin(&self, writing: &mut Writing<'_>) -> Result<bool, rrd::Error> {
        let definitions = self.plan.definitions();
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        let start_us = self.times_us.front().copied().unwrap_or_default();
        let options = rrd::create::Options {
            start: Some(start_us.div_euclid(1_000_000)),
            step_seconds: Some(self.plan.step_seconds),
            ..rrd::create::Options::default()
        };
        let bytes = rrd::create::size_bytes(&self.path, &options, &definitions, 0)?;
        let after = writing.folder_bytes.saturating_add(bytes);
        if after > writing.limit_bytes {
            return Ok(false);
        }
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| rrd::Error::File {
                operation: "making the folder",
                path: folder.to_owned(),
                source,
            })?;
        }
        // Without its rows in memory: a year of eight fields is 8 MB.
        rrd::create::create(&self.path, &options, &definitions, 0)?;
        *writing.folder_bytes = after;
        Ok(true)
    }

    /// Finds the fields in a file that may be older than the plan, and adds those that are missing.
    fn adopt(&self, file: File, writing: &mut Writing<'_>) -> Result<OpenedDatabase, rrd::Error> {
        let plan = Arc::clone(&self.plan);
        if let Some(targets) = targets(&plan, &file) {
            return Ok(OpenedDatabase { file, targets });
        }
        let header = file.header();
        let has = |name: &&String| header.source_index(name).is_some();
        if !plan.names.iter().any(|name| has(&name)) {
            let text = "no data source has the name of a field: another program's file; give \
                        another folder, or remove it";
            return Err(rrd::Error::Argument(text.into()).of(&self.path));
        }
        let missing: Vec<&String> = plan.names.iter().filter(|name| !has(name)).collect();
        let mut image = Image::of(&file)?;
        for name in plan.names.iter().filter(has) {
            rrd::tune::change(&mut image, 'h', &format!("{name}:{}", plan.heartbeat_seconds()))?;
        }
        let words: Vec<String> = missing.iter().map(|name| plan.data_source(name)).collect();
        if !words.is_empty() {
            let name = self.path.as_os_str().as_encoded_bytes();
            rrd::restructure::restructure(&mut image, &words, name)?;
            let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
            let (path, names) = (self.path.display(), names.join(", "));
            writing.notices.push(format!("{path}: data sources are added: {names}"));
        }
        image.write(&self.path)?;
        let file = File::open(&self.path, Access::Write(Locking::Try))?;
        let found = targets(&plan, &file);
        let targets = found.ok_or_else(|| {
            rrd::Error::Argument("the data sources cannot be added".into()).of(&self.path)
        })?;
        Ok(OpenedDatabase { file, targets })
    }
}

/// A value as an update that takes numbers keeps its text: with an exponent if it is long.
fn push_value(text: &mut String, value: f64) {
    use std::fmt::Write as _;
    /// The format has room for so many bytes.
    const LONGEST: usize = 29;
    if value.is_nan() {
        return text.push('U');
    }
    let start = text.len();
    // Writing to a text does not fail.
    let _ = write!(text, "{value}");
    if text.len() - start > LONGEST {
        text.truncate(start);
        let _ = write!(text, "{value:e}");
    }
}

/// Where each field is among the file's sources; `None` if the file has to be changed first.
fn targets(plan: &Plan, file: &File) -> Option<Vec<usize>> {
    let header = file.header();
    let target = |name: &String| {
        let index = header.source_index(name)?;
        let heartbeat = header.sources[index].heartbeat_seconds();
        (heartbeat >= plan.step_seconds.saturating_mul(2)).then_some(index)
    };
    plan.names.iter().map(target).collect()
}

/// Bytes of the databases below a folder, as deep as they are made.
pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_database = |path: &Path| path.extension().is_some_and(|end| end == "rrd");
    let size = |entry: std::fs::DirEntry| -> u64 {
        let is_ours = is_database(&entry.path());
        entry.metadata().ok().filter(|facts| is_ours && facts.is_file()).map_or(0, |f| f.len())
    };
    let below = entries(folder).filter(|entry| entry.path().is_dir());
    let below: u64 = below.flat_map(|entry| entries(&entry.path())).map(size).sum();
    below + entries(folder).map(size).sum::<u64>()
}
