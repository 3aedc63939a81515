//! Commands whose result is more than text: each reads the words after its name, as the command
//! line has them, and gives what was found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::environment::{CommandEnvironment, Daemon, Failure, InfoEntry};
use super::options::{DAEMON, Definition, Parsed, flag, parse, value};
use crate::error::{Error, Result, refuse};
use crate::fetch::{FetchRequest, FetchedSeries};
use crate::file::{Access, File, Locking};
use crate::header::ConsolidationFunction;
use crate::info::{self, InfoValue};
use crate::list;
use crate::number::{leading_integer, scaled_duration};
use crate::update::{self, WrittenValue};

/// The first time that `create` and `fetch` take, in seconds since 1970.
pub(super) const FIRST_SECONDS: i64 = 3600 * 24 * 365 * 10;

/// The daemon of a command, if there is one.
pub(super) fn connect(
    parsed: &Parsed,
    environment: &dyn CommandEnvironment,
) -> Result<Option<Arc<dyn Daemon>>> {
    environment.daemon(parsed.value('d')).map_err(Error::Argument)
}

/// Has a daemon write what it holds of a file.
pub(super) fn flush(daemon: Option<&Arc<dyn Daemon>>, file: &str) -> Result<()> {
    daemon.map_or(Ok(()), |daemon| daemon.flush(file).map_err(Error::Argument))
}

