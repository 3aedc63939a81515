//! Encrypted connections: TLS 1.3 over TCP, with certificates of one or of both sides.
//!
//! A server has a certificate and its key; with an authority (CA) for clients it takes only those
//! whose certificate that authority has signed.  A client trusts the authorities of one file and no
//! other.  Files are PEM.  Sessions are not resumed, so nothing is kept of a connection that ended;
//! of one that lives at most two records of 16 KiB and a handshake of 64 KiB wait in memory.
//!
//! Uses rustls with ring.  Nothing is read or computed before the first `load`.  Begin with
//! `files.rs`; `stream.rs` is a connection, `channel.rs` one that two threads share, `reason.rs`
//! says what went wrong in a sentence.
#![forbid(unsafe_code)]

mod channel;
mod files;
mod reason;
mod stream;

pub use channel::TlsChannel;
pub use files::{ClientTls, ServerTls, TlsFileError};
pub use reason::reason;
pub use stream::TlsStream;
