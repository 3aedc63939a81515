//! Unnamed files, for output that is not written yet.
//!
//! `O_TMPFILE` (open(2)): the file never has a name, so none is left behind however this process
//! ends. On file systems without it, the name is removed as soon as the file is open.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{self, FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::{self, Errno};

use super::CollectError;
use super::sink::{self, CHUNK_BYTES, Source};

/// Turns an error number into an error; the user may choose another folder for these files.
pub(super) fn failed(what: &str, folder: &Path, error: Errno) -> CollectError {
    match error {
        Errno::NOSPC | Errno::DQUOT => CollectError::Full { what: folder.display().to_string() },
        _ => sink::failed(what, folder, error),
    }
}

/// An unnamed file.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: OwnedFd,
}

impl Temporary {
    /// An empty file in this folder for the output of jobs.
    ///
    /// It is opened with O_APPEND, so that a job that opens `/dev/stdout` again does not overwrite
    /// its own output, and the next job of the slot needs no seek after the file was truncated.
    pub(super) fn for_job(folder: &Path) -> Result<Self, CollectError> {
        Self::open(folder, OFlags::APPEND)
    }

    /// An empty file that only this process writes to.
    pub(crate) fn for_us(folder: &Path) -> Result<Self, CollectError> {
        Self::open(folder, OFlags::empty())
    }

    fn open(folder: &Path, more: OFlags) -> Result<Self, CollectError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL | more;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = match fs::open(folder, flags | OFlags::TMPFILE, mode) {
            // Kernels and file systems without the flag see an attempt to open a directory for
            // writing.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                Self::open_unlinked(folder, flags)
            }
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Temporary { file }),
            Err(error) => Err(failed("make a temporary file in", folder, error)),
        }
    }

    fn open_unlinked(folder: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = folder.join(format!(".run-{}-{number}", std::process::id()));
            match fs::open(&name, flags | OFlags::CREATE, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    fs::unlink(&name)?;
                    return Ok(file);
                }
            }
        }
    }

    /// The length in bytes.  One lseek(2).
    pub(super) fn length(&self) -> u64 {
        // Seeking in an open regular file does not fail.
        fs::seek(&self.file, SeekFrom::End(0)).unwrap_or(0)
    }

    /// Truncates it to nothing.
    pub(super) fn clear(&self) -> Result<(), CollectError> {
        fs::ftruncate(&self.file, 0)
            .map_err(|error| sink::failed("truncate", Path::new("a temporary file"), error))
    }

    /// Writes bytes at `offset`.
    pub(crate) fn write_at(
        &self,
        mut bytes: &[u8],
        mut offset: u64,
        folder: &Path,
    ) -> Result<(), CollectError> {
        while !bytes.is_empty() {
            match io::pwrite(&self.file, bytes, offset) {
                Ok(0) => {
                    return Err(failed("write to a temporary file in", folder, Errno::IO));
                }
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(failed("write to a temporary file in", folder, error));
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Temporary {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// One file for the output of many jobs, so that output that waits needs only one descriptor.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    file: Option<Temporary>,
    /// The offset for the next bytes.
    end: u64,
    /// Bytes in it that are still needed.
    wanted: u64,
    scratch: Vec<u8>,
}

impl Spool {
    /// A spool that creates its file in this folder when it is needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        Spool { folder, file: None, end: 0, wanted: 0, scratch: Vec::new() }
    }

    /// Appends `source`; returns its offset and length.
    pub(super) fn add(&mut self, source: Source<'_>) -> Result<(u64, u64), CollectError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Temporary::for_us(&self.folder)?),
        };
        let (folder, begin) = (&self.folder, self.end);
        let mut end = begin;
        sink::each_chunk(source, CHUNK_BYTES, &mut self.scratch, |chunk| {
            file.write_at(chunk, end, folder)?;
            end += chunk.len() as u64;
            Ok(())
        })?;
        self.end = end;
        self.wanted += end - begin;
        Ok((begin, end - begin))
    }

    /// A part of the file.
    pub(super) fn part(&self, offset: u64, length: u64) -> Source<'_> {
        match &self.file {
            Some(file) => Source::File(file.as_fd(), offset, length),
            None => Source::Bytes(&[]),
        }
    }

    /// A part is no longer needed: frees its disk space.
    pub(super) fn release(&mut self, offset: u64, length: u64) -> Result<(), CollectError> {
        self.wanted = self.wanted.saturating_sub(length);
        let Some(file) = &self.file else { return Ok(()) };
        if self.wanted == 0 {
            self.end = 0;
            return file.clear();
        }
        // A file system without hole punching frees the space when all parts are released.
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fs::fallocate(file, hole, offset, length);
        Ok(())
    }
}
