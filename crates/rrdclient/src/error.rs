//! Why a daemon gives no answer, in RRDtool's words.

use std::io;

/// What went wrong between a client and the daemon.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no connection.
    #[error("Unable to connect to rrdcached: {}", reason(.0))]
    Connect(io::Error),
    /// The address is none, or names no host.
    #[error("Unable to connect to rrdcached: {0}")]
    Address(String),
    /// The daemon refuses a command.
    #[error("rrdcached@{address}: {message}")]
    Refused {
        /// The daemon's address, as it was given.
        address: String,
        /// What the daemon said.
        message: String,
    },
    /// The connection broke.
    #[error("request: socket error ({}) while talking to rrdcached", .0.raw_os_error().unwrap_or(0))]
    Socket(io::Error),
    /// The connection cannot be encrypted, or the daemon refuses the client's certificate.
    #[error("Unable to connect to rrdcached: TLS: {0}")]
    Tls(String),
    /// The daemon ended the connection.
    #[error("request: internal error while talking to rrdcached")]
    Closed,
    /// An answer that makes no sense.
    #[error("rrdc_{command}: {what}")]
    Reply {
        /// The command.
        command: &'static str,
        /// What is wrong with the answer.
        what: String,
    },
    /// A name of a file that this daemon cannot know.
    #[error("absolute path names not allowed when talking to a remote daemon")]
    AbsolutePath,
    /// A word that does not fit into a command: it has the end of a line in it, or is too long.
    #[error("rrdcached takes no such argument: {0}")]
    Word(&'static str),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        match connection::reason(&error) {
            Some(text) => Self::Tls(text),
            // TLS says so where a plain connection would just end.
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            None => Self::Socket(error),
        }
    }
}

/// What the system said, without Rust's ` (os error N)`.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.rfind(" (os error ").map_or_else(|| text.clone(), |end| text[..end].to_owned())
}
