//! What holds for deliveries of all kinds: how servers are spoken to, and why a delivery fails.

use std::io;
use std::path::PathBuf;

use connection::{Address, ClientTls, TlsFileError};

/// How a server of mail is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailEncryption {
    /// TLS from the first byte.
    Tls,
    /// TLS after the server's greeting; without it nothing is sent.
    StartTls,
    /// None: for a server on the same machine.
    Plain,
}

/// The server of mail.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// The address of the server.
    pub server: Address,
    /// How it is spoken to.
    pub encryption: MailEncryption,
    /// The sender.
    pub from: String,
    /// The user, and the file of the password.
    pub user: Option<(String, PathBuf)>,
    /// The authorities that it is checked by.
    pub ca: Option<PathBuf>,
}

/// What holds for all web hooks.
#[derive(Clone, Debug, Default)]
pub struct WebhookSettings {
    /// The file of the token that is sent as `Authorization: Bearer`.
    pub token_file: Option<PathBuf>,
    /// The authorities that servers are checked by.
    pub ca: Option<PathBuf>,
}

/// Why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The receiver is written wrongly.
    #[error("{0}")]
    Receiver(String),
    /// There is no server of mail.
    #[error("there is no [alerts.mail] with server and from")]
    NoMail,
    /// A password would be readable on its way.
    #[error(
        "a password goes only over TLS: set [alerts.mail] encryption to \"starttls\" or \"tls\""
    )]
    PlainPassword,
    /// A token would be readable on its way.
    #[error("a token goes only to https:// or to this machine")]
    PlainToken,
    /// A connection, a program or a file failed.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The authorities cannot be read.
    #[error("cannot use the authorities (CA)")]
    Authorities(#[from] TlsFileError),
    /// The server of mail refuses.
    #[error("the server answers {step} with: {answer}")]
    Refused {
        /// The command.
        step: &'static str,
        /// The answer of the server.
        answer: String,
    },
    /// A web server cannot be asked.
    #[error("cannot post the message")]
    Http(#[from] http_client::HttpError),
    /// A web server answers with an error.
    #[error("the server answers with status {0}")]
    Status(u16),
    /// A program failed.
    #[error("the program {0}")]
    Program(String),
}

impl DeliveryError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |source| DeliveryError::Io { what, source }
    }
}

/// The authorities of a file, or those of the system.
pub(crate) fn authorities(ca: Option<&PathBuf>) -> Result<Option<ClientTls>, DeliveryError> {
    let system = || http_client::system_authorities();
    match ca.cloned().or_else(system) {
        Some(path) => Ok(Some(ClientTls::load(&path, None)?)),
        None => Ok(None),
    }
}
