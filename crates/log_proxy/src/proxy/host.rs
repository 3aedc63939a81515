//! The processes and rings of a host: found by themselves, read, and removed when they are done.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use logring::{Error, ProcessFile, RingDirectory, RingMark, RingReader, Tier, process_and_number};

use crate::proxy::local_levels::LocalLevels;
use crate::proxy::tally::Tally;
use crate::proxy::unreadable::Unreadable;
use crate::stamps::StampLine;
use log_protocol::GapReason;
use log_protocol::record::SEQUENCES_MAX;
use log_protocol::{ProcessId, ProcessInfo, StreamId, StreamInfo};

/// Most processes and rings that are read at once.
const FILES_MAX: usize = 1 << 16;
/// Marks of a ring that wait for the central server; older ones are left out.
const MARKS_MAX: usize = 1024;

/// A process whose rings are read.
pub(super) struct Source {
    pub(super) file: ProcessFile,
    pub(super) path: PathBuf,
    pub(super) info: ProcessInfo,
    /// Bytes of the dictionary that were spooled.
    pub(super) dictionary: u64,
    /// The spool segment in which it was described.
    pub(super) described_in: Option<u64>,
    pub(super) line: StampLine,
    /// It was found to be dead: what its rings hold now is all that they will.
    pub(super) is_dead: bool,
    /// The standing of the proxy that it was told.
    pub(super) told: Option<u64>,
    /// A mark of one of its rings has moved, which it was not told.
    pub(super) has_moved: bool,
    /// What its loggers have written.
    pub(super) tally: Tally,
    /// What local outputs want of it.
    pub(super) levels: LocalLevels,
}

/// A ring that is read.
pub(super) struct Ring {
    pub(super) reader: RingReader,
    pub(super) stream: StreamId,
    /// The spool segment in which it was described.
    pub(super) described_in: Option<u64>,
    /// It was read to its end after its process was found to be dead.
    pub(super) is_read_out: bool,
    /// Marks that are spooled and not acknowledged.
    pub(super) marks: VecDeque<RingMark>,
    /// What the disk is known to have.
    synced: RingMark,
    /// What it has once the sync that is under way has ended.
    syncs: Option<RingMark>,
    /// It was found by the last look.
    pub(super) is_new: bool,
    /// The number up to which another proxy has read it.
    pub(super) inherited: u64,
    /// What the spool had of that, until the central server says what it has.
    pub(super) spooled_before: Option<u64>,
    /// Why the next record's number may be higher than that after the last one.
    pub(super) gap: Option<GapReason>,
    /// Records that the writer has said that it dropped.
    pub(super) dropped_said: u64,
    /// Numbers that it overwrote before they were read.
    pub(super) overwritten: u64,
    /// What it does not say itself was named.
    pub(super) is_closed: bool,
    /// Times that something was wrong with it.
    complaints: u64,
    pub(super) info: StreamInfo,
    /// The ring that this one continues, as long as that may have more: it is read first.
    pub(super) predecessor: Option<StreamId>,
    /// The time after the last record of that ring.
    pub(super) not_before_ns: u64,
    /// The time of the last record that was read.
    pub(super) last_ns: u64,
    /// Records before this number were counted, and given to local outputs.
    pub(super) seen: u64,
    /// Without a central server: a mark that is due once the outputs have what they keep in memory.
    pub(super) owed: Option<RingMark>,
    /// The thread that writes, for local outputs.
    pub(super) thread: String,
    pub(super) tid: u32,
}

/// All that is read.
#[derive(Default)]
pub(super) struct Host {
    pub(super) sources: HashMap<ProcessId, Source>,
    pub(super) rings: Vec<Ring>,
    known: HashSet<PathBuf>,
    /// What could not be opened, and was said: it is tried again at each look.
    refused: HashSet<PathBuf>,
    /// Rings that nobody can ever read, which the last looks found.
    pub(super) unreadable: Vec<Unreadable>,
    /// All that the last look found was taken.
    pub(super) is_all_taken: bool,
    /// When each folder had changed last as it was looked into, and whether all in it was taken.
    looked: HashMap<PathBuf, (SystemTime, bool)>,
}

/// A folder that changed so recently is looked into again: its time may not show the next change.
const RECENT: Duration = Duration::from_millis(100);

