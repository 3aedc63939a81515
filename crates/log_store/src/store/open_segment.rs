//! The segment that is appended to, and what of it the disk may not have yet.
//!
//! Bytes that are written and not synced are kept: after a sync that failed the system may take what
//! it could not write for written, so they are written again before the next one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::StoreError;

/// Bytes that are written and not synced, from which on nothing is written before a sync has ended.
const UNSYNCED_MAX: usize = 8 << 20;

/// A segment that is open for writing.
pub(super) struct OpenSegment {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Whether anybody waits until the disk has what is written.
    syncs: bool,
    /// The last bytes of the file, as far as the disk may not have them.
    unsynced: Vec<u8>,
    has_failed: bool,
}

impl OpenSegment {
    /// A file of so many bytes, all of which are on the disk.
    pub(super) fn new(file: File, path: PathBuf, bytes: u64, syncs: bool) -> Self {
        OpenSegment { file, path, bytes, syncs, unsynced: Vec::new(), has_failed: false }
    }

    /// Its length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether more can be written before a sync that is under way has ended.
    pub(super) fn has_room_beside_sync(&self) -> bool {
        self.unsynced.len() < UNSYNCED_MAX
    }

    /// Appends; readers see the bytes.
    ///
    /// # Errors
    /// If the file does not take all; then it has none of them.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if let Err(source) = self.file.write_all_at(bytes, self.bytes) {
            // What was written of it is cut; if that fails too, the next start cuts it.
            let _ = self.file.set_len(self.bytes);
            return Err(self.error(source));
        }
        self.bytes += bytes.len() as u64;
        if self.syncs {
            self.unsynced.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Waits until the disk has everything that was written.
    ///
    /// # Errors
    /// If the disk does not take it; then it may be tried again.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        let from = self.bytes - self.unsynced.len() as u64;
        let again = if self.has_failed { self.unsynced.as_slice() } else { &[] };
        let done = self.file.write_all_at(again, from).and_then(|()| self.file.sync_data());
        self.has_failed = done.is_err();
        done.map_err(|source| self.error(source))?;
        self.unsynced.clear();
        Ok(())
    }

    /// The file that another thread is to sync, and how many bytes of it are written; `None`: the disk
    /// has everything, or nobody waits for it.
    ///
    /// # Errors
    /// If the system has no descriptor for it.
    pub(super) fn begin_sync(&self) -> Result<Option<(File, u64)>, StoreError> {
        if self.unsynced.is_empty() {
            return Ok(None);
        }
        let file = self.file.try_clone().map_err(|source| self.error(source))?;
        Ok(Some((file, self.bytes)))
    }

    /// Takes the end of a sync, which was about so many bytes.
    ///
    /// # Errors
    /// If it failed.
    pub(super) fn end_sync(
        &mut self,
        bytes: u64,
        result: io::Result<()>,
    ) -> Result<(), StoreError> {
        if let Err(source) = result {
            self.has_failed = true;
            return Err(self.error(source));
        }
        let later = usize::try_from(self.bytes.saturating_sub(bytes)).unwrap_or(usize::MAX);
        self.unsynced.drain(..self.unsynced.len().saturating_sub(later));
        Ok(())
    }

    fn error(&self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_made_good_by_writing_the_bytes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
        let mut open = OpenSegment::new(file, path.clone(), 0, true);
        open.append(b"one").unwrap();
        let (file, bytes) = open.begin_sync().unwrap().unwrap();
        open.append(b"two").unwrap();
        open.end_sync(bytes, file.sync_data()).unwrap();
        // The second is for the next sync, which fails and takes the bytes with it.
        let (file, bytes) = open.begin_sync().unwrap().unwrap();
        file.set_len(3).unwrap();
        assert!(open.end_sync(bytes, Err(io::Error::other("the disk"))).is_err());
        open.sync().unwrap();
        assert!(open.begin_sync().unwrap().is_none());
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        assert_eq!(open.bytes(), 6);
    }

    #[test]
    fn there_is_room_until_much_waits_for_the_disk() {
        let file = tempfile::tempfile().unwrap();
        let mut open = OpenSegment::new(file, PathBuf::new(), 0, true);
        open.append(&[0; UNSYNCED_MAX - 1]).unwrap();
        assert!(open.has_room_beside_sync());
        open.append(b"x").unwrap();
        assert!(!open.has_room_beside_sync());
        open.sync().unwrap();
        assert!(open.has_room_beside_sync());
        // Nothing is kept where nobody waits for the disk.
        let file = tempfile::tempfile().unwrap();
        let mut open = OpenSegment::new(file, PathBuf::new(), 0, false);
        open.append(&[0; UNSYNCED_MAX]).unwrap();
        assert!(open.has_room_beside_sync() && open.begin_sync().unwrap().is_none());
    }
}
