//! The storage of a recording: a file, or memory in tests that interrupt a writer after any step.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::time::SystemTime;

use crate::lock;

/// The file operations of a writer.
pub trait Storage: Send {
    /// Writes at an offset, perhaps fewer bytes than given (`pwrite`).
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts the file to this length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Waits until all that was written is on the disk (`fdatasync`).
    fn sync(&mut self) -> io::Result<()>;

    /// What another program did to the file, of which `written` bytes were written.  `start` is how
    /// the file begins; without it only the length is compared, which suffices if nothing was
    /// written since the last look.
    fn interference(&self, _written: u64, _start: Option<&[u8]>) -> Option<Interference> {
        None
    }

    /// Whether the file has these bytes at an offset; true if it cannot be read.
    fn has(&self, _bytes: &[u8], _offset: u64) -> bool {
        true
    }
}

/// What another program did to a file that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// The file has no name any more: nobody will read what is written to it.
    Deleted,
    /// The beginning or the end is missing.
    Truncated,
}

/// The file operations of a reader.
pub trait Bytestore: Send {
    /// Reads at an offset, perhaps fewer bytes than asked for; 0 at the end (`pread`).
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The length of the file now.
    fn length(&self) -> io::Result<u64>;

    /// Whether a recorder has locked the file.
    fn is_being_written(&self) -> bool {
        false
    }

    /// When the file was written last, if that is known.
    fn written(&self) -> Option<SystemTime> {
        None
    }

    /// Gives back what can be had again by [`open_again`](Self::open_again).
    fn close(&mut self) {}

    /// Makes a store that was closed ready to be read.
    ///
    /// # Errors
    /// `NotFound` if the recording with this number is not there any more, and what opening a file fails with.
    fn open_again(&mut self, _file_id: u64) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn interference(&self, written: u64, start: Option<&[u8]>) -> Option<Interference> {
        let facts = self.metadata().ok()?;
        if facts.nlink() == 0 {
            return Some(Interference::Deleted);
        }
        let mut bytes = [0; 8];
        let begins = |start: &[u8]| {
            let bytes = &mut bytes[..start.len().min(8)];
            // A write after a truncation makes a hole, which reads as zeros.
            FileExt::read_at(self, bytes, 0).is_ok_and(|count| start.starts_with(&bytes[..count]))
        };
        let is_cut = facts.len() < written || !start.is_none_or(begins);
        is_cut.then_some(Interference::Truncated)
    }

    fn has(&self, bytes: &[u8], offset: u64) -> bool {
        let mut buffer = [0; 4096];
        let mut at = offset;
        bytes.chunks(buffer.len()).all(|bytes| {
            let read = read_full_at(self, &mut buffer[..bytes.len()], at);
            at += bytes.len() as u64;
            read.is_err() || buffer[..bytes.len()] == *bytes
        })
    }
}

impl Bytestore for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn is_being_written(&self) -> bool {
        lock::is_held(self)
    }

    fn written(&self) -> Option<SystemTime> {
        self.metadata().ok()?.modified().ok()
    }
}

impl Bytestore for Vec<u8> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let count = bytes.len().min(self.len() - start);
        bytes[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// Writes all bytes, or fails.
pub(crate) fn write_all_at(
    storage: &mut dyn Storage,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match storage.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `bytes` is full or the file ends; returns the number of bytes.
pub(crate) fn read_full_at(
    store: &dyn Bytestore,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match store.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
