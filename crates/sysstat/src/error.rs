//! What goes wrong, in sentences.

use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum SysstatError {
    /// The command line is not one of the tool's.
    #[error("{0}")]
    Usage(String),
    /// What was asked for is not there, or cannot be read.
    #[error("{0}")]
    NotThere(String),
    /// An option of the program that is not built.
    #[error("{0} is not supported: {1}")]
    Refused(String, &'static str),
    /// Only help or the version was asked for; this is its text.
    #[error("{0}")]
    Help(String),
    /// A recording has nothing of what was asked for.
    #[error("{}: nothing of this is recorded (it needs the source {source_name})", path.display())]
    NotRecorded {
        /// The recording.
        path: PathBuf,
        /// The first source that is missing.
        source_name: &'static str,
    },
    /// A recording has no two readings in the period.
    #[error("{}: no two readings in this period", .0.display())]
    NoReadings(PathBuf),
    /// A recording cannot be read.
    #[error(transparent)]
    Feed(#[from] feed::FeedError),
    /// A daily file cannot be written.
    #[error(transparent)]
    Sadc(#[from] recording::sadc::SadcError),
    /// A period is not understood.
    #[error(transparent)]
    Time(#[from] feed::TimeError),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
}

impl SysstatError {
    /// The kernel's file cannot be read.
    pub(crate) fn unread(file: &str) -> Self {
        SysstatError::NotThere(format!("cannot read {file}"))
    }
}
