//! Reading and writing of log files.
//!
//! Per update: `open`, `fstat`, `read`, `close` of the file, and `open`, `write`, `close`, two
//! `rename` for the new one.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::history::{Anomalies, LINES_MAX, LogHistory, LogLine};
use super::number;
use super::rate::{LastCounter, LogReading};
use super::{Counting, Error};

/// Bytes of a file that are read.  A file in order has 48 to 250 kB.
const FILE_SIZE_MAX: u64 = 4 << 20;
/// Bytes of a line; what is longer counts as several lines.
const LINE_SIZE_MAX: usize = 255;
/// Bytes of a counter of the first line.
const COUNTER_SIZE_MAX: usize = 199;

/// Log files: reads and updates them with one set of buffers.
#[derive(Debug, Default)]
pub struct LogFiles {
    text: Vec<u8>,
    history: LogHistory,
    lines: Vec<LogLine>,
    /// Time and counters of the last update of the file that was read.
    last: Option<(i64, LastCounter, LastCounter)>,
}

/// What was not in order, though the update was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogProblem {
    /// There was no file; a new one is begun.
    Created,
    /// `NAME.log` was damaged or missing, and `NAME.old` was used.
    BackupUsed,
    /// `NAME.log` was damaged and there was no backup; a new one is begun.
    Restarted,
    /// Lines of the file do not cover its time; what they left out is 0.
    Uncovered,
}

/// What an update did.
#[derive(Debug)]
pub struct Updated<'a> {
    /// Rates of the update.
    pub rates: (i64, i64),
    /// The file's lines after the update, with the fractions of rates that the file does not keep.
    pub history: &'a LogHistory,
    /// What was not in order.
    pub problem: Option<LogProblem>,
    /// Whether the counters were reset since the update before, so that the rates are unknown.
    pub was_reset: bool,
}

enum Damage {
    Missing,
    FirstLine,
    Order,
}

impl LogFiles {
    /// Buffers are made at the first use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The lines of a file, for pictures.  Falls back to `NAME.old` as an update does.
    ///
    /// # Errors
    /// If neither file is there, can be read and is in order.
    pub fn read(&mut self, path: &Path) -> Result<&LogHistory, Error> {
        self.history.lines.clear();
        match self.load(path)? {
            Ok(()) => return Ok(&self.history),
            Err(Damage::Missing | Damage::FirstLine | Damage::Order) => {}
        }
        match self.load(&path.with_extension("old"))? {
            Ok(()) => Ok(&self.history),
            Err(Damage::Order) => Err(Error::Damaged { path: path.to_owned() }),
            Err(_) => Err(Error::Missing { path: path.to_owned() }),
        }
    }

    /// The time and the counters of the last update of the file that was read or written last.
    #[must_use]
    pub fn last(&self) -> Option<(i64, LastCounter, LastCounter)> {
        self.last
    }

