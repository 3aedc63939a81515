//! RRDtool's command line: from words to text.
//!
//! Each command takes the words after its name and writes what RRDtool prints.  The program that
//! calls gives the clock, the time zone and the time language ([`CommandEnvironment`]), and decides where text
//! and errors go.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

mod environment;
mod options;
mod results;

use environment::check_source;
pub use environment::{CommandEnvironment, Daemon, Failure, InfoEntry};
use options::{DAEMON, Parsed, flag, parse, value};
use results::{FIRST_SECONDS, LOCKING, connect, flush, locking};
pub use results::{fetch, first, info, last, list, update_verbose, written_entries};

use crate::check;
use crate::convert;
use crate::create;
use crate::dump::{self, Heading};
use crate::error::{Error, Result, refuse};
use crate::fetch;
use crate::file::{Access, File};
use crate::image::Image;
use crate::info;
use crate::list;
use crate::number::{leading_integer, scaled_duration};
use crate::repair;
use crate::resize;
use crate::restore;
use crate::restructure;
use crate::tune;

type CommandResult = Result<(), Failure>;

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
    environment: &dyn CommandEnvironment,
    out: &mut dyn Write,
) -> Option<CommandResult> {
    let mut run = Run { arguments, environment, out };
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
        "flushcached" => results::flush_cached(arguments, environment),
        _ => return None,
    })
}

struct Run<'a> {
    arguments: &'a [String],
    environment: &'a dyn CommandEnvironment,
    out: &'a mut dyn Write,
}