impl Host {
    /// Looks for new processes and rings, if the folder has changed; gives what cannot be read, once
    /// each.
    pub(super) fn scan(&mut self, folder: &Path, now: SystemTime) -> Vec<String> {
        let Ok(changed) = folder.metadata().and_then(|facts| facts.modified()) else {
            return Vec::new();
        };
        let is_recent = now.duration_since(changed).is_ok_and(|age| age < RECENT);
        if !is_recent && self.looked.get(folder) == Some(&(changed, true)) {
            return Vec::new();
        }
        let mut is_all = true;
        let complaints = self.look(folder, &mut is_all);
        self.is_all_taken &= is_all;
        self.looked.insert(folder.to_owned(), (changed, is_all));
        complaints
    }

    fn look(&mut self, folder: &Path, is_all: &mut bool) -> Vec<String> {
        let mut complaints = Vec::new();
        let Ok(found) = RingDirectory::scan(folder) else { return complaints };
        self.refused.retain(|path| path.exists());
        let mut left = self.descriptors_left();
        for path in found.processes {
            if self.known.contains(&path) || self.known.len() >= FILES_MAX {
                continue;
            }
            match Source::open(&path) {
                Ok(Some(mut source)) => {
                    self.refused.remove(&path);
                    self.known.insert(path);
                    if left == 0 {
                        // A file that cannot be mapped keeps its descriptor.
                        let _ = source.file.close();
                    }
                    left = left.saturating_sub(1);
                    self.sources.insert(source.info.id, source);
                }
                // Another consumer has it, perhaps not for ever.
                Ok(None) => *is_all = false,
                Err(error) => *is_all &= self.refuse(path, &error, &mut complaints),
            }
        }
        for path in found.rings {
            if self.known.contains(&path) || self.known.len() >= FILES_MAX {
                continue;
            }
            match RingReader::open(&path) {
                Ok(reader) if let Some(why) = self.process_fault(&reader) => {
                    let name = path.display();
                    complaints.push(format!(
                        "{name}: the file of its process {why}: its records cannot be sent"
                    ));
                    self.unreadable.push(Unreadable::without_process(&reader));
                    self.known.insert(path);
                }
                Ok(mut reader) => {
                    if left == 0 {
                        reader.close();
                    }
                    let is_taken = self.add_ring(path, reader);
                    left = left.saturating_sub(usize::from(is_taken));
                    *is_all &= is_taken;
                }
                Err(error) => {
                    if !self.note_damaged(&path, &error) {
                        *is_all = false;
                        continue;
                    }
                    *is_all &= self.refuse(path, &error, &mut complaints);
                }
            }
        }
        complaints
    }

    /// Notes a ring that could not be opened, if it never can be; `false`: its process may come with a
    /// later look, and then it is known whose it is.
    fn note_damaged(&mut self, ring: &Path, error: &Error) -> bool {
        let Some((path, number)) = process_and_number(ring).filter(|_| error.is_damage()) else {
            return true;
        };
        let Some(source) = self.sources.values().find(|source| source.path == path) else {
            return self.known.contains(&path) || !path.exists();
        };
        self.unreadable.push(Unreadable::damaged(source.info.clone(), number, ring));
        true
    }