/// `flushcached`.
pub(super) fn flush_cached(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<(), Failure> {
    let parsed = parse(arguments, &[DAEMON])?;
    if parsed.words.is_empty() {
        let usage = "Usage: rrdtool flushcached [--daemon|-d <addr>] <file> [<file> ...]";
        return Err(refuse!("{usage}").into());
    }
    let Some(daemon) = connect(&parsed, environment)? else {
        return Err(refuse!(
            "Daemon address \"(null)\" unknown. Please use the \"--daemon\" option to set an address on the command line or set the \"RRDCACHED_ADDRESS\" environment variable."
        )
        .into());
    };
    for (index, file) in parsed.words.iter().enumerate() {
        let Err(why) = daemon.flush(file) else { continue };
        let rest = parsed.words.len() - index - 1;
        let files = if rest == 1 { "file" } else { "files" };
        let skipped = format!("Skipping remaining {rest} {files}.");
        return Err(refuse!("Flushing of file \"{file}\" failed: {why}. {skipped}").into());
    }
    Ok(())
}

const UPDATE_OPTIONS: &[Definition] =
    &[value("template", 't'), DAEMON, flag("skip-past-updates", 's'), LOCKING];
/// `updatev` does not know a daemon.
const UPDATE_VERBOSE_OPTIONS: &[Definition] =
    &[value("template", 't'), flag("skip-past-updates", 's'), LOCKING];

/// What to do about a lock; without the option, what the environment says.
pub(super) const LOCKING: Definition = value("locking", 'L');

/// What `--locking` says, or else the environment.
pub(super) fn locking(parsed: &Parsed, environment: &dyn CommandEnvironment) -> Result<Locking> {
    let Some(word) = parsed.value(LOCKING.letter) else { return Ok(environment.locking()) };
    Locking::of(word)
        .ok_or_else(|| refuse!("--locking: '{word}' is none of 'try', 'block' and 'none'"))
}

/// `update`.
pub(super) fn update(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<(), Failure> {
    let parsed = parse(arguments, UPDATE_OPTIONS)?;
    let (file, readings) = file_and_readings(&parsed)?;
    // A wrong word is wrong for a daemon too, which has its own locks.
    locking(&parsed, environment)?;
    match connect(&parsed, environment)? {
        Some(daemon) => {
            let done = update_by_daemon(&*daemon, file, parsed.value('t'), readings, environment);
            Ok(done.map_err(Error::Argument)?)
        }
        None => Ok(update_file(&parsed, file, readings, environment, None)?),
    }
}

/// `updatev`: the values that were written, after the code that RRDtool returns; and the error, if
/// there is one.
pub fn update_verbose(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> (Vec<InfoEntry>, Result<(), Failure>) {
    let parsed = parse(arguments, UPDATE_VERBOSE_OPTIONS);
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return (Vec::new(), Err(error.into())),
    };
    let (file, readings) = match file_and_readings(&parsed) {
        Ok(given) => given,
        Err(error) => return (Vec::new(), Err(error.into())),
    };
    let mut written = Vec::new();
    let done = update_file(&parsed, file, readings, environment, Some(&mut written));
    let code = if done.is_ok() { 0 } else { -1 };
    let mut entries = vec![("return_value".to_owned(), InfoValue::Int(code))];
    let named = written_entries(Path::new(file), &written);
    let done = done.and(named.map(|named| entries.extend(named)));
    (entries, done.map_err(Failure::from))
}

fn file_and_readings(parsed: &Parsed) -> Result<(&str, &[String])> {
    match parsed.words.split_first() {
        Some((file, readings)) if !readings.is_empty() => Ok((file, readings)),
        _ => Err(refuse!("Not enough arguments")),
    }
}

fn update_file(
    parsed: &Parsed,
    file: &str,
    readings: &[String],
    environment: &dyn CommandEnvironment,
    written: Option<&mut Vec<WrittenValue>>,
) -> Result<()> {
    let options = update::Options {
        template: parsed.value('t'),
        skip_past_updates: parsed.has('s'),
        locking: locking(parsed, environment)?,
    };
    let readings: Vec<&[u8]> = readings.iter().map(String::as_bytes).collect();
    update::update(&PathBuf::from(file), &options, &readings, environment, written)
}

/// Keys and values of what an update wrote, as `updatev` names them.
///
/// # Errors
/// If the file cannot be read.
pub fn written_entries(path: &Path, written: &[WrittenValue]) -> Result<Vec<InfoEntry>> {
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let entry = |one: &WrittenValue| {
        let archive = header.archives.get(one.archive)?;
        let (function, steps) = (archive.function.name(), archive.steps_per_row);
        let name = &header.sources.get(one.source)?.name;
        // RRDtool prints the time as a C int.
        let key = format!("[{}]RRA[{function}][{steps}]DS[{name}]", one.time as i32);
        Some((key, InfoValue::Double(one.value)))
    };
    Ok(written.iter().filter_map(entry).collect())
}

fn update_by_daemon(
    daemon: &dyn Daemon,
    file: &str,
    template: Option<&str>,
    readings: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<(), String> {
    let order = template.map(|template| order(daemon, file, template)).transpose()?;
    let ready = |reading: &String| {
        let reading = match &order {
            Some(order) => reordered(reading, order)?,
            None => reading.clone(),
        };
        // The daemon takes numbers only.
        Ok(match reading.strip_prefix("N:") {
            Some(rest) => format!("{}:{rest}", environment.now().seconds),
            None => reading,
        })
    };
    let readings: Result<Vec<String>, String> = readings.iter().map(ready).collect();
    daemon.update(file, &readings?)
}

/// For each source of a file that takes readings, its place in a template.
fn order(daemon: &dyn Daemon, file: &str, template: &str) -> Result<Vec<Option<usize>>, String> {
    let entries = daemon.info(file)?;
    let mut sources: Vec<&str> = Vec::new();
    for (key, value) in &entries {
        let source = key.strip_prefix("ds[").and_then(|rest| rest.strip_suffix("].type"));
        if let (Some(source), InfoValue::Text(kind)) = (source, value)
            && kind != "COMPUTE"
        {
            sources.push(source);
        }
    }
    let names: Vec<&str> = template.split(':').collect();
    if let Some(unknown) = names.iter().find(|name| !sources.contains(name)) {
        return Err(format!("unknown DS name '{unknown}'"));
    }
    Ok(sources.iter().map(|source| names.iter().position(|name| name == source)).collect())
}

/// A reading in the order of the file; what the template leaves out is unknown.
fn reordered(reading: &str, order: &[Option<usize>]) -> Result<String, String> {
    let mut fields = reading.split(':');
    let time = fields.next().unwrap_or_default();
    let values: Vec<&str> = fields.collect();
    let wanted = order.iter().flatten().count();
    if values.len() != wanted {
        return Err(format!(
            "expected {wanted} data source readings (got {}) from {reading}",
            values.len()
        ));
    }
    let mut out = time.to_owned();
    for place in order {
        out.push(':');
        out.push_str(place.and_then(|place| values.get(place)).unwrap_or(&"U"));
    }
    Ok(out)
}

/// `last`: time of the last update, in seconds since 1970.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn last(arguments: &[String], environment: &dyn CommandEnvironment) -> Result<i64, Failure> {
    let parsed = parse(arguments, &[DAEMON])?;
    let [file] = parsed.words.as_slice() else {
        return Err(refuse!("Usage: rrdtool last [--daemon|-d <addr>] <file>").into());
    };
    match connect(&parsed, environment)? {
        Some(daemon) => Ok(daemon.last(file).map_err(Error::Argument)?),
        None => Ok(info::last(Path::new(file))?),
    }
}

/// `first`: end of the oldest row of an archive, in seconds since 1970.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn first(arguments: &[String], environment: &dyn CommandEnvironment) -> Result<i64, Failure> {
    let parsed = parse(arguments, &[value("rraindex", 'R'), DAEMON])?;
    let index = usize::try_from(parsed.value('R').map_or(0, leading_integer));
    // RRDtool does not look at words behind the file.
    let [file, ..] = parsed.words.as_slice() else {
        let usage = "Usage: rrdtool first [--rraindex number] [--daemon|-d <addr>] <file>";
        return Err(refuse!("{usage}").into());
    };
    let index = index.map_err(|_| refuse!("invalid rraindex number"))?;
    match connect(&parsed, environment)? {
        Some(daemon) => Ok(daemon.first(file, index).map_err(Error::Argument)?),
        None => Ok(info::first(Path::new(file), index)?),
    }
}

/// `info`: what a file keeps and its state.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn info(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<Vec<InfoEntry>, Failure> {
    let parsed = parse(arguments, &[DAEMON, flag("noflush", 'F')])?;
    let [name] = parsed.words.as_slice() else {
        let usage = "Usage: rrdtool info [--daemon |-d <addr> [--noflush|-F]] <file>";
        return Err(refuse!("{usage}").into());
    };
    let Some(daemon) = connect(&parsed, environment)? else {
        return Ok(info::info(&File::open(Path::new(name), Access::Read)?, name));
    };
    if !parsed.has('F') {
        flush(Some(&daemon), name)?;
    }
    Ok(daemon.info(name).map_err(Error::Argument)?)
}

