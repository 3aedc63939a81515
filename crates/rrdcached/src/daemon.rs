//! The daemon without its sockets: files in memory, the journal, and what keeps them in order.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use calendar::CivilZone;
use rrd::header::Time;
use rrd::update::Moments;
use service_account::WRITTEN_AGAIN;

use crate::cache::{Cache, CacheState, Entry};
use crate::heads::Heads;
use crate::journal::{Journal, JournalError, NoRoom};
use crate::locks::lock;
use crate::paths::PathRules;
use crate::queue::Queue;
use crate::stats::Counters;

/// What the daemon needs of the world.
pub trait DaemonWorld: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;

    /// Takes a message for the administrator; `is_error`: something went wrong.
    fn log(&self, is_error: bool, text: &str);

    /// A text that changes whenever the machine starts.
    fn boot(&self) -> String;

    /// The time zone: dumps show times in words.
    fn zone(&self) -> &CivilZone;
}

/// Bounds on memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of readings that are not written: above it sessions wait for writers.
    pub memory_bytes: u64,
    /// Connections at once.
    pub connections: usize,
    /// Connections of one client at once: an address of a network, or a user of this machine.
    pub connections_of_a_client: usize,
    /// How long the handshake of TLS may take, all of it.
    pub handshake_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            connections: 1024,
            connections_of_a_client: 512,
            handshake_seconds: 10,
        }
    }
}

/// How the daemon works.
#[derive(Debug, Clone)]
pub struct DaemonSettings {
    /// Which files clients may use.
    pub paths: PathRules,
    /// Age of a file's readings at which they are written, in seconds.
    pub write_seconds: i64,
    /// Age at which readings are written while all use more than half of the memory that they may use, in
    /// seconds.
    pub crowded_write_seconds: i64,
    /// Most seconds by which a write is delayed, at random.
    pub delay_seconds: i64,
    /// Seconds between two looks for files that no reading comes for any more.
    pub scan_seconds: i64,
    /// Threads that write files.
    pub writers: usize,
    /// The folder of the journal.
    pub journal: Option<PathBuf>,
    /// Whether CREATE keeps files that exist.
    pub keeps_files: bool,
    /// Bounds.
    pub limits: Limits,
}

/// The daemon.
pub struct CachingDaemon {
    pub(crate) settings: DaemonSettings,
    pub(crate) world: Box<dyn DaemonWorld>,
    pub(crate) cache: Cache,
    pub(crate) queue: Queue,
    pub(crate) journal: Option<Journal>,
    /// Heads of files, if an acknowledged reading is to survive the end of the power.
    pub(crate) heads: Option<Heads>,
    pub(crate) counters: Counters,
    /// Files whose write failed.
    pub(crate) failed: Mutex<Vec<Arc<Entry>>>,
    /// Whether every reading of the old journal is in memory.
    replayed: (Mutex<bool>, Condvar),
    /// Notified when readings were written, if sessions wait for it.
    written: (Mutex<()>, Condvar),
    /// Sessions that wait for memory.
    waiting: AtomicUsize,
    is_stopped: AtomicBool,
    timer: (Mutex<()>, Condvar),
}

impl std::fmt::Debug for CachingDaemon {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CachingDaemon").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Segments that wait for the next scan to be removed …
const OLD_SEGMENTS: usize = 4;
/// … and how often is looked whether there are more.
const REMOVE_SECONDS: i64 = 10;
/// Longest time that a session waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(30);

impl CachingDaemon {
    /// A daemon that nobody talks to yet.  [`crate::Server`] starts its threads.
    ///
    /// # Errors
    /// If the journal cannot be used.
    pub fn new(
        settings: DaemonSettings,
        world: Box<dyn DaemonWorld>,
    ) -> Result<Self, JournalError> {
        let journal = settings.journal.as_deref().map(Journal::open).transpose()?;
        if let Some(why) = journal.as_ref().and_then(Journal::refusal) {
            world.log(true, &why.to_string());
        }
        let is_replayed = journal.is_none();
        Ok(Self {
            settings,
            world,
            cache: Cache::new(),
            queue: Queue::default(),
            journal,
            heads: None,
            counters: Counters::default(),
            failed: Mutex::default(),
            replayed: (Mutex::new(is_replayed), Condvar::new()),
            written: Default::default(),
            waiting: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            timer: Default::default(),
        })
    }

    /// The time now, in seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.world.now().seconds
    }

    pub(crate) fn error(&self, text: &str) {
        self.world.log(true, text);
    }

