//! Errors of recordings, with messages for the user.

use std::io;
use std::path::{Path, PathBuf};

/// Opening, creating or reading a recording failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{}: cannot {what}", path.display())]
    Io {
        /// The recording.
        path: PathBuf,
        /// The operation that failed: `open`, `read`, …
        what: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is something else.
    #[error("{}: not a whit recording", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later whit.
    #[error(
        "{}: format version {version}, and this whit reads up to {}: use a newer whit",
        path.display(), crate::format::VERSION
    )]
    FutureVersion {
        /// The recording.
        path: PathBuf,
        /// The version of the file.
        version: u32,
    },
    /// The head of the file, which describes everything else, is damaged.
    #[error("{}: its head is damaged ({what}); nothing can be read", path.display())]
    HeadDamaged {
        /// The recording.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The sources are more than the format holds.
    #[error("{}: too many {what} for a recording; nothing was written", path.display())]
    TooMany {
        /// The recording.
        path: PathBuf,
        /// What there are too many of.
        what: &'static str,
    },
    /// Another recorder writes this file.
    #[error("{}: {} is already recording to it", path.display(), writer(*pid))]
    Locked {
        /// The recording.
        path: PathBuf,
        /// The process id of that recorder, if the file has it.
        pid: Option<u32>,
    },
    /// The file exists, and no recorder writes it.
    #[error("{}: exists already; nothing was written", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The recording has other sources or fields than the recorder that wants to append to it.
    #[error("{}: has other sources or fields; record to a new file", path.display())]
    OtherSources {
        /// The recording.
        path: PathBuf,
    },
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn writer(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl Error {
    pub(crate) fn io(path: &Path, what: &'static str, source: io::Error) -> Self {
        Error::Io { path: path.to_owned(), what, source }
    }

    /// Whether the recording is not there, or not any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// A sample was not written.  The recording is still valid, the gap before the next written sample
/// counts the lost one, and writing may be tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk, the quota or the limit on file size is used up.
    #[error("{}: no space left; samples are lost until there is some", path.display())]
    NoSpace {
        /// The recording.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Another error of the filesystem.
    #[error("{}: cannot write", path.display())]
    Io {
        /// The recording.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The sample exceeds the format's limits.
    #[error("{}: a sample of {cells} values is too large to record", path.display())]
    TooLarge {
        /// The recording.
        path: PathBuf,
        /// Values of the sample.
        cells: usize,
    },
    /// The snapshot has other sources than the recording.
    #[error("{}: the sample's sources are not the recording's", path.display())]
    OtherSources {
        /// The recording.
        path: PathBuf,
    },
}

impl WriteError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => WriteError::NoSpace { path, source },
            _ => WriteError::Io { path, source },
        }
    }

    /// Whether the error is a lack of space.
    pub fn is_no_space(&self) -> bool {
        matches!(self, WriteError::NoSpace { .. })
    }
}
