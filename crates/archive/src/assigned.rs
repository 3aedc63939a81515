//! Whose the databases are: the host of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sample::SourceDef;

use crate::Error;
use crate::archive::Recordings;
use crate::databases::{Database, FolderDatabases, HISTORY};

impl Recordings {
    /// Adds the databases of folders to recordings that were named one by one.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn add_databases(&mut self, folders: &[PathBuf], now: &jiff::Zoned) -> Result<(), Error> {
        let is_source = |name: &str| self.known.iter().any(|def| def.name == name);
        let now_ns = now.timestamp().as_nanosecond();
        for folder in folders.iter().filter(|path| path.is_dir()) {
            let found = FolderDatabases::list(folder, now_ns, &is_source)?;
            self.beside.push((folder.clone(), found));
        }
        self.assign_databases();
        Ok(())
    }

    /// Finds the host of each database.
    pub(crate) fn assign_databases(&mut self) {
        let mut assigned = Vec::new();
        let mut complaints = Vec::new();
        let named = self.named.iter().filter_map(|named| named.databases());
        let beside = self.beside.iter().map(|(folder, found)| (folder.as_path(), found));
        for (folder, databases) in named.chain(beside) {
            complaints.extend(databases.complaints.iter().cloned());
            let host = self.host_of_folder(folder);
            let mut is_of_nobody = false;
            for database in &databases.found {
                match database.host.as_deref().or(host.as_deref()) {
                    Some(host) => assigned.push((Arc::from(host), database.clone())),
                    None => is_of_nobody = true,
                }
            }
            if is_of_nobody {
                let hosts = Error::list(self.recorded_hosts().into_iter());
                complaints.push(format!(
                    "{}: its databases may be of any of {hosts}: put those of each into \
                     {HISTORY}/HOST; left out",
                    folder.display()
                ));
            }
        }
        // Those of a folder that is named twice are there once.
        assigned.sort_by(|(_, one): &(Arc<str>, Database), (_, other)| one.path.cmp(&other.path));
        assigned.dedup_by(|(_, one), (_, other)| one.path == other.path);
        (self.databases, self.database_complaints) = (assigned.into(), complaints);
    }

    /// The host of the databases in a folder.
    fn host_of_folder(&self, folder: &Path) -> Option<String> {
        let is_beside = |path: &Path| path.parent() == Some(folder);
        let beside = self.files.iter().filter(|file| is_beside(&file.file.path));
        let mut beside: Vec<&str> = beside.map(|file| file.file.meta.host()).collect();
        beside.dedup();
        match (&beside[..], &self.recorded_hosts()[..]) {
            ([host], _) | ([], [host]) => Some((*host).to_owned()),
            ([], _) => {
                let folder = fs::canonicalize(folder).ok()?;
                Some(folder.file_name()?.to_str()?.to_owned())
            }
            _ => None,
        }
    }

    /// The databases of a machine.
    pub(crate) fn databases_of(&self, host: &str) -> impl Iterator<Item = &Database> {
        let databases = self.databases.iter().filter(move |(of, _)| **of == *host);
        databases.map(|(_, database)| database)
    }

    /// The time of a machine's history in databases, from its first known row to its last row, in
    /// nanoseconds since the epoch; `None` if there is none.
    ///
    /// # Errors
    /// A database cannot be read.
    pub fn history_span(&self, host: &str) -> Result<Option<(i64, i64)>, Error> {
        let mut all: Option<(i64, i64)> = None;
        for database in self.databases_of(host) {
            let Some((from_ns, thru_ns)) = database.span_ns()? else { continue };
            let (first_ns, last_ns) = all.unwrap_or((from_ns, thru_ns));
            all = Some((first_ns.min(from_ns), last_ns.max(thru_ns)));
        }
        Ok(all)
    }

    /// The definition of a source of which only databases tell: that of this program.
    pub(crate) fn known_source(&self, name: &str) -> Option<&Arc<SourceDef>> {
        self.known.iter().find(|def| def.name == name)
    }
}
