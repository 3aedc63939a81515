//! Brings back what a journal holds, whit's segments and rrdcached's text files.
//!
//! Runs beside the daemon, which takes updates meanwhile; whatever needs old readings (writers,
//! FLUSH, FETCH, …) waits for the end.  One thread reads segments, the oldest first, and checks
//! their blocks; each of several workers takes the records of its share of the files, in their
//! order, so that no two wait for each other.  At most three segments are in memory.
//!
//! No file is opened: readings that a file has already are passed over when it is written.
//! Readings are put in the order of their times, because sessions that ran at once appended theirs
//! in any order.  Those that are due go to the writers then, those of the oldest segment first; so
//! a daemon that is killed now finds less to do when it starts again.

use std::collections::HashMap;
use std::fs::File;
use std::hash::BuildHasher as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use foldhash::fast::RandomState;
use rrd::header::Time;
use rrd::number::parse_prefix;

use crate::cache::{Entry, Readings};
use crate::daemon::CachingDaemon;
use crate::journal::{FoundJournal, Record, SegmentBytes};
use crate::paths;
use crate::protocol::{Command, Fields, LINE_BYTES_MAX};

/// Most workers.
const WORKERS_MAX: usize = 8;
/// Segments that wait for a worker, beside the one that it works on.
const WAITING_SEGMENTS: usize = 1;

/// Reads old journals into memory, and lets writers have what is due.
pub(crate) fn run(daemon: &CachingDaemon) {
    let Some(journal) = &daemon.journal else { return daemon.set_replayed() };
    let found = journal.found();
    if found.texts.is_empty() && found.segments.is_empty() {
        return daemon.set_replayed();
    }
    let mut entries = read_all(daemon, &found);
    daemon.set_replayed();
    if let Err(error) = daemon.remove_segments() {
        daemon.error(&format!("cannot remove old segments of the journal: {error}"));
    }
    entries.sort_by(|(one, a), (other, b)| (one, &a.path).cmp(&(other, &b.path)));
    let now = daemon.now();
    for (_, entry) in entries {
        let mut state = entry.lock();
        if !state.pending.is_empty() {
            daemon.enqueue_if_due(&entry, &mut state, now);
        }
    }
}

/// A file that got readings back, and the oldest segment that has one of them.
type Replayed = (u64, Arc<Entry>);

