//! RRDtool's command line: from words to text.
//!
//! Each command takes the words after its name and writes what RRDtool prints.  The program that
//! calls gives the clock, the time zone and the time language ([`World`]), and decides where text
//! and errors go.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

mod options;

use options::{Parsed, flag, parse, value};

use crate::check;
use crate::convert;
use crate::create;
use crate::dump::{self, Heading, LocalZone};
use crate::error::{Error, Result, refuse};
use crate::fetch;
use crate::file::{Access, File, Locking};
use crate::header::ConsolidationFunction;
use crate::image::Image;
use crate::info::{self, InfoValue};
use crate::list;
use crate::number::{leading_integer, scaled_duration};
use crate::repair;
use crate::resize;
use crate::restore;
use crate::restructure;
use crate::tune;
use crate::update::{self, Moments};

/// What commands need to know of the world.
pub trait World: Moments + LocalZone {
    /// The start and the end of a period in words, in seconds since 1970; each may refer to the
    /// other.
    ///
    /// # Errors
    /// What is wrong with the words, as RRDtool says it, with `start time: ` or `end time: `.
    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String>;

    /// What to do about locks.
    fn locking(&self) -> Locking {
        Locking::Try
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// RRDtool prints `ERROR: ` and this.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

type Done = Result<(), Failure>;

/// The commands of this crate, in the order of their help.
pub const COMMANDS: &[&str] = &[
    "create",
    "update",
    "updatev",
    "dump",
    "restore",
    "last",
    "lastupdate",
    "first",
    "info",
    "list",
    "fetch",
    "tune",
    "resize",
    "flushcached",
];

/// Runs a command; `None` if there is none of this name.
pub fn run(
    command: &str,
    arguments: &[String],
    world: &dyn World,
    out: &mut dyn Write,
) -> Option<Done> {
    let mut run = Run { arguments, world, out };
    Some(match command {
        "create" => run.create(),
        "update" => run.update(),
        "updatev" => run.update_verbose(),
        "dump" => run.dump(),
        "last" => run.last(),
        "lastupdate" => run.last_update(),
        "first" => run.first(),
        "info" => run.info(),
        "fetch" => run.fetch(),
        "restore" => run.restore(),
        "resize" => run.resize(),
        "tune" => run.tune(),
        "check" => run.check(),
        "convert" => run.convert(),
        "repair" => run.repair(),
        "top" => run.top(),
        "list" => run.list(),
        "flushcached" => Err(refuse!("flushcached: there is no caching daemon here").into()),
        _ => return None,
    })
}

struct Run<'a> {
    arguments: &'a [String],
    world: &'a dyn World,
    out: &'a mut dyn Write,
}

/// The daemon's address, which every command takes.
const DAEMON: options::Definition = value("daemon", 'd');

/// A caching daemon in front of the files is not asked here.
fn refuse_daemon(parsed: &Parsed) -> Result<()> {
    match parsed.options.iter().find(|(letter, _)| *letter == 'd') {
        Some((_, address)) => {
            Err(refuse!("Unable to connect to rrdcached: {address}: not supported here"))
        }
        None => Ok(()),
    }
}

impl Parsed {
    fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    fn value(&self, letter: char) -> Option<&str> {
        let mut values = self.options.iter().filter(|(own, _)| *own == letter);
        values.next_back().map(|(_, value)| value.as_str())
    }
}

impl Run<'_> {
    fn create(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[
            value("start", 'b'),
            value("step", 's'),
            DAEMON,
            value("source", 'r'),
            value("template", 't'),
            flag("no-overwrite", 'O'),
        ];
        /// The first time that is taken.
        const FIRST_SECONDS: i64 = 3600 * 24 * 365 * 10;
        let parsed = parse(self.arguments, OPTIONS)?;
        let mut options = create::Options::default();
        for (letter, value) in &parsed.options {
            match letter {
                'b' => {
                    let start = self.world.parse(value);
                    let start = start.map_err(|error| refuse!("start time: {error}"))?;
                    if start < FIRST_SECONDS {
                        Err(refuse!("the first entry to the RRD should be after 1980"))?;
                    }
                    options.start = Some(start);
                }
                's' => {
                    let step = scaled_duration(value, 1);
                    let step = step.map_err(|error| refuse!("step size: {error}"))?;
                    options.step_seconds = Some(step);
                }
                'r' => options.sources.push(source_file(value)?),
                't' if options.template.is_some() => Err(refuse!("template already set"))?,
                't' => options.template = Some(PathBuf::from(value)),
                'O' => options.keeps_existing = true,
                _ => {}
            }
        }
        refuse_daemon(&parsed)?;
        let Some((file, definitions)) = parsed.words.split_first() else {
            return Err(refuse!("need name of an rrd file to create").into());
        };
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        let now = self.world.now().seconds;
        if file == "-" {
            let image = create::image(Path::new(file), &options, &definitions, now)?;
            self.out.write_all(&image.to_bytes())?;
            return Ok(());
        }
        Ok(create::create(Path::new(file), &options, &definitions, now)?)
    }

