//! What programs log: records of each logger, by level, with entry and exit traces and errors.
//!
//! Reads the files of processes that log (`*.process` in the folders of `logring::folder`, of all
//! users; described in `docs/format-log-ring.md`), where the consumer of their rings (`whit log proxy`, or an output of
//! the program itself) counts what it has read, once a second or more often.  Without a consumer
//! the counts stand still.
//!
//! Costs three `stat` and one for each folder, and two `pread` for each process; folders are listed
//! only after they changed.
//! A process that has ended is counted to its end: its file is read once more after it was removed.
//! One that lives shorter than an interval may be missed.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use logring::abi::{self, logger, process};
use logring::folder::{IN_RUNTIME, MEMORY, PREFIX, RUNTIME, SHARED};
use procfs::Host;
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

/// Where users have folders of rings: the folder around them, how a name in it begins, and what
/// follows the name.
const PLACES: [(&str, &str, &str); 3] =
    [(MEMORY, PREFIX, ""), (SHARED, "", ""), (RUNTIME, "", IN_RUNTIME)];
const ENDING: &[u8] = b".process";

/// The most processes and folders, and the most loggers that have a row of their own.
const PROCESSES_MAX: usize = 4096;
const FOLDERS_MAX: usize = 4096;
const ROWS_MAX: usize = 4096;

/// The row of what belongs to no logger, and of loggers beyond the most.
const OTHERS: &[u8] = b"-";

/// The counts of a logger: by level, and suppressed.
const COUNTS: usize = logger::LEVELS + 1;

fields! {
    RECORDS: counter Count, "Records of all levels";
    TRACE: counter Count, "Records of level TRACE: functions entered and left";
    DEBUG: counter Count, "Records of levels DELOUSE and DEBUG";
    INFO: counter Count, "Records of level INFO";
    NOTICE: counter Count, "Records of level NOTICE";
    WARNING: counter Count, "Records of level WARNING";
    ERROR: counter Count, "Records of level ERROR";
    CRITICAL: counter Count, "Records of level CRITICAL";
    ALERT: counter Count, "Records of level ALERT";
    EMERGENCY: counter Count, "Records of level EMERGENCY";
    SUPPRESSED: counter Count, "Calls that rate limits and repeat guards suppressed";
    DROPPED: counter Count, "Records that no ring took";
}

/// The field of each level; DELOUSE is beside DEBUG.
const OF_LEVEL: [usize; logger::LEVELS] = [
    RECORDS, TRACE, DEBUG, DEBUG, INFO, NOTICE, WARNING, RECORDS, ERROR, CRITICAL, ALERT, EMERGENCY,
];

/// The header's counts: bytes from the first to behind the last.
const HEADER: std::ops::Range<usize> = process::DROPPED..process::SUPPRESSED + 16 * 8;

fn open(host: &mut Host, _: &std::sync::Arc<crate::SourceContext>) -> Box<dyn Source> {
    let root = host.root().unwrap_or(Path::new("/"));
    let places = PLACES.map(|(path, ..)| Folder::new(root.join(path.trim_start_matches('/'))));
    let mut log = Log { places, ..Log::default() };
    log.row_of(OTHERS);
    Box::new(log)
}

#[derive(Default)]
struct Log {
    /// Of [`PLACES`].
    places: [Folder; PLACES.len()],
    /// Each with its path on the machine that is read.
    folders: Vec<(PathBuf, Folder)>,
    processes: Vec<Process>,
    rows: HashMap<Vec<u8>, usize>,
    names: Vec<Vec<u8>>,
    totals: Vec<[u64; DROPPED + 1]>,
    buffer: Vec<u8>,
}

/// A folder that is listed again if it has changed.
#[derive(Default)]
struct Folder {
    path: PathBuf,
    changed: Option<(i64, u64)>,
    /// It had changed at the last reading: its time may not show what came right after.
    is_fresh: bool,
}

/// A process that logs.
struct Process {
    folder: usize,
    name: Vec<u8>,
    file: OwnedFd,
    loggers: Vec<LoggerRow>,
    dropped: u64,
    limited: u64,
    is_there: bool,
}

/// A logger's row, and its counts as they were last.
struct LoggerRow {
    row: usize,
    counts: [u64; COUNTS],
}

impl Folder {
    fn new(path: PathBuf) -> Self {
        Folder { path, ..Folder::default() }
    }

