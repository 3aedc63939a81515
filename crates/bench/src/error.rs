//! What can go wrong while something is measured.

use std::io;
use std::num::{ParseIntError, TryFromIntError};

/// Why a benchmark could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, or a program that could not be started.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A recording that whit wrote and that cannot be read.
    #[error(transparent)]
    Reading(#[from] recording::Error),
    /// A recording that cannot be written again.
    #[error(transparent)]
    Writing(#[from] recording::WriteError),
    /// A program in the kernel.
    #[error(transparent)]
    Kernel(#[from] bpf::Error),
    /// A number that a program or this machine gave, and that is none, or too large.
    #[error("{0}")]
    Number(String),
    /// What was wanted, with the error beneath it.
    #[error("{what}")]
    While {
        /// What was being done.
        what: String,
        /// Why it did not work.
        source: Box<Error>,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// The error and all beneath it, in one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Error::While { what, source } => format!("{what}: {}", source.line()),
            error => error.to_string(),
        }
    }
}

impl From<rustix::io::Errno> for Error {
    fn from(error: rustix::io::Errno) -> Self {
        Error::Io(error.into())
    }
}

impl From<ParseIntError> for Error {
    fn from(error: ParseIntError) -> Self {
        Error::Number(error.to_string())
    }
}

impl From<TryFromIntError> for Error {
    fn from(error: TryFromIntError) -> Self {
        Error::Number(error.to_string())
    }
}

/// What every function here gives.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Says what was being done when something went wrong, or was not there.
pub(crate) trait Context<T> {
    fn context(self, what: impl Into<String>) -> Result<T>;
    fn with_context<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| Error::While { what: what().into(), source: Box::new(error.into()) })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<W: Into<String>>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.ok_or_else(|| Error::Failed(what().into()))
    }
}

/// Leaves with [`Error::Failed`] unless something holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::error::Error::Failed(format!($($words)+)));
        }
    };
}
pub(crate) use ensure;
