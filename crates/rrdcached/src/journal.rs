//! The journal: what was acknowledged and is not in its file yet.  `docs/format-rrd-journal.md`
//! defines every byte.
//!
//! A journal is a folder of segments that are only appended to.  A session gathers the records of
//! all lines that one read brought and appends them as one block with a checksum, by one write,
//! before it answers; so a killed process loses nothing that was acknowledged, and a cut block holds
//! only what was not.  With [`Acknowledge::Disk`] sessions that wait share one `fdatasync`: the one
//! that comes first syncs for all that have written until then.
//!
//! A segment names each file once and then uses its number.  It is removed once every reading in it
//! is in its file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rrd::header::Time;
use rustix::io::Errno;
use segments::{FolderLockError, SegmentNames, SharedFile, is_own_file, lock_folder};

use crate::locks::lock;

mod record;

pub use record::count_records;
use record::{Kind, seal};
pub(crate) use record::{Record, SegmentBytes};

/// When an update is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledge {
    /// Before it is in the journal.
    None,
    /// When the system has it: it survives the end of this process.
    #[default]
    Os,
    /// When the disk has it: it survives the end of the power.
    Disk,
}

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused it.
    #[error("cannot use the journal {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// Another process uses it.
    #[error("another process uses the journal {}", .0.display())]
    Taken(PathBuf),
    /// A file of it might be another user's.
    #[error("{} is not this user's alone: it must be owned by the user who runs the daemon and writable by nobody else", .0.display())]
    Foreign(PathBuf),
}

/// How segments are named.
const SEGMENTS: SegmentNames =
    SegmentNames { prefix: "whit.journal.", suffix: "", is_hexadecimal: false };
/// Names of rrdcached's journals begin so.
const TEXT_PREFIX: &str = "rrd.journal.";
/// Held by the process that uses the folder.
const LOCK_NAME: &str = "whit.journal.lock";
/// A longer segment is followed by another: replay reads a segment into memory.
const SEGMENT_BYTES: u64 = 64 << 20;

/// A file's name as a journal knows it.
#[derive(Debug)]
pub(crate) struct Name {
    id: u64,
    path: Box<[u8]>,
    /// The segment that has the name.
    defined_in: AtomicU64,
}

impl Name {
    /// A name; no other file of this process has the same number.
    pub(crate) fn new(id: u64, path: &[u8]) -> Arc<Self> {
        Arc::new(Self { id, path: path.into(), defined_in: AtomicU64::new(0) })
    }
}

/// A file of the journal that is written to.
#[derive(Debug)]
pub(crate) struct Segment {
    number: u64,
    path: PathBuf,
    /// Without one nothing is appended: the disk is full.
    file: Result<SharedFile, NoRoom>,
    /// Chunks that are open: what they hold may still be appended.
    users: AtomicUsize,
}

/// Why a file of the journal could not be made, as the system numbers it: the disk is full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRoom(i32);

impl std::fmt::Display for NoRoom {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why = rrd::reason(&self.error());
        let until = "readings are refused until there is room";
        write!(out, "the journal cannot be written: {why}: {until}")
    }
}

impl NoRoom {
    /// What is no other error.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        let number = error.raw_os_error()?;
        let is_full = [Errno::NOSPC, Errno::DQUOT].iter().any(|no| no.raw_os_error() == number);
        is_full.then_some(Self(number))
    }

    pub(crate) fn error(self) -> io::Error {
        io::Error::from_raw_os_error(self.0)
    }
}

impl Segment {
    fn create(folder: &Path, number: u64) -> io::Result<Self> {
        let path = SEGMENTS.path(folder, number);
        let file = SharedFile::create(&path, &record::head(number))?;
        Ok(Self { number, path, file: Ok(file), users: AtomicUsize::new(0) })
    }

    /// One that has no file, as there is no room for it.
    fn absent(folder: &Path, number: u64, why: NoRoom) -> Self {
        let path = SEGMENTS.path(folder, number);
        Self { number, path, file: Err(why), users: AtomicUsize::new(0) }
    }

    fn file(&self) -> io::Result<&SharedFile> {
        self.file.as_ref().map_err(|why| why.error())
    }

    /// Waits until the disk has everything that was appended until now.
    fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.wait_for_disk(file.end()))
    }
}

