//! One process: its history while it is watched, its numbers, threads, open files, limits and environment.
//!
//! For this machine, `/proc/PID/{task,fd,limits,environ}` are read for the page that is open, when it is
//! opened and with each sample; another feed has what its source `process` has.  Each list has a limit.
//! `environ` waits for the memory lock of the process, so a thread reads it, and a process that holds the
//! lock costs [`PATIENCE`] once.

use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use layout::Row;
use procfs::pid::{Stat, parse_stat};
use sample::{Kind, SourceDef, State};

use crate::clock::monotonic_ns;
use crate::columns::both;
use crate::fields::identity;
use crate::traffic::Flow;
use crate::values::{ListItem, TickValues};

/// Samples of history that are kept: more than a screen is wide.
const HISTORY_MAX: usize = 512;

/// Lines of a list; the rest is counted.
const LINES_MAX: usize = 4096;

/// Bytes read of a file.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// How long the environment is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is shown of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Overview,
    Threads,
    Files,
    Limits,
    Environment,
}

impl Page {
    /// All of them, in the order of Tab, with their titles.
    pub(crate) const ALL: [(Page, &'static str); 5] = [
        (Page::Overview, "Overview"),
        (Page::Threads, "Threads"),
        (Page::Files, "Files"),
        (Page::Limits, "Limits"),
        (Page::Environment, "Environment"),
    ];
}

/// The numbers with a history.
pub(crate) const SERIES: [&str; 5] = ["CPU%", "RES", "disk B/s", "recv B/s", "sent B/s"];

/// A sample of [`SERIES`].
pub(crate) type Point = [Option<f64>; SERIES.len()];

/// The process that is shown.
pub(crate) struct Detail {
    /// The name of its instance.
    pub(crate) name: Vec<u8>,
    pub(crate) pid: i32,
    start: Option<u64>,
    pub(crate) page: Page,
    /// The first line on the screen.
    pub(crate) first: usize,
    pub(crate) history: VecDeque<Point>,
    /// The page, with any bytes in it.
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) has_ended: bool,
    /// `/proc` of the machine whose processes are shown, if they are there to be read.
    proc: Option<PathBuf>,
    /// CPU ticks of threads at the last reading, and its time.
    ticks: HashMap<i32, u64>,
    read_ns: u64,
    environment: Option<Receiver<Result<Vec<u8>, String>>>,
}

impl Detail {
    /// The process of a row; `root` is that of its machine, if its files can be read.
    pub(crate) fn new(row: &Row<'_>, root: Option<&Path>) -> Option<Self> {
        let (pid, start) = identity(row.name())?;
        Some(Detail {
            name: row.name().to_vec(),
            pid,
            start,
            page: Page::Overview,
            first: 0,
            history: VecDeque::new(),
            lines: Vec::new(),
            has_ended: false,
            proc: root.map(|root| root.join("proc")),
            ticks: HashMap::new(),
            read_ns: 0,
            environment: None,
        })
    }