    /// Why nobody can read a ring that is sound, if the fault is its process's file's.
    fn process_fault(&self, ring: &RingReader) -> Option<&'static str> {
        if self.sources.contains_key(&ProcessId(ring.header().process_id)) {
            return None;
        }
        let (path, _) = process_and_number(ring.path())?;
        if self.known.contains(&path) {
            // One of a later version is for a later proxy.
            let is_damaged = ProcessFile::open(&path).is_err_and(|error| error.is_damage());
            return is_damaged.then_some("cannot be read");
        }
        // The ring goes before the process's file does.
        (!path.exists() && ring.path().exists()).then_some("is missing")
    }

    /// Notes that a file could not be opened; whether it never will be.
    fn refuse(&mut self, path: PathBuf, error: &Error, complaints: &mut Vec<String>) -> bool {
        let is_passing = error.is_passing();
        // Removed since the folder was looked into.
        if is_passing && !path.exists() {
            return true;
        }
        let (files, most) =
            (if is_passing { &mut self.refused } else { &mut self.known }, FILES_MAX);
        if files.len() < most && files.insert(path) {
            complaints.push(error.to_string());
        }
        !is_passing
    }

    /// How many more files may keep their descriptors.
    fn descriptors_left(&self) -> usize {
        let processes = self.sources.values().filter(|source| source.file.is_open()).count();
        let rings = self.rings.iter().filter(|ring| ring.reader.is_open()).count();
        descriptors_max().saturating_sub(processes + rings)
    }

    /// Lets files have a descriptor again that were opened when there was none left for them.
    fn reopen(&mut self) {
        let mut left = self.descriptors_left();
        let mut take = |open: &mut dyn FnMut() -> Result<(), Error>| {
            left = if left > 0 && open().is_ok() { left - 1 } else { 0 };
        };
        let rings = self.rings.iter_mut().map(|ring| &mut ring.reader);
        for ring in rings.filter(|ring| !ring.is_open()) {
            take(&mut || ring.open_again());
        }
        let files = self.sources.values_mut().map(|source| &mut source.file);
        for file in files.filter(|file| !file.is_open()) {
            take(&mut || file.open_again());
        }
    }

    /// Whether it was taken.
    fn add_ring(&mut self, path: PathBuf, reader: RingReader) -> bool {
        let header = reader.header();
        let stream = StreamId { process: ProcessId(header.process_id), ring: header.number };
        // Its process comes with a later look, or belongs to another consumer.
        if !self.sources.contains_key(&stream.process)
            || self.rings.iter().any(|ring| ring.stream == stream)
        {
            return false;
        }
        let (tid, thread) = (header.tid, header.thread_name.clone());
        let predecessor = header.predecessor.map(|ring| StreamId { process: stream.process, ring });
        let info = StreamInfo { id: stream, tid, thread: thread.clone() };
        let begin = reader.next();
        let is_begun = begin.sequence > 0;
        // What was dropped before was said before, as far as anybody knows.
        let dropped = dropped_of(&reader).unwrap_or(0);
        self.refused.remove(&path);
        self.known.insert(path);
        self.rings.push(Ring {
            reader,
            stream,
            described_in: None,
            marks: is_begun.then_some(begin).into_iter().collect(),
            synced: RingMark::default(),
            syncs: None,
            is_new: true,
            inherited: begin.sequence,
            spooled_before: None,
            gap: None,
            dropped_said: if is_begun { dropped } else { 0 },
            overwritten: 0,
            is_closed: false,
            complaints: 0,
            info,
            predecessor,
            not_before_ns: 0,
            last_ns: 0,
            is_read_out: false,
            seen: begin.sequence,
            owed: None,
            thread,
            tid,
        });
        true
    }

    /// Notes that a mark of one of a process's rings has moved.
    pub(super) fn note_moved(&mut self, process: ProcessId) {
        if let Some(source) = self.sources.get_mut(&process) {
            source.has_moved = true;
        }
    }

    /// Removes rings that are done, and processes that have ended without one left; gives the
    /// processes.
    pub(super) fn remove_done(&mut self) -> Vec<ProcessId> {
        let known = &mut self.known;
        let sources = &self.sources;
        self.rings.retain(|ring| {
            let is_dead = ring.is_read_out
                && sources.get(&ring.stream.process).is_some_and(|source| source.is_dead);
            let is_safe = ring.marks.is_empty() && ring.owed.is_none();
            let is_done = ring.is_closed && is_safe && (ring.reader.is_finished() || is_dead);
            if is_done {
                let path = ring.reader.path();
                known.remove(path);
                let _ = std::fs::remove_file(path);
            }
            !is_done
        });
        let ended = self.remove_processes();
        self.reopen();
        // Only a ring that is read to its end from now on has nothing more.
        for source in self.sources.values_mut().filter(|source| !source.is_dead) {
            source.is_dead = !source.file.is_alive();
        }
        ended
    }

    /// Removes the files of processes that have ended, of which no ring is left: none that is read, and
    /// none in the folder, which perhaps could not be opened yet.
    fn remove_processes(&mut self) -> Vec<ProcessId> {
        let with_rings: HashSet<ProcessId> =
            self.rings.iter().map(|ring| ring.stream.process).collect();
        let mut folders: HashMap<PathBuf, HashSet<PathBuf>> = HashMap::new();
        let mut ended = Vec::new();
        let known = &mut self.known;
        self.sources.retain(|id, source| {
            if with_rings.contains(id) || !source.is_dead {
                return true;
            }
            let folder = source.path.parent().unwrap_or(Path::new("."));
            if !folders.contains_key(folder) {
                // A folder that cannot be read may have any ring.
                let Ok(found) = RingDirectory::scan(folder) else { return true };
                folders.insert(folder.to_owned(), found.processes_with_rings());
            }
            if folders[folder].contains(&source.path) {
                return true;
            }
            known.remove(&source.path);
            let _ = std::fs::remove_file(&source.path);
            ended.push(*id);
            false
        });
        ended
    }
}

