//! A database of a folder that was asked for: what it is called, what is chosen of it, and its rows.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use promql::QueryError;
use rrd::fetch::{FetchRequest, FetchedSeries, from_file_within};
use rrd::header::ConsolidationFunction;
use rrd::{Access, File};
use rrdclient::{Client, TlsFiles};
use text::error_text::with_causes;

use crate::beneath::FileBeneath;
use crate::parameters::{Parameters, invalid};

/// How long a caching daemon may take to write a database.
const DAEMON_TIME_MAX: Duration = Duration::from_secs(5);

/// The most values of a function that are read.
const CELLS_MAX: i64 = 1 << 20;

/// A database that was asked for.
pub(super) struct OpenDatabase {
    pub(super) path: String,
    pub(super) folder: PathBuf,
    pub(super) file: File,
    /// The daemon that may hold values of it.
    daemon: Option<String>,
    /// Why values that a daemon holds are not in the file.
    pub(super) unwritten: Option<String>,
}

impl OpenDatabase {
    /// The database of the parameters `path` and, if several folders have one of that path, `folder`.
    pub(super) fn find(
        folders: &[PathBuf],
        daemon: Option<&str>,
        given: &Parameters,
    ) -> Result<OpenDatabase, QueryError> {
        let (path, asked) = (given.get("path"), given.get("folder"));
        if !path.ends_with(".rrd") {
            return Err(invalid("path", "give the path of a database below its folder, NAME.rrd"));
        }
        let mut why = "there is no such folder of databases".to_owned();
        for folder in folders.iter().filter(|one| asked.is_empty() || **one == *asked) {
            match FileBeneath::find(folder, path) {
                Ok(found) => {
                    return OpenDatabase::open(&found, (folder, path), daemon)
                        .map_err(QueryError::Execution);
                }
                Err(error) => why = format!("{path}: {error}"),
            }
        }
        Err(invalid(if asked.is_empty() { "path" } else { "folder" }, &why))
    }

    /// Opens a database that was found by its path below a folder, after the daemon has written it.
    fn open(
        found: &FileBeneath,
        (folder, path): (&Path, &str),
        daemon: Option<&str>,
    ) -> Result<OpenDatabase, String> {
        let unwritten = daemon.and_then(|daemon| flush(daemon, &folder.join(path)).err());
        let file = sound(found, path)?;
        let (path, folder) = (path.to_owned(), folder.to_owned());
        let daemon = daemon.map(str::to_owned);
        Ok(OpenDatabase { path, folder, file, daemon, unwritten })
    }

    /// The definition of its picture, `NAME.graph` beside `NAME.rrd`, if there is one.
    pub(super) fn definition(&self) -> Option<FileBeneath> {
        let path = format!("{}.graph", self.path.strip_suffix(".rrd")?);
        FileBeneath::find(&self.folder, &path).ok()
    }

    /// The data sources that are named, with their places; all without any.
    pub(super) fn chosen(&self, given: &Parameters) -> Result<Vec<(usize, &str)>, QueryError> {
        let sources = &self.file.header().sources;
        let known = || sources.iter().map(|one| one.name.as_str()).enumerate();
        let asked: Vec<&str> = given.all("source").collect();
        if let Some(name) = asked.iter().find(|name| known().all(|(_, one)| one != **name)) {
            let known: Vec<&str> = known().map(|one| one.1).collect();
            let why = format!("{} has no {name:?}: it has {}", self.path, known.join(", "));
            return Err(invalid("source", &why));
        }
        Ok(known().filter(|(_, name)| asked.is_empty() || asked.contains(name)).collect())
    }

    /// The function of a name, or means, or what else the database keeps.
    pub(super) fn function(&self, name: &str) -> Result<ConsolidationFunction, QueryError> {
        let archives = &self.file.header().archives;
        let kept = archives.iter().map(|archive| archive.function);
        let mut plain = kept.clone().filter(|function| function.is_plain());
        let average = ConsolidationFunction::Average;
        let is_wanted = |function: &ConsolidationFunction| {
            name.is_empty() && *function == average || function.name() == name
        };
        let found = kept.clone().find(is_wanted);
        let found = found.or_else(|| plain.next().filter(|_| name.is_empty()));
        found.ok_or_else(|| {
            let mut known: Vec<&str> = kept.map(ConsolidationFunction::name).collect();
            known.dedup();
            let why = format!("{} has no such archive: it has {}", self.path, known.join(", "));
            invalid("function", &why)
        })
    }

    /// The period that is asked for, in seconds: a day up to the last update if none is.
    pub(super) fn period_s(&self, given: &Parameters) -> Result<(i64, i64), QueryError> {
        let seconds = |time_ns: i64| time_ns.div_euclid(1_000_000_000);
        let updated_s = self.file.header().last_update.seconds;
        let thru_s = given.time_ns("thru")?.map_or(updated_s, seconds);
        let from_s = given.time_ns("from")?.map_or(thru_s.saturating_sub(86_400), seconds);
        match from_s < thru_s {
            true => Ok((from_s, thru_s)),
            false => Err(invalid("thru", "the period ends before it begins")),
        }
    }

    /// Rows as `fetch` gives them.
    pub(super) fn fetch(
        &self,
        function: ConsolidationFunction,
        (start, end): (i64, i64),
        step_seconds: u64,
    ) -> Result<FetchedSeries, String> {
        let request = FetchRequest { function, start, end, step_seconds };
        from_file_within(&self.file, &request, CELLS_MAX)
            .map_err(|error| named_error(&error, self.file.path(), &self.path))
    }

    /// The shortest step of rows of a function that is no shorter than another, or the longest one.
    pub(super) fn step_of(&self, function: ConsolidationFunction, least_s: u64) -> u64 {
        let header = self.file.header();
        let archives = header.archives.iter().enumerate();
        let own = archives.filter(|(_, archive)| archive.function == function);
        let steps: Vec<u64> = own.map(|(at, _)| header.row_seconds(at)).collect();
        let enough = steps.iter().filter(|step_s| **step_s >= least_s).min();
        enough.or(steps.iter().max()).copied().unwrap_or(least_s)
    }

    /// Another database below its folder, by its path from a folder in it.
    pub(super) fn beside(&self, within: &Path, name: &str) -> Result<OpenDatabase, String> {
        let path = within.join(name).to_string_lossy().into_owned();
        let found = FileBeneath::find(&self.folder, &path);
        let found = found.map_err(|error| format!("'{path}': {error}"))?;
        OpenDatabase::open(&found, (&self.folder, &path), self.daemon.as_deref())
    }
}

/// Has a daemon write what it holds of a database; why it did not, if it did not.
fn flush(daemon: &str, path: &Path) -> Result<(), String> {
    let flushed = Client::connect(daemon, None, &TlsFiles::default()).and_then(|client| {
        client.set_timeout(DAEMON_TIME_MAX)?;
        client.flush(&path.to_string_lossy())
    });
    flushed.map_err(|error| format!("the caching daemon {daemon}: {}", with_causes(&error)))
}

/// Opens a database that was found; errors name it by its path below the folder.
pub(super) fn sound(found: &FileBeneath, path: &str) -> Result<File, String> {
    let real = found.path();
    File::open(&real, Access::Read).map_err(|error| named_error(&error, &real, path))
}

/// An error with the name of a database that was opened by another path.
fn named_error(error: &dyn Display, real: &Path, path: &str) -> String {
    let said = error.to_string().replace(&real.display().to_string(), path);
    if said.contains(path) { said } else { format!("'{path}': {said}") }
}
