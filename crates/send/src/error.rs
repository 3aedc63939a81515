//! What ends a sender.

use std::io;
use std::path::PathBuf;

use feed::FeedError;
use http_client::UrlError;

/// Why nothing more is sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The folder or a recording cannot be read.
    #[error("the recordings cannot be read")]
    Feed(#[from] FeedError),
    /// A recording cannot be read.
    #[error("the recording cannot be read")]
    Recording(#[from] recording::Error),
    /// The file of the cursor cannot be read or written.
    #[error("cannot {action} the cursor {}", path.display())]
    Cursor {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of the cursor is none, or another version's.
    #[error(
        "{} is no cursor that this program knows: {why}; without it everything is sent again", path.display()
    )]
    NoCursor {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another process sends from the folder to the same engine.
    #[error("another process sends from here under the name {name}")]
    Busy {
        /// The name of the engine.
        name: String,
    },
    /// What `--to` says.
    #[error("'{text}' is no engine: write KIND=ADDRESS, with one of {known} as KIND")]
    NoEngine {
        /// The text.
        text: String,
        /// All kinds.
        known: String,
    },
    /// The address.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The system gives no resources for a client.
    #[error("cannot make a client")]
    Client(#[source] io::Error),
    /// A name that is a part of a file's name.
    #[error("'{0}' is no name of an engine: letters, digits, - and _ are")]
    Name(String),
}
