//! The spool of a proxy: what was read from rings and is not acknowledged yet.
//!
//! A folder of segments of frames, the same bytes as are sent.  Segments are only appended to and
//! are removed from the front once all in them is acknowledged.  There is no index that could say
//! something else than the frames do.  A torn tail is cut: rings give room back only after a frame
//! is whole.  A frame whose body is damaged is sent as a loss of its exact range, and its segment is
//! kept aside under the name `….damaged`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_protocol::GapReason;
use log_protocol::frame::{self, FrameKind, HEAD_BYTES, Head, StreamMark};
use log_protocol::{ProcessId, StreamId};
use segments::{
    AppendFile, FolderLockError, HEAD_BYTES as SEGMENT_HEAD, HeadError, SegmentHead, SegmentNames,
    lock_folder,
};

/// A segment begins so.
const MAGIC: [u8; 8] = *b"whitlogF";
/// The version of the format.
const VERSION: u32 = 1;
/// How segments are named.
const NAMES: SegmentNames = SegmentNames { prefix: "", suffix: ".spool", is_hexadecimal: true };
/// The file that names the store which has acknowledged last.
const STORE: &str = "store";
/// Bytes after which the next segment is begun.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = HEAD_BYTES + frame::BODY_BYTES_MAX;

/// Why a spool does not take a frame.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// It has as many bytes as it may.
    #[error("the spool has reached its quota of {0} bytes")]
    Quota(u64),
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another proxy uses it.
    #[error("{0}: another proxy uses it")]
    InUse(PathBuf),
    /// A later version wrote it.
    #[error("{path}: version {version}, this program reads version 1: use a newer whit")]
    Version {
        /// The segment.
        path: PathBuf,
        /// The version of its format.
        version: u32,
    },
}

impl SpoolError {
    /// What the system said, as `errno`; 0 if it said nothing.
    #[must_use]
    pub fn errno(&self) -> u32 {
        match self {
            SpoolError::Io { source, .. } => source.raw_os_error().unwrap_or(0).unsigned_abs(),
            SpoolError::Quota(_) => rustix::io::Errno::DQUOT.raw_os_error().unsigned_abs(),
            SpoolError::InUse(_) | SpoolError::Version { .. } => 0,
        }
    }
}

/// A spool.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// `None`: it keeps nothing.
    lock: Option<File>,
    id: [u8; 16],
    /// The random number of the store that has acknowledged last, if any has.
    store: Option<[u8; 16]>,
    quota_bytes: u64,
    segments: VecDeque<Segment>,
    next_number: u64,
    acknowledged: HashMap<StreamId, u64>,
    /// What was damaged: file, first byte, byte after the last.
    pub damaged: Vec<(PathBuf, u64, u64)>,
    /// Frames of records whose bodies were damaged.
    pub damaged_records: Vec<Head>,
    /// Processes of whose dictionaries a part was damaged that nobody has any more.
    pub broken_dictionaries: HashSet<ProcessId>,
    /// Bytes of dictionaries that were read to be sent, without a hole, since the last restart.
    dictionaries: HashMap<ProcessId, u64>,
}

/// A file of a spool that has bytes which the disk may not have.
#[derive(Debug)]
pub(crate) struct Unsynced {
    pub(crate) file: Arc<File>,
    segment: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    out: AppendFile,
    synced_bytes: u64,
    /// The mark that each stream must have before this segment may go.
    ends: HashMap<StreamId, u64>,
    /// All processes that it has frames of.
    processes: HashSet<ProcessId>,
    is_damaged: bool,
}

/// Where in a spool the next frame is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpoolPosition {
    segment: u64,
    at: u64,
}