    /// Waits until what the old journal holds is in memory.
    pub(crate) fn wait_for_replay(&self) {
        let mut is_done = lock(&self.replayed.0);
        while !*is_done {
            is_done = self.replayed.1.wait(is_done).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_replayed(&self) -> bool {
        *lock(&self.replayed.0)
    }

    /// Whether readings are refused, as there is no room for the journal.
    pub(crate) fn is_read_only(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.refusal().is_some())
    }

    pub(crate) fn set_replayed(&self) {
        *lock(&self.replayed.0) = true;
        self.replayed.1.notify_all();
    }

    /// Puts a file into the queue unless it is there.
    pub(crate) fn enqueue(&self, entry: &Arc<Entry>, state: &mut CacheState) {
        if !state.is_queued && !state.is_suspended {
            state.is_queued = true;
            self.queue.push(Arc::clone(entry));
        }
    }

    /// Puts a file into the queue if its readings are old enough, and it is not being written.
    pub(crate) fn enqueue_if_due(&self, entry: &Arc<Entry>, state: &mut CacheState, now: i64) {
        let is_old = now.saturating_sub(state.written_at) >= self.write_seconds();
        if is_old && state.writing.is_empty() {
            self.enqueue(entry, state);
        }
    }

    /// Age at which readings are written now.
    fn write_seconds(&self) -> i64 {
        let settings = &self.settings;
        match self.cache.bytes() > settings.limits.memory_bytes / 2 {
            true => settings.crowded_write_seconds,
            false => settings.write_seconds,
        }
    }

    /// When a file counts as written that is written now: a random time later, if so set.
    pub(crate) fn written_at(&self, now: i64, inode: u64) -> i64 {
        match self.settings.delay_seconds {
            0 => now,
            delay => {
                use std::hash::{BuildHasher as _, RandomState};
                let random = RandomState::new().hash_one((now, inode));
                now + (random % delay.unsigned_abs()) as i64
            }
        }
    }

    /// Waits while memory is full; whether there is room now.
    #[inline]
    pub(crate) fn wait_for_memory(&self) -> bool {
        self.cache.bytes() <= self.settings.limits.memory_bytes || self.wait_for_writers()
    }

    #[cold]
    fn wait_for_writers(&self) -> bool {
        self.wait_for_replay();
        self.counters.memory_waits.add(1);
        self.enqueue_all();
        let (mutex, written) = &self.written;
        let is_full = |(): &mut ()| {
            self.cache.bytes() > self.settings.limits.memory_bytes && !self.is_stopped()
        };
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let waited = written.wait_timeout_while(lock(mutex), MEMORY_WAIT, is_full);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Says to sessions that wait for memory that there may be some.
    pub(crate) fn tell_written(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // Under the lock nobody is between its look and its sleep.
            let _waits = lock(&self.written.0);
            self.written.1.notify_all();
        }
    }

    /// Puts all files that have readings into the queue.
    pub(crate) fn enqueue_all(&self) {
        for entry in self.cache.files() {
            let mut state = entry.lock();
            if !state.pending.is_empty() {
                self.enqueue(&entry, &mut state);
            }
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Sends all threads home.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.queue.close();
        let _timer = lock(&self.timer.0);
        self.timer.1.notify_all();
        self.written.1.notify_all();
    }

    /// Looks after files every second until the daemon stops.
    pub(crate) fn run_timer(&self) {
        self.wait_for_replay();
        let mut next_scan = self.now() + self.settings.scan_seconds;
        loop {
            let waited = self.timer.1.wait_timeout(lock(&self.timer.0), Duration::from_secs(1));
            drop(waited);
            if self.is_stopped() {
                return;
            }
            self.retry_failed();
            let now = self.now();
            self.reopen_journal(now);
            if now >= next_scan {
                next_scan = now + self.settings.scan_seconds;
                self.scan(now);
                if let Err(error) = self.rotate() {
                    self.error(&format!("cannot begin a new segment of the journal: {error}"));
                }
            } else if now % REMOVE_SECONDS == 0
                && self.has_many_segments()
                && let Err(error) = self.remove_segments()
            {
                self.error(&format!("cannot remove segments of the journal: {error}"));
            }
        }
    }

    /// Begins to write the journal, if there was no room for it before.
    fn reopen_journal(&self, now: i64) {
        let Some(journal) = self.journal.as_ref().filter(|journal| journal.refusal().is_some())
        else {
            return;
        };
        let heads = self.heads.as_ref().map_or(Ok(()), Heads::reopen);
        match heads.map_err(|error| journal.error(error)).and_then(|()| journal.reopen()) {
            // Whoever is told of the failure is told of its end.
            Ok(()) => self.error(&format!("{WRITTEN_AGAIN}: the journal: readings are taken")),
            Err(JournalError::Folder(_, error)) if NoRoom::of(&error).is_some() => {}
            Err(error) if now % REMOVE_SECONDS == 0 => {
                self.error(&format!("readings are refused: {error}"));
            }
            Err(_) => {}
        }
    }

    /// Whether there may be segments to be removed before the next scan.  Those of an earlier process
    /// should go as soon as they can: they would be read again.
    fn has_many_segments(&self) -> bool {
        let Some(journal) = &self.journal else { return false };
        journal.old_count() > OLD_SEGMENTS || (self.queue.len() == 0 && journal.has_found())
    }

    /// Enqueues files whose write failed, later each time.
    fn retry_failed(&self) {
        let now = self.now();
        let failed = std::mem::take(&mut *lock(&self.failed));
        let mut kept = Vec::new();
        for entry in failed {
            let mut state = entry.lock();
            if state.is_gone || state.pending.is_empty() {
                continue;
            }
            // 2, 4, … 256 seconds after the last try.
            if now >= state.written_at + (1 << state.failures.min(8)) {
                self.enqueue(&entry, &mut state);
            } else {
                drop(state);
                kept.push(entry);
            }
        }
        lock(&self.failed).extend(kept);
    }

    /// Enqueues files that wait for long, and drops those that nobody updates.
    fn scan(&self, now: i64) {
        for entry in self.cache.files() {
            let mut state = entry.lock();
            if !state.pending.is_empty() {
                self.enqueue_if_due(&entry, &mut state, now);
                continue;
            }
            let is_idle = now.saturating_sub(state.written_at) >= self.settings.scan_seconds
                && state.writing.is_empty()
                && !state.is_suspended
                && !state.is_queued;
            if is_idle {
                state.is_gone = true;
                self.cache.remove(&entry);
            }
        }
    }

    /// Begins a segment of the journal, and removes those that no file needs.
    ///
    /// # Errors
    /// If the folder of the journal cannot be read or written.
    pub(crate) fn rotate(&self) -> io::Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        journal.rotate()?;
        self.carry(journal)?;
        self.remove_segments()
    }

    /// Copies readings that stay in memory for long, of files that are suspended or cannot be
    /// written, to the segment in use, so that old segments can go.
    fn carry(&self, journal: &Journal) -> io::Result<()> {
        let mut chunk = journal.chunk(false);
        journal.open_chunk(&mut chunk);
        for entry in self.cache.files() {
            let mut state = entry.lock();
            let segment = state.segment().unwrap_or(u64::MAX);
            if !state.writing.is_empty() || segment.saturating_add(1) >= chunk.segment() {
                continue;
            }
            // Appended while the file is locked, so that a FORGET comes after it.
            for reading in state.pending.lines() {
                chunk.update(&entry.name, reading);
            }
            journal.append(&mut chunk)?;
            state.pending.segment = chunk.segment();
        }
        journal.sync()
    }

    /// Prepares for the end of the power, if a reading is to survive it, or had to before.
    pub(crate) fn keep_heads(&mut self, waits_for_disk: bool) -> io::Result<()> {
        let Some(folder) = self.settings.journal.as_deref() else { return Ok(()) };
        if !waits_for_disk && !Heads::are_in(folder)? {
            return Ok(());
        }
        let (heads, restored, refused) =
            Heads::open(folder, &self.world.boot(), &self.settings.paths)?;
        if restored > 0 {
            let text = "files are as they were before the machine stopped; their readings follow";
            self.world.log(false, &format!("{restored} {text}"));
        }
        for text in refused {
            self.error(&format!("cannot put back {text}"));
        }
        self.heads = Some(heads);
        Ok(())
    }

    /// Removes segments that no file needs.
    pub(crate) fn remove_segments(&self) -> io::Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        if self.unused_segments(journal).is_empty() {
            return Ok(());
        }
        let Some(heads) = &self.heads else {
            return journal.remove(&self.unused_segments(journal));
        };
        heads.begin_checkpoint()?;
        // All that is written by now is on the disk at the end of the checkpoint.
        let unused = self.unused_segments(journal);
        heads.end_checkpoint()?;
        journal.remove(&unused)
    }

    fn unused_segments(&self, journal: &Journal) -> Vec<u64> {
        let mut unused = journal.unused();
        let files = self.cache.files();
        if let Some(needed) = files.iter().filter_map(|entry| entry.lock().segment()).min() {
            unused.retain(|number| *number < needed);
        }
        unused
    }
}

/// The world of an update whose times are all numbers.
pub(crate) struct NoWords(pub(crate) Time);

impl Moments for NoWords {
    fn now(&self) -> Time {
        self.0
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(format!("'{words}' is no time in seconds"))
    }
}