impl Run<'_> {
    fn create(&mut self) -> CommandResult {
        const OPTIONS: &[options::Definition] = &[
            value("start", 'b'),
            value("step", 's'),
            DAEMON,
            value("source", 'r'),
            value("template", 't'),
            flag("no-overwrite", 'O'),
        ];
        let parsed = parse(self.arguments, OPTIONS)?;
        let mut options = create::Options::default();
        for (letter, value) in &parsed.options {
            match letter {
                'b' => {
                    let start = self.environment.parse(value);
                    let start = start.map_err(|error| match error.starts_with("specifying") {
                        true => refuse!("{error}"),
                        false => refuse!("start time: {error}"),
                    })?;
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
                'r' => options.sources.push(PathBuf::from(value)),
                't' if options.template.is_some() => Err(refuse!("template already set"))?,
                't' => options.template = Some(PathBuf::from(value)),
                'O' => options.keeps_existing = true,
                _ => {}
            }
        }
        let Some((file, definitions)) = parsed.words.split_first() else {
            return Err(refuse!("need name of an rrd file to create").into());
        };
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        // As in RRDtool, a daemon that cannot be reached is no reason not to make the file.
        if let Ok(Some(daemon)) = connect(&parsed, self.environment) {
            // The sources are files of the daemon's machine, so it looks for them.
            let done = daemon.create(file, &options, &definitions);
            return Ok(done.map_err(Error::Argument)?);
        }
        for source in &options.sources {
            check_source(source)?;
        }
        let now = self.environment.now().seconds;
        if file == "-" {
            let image = create::image(Path::new(file), &options, &definitions, now)?;
            self.out.write_all(&image.to_bytes())?;
            return Ok(());
        }
        Ok(create::create(Path::new(file), &options, &definitions, now)?)
    }

    fn update(&mut self) -> CommandResult {
        results::update(self.arguments, self.environment)
    }

    fn update_verbose(&mut self) -> CommandResult {
        let (entries, done) = update_verbose(self.arguments, self.environment);
        self.write_entries(&entries)?;
        done
    }

    fn write_entries(&mut self, entries: &[InfoEntry]) -> CommandResult {
        let mut out = String::new();
        for (key, value) in entries {
            info::push_line(&mut out, key, value);
        }
        Ok(self.out.write_all(out.as_bytes())?)
    }

    fn dump(&mut self) -> CommandResult {
        const OPTIONS: &[options::Definition] =
            &[DAEMON, value("header", 'h'), flag("no-header", 'n')];
        let usage = || {
            refuse!(
                "usage rrdtool dump [--header|-h {{none,xsd,dtd}}]\n[--no-header|-n]\n\
                 [--daemon|-d address]\nfile.rrd [file.xml]"
            )
        };
        let parsed = parse(self.arguments, OPTIONS).map_err(|_| usage())?;
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
            _ => return Err(usage().into()),
        };
        flush(connect(&parsed, self.environment)?.as_ref(), file)?;
        let file = File::open(Path::new(file), Access::Read)?;
        let Some(target) = target else {
            let out = &mut *self.out;
            return dump::dump(&file, heading, self.environment.zone(), |piece| {
                out.write_all(piece.as_bytes()).map_err(Failure::Output)
            });
        };
        let mut output = std::fs::File::create(target)
            .map_err(|error| Error::file("opening", Path::new(target), error))?;
        dump::dump(&file, heading, self.environment.zone(), |piece| {
            output
                .write_all(piece.as_bytes())
                .map_err(|error| Error::file("writing", Path::new(target), error))
        })?;
        Ok(())
    }

    fn last(&mut self) -> CommandResult {
        let last = last(self.arguments, self.environment);
        writeln!(self.out, "{}", last.as_ref().copied().unwrap_or(-1))?;
        last.map(|_| ())
    }

    fn last_update(&mut self) -> CommandResult {
        let parsed = parse(self.arguments, &[DAEMON])?;
        let [file] = parsed.words.as_slice() else {
            let usage = "Usage: rrdtool lastupdate [--daemon|-d <addr>] <file>";
            return Err(refuse!("{usage}").into());
        };
        flush(connect(&parsed, self.environment)?.as_ref(), file)?;
        let text = info::last_update_text(Path::new(file))?;
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn first(&mut self) -> CommandResult {
        let first = first(self.arguments, self.environment);
        writeln!(self.out, "{}", first.as_ref().copied().unwrap_or(-1))?;
        first.map(|_| ())
    }

    fn info(&mut self) -> CommandResult {
        let entries = info(self.arguments, self.environment)?;
        self.write_entries(&entries)
    }

    fn restore(&mut self) -> CommandResult {
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

    fn resize(&mut self) -> CommandResult {
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
        let access = Access::Write(self.environment.locking());
        let mut image = Image::of(&File::open(Path::new(file), access)?)?;
        resize::resize(&mut image, archive, change)?;
        Ok(image.write(Path::new(TARGET))?)
    }

    fn tune(&mut self) -> CommandResult {
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
            LOCKING,
        ];
        let parsed = parse(self.arguments, OPTIONS)?;
        let Some((name, words)) = parsed.words.split_first() else {
            return Err(refuse!("missing file name").into());
        };
        let locking = locking(&parsed, self.environment)?;
        let daemon = self.environment.daemon(parsed.value('D'));
        flush(daemon.map_err(|_| refuse!("Cannot connect to daemon"))?.as_ref(), name)?;
        let path = Path::new(name);
        let mut file = File::open(path, Access::Write(locking))?;
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

    fn check(&mut self) -> CommandResult {
        let mut faults = 0;
        let now = self.environment.now().seconds;
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

    fn convert(&mut self) -> CommandResult {
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
        let locking = self.environment.locking();
        Ok(convert::convert(source, target, &convert::Options { step_seconds, words, locking })?)
    }

    fn repair(&mut self) -> CommandResult {
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
        let now = self.environment.now().seconds;
        let locking = self.environment.locking();
        let bytes_max = repair::BYTES_MAX;
        let options = repair::Options { now, step_seconds, bytes_max, locking };
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

    fn top(&mut self) -> CommandResult {
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

    fn list(&mut self) -> CommandResult {
        for name in list(self.arguments, self.environment)? {
            writeln!(self.out, "{name}")?;
        }
        Ok(())
    }

    fn fetch(&mut self) -> CommandResult {
        let series = fetch(self.arguments, self.environment)?;
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