/// `list`: names of databases and folders.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn list(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<Vec<String>, Failure> {
    const OPTIONS: &[Definition] = &[flag("recursive", 'r'), DAEMON, flag("noflush", 'F')];
    let parsed = parse(arguments, OPTIONS)?;
    let [folder] = parsed.words.as_slice() else {
        return Err(refuse!(
            "Usage: rrdtool list [--daemon <addr> [--noflush]] [--recursive] <directory>"
        )
        .into());
    };
    if let Some(daemon) = connect(&parsed, environment)? {
        return Ok(daemon.list(folder, parsed.has('r')).map_err(Error::Argument)?);
    }
    let names = list::list(Path::new(folder), parsed.has('r'))
        .map_err(|error| refuse!("{folder}: {}", crate::reason(&error)))?;
    Ok(names)
}

/// `fetch`: rows of a period.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn fetch(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<FetchedSeries, Failure> {
    let (file, request, parsed) = fetch_request(arguments, environment)?;
    match connect(&parsed, environment)? {
        Some(daemon) => Ok(daemon.fetch(&file, &request).map_err(Error::Argument)?),
        None => Ok(environment.fetch(&file, &request)?),
    }
}

fn fetch_request(
    arguments: &[String],
    environment: &dyn CommandEnvironment,
) -> Result<(String, FetchRequest, Parsed)> {
    const OPTIONS: &[Definition] = &[
        value("resolution", 'r'),
        value("start", 's'),
        value("end", 'e'),
        flag("align-start", 'a'),
        DAEMON,
    ];
    let parsed = parse(arguments, OPTIONS)?;
    let step_seconds = match parsed.value('r') {
        None => 1,
        Some(text) => scaled_duration(text, 1).map_err(|error| refuse!("resolution: {error}"))?,
    };
    let (start, end) = (parsed.value('s').unwrap_or("end-24h"), parsed.value('e').unwrap_or("now"));
    let (mut start, mut end) =
        environment.period(start, end).map_err(|error| refuse!("{error}"))?;
    if start < FIRST_SECONDS {
        return Err(refuse!("the first entry to fetch should be after 1980"));
    }
    if parsed.has('a') {
        // Both ends move, so that the period keeps its length.
        let beyond = start % i64::try_from(step_seconds).unwrap_or(i64::MAX);
        start -= beyond;
        end -= beyond;
    }
    if end < start {
        return Err(refuse!("start ({start}) should be less than end ({end})"));
    }
    let [file, function, ..] = parsed.words.as_slice() else {
        return Err(refuse!("Usage: rrdtool fetch <file> <CF> [options]"));
    };
    let function = ConsolidationFunction::of(function)
        .ok_or_else(|| refuse!("unknown consolidation function '{function}'"))?;
    Ok((file.clone(), FetchRequest { function, start, end, step_seconds }, parsed))
}
