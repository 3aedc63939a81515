//! Errors of benchmarks.

use std::io;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};

/// Why a benchmark could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or a program not started.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A recording that whit wrote could not be read.
    #[error(transparent)]
    Reading(#[from] recording::Error),
    /// A recording could not be rewritten.
    #[error(transparent)]
    Writing(#[from] recording::WriteError),
    /// The side files of a recording could not be made.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// What a sender has acknowledged could not be read.
    #[error(transparent)]
    Sending(#[from] send::SendError),
    /// A BPF program could not be loaded or run.
    #[error(transparent)]
    Kernel(#[from] bpf::Error),
    /// A program or this machine gave a text that is not a number, or too large a number.
    #[error("{0}")]
    Number(String),
    /// What was being done, with the error that ended it.
    #[error("{what}")]
    While {
        /// What was being done.
        what: String,
        /// The error.
        source: Box<Error>,
    },
    /// Any other error, as text.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// The error and its causes, in one line.
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

impl From<ParseFloatError> for Error {
    fn from(error: ParseFloatError) -> Self {
        Error::Number(error.to_string())
    }
}

impl From<TryFromIntError> for Error {
    fn from(error: TryFromIntError) -> Self {
        Error::Number(error.to_string())
    }
}

/// The result of every function here.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Adds what was being done to an error, or to a missing value.
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

/// Returns [`Error::Failed`] unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::error::Error::Failed(format!($($words)+)));
        }
    };
}
pub(crate) use ensure;