impl Spool {
    /// Opens a spool, making it if there is none.
    ///
    /// # Errors
    /// If the folder cannot be made, read or written, another proxy uses it, or a later version has
    /// written it.
    pub fn open(folder: &Path, quota_bytes: u64, new_id: [u8; 16]) -> Result<Self, SpoolError> {
        let fail = |source| SpoolError::Io { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(fail)?;
        let lock = Some(lock(folder)?);
        let mut spool =
            Spool { folder: folder.to_owned(), lock, quota_bytes, ..Spool::none(new_id) };
        // A file that is damaged or of another length names no store.
        let store = std::fs::read(folder.join(STORE)).ok();
        spool.store = store.and_then(|bytes| bytes.try_into().ok());
        let numbers = NAMES.list(folder).map_err(fail)?;
        for (at, number) in numbers.iter().enumerate() {
            let is_last = at + 1 == numbers.len();
            spool.next_number = number + 1;
            let path = NAMES.path(folder, *number);
            let fail = |source| SpoolError::Io { path: path.clone(), source };
            let out = AppendFile::open(&path).map_err(fail)?;
            let head = read_head(&out).map_err(fail)?;
            // What a later version wrote is left as it is.
            if let Err(HeadError::Version(version)) = head {
                return Err(SpoolError::Version { path, version });
            }
            if let Some(segment) = spool.recover(*number, is_last, out, head.ok()).map_err(fail)? {
                spool.segments.push_back(segment);
            }
        }
        Ok(spool)
    }

    /// A spool that takes everything and keeps nothing: for a proxy without a central server.
    #[must_use]
    pub fn none(id: [u8; 16]) -> Self {
        Spool {
            folder: PathBuf::new(),
            lock: None,
            id,
            store: None,
            quota_bytes: u64::MAX,
            segments: VecDeque::new(),
            next_number: 0,
            acknowledged: HashMap::new(),
            damaged: Vec::new(),
            damaged_records: Vec::new(),
            broken_dictionaries: HashSet::new(),
            dictionaries: HashMap::new(),
        }
    }

    /// The random number of this spool.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Reads a segment again; `None` if it held nothing.
    fn recover(
        &mut self,
        number: u64,
        is_last: bool,
        out: AppendFile,
        head: Option<SegmentHead>,
    ) -> io::Result<Option<Segment>> {
        let (length, start) = (out.end, SEGMENT_HEAD as u64);
        if head.is_none() && is_last && length <= start {
            std::fs::remove_file(&out.path)?;
            return Ok(None);
        }
        let mut segment = Segment::new(number, out);
        match head {
            Some(head) => self.id = head.folder,
            None => {
                segment.is_damaged = true;
                self.damaged.push((segment.out.path.clone(), 0, start));
            }
        }
        let mut walk = Walk { at: start, buffer: Vec::new() };
        let mut end = start;
        while let Some(step) = walk.next(&segment.out.file, length)? {
            match step {
                Step::Frame(head, true) => segment.note(&head),
                // A write that was torn ends early: what is as long as it says was damaged later.
                Step::Frame(head, false) => {
                    segment.note(&head);
                    segment.is_damaged = true;
                    if head.kind == FrameKind::Records {
                        self.damaged_records.push(head);
                    }
                    self.damaged.push((segment.out.path.clone(), end, walk.at));
                }
                Step::Damage if is_last && walk.at >= length => break,
                Step::Damage => {
                    segment.is_damaged = true;
                    self.damaged.push((segment.out.path.clone(), end, walk.at));
                }
            }
            end = walk.at;
        }
        if end < length {
            // A write that was torn begins with a sound head, if it is so long.
            let mut head = [0; HEAD_BYTES];
            let is_long = segment.out.file.read_exact_at(&mut head, end).is_ok();
            if is_long && Head::decode(&head).is_err() {
                std::fs::copy(&segment.out.path, segment.out.path.with_extension("damaged"))?;
                self.damaged.push((segment.out.path.clone(), end, length));
            }
            segment.out.cut(end)?;
        }
        Ok(Some(segment))
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.out.end).sum()
    }

    /// Appends whole frames, whose heads are given too, with one write.
    ///
    /// # Errors
    /// If there is no room.  Then nothing of it is there.
    pub fn append(&mut self, bytes: &[u8], heads: &[Head]) -> Result<(), SpoolError> {
        if self.lock.is_none() {
            return Ok(());
        }
        if self.bytes() + bytes.len() as u64 > self.quota_bytes {
            self.drop_acknowledged_tail();
            if self.bytes() + bytes.len() as u64 > self.quota_bytes {
                return Err(SpoolError::Quota(self.quota_bytes));
            }
        }
        if self.segments.back().is_none_or(|last| last.out.end >= SEGMENT_BYTES) {
            self.begin_segment()?;
        }
        let Some(last) = self.segments.back_mut() else { return Ok(()) };
        if let Err(source) = last.out.append(bytes) {
            return Err(SpoolError::Io { path: last.out.path.clone(), source });
        }
        heads.iter().for_each(|head| last.note(head));
        Ok(())
    }

