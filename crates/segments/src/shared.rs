//! A file that many threads append to; those that wait for the disk share one sync.
//!
//! The thread that comes first syncs for all that have written until then; the others wait for it, and
//! the first of those that came too late syncs next.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::names::sync_folder;

/// Zeros that are written ahead in a file whose bytes are waited for: a sync that has them to write
/// takes a millisecond longer.
const ROOM_BYTES: u64 = 1 << 20;

/// A file that many threads append to.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    tail: Mutex<Tail>,
    sync: Mutex<SyncState>,
    synced: Condvar,
}

/// The end of a file, in bytes from its beginning.
#[derive(Debug)]
struct Tail {
    /// Where the next bytes go.
    end: u64,
    /// Where the zeros end that follow.
    room: u64,
}

#[derive(Debug, Default)]
struct SyncState {
    /// Bytes that the disk has.
    bytes: u64,
    is_running: bool,
    /// Whether a sync failed.  The system may have dropped what it could not write, and a later sync
    /// would not say so.
    has_failed: bool,
}

/// Takes a lock.  A thread that panicked within it leaves plain data behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedFile {
    /// Makes a file that begins with a head; the disk has it and its name.
    ///
    /// # Errors
    /// If there is such a file, or it cannot be made or written; then it is not there.
    pub fn create(path: &Path, head: &[u8]) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let written = file.write_all_at(head, 0).and_then(|()| file.sync_data());
        if let Err(error) = written.and_then(|()| path.parent().map_or(Ok(()), sync_folder)) {
            // A full disk has the name and not the head; the name must be free for the next try.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        let end = head.len() as u64;
        let tail = Mutex::new(Tail { end, room: end });
        Ok(Self { file, tail, sync: Mutex::default(), synced: Condvar::new() })
    }

    /// Appends bytes; gives where they end.
    ///
    /// # Errors
    /// If the file does not take all; then it has none of them.
    pub fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut tail = lock(&self.tail);
        if let Err(error) = self.file.write_all_at(bytes, tail.end) {
            // What was written of it must not stay in front of the next bytes.
            tail.room = tail.end;
            self.file.set_len(tail.end)?;
            return Err(error);
        }
        tail.end += bytes.len() as u64;
        Ok(tail.end)
    }

    /// Where the next bytes go.
    #[must_use]
    pub fn end(&self) -> u64 {
        lock(&self.tail).end
    }

    /// Writes zeros where the next bytes go, so that a sync of these has no new size and no new place
    /// to write: with ext4 it takes a third less time.
    pub fn make_room(&self) {
        let mut tail = lock(&self.tail);
        if tail.end.saturating_add(ROOM_BYTES / 8) <= tail.room {
            return;
        }
        let start = tail.end.max(tail.room);
        let zeros = vec![0; ROOM_BYTES as usize];
        tail.room = match self.file.write_all_at(&zeros, start) {
            Ok(()) => start + ROOM_BYTES,
            // The file needs what is left of the disk; without room syncs take longer, no more.
            Err(_) => {
                let _ = self.file.set_len(tail.end);
                u64::MAX
            }
        };
    }

    /// Lets the disk have what was appended, for this thread alone: it is tried again after a failure.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Waits until the disk has everything before `end`.
    ///
    /// # Errors
    /// If the disk does not take it, or did not take something before.
    pub fn wait_for_disk(&self, end: u64) -> io::Result<()> {
        let mut state = lock(&self.sync);
        while state.bytes < end {
            if state.has_failed {
                return Err(io::Error::other("the disk did not take it"));
            }
            if state.is_running {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_running = true;
            drop(state);
            let written = self.end();
            let done = self.file.sync_data();
            state = lock(&self.sync);
            state.is_running = false;
            state.has_failed = done.is_err();
            self.synced.notify_all();
            done?;
            state.bytes = state.bytes.max(written);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_full_disk_refuses_is_made_once_there_is_room() {
        let Some(disk) = testkit::SmallDisk::mount(64) else { return };
        let path = disk.path().join("segment");
        disk.fill();
        SharedFile::create(&path, b"head").unwrap_err();
        assert!(!path.exists());
        disk.free();
        SharedFile::create(&path, b"head").unwrap();
    }

    #[test]
    fn many_threads_append_and_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        let file = SharedFile::create(&path, b"head").unwrap();
        assert!(SharedFile::create(&path, b"head").is_err(), "it is there");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let end = file.append(b"bytes").unwrap();
                        file.make_room();
                        file.wait_for_disk(end).unwrap();
                        assert!(lock(&file.sync).bytes >= end);
                    }
                });
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(file.end(), 4 + 8 * 20 * 5);
        assert_eq!(bytes[..4], *b"head");
        assert_eq!(bytes[4..file.end() as usize], *b"bytes".repeat(160));
        assert!(bytes[file.end() as usize..].iter().all(|byte| *byte == 0));
    }
}
