//! Commands that read, make and change files.
//!
//! What waits for a file is taken into account without being written: the file is opened to be
//! read, updated in memory and shown as it would be.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use calendar::CivilZone;
use rrd::command::CommandEnvironment;
use rrd::create;
use rrd::dump::Heading;
use rrd::fetch::{self, FetchRequest, FetchedSeries};
use rrd::header::{ConsolidationFunction, Time};
use rrd::info::{self, InfoValue};
use rrd::number::leading_integer;
use rrd::update::{Moments, Options, Updater};
use rrd::{Access, Error, File, X86_64};
use text::c_number::push_exponential;

use super::{Answer, ClientSession, Refused, usage};
use crate::cache::{Entry, Readings};
use crate::daemon::{CachingDaemon, NoWords};
use crate::heads::{Heads, Writing};
use crate::locks::lock;
use crate::paths;
use crate::protocol::{Command, Fields};

/// Times before this are refused by CREATE, in seconds since 1970.
const FIRST_SECONDS: i64 = 3600 * 24 * 365 * 10;
/// Most values of a FETCH: 32 MiB, a year of one source at 8 s.
const CELLS_MAX: i64 = 1 << 22;
/// Fields of CREATE and TUNE.
const WORDS_MAX: usize = 4096;

impl ClientSession {
    pub(super) fn file_command(&mut self, command: Command, fields: &mut Fields<'_>) -> Answer {
        match command {
            Command::Info => self.info(fields),
            Command::First => self.first(fields),
            Command::Last => self.last(fields),
            Command::Fetch => self.fetch(fields, false),
            Command::FetchBin => self.fetch(fields, true),
            Command::Create => self.create(fields),
            Command::List => self.list(fields),
            Command::Tune => self.tune(fields),
            Command::Dump => self.dump(fields),
            _ => Err("Internal error.".into()),
        }
    }

    /// The name as it is shown and the file as it would be after its readings were written.
    fn preview(&mut self, name: &[u8]) -> Result<(String, Result<File, Error>), Refused> {
        let (shown, path, entry) = self.known(name)?;
        let file = match entry {
            Some(entry) => self.preview_entry(&entry),
            None => File::open(Path::new(&shown), Access::Read),
        };
        let _ = path;
        Ok((shown, file))
    }

    fn preview_entry(&mut self, entry: &Arc<Entry>) -> Result<File, Error> {
        let _io = lock(&entry.io);
        let readings = entry.lock().unwritten();
        let mut file = File::open(&entry.path, Access::Read)?;
        if readings.is_empty() || file.layout() != X86_64 {
            return Ok(file);
        }
        file.preview();
        apply(&self.daemon, &mut file, &readings, &mut self.updater)?;
        Ok(file)
    }

