//! Rings, of a process or of many, drained into a sink in the order of time.
//!
//! Within a ring nothing is ever reordered.  Between rings records are merged by their times; what
//! is younger than the horizon waits for the next round, so that a thread that stores its record a
//! little later is not overtaken.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use logring::abi::kind;
use logring::{
    Batch, ProcessFile, RecordIterator, RingDirectory, RingMark, RingNotice, RingReader,
    RingRecord, Tier,
};

use crate::record::{LogRecord, RecordOrigin};
use crate::sink::LogSink;

/// Bytes of a ring that are read at once.
const RING_BYTES: usize = 256 << 10;

/// Why a drain stopped.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// A file of rings.
    #[error("{0}")]
    Ring(#[from] logring::Error),
    /// The output.
    #[error("{0}")]
    Sink(#[from] io::Error),
}

/// What was drained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DrainCounters {
    /// Records that the sink took.
    pub records: u64,
    /// Sequence numbers of which no record came: the writer dropped them.
    pub missing: u64,
    /// Bytes that were no records.
    pub damaged_bytes: u64,
}

/// Rings that are drained.
#[derive(Default)]
pub struct Drain {
    processes: HashMap<[u8; 16], ProcessFile>,
    rings: Vec<DrainedRing>,
    known: HashSet<PathBuf>,
    counters: DrainCounters,
    /// Show also records that are none of the program's: clocks, threads that begin.
    shows_all: bool,
    /// Only look: rings keep their marks, and who reads them next reads the same.  What cannot be read
    /// is left out.
    only_looks: bool,
    /// What could not be read of rings that are only looked at.
    complaints: Vec<String>,
}

struct DrainedRing {
    reader: RingReader,
    batch: Batch,
    /// Where in the batch the next record begins, and the number that it has at least.
    at: usize,
    expected: u64,
    /// Time of the next record; `None`: there is none.
    time_ns: Option<u64>,
    thread: String,
    tid: u32,
    is_moved: bool,
    is_unreadable: bool,
}

impl Drain {
    /// Drains nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also gives the sink records about clocks and threads.
    #[must_use]
    pub fn with_all(mut self) -> Self {
        self.shows_all = true;
        self
    }

    /// What was drained.
    #[must_use]
    pub fn counters(&self) -> DrainCounters {
        self.counters
    }

    /// Adds a process, whose rings can then be added.
    pub fn add_process(&mut self, file: ProcessFile) {
        self.processes.insert(file.header().process_id, file);
    }