    /// The file and the error of an update; `None` for the file if it did not come to one.
    fn updated(
        &mut self,
        written: Option<&mut Vec<update::WrittenValue>>,
    ) -> (Option<PathBuf>, Result<()>) {
        const OPTIONS: &[options::Definition] =
            &[value("template", 't'), DAEMON, flag("skip-past-updates", 's')];
        let parsed = match parse(self.arguments, OPTIONS) {
            Ok(parsed) => parsed,
            Err(error) => return (None, Err(error)),
        };
        if let Err(error) = refuse_daemon(&parsed) {
            return (None, Err(error));
        }
        let (file, arguments) = match parsed.words.split_first() {
            Some((file, arguments)) if !arguments.is_empty() => (file, arguments),
            _ => return (None, Err(refuse!("Not enough arguments"))),
        };
        let options = update::Options {
            template: parsed.value('t'),
            skip_past_updates: parsed.has('s'),
            locking: self.world.locking(),
        };
        let arguments: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
        let path = PathBuf::from(file);
        let done = update::update(&path, &options, &arguments, self.world, written);
        (Some(path), done)
    }

    fn update(&mut self) -> Done {
        Ok(self.updated(None).1?)
    }

    fn update_verbose(&mut self) -> Done {
        let mut written = Vec::new();
        let (path, done) = self.updated(Some(&mut written));
        let Some(path) = path else { return Ok(done?) };
        let mut out = String::new();
        let code = if done.is_ok() { 0 } else { -1 };
        info::push_line(&mut out, "return_value", &InfoValue::Int(code));
        if !written.is_empty() {
            push_written(&mut out, &File::open(&path, Access::Read)?, &written);
        }
        self.out.write_all(out.as_bytes())?;
        Ok(done?)
    }

    fn dump(&mut self) -> Done {
        const OPTIONS: &[options::Definition] =
            &[DAEMON, value("header", 'h'), flag("no-header", 'n')];
        let parsed = parse(self.arguments, OPTIONS)?;
        refuse_daemon(&parsed)?;
        let heading = parsed.options.iter().fold(Heading::DocumentType, |heading, given| {
            match (given.0, given.1.as_str()) {
                ('n', _) | ('h', "none") => Heading::None,
                ('h', "xsd") => Heading::Schema,
                ('h', "dtd") => Heading::DocumentType,
                _ => heading,
            }
        });
        let (file, target) = match parsed.words.as_slice() {
            [file] => (file, None),
            [file, target] => (file, Some(target)),
            _ => {
                return Err(refuse!(
                    "usage rrdtool {} [--header|-h {{none,xsd,dtd}}]\n[--no-header|-n]\n[--daemon|-d address]\nfile.rrd [file.xml]",
                    "dump"
                )
                .into());
            }
        };
        let file = File::open(Path::new(file), Access::Read)?;
        let Some(target) = target else {
            let out = &mut *self.out;
            return dump::dump(&file, heading, self.world, |piece| {
                out.write_all(piece.as_bytes()).map_err(Failure::Output)
            });
        };
        let mut output = std::fs::File::create(target)
            .map_err(|error| Error::file("opening", Path::new(target), error))?;
        dump::dump(&file, heading, self.world, |piece| {
            output
                .write_all(piece.as_bytes())
                .map_err(|error| Error::file("writing", Path::new(target), error))
        })?;
        Ok(())
    }

    fn last(&mut self) -> Done {
        let parsed = parse(self.arguments, &[DAEMON])?;
        refuse_daemon(&parsed)?;
        let [file] = parsed.words.as_slice() else {
            writeln!(self.out, "-1")?;
            return Err(refuse!("Usage: rrdtool last [--daemon|-d <addr>] <file>").into());
        };
        let last = info::last(Path::new(file));
        writeln!(self.out, "{}", last.as_ref().copied().unwrap_or(-1))?;
        last?;
        Ok(())
    }

