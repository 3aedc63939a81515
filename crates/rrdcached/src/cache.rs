//! Files in memory: for each its rules, its last time, and readings that are not written yet.
//!
//! A name as clients write it leads to its file by one look into a sharded table, so that a line
//! costs no system call; a new name is resolved once.  Each file has a lock of its own, and there is
//! no other on a reading's way.  Readings of a file are kept as their text, one after the other: the
//! text is what an update takes, and what PENDING shows.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::BuildHasher as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use rrd::ReadingRules;
use rrd::header::{RrdHeader, Time};

use crate::journal::Name;
use crate::locks::lock;

/// A file.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name of the file, all links resolved.
    pub(crate) path: PathBuf,
    /// The name of the file in the journal.
    pub(crate) name: Arc<Name>,
    /// Held while the file is open: closing it anywhere in a process drops all locks of the
    /// process.  Taken before the state.
    pub(crate) io: Mutex<()>,
    /// The checkpoint after which its head was kept (`heads.rs`).
    pub(crate) head: AtomicU64,
    state: Mutex<CacheState>,
}

/// What changes.
#[derive(Debug, Default)]
pub(crate) struct CacheState {
    /// `None` until the file has been looked at.
    pub(crate) rules: Option<ReadingRules>,
    /// What the file was then: others change files, too.
    pub(crate) stamp: Option<FileStamp>,
    /// Time of the last reading, written or not.
    pub(crate) last: Option<Time>,
    /// Step, in seconds.
    pub(crate) step_seconds: u64,
    /// Number of the file on its device: files are written in this order.
    pub(crate) inode: u64,
    /// Readings that wait.
    pub(crate) pending: Readings,
    /// Readings that are being written.
    pub(crate) writing: Readings,
    /// When the file was written last, or its first reading came: in seconds since 1970.
    pub(crate) written_at: i64,
    /// Whether it is in the queue.
    pub(crate) is_queued: bool,
    /// Whether its readings stay in memory.
    pub(crate) is_suspended: bool,
    /// Whether it was dropped from the cache.
    pub(crate) is_gone: bool,
    /// Writes that failed since the last one that did not.
    pub(crate) failures: u32,
}

/// What tells a file that was changed or replaced from the one that was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// In seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

impl FileStamp {
    /// The stamp of a file; `None` if it is not there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|data| Self::new(&data))
    }

    pub(crate) fn new(data: &Metadata) -> Self {
        let modified = (data.mtime(), data.mtime_nsec());
        Self { device: data.dev(), inode: data.ino(), bytes: data.size(), modified }
    }
}

/// Readings, oldest first.
#[derive(Debug, Default, Clone)]
pub(crate) struct Readings {
    /// Each with a line feed after it.
    pub(crate) text: Vec<u8>,
    pub(crate) count: u32,
    /// The oldest segment of the journal that has one of them.
    pub(crate) segment: u64,
}

impl Readings {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn push(&mut self, reading: &[u8], segment: u64) {
        if self.count == 0 {
            self.segment = segment;
        }
        self.text.reserve(reading.len() + 1);
        self.text.extend_from_slice(reading);
        self.text.push(b'\n');
        self.count += 1;
        self.segment = self.segment.min(segment);
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split_inclusive(|byte| *byte == b'\n').map(|line| &line[..line.len() - 1])
    }

    /// The time of the newest one.
    fn last_time(&self, rules: &ReadingRules) -> Option<Time> {
        let text = self.text.strip_suffix(b"\n")?;
        let start = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
        rules.time(&text[start..]).map(|(time, _)| time)
    }

    /// Puts older readings in front.
    pub(crate) fn put_in_front(&mut self, mut older: Readings) {
        if older.is_empty() {
            return;
        }
        if !self.is_empty() {
            older.text.extend_from_slice(&self.text);
            older.count += self.count;
            older.segment = older.segment.min(self.segment);
        }
        *self = older;
    }
}

impl Entry {
    pub(crate) fn lock(&self) -> MutexGuard<'_, CacheState> {
        lock(&self.state)
    }
}

impl CacheState {
    /// All readings that are not written, oldest first.
    pub(crate) fn unwritten(&self) -> Readings {
        let mut all = self.pending.clone();
        all.put_in_front(self.writing.clone());
        all
    }

    /// Takes over what a file's header says: readings that come from now on are judged by it.
    pub(crate) fn take_header(&mut self, header: &RrdHeader, stamp: Option<FileStamp>) {
        let rules = ReadingRules::of(header);
        let newest = [&self.pending, &self.writing].map(|readings| readings.last_time(&rules));
        self.last = newest.into_iter().flatten().chain([header.last_update]).max();
        self.step_seconds = header.step_seconds;
        self.rules = Some(rules);
        self.inode = stamp.map_or(self.inode, |stamp| stamp.inode);
        self.stamp = stamp;
    }

    /// The oldest segment that is needed for this file.
    pub(crate) fn segment(&self) -> Option<u64> {
        let all = [&self.pending, &self.writing].into_iter();
        all.filter(|readings| !readings.is_empty()).map(|readings| readings.segment).min()
    }
}

/// Tables of names: a power of two above the number of sessions that run at once.
const SHARDS: usize = 64;

/// A name that clients write, and its file.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub(crate) name: Arc<[u8]>,
    pub(crate) entry: Arc<Entry>,
}