/// Records of a session that are appended together.
#[derive(Debug)]
pub(crate) struct Chunk {
    segment: Arc<Segment>,
    block: Vec<u8>,
    /// Files that this block names.
    names: Vec<Arc<Name>>,
    /// Where the disk must have the segment before an answer.
    end: u64,
    /// Segments before this one that the disk must have before an answer.
    before: Vec<Arc<Segment>>,
    waits_for_disk: bool,
    /// Whether it is counted as a user of its segment.
    is_open: bool,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.close();
    }
}

impl Chunk {
    /// Lets the segment go, once every reading is with its file.
    pub(crate) fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.segment.users.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The segment that the records go to.
    pub(crate) fn segment(&self) -> u64 {
        self.segment.number
    }

    /// Why nothing can be appended, if that is so.
    pub(crate) fn refusal(&self) -> Option<NoRoom> {
        self.segment.file.as_ref().err().copied()
    }

    fn name(&mut self, name: &Arc<Name>) {
        let is_known = name.defined_in.load(Ordering::Acquire) == self.segment.number
            || self.names.last().is_some_and(|last| last.id == name.id);
        if !is_known {
            self.block.push(Kind::Name as u8);
            varint::put(&mut self.block, name.id);
            varint::put_bytes(&mut self.block, &name.path);
            self.names.push(Arc::clone(name));
        }
    }

    /// Adds a reading.
    pub(crate) fn update(&mut self, name: &Arc<Name>, reading: &[u8]) {
        self.name(name);
        self.block.push(Kind::Update as u8);
        varint::put(&mut self.block, name.id);
        varint::put_bytes(&mut self.block, reading);
    }

    /// Adds that a file's readings are dropped.
    pub(crate) fn forget(&mut self, name: &Arc<Name>) {
        self.name(name);
        self.block.push(Kind::Forget as u8);
        varint::put(&mut self.block, name.id);
    }

    /// Adds that a file has all readings until a time.
    pub(crate) fn wrote(&mut self, name: &Arc<Name>, until: Time) {
        self.name(name);
        self.block.push(Kind::Wrote as u8);
        varint::put(&mut self.block, name.id);
        varint::put(&mut self.block, u64::try_from(until.seconds).unwrap_or(0));
        varint::put(&mut self.block, u64::try_from(until.microseconds).unwrap_or(0));
    }

    /// Whether nothing waits to be appended.
    pub(crate) fn is_empty(&self) -> bool {
        self.block.len() <= record::BLOCK_HEAD_BYTES
    }
}

/// A file that is not written to any more, but by chunks that are open.
#[derive(Debug)]
struct OldFile {
    /// 0 for a journal of rrdcached.
    number: u64,
    path: PathBuf,
    /// `None` of an earlier process.
    segment: Option<Arc<Segment>>,
}

/// What lay in the folder at the start.
#[derive(Debug, Default)]
pub(crate) struct FoundJournal {
    /// rrdcached's own journals, oldest first.
    pub(crate) texts: Vec<PathBuf>,
    /// Segments, oldest first.
    pub(crate) segments: Vec<(u64, PathBuf)>,
}

/// A journal that is open.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Keeps other processes away; `None` until there is room for its file.
    lock: Mutex<Option<File>>,
    current: Mutex<Arc<Segment>>,
    number: AtomicU64,
    /// Files that stay until their readings are in their files: segments by number, and 0 for
    /// rrdcached's journals.
    old: Mutex<Vec<OldFile>>,
    bytes: AtomicU64,
    rotations: AtomicU64,
}

