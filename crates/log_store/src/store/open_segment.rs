//! The segment that is appended to, and what of it the disk may not have yet.
//!
//! Bytes that are written and not synced are kept: after a sync that failed the system may take what
//! it could not write for written, so they are written again before the next one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use segments::AppendFile;

use super::StoreError;

/// Bytes that are written and not synced, from which on nothing is written before a sync has ended.
const UNSYNCED_MAX: usize = 8 << 20;

/// A segment that is open for writing.
pub(super) struct OpenSegment {
    out: AppendFile,
    /// Whether anybody waits until the disk has what is written.
    syncs: bool,
    /// The last bytes of the file, as far as the disk may not have them.
    unsynced: Vec<u8>,
    has_failed: bool,
}

impl OpenSegment {
    /// A file whose bytes are all on the disk.
    pub(super) fn new(out: AppendFile, syncs: bool) -> Self {
        OpenSegment { out, syncs, unsynced: Vec::new(), has_failed: false }
    }

    /// The length of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.out.end
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
        self.out.append(bytes).map_err(|source| self.error(source))?;
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
        let from = self.out.end - self.unsynced.len() as u64;
        let again = if self.has_failed { self.unsynced.as_slice() } else { &[] };
        let file = &self.out.file;
        let done = file.write_all_at(again, from).and_then(|()| file.sync_data());
        self.has_failed = done.is_err();
        done.map_err(|source| self.error(source))?;
        self.unsynced.clear();
        Ok(())
    }

    /// The file that another thread is to sync, and how many bytes of it are written; `None`: the disk
    /// has everything, or nobody waits for it.
    pub(super) fn begin_sync(&self) -> Option<(Arc<File>, u64)> {
        let has_more = !self.unsynced.is_empty();
        has_more.then(|| (Arc::clone(&self.out.file), self.out.end))
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
        let later = usize::try_from(self.out.end.saturating_sub(bytes)).unwrap_or(usize::MAX);
        self.unsynced.drain(..self.unsynced.len().saturating_sub(later));
        Ok(())
    }

    fn error(&self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.out.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_made_good_by_writing_the_bytes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        let mut open = OpenSegment::new(AppendFile::create(path.clone(), 0o600).unwrap(), true);
        open.append(b"one").unwrap();
        let (file, bytes) = open.begin_sync().unwrap();
        open.append(b"two").unwrap();
        open.end_sync(bytes, file.sync_data()).unwrap();
        // The second is for the next sync, which fails and takes the bytes with it.
        let (file, bytes) = open.begin_sync().unwrap();
        file.set_len(3).unwrap();
        assert!(open.end_sync(bytes, Err(io::Error::other("the disk"))).is_err());
        open.sync().unwrap();
        assert!(open.begin_sync().is_none());
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        assert_eq!(open.bytes(), 6);
    }

    #[test]
    fn there_is_room_until_much_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| AppendFile::create(folder.path().join(name), 0o600).unwrap();
        let mut open = OpenSegment::new(file("one"), true);
        open.append(&[0; UNSYNCED_MAX - 1]).unwrap();
        assert!(open.has_room_beside_sync());
        open.append(b"x").unwrap();
        assert!(!open.has_room_beside_sync());
        open.sync().unwrap();
        assert!(open.has_room_beside_sync());
        // Nothing is kept where nobody waits for the disk.
        let mut open = OpenSegment::new(file("other"), false);
        open.append(&[0; UNSYNCED_MAX]).unwrap();
        assert!(open.has_room_beside_sync() && open.begin_sync().is_none());
    }
}