    fn info(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Info)) };
        let (shown, file) = self.preview(&name)?;
        let file = file.map_err(|error| rrd_error(&error))?;
        let lines: Vec<String> = info::info(&file, &shown).iter().map(info_line).collect();
        self.answer_lines(&format!("Info for {shown} follows"), &lines);
        Ok(())
    }

    fn first(&mut self, fields: &mut Fields<'_>) -> Answer {
        let (Ok(Some(name)), Ok(Some(index))) = (fields.next_field(), fields.next_field()) else {
            return Err(usage(Command::First));
        };
        let index = leading_integer(&String::from_utf8_lossy(&index));
        let Ok(archive) = usize::try_from(index) else {
            return Err(format!("Invalid index specified ({index})").into());
        };
        let (_, file) = self.preview(&name)?;
        let file = file.map_err(|error| rrd_error(&error))?;
        let header = file.header();
        let Some(rows) = header.archives.get(archive).map(|archive| archive.rows) else {
            return Err("RRD Error: invalid rraindex number".into());
        };
        let back = header.row_seconds(archive).wrapping_mul(rows.wrapping_sub(1)) as i64;
        self.answer(&header.newest_row(archive).wrapping_sub(back).to_string());
        Ok(())
    }

    fn last(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Last)) };
        let (shown, _, entry) = self.known(&name)?;
        // A file that cannot be read is read once more below, for the reason.
        let known = entry.filter(|entry| super::load(entry).is_ok()).and_then(|entry| {
            let state = entry.lock();
            state.rules.as_ref().and(state.last.map(|last| (last.seconds, state.step_seconds)))
        });
        let (last, step) = match known {
            Some(known) => known,
            None => {
                let file = File::open(Path::new(&shown), Access::Read);
                let file = file.map_err(|error| rrd_error(&error))?;
                (file.header().last_update.seconds, file.header().step_seconds)
            }
        };
        let step = i64::try_from(step).unwrap_or(i64::MAX).max(1);
        self.answer(&(last - last % step).to_string());
        Ok(())
    }

    fn fetch(&mut self, fields: &mut Fields<'_>, is_binary: bool) -> Answer {
        let command = if is_binary { Command::FetchBin } else { Command::Fetch };
        let (Ok(Some(name)), Ok(Some(function))) = (fields.next_field(), fields.next_field())
        else {
            return Err(usage(command));
        };
        let now = self.daemon.now();
        let (mut start, mut end) = (None, now);
        if let Ok(Some(text)) = fields.next_field() {
            start = Some(time(&text, "start", now)?);
            if let Ok(Some(text)) = fields.next_field() {
                end = time(&text, "end", now)?;
            }
        }
        let start = start.unwrap_or(end - 86400);
        let mut columns = Vec::new();
        while let Ok(Some(column)) = fields.next_field() {
            columns.push(String::from_utf8_lossy(&column).into_owned());
        }
        let series = self.series(&name, &function, start, end)?;
        let columns = chosen(&series, &columns, &String::from_utf8_lossy(&name))?;
        match is_binary {
            true => self.answer_binary(&series, &columns),
            false => self.answer_rows(&series, &columns),
        }
    }

    fn series(
        &mut self,
        name: &[u8],
        function: &[u8],
        start: i64,
        end: i64,
    ) -> Result<FetchedSeries, Refused> {
        let failed = |error: &dyn std::fmt::Display| format!("rrd_fetch_r failed: {error}");
        let text = String::from_utf8_lossy(function);
        let (_, file) = self.preview(name)?;
        let Some(function) = ConsolidationFunction::of(&text) else {
            return Err(failed(&format!("unknown consolidation function '{text}'")).into());
        };
        let file = file.map_err(|error| failed(&error))?;
        if end < start {
            return Err(failed(&"malloc fetch data area").into());
        }
        let request = FetchRequest { function, start, end, step_seconds: 1 };
        fetch::from_file_within(&file, &request, CELLS_MAX).map_err(|error| failed(&error).into())
    }

    fn answer_head(&mut self, series: &FetchedSeries, lines: usize, columns: usize) {
        let FetchedSeries { start, end, step_seconds, .. } = series;
        let _ = write!(
            self.out,
            "{lines} Success\nFlushVersion: 1\nStart: {start}\nEnd: {end}\nStep: {step_seconds}\n\
             DSCount: {columns}\n"
        );
    }

    fn answer_rows(&mut self, series: &FetchedSeries, columns: &[usize]) -> Answer {
        let sources = series.names.len().max(1);
        let rows = series.cells.len() / sources;
        self.answer_head(series, rows + 6, columns.len());
        let names: Vec<&str> = columns.iter().map(|index| series.names[*index].as_str()).collect();
        let _ = writeln!(self.out, "DSName: {}", names.join(" "));
        let mut time = series.start;
        let mut line = String::new();
        for row in series.cells.chunks_exact(sources) {
            time += series.step_seconds as i64;
            line.clear();
            let _ = write!(line, "{time:>10}:");
            for column in columns {
                line.push(' ');
                push_exponential(&mut line, row[*column], 17, false);
            }
            line.push('\n');
            self.out.extend_from_slice(line.as_bytes());
            self.send_if_long()?;
        }
        Ok(())
    }

    fn answer_binary(&mut self, series: &FetchedSeries, columns: &[usize]) -> Answer {
        let sources = series.names.len().max(1);
        let rows = series.cells.len() / sources;
        self.answer_head(series, columns.len() + 5, columns.len());
        let order = if cfg!(target_endian = "big") { "BIG" } else { "LITTLE" };
        for column in columns {
            let name = &series.names[*column];
            let _ = writeln!(self.out, "DSName-{name}: BinaryData {rows} 8 {order}");
            for row in series.cells.chunks_exact(sources) {
                self.out.extend_from_slice(&row[*column].to_ne_bytes());
                self.send_if_long()?;
            }
            self.out.push(b'\n');
        }
        Ok(())
    }

    fn create(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Create)) };
        let (shown, real, entry) = self.known(&name)?;
        let words = rest(fields).ok_or_else(|| usage(Command::Create))?;
        let (mut options, definitions) = self.create_options(&words)?;
        options.keeps_existing |= self.daemon.settings.keeps_files;
        for source in options.sources.iter().chain(&options.template) {
            let (_, _, entry) = self.known(source.as_os_str().as_bytes())?;
            if let Some(entry) = entry {
                self.write(&entry)?;
            }
        }
        if entry.is_some() {
            // It forgets readings of the file that was there before.
            self.check_journal()?;
        }
        self.make_folders(&shown, &real)?;
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        let daemon = Arc::clone(&self.daemon);
        let writing = daemon.heads.as_ref().map(Heads::writing);
        let held = entry.as_ref().map(|entry| lock(&entry.io));
        let now = self.daemon.now();
        let made = create::create(Path::new(&shown), &options, &definitions, now);
        made.map_err(|error| rrd_error(&error))?;
        self.replaced(Path::new(&shown), entry.as_deref(), writing.as_ref())?;
        drop((held, writing));
        if let Some(entry) = entry {
            // Readings of the file that was there before.
            self.forget_entry(&entry)?;
        }
        self.answer("RRD created OK");
        Ok(())
    }

    /// Lets the disk have a file that was made or changed, where readings are to survive the end of
    /// the power.
    pub(super) fn replaced(
        &self,
        path: &Path,
        entry: Option<&Entry>,
        writing: Option<&Writing<'_>>,
    ) -> Answer {
        let (Some(heads), Some(writing)) = (&self.daemon.heads, writing) else { return Ok(()) };
        let path = path.canonicalize();
        let base = self.daemon.settings.paths.base();
        let done = path.and_then(|path| heads.replaced(&path, entry, base, writing));
        done.map_err(|error| format!("RRD Error: cannot sync: {}", rrd::reason(&error)).into())
    }

    fn create_options(&self, words: &[String]) -> Result<(create::Options, Vec<String>), Refused> {
        let mut options = create::Options::default();
        let mut definitions = Vec::new();
        let mut words = words.iter();
        let file = |word: &String| -> Result<PathBuf, Refused> {
            let (shown, _, _) = self.known(word.as_bytes())?;
            Ok(PathBuf::from(shown))
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| usage(Command::Create));
            match word.as_str() {
                "-b" => {
                    let start = leading_integer(value()?);
                    if start < FIRST_SECONDS {
                        return Err("The first entry must be after 1980.".into());
                    }
                    options.start = Some(start);
                }
                "-s" => {
                    let step = u64::try_from(leading_integer(value()?)).unwrap_or(0);
                    options.step_seconds = Some(step).filter(|step| *step > 0);
                }
                "-O" => options.keeps_existing = true,
                "-r" => options.sources.push(file(value()?)?),
                "-t" => options.template = Some(file(value()?)?),
                word if word.starts_with("DS:") || word.starts_with("RRA:") => {
                    definitions.push(word.to_owned());
                }
                _ => return Err(usage(Command::Create)),
            }
        }
        Ok((options, definitions))
    }

    /// Makes the folders of a new file, if that is allowed and needed.
    fn make_folders(&self, shown: &str, real: &Path) -> Answer {
        let Some(folder) = Path::new(shown).parent() else { return Ok(()) };
        if folder.is_dir() {
            return Ok(());
        }
        if !self.daemon.settings.paths.makes_folders() {
            let folder = folder.display();
            return Err(format!(
                "No permission to recursively create: {folder}\nDid you pass -R to the daemon?"
            )
            .into());
        }
        // The folders above may be links.
        let existing = folder.ancestors().find(|folder| folder.is_dir());
        let existing = existing.and_then(|folder| folder.canonicalize().ok()).unwrap_or_default();
        let paths = &self.daemon.settings.paths;
        if existing != paths.base() && !paths.allows_file(&existing) {
            return Err(format!("{shown}: Permission denied").into());
        }
        let _ = real;
        std::fs::create_dir_all(folder).map_err(|error| {
            format!("Cannot create {}: {}", folder.display(), rrd::reason(&error)).into()
        })
    }

    fn list(&mut self, fields: &mut Fields<'_>) -> Answer {
        let mut word = fields.next_field().ok().flatten().unwrap_or_default();
        let is_recursive = word.as_ref() == b"RECURSIVE";
        if is_recursive {
            word = fields.next_field().ok().flatten().unwrap_or_default();
        }
        if word.first() != Some(&b'/') {
            return Err(usage(Command::List));
        }
        let base = self.daemon.settings.paths.base().as_os_str().as_bytes();
        let shown = [base, &word].concat();
        let paths = &self.daemon.settings.paths;
        let text = String::from_utf8_lossy(&shown).into_owned();
        let path = paths::path(&shown);
        let real = path.canonicalize();
        let is_allowed = memchr::memmem::find(&shown, b"../").is_none()
            && !shown.ends_with(b"/..")
            && real.as_ref().is_ok_and(|real| real.starts_with(paths.base()));
        if real.is_ok() && !is_allowed {
            return Err(format!("List {text}: Permission denied").into());
        }
        // Only what is there: a pattern could lead out of the folder, as a link could.
        let names = real
            .and_then(|_| rrd::list::list_within(paths.base(), path, is_recursive))
            .map_err(|error| format!("List {text}: {}", rrd::reason(&error)))?;
        self.answer_lines("RRDs", &names);
        Ok(())
    }

    fn tune(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Tune)) };
        let Ok(Some(count)) = fields.next_field() else { return Err(usage(Command::Tune)) };
        let words = rest(fields).ok_or_else(|| usage(Command::Tune))?;
        let count = leading_integer(&String::from_utf8_lossy(&count));
        if usize::try_from(count) != Ok(words.len()) || words.is_empty() {
            return Err(usage(Command::Tune));
        }
        let (shown, real, entry) = self.known(&name)?;
        if let Some(entry) = &entry {
            self.write(entry)?;
        }
        let daemon = Arc::clone(&self.daemon);
        let writing = daemon.heads.as_ref().map(Heads::writing);
        let held = entry.as_ref().map(|entry| lock(&entry.io));
        let arguments: Vec<String> = std::iter::once(shown).chain(words).collect();
        let environment = PlainEnvironment(Arc::clone(&self.daemon));
        let mut out = Vec::new();
        let tuned = rrd::command::run("tune", &arguments, &environment, &mut out);
        if let Some(Err(error)) = tuned {
            return Err(format!("RRD Error: {error}").into());
        }
        self.replaced(&real, entry.as_deref(), writing.as_ref())?;
        drop((held, writing));
        if let Some(entry) = entry {
            entry.lock().rules = None;
            super::load(&entry).map_err(|error| rrd_error(&error))?;
        }
        self.answer("Success");
        Ok(())
    }

    fn dump(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Dump)) };
        let (_, file) = self.preview(&name)?;
        let file = file.map_err(|error| rrd_error(&error))?;
        let daemon = Arc::clone(&self.daemon);
        let zone = daemon.world.zone();
        let done = rrd::dump::dump(&file, Heading::DocumentType, zone, |piece| {
            self.out.extend_from_slice(piece.as_bytes());
            self.send_if_long().map_err(|text| Error::Argument(text.into_owned()))
        });
        self.closes = true;
        // The client takes what it has for a file; an error cannot be told apart from it.
        let _ = done;
        Ok(())
    }
}