fn read_all(daemon: &CachingDaemon, found: &FoundJournal) -> Vec<Replayed> {
    let count = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let count = count.min(WORKERS_MAX);
    let hash = RandomState::default();
    let mut damaged = 0;
    let mut workers: Vec<Files> = (0..count).map(|_| Files::default()).collect();
    let texts = read_texts(daemon, &found.texts, &mut damaged);
    for (path, readings) in texts.readings {
        let share = hash.hash_one(path.as_os_str().as_bytes()) as usize % count;
        let index = workers[share].file(&path);
        workers[share].readings[index].1 = readings;
    }
    let entries = std::thread::scope(|scope| {
        let mut senders = Vec::new();
        let mut threads = Vec::new();
        for (share, mut files) in workers.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(WAITING_SEGMENTS);
            senders.push(sender);
            threads.push(scope.spawn(move || {
                files.take_all(share, &receiver);
                files.install(daemon)
            }));
        }
        for (number, path) in &found.segments {
            match Segment::read(*number, path, &hash, count) {
                Ok(segment) => {
                    damaged += segment.bytes.damaged;
                    send(segment, &senders);
                }
                Err(error) => daemon.error(&format!("cannot read {}: {error}", path.display())),
            }
        }
        drop(senders);
        let done = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        // No segment may be removed that was not read.
        done.flat_map(|files| files.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    if damaged > 0 {
        daemon.error(&format!("{damaged} bytes of the journal are damaged"));
    }
    entries
}

fn send(segment: Segment, senders: &[SyncSender<Arc<Segment>>]) {
    let segment = Arc::new(segment);
    for sender in senders {
        // A worker ends after the last segment.
        let _ = sender.send(Arc::clone(&segment));
    }
}

/// A segment in memory.
struct Segment {
    number: u64,
    bytes: SegmentBytes,
    /// Files by their numbers in this segment, for each worker.
    names: Vec<Vec<(u64, PathBuf)>>,
}

impl Segment {
    fn read(number: u64, path: &Path, hash: &RandomState, workers: usize) -> std::io::Result<Self> {
        let bytes = SegmentBytes::read(path)?;
        let mut names = vec![Vec::new(); workers];
        // A file's name stands before its first use, unless its block is damaged or late.
        for record in bytes.records() {
            if let Record::Name { id, path } = record {
                let share = hash.hash_one(path) as usize % workers;
                names[share].push((id, paths::path(path).to_owned()));
            }
        }
        Ok(Self { number, bytes, names })
    }
}

/// Files of a worker, and what is found of them in old journals.
#[derive(Debug, Default)]
struct Files {
    indexes: HashMap<PathBuf, usize>,
    readings: Vec<(PathBuf, Readings)>,
}

impl Files {
    fn file(&mut self, path: &Path) -> usize {
        if let Some(index) = self.indexes.get(path) {
            return *index;
        }
        let index = self.readings.len();
        self.indexes.insert(path.to_owned(), index);
        self.readings.push((path.to_owned(), Readings::default()));
        index
    }

    /// Takes the records of its own files from segments, until there are no more.
    fn take_all(&mut self, share: usize, segments: &Receiver<Arc<Segment>>) {
        for segment in segments {
            let mut numbers: HashMap<u64, usize, RandomState> = HashMap::default();
            for (id, path) in &segment.names[share] {
                let index = self.file(path);
                numbers.insert(*id, index);
            }
            for record in segment.bytes.records() {
                self.take(record, segment.number, &numbers);
            }
        }
    }

    fn take(
        &mut self,
        record: Record<'_>,
        segment: u64,
        numbers: &HashMap<u64, usize, RandomState>,
    ) {
        let (Record::Update { id, .. } | Record::Forget { id } | Record::Wrote { id, .. }) = record
        else {
            return;
        };
        let Some((_, readings)) = numbers.get(&id).map(|index| &mut self.readings[*index]) else {
            return;
        };
        match record {
            Record::Update { reading, .. } => readings.push(reading, segment),
            Record::Wrote { until, .. } => drop_until(readings, until),
            _ => *readings = Readings::default(),
        }
    }

    /// Puts readings into the cache, before those that have come meanwhile.
    fn install(self, daemon: &CachingDaemon) -> Vec<Replayed> {
        let now = daemon.now();
        let mut entries = Vec::new();
        for (path, mut readings) in self.readings {
            if readings.is_empty() {
                continue;
            }
            sort(&mut readings);
            let entry = daemon.cache.file(&path, now);
            daemon.counters.readings_replayed.add(u64::from(readings.count));
            daemon.cache.add_bytes(readings.text.len());
            let mut state = entry.lock();
            state.last = state.last.max(last(&readings));
            let segment = readings.segment;
            // Their own times say how old they are.
            let oldest = readings.lines().next().map_or(now, |line| time(line).seconds);
            let newer = std::mem::replace(&mut state.pending, readings);
            if !newer.is_empty() {
                state.pending.text.extend_from_slice(&newer.text);
                state.pending.count += newer.count;
                state.pending.segment = segment.min(newer.segment);
                sort(&mut state.pending);
            }
            state.written_at = oldest.min(now);
            drop(state);
            entries.push((segment, entry));
        }
        entries
    }
}

/// Reads journals of rrdcached, oldest first.
fn read_texts(daemon: &CachingDaemon, texts: &[PathBuf], damaged: &mut u64) -> Files {
    let mut files = Files::default();
    let mut names = HashMap::new();
    for path in texts {
        match read_text(path, |line| take_line(&mut files, &mut names, line, daemon)) {
            Ok(cut) => *damaged += cut,
            Err(error) => daemon.error(&format!("cannot read {}: {error}", path.display())),
        }
    }
    files
}

/// Reads lines of commands; gives the length of the last one if it was cut.
fn read_text(path: &Path, mut take: impl FnMut(&[u8])) -> std::io::Result<u64> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut line = Vec::new();
    let mut damaged = 0;
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(damaged);
        }
        match line.strip_suffix(b"\n") {
            Some(line) => take(line),
            None => damaged += read as u64,
        }
    }
}

/// Takes a line; `names` has the files of names that were used, `None` of those that are refused.
fn take_line(
    files: &mut Files,
    names: &mut HashMap<Vec<u8>, Option<usize>>,
    line: &[u8],
    daemon: &CachingDaemon,
) {
    let mut fields = Fields::of(line);
    let mut field = || fields.next_field().ok().flatten();
    let (Some(command), Some(name)) = (field(), field()) else { return };
    let index = match names.get(&*name) {
        Some(index) => *index,
        None => {
            let shown = daemon.settings.paths.shown(&name);
            let path = paths::path(&shown);
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let index = daemon.settings.paths.allows_file(&path).then(|| files.file(&path));
            names.insert(name.to_vec(), index);
            index
        }
    };
    let Some((_, readings)) = index.map(|index| &mut files.readings[index]) else { return };
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