    /// Whether the next append begins a segment: then streams are to be described anew.
    #[must_use]
    pub fn segment_number(&self) -> u64 {
        match self.segments.back() {
            Some(last) if last.out.end < SEGMENT_BYTES => last.number,
            _ => self.next_number,
        }
    }

    fn begin_segment(&mut self) -> Result<(), SpoolError> {
        let path = NAMES.path(&self.folder, self.next_number);
        let head = SegmentHead { number: self.next_number, created_ns: 0, folder: self.id };
        let made = AppendFile::create(path.clone(), 0o600).and_then(|mut out| {
            let done = out.append(&head.encode(MAGIC, VERSION));
            // Without a head it is no segment.
            done.map(|()| out).inspect_err(|_| drop(std::fs::remove_file(&path)))
        });
        let out = made.map_err(|source| SpoolError::Io { path, source })?;
        self.segments.push_back(Segment::new(self.next_number, out));
        self.next_number += 1;
        Ok(())
    }

    /// Takes a mark of the central server; removes what need not be kept.
    pub fn acknowledge(&mut self, mark: StreamMark) {
        let acknowledged = self.acknowledged.entry(mark.stream).or_insert(0);
        *acknowledged = mark.next.max(*acknowledged);
    }

    /// The random number of the store that has acknowledged last, if any has.
    #[must_use]
    pub fn store(&self) -> Option<[u8; 16]> {
        self.store
    }

    /// Notes which store acknowledges.
    ///
    /// # Errors
    /// If that cannot be written; it is not tried again before another store is there.
    pub fn set_store(&mut self, store: [u8; 16]) -> Result<(), SpoolError> {
        if self.store == Some(store) || self.lock.is_none() {
            return Ok(());
        }
        self.store = Some(store);
        let path = self.folder.join(STORE);
        whole_file::replace(&path, store).map_err(|source| SpoolError::Io { path, source })
    }

    /// Takes what a central server has of a dictionary, which may be less than another one had: what it
    /// lacks is read again.
    pub fn set_dictionary_mark(&mut self, mark: StreamMark) {
        self.acknowledged.insert(mark.stream, mark.next);
    }

    /// Removes segments from the front in which all is acknowledged; the newest stays.
    pub fn prune(&mut self) {
        while self.segments.len() > 1 {
            let acknowledged = &self.acknowledged;
            let Some(first) = self.segments.front_mut() else { return };
            if !first.is_acknowledged(acknowledged) {
                return;
            }
            first.remove();
            self.segments.pop_front();
        }
    }

    /// Removes the newest segment too, if all in it is acknowledged: to make room, and when there
    /// is nothing to do.
    pub fn drop_acknowledged_tail(&mut self) {
        self.prune();
        let acknowledged = &self.acknowledged;
        if self.segments.len() == 1
            && let Some(last) = self.segments.front_mut()
            && last.is_acknowledged(acknowledged)
        {
            last.remove();
            self.segments.clear();
        }
    }

    /// Whether all that was appended is acknowledged.
    pub fn is_acknowledged(&mut self) -> bool {
        let acknowledged = &self.acknowledged;
        self.segments.iter_mut().all(|segment| segment.is_acknowledged(acknowledged))
    }

    /// The mark of a stream, as far as it is known.
    #[must_use]
    pub fn acknowledged(&self, stream: StreamId) -> u64 {
        self.acknowledged.get(&stream).copied().unwrap_or(0)
    }