impl Journal {
    /// Opens the journal in a folder and begins a new segment.  On a full disk it can be read, and
    /// nothing appended until [`Journal::reopen`] finds room.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process uses it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let refused = |error| JournalError::Folder(folder.to_owned(), error);
        let (held, mut full) = match make_folder(folder) {
            Ok(held) => (Some(held), None),
            Err(JournalError::Folder(path, error)) => match NoRoom::of(&error) {
                Some(why) => (None, Some(why)),
                None => return Err(JournalError::Folder(path, error)),
            },
            Err(error) => return Err(error),
        };
        let found = find(folder)?;
        let number = found.segments.last().map_or(0, |(number, _)| *number) + 1;
        let segment = match full {
            Some(why) => Segment::absent(folder, number, why),
            None => Segment::create(folder, number).or_else(|error| {
                full = NoRoom::of(&error);
                full.map(|why| Segment::absent(folder, number, why)).ok_or_else(|| refused(error))
            })?,
        };
        let texts = found.texts.into_iter().map(|path| (0, path));
        let old = texts.chain(found.segments);
        let old = old.map(|(number, path)| OldFile { number, path, segment: None }).collect();
        Ok(Self {
            folder: folder.to_owned(),
            lock: Mutex::new(held),
            current: Mutex::new(Arc::new(segment)),
            number: AtomicU64::new(number),
            old: Mutex::new(old),
            bytes: AtomicU64::new(0),
            rotations: AtomicU64::new(0),
        })
    }

    /// Why nothing can be appended, if that is so.
    pub(crate) fn refusal(&self) -> Option<NoRoom> {
        lock(&self.current).file.as_ref().err().copied()
    }

    /// Begins a segment, as there was no room for one before.
    pub(crate) fn reopen(&self) -> Result<(), JournalError> {
        let mut held = lock(&self.lock);
        if held.is_none() {
            *held = Some(make_folder(&self.folder)?);
        }
        self.rotate().map_err(|error| self.error(error))
    }

    /// What the system said of the folder.
    pub(crate) fn error(&self, error: io::Error) -> JournalError {
        JournalError::Folder(self.folder.clone(), error)
    }

    /// What lay in the folder when it was opened.
    pub(crate) fn found(&self) -> FoundJournal {
        let current = self.number.load(Ordering::Acquire);
        let mut found = FoundJournal::default();
        for OldFile { number, path, .. } in lock(&self.old).iter() {
            match number {
                0 => found.texts.push(path.clone()),
                number if *number < current => found.segments.push((*number, path.clone())),
                _ => {}
            }
        }
        found
    }

    /// An empty chunk; whether [`Journal::wait_for_disk`] will be called for it.
    pub(crate) fn chunk(&self, waits_for_disk: bool) -> Chunk {
        let segment = Arc::clone(&lock(&self.current));
        let block = vec![0; record::BLOCK_HEAD_BYTES];
        let (names, before) = (Vec::new(), Vec::new());
        Chunk { segment, block, names, end: 0, before, waits_for_disk, is_open: false }
    }

    /// Opens an empty chunk: its records go to the newest segment, which stays until it is closed.
    pub(crate) fn open_chunk(&self, chunk: &mut Chunk) {
        if chunk.is_open {
            return;
        }
        // Under this lock no segment becomes an old one.
        let current = lock(&self.current);
        current.users.fetch_add(1, Ordering::AcqRel);
        chunk.is_open = true;
        if chunk.segment.number == current.number {
            return;
        }
        let last = std::mem::replace(&mut chunk.segment, Arc::clone(&current));
        if chunk.waits_for_disk && chunk.end > 0 {
            chunk.before.push(last);
        }
        chunk.end = 0;
    }

    /// Appends what a chunk holds, and empties it.
    ///
    /// # Errors
    /// If the system does not take it: then nothing of it is in the journal.
    pub(crate) fn append(&self, chunk: &mut Chunk) -> io::Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        seal(&mut chunk.block);
        let done = chunk.segment.file().and_then(|file| file.append(&chunk.block));
        let length = chunk.block.len() as u64;
        chunk.block.truncate(record::BLOCK_HEAD_BYTES);
        let names = std::mem::take(&mut chunk.names);
        if let Err(error) = &done {
            self.stop_if_full(chunk.segment.number, error);
        }
        chunk.end = done?;
        for name in &names {
            name.defined_in.store(chunk.segment.number, Ordering::Release);
        }
        self.bytes.fetch_add(length, Ordering::Relaxed);
        if chunk.end >= SEGMENT_BYTES {
            self.rotate_from(chunk.segment.number)?;
        }
        Ok(())
    }

    /// Waits until the disk has what was appended by the chunk.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub(crate) fn wait_for_disk(&self, chunk: &mut Chunk) -> io::Result<()> {
        for segment in chunk.before.drain(..) {
            segment.sync()?;
        }
        // Nothing was appended to one without a file.
        let Ok(file) = &chunk.segment.file else { return Ok(()) };
        file.make_room();
        let done = file.wait_for_disk(chunk.end);
        if done.is_err() {
            // What comes next may fare better in another file.
            let number = chunk.segment.number;
            let _ = self.rotate_from(number).inspect_err(|error| self.stop_if_full(number, error));
        }
        done
    }

    /// Begins a new segment.
    ///
    /// # Errors
    /// If it cannot be made: the old one stays in use.
    pub fn rotate(&self) -> io::Result<()> {
        self.rotate_from(self.number.load(Ordering::Acquire))
    }

    fn rotate_from(&self, number: u64) -> io::Result<()> {
        let mut current = lock(&self.current);
        if current.number != number {
            return Ok(());
        }
        let next = Segment::create(&self.folder, number + 1)?;
        self.replace(&mut current, next);
        self.rotations.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn replace(&self, current: &mut Arc<Segment>, next: Segment) {
        self.number.store(next.number, Ordering::Release);
        let last = std::mem::replace(current, Arc::new(next));
        if last.file.is_ok() {
            let path = last.path.clone();
            lock(&self.old).push(OldFile { number: last.number, path, segment: Some(last) });
        }
    }

    /// If the disk is full, nothing is appended until [`Journal::reopen`] finds room: what comes next
    /// is refused before it is taken.
    fn stop_if_full(&self, number: u64, error: &io::Error) {
        let mut current = lock(&self.current);
        if let Some(why) = NoRoom::of(error).filter(|_| current.number == number) {
            self.replace(&mut current, Segment::absent(&self.folder, number + 1, why));
        }
    }

    /// Numbers of old files that nobody appends to any more.  Asked before the files are asked what
    /// they need: what was appended until then is known to them.
    pub(crate) fn unused(&self) -> Vec<u64> {
        let old = lock(&self.old);
        let is_unused = |one: &&OldFile| {
            let users = one.segment.as_ref().map(|segment| segment.users.load(Ordering::Acquire));
            users.unwrap_or(0) == 0
        };
        old.iter().filter(is_unused).map(|one| one.number).collect()
    }

    /// Removes old files, by their numbers.
    ///
    /// # Errors
    /// If a file cannot be removed; it is tried again.
    pub(crate) fn remove(&self, numbers: &[u64]) -> io::Result<()> {
        let mut refused = Ok(());
        lock(&self.old).retain(|one| {
            if !numbers.contains(&one.number) {
                return true;
            }
            match std::fs::remove_file(&one.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    refused = Err(error);
                    true
                }
                _ => false,
            }
        });
        refused
    }

    /// The number of files that wait to be removed.
    pub(crate) fn old_count(&self) -> usize {
        lock(&self.old).len()
    }

    /// Whether there are files of an earlier process.
    pub(crate) fn has_found(&self) -> bool {
        lock(&self.old).iter().any(|one| one.segment.is_none())
    }

    /// Bytes written since the start.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Segments begun since the start, but for the first one.
    #[must_use]
    pub fn rotations(&self) -> u64 {
        self.rotations.load(Ordering::Relaxed)
    }

    /// Lets the disk have everything.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn sync(&self) -> io::Result<()> {
        let segment = Arc::clone(&lock(&self.current));
        segment.sync()
    }
}