/// Files by names.  The caller hashes: one hash finds the table and the place in it.
type Names = HashTable<Alias>;

/// All files that are known.
#[derive(Debug)]
pub(crate) struct Cache {
    /// By the name that clients write.
    aliases: Box<[Mutex<Names>]>,
    /// Random for each process, so clients cannot choose names that collide.
    hash: RandomState,
    alias_count: AtomicUsize,
    /// By the name with all links resolved.
    files: Mutex<HashMap<PathBuf, Arc<Entry>>>,
    next_id: AtomicU64,
    /// Bytes of readings that are not written.
    bytes: AtomicI64,
}

/// Bytes that a file costs beside its readings; names are kept twice.
pub(crate) const ENTRY_BYTES: usize = 512;

impl Cache {
    pub(crate) fn new() -> Self {
        Self {
            aliases: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hash: RandomState::default(),
            alias_count: AtomicUsize::new(0),
            files: Mutex::default(),
            next_id: AtomicU64::new(1),
            bytes: AtomicI64::new(0),
        }
    }

    fn hash(&self, name: &[u8]) -> u64 {
        self.hash.hash_one(name)
    }

    /// The table of a hash, by bits in its middle; the table itself uses the lowest and the highest.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Names> {
        lock(&self.aliases[(hash >> 32) as usize % SHARDS])
    }

    /// The file of a name that was used before.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Alias> {
        let hash = self.hash(name);
        self.shard(hash).find(hash, |own| *own.name == *name).cloned()
    }

    /// Remembers a name.
    pub(crate) fn remember(&self, name: &[u8], entry: &Arc<Entry>) -> Alias {
        // One file has as many names as a client likes to invent.
        let files = lock(&self.files).len();
        if self.alias_count.load(Ordering::Relaxed) > 4 * files + 1024 {
            for shard in &self.aliases {
                lock(shard).clear();
            }
            self.alias_count.store(0, Ordering::Relaxed);
        }
        let hash = self.hash(name);
        let mut names = self.shard(hash);
        match names.find_mut(hash, |own| *own.name == *name) {
            Some(own) => {
                own.entry = Arc::clone(entry);
                own.clone()
            }
            None => {
                let own = Alias { name: name.into(), entry: Arc::clone(entry) };
                names.insert_unique(hash, own.clone(), |own| self.hash(&own.name));
                self.alias_count.fetch_add(1, Ordering::Relaxed);
                own
            }
        }
    }

    /// The file of a resolved name.
    pub(crate) fn find_file(&self, path: &Path) -> Option<Arc<Entry>> {
        lock(&self.files).get(path).cloned()
    }

    /// The file of a resolved name, made if it is not known; whether it was made.
    pub(crate) fn file(&self, path: &Path, now: i64) -> Arc<Entry> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut files = lock(&self.files);
        if let Some(entry) = files.get(path) {
            return Arc::clone(entry);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry {
            path: path.to_owned(),
            name: Name::new(id, path.as_os_str().as_bytes()),
            io: Mutex::new(()),
            head: AtomicU64::new(0),
            state: Mutex::new(CacheState { written_at: now, ..CacheState::default() }),
        });
        files.insert(path.to_owned(), Arc::clone(&entry));
        self.add_bytes(ENTRY_BYTES);
        entry
    }

    /// Drops a file; the caller marks it as gone.
    pub(crate) fn remove(&self, entry: &Entry) {
        if lock(&self.files).remove(&entry.path).is_some() {
            self.release_bytes(ENTRY_BYTES);
        }
    }

    /// Forgets a name of a file that is gone.
    pub(crate) fn forget_name(&self, name: &[u8]) {
        let hash = self.hash(name);
        if let Ok(own) = self.shard(hash).find_entry(hash, |own| *own.name == *name) {
            own.remove();
            self.alias_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// All files.
    pub(crate) fn files(&self) -> Vec<Arc<Entry>> {
        lock(&self.files).values().cloned().collect()
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        lock(&self.files).len()
    }

    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    pub(crate) fn release_bytes(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }

    /// Bytes that are in use.
    pub(crate) fn bytes(&self) -> u64 {
        u64::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spread() {
        let cache = Cache::new();
        let mut seen = std::collections::HashSet::new();
        let mut shards = [0u32; SHARDS];
        for number in 0..100_000u32 {
            let name = format!("/var/lib/rrd/host{}/interface-{}.rrd", number / 100, number % 100);
            let own = cache.hash(name.as_bytes());
            assert!(seen.insert(own), "{name}");
            shards[(own >> 32) as usize % SHARDS] += 1;
        }
        assert!(shards.iter().all(|count| (1200..1950).contains(count)), "{shards:?}");
        let zeros: Vec<u64> = (0..40).map(|length| cache.hash(&vec![0; length])).collect();
        assert!(zeros.iter().enumerate().all(|(at, own)| !zeros[..at].contains(own)));
    }

    #[test]
    fn a_name_is_found_until_it_is_forgotten() {
        let cache = Cache::new();
        let (one, other) = (cache.file(Path::new("/one"), 0), cache.file(Path::new("/other"), 0));
        cache.remember(b"a", &one);
        cache.remember(b"a", &other);
        assert!(cache.find(b"a").is_some_and(|found| Arc::ptr_eq(&found.entry, &other)));
        cache.forget_name(b"a");
        assert!(cache.find(b"a").is_none());
    }
}
