//! The files and folders that were named, and what tells that they have not changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use feed::{FeedError, recordings_in};
use jiff::Zoned;

/// A change of a folder may have the same time as an earlier one, by the clock of its filesystem: what
/// changed so short a time ago is listed again.
const SETTLED_NS: i128 = 2_000_000_000;

/// What tells that a file or folder has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) bytes: u64,
    pub(crate) modified_ns: i128,
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> Result<(Self, bool), FeedError> {
        let failed = |source| FeedError::Io { path: path.to_owned(), what: Some("open"), source };
        let metadata = fs::metadata(path).map_err(failed)?;
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
        };
        Ok((stamp, metadata.is_dir()))
    }

    /// Whether it is the same file.
    pub(crate) fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// A path that was named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) path: PathBuf,
    /// If it is a folder, the recordings in it.
    folder: Option<Folder>,
}

#[derive(Clone, Debug, Default)]
struct Folder {
    names: Vec<PathBuf>,
    /// The folder when it was listed, if no later change can have the same.
    settled: Option<Stamp>,
}

impl Named {
    pub(crate) fn new(path: PathBuf) -> Self {
        Named { path, folder: None }
    }

    /// Lists a folder that may have changed since.  Returns whether it was listed.
    pub(crate) fn look(&mut self, now: &Zoned) -> Result<bool, FeedError> {
        let (stamp, is_folder) = match Stamp::of(&self.path) {
            Ok(found) => found,
            // A file is asked for again below.
            Err(_) if self.folder.is_none() => return Ok(false),
            Err(error) => return Err(error),
        };
        if !is_folder {
            self.folder = None;
            return Ok(false);
        }
        let folder = self.folder.get_or_insert_default();
        if folder.settled == Some(stamp) {
            return Ok(false);
        }
        let is_old = stamp.modified_ns + SETTLED_NS < now.timestamp().as_nanosecond();
        folder.names = recordings_in(&self.path)?;
        folder.settled = is_old.then_some(stamp);
        Ok(true)
    }

    /// Whether it is a folder without recordings.
    pub(crate) fn is_empty_folder(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.names.is_empty())
    }

    /// Whether it is that file.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        self.folder.is_none() && self.path == path
    }

    /// The files, each and whether it was named itself.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, bool)> {
        let itself = self.folder.is_none().then_some((self.path.as_path(), true));
        let names = self.folder.iter().flat_map(|folder| &folder.names);
        itself.into_iter().chain(names.map(|path| (path.as_path(), false)))
    }
}
