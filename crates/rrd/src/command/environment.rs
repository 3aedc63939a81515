//! What commands need besides their words, and why they fail.

use std::io;
use std::path::Path;
use std::sync::Arc;

use calendar::CivilZone;

use crate::create;
use crate::error::{Error, Result, refuse};
use crate::fetch::{self, FetchRequest, FetchedSeries};
use crate::file::Locking;
use crate::info::InfoValue;
use crate::update::Moments;

/// What commands need besides their words: the clock, the time zone, the time language, a daemon.
pub trait CommandEnvironment: Moments {
    /// The time zone in which comments of dumps show times.
    fn zone(&self) -> &CivilZone;

    /// The start and the end of a period in words, in seconds since 1970; each may refer to the
    /// other.
    ///
    /// # Errors
    /// What is wrong with the words, as RRDtool says it, with `start time: ` or `end time: `.
    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String>;

    /// The rows of a file, or of what a name stands for instead of a file.
    ///
    /// # Errors
    /// If the file cannot be read, or has no archive of the function.
    fn fetch(&self, file: &str, request: &FetchRequest) -> Result<FetchedSeries> {
        fetch::fetch(Path::new(file), request)
    }

    /// What to do about locks.
    fn locking(&self) -> Locking {
        Locking::Try
    }

    /// The caching daemon at an address; without one, that which commands use by themselves.
    /// `None` if there is no such one.
    ///
    /// # Errors
    /// Why it cannot be reached, as RRDtool says it.
    fn daemon(&self, address: Option<&str>) -> Result<Option<Arc<dyn Daemon>>, String> {
        match address {
            Some(address) => {
                Err(format!("Unable to connect to rrdcached: {address}: not supported here"))
            }
            None => Ok(None),
        }
    }
}

/// A key and its value.
pub type InfoEntry = (String, InfoValue);

/// A caching daemon in front of the files.  Errors are texts as RRDtool shows them.
#[allow(clippy::missing_errors_doc, reason = "the trait says it for all")]
pub trait Daemon {
    /// Takes readings: `seconds:reading:…`, the time as a number.
    fn update(&self, file: &str, readings: &[String]) -> Result<(), String>;
    /// Writes what it holds of a file.
    fn flush(&self, file: &str) -> Result<(), String>;
    /// Rows of a period.
    fn fetch(&self, file: &str, request: &FetchRequest) -> Result<FetchedSeries, String>;
    /// What a file keeps.
    fn info(&self, file: &str) -> Result<Vec<InfoEntry>, String>;
    /// Time of the last update, in seconds since 1970.
    fn last(&self, file: &str) -> Result<i64, String>;
    /// End of the oldest row of an archive, in seconds since 1970.
    fn first(&self, file: &str, archive: usize) -> Result<i64, String>;
    /// Makes a file.
    fn create(
        &self,
        file: &str,
        options: &create::Options,
        definitions: &[&str],
    ) -> Result<(), String>;
    /// Names of files and folders.
    fn list(&self, folder: &str, recursive: bool) -> Result<Vec<String>, String>;
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// RRDtool prints `ERROR: ` and this.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Refuses a source of `create` that is no file.
pub(crate) fn check_source(path: &Path) -> Result<()> {
    let name = path.display();
    let metadata = std::fs::metadata(path).map_err(|error| {
        refuse!("error checking for source RRD {name}: {}", crate::reason(&error))
    })?;
    match metadata.is_file() {
        true => Ok(()),
        false => Err(refuse!("Not a regular file: {name}")),
    }
}
