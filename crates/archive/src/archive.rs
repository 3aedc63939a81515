//! The recordings of a folder: hosts, sources and times.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::RecordedFile;
use jiff::Zoned;
use sample::{Meta, SourceDef};

use crate::Error;
use crate::archived_file::{ArchivedFile, RecordedSpan};
use crate::databases::{Database, FolderDatabases};
use crate::held_columns::HeldColumns;
use crate::named::{Named, Stamp};

/// The recordings of a folder, or of several, and what they are of.  A copy shares what is known of
/// each of them.
#[derive(Clone)]
pub struct Recordings {
    pub(crate) named: Vec<Named>,
    /// Host by host, each host's by time.
    pub(crate) files: Vec<ArchivedFile>,
    /// What cannot be used.
    pub(crate) refused: Vec<Refused>,
    /// The definitions of this program.
    pub(crate) known: Arc<[Arc<SourceDef>]>,
    /// Whether who asks wants no more.
    pub(crate) is_ended: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Folders with databases alone.
    pub(crate) beside: Vec<(PathBuf, FolderDatabases)>,
    /// The databases, each with its host, and what cannot be used of them.
    pub(crate) databases: Arc<[(Arc<str>, Database)]>,
    pub(crate) database_complaints: Vec<String>,
    /// Columns that the next question may need.
    pub(crate) held: Arc<HeldColumns>,
}

/// A file that cannot be used.
#[derive(Clone)]
pub(crate) struct Refused {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    pub(crate) complaint: String,
}

impl Recordings {
    /// Opens the recordings that are named, and those in the folders that are named.  `now` has the
    /// time zone of this machine.
    ///
    /// # Errors
    /// A file that is named cannot be read or is no recording, or there is none.
    pub fn open(named: &[PathBuf], now: &Zoned) -> Result<Recordings, Error> {
        let mut recordings = Recordings {
            named: named.iter().cloned().map(Named::new).collect(),
            files: Vec::new(),
            refused: Vec::new(),
            known: source::definitions().into(),
            is_ended: None,
            beside: Vec::new(),
            databases: Arc::default(),
            database_complaints: Vec::new(),
            held: Arc::default(),
        };
        recordings.find(now)?;
        Ok(recordings)
    }

    /// Makes the answers end with [`Error::Ended`] soon after `is_ended` says so.
    #[must_use]
    pub fn ending(&self, is_ended: impl Fn() -> bool + Send + Sync + 'static) -> Recordings {
        Recordings { is_ended: Some(Arc::new(is_ended)), ..self.clone() }
    }

    /// Fails if who asks wants no more.
    pub(crate) fn look(&self) -> Result<(), Error> {
        match self.is_ended.as_ref().is_some_and(|is_ended| is_ended()) {
            true => Err(Error::Ended),
            false => Ok(()),
        }
    }

    /// The files of the folders that could not be used, each with the reason.
    #[must_use]
    pub fn complaints(&self) -> Vec<&str> {
        let recordings = self.refused.iter().map(|refused| refused.complaint.as_str());
        recordings.chain(self.database_complaints.iter().map(String::as_str)).collect()
    }

    /// The machines, in the order of the recordings; then those of which there are databases alone, and
    /// the devices that pollers recorded.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts = self.recorded_hosts();
        hosts.extend(self.databases.iter().map(|(host, _)| &**host));
        hosts.extend(self.devices());
        let mut known = std::collections::HashSet::new();
        hosts.retain(|host| known.insert(*host));
        hosts
    }

    /// The machines of which there are recordings, in the order of the files.
    pub(crate) fn recorded_hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self.files.iter().map(|file| file.file.meta.host()).collect();
        hosts.dedup();
        hosts
    }

    /// The recordings of a machine, by time.
    #[must_use]
    pub fn spans(&self, host: &str) -> Vec<RecordedSpan> {
        self.of_host(host).map(|(_, file)| file.span()).collect()
    }

    /// All recordings, by host and time.
    pub fn recorded_spans(&self) -> impl Iterator<Item = RecordedSpan> {
        self.files.iter().map(ArchivedFile::span)
    }

    /// The sources of a machine, each as the latest recording that has it defines it; then those of
    /// which there are databases alone.
    #[must_use]
    pub fn sources(&self, host: &str) -> Vec<Arc<SourceDef>> {
        let mut sources: Vec<Arc<SourceDef>> = Vec::new();
        let is_device = self.of_host(host).any(|(_, file)| file.has_device(host));
        for (_, file) in self.of_host(host).filter(|(_, file)| file.file.meta.host() == host) {
            for def in file.defs.iter() {
                match sources.iter_mut().find(|known| known.name == def.name) {
                    Some(known) => *known = def.clone(),
                    None => sources.push(def.clone()),
                }
            }
        }
        for database in self.databases_of(host) {
            if !sources.iter().any(|def| def.name == *database.source) {
                sources.extend(self.known_source(&database.source).cloned());
            }
        }
        sources.extend(is_device.then(|| Arc::new(crate::targets::target_source())));
        sources
    }

    /// A source of a machine.
    ///
    /// # Errors
    /// There is no such machine, or its recordings have no such source.
    pub fn source(&self, host: &str, name: &str) -> Result<Arc<SourceDef>, Error> {
        self.check_host(host)?;
        let sources = self.sources(host);
        let found = sources.iter().find(|def| def.name == name).cloned();
        found.ok_or_else(|| Error::UnknownSource {
            host: host.to_owned(),
            asked: name.to_owned(),
            known: Error::list(sources.iter().map(|def| &*def.name)),
        })
    }

    /// Checks that there are recordings of a machine.
    pub(crate) fn check_host(&self, host: &str) -> Result<(), Error> {
        if self.of_host(host).next().is_some() || self.databases_of(host).next().is_some() {
            return Ok(());
        }
        let known = Error::list(self.hosts().into_iter());
        Err(Error::UnknownHost { asked: host.to_owned(), known })
    }

    /// Each recording alone, and its time.
    pub fn singles(&self) -> impl Iterator<Item = (RecordedSpan, Recordings)> {
        self.files.iter().map(|file| {
            let alone = Recordings { files: vec![file.clone()], ..self.without_files() };
            (file.span(), alone)
        })
    }

    fn without_files(&self) -> Recordings {
        let (known, is_ended) = (self.known.clone(), self.is_ended.clone());
        Recordings {
            named: Vec::new(),
            files: Vec::new(),
            refused: Vec::new(),
            known,
            is_ended,
            beside: Vec::new(),
            databases: Arc::default(),
            database_complaints: Vec::new(),
            held: Arc::default(),
        }
    }

    /// The path of the recording with that index, as answers name it.
    #[must_use]
    pub fn path(&self, file: usize) -> Option<&Path> {
        self.files.get(file).map(|file| file.file.path.as_path())
    }

    /// The facts of the recording with that index.
    #[must_use]
    pub fn meta(&self, file: usize) -> Option<&Meta> {
        self.files.get(file).map(|file| &file.file.meta)
    }

    /// Whether nothing is left of what was found first: no recording and no database.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.databases.is_empty()
    }

    /// All recordings, as they were found.
    pub fn recorded_files(&self) -> impl Iterator<Item = &RecordedFile> {
        self.files.iter().map(|file| &*file.file)
    }

    /// The recordings of a machine or of a device, each with its index.
    pub(crate) fn of_host(&self, host: &str) -> impl Iterator<Item = (usize, &ArchivedFile)> {
        let files = self.files.iter().enumerate();
        files.filter(move |(_, file)| file.file.meta.host() == host || file.has_device(host))
    }
}