    /// The files of the processes.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut ProcessFile> {
        self.processes.values_mut()
    }

    /// Adds a ring; `false` if its process is not known, or it is drained already.
    pub fn add_ring(&mut self, reader: RingReader) -> bool {
        let header = reader.header();
        let is_known = self.rings.iter().any(|ring| {
            let other = ring.reader.header();
            (other.process_id, other.number) == (header.process_id, header.number)
        });
        if is_known || !self.processes.contains_key(&header.process_id) {
            return false;
        }
        let (thread, tid) = (header.thread_name.clone(), header.tid);
        self.rings.push(DrainedRing {
            reader,
            batch: Batch::default(),
            at: 0,
            expected: 0,
            time_ns: None,
            thread,
            tid,
            is_moved: false,
            is_unreadable: false,
        });
        true
    }

    /// Adds what is new in a folder; gives what cannot be read, once each.  Processes that another
    /// consumer drains are left to it.
    pub fn scan(&mut self, folder: &Path, wanted: &dyn Fn(&ProcessFile) -> bool) -> Vec<String> {
        let mut complaints = Vec::new();
        let found = match RingDirectory::scan(folder) {
            Ok(found) => found,
            Err(error) => return vec![error.to_string()],
        };
        for path in found.processes {
            if self.known.contains(&path) {
                continue;
            }
            match ProcessFile::open(&path) {
                Ok(file) => {
                    if wanted(&file) && (self.only_looks || file.claim().unwrap_or(false)) {
                        self.known.insert(path);
                        self.add_process(file);
                    }
                }
                Err(error) => {
                    self.known.insert(path);
                    complaints.push(error.to_string());
                }
            }
        }
        for path in found.rings {
            if self.known.contains(&path) {
                continue;
            }
            match RingReader::open(&path) {
                Ok(reader) => {
                    if self.add_ring(reader) {
                        self.known.insert(path);
                    }
                }
                Err(error) => {
                    self.known.insert(path);
                    complaints.push(error.to_string());
                }
            }
        }
        complaints
    }

    /// Gives the sink every record that is not younger than `horizon_ns` (since 1970), flushes it,
    /// and gives the rings their room.  Gives how many records there were.
    ///
    /// # Errors
    /// If a ring cannot be read or the sink refuses; then records since the last round may come
    /// again.
    pub fn round(&mut self, sink: &mut dyn LogSink, horizon_ns: u64) -> Result<u64, DrainError> {
        let before = self.counters.records;
        for number in 0..self.rings.len() {
            self.fill(number)?;
        }
        while let Some((first, limit)) = self.earliest() {
            let limit = limit.min(horizon_ns);
            if self.rings[first].time_ns.is_none_or(|time| time > horizon_ns) {
                break;
            }
            self.pass_records(first, limit, sink)?;
        }
        sink.flush()?;
        for ring in self.rings.iter_mut().filter(|ring| ring.is_moved && !self.only_looks) {
            let position = ring.batch.begin().position + ring.at as u64;
            let at_end = ring.at == ring.batch.payload().len();
            let mark = RingMark { position, sequence: ring.expected };
            ring.reader.commit(Tier::Read, if at_end { ring.batch.end() } else { mark })?;
            ring.is_moved = false;
        }
        Ok(self.counters.records - before)
    }

    /// Says that all that was read is as safe as a tier promises.
    ///
    /// # Errors
    /// If a ring cannot be written.
    pub fn raise(&mut self, tier: Tier) -> Result<(), DrainError> {
        for ring in &mut self.rings {
            if let Some(mark) = ring.reader.mark(Tier::Read)? {
                ring.reader.commit(tier, mark)?;
            }
        }
        Ok(())
    }

    /// The ring with the earliest record, and the time of the next earliest.
    fn earliest(&self) -> Option<(usize, u64)> {
        let mut first: Option<(usize, u64)> = None;
        let mut limit = u64::MAX;
        for (number, ring) in self.rings.iter().enumerate() {
            let Some(time) = ring.time_ns else { continue };
            match first {
                Some((_, earliest)) if earliest <= time => limit = limit.min(time),
                other => {
                    limit = other.map_or(limit, |(_, earliest)| earliest);
                    first = Some((number, time));
                }
            }
        }
        first.map(|(number, _)| (number, limit))
    }

    /// Reads a ring, if all that was read of it is given.
    fn fill(&mut self, number: usize) -> Result<(), DrainError> {
        let filled = self.read(number);
        match filled {
            Err(error) if self.only_looks => {
                let ring = &mut self.rings[number];
                (ring.is_unreadable, ring.time_ns) = (true, None);
                self.complaints.push(error.to_string());
                Ok(())
            }
            filled => Ok(filled?),
        }
    }

    fn read(&mut self, number: usize) -> Result<(), logring::Error> {
        let ring = &mut self.rings[number];
        let Some(process) = self.processes.get_mut(&ring.reader.header().process_id) else {
            return Ok(());
        };
        if ring.at >= ring.batch.payload().len() && !ring.is_unreadable {
            ring.reader.read(&mut ring.batch, RING_BYTES)?;
            ring.at = 0;
            ring.expected = ring.batch.begin().sequence;
            if let Some((_, bytes)) = ring.batch.fault() {
                self.counters.damaged_bytes += bytes;
                ring.is_moved = true;
            }
            if ring.batch.count() > 0 && needs_refresh(&ring.batch, process) {
                process.refresh()?;
            }
        }
        ring.time_ns =
            next_stamp(&ring.batch, ring.at).map(|stamp| process.calibration().realtime_ns(stamp));
        Ok(())
    }

    /// Gives the sink records of a ring up to a time, and at least one.
    fn pass_records(
        &mut self,
        number: usize,
        limit: u64,
        sink: &mut dyn LogSink,
    ) -> Result<(), DrainError> {
        let ring = &mut self.rings[number];
        let Some(process) = self.processes.get(&ring.reader.header().process_id) else {
            ring.time_ns = None;
            return Ok(());
        };
        let payload = ring.batch.payload();
        let mut records = RecordIterator::new(&payload[ring.at..], ring.expected);
        let calibration = process.calibration();
        let header = process.header();
        ring.time_ns = None;
        let start = ring.at;
        loop {
            let at = start + records.offset();
            let Some(stamp) = next_stamp(&ring.batch, at) else { break };
            let time_ns = calibration.realtime_ns(stamp);
            if time_ns > limit && at > start {
                ring.time_ns = Some(time_ns);
                break;
            }
            let Some(Ok(record)) = records.next() else { break };
            if let Some(RingNotice::ThreadBegin { tid, name }) = record.notice() {
                ring.tid = tid;
                ring.thread = String::from_utf8_lossy(name).into_owned();
            }
            self.counters.missing += record.sequence - ring.expected;
            ring.expected = record.sequence + 1;
            ring.at = start + records.offset();
            ring.is_moved = true;
            let is_shown = matches!(record.kind, kind::LOG | kind::DROPPED | kind::SUPPRESSED);
            if !is_shown && !self.shows_all {
                continue;
            }
            self.counters.records += 1;
            let number = ring.reader.header().number;
            let origin = RecordOrigin::of(header, &ring.thread, ring.tid, number);
            sink.write(&LogRecord::new(&record, process.dictionary(), origin, time_ns))?;
        }
        if ring.time_ns.is_none() {
            ring.at = ring.batch.payload().len();
            self.fill(number)?;
        }
        Ok(())
    }

    /// Whether all rings are empty, as of the last round.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rings.iter().all(|ring| {
            ring.is_unreadable || (ring.time_ns.is_none() && ring.reader.pending_bytes() == 0)
        })
    }

    /// Forgets rings that are ended and read to their ends; gives their files.
    pub fn take_finished(&mut self) -> Vec<PathBuf> {
        let mut finished = Vec::new();
        self.rings.retain(|ring| {
            let is_done = ring.time_ns.is_none() && ring.reader.is_finished();
            if is_done {
                finished.push(ring.reader.path().to_owned());
            }
            !is_done
        });
        finished
    }
}

