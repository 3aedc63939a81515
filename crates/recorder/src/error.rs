//! Why a recorder cannot start or continue.

use std::io;
use std::path::PathBuf;

/// Why a recorder cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The directory for files is missing and cannot be made.
    #[error("cannot make the directory {}", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// The directory for files may not be written.
    #[error("cannot write to the directory {}", path.display())]
    WriteDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// No source that was asked for can be read at the first sample.
    #[error(
        "nothing that was asked for can be read here{}",
        if *is_told { "" } else { "; is /proc mounted?" }
    )]
    NothingReadable {
        /// Whether the reasons were in messages of their own.
        is_told: bool,
    },
    /// Another recorder writes recordings of the same names there.
    #[error(
        "{}: {} is already recording there; choose another folder or prefix with -f", path.display(),
        pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    SecondRecorder {
        /// The recording of the other recorder.
        path: PathBuf,
        /// The process id of the other recorder, if the file has it.
        pid: Option<u32>,
    },
    /// A recording cannot be created, because of its directory.
    #[error("the directory of -f must exist and be writable")]
    CreateRecording(#[source] recording::Error),
    /// A recording cannot be created, locked or closed.
    #[error(transparent)]
    Recording(#[from] recording::Error),
    /// Buffered data of a recording cannot be written.
    #[error(transparent)]
    WriteRecording(#[from] recording::WriteError),
    /// Another program deleted or truncated the recording at its end.
    #[error("{} was {what} by another program: {samples} samples are lost", path.display())]
    Interference {
        /// The recording.
        path: PathBuf,
        /// Deleted or truncated.
        what: &'static str,
        /// Samples that were in it.
        samples: u64,
    },
    /// Another program deleted or truncated a plot file.
    #[error("{} was {what} by another program: {intervals} intervals are lost", path.display())]
    PlotInterference {
        /// The file.
        path: PathBuf,
        /// Deleted or truncated.
        what: &'static str,
        /// Intervals that were in it.
        intervals: u64,
    },
    /// A plot file cannot be closed.
    #[error("plot files")]
    Plot(#[source] io::Error),
    /// The reader of the live text is gone.
    #[error("cannot send the lines")]
    Send(#[source] io::Error),
}
