//! Readings go to their files: all of a file by one update, which is one write.
//!
//! What cannot be written is kept in front of the readings that came meanwhile, and tried again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rrd::update::{Options, Updater};
use rrd::{Access, Error, File, Locking, ReadingRules};

use crate::cache::{Entry, FileStamp, Readings};
use crate::daemon::{CachingDaemon, NoWords};
use crate::journal::Chunk;
use crate::locks::lock;

/// Files that a writer takes at once; it writes them in the order of their place on the disk.
const FILES_AT_ONCE: usize = 64;
/// How often a file is tried that another process has locked.
const LOCK_TRIES: usize = 25;
/// Between two of these tries.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// What became of a file's readings.
#[derive(Debug, Default)]
pub(crate) struct WriteOutcome {
    count: u64,
    dropped: u64,
    /// Which readings the file refused, and why.
    pub(crate) refusal: Option<String>,
}

/// Writes files from the queue until it is closed.
pub(crate) fn run(daemon: &CachingDaemon) {
    daemon.wait_for_replay();
    let mut updater = Updater::default();
    let mut chunk = daemon.journal.as_ref().map(|journal| journal.chunk(false));
    while let Some(mut entries) = daemon.queue.take_files(FILES_AT_ONCE) {
        if let (Some(journal), Some(chunk)) = (&daemon.journal, &mut chunk) {
            journal.open_chunk(chunk);
        }
        entries.sort_by_key(|entry| entry.lock().inode);
        keep_heads(daemon, &entries);
        for entry in &entries {
            // The error is logged, and the file tried again.
            let _ = write(daemon, entry, &mut updater, chunk.as_mut());
            if daemon.is_stopped() {
                break;
            }
        }
        append(daemon, chunk.as_mut());
    }
}

/// Keeps the heads of files that are written next, with one wait for the disk; [`write()`] sees to
/// those that are missing.
fn keep_heads(daemon: &CachingDaemon, entries: &[Arc<Entry>]) {
    let Some(heads) = &daemon.heads else { return };
    // Of several locks, always in the same order.
    let mut entries: Vec<&Entry> = entries.iter().map(|entry| &**entry).collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let writing = heads.writing();
    let locks: Vec<_> = entries.iter().map(|entry| lock(&entry.io)).collect();
    if let Err(error) = heads.keep(&entries, &writing) {
        daemon.error(&format!("cannot keep the heads of files: {error}"));
    }
    drop(locks);
}

/// Appends what was noted in the journal; without it, a replay finds the readings in their files.
pub(crate) fn append(daemon: &CachingDaemon, chunk: Option<&mut Chunk>) {
    if let (Some(journal), Some(chunk)) = (&daemon.journal, chunk) {
        if let Err(error) = journal.append(chunk) {
            daemon.counters.journal_errors.add(1);
            daemon.error(&format!("cannot write the journal: {error}"));
        }
        chunk.close();
    }
}

