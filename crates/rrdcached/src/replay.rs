//! Brings back what a journal holds, whit's segments and rrdcached's text files.
//!
//! Runs beside the daemon, which takes updates meanwhile; whatever needs old readings (writers,
//! FLUSH, FETCH, …) waits for the end.  No file is opened: readings that a file has already are
//! passed over when it is written.  Readings are put in the order of their times, because sessions
//! that ran at once appended theirs in any order.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use rrd::header::Time;
use rrd::number::parse_prefix;

use crate::cache::Readings;
use crate::daemon::CachingDaemon;
use crate::journal::{Record, RecordReader, read_segment};
use crate::paths;
use crate::protocol::{Command, Fields, LINE_BYTES_MAX};

/// What is found in old journals.
#[derive(Debug, Default)]
struct Replay {
    files: HashMap<PathBuf, usize>,
    readings: Vec<(PathBuf, Readings)>,
    /// Bytes that are not sound.
    damaged: u64,
}

/// Reads old journals into memory.
pub(crate) fn run(daemon: &CachingDaemon) {
    let Some(journal) = &daemon.journal else { return daemon.set_replayed() };
    let found = journal.found();
    let mut replay = Replay::default();
    for path in &found.texts {
        let read = replay.read_text(path, daemon);
        if let Err(error) = read {
            daemon.error(&format!("cannot read {}: {error}", path.display()));
        }
    }
    for (number, path) in &found.segments {
        if let Err(error) = replay.read(*number, path) {
            daemon.error(&format!("cannot read {}: {error}", path.display()));
        }
    }
    if replay.damaged > 0 {
        daemon.error(&format!("{} bytes of the journal are damaged", replay.damaged));
    }
    replay.install(daemon);
    daemon.set_replayed();
    if let Err(error) = daemon.remove_segments() {
        daemon.error(&format!("cannot remove old segments of the journal: {error}"));
    }
}

impl Replay {
    fn file(&mut self, path: &Path) -> usize {
        if let Some(index) = self.files.get(path) {
            return *index;
        }
        let index = self.readings.len();
        self.files.insert(path.to_owned(), index);
        self.readings.push((path.to_owned(), Readings::default()));
        index
    }

    fn read(&mut self, number: u64, path: &Path) -> std::io::Result<()> {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        // A file's name stands before its first use, unless its block is damaged or late.
        read_segment(path, |records| {
            for record in records {
                if let Record::Name { id, path } = record {
                    let index = self.file(paths::path(path));
                    numbers.insert(id, index);
                }
            }
        })?;
        let damaged = read_segment(path, |records| self.take(records, number, &numbers))?;
        self.damaged += damaged;
        Ok(())
    }

    fn take(&mut self, records: RecordReader<'_>, segment: u64, numbers: &HashMap<u64, usize>) {
        for record in records {
            let (Record::Update { id, .. } | Record::Forget { id } | Record::Wrote { id, .. }) =
                record
            else {
                continue;
            };
            let Some(index) = numbers.get(&id) else { continue };
            let Some((_, readings)) = self.readings.get_mut(*index) else { continue };
            match record {
                Record::Update { reading, .. } => readings.push(reading, segment),
                Record::Wrote { until, .. } => drop_until(readings, until),
                _ => *readings = Readings::default(),
            }
        }
    }

    /// Reads a journal of rrdcached: lines of commands; one without an end was cut.
    fn read_text(&mut self, path: &Path, daemon: &CachingDaemon) -> std::io::Result<()> {
        let mut input = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            match line.strip_suffix(b"\n") {
                Some(line) => self.take_line(line, daemon),
                None => self.damaged += read as u64,
            }
        }
    }

    fn take_line(&mut self, line: &[u8], daemon: &CachingDaemon) {
        let mut fields = Fields::of(line);
        let mut field = || fields.next_field().ok().flatten();
        let (Some(command), Some(name)) = (field(), field()) else { return };
        let shown = daemon.settings.paths.shown(&name);
        let path = paths::path(&shown);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !daemon.settings.paths.allows_file(&path) {
            return;
        }
        let index = self.file(&path);
        let Some((_, readings)) = self.readings.get_mut(index) else { return };
        match Command::of(&command) {
            Some(Command::Update) => {
                while let Some(reading) = field() {
                    // rrdcached writes refused lines into its journal, too.
                    let is_new = last(readings).is_none_or(|last| time(&reading) > last);
                    if time(&reading) > NO_TIME && is_new {
                        readings.push(&reading, 0);
                    }
                }
            }
            Some(Command::Wrote | Command::Forget) => *readings = Readings::default(),
            _ => {}
        }
    }

    /// Puts readings into the cache, before those that have come meanwhile.
    fn install(self, daemon: &CachingDaemon) {
        let now = daemon.now();
        for (path, mut readings) in self.readings {
            if readings.is_empty() {
                continue;
            }
            let entry = daemon.cache.file(&path, now);
            daemon.counters.readings_replayed.add(u64::from(readings.count));
            daemon.cache.add_bytes(readings.text.len());
            let mut state = entry.lock();
            let newest = time_of_last(&mut readings);
            state.last = state.last.max(newest);
            let newer = std::mem::take(&mut state.pending);
            let segment = readings.segment;
            state.pending = readings;
            if !newer.is_empty() {
                state.pending.text.extend_from_slice(&newer.text);
                state.pending.count += newer.count;
                state.pending.segment = segment.min(newer.segment);
            }
            sort(&mut state.pending);
            // They are as old as the write that did not come.
            state.written_at = now - daemon.settings.write_seconds;
        }
    }
}

/// Before all times.
const NO_TIME: Time = Time { seconds: i64::MIN, microseconds: 0 };

/// The time of a reading; `NO_TIME` if it has none.
fn time(reading: &[u8]) -> Time {
    let (seconds, length) = parse_prefix(reading);
    if length == 0 || reading.get(length) != Some(&b':') {
        return NO_TIME;
    }
    let whole = seconds.floor();
    Time { seconds: whole as i64, microseconds: ((seconds - whole) * 1e6) as i64 }
}

fn last(readings: &Readings) -> Option<Time> {
    let text = readings.text.strip_suffix(b"\n")?;
    let start = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
    Some(time(&text[start..]))
}

fn time_of_last(readings: &mut Readings) -> Option<Time> {
    sort(readings);
    last(readings)
}

/// Drops the readings that their file has.
fn drop_until(readings: &mut Readings, until: Time) {
    let mut kept = Readings::default();
    for line in readings.lines().filter(|line| time(line) > until) {
        kept.push(line, readings.segment);
    }
    *readings = kept;
}

/// Puts readings in the order of their times; of several at a time the first stays.
fn sort(readings: &mut Readings) {
    let times: Vec<Time> = readings.lines().map(time).collect();
    if times.is_sorted_by(|one, next| one < next) {
        return;
    }
    let mut lines: Vec<(Time, &[u8])> = times.into_iter().zip(readings.lines()).collect();
    lines.sort_by_key(|(time, _)| *time);
    lines.dedup_by_key(|(time, _)| *time);
    let mut sorted = Readings::default();
    for (_, line) in lines {
        sorted.push(line, readings.segment);
    }
    *readings = sorted;
}
