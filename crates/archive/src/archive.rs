//! The recordings of a folder: hosts, sources and times.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::{Origin, RecordedFile, has_text_for};
use jiff::Zoned;
use recording::Reader;
use sample::SourceDef;
use source::Entry;

use crate::Error;
use crate::summary::{self, Identity};

/// The recordings of a folder, or of several, and what they are of.
pub struct Recordings {
    /// Host by host, each host's by time.
    files: Vec<ArchivedFile>,
    complaints: Vec<String>,
}

/// A recording of the archive.
pub(crate) struct ArchivedFile {
    pub(crate) file: RecordedFile,
    pub(crate) defs: Vec<Arc<SourceDef>>,
    /// A time at or after its last sample; `i64::MAX` if it may still grow.
    pub(crate) ended_ns: i64,
    /// What its summary must be of.
    pub(crate) identity: Identity,
}

impl ArchivedFile {
    /// The index of a source.
    pub(crate) fn source(&self, name: &str) -> Option<usize> {
        self.defs.iter().position(|def| def.name == name)
    }

    /// The sources of this program that read a recording of collectl for a source.
    pub(crate) fn entries(source: &str) -> Vec<&'static Entry> {
        source::find(source).into_iter().collect()
    }
}

/// The time of one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSpan {
    /// The recording.
    pub path: PathBuf,
    /// When it was started, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// A time at or after its last sample; `None` if it was not closed, so that it may still grow.
    pub thru_ns: Option<i64>,
}

impl Recordings {
    /// Opens the recordings that are named, and those in the folders that are named.  `now` has the
    /// time zone of this machine.
    ///
    /// # Errors
    /// A file that is named cannot be read or is no recording, or there is none.
    pub fn open(named: &[PathBuf], now: &Zoned) -> Result<Recordings, Error> {
        let (found, mut complaints) = feed::find(named, None, now)?;
        let mut files: Vec<ArchivedFile> = Vec::with_capacity(found.len());
        for file in found {
            match facts(&file) {
                Ok((defs, ended_ns, recording)) => {
                    let fingerprint = summary::fingerprint(&defs);
                    let identity = Identity { recording, fingerprint };
                    files.push(ArchivedFile { file, defs, ended_ns, identity });
                }
                Err(error) => complaints.push(format!("{error}; left out")),
            }
        }
        end_where_the_next_begins(&mut files);
        Ok(Recordings { files, complaints })
    }

    /// The files of the folders that could not be used, each with the reason.
    #[must_use]
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// The machines, in the order of the files.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self.files.iter().map(|file| file.file.meta.host()).collect();
        hosts.dedup();
        hosts
    }

    /// The recordings of a machine, by time.
    #[must_use]
    pub fn spans(&self, host: &str) -> Vec<RecordedSpan> {
        let span = |file: &ArchivedFile| RecordedSpan {
            path: file.file.path.clone(),
            from_ns: file.file.started_ns,
            thru_ns: Some(file.ended_ns).filter(|&ended_ns| ended_ns != i64::MAX),
        };
        self.of_host(host).map(|(_, file)| span(file)).collect()
    }

    /// The sources of a machine's recordings, each as the latest recording that has it defines it.
    #[must_use]
    pub fn sources(&self, host: &str) -> Vec<Arc<SourceDef>> {
        let mut sources: Vec<Arc<SourceDef>> = Vec::new();
        for (_, file) in self.of_host(host) {
            for def in &file.defs {
                match sources.iter_mut().find(|known| known.name == def.name) {
                    Some(known) => *known = def.clone(),
                    None => sources.push(def.clone()),
                }
            }
        }
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
        if self.of_host(host).next().is_some() {
            return Ok(());
        }
        let known = Error::list(self.hosts().into_iter());
        Err(Error::UnknownHost { asked: host.to_owned(), known })
    }

    /// Makes or adds to the side files of each recording: the columns of closed blocks of whit's, so
    /// that a range reads those that it wants and no others, and the summary of every recording, so
    /// that a long period is answered without its samples.  Returns what could not
    /// be written; answers do not depend on it.  Costs about as much as playing what is added; call
    /// it in the background.
    pub fn write_side_files(&self) -> Vec<String> {
        let whit = self.files.iter().filter(|file| file.file.origin == Origin::Whit);
        let written = whit.map(|file| recording::write_side_file(&file.file.path));
        let columns = written.filter_map(|written| Some(written.err()?.to_string()));
        let summaries =
            self.files.iter().filter_map(|file| Some(summary::write(file).err()?.to_string()));
        columns.chain(summaries).collect()
    }

    /// The path of the recording with that index, as answers name it.
    #[must_use]
    pub fn path(&self, file: usize) -> Option<&Path> {
        self.files.get(file).map(|file| file.file.path.as_path())
    }

    /// The recordings of a machine, each with its index.
    pub(crate) fn of_host(&self, host: &str) -> impl Iterator<Item = (usize, &ArchivedFile)> {
        let files = self.files.iter().enumerate();
        files.filter(move |(_, file)| file.file.meta.host() == host)
    }
}

/// What [`facts`] finds.
type Facts = (Vec<Arc<SourceDef>>, i64, [u64; 3]);

/// The sources of a recording, a time at or after its last sample, and what it is known by.
fn facts(file: &RecordedFile) -> Result<Facts, feed::FeedError> {
    match file.origin {
        Origin::Collectl => {
            let recorded = file.meta.subsystems();
            let entries = source::ALL.iter().copied();
            let held: Vec<_> =
                entries.filter(|entry| has_text_for(&entry.def(), recorded)).collect();
            let failed =
                |source| feed::FeedError::Io { path: file.path.clone(), what: None, source };
            let facts = std::fs::metadata(&file.path).map_err(failed)?;
            let changed_ns = facts.mtime().cast_unsigned().wrapping_mul(1_000_000_000);
            let changed_ns = changed_ns.wrapping_add(facts.mtime_nsec().cast_unsigned());
            Ok((file.sources(&held)?, i64::MAX, [0, facts.len(), changed_ns]))
        }
        Origin::Whit => {
            let reader = Reader::open(&file.path, &source::definitions())?;
            let closed_ns = reader.latest_closed_realtime_ns().unwrap_or(i64::MIN);
            let ended_ns = if reader.damage().not_closed { i64::MAX } else { closed_ns };
            Ok((reader.defs(), ended_ns, [reader.file_id(), 0, 0]))
        }
    }
}

/// collectl begins a file when it ends one: only the text itself tells the last time of a file, at the
/// cost of reading all of it.
fn end_where_the_next_begins(files: &mut [ArchivedFile]) {
    for index in 1..files.len() {
        let (before, next) = files.split_at_mut(index);
        let next = &next[0].file;
        if next.origin != Origin::Collectl {
            continue;
        }
        let ends = |file: &&mut ArchivedFile| {
            file.file.origin == Origin::Collectl
                && file.ended_ns == i64::MAX
                && file.file.started_ns < next.started_ns
                && file.file.meta.host() == next.meta.host()
                && file.file.path.parent() == next.path.parent()
        };
        for file in before.iter_mut().filter(ends) {
            // Its last interval ends with the first marker of the next file.
            let interval_ns = i64::try_from(file.file.meta.interval_ns()).unwrap_or(i64::MAX);
            file.ended_ns = next.started_ns.saturating_add(interval_ns);
        }
    }
}
