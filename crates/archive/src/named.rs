//! The files and folders that were named, and what tells that they have not changed.

use std::path::{Path, PathBuf};

use feed::{FeedError, recordings_in};
use jiff::Zoned;

use crate::databases::FolderDatabases;
pub(crate) use crate::stamp::Stamp;

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