/// Updates a file in memory with what waits for it; what the file refuses is passed over.
fn apply(
    daemon: &CachingDaemon,
    file: &mut File,
    readings: &Readings,
    updater: &mut Updater,
) -> Result<(), Error> {
    let options = Options { skip_past_updates: true, ..Options::default() };
    let lines: Vec<&[u8]> = readings.lines().collect();
    let moments = NoWords(daemon.world.now());
    updater.update_until_refused(file, &options, &lines, &moments, None).map(drop)
}

fn rrd_error(error: &Error) -> Refused {
    format!("RRD Error: {error}").into()
}

/// A time of FETCH, in seconds since 1970; below 1 it is relative to now.
fn time(text: &[u8], which: &str, now: i64) -> Result<i64, Refused> {
    let text = String::from_utf8_lossy(text);
    let digits = text.trim_start().trim_start_matches(['-', '+']);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!(
            "Cannot parse {which} time `{text}': Only simple integers are allowed."
        )
        .into());
    }
    let time = leading_integer(&text);
    Ok(if time <= 0 { now.saturating_add(time) } else { time })
}

/// Indices of the columns that were named; of all without names.
fn chosen(series: &FetchedSeries, names: &[String], file: &str) -> Result<Vec<usize>, Refused> {
    if names.is_empty() {
        return Ok((0..series.names.len()).collect());
    }
    let mut columns = Vec::new();
    for name in names {
        let index = series.names.iter().position(|own| own == name);
        let index = index.ok_or_else(|| format!("field {name} not found in {file}"))?;
        if columns.contains(&index) {
            return Err(format!("field {name} already used").into());
        }
        columns.push(index);
    }
    Ok(columns)
}

