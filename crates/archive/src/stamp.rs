//! What tells that a file or folder has not changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use feed::FeedError;

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

    /// The stamp of a folder, if no later change can have the same.
    pub(crate) fn settled(self, now_ns: i128) -> Option<Self> {
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
    /// Takes the stamp of a folder that is listed after this.
    pub(crate) fn new(path: &Path, now_ns: i128) -> Result<Self, FeedError> {
        let (stamp, _) = Stamp::of(path)?;
        Ok(Listed { path: path.to_owned(), settled: stamp.settled(now_ns) })
    }

    pub(crate) fn may_have_changed(&self) -> bool {
        self.settled.is_none() || Stamp::of(&self.path).ok().map(|(stamp, _)| stamp) != self.settled
    }
}