    /// Whether it is to be listed.
    fn is_due(&mut self, host: &mut Host) -> bool {
        host.add_calls(1);
        let facts = rustix::fs::stat(&self.path).ok();
        #[allow(clippy::unnecessary_cast, reason = "the types differ between machines")]
        let changed = facts.map(|facts| (facts.st_mtime as i64, facts.st_mtime_nsec as u64));
        let has_changed = changed != self.changed;
        self.changed = changed;
        std::mem::replace(&mut self.is_fresh, has_changed) || has_changed
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
    word.map_or(0, u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let half = bytes.get(at..at + 4).and_then(|half| half.try_into().ok());
    half.map_or(0, u32::from_le_bytes)
}

/// Sets a count that only grows; gives by how much.
fn advance(last: &mut u64, now: u64) -> u64 {
    let more = now.saturating_sub(*last);
    *last = now.max(*last);
    more
}

/// Reads as many bytes as there are, up to the length of the buffer.
fn read_at(host: &mut Host, file: &OwnedFd, buffer: &mut [u8], at: usize) -> usize {
    host.add_calls(1);
    let count = rustix::io::pread(file, buffer, at as u64).unwrap_or(0);
    host.add_bytes(count as u64);
    count
}

impl Source for Log {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if host.root().is_none() {
            return State::Absent;
        }
        self.find_folders(host);
        for index in 0..self.folders.len() {
            if self.folders[index].1.is_due(host) {
                self.find_processes(index, host);
            }
        }
        for index in 0..self.processes.len() {
            self.count(index, host);
        }
        self.processes.retain(|process| process.is_there);
        if self.folders.is_empty() {
            return State::Absent;
        }
        for (name, totals) in self.names.iter().zip(&self.totals) {
            let mut row = table.row(name);
            for (field, total) in totals.iter().enumerate() {
                row.set(field, *total);
            }
        }
        State::Ok
    }
}

impl Log {
    /// Looks for folders of users that log.
    fn find_folders(&mut self, host: &mut Host) {
        use std::os::unix::ffi::OsStrExt as _;
        for ((place, prefix, inner), around) in PLACES.into_iter().zip(&mut self.places) {
            if !around.is_due(host) {
                continue;
            }
            let folders = &mut self.folders;
            // What cannot be listed now is tried again when it changes.
            let _ = host.for_each_name(Path::new(place), |name, _| {
                let below = Path::new(std::ffi::OsStr::from_bytes(name)).join(inner);
                let path = Path::new(place).join(&below);
                let is_known = folders.iter().any(|(known, _)| *known == path);
                if !name.starts_with(prefix.as_bytes()) || is_known || folders.len() >= FOLDERS_MAX
                {
                    return;
                }
                folders.push((path, Folder::new(around.path.join(below))));
            });
        }
    }

    /// Opens the files of new processes, and notes which are gone.
    fn find_processes(&mut self, folder: usize, host: &mut Host) {
        use std::os::unix::ffi::OsStrExt as _;
        let path = self.folders[folder].0.clone();
        let of_folder = |process: &&mut Process| process.folder == folder;
        self.processes.iter_mut().filter(of_folder).for_each(|one| one.is_there = false);
        let (processes, mut new) = (&mut self.processes, Vec::new());
        // A folder of another user cannot be listed: it has no processes for us.
        let _ = host.for_each_name(&path, |name, _| {
            if !name.ends_with(ENDING) {
                return;
            }
            let known = processes.iter_mut().find(|one| one.folder == folder && one.name == name);
            match known {
                Some(process) => process.is_there = true,
                None => new.push(name.to_vec()),
            }
        });
        for name in new {
            if self.processes.len() >= PROCESSES_MAX {
                return;
            }
            let Ok(file) = host.open(&path.join(std::ffi::OsStr::from_bytes(&name))) else {
                continue;
            };
            let mut head = [0; 12];
            let count = read_at(host, &file, &mut head, 0);
            // Of another version nothing is known.
            let is_known = count == head.len()
                && head[..8] == abi::PROCESS_MAGIC
                && half(&head, process::VERSION) == abi::VERSION;
            if is_known {
                let (loggers, is_there) = (Vec::new(), true);
                let one = Process { folder, name, file, loggers, dropped: 0, limited: 0, is_there };
                self.processes.push(one);
            }
        }
    }

