//! What can go wrong, in RRDtool's words where programs match on them.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused an operation on a file.
    #[error("{operation} '{}': {}", path.display(), reason(source))]
    File {
        /// What was tried: `opening`, `writing` and so on.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("could not lock RRD")]
    Locked,
    /// The file does not begin as a round-robin database does.
    #[error("'{}' is not an RRD file", .0.display())]
    NotRrd(PathBuf),
    /// A version of the format that this program does not know.
    #[error("can't handle RRD file version {0}")]
    Version(String),
    /// The file has the layout of another machine, and was to be changed.
    #[error("This RRD was created on another architecture")]
    Architecture,
    /// The file ends within its header.
    #[error("reached EOF while loading header rrd->{0}")]
    Truncated(&'static str),
    /// The file is shorter than its header says.
    #[error("'{}' is too small (should be {expected_bytes} bytes)", path.display())]
    TooSmall {
        /// The file.
        path: PathBuf,
        /// Size by its header, in bytes.
        expected_bytes: u64,
    },
    /// The header contradicts itself.
    #[error("'{}' is damaged: {what} (at byte {offset})", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// Where it is written.
        offset: u64,
    },
    /// An update is not newer than the last one.
    #[error(
        "illegal attempt to update using time {time} when last update time is {last_update} (minimum one second step)"
    )]
    PastUpdate {
        /// Time of the update, in seconds since 1970.
        time: i64,
        /// Time of the last update, in seconds since 1970.
        last_update: i64,
    },
    /// A file's error: its name comes first.
    #[error("{}: {source}", path.display())]
    Of {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// Text that is no number.
    #[error(transparent)]
    Number(#[from] crate::number::NumberError),
    /// An argument that cannot be used; the text says which and why.
    #[error("{0}")]
    Argument(String),
}

/// Short form of a result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of an operation on a file.
    pub(crate) fn file(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::File { operation, path: path.to_owned(), source: source.into() }
    }

    /// Puts a file's name in front.
    #[must_use]
    pub fn of(self, path: &Path) -> Self {
        Self::Of { path: path.to_owned(), source: Box::new(self) }
    }
}

/// An argument that cannot be used.
macro_rules! refuse {
    ($($text:tt)*) => { $crate::error::Error::Argument(format!($($text)*)) };
}
pub(crate) use refuse;

/// What the system said, without Rust's ` (os error N)`: as `strerror` says it.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
