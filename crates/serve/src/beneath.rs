//! Files of folders that are served: by a path below a folder, and never out of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

/// A regular file below a folder, found and not yet opened: it stays the same file whatever becomes of
/// its name.
pub(crate) struct FileBeneath(OwnedFd);

impl FileBeneath {
    /// Finds a file by its path below a folder.  Links are followed as long as they stay below it.
    pub(crate) fn find(folder: &Path, path: &str) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let folder = openat(CWD, folder, flags | OFlags::DIRECTORY, Mode::empty())?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let found = openat2(&folder, path, flags, Mode::empty(), resolve);
        let found = found.map_err(|error| match error {
            Errno::XDEV => io::Error::other("it is outside the folder"),
            error => error.into(),
        })?;
        match FileType::from_raw_mode(fstat(&found)?.st_mode) {
            FileType::RegularFile => Ok(FileBeneath(found)),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "it is no file")),
        }
    }

    /// A path that opens it, in this process, as long as this value lives.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// Opens it.
    pub(crate) fn open(&self) -> io::Result<File> {
        File::open(self.path())
    }
}
