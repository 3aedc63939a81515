//! The file of a reader, which may be closed while there is nothing to read.
//!
//! Who follows more recordings than a process may have descriptors closes those that wait.  A file is opened
//! again by its path; another one that has its name meanwhile is told by the number of the recording.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::format::{HEADER_BYTES, Prelude};
use crate::storage::{Bytestore, read_full_at};

/// A file, and where it is.
pub(crate) struct ReaderFile {
    path: PathBuf,
    file: Option<File>,
}

impl ReaderFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(ReaderFile { path: path.to_owned(), file: Some(File::open(path)?) })
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("the file is closed"))
    }
}

impl Bytestore for ReaderFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file()?.read_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.file()?.length()
    }

    fn is_being_written(&self) -> bool {
        self.file().is_ok_and(Bytestore::is_being_written)
    }

    fn written(&self) -> Option<SystemTime> {
        match &self.file {
            Some(file) => file.written(),
            None => self.path.metadata().ok()?.modified().ok(),
        }
    }

    fn close(&mut self) {
        self.file = None;
    }

    fn open_again(&mut self, file_id: u64) -> io::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let file = File::open(&self.path)?;
        let mut head = [0; HEADER_BYTES];
        let count = read_full_at(&file, &mut head, 0)?;
        let prelude = Prelude::decode(&head).ok().filter(|_| count == HEADER_BYTES);
        if prelude.is_none_or(|prelude| prelude.file_id != file_id) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another file has its name"));
        }
        self.file = Some(file);
        Ok(())
    }
}