    /// The row of the process in a sample.
    fn row<'a>(&self, values: &TickValues<'a>) -> Option<Row<'a>> {
        let whole = values.sources.process.row(&values.frame)?;
        whole.rows().find(|row| row.name() == self.name)
    }

    /// Adds a sample to the history.
    pub(crate) fn note(&mut self, values: &TickValues<'_>) {
        let row = self.row(values);
        self.has_ended = row.is_none();
        let Some(row) = row else { return };
        let item = ListItem::Process(row);
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back([
            values.cpu(&item),
            values.resident(&item).map(|kib| kib * 1024.0),
            both(values.read(&item), values.write(&item)),
            values.traffic(&item, Flow::BytesIn),
            values.traffic(&item, Flow::BytesOut),
        ]);
    }

    /// Shows the next page, or the one before.
    pub(crate) fn turn(&mut self, step: isize) {
        let now = Page::ALL.iter().position(|(page, _)| *page == self.page).unwrap_or(0);
        let count = Page::ALL.len().cast_signed();
        let next = (now.cast_signed() + step).rem_euclid(count).cast_unsigned();
        self.page = Page::ALL[next].0;
        self.first = 0;
        self.ticks.clear();
    }

    /// Reads the page that is open.
    pub(crate) fn read(&mut self, values: &TickValues<'_>) {
        if self.page == Page::Overview {
            if let Some(row) = self.row(values) {
                self.lines = overview(&row, values);
            }
            return;
        }
        let lines = match self.proc.clone() {
            None => {
                Err("not in a recording, and not sent by another host: see Overview for what is \
                         there"
                    .to_owned())
            }
            Some(proc) => self.page_of(&proc.join(self.pid.to_string())),
        };
        match lines {
            Ok(lines) => self.lines = lines,
            Err(why) => self.lines = vec![why.into_bytes()],
        }
    }

    /// The lines of a page.  Nothing of another process that got the same pid.
    fn page_of(&mut self, folder: &Path) -> Result<Vec<Vec<u8>>, String> {
        let is_it = || {
            let text = head(&folder.join("stat")).ok()?;
            Some(self.start.is_none_or(|start| start_of(&text) == Some(start)))
        };
        if is_it() != Some(true) {
            return Err("the process has ended".to_owned());
        }
        let lines = match self.page {
            Page::Overview => Ok(Vec::new()),
            Page::Threads => self.threads(&folder.join("task")),
            Page::Files => files(&folder.join("fd")),
            Page::Limits => head(&folder.join("limits")).map(|text| split(&text, b'\n')),
            Page::Environment => self.environment(&folder.join("environ")),
        };
        let is_it = head(&folder.join("stat")).ok().and_then(|text| start_of(&text));
        if self.start.is_some() && is_it != self.start {
            return Err("the process has ended".to_owned());
        }
        lines
    }

    /// A line for each thread, the busiest first.
    fn threads(&mut self, folder: &Path) -> Result<Vec<Vec<u8>>, String> {
        let now_ns = monotonic_ns();
        let seconds = (now_ns - self.read_ns) as f64 / 1e9;
        let before = std::mem::take(&mut self.ticks);
        let per_second = rustix::param::clock_ticks_per_second().max(1) as f64;
        let mut threads = Vec::new();
        let (ids, left_out) = numbers(folder)?;
        for id in ids {
            let Ok(text) = head(&folder.join(id.to_string()).join("stat")) else { continue };
            let Some(stat) = parse_stat(&text) else { continue };
            let used = ticks(&stat);
            let grown = before.get(&id).map(|before| used.saturating_sub(*before));
            let cpu = grown.map(|ticks| ticks as f64 / per_second / seconds * 100.0);
            self.ticks.insert(id, used);
            let mut line = format!("{id:>7} {:<1} ", char::from(stat.state[0]));
            let mut cell = String::new();
            crate::format::percent(&mut cell, cpu);
            line.push_str(&format!("{cell:>6} "));
            cell.clear();
            crate::format::time(&mut cell, Some(used as f64 / per_second));
            let on = stat.field(39).map_or_else(|| "-".to_owned(), |on| on.to_string());
            line.push_str(&format!("{cell:>9} {on:>4} "));
            let mut line = line.into_bytes();
            line.extend_from_slice(stat.command);
            threads.push((cpu.unwrap_or(0.0), line));
        }
        self.read_ns = now_ns;
        threads.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut lines = vec![b"    TID S   CPU%     TIME+   ON NAME".to_vec()];
        lines.extend(threads.into_iter().map(|(_, line)| line));
        tell_rest(&mut lines, left_out);
        Ok(lines)
    }

    /// A line for each variable, in the order of names.
    fn environment(&mut self, path: &Path) -> Result<Vec<Vec<u8>>, String> {
        let answer = self.environment.take().unwrap_or_else(|| {
            let (send, answer) = channel();
            let path = path.to_owned();
            // It ends with the answer; nobody may wait for it.
            std::thread::spawn(move || drop(send.send(head(&path))));
            answer
        });
        match answer.recv_timeout(PATIENCE) {
            Ok(text) => {
                let mut lines = split(&text?, 0);
                lines.sort();
                if lines.is_empty() {
                    lines.push(b"empty".to_vec());
                }
                Ok(lines)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.environment = Some(answer);
                Err("no answer yet: the memory of the process is locked".to_owned())
            }
            Err(RecvTimeoutError::Disconnected) => Err("could not be read".to_owned()),
        }
    }
}