/// Makes a folder and keeps other processes away from it.
fn make_folder(folder: &Path) -> Result<File, JournalError> {
    let refused = |error| JournalError::Folder(folder.to_owned(), error);
    std::fs::create_dir_all(folder).map_err(refused)?;
    lock_folder(folder, LOCK_NAME, 0o600).map_err(|error| match error {
        FolderLockError::InUse => JournalError::Taken(folder.to_owned()),
        FolderLockError::Io(_, error) => refused(error),
    })
}

/// The journals in a folder, which must be this user's alone.
fn find(folder: &Path) -> Result<FoundJournal, JournalError> {
    let refused = |error| JournalError::Folder(folder.to_owned(), error);
    let mut found = FoundJournal::default();
    let entries = match std::fs::read_dir(folder) {
        // There was no room for it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(refused)?,
    };
    for entry in entries {
        let path = entry.map_err(refused)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let number = SEGMENTS.number(name);
        if number.is_none() && !name.starts_with(TEXT_PREFIX) {
            continue;
        }
        if !is_own_file(&path).map_err(refused)? {
            return Err(JournalError::Foreign(path));
        }
        match number {
            Some(number) => found.segments.push((number, path)),
            None => found.texts.push(path),
        }
    }
    found.texts.sort();
    found.segments.sort();
    Ok(found)
}