/// A line of INFO: key, kind of value, value.
fn info_line((key, value): &(String, InfoValue)) -> String {
    match value {
        InfoValue::Double(double) if double.is_nan() => format!("{key} 0 NaN"),
        InfoValue::Double(double) => {
            let mut line = format!("{key} 0 ");
            push_exponential(&mut line, *double, 10, false);
            line
        }
        InfoValue::Count(count) => format!("{key} 1 {count}"),
        InfoValue::Int(int) => format!("{key} 3 {int}"),
        InfoValue::Text(text) => format!("{key} 2 {text}"),
    }
}

/// The fields that are left; `None` if one is broken or there are too many.
fn rest(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let mut words = Vec::new();
    while let Some(word) = fields.next_field().ok()? {
        words.push(String::from_utf8_lossy(&word).into_owned());
        if words.len() > WORDS_MAX {
            return None;
        }
    }
    Some(words)
}

/// The environment of commands that know no words for times and no daemon.
struct PlainEnvironment(Arc<CachingDaemon>);

impl Moments for PlainEnvironment {
    fn now(&self) -> Time {
        self.0.world.now()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        NoWords(self.now()).parse(words)
    }
}

impl CommandEnvironment for PlainEnvironment {
    fn zone(&self) -> &CivilZone {
        self.0.world.zone()
    }

    fn period(&self, start: &str, _: &str) -> Result<(i64, i64), String> {
        Err(format!("'{start}' is no time in seconds"))
    }
}