    fn last_update(&mut self) -> Done {
        let parsed = parse(self.arguments, &[DAEMON])?;
        refuse_daemon(&parsed)?;
        let [file] = parsed.words.as_slice() else {
            let usage = "Usage: rrdtool lastupdate [--daemon|-d <addr>] <file>";
            return Err(refuse!("{usage}").into());
        };
        let text = info::last_update_text(Path::new(file))?;
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn first(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[value("rraindex", 'R'), DAEMON];
        let parsed = parse(self.arguments, OPTIONS)?;
        refuse_daemon(&parsed)?;
        let index = match parsed.value('R') {
            None => 0,
            Some(text) if text.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) => {
                leading_integer(text)
            }
            Some(_) => -1,
        };
        let index = usize::try_from(index);
        let [file] = parsed.words.as_slice() else {
            writeln!(self.out, "-1")?;
            let usage = "Usage: rrdtool first [--rraindex number] [--daemon|-d <addr>] <file>";
            return Err(refuse!("{usage}").into());
        };
        let first = match index {
            Ok(index) => info::first(Path::new(file), index),
            Err(_) => Err(refuse!("invalid rraindex number")),
        };
        writeln!(self.out, "{}", first.as_ref().copied().unwrap_or(-1))?;
        first?;
        Ok(())
    }

    fn info(&mut self) -> Done {
        let parsed = parse(self.arguments, &[DAEMON, flag("noflush", 'F')])?;
        refuse_daemon(&parsed)?;
        let [name] = parsed.words.as_slice() else {
            let usage = "Usage: rrdtool info [--daemon |-d <addr> [--noflush|-F]] <file>";
            return Err(refuse!("{usage}").into());
        };
        let file = File::open(Path::new(name), Access::Read)?;
        let mut out = String::new();
        for (key, value) in info::info(&file, name) {
            info::push_line(&mut out, &key, &value);
        }
        Ok(self.out.write_all(out.as_bytes())?)
    }

    fn restore(&mut self) -> Done {
        const OPTIONS: &[options::Definition] =
            &[flag("range-check", 'r'), flag("force-overwrite", 'f')];
        let parsed = parse(self.arguments, OPTIONS)?;
        let [source, target] = parsed.words.as_slice() else {
            let usage =
                "usage rrdtool restore [--range-check|-r] [--force-overwrite|-f] file.xml file.rrd";
            return Err(refuse!("{usage}").into());
        };
        let to_output = target == "-";
        if !parsed.has('f') && !to_output && Path::new(target).exists() {
            return Err(refuse!("creating '{target}': File exists").into());
        }
        let unreadable = |_| refuse!("Could not create xml reader for: {source}");
        let text = match source.as_str() {
            "-" => io::read_to_string(io::stdin()).map_err(unreadable)?,
            _ => std::fs::read_to_string(source).map_err(unreadable)?,
        };
        let image = restore::restore(&text, parsed.has('r'))?;
        match to_output {
            true => Ok(self.out.write_all(&image.to_bytes())?),
            false => Ok(image.write(Path::new(target))?),
        }
    }

    fn resize(&mut self) -> Done {
        /// RRDtool writes the changed file here, in the current folder.
        const TARGET: &str = "resize.rrd";
        let [file, archive, direction, rows] = self.arguments else {
            return Err(refuse!("wrong number of parameters").into());
        };
        if file == TARGET {
            return Err(refuse!("resize.rrd is a reserved name").into());
        }
        let rows = leading_integer(rows);
        let change = match direction.as_str() {
            "GROW" => rows,
            "SHRINK" => rows.saturating_neg(),
            _ => return Err(refuse!("I can only GROW or SHRINK").into()),
        };
        if rows < 1 {
            return Err(refuse!("Please grow or shrink with at least 1 row").into());
        }
        let archive = usize::try_from(leading_integer(archive)).unwrap_or(usize::MAX);
        let mut image = Image::of(&File::open(Path::new(file), Access::Write(Locking::Try))?)?;
        resize::resize(&mut image, archive, change)?;
        Ok(image.write(Path::new(TARGET))?)
    }