    /// The number up to which it has a stream's records that are not acknowledged; 0: none.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        let ends = self.segments.iter().filter_map(|segment| segment.ends.get(&stream));
        ends.copied().max().unwrap_or(0)
    }

    /// Whether nothing in it is of this process: then no frame of it can be sent any more, and its
    /// marks are forgotten.
    pub fn forget(&mut self, process: ProcessId) -> bool {
        if self.segments.iter().any(|segment| segment.processes.contains(&process)) {
            return false;
        }
        self.acknowledged.retain(|stream, _| stream.process != process);
        true
    }

    /// The streams that are not acknowledged.
    #[must_use]
    pub fn open_streams(&self) -> Vec<StreamId> {
        let mut all: Vec<StreamId> =
            self.segments.iter().flat_map(|segment| segment.ends.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where the first frame is.
    #[must_use]
    pub fn first(&self) -> SpoolPosition {
        let number = self.segments.front().map_or(self.next_number, |first| first.number);
        SpoolPosition { segment: number, at: SEGMENT_HEAD as u64 }
    }

    /// Where the first frame is; everything is going to be read again.
    pub fn restart(&mut self) -> SpoolPosition {
        self.dictionaries.clear();
        self.first()
    }

    /// Reads frames from a place on into `out`, about `most` bytes; passes over what is
    /// acknowledged.  Damaged records become a frame that says what is lost; damaged bytes of a
    /// dictionary are asked for again.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn read(
        &mut self,
        place: &mut SpoolPosition,
        out: &mut Vec<u8>,
        most: usize,
        fetch: &mut FetchDictionary<'_>,
    ) -> io::Result<()> {
        while out.len() < most {
            let found = self.segments.iter().position(|one| one.number >= place.segment);
            let Some(index) = found else { return Ok(()) };
            let segment = &mut self.segments[index];
            if segment.number > place.segment {
                *place = SpoolPosition { segment: segment.number, at: SEGMENT_HEAD as u64 };
            }
            if place.at >= segment.out.end {
                if index + 1 == self.segments.len() {
                    return Ok(());
                }
                *place = SpoolPosition { segment: place.segment + 1, at: SEGMENT_HEAD as u64 };
                continue;
            }
            let mut walk = Walk { at: place.at, buffer: Vec::new() };
            while out.len() < most
                && let Some(step) = walk.next(&segment.out.file, segment.out.end)?
            {
                let from = place.at;
                place.at = walk.at;
                let Step::Frame(head, is_sound) = step else { continue };
                let mark = self.acknowledged.get(&head.stream).copied().unwrap_or(0);
                let is_data = matches!(
                    head.kind,
                    FrameKind::Records | FrameKind::Dictionary | FrameKind::Lost
                );
                if is_data && head.next <= mark {
                    continue;
                }
                if head.kind == FrameKind::Dictionary {
                    let process = head.stream.process;
                    let have = self.dictionaries.entry(process).or_insert(0);
                    *have = mark.max(*have);
                    if !mend_dictionary(&head, is_sound, have, out, fetch) {
                        // It cannot be used, now or ever; nobody waits for it.
                        self.broken_dictionaries.insert(process);
                        self.acknowledged.insert(head.stream, head.next.max(mark));
                    }
                    if !is_sound || self.broken_dictionaries.contains(&process) {
                        continue;
                    }
                }
                if is_sound {
                    let start = out.len();
                    out.resize(start + (walk.at - from) as usize, 0);
                    segment.out.file.read_exact_at(&mut out[start..], from)?;
                } else if head.kind == FrameKind::Records {
                    let lost = Head { kind: FrameKind::Lost, count: 0, ..head };
                    frame::put(out, lost, &(GapReason::Spool as u32).to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// The files that the disk may not have whole, to be synced.
    pub(crate) fn unsynced(&self) -> Vec<Unsynced> {
        let behind = self.segments.iter().filter(|segment| segment.synced_bytes < segment.out.end);
        let unsynced = behind.map(|segment| Unsynced {
            file: Arc::clone(&segment.out.file),
            segment: segment.number,
            bytes: segment.out.end,
        });
        unsynced.collect()
    }

    /// Notes that the disk has what was to be synced.
    pub(crate) fn note_synced(&mut self, done: &[Unsynced]) {
        for one in done {
            if let Some(segment) = self.segments.iter_mut().find(|its| its.number == one.segment) {
                segment.synced_bytes = one.bytes;
            }
        }
    }
}

impl Segment {
    fn new(number: u64, out: AppendFile) -> Self {
        let (ends, processes) = (HashMap::new(), HashSet::new());
        Segment { number, out, synced_bytes: 0, ends, processes, is_damaged: false }
    }

    fn note(&mut self, head: &Head) {
        if !self.processes.contains(&head.stream.process) {
            self.processes.insert(head.stream.process);
        }
        if matches!(head.kind, FrameKind::Records | FrameKind::Dictionary | FrameKind::Lost) {
            let end = self.ends.entry(head.stream).or_insert(0);
            *end = head.next.max(*end);
        }
    }

    fn is_acknowledged(&mut self, acknowledged: &HashMap<StreamId, u64>) -> bool {
        self.ends.retain(|stream, end| acknowledged.get(stream).is_none_or(|mark| mark < end));
        self.ends.is_empty()
    }

    fn remove(&self) {
        // What cannot be removed is read again after the next start, and recognised.
        let _ = if self.is_damaged {
            std::fs::rename(&self.out.path, self.out.path.with_extension("damaged"))
        } else {
            std::fs::remove_file(&self.out.path)
        };
    }
}

/// Gives bytes of a process's dictionary: from the first offset to the second.
pub type FetchDictionary<'a> = dyn FnMut(ProcessId, u64, u64) -> Option<Vec<u8>> + 'a;

/// Longest body of a dictionary frame that is made here.
const DICTIONARY_BYTES: usize = 256 << 10;

/// Puts what is missing in front of a dictionary's frame, and in place of a damaged one; whether
/// there is no hole then.
fn mend_dictionary(
    head: &Head,
    is_sound: bool,
    have: &mut u64,
    out: &mut Vec<u8>,
    fetch: &mut FetchDictionary<'_>,
) -> bool {
    let until = if is_sound { head.first } else { head.next };
    if *have < until {
        let bytes = fetch(head.stream.process, *have, until);
        let Some(bytes) = bytes.filter(|bytes| bytes.len() as u64 == until - *have) else {
            return false;
        };
        for piece in bytes.chunks(DICTIONARY_BYTES) {
            let next = *have + piece.len() as u64;
            frame::put(out, Head::of(FrameKind::Dictionary, head.stream, *have, next, 0), piece);
            *have = next;
        }
    }
    *have = head.next.max(*have);
    true
}

/// Goes from frame to frame.
struct Walk {
    at: u64,
    buffer: Vec<u8>,
}

enum Step {
    /// A frame, and whether its body is sound.
    Frame(Head, bool),
    /// Bytes in front of the next sound head, or of the end.
    Damage,
}

impl Walk {
    fn next(&mut self, file: &File, length: u64) -> io::Result<Option<Step>> {
        if self.at >= length {
            return Ok(None);
        }
        let mut head = [0; HEAD_BYTES];
        if length - self.at >= HEAD_BYTES as u64 {
            file.read_exact_at(&mut head, self.at)?;
            if let Ok(head) = Head::decode(&head) {
                let end = self.at + HEAD_BYTES as u64 + u64::from(head.body_bytes);
                if end > length {
                    self.at = length;
                    return Ok(Some(Step::Damage));
                }
                self.buffer.resize(head.body_bytes as usize, 0);
                file.read_exact_at(&mut self.buffer, self.at + HEAD_BYTES as u64)?;
                self.at = end;
                return Ok(Some(Step::Frame(head, head.is_body(&self.buffer))));
            }
        }
        self.search(file, length)?;
        Ok(Some(Step::Damage))
    }

    /// Goes to the next sound head, or to the end.
    fn search(&mut self, file: &File, length: u64) -> io::Result<()> {
        let mut from = self.at + 1;
        while from < length {
            let bytes = (length - from).min(READ_BYTES as u64) as usize;
            self.buffer.resize(bytes, 0);
            file.read_exact_at(&mut self.buffer, from)?;
            let heads = self.buffer.windows(HEAD_BYTES).enumerate();
            let is_head = |four: &[u8]| four[..4] == frame::MAGIC && Head::decode(four).is_ok();
            if let Some((at, _)) = heads.into_iter().find(|(_, bytes)| is_head(bytes)) {
                self.at = from + at as u64;
                return Ok(());
            }
            if bytes < READ_BYTES {
                break;
            }
            from += (bytes - HEAD_BYTES) as u64;
        }
        self.at = length;
        Ok(())
    }
}

/// The head of a segment, if it has a sound one of this version.
fn read_head(segment: &AppendFile) -> io::Result<Result<SegmentHead, HeadError>> {
    let mut head = [0; SEGMENT_HEAD];
    match segment.file.read_exact_at(&mut head, 0) {
        Ok(()) => Ok(SegmentHead::decode(&head, MAGIC, VERSION)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Err(HeadError::Unsound)),
        Err(error) => Err(error),
    }
}

fn lock(folder: &Path) -> Result<File, SpoolError> {
    lock_folder(folder, "lock", 0o600).map_err(|error| match error {
        FolderLockError::InUse => SpoolError::InUse(folder.to_owned()),
        FolderLockError::Io(path, source) => SpoolError::Io { path, source },
    })
}
