//! The round-robin databases of folders: which there are, and of which host and source each is.
//!
//! `--export rrd` writes a folder for each machine, and does not write whose it is.  The databases of a
//! folder, and of `history` in it, are of the host of the recordings beside them; `history/HOST` is of
//! that host.  Names are found once, and again when a folder has changed; files are opened when a
//! question needs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use feed::FeedError;
use recorder::database_names::instance_of;
use rrd::fetch::{rows_beginning, span};
use rrd::{Access, File};

use crate::Error;
use crate::stamp::Listed;

/// The folder for databases beside recordings.
pub(crate) const HISTORY: &str = "history";

/// The most databases of a folder that is named: as many as a recorder writes for ten machines.
const DATABASES_MAX: usize = 100_000;

/// Complaints about files of a folder; further ones say the same.
const COMPLAINTS_MAX: usize = 8;

/// Rows that are read at once.
const ROWS_AT_ONCE: u32 = 4_096;

/// A database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    /// The folder in `history` that it is in: its host.
    pub(crate) host: Option<Arc<str>>,
    pub(crate) source: Arc<str>,
    /// `None` for a source as a whole.
    pub(crate) instance: Option<Vec<u8>>,
    /// When its first known row began, in seconds since 1970, once that was asked for.
    begun_s: Arc<OnceLock<Option<i64>>>,
}

impl Database {
    /// Opens it; `None` if it is not there any more.
    pub(crate) fn open(&self) -> Result<Option<File>, Error> {
        match File::open(&self.path, Access::Read) {
            Err(rrd::Error::File { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            opened => Ok(Some(opened?)),
        }
    }

    /// The time of its known rows, in nanoseconds since the epoch.
    pub(crate) fn span_ns(&self) -> Result<Option<(i64, i64)>, Error> {
        let Some(file) = self.open()? else { return Ok(None) };
        let begun_s = match self.begun_s.get() {
            Some(known) => *known,
            None => {
                let found = first_known_s(&file)?;
                *self.begun_s.get_or_init(|| found)
            }
        };
        let newest_s = (0..file.header().archives.len()).map(|at| span(file.header(), at).1).max();
        let ns = |seconds: i64| seconds.saturating_mul(1_000_000_000);
        Ok(begun_s.zip(newest_s).map(|(begun_s, newest_s)| (ns(begun_s), ns(newest_s))))
    }
}

/// The start of the first row of any archive that has a value.
fn first_known_s(file: &File) -> Result<Option<i64>, Error> {
    let mut first: Option<i64> = None;
    for archive in 0..file.header().archives.len() {
        if !file.header().archives[archive].function.is_plain() {
            continue;
        }
        let (mut from, newest) = span(file.header(), archive);
        let end = first.unwrap_or(newest).min(newest);
        while from < end {
            let rows = rows_beginning(file, archive, (from, end), ROWS_AT_ONCE)?;
            let width = rows.names.len().max(1);
            if let Some(cell) = rows.cells.iter().position(|value| !value.is_nan()) {
                let row = i64::try_from(cell / width).unwrap_or(i64::MAX);
                let step = i64::try_from(rows.step_seconds).unwrap_or(i64::MAX);
                first = Some(rows.start.saturating_add(step.saturating_mul(row)));
                break;
            }
            if rows.end <= from {
                break;
            }
            from = rows.end;
        }
    }
    Ok(first)
}

/// What a folder that was named has of databases.
#[derive(Clone, Debug, Default)]
pub(crate) struct FolderDatabases {
    pub(crate) found: Vec<Database>,
    pub(crate) complaints: Vec<String>,
    /// The folders below it that were looked into.
    listed: Vec<Listed>,
}

impl FolderDatabases {
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether a folder below may have changed.
    pub(crate) fn may_have_changed(&self) -> bool {
        self.listed.iter().any(Listed::may_have_changed)
    }

    /// Looks for the databases of a folder; `is_source` tells the names of sources.
    pub(crate) fn list(
        folder: &Path,
        now_ns: i128,
        is_source: &dyn Fn(&str) -> bool,
    ) -> Result<Self, FeedError> {
        let mut listing = Listing {
            of: FolderDatabases::default(),
            folder: folder.to_owned(),
            now_ns,
            is_source,
        };
        listing.databases(folder, FolderKind::Recordings)?;
        Ok(listing.of)
    }
}

/// What a folder is.
#[derive(Clone, Copy)]
enum FolderKind<'a> {
    /// It may have recordings and much else.
    Recordings,
    /// It is `history`.
    History,
    /// It is `history/HOST`.
    OfHost(&'a Arc<str>),
}

struct Listing<'a> {
    of: FolderDatabases,
    folder: PathBuf,
    now_ns: i128,
    is_source: &'a dyn Fn(&str) -> bool,
}

impl Listing<'_> {
    /// Looks for `SOURCE.rrd` and `SOURCE/INSTANCE.rrd`.
    fn databases(&mut self, folder: &Path, place: FolderKind<'_>) -> Result<(), FeedError> {
        let host = if let FolderKind::OfHost(host) = place { Some(host) } else { None };
        for (path, name, is_folder) in self.entries(folder)? {
            let source = name.strip_suffix(".rrd").filter(|_| !is_folder);
            match source {
                Some(source) if (self.is_source)(source) => {
                    self.add(path, host, &source.into(), None);
                }
                Some(_) if !matches!(place, FolderKind::Recordings) => {
                    self.complain(&path, "no source has this name");
                }
                None if is_folder && (self.is_source)(&name) => {
                    self.instances(&path, host, &name.as_str().into())?;
                }
                None if is_folder => match place {
                    FolderKind::Recordings if name == HISTORY => {
                        self.databases(&path, FolderKind::History)?;
                    }
                    FolderKind::History => {
                        self.databases(&path, FolderKind::OfHost(&name.as_str().into()))?;
                    }
                    _ => (),
                },
                _ => (),
            }
        }
        Ok(())
    }

