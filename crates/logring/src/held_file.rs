//! A file that another process made, and whose descriptor may be given back: whoever reads the rings of
//! thousands of threads has fewer descriptors than files.
//!
//! Without its descriptor it is opened by its path for each access, and only if it is the same file.
//! Locks belong to the open file, which a mapping keeps; so who maps it keeps them.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::bytes::u64_at;
use crate::error::Error;
use crate::system;

/// See the module.
#[derive(Debug)]
pub(crate) struct HeldFile {
    file: Option<File>,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

/// Opens a file without following links.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    std::fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Opens a file that another process made, without following links: a regular file of this user.
pub(crate) fn open_regular(path: &Path) -> Result<File, Error> {
    let what = || path.display().to_string();
    let file = open(path).map_err(|error| Error::io(what(), error))?;
    let facts = file.metadata().map_err(|error| Error::io(what(), error))?;
    if !facts.is_file() {
        let why = "no regular file";
        return Err(Error::Field { what: what(), field: "mode", value: facts.mode().into(), why });
    }
    Ok(file)
}

impl HeldFile {
    /// An open file; `path` is where it can be opened again.
    pub(crate) fn new(file: File, path: &Path) -> io::Result<Self> {
        let facts = file.metadata()?;
        let identity = (facts.dev(), facts.ino());
        Ok(HeldFile { file: Some(file), path: path.to_owned(), identity })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has a descriptor.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Gives the descriptor back.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Has a descriptor from now on.
    pub(crate) fn open_again(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.again()?);
        }
        Ok(())
    }

    fn again(&self) -> io::Result<File> {
        let file = open(&self.path)?;
        let facts = file.metadata()?;
        match (facts.dev(), facts.ino()) == self.identity {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "another file has its name")),
        }
    }

    /// Calls something with the file.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.file {
            Some(file) => run(file),
            None => run(&self.again()?),
        }
    }

    /// Reads all of a buffer from an offset.
    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|file| file.read_exact_at(bytes, offset))
    }

    /// Reads from an offset, as far as the file reaches; gives how many bytes that were.
    pub(crate) fn read_upto(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|file| system::read_upto(file, bytes, offset))
    }

    /// Writes at an offset, if the file is at least so long: one that was cut is not made longer again.
    pub(crate) fn write_within(&self, bytes: &[u8], offset: u64, least: u64) -> io::Result<()> {
        self.with(|file| {
            if file.metadata()?.len() < least {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            file.write_all_at(bytes, offset)
        })
    }

    /// 16 counters at an offset.
    pub(crate) fn read_counts(&self, at: usize) -> io::Result<[u64; 16]> {
        let mut bytes = [0; 128];
        self.read_exact_at(&mut bytes, at as u64)?;
        Ok(std::array::from_fn(|level| u64_at(&bytes, level * 8)))
    }
}