/// The stamp of the record that begins at an offset.
fn next_stamp(batch: &Batch, at: usize) -> Option<u64> {
    let bytes = batch.payload().get(at + 8..at + 16)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// Whether records name what the dictionary does not have yet.
fn needs_refresh(batch: &Batch, process: &ProcessFile) -> bool {
    let known = process.dictionary().count() as u32;
    let names_more = |record: RingRecord<'_>| record.site > known || record.context > known;
    process.calibration().pairs().is_empty() || batch.records().flatten().any(names_more)
}

/// What [`recover`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Processes that are dead.
    pub processes: u64,
    /// What was drained of them.
    pub counters: DrainCounters,
    /// Files that cannot be read or removed, and why: they stay.
    pub complaints: Vec<String>,
}

/// What becomes of rings that [`recover`] has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveredRings {
    /// They stay as they are: a proxy that comes later sends all of their records.
    Keep,
    /// They are removed, and their processes' files when no ring of them is left.
    Remove,
}

/// Shows the rings of processes that are dead to a sink.  What lives is left alone.
///
/// A ring that cannot be read to its end stays, and so does its process's file, without which nothing
/// in it could be understood.
///
/// # Errors
/// If the sink refuses; then nothing is removed.
pub fn recover(
    folder: &Path,
    sink: &mut dyn LogSink,
    rings: RecoveredRings,
) -> Result<Recovered, DrainError> {
    let mut drain = Drain { only_looks: true, ..Drain::new() };
    let removes = rings == RecoveredRings::Remove;
    // A proxy that comes meanwhile must not send what is removed.
    let is_ours = |file: &ProcessFile| !removes || file.claim().unwrap_or(false);
    let mut complaints = drain.scan(folder, &|file| !file.is_alive() && is_ours(file));
    while drain.round(sink, u64::MAX)? > 0 || !drain.is_empty() {}
    complaints.append(&mut drain.complaints);
    let (processes, counters) = (drain.processes.len() as u64, drain.counters());
    if removes {
        drain.remove(folder, &mut complaints);
    }
    Ok(Recovered { processes, counters, complaints })
}

impl Drain {
    /// Removes rings that were read to their ends, the files of processes of which no ring is left, and
    /// what processes that are gone began to make.
    fn remove(self, folder: &Path, complaints: &mut Vec<String>) {
        let mut remove = |path: &Path| {
            if let Err(error) = std::fs::remove_file(path) {
                complaints.push(format!("cannot remove {}: {error}", path.display()));
            }
        };
        let is_read = |ring: &&DrainedRing| !ring.is_unreadable;
        self.rings.iter().filter(is_read).for_each(|ring| remove(ring.reader.path()));
        let left = match RingDirectory::scan(folder) {
            Ok(found) => found.processes_with_rings(),
            Err(error) => return complaints.push(error.to_string()),
        };
        let processes = self.processes.values().map(ProcessFile::path);
        processes.filter(|path| !left.contains(*path)).for_each(remove);
        let removed = RingDirectory::remove_unfinished(folder);
        complaints.extend(removed.err().map(|error| error.to_string()));
    }
}
