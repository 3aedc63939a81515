//! The files and folders that were named, and what tells that they have not changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use feed::{FeedError, recordings_in};
use jiff::Zoned;

use crate::databases::FolderDatabases;

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

    /// That of a folder, if no later change can have the same.
    fn settled(self, now_ns: i128) -> Option<Self> {
        (self.modified_ns + SETTLED_NS < now_ns).then_some(self)
    }

    /// Whether it is the same file.
    pub(crate) fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// A folder that was listed.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    path: PathBuf,
    /// The folder then, if no later change can have the same.
    settled: Option<Stamp>,
}

impl Listed {
    /// Of a folder that is listed after this.
    pub(crate) fn new(path: &Path, now_ns: i128) -> Result<Self, FeedError> {
        let (stamp, _) = Stamp::of(path)?;
        Ok(Listed { path: path.to_owned(), settled: stamp.settled(now_ns) })
    }

    pub(crate) fn may_have_changed(&self) -> bool {
        self.settled.is_none() || Stamp::of(&self.path).ok().map(|(stamp, _)| stamp) != self.settled
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
    databases: FolderDatabases,
    /// The folder when it was listed, if no later change can have the same.
    settled: Option<Stamp>,
}

impl Named {
    pub(crate) fn new(path: PathBuf) -> Self {
        Named { path, folder: None }
    }

    /// Lists a folder that may have changed since.  Returns whether it was listed.
    pub(crate) fn look(
        &mut self,
        now: &Zoned,
        is_source: &dyn Fn(&str) -> bool,
    ) -> Result<bool, FeedError> {
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
        if folder.settled == Some(stamp) && !folder.databases.may_have_changed() {
            return Ok(false);
        }
        let now_ns = now.timestamp().as_nanosecond();
        folder.names = recordings_in(&self.path)?;
        folder.databases = FolderDatabases::list(&self.path, now_ns, is_source)?;
        folder.settled = stamp.settled(now_ns);
        Ok(true)
    }

    /// If it is a folder, its path and the databases in it.
    pub(crate) fn databases(&self) -> Option<(&Path, &FolderDatabases)> {
        Some((&self.path, &self.folder.as_ref()?.databases))
    }

    /// Whether it is a folder without recordings and databases.
    pub(crate) fn is_empty_folder(&self) -> bool {
        let is_empty = |folder: &Folder| folder.names.is_empty() && folder.databases.is_empty();
        self.folder.as_ref().is_some_and(is_empty)
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