    fn tune(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[
            value("heartbeat", 'h'),
            value("minimum", 'i'),
            value("maximum", 'a'),
            value("data-source-type", 'd'),
            value("data-source-rename", 'r'),
            value("deltapos", 'p'),
            value("deltaneg", 'n'),
            value("failure-threshold", 'f'),
            value("window-length", 'w'),
            value("alpha", 'x'),
            value("beta", 'y'),
            value("gamma", 'z'),
            value("gamma-deviation", 'v'),
            value("smoothing-window", 's'),
            value("smoothing-window-deviation", 'S'),
            value("aberrant-reset", 'b'),
            value("step", 't'),
            value("daemon", 'D'),
        ];
        let parsed = parse(self.arguments, OPTIONS)?;
        let Some((name, words)) = parsed.words.split_first() else {
            return Err(refuse!("missing file name").into());
        };
        let path = Path::new(name);
        let mut file = File::open(path, Access::Write(Locking::Try))?;
        let mut image = Image::of(&file)?;
        for (letter, value) in &parsed.options {
            tune::change(&mut image, *letter, value)?;
        }
        if words.is_empty() {
            return Ok(file.write_all(&image.header, &image.cells)?);
        }
        restructure::restructure(&mut image, words, path.as_os_str().as_bytes())?;
        Ok(image.write(path)?)
    }

    fn check(&mut self) -> Done {
        let mut faults = 0;
        let now = self.world.now().seconds;
        for name in self.arguments {
            match check::check(Path::new(name), now) {
                Ok(findings) if findings.is_empty() => writeln!(self.out, "{name}: sound")?,
                Ok(findings) => {
                    for finding in findings {
                        faults += usize::from(finding.is_fault);
                        writeln!(self.out, "{name}: {}", finding.text)?;
                    }
                }
                Err(error) => {
                    faults += 1;
                    writeln!(self.out, "{name}: {error}")?;
                }
            }
        }
        match faults {
            0 => Ok(()),
            1 => Err(refuse!("1 fault").into()),
            _ => Err(refuse!("{faults} faults").into()),
        }
    }

    fn convert(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[value("step", 's'), flag("in-place", 'i')];
        let parsed = parse(self.arguments, OPTIONS)?;
        let (source, target, words) = targets(&parsed, "convert")?;
        let step_seconds = match parsed.value('s') {
            Some(text) => {
                let step = scaled_duration(text, 1);
                Some(step.map_err(|error| refuse!("step size: {error}"))?)
            }
            None => None,
        };
        Ok(convert::convert(source, target, &convert::Options { step_seconds, words })?)
    }

    fn repair(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[value("step", 's'), flag("in-place", 'i')];
        let parsed = parse(self.arguments, OPTIONS)?;
        let (source, target, words) = targets(&parsed, "repair")?;
        if let Some(word) = words.first() {
            return Err(refuse!("unparseable argument: {word}").into());
        }
        let step_seconds = match parsed.value('s') {
            Some(text) => {
                let step = scaled_duration(text, 1);
                Some(step.map_err(|error| refuse!("step size: {error}"))?)
            }
            None => None,
        };
        let now = self.world.now().seconds;
        let options = repair::Options { now, step_seconds, bytes_max: repair::BYTES_MAX };
        let name = source.display();
        let repaired =
            repair::repair_to(source, target, &options).map_err(|error| error.of(source))?;
        if repaired.changes.is_empty() {
            writeln!(self.out, "{name}: sound")?;
        }
        for change in repaired.changes {
            writeln!(self.out, "{name}: {change}")?;
        }
        Ok(())
    }

    fn top(&mut self) -> Done {
        /// Lines shown.
        const LINES: usize = 20;
        let [folder] = self.arguments else { return Err(refuse!("Usage: top FOLDER").into()) };
        let names = list::list(Path::new(folder), true)
            .map_err(|error| refuse!("{folder}: {}", crate::reason(&error)))?;
        let costs = names.iter().map(|name| check::cost(&Path::new(folder).join(name)));
        let mut costs: Vec<check::FileCost> = costs.flatten().collect();
        let (files, bytes) = (costs.len(), costs.iter().map(|cost| cost.bytes).sum::<u64>());
        let pages: f64 = costs.iter().map(|cost| cost.pages_per_hour).sum();
        costs.sort_by(|a, b| {
            b.pages_per_hour.total_cmp(&a.pages_per_hour).then(b.bytes.cmp(&a.bytes))
        });
        writeln!(self.out, "pages/h       bytes  sources  archives  file")?;
        for cost in costs.iter().take(LINES) {
            let check::FileCost { path, bytes, sources, archives, pages_per_hour } = cost;
            let path = path.display();
            writeln!(
                self.out,
                "{pages_per_hour:>7.0} {bytes:>11} {sources:>8} {archives:>9}  {path}"
            )?;
        }
        writeln!(self.out, "{pages:>7.0} {bytes:>11} {:>8} {:>9}  {files} files", "", "")?;
        Ok(())
    }