    /// The number of a logger's row.
    fn row_of(&mut self, name: &[u8]) -> usize {
        if let Some(row) = self.rows.get(name) {
            return *row;
        }
        if self.names.len() >= ROWS_MAX {
            return 0;
        }
        self.rows.insert(name.to_vec(), self.names.len());
        // What would end a line, or separate labels, is no part of a name.
        let shown = name.iter().map(|byte| if byte.is_ascii_control() { b'?' } else { *byte });
        self.names.push(shown.collect());
        self.totals.push([0; DROPPED + 1]);
        self.names.len() - 1
    }

    /// Adds what a process has logged since the last reading.
    fn count(&mut self, index: usize, host: &mut Host) {
        let mut header = [0; HEADER.end - HEADER.start];
        let process = &mut self.processes[index];
        if read_at(host, &process.file, &mut header, HEADER.start) < header.len() {
            return;
        }
        let sum = |from: usize| {
            let from = from - HEADER.start;
            (0..16).fold(0_u64, |sum, level| sum.wrapping_add(word(&header, from + level * 8)))
        };
        let dropped = advance(&mut process.dropped, sum(process::DROPPED));
        let limited = advance(&mut process.limited, sum(process::SUPPRESSED));
        let count = half(&header, process::LOGGER_COUNT - HEADER.start) as usize;
        let bytes = count.min(process::LOGGERS_MAX) * process::LOGGER_BYTES;
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        let buffer = &mut self.buffer[..bytes];
        let read = read_at(host, &process.file, buffer, process::LOGGERS);
        let others = &mut self.totals[0];
        others[DROPPED] = others[DROPPED].wrapping_add(dropped);
        others[SUPPRESSED] = others[SUPPRESSED].wrapping_add(limited);
        // Taken, so that rows can be made meanwhile.
        let buffer = std::mem::take(&mut self.buffer);
        let entries = buffer[..read.min(bytes)].chunks_exact(process::LOGGER_BYTES);
        for (number, entry) in entries.enumerate() {
            self.count_logger(index, number, entry);
        }
        self.buffer = buffer;
    }

    fn count_logger(&mut self, index: usize, number: usize, entry: &[u8]) {
        if number >= self.processes[index].loggers.len() {
            let length = usize::from(entry[logger::NAME_LENGTH]).min(logger::NAME_BYTES_MAX);
            let name = &entry[logger::NAME..logger::NAME + length];
            let row = self.row_of(if name.is_empty() { OTHERS } else { name });
            self.processes[index].loggers.push(LoggerRow { row, counts: [0; COUNTS] });
        }
        let seen = &mut self.processes[index].loggers[number];
        let totals = &mut self.totals[seen.row];
        for (level, last) in seen.counts.iter_mut().enumerate() {
            let is_level = level < logger::LEVELS;
            let at = if is_level { logger::COUNTS + level * 8 } else { logger::SUPPRESSED };
            let more = advance(last, word(entry, at));
            let field = OF_LEVEL.get(level).copied().unwrap_or(SUPPRESSED);
            if field != RECORDS {
                totals[field] = totals[field].wrapping_add(more);
            }
            if is_level {
                totals[RECORDS] = totals[RECORDS].wrapping_add(more);
            }
        }
    }
}

/// The rate of all loggers together.
fn all(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |one| one.rate(field))
}

/// The rate of some fields together.
fn of(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    fields.iter().map(|field| row.rate(*field)).sum()
}

/// The rate of all loggers and some fields together.
fn all_of(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.sum(|_| true, |one| of(one, fields))
}

const ERROR_AND_ABOVE: &[usize] = &[ERROR, CRITICAL, ALERT, EMERGENCY];
/// CRITICAL and above.
const CRITICAL_AND_ABOVE: &[usize] = &[CRITICAL, ALERT, EMERGENCY];
const NOT_LOGGED: &[usize] = &[SUPPRESSED, DROPPED];

