//! Connections: over a Unix socket, TCP, or TLS 1.3 over TCP, for clients and servers; a server may take
//! TLS 1.2, too.
//!
//! An address is read by the rules of its protocol (`address.rs`); a name is resolved by the system,
//! and all addresses that it has are tried.  A [`ListeningSocket`] replaces the file of a server that
//! has ended.  A [`SocketStream`] reads and writes in one of two ways: its socket blocks, which costs one
//! system call for each read, or it polls, with a bound on the time of a read, of several, or of none.
//!
//! A server with TLS has a certificate and its key; with an authority (CA) for clients it takes only
//! those whose certificate that authority has signed.  A client trusts the authorities of one file and
//! no other.  Files are PEM.  Sessions are not resumed, so nothing is kept of a connection that ended;
//! of one that lives at most two records of 16 KiB and a handshake of 64 KiB wait in memory.
//!
//! Uses rustls with ring, and no crate of whit.  Begin with `stream.rs`; `tls.rs` is its encrypted
//! variant, `files.rs` reads certificates, `secret.rs` files that nobody else may read, `reason.rs` says in a sentence why TLS failed.
#![forbid(unsafe_code)]

mod address;
mod clock;
mod connect;
mod descriptors;
mod files;
mod listen;
mod quota;
mod reason;
mod secret;
mod stream;
mod tls;

pub use address::{Address, AddressError, AddressRules};
pub use connect::{connect_tcp, connect_unix, resolve};
pub use descriptors::allow_descriptors;
pub use files::{ClientTls, OldestTls, ServerTls, TlsFileError};
pub use listen::{ListeningSocket, Peer, ServerListener, SocketFileRights};
pub use quota::{Quota, QuotaPlace};
pub use reason::reason;
pub use secret::{random, read_private, read_secret};
pub use stream::{Keepalive, SocketStream, Wait};