    fn list(&mut self) -> Done {
        const OPTIONS: &[options::Definition] =
            &[flag("recursive", 'r'), DAEMON, flag("noflush", 'F')];
        let parsed = parse(self.arguments, OPTIONS)?;
        refuse_daemon(&parsed)?;
        let [folder] = parsed.words.as_slice() else {
            return Err(
                refuse!("Usage: rrdtool list [--daemon <addr> [--noflush]] <dirname>").into()
            );
        };
        let names = list::list(Path::new(folder), parsed.has('r'))
            .map_err(|error| refuse!("{folder}: {}", crate::reason(&error)))?;
        for name in names {
            writeln!(self.out, "{name}")?;
        }
        Ok(())
    }

    fn fetch(&mut self) -> Done {
        const OPTIONS: &[options::Definition] = &[
            value("resolution", 'r'),
            value("start", 's'),
            value("end", 'e'),
            flag("align-start", 'a'),
            DAEMON,
        ];
        /// The first time that is taken.
        const FIRST_SECONDS: i64 = 3600 * 24 * 365 * 10;
        let parsed = parse(self.arguments, OPTIONS)?;
        refuse_daemon(&parsed)?;
        let step_seconds = match parsed.value('r') {
            None => 1,
            Some(text) => {
                scaled_duration(text, 1).map_err(|error| refuse!("resolution: {error}"))?
            }
        };
        let (start, end) =
            (parsed.value('s').unwrap_or("end-24h"), parsed.value('e').unwrap_or("now"));
        let (mut start, end) = self.world.period(start, end).map_err(|error| refuse!("{error}"))?;
        if start < FIRST_SECONDS {
            let text = format!("the first entry to fetch should be after 1980 ({start})");
            return Err(refuse!("{text}").into());
        }
        if end < start {
            return Err(refuse!("start ({start}) should be less than end ({end})").into());
        }
        if parsed.has('a') {
            start -= start % i64::try_from(step_seconds).unwrap_or(i64::MAX);
        }
        let [file, function, ..] = parsed.words.as_slice() else {
            return Err(refuse!("Usage: rrdtool fetch <file> <CF> [options]").into());
        };
        let function = consolidation_function(function)?;
        let request = fetch::FetchRequest { function, start, end, step_seconds };
        let series = fetch::fetch(Path::new(file), &request)?;
        Ok(self.out.write_all(fetch::text(&series).as_bytes())?)
    }
}

/// The file, the file to write and the other words of a command that makes a file from another.
/// Another file must not exist yet.
fn targets<'a>(parsed: &'a Parsed, command: &str) -> Result<(&'a Path, &'a Path, &'a [String])> {
    match parsed.words.as_slice() {
        [file, words @ ..] if parsed.has('i') => Ok((Path::new(file), Path::new(file), words)),
        [file, target, words @ ..] => match Path::new(target).exists() {
            true => Err(refuse!("creating '{target}': File exists")),
            false => Ok((Path::new(file), Path::new(target), words)),
        },
        _ => Err(refuse!("Usage: {command} FILE NEW, or {command} --in-place FILE")),
    }
}

fn push_written(out: &mut String, file: &File, written: &[update::WrittenValue]) {
    let header = file.header();
    for one in written {
        let archive = &header.archives[one.archive];
        let (function, steps) = (archive.function.name(), archive.steps_per_row);
        let name = &header.sources[one.source].name;
        // RRDtool prints the time as a C int.
        let key = format!("[{}]RRA[{function}][{steps}]DS[{name}]", one.time as i32);
        info::push_line(out, &key, &InfoValue::Double(one.value));
    }
}

fn consolidation_function(name: &str) -> Result<ConsolidationFunction> {
    ConsolidationFunction::of(name)
        .ok_or_else(|| refuse!("unknown consolidation function '{name}'"))
}

fn source_file(name: &str) -> Result<PathBuf> {
    let metadata = std::fs::metadata(name).map_err(|error| {
        refuse!("error checking for source RRD {name}: {}", crate::reason(&error))
    })?;
    match metadata.is_file() {
        true => Ok(PathBuf::from(name)),
        false => Err(refuse!("Not a regular file: {name}")),
    }
}