    /// Adds a reading to `path` (`NAME.log`), or begins the file with it.
    ///
    /// # Errors
    /// If the file is later than the reading, both copies are damaged, or the file cannot be read or
    /// written.  It is then as it was.
    pub fn update(&mut self, path: &Path, reading: &LogReading) -> Result<Updated<'_>, Error> {
        let problem = self.load_or_begin(path, reading.time)?;
        if let Some((last, ..)) = self.last
            && reading.time < last
        {
            let path = path.to_owned();
            return Err(Error::TimeWentBack { path, last, now: reading.time });
        }
        let newest = self.history.at(0);
        let begun = matches!(problem, Some(LogProblem::Created | LogProblem::Restarted));
        let last = if begun { None } else { self.last };
        let was_reset = reading.was_reset_since(last);
        let (input, output) = reading.rates(last, (newest.input, newest.output));
        let (rate_in, rate_out) = (input as f64, output as f64);
        let line = LogLine {
            time: reading.time,
            input: rate_in,
            output: rate_out,
            input_max: rate_in,
            output_max: rate_out,
        };
        let anomalies = self.history.after_update(line, &mut self.lines);
        self.write_text(reading);
        replace(path, &self.text)?;
        self.take_new_lines(reading);
        let uncovered = anomalies != Anomalies::default();
        let problem = problem.or(uncovered.then_some(LogProblem::Uncovered));
        Ok(Updated { rates: (input, output), history: &self.history, problem, was_reset })
    }

    fn take_new_lines(&mut self, reading: &LogReading) {
        self.history.lines.clear();
        self.history.lines.extend_from_slice(&self.lines);
        self.history.valid = self.lines.len();
        let gauge = matches!(reading.counting, Counting::Absolute | Counting::Gauge);
        let last = |value: Option<i128>| match value {
            _ if gauge => LastCounter::Counter(0),
            Some(value) if value != -1 => LastCounter::Counter(value),
            _ => LastCounter::Missing,
        };
        self.last = Some((reading.time, last(reading.input), last(reading.output)));
    }

    fn load_or_begin(&mut self, path: &Path, now: i64) -> Result<Option<LogProblem>, Error> {
        self.history.lines.clear();
        let first = match self.load(path)? {
            Ok(()) => return Ok(None),
            Err(damage) => damage,
        };
        match self.load(&path.with_extension("old"))? {
            Ok(()) => return Ok(Some(LogProblem::BackupUsed)),
            Err(Damage::Order) => return Err(Error::Damaged { path: path.to_owned() }),
            Err(Damage::Missing | Damage::FirstLine) => {}
        }
        self.history.make_empty(now);
        self.last = None;
        Ok(Some(match first {
            Damage::Missing => LogProblem::Created,
            Damage::FirstLine | Damage::Order => LogProblem::Restarted,
        }))
    }

    /// Reads and takes apart one file.
    fn load(&mut self, path: &Path) -> Result<Result<(), Damage>, Error> {
        self.text.clear();
        let mut file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Err(Damage::Missing));
            }
            Err(source) => return Err(Error::Read { path: path.to_owned(), source }),
        };
        let mut limited = (&mut file).take(FILE_SIZE_MAX);
        if let Err(source) = limited.read_to_end(&mut self.text) {
            return Err(Error::Read { path: path.to_owned(), source });
        }
        Ok(self.take_apart())
    }

    fn take_apart(&mut self) -> Result<(), Damage> {
        let (text, history) = (&self.text, &mut self.history);
        history.valid = 0;
        let mut at = 0;
        let time = number::read(text, &mut at).ok_or(Damage::FirstLine)?;
        let input = word(text, &mut at);
        let output = word(text, &mut at);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Damage::FirstLine);
        };
        self.last = Some((time, counter(input), counter(output)));
        while text.get(at).is_some_and(|&byte| number::is_space(byte)) {
            at += 1;
        }
        let mut newest_allowed = time;
        let mut numbers = [0_i64; 5];
        let mut index = 0;
        while at < text.len() {
            let (line, next) = line_at(text, at);
            at = next;
            let line = parse_line(line, &mut numbers);
            history.put(index, line);
            if line.time > newest_allowed {
                return Err(Damage::Order);
            }
            newest_allowed = line.time;
            index += 1;
        }
        history.valid = index;
        Ok(())
    }

    /// The file as text: the first line and all lines.
    fn write_text(&mut self, reading: &LogReading) {
        let out = &mut self.text;
        out.clear();
        number::push(out, reading.time);
        for value in [reading.input, reading.output] {
            out.push(b' ');
            let value = value.unwrap_or(-1);
            match i64::try_from(value) {
                Ok(value) => number::push(out, value),
                Err(_) => out.extend_from_slice(value.to_string().as_bytes()),
            }
        }
        out.push(b'\n');
        for line in &self.lines {
            number::push(out, line.time);
            for value in [line.input, line.output, line.input_max, line.output_max] {
                out.push(b' ');
                number::push(out, number::truncated(value));
            }
            out.push(b'\n');
        }
        debug_assert!(self.lines.len() <= LINES_MAX);
    }
}

/// The next word of the first line, at most [`COUNTER_SIZE_MAX`] bytes of it.
fn word<'a>(text: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    while text.get(*at).is_some_and(|&byte| number::is_space(byte)) {
        *at += 1;
    }
    let rest = text.get(*at..)?;
    let rest = &rest[..rest.len().min(COUNTER_SIZE_MAX)];
    let length = rest.iter().position(|&byte| number::is_space(byte)).unwrap_or(rest.len());
    *at += length;
    (length > 0).then(|| &rest[..length])
}

fn counter(word: &[u8]) -> LastCounter {
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<i128>().ok());
    match number {
        None | Some(-1) => LastCounter::Missing,
        Some(number) => LastCounter::Counter(number),
    }
}

/// The line at `at`, and where the next one begins.
fn line_at(text: &[u8], at: usize) -> (&[u8], usize) {
    let rest = &text[at..text.len().min(at + LINE_SIZE_MAX)];
    match memchr::memchr(b'\n', rest) {
        Some(length) => (&rest[..length], at + length + 1),
        None => (rest, at + rest.len()),
    }
}

/// A line of five numbers.  A line with fewer, from an old version or torn, has no maxima of its
/// own, and what else it lacks is as in the line before.
fn parse_line(line: &[u8], numbers: &mut [i64; 5]) -> LogLine {
    let mut at = 0;
    let mut found = 0;
    while found < 5 {
        let Some(number) = number::read(line, &mut at) else { break };
        numbers[found] = number;
        found += 1;
    }
    if found < 5 {
        numbers[3] = numbers[1];
        numbers[4] = numbers[2];
    }
    let [time, input, output, input_max, output_max] = *numbers;
    LogLine {
        time,
        input: input as f64,
        output: output as f64,
        input_max: (input_max as f64).max(input as f64),
        output_max: (output_max as f64).max(output as f64),
    }
}

/// Puts a new file in the place of `path`, which becomes `NAME.old`.
fn replace(path: &Path, text: &[u8]) -> Result<(), Error> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".tmp_{}", std::process::id()));
    let new = PathBuf::from(new);
    let write = |new: &Path| fs::File::create(new)?.write_all(text);
    let done = write(&new).and_then(|()| exchange(&new, path));
    done.map_err(|source| {
        // The error that matters is the first one.
        let _ = fs::remove_file(&new);
        Error::Write { path: path.to_owned(), source }
    })
}

fn exchange(new: &Path, path: &Path) -> io::Result<()> {
    let old = path.with_extension("old");
    match renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => fs::rename(new, old),
        Err(rustix::io::Errno::NOENT) => fs::rename(new, path),
        // A file system without this call (NFS, FUSE): as rateup does it.
        Err(_) => {
            match fs::rename(path, old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::rename(new, path)
        }
    }
}