    fn instances(
        &mut self,
        folder: &Path,
        host: Option<&Arc<str>>,
        source: &Arc<str>,
    ) -> Result<(), FeedError> {
        for (path, name, is_folder) in self.entries(folder)? {
            let Some(name) = name.strip_suffix(".rrd").filter(|_| !is_folder) else { continue };
            match instance_of(name) {
                Some(instance) => self.add(path, host, source, Some(instance)),
                None => self.complain(&path, "its name does not say which instance it is of"),
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: PathBuf,
        host: Option<&Arc<str>>,
        source: &Arc<str>,
        instance: Option<Vec<u8>>,
    ) {
        if self.of.found.len() >= DATABASES_MAX {
            let folder = self.folder.clone();
            return self.complain(&folder, "it has more databases than are kept in mind: some are");
        }
        let (host, source) = (host.cloned(), source.clone());
        self.of.found.push(Database { path, host, source, instance, begun_s: Arc::default() });
    }

    fn complain(&mut self, path: &Path, what: &str) {
        if self.of.complaints.len() < COMPLAINTS_MAX {
            self.of.complaints.push(format!("{}: {what}; left out", path.display()));
        }
    }

    /// The entries of a folder by name, those with names that are text: path, name, and whether it is
    /// a folder.
    fn entries(&mut self, folder: &Path) -> Result<Vec<(PathBuf, String, bool)>, FeedError> {
        let failed = |source| FeedError::Io { path: folder.to_owned(), what: None, source };
        if folder != self.folder {
            self.of.listed.push(Listed::new(folder, self.now_ns)?);
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_folder =
                kind.is_ok_and(|kind| kind.is_dir() || kind.is_symlink() && path.is_dir());
            entries.push((path, name, is_folder));
        }
        entries.sort();
        Ok(entries)
    }
}