pub(crate) static ENTRY: Entry = Entry {
    name: "log",
    about: "Records that programs log through whit's rings, by logger and level, as the consumer of the rings counted them; the row - has what belongs to no logger",
    reads: &[
        "/dev/shm/whit-log-*/*.process",
        "/run/whit/log/*/*.process",
        "/run/user/*/whit-log/*.process",
    ],
    instance: &["logger"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[
        Layout {
            level: Level::Summary,
            position: DisplayOrder {
                brief: 205,
                verbose: 192,
                plot: 205,
                lexpr: 1145,
                gexpr: 1145,
            },
            brief: &[Block {
                when: |_| true,
                title: "<-------Log------>",
                headings: &[" Recs  Warn  Errs "],
                show: Show::Cells(&[
                    Cell::scaled("", 5, |row| all(row, RECORDS)),
                    Cell::scaled(" ", 5, |row| all(row, WARNING)),
                    Cell::scaled(" ", 5, |row| all_of(row, ERROR_AND_ABOVE)),
                ]),
            }],
            verbose: &[Block {
                when: |_| true,
                title: "LOG SUMMARY ($rate)",
                headings: &[
                    " Records   Trace   Debug    Info  Notice Warning   Error Critic  Suppr   Drop",
                ],
                show: Show::Cells(&[
                    Cell::whole("", 9, |row| all(row, RECORDS)),
                    Cell::whole(" ", 7, |row| all(row, TRACE)),
                    Cell::whole(" ", 7, |row| all(row, DEBUG)),
                    Cell::whole(" ", 7, |row| all(row, INFO)),
                    Cell::whole(" ", 7, |row| all(row, NOTICE)),
                    Cell::whole(" ", 7, |row| all(row, WARNING)),
                    Cell::whole(" ", 7, |row| all(row, ERROR)),
                    Cell::whole(" ", 6, |row| all_of(row, CRITICAL_AND_ABOVE)),
                    Cell::whole(" ", 6, |row| all(row, SUPPRESSED)),
                    Cell::whole(" ", 6, |row| all(row, DROPPED)),
                ]),
            }],
            plot: Some(Plot {
                tag: "LOG",
                columns: &[
                    PlotColumn::new("Records", |row| all(row, RECORDS)),
                    PlotColumn::new("Trace", |row| all(row, TRACE)),
                    PlotColumn::new("Warning", |row| all(row, WARNING)),
                    PlotColumn::new("Errors", |row| all_of(row, ERROR_AND_ABOVE)),
                    PlotColumn::new("NotLogged", |row| all_of(row, NOT_LOGGED)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::new("log.records", |row| all(row, RECORDS)),
                PlotColumn::new("log.trace", |row| all(row, TRACE)),
                PlotColumn::new("log.warning", |row| all(row, WARNING)),
                PlotColumn::new("log.errors", |row| all_of(row, ERROR_AND_ABOVE)),
                PlotColumn::new("log.notlogged", |row| all_of(row, NOT_LOGGED)),
            ],
            ..Layout::EMPTY
        },
        Layout {
            level: Level::Detail,
            position: DisplayOrder {
                verbose: 193,
                plot: 206,
                lexpr: 1146,
                gexpr: 1146,
                ..DisplayOrder::LAST
            },
            verbose: &[Block {
                when: |_| true,
                title: "LOG STATISTICS ($rate)",
                headings: &[" Records   Trace Warning  Errors Suppr Logger"],
                show: Show::Cells(&[
                    Cell::whole("", 9, |row| row.rate(RECORDS)),
                    Cell::whole(" ", 7, |row| row.rate(TRACE)),
                    Cell::whole(" ", 7, |row| row.rate(WARNING)),
                    Cell::whole(" ", 7, |row| of(row, ERROR_AND_ABOVE)),
                    Cell::whole(" ", 5, |row| row.rate(SUPPRESSED)),
                    Cell::left(" ", 24, |row| Some(row.name())),
                ]),
            }],
            plot: Some(Plot {
                tag: "LOG",
                extension: "log",
                columns: &[
                    PlotColumn::new("Records", |row| row.rate(RECORDS)),
                    PlotColumn::new("Trace", |row| row.rate(TRACE)),
                    PlotColumn::new("Warning", |row| row.rate(WARNING)),
                    PlotColumn::new("Errors", |row| of(row, ERROR_AND_ABOVE)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::new("loginfo.records.{}", |row| row.rate(RECORDS)),
                PlotColumn::new("loginfo.trace.{}", |row| row.rate(TRACE)),
                PlotColumn::new("loginfo.warning.{}", |row| row.rate(WARNING)),
                PlotColumn::new("loginfo.errors.{}", |row| of(row, ERROR_AND_ABOVE)),
            ],
            ..Layout::EMPTY
        },
    ],
    open,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::FakeHost;

    /// A process file with loggers: names, and counts of TRACE, INFO and ERROR.
    fn process_file(loggers: &[(&str, [u64; 3])], dropped: u64) -> Vec<u8> {
        let mut bytes = vec![0; process::LOGGERS + loggers.len() * process::LOGGER_BYTES];
        let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        put(process::DROPPED + 4 * 8, dropped);
        put(process::SUPPRESSED + 3 * 8, 5);
        for (number, (_, [trace, info, error])) in loggers.iter().enumerate() {
            let at = process::LOGGERS + number * process::LOGGER_BYTES + logger::COUNTS;
            put(at + 8, *trace);
            put(at + 4 * 8, *info);
            put(at + 8 * 8, *error);
            put(at - logger::COUNTS + logger::SUPPRESSED, 1);
        }
        for (number, (name, _)) in loggers.iter().enumerate() {
            let at = process::LOGGERS + number * process::LOGGER_BYTES;
            bytes[at + logger::NAME_LENGTH] = name.len() as u8;
            let at = at + logger::NAME;
            bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        bytes[..8].copy_from_slice(&abi::PROCESS_MAGIC);
        bytes[process::VERSION] = 1;
        bytes[process::LOGGER_COUNT] = loggers.len() as u8;
        bytes
    }

    fn rows(table: &Table) -> Vec<(String, [u64; 5])> {
        let fields = [RECORDS, TRACE, ERROR, SUPPRESSED, DROPPED];
        let row = |at: usize| {
            let name = String::from_utf8(table.name(at).to_vec()).unwrap();
            (name, fields.map(|field| table.get(at, field).unwrap()))
        };
        (0..table.rows()).map(row).collect()
    }

    #[test]
    fn loggers_of_all_processes_are_added_and_ended_ones_are_kept() {
        let fake = FakeHost::new().unwrap();
        let mut host = Host::new(fake.root());
        let mut source = open(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        let (one, two) = ("/dev/shm/whit-log-0/1-2.process", "/run/whit/log/7/3-4.process");
        fake.put(one, process_file(&[("a", [1, 2, 3]), ("b\n", [0, 7, 0])], 9)).unwrap();
        fake.put(two, process_file(&[("a", [0, 10, 0])], 0)).unwrap();
        fake.put("/dev/shm/whit-log-7/5-6.process", "too short").unwrap();
        let three = "/run/user/8/whit-log/9-9.process";
        fake.put(three, process_file(&[("a", [0, 4, 0])], 0)).unwrap();
        fake.put("/dev/shm/other/5-6.process", process_file(&[("c", [1, 1, 1])], 0)).unwrap();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let mut found = rows(&table);
        found.sort();
        let expected = [
            ("-".to_owned(), [0, 0, 0, 15, 9]),
            ("a".to_owned(), [20, 1, 3, 3, 0]),
            ("b?".to_owned(), [7, 0, 0, 1, 0]),
        ];
        assert_eq!(found, expected);
        // Written in place, as consumers do; then removed with its last counts.
        let path = fake.path(two);
        std::fs::write(&path, process_file(&[("a", [0, 12, 0]), ("d", [0, 0, 4])], 0)).unwrap();
        std::fs::remove_file(&path).unwrap();
        for _ in 0..2 {
            assert_eq!(source.read(&mut host, &mut table), State::Ok);
            let mut found = rows(&table);
            found.sort();
            assert_eq!(found[1], ("a".to_owned(), [22, 1, 3, 3, 0]));
            assert_eq!(found[3], ("d".to_owned(), [4, 0, 4, 1, 0]));
        }
        // Counts that go back, and a file that is cut, count nothing.
        let path = fake.path(one);
        std::fs::write(&path, process_file(&[("a", [0, 0, 0]), ("b\n", [0, 8, 0])], 0)).unwrap();
        source.read(&mut host, &mut table);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let mut found = rows(&table);
        found.sort();
        assert_eq!(found[0].1, [0, 0, 0, 15, 9]);
        assert_eq!((found[1].1[0], found[2].1[0]), (22, 8));
    }

    #[test]
    fn a_reading_is_a_few_calls() {
        let fake = FakeHost::new().unwrap();
        fake.put("/dev/shm/whit-log-0/1-2.process", process_file(&[("a", [1, 2, 3])], 0)).unwrap();
        let mut host = Host::new(fake.root());
        let mut source = open(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        for _ in 0..3 {
            source.read(&mut host, &mut table);
        }
        let calls = host.cost().calls;
        source.read(&mut host, &mut table);
        assert_eq!(host.cost().calls - calls, 6, "four stat, two pread");
        let mut host = Host::in_memory();
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
    }
}
