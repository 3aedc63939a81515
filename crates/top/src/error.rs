//! Why there is no screen.

use std::io;
use std::path::PathBuf;

use feed::{FeedError, TimeError};
use many_hosts::RemoteHostsError;
use terminal::TerminalError;

/// What to use instead.
const INSTEAD: &str = "whit record --top and whit play --top print plain lines instead";

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// Input or output is not a terminal.
    #[error("whit top needs a terminal; {INSTEAD}")]
    NoTerminal,
    /// `TERM` is not set.
    #[error("TERM is not set, so the terminal's type is unknown; {INSTEAD}")]
    UnknownTerminal,
    /// The terminal cannot move its cursor.
    #[error("the terminal (TERM=dumb) cannot move its cursor; {INSTEAD}")]
    DumbTerminal,
    /// The terminal failed.
    #[error(transparent)]
    Terminal(TerminalError),
    /// The keyboard or the screen failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A root without `/proc`.
    #[error("{}: has no directory proc", .0.display())]
    NoProc(PathBuf),
    /// A recording without processes.
    #[error(
        "{}: has no processes, only -s {recorded}; record them with whit record -s +Z",
        path.display()
    )]
    NoProcesses {
        /// The recording.
        path: PathBuf,
        /// The letters of what is in it.
        recorded: String,
    },
    /// A folder without a recording of that time.
    #[error(
        "{}: no recording was begun before {}",
        folder.display(),
        at.as_deref().unwrap_or("now")
    )]
    NothingBefore {
        /// The folder.
        folder: PathBuf,
        /// The time.
        at: Option<String>,
    },
    /// The recording cannot be read at the requested time.
    #[error("cannot read {}", path.display())]
    Read {
        /// The recording.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<TopError>,
    },
    /// Other hosts cannot be watched.
    #[error(transparent)]
    Hosts(#[from] RemoteHostsError),
    /// The feed failed.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// An invalid time.
    #[error(transparent)]
    Time(#[from] TimeError),
}

impl From<TerminalError> for TopError {
    fn from(error: TerminalError) -> Self {
        match error {
            TerminalError::NoTerminal => TopError::NoTerminal,
            TerminalError::UnknownTerminal => TopError::UnknownTerminal,
            TerminalError::DumbTerminal => TopError::DumbTerminal,
            failed => TopError::Terminal(failed),
        }
    }
}
