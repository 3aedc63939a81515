//! Why there is no screen.

use std::io;

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// Input or output is not a terminal.
    #[error("input and output must be a terminal")]
    NoTerminal,
    /// `TERM` is not set.
    #[error("TERM is not set, so the terminal's type is unknown")]
    UnknownTerminal,
    /// The terminal cannot move its cursor.
    #[error("the terminal (TERM=dumb) cannot move its cursor")]
    DumbTerminal,
    /// The terminal failed.
    #[error("cannot {what}")]
    Failed {
        /// What was attempted.
        what: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The keyboard or the screen failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
