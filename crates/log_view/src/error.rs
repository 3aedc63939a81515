//! Why records cannot be shown.

use std::io;
use std::path::PathBuf;

use log_store::StoreError;
use log_store::archive::LogArchiveError;
use terminal::TerminalError;

/// What to use instead.
const INSTEAD: &str = "whit log query and whit log tail print lines instead";

/// Why records cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// There is no terminal that can show a screen.
    #[error("whit log view: {0}; {INSTEAD}")]
    Terminal(#[from] TerminalError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that has no log records.
    #[error("{}: neither the folder of a store nor a file with ACS's XML of log records", .0.display())]
    NoRecords(PathBuf),
    /// The store cannot be read.
    #[error(transparent)]
    Archive(#[from] LogArchiveError),
    /// The store that an XML file is read into cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The central server cannot be reached, or does not answer.
    #[error("{0}")]
    Central(String),
    /// The file of filters.
    #[error("{}: line {line}: {why}", path.display())]
    Filters {
        /// The file.
        path: PathBuf,
        /// The line of the file, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// No filter has that name.
    #[error("no filter is named {name}: {} has {known}", path.display())]
    NoFilter {
        /// The name.
        name: String,
        /// The file of filters.
        path: PathBuf,
        /// The names that it has.
        known: String,
    },
    /// The user has ended what took long.
    #[error("interrupted")]
    Interrupted,
}

impl ViewError {
    /// Whether the user has ended it.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, ViewError::Interrupted | ViewError::Archive(LogArchiveError::Ended))
    }
}