/// Descriptors that are left for all but the files of rings: the spool, sockets, outputs.
const DESCRIPTORS_LEFT: u64 = 64;

/// Files of rings that may have a descriptor at once.
fn descriptors_max() -> usize {
    use rustix::process::{Resource, getrlimit};
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // With few, half of them is for the others: without a connection nothing would move.
    let left = DESCRIPTORS_LEFT.min(most / 2);
    usize::try_from(most - left).unwrap_or(usize::MAX)
}

impl Source {
    /// Opens a process's file; `None` if another consumer has it.
    fn open(path: &Path) -> Result<Option<Self>, Error> {
        let file = ProcessFile::open(path)?;
        if !file.claim()? {
            return Ok(None);
        }
        let header = file.header();
        let info = ProcessInfo {
            id: ProcessId(header.process_id),
            pid: header.pid,
            start_ticks: header.start_ticks,
            boot_id: header.boot_id,
            host: header.host_name.clone(),
            name: header.process_name.clone(),
        };
        let path = path.to_owned();
        let (described_in, line) = (None, StampLine::default());
        let tally = Tally::new(&file.loggers()?);
        // Without a time the client would take the proxy before for this one.
        file.set_heartbeat(logring::clock::boottime_ns())?;
        Ok(Some(Source {
            file,
            path,
            info,
            dictionary: 0,
            described_in,
            line,
            is_dead: false,
            told: None,
            has_moved: false,
            tally,
            levels: LocalLevels::default(),
        }))
    }
}

impl Ring {
    /// Whether to say what is wrong with it now: the first time, the second, the fourth, ...
    pub(super) fn complain(&mut self) -> bool {
        self.complaints += 1;
        self.complaints.is_power_of_two()
    }

    /// Records that its writer has dropped, by its own count; `None`: the count is damaged.
    pub(super) fn dropped_now(&self) -> Option<u64> {
        dropped_of(&self.reader)
    }

    /// Notes a mark of the central server; whether it is a new one.  What the central server has
    /// survives this machine, as what is on its disk does.
    pub(super) fn acknowledge(&mut self, next: u64) -> bool {
        let mut reached = None;
        while self.marks.front().is_some_and(|mark| mark.sequence <= next) {
            reached = self.marks.pop_front();
        }
        let Some(mark) = reached else { return false };
        // A ring that its writer cut has no marks; its records are safe all the same.
        let _ = self.reader.commit(Tier::Central, mark);
        self.sync_to(mark);
        true
    }

    /// Notes that a sync of everything that is spooled now has begun.
    pub(super) fn syncs(&mut self) {
        self.syncs = self.marks.back().copied();
    }

    /// Notes that it has ended well.
    pub(super) fn synced(&mut self) {
        if let Some(mark) = self.syncs.take() {
            self.sync_to(mark);
        }
    }

    fn sync_to(&mut self, mark: RingMark) {
        if mark.position > self.synced.position {
            self.synced = mark;
            let _ = self.reader.commit(Tier::Synced, mark);
        }
    }

    /// Notes that everything before a mark is in the outputs of this machine, which are all.
    pub(super) fn delivered(&mut self, mark: RingMark) {
        let _ = self.reader.commit(Tier::Read, mark);
    }

    /// Notes that the disk has what the outputs have.
    pub(super) fn outputs_synced(&mut self) {
        if self.owed.is_none() {
            self.sync_to(self.reader.next());
        }
    }

    /// Notes that everything before a mark is spooled.
    pub(super) fn spooled(&mut self, mark: RingMark) {
        let _ = self.reader.commit(Tier::Read, mark);
        if self.marks.len() >= MARKS_MAX {
            self.marks.pop_back();
        }
        self.marks.push_back(mark);
    }
}

/// Records that the writer of a ring has dropped, by its own count; `None`: the count is damaged.
fn dropped_of(reader: &RingReader) -> Option<u64> {
    let counts = reader.dropped().unwrap_or_default();
    let sum = counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    sum.filter(|sum| *sum <= SEQUENCES_MAX)
}