/// The beginning of a file.
fn head(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// The start of a process in ticks since boot, from its `stat`.
fn start_of(text: &[u8]) -> Option<u64> {
    parse_stat(text)?.field(22)
}

/// CPU time in ticks: user and system.
fn ticks(stat: &Stat<'_>) -> u64 {
    stat.field(14).unwrap_or(0).saturating_add(stat.field(15).unwrap_or(0))
}

/// The parts of a text that are not empty.
fn split(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let parts = text.split(|&byte| byte == separator).filter(|part| !part.is_empty());
    parts.take(LINES_MAX).map(<[u8]>::to_vec).collect()
}

/// The names of a folder that are numbers, in order, and how many were left out.
fn numbers(folder: &Path) -> Result<(Vec<i32>, usize), String> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut left_out = 0;
    let mut all: Vec<i32> = Vec::new();
    for number in names {
        if all.len() < LINES_MAX {
            all.push(number);
        } else {
            left_out += 1;
        }
    }
    all.sort_unstable();
    Ok((all, left_out))
}

fn tell_rest(lines: &mut Vec<Vec<u8>>, left_out: usize) {
    if left_out > 0 {
        lines.push(format!("and {left_out} more").into_bytes());
    }
}

/// A line for each open file: its number and what it is.
fn files(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    use std::os::unix::ffi::OsStrExt as _;
    let (ids, left_out) = numbers(folder)?;
    let mut lines = vec![format!("     FD FILE ({} open)", ids.len() + left_out).into_bytes()];
    for id in ids {
        let target = std::fs::read_link(folder.join(id.to_string()));
        let mut line = format!("{id:>7} ").into_bytes();
        match &target {
            Ok(target) => line.extend_from_slice(target.as_os_str().as_bytes()),
            Err(error) => line.extend_from_slice(format!("cannot be read: {error}").as_bytes()),
        }
        lines.push(line);
    }
    tell_rest(&mut lines, left_out);
    Ok(lines)
}

/// Texts first, then every number that the source has, with its meaning.
fn overview(row: &Row<'_>, values: &TickValues<'_>) -> Vec<Vec<u8>> {
    let Some(track) = values.sources.process.track(&values.frame) else { return Vec::new() };
    if track.current.state != State::Ok {
        return Vec::new();
    }
    let def: &SourceDef = &track.def;
    let mut lines = Vec::new();
    for (index, field) in def.fields.iter().enumerate().filter(|(_, f)| f.kind == Kind::Text) {
        if let Some(text) = row.text(index) {
            let mut line = format!("{:<14}", field.name).into_bytes();
            line.extend_from_slice(text);
            lines.push(line);
        }
    }
    let item = ListItem::Process(*row);
    let mut cell = String::new();
    crate::columns::Column::Start.write(&mut cell, values, &item);
    lines.push(format!("{:<14}{cell} after boot", "started").into_bytes());
    for (index, field) in def.fields.iter().enumerate().filter(|(_, f)| f.kind != Kind::Text) {
        let Some(raw) = row.raw(index) else { continue };
        let line = match field.kind {
            Kind::Counter => {
                let mut rate = String::new();
                crate::format::count(&mut rate, row.rate(index));
                format!("{:<20}{raw:>16} {rate:>6}/s  {}", field.name, field.help)
            }
            _ => format!("{:<20}{:>16} {:>8}  {}", field.name, raw.cast_signed(), "", field.help),
        };
        lines.push(line.into_bytes());
    }
    lines
}