/// Writes what waits for a file, unless it is suspended.
///
/// # Errors
/// Why it could not be written; the readings are kept and the file is tried again.
pub(crate) fn write(
    daemon: &CachingDaemon,
    entry: &Arc<Entry>,
    updater: &mut Updater,
    chunk: Option<&mut Chunk>,
) -> Result<WriteOutcome, String> {
    // Before the file's own lock, as everywhere.
    let writing_now = daemon.heads.as_ref().map(|heads| (heads, heads.writing()));
    let _io = lock(&entry.io);
    let readings = {
        let mut state = entry.lock();
        // A reading that comes from here on is for the next write.
        state.is_queued = false;
        if state.is_suspended || state.is_gone || state.pending.is_empty() {
            return Ok(WriteOutcome::default());
        }
        state.writing = std::mem::take(&mut state.pending);
        state.writing.clone()
    };
    let done =
        match &writing_now {
            Some((heads, writing)) => heads.keep(&[&**entry], writing).map_err(|source| {
                Error::File { operation: "keeping the head of", path: entry.path.clone(), source }
            }),
            None => Ok(()),
        };
    let done = done.and_then(|()| write_file(daemon, &entry.path, &readings, updater));
    let mut state = entry.lock();
    let bytes = readings.text.len();
    let writing = std::mem::take(&mut state.writing);
    let now = daemon.now();
    match done {
        Ok((written, file)) => {
            state.failures = 0;
            // It may not be the file that was looked at before.
            let stamp = file.metadata().ok().map(|data| FileStamp::new(&data));
            state.take_header(file.header(), stamp);
            state.written_at = daemon.written_at(now, state.inode);
            // The memory is used again: the next readings are as many.
            if state.pending.is_empty() && bytes < 4096 {
                let mut text = writing.text;
                text.clear();
                state.pending.text = text;
            }
            drop(state);
            daemon.cache.release_bytes(bytes);
            let counters = &daemon.counters;
            counters.updates_written.add(u64::from(written.count > 0));
            counters.readings_written.add(written.count);
            counters.readings_dropped.add(written.dropped);
            // After a loss of power the file may not have them.
            if daemon.heads.is_none()
                && let Some(chunk) = chunk.filter(|chunk| chunk.refusal().is_none())
            {
                chunk.wrote(&entry.name, file.header().last_update);
            }
            daemon.tell_written();
            Ok(written)
        }
        Err(error) => {
            state.pending.put_in_front(writing);
            state.failures += 1;
            state.written_at = now;
            drop(state);
            daemon.counters.write_errors.add(1);
            lock(&daemon.failed).push(Arc::clone(entry));
            daemon.error(&format!("{error}: {} readings are kept", readings.count));
            Err(error.to_string())
        }
    }
}

/// Opens a file to change it, with patience if another process has it locked.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    for _ in 1..LOCK_TRIES {
        match File::open(path, Access::Write(Locking::Try)) {
            Err(Error::Locked) => std::thread::sleep(LOCK_PAUSE),
            done => return done,
        }
    }
    File::open(path, Access::Write(Locking::Try))
}

fn write_file(
    daemon: &CachingDaemon,
    path: &Path,
    readings: &Readings,
    updater: &mut Updater,
) -> Result<(WriteOutcome, File), Error> {
    // A folder of its name may have become a link since the name was resolved.
    let refused = |source| Error::File { operation: "opening", path: path.to_owned(), source };
    let paths = &daemon.settings.paths;
    if paths.is_restricted() && !paths.allows_file(&path.canonicalize().map_err(refused)?) {
        return Err(refused(rustix::io::Errno::ACCESS.into()));
    }
    let mut file = open(path)?;
    let written = update(daemon, &mut file, readings, updater)?;
    Ok((written, file))
}

/// Updates an open file; readings that it has, or refuses, are passed over.
fn update(
    daemon: &CachingDaemon,
    file: &mut File,
    readings: &Readings,
    updater: &mut Updater,
) -> Result<WriteOutcome, Error> {
    let rules = ReadingRules::of(file.header());
    let lines: Vec<&[u8]> = readings.lines().collect();
    let mut written = WriteOutcome::default();
    let mut rest = &lines[..];
    let moments = NoWords(daemon.world.now());
    loop {
        let last = file.header().last_update;
        let is_new = |line: &&[u8]| rules.time(line).is_none_or(|(time, _)| time > last);
        let first = rest.iter().position(is_new).unwrap_or(rest.len());
        rest = &rest[first..];
        if rest.is_empty() {
            break;
        }
        let refused =
            updater.update_until_refused(file, &Options::default(), rest, &moments, None)?;
        let Some(error) = refused else {
            written.count += rest.len() as u64;
            break;
        };
        // All before the refused one are in the file.
        let last = file.header().last_update;
        let is_new = |line: &&[u8]| rules.time(line).is_none_or(|(time, _)| time > last);
        let bad = rest.iter().position(is_new).unwrap_or(rest.len() - 1);
        written.count += bad as u64;
        written.dropped += 1;
        let shown = String::from_utf8_lossy(rest[bad]);
        let text = format!("reading {shown} is dropped: {error}");
        daemon.error(&text);
        written.refusal.get_or_insert(text);
        rest = &rest[bad + 1..];
    }
    Ok(written)
}
