//! Why there is no screen.

use std::io;
use std::path::PathBuf;

use feed::{FeedError, TimeError};

/// What to use without a screen.
const INSTEAD: &str = "whit record --top and whit play --top give plain lines";

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// Input or output is not a terminal.
    #[error("whit top needs a terminal; {INSTEAD}")]
    NoTerminal,
    /// `TERM` is not set.
    #[error("TERM is not set, so nothing is known of the terminal; {INSTEAD}")]
    UnknownTerminal,
    /// The terminal cannot move its cursor.
    #[error("the terminal (TERM=dumb) cannot place text; {INSTEAD}")]
    DumbTerminal,
    /// The terminal failed.
    #[error("cannot {what}")]
    Terminal {
        /// What was attempted.
        what: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The keyboard or the screen failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A root without `/proc`.
    #[error("{}: there is no folder proc in it", .0.display())]
    NoProc(PathBuf),
    /// A recording without processes.
    #[error(
        "{}: no processes in it (recorded are '{recorded}'); whit record -s +Z records them",
        path.display()
    )]
    NoProcesses {
        /// The recording.
        path: PathBuf,
        /// The letters of what is in it.
        recorded: String,
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
    /// The feed failed.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// An invalid time.
    #[error(transparent)]
    Time(#[from] TimeError),
}
