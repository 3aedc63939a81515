//! Opening addresses: those that other machines reach only with TLS, and for clients that are known.

use std::io;
use std::net::SocketAddr;

use connection::{Address, ListeningSocket, ServerListener, ServerTls, SocketFileRights};

use crate::access::HttpAccess;

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpOpenError {
    /// Other machines reach the address, and something is missing that this asks for.
    #[error(
        "cannot listen on {address}: other machines reach this address, so it needs {missing}; or \
         choose an address of the loopback, such as 127.0.0.1:9797"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
        /// What is missing.
        missing: &'static str,
    },
    /// There is no certificate for an address with `tls:`.
    #[error("cannot listen on {0}: an address with tls: needs a certificate and its key")]
    NoCertificate(Address),
    /// A certificate is given for an address without `tls:`.
    #[error("cannot listen on {0}: the certificate is for an address with tls: in front")]
    NotEncrypted(Address),
    /// The system refuses the address.
    #[error("cannot listen on {0}")]
    Listen(Address, #[source] io::Error),
    /// The system does not say where a socket listens.
    #[error("cannot find out where a socket listens")]
    Socket(#[source] io::Error),
}

/// Opens the sockets of an address.  `tls` is what the server shows there, if the address asks for it.
///
/// # Errors
/// If other machines reach the address and TLS or knowing the clients is missing; if the address and
/// the certificate do not belong together; if the system refuses the address.
pub fn open(
    address: &Address,
    tls: Option<&ServerTls>,
    access: &HttpAccess,
) -> Result<Vec<ServerListener>, HttpOpenError> {
    let refused = |error| HttpOpenError::Listen(address.clone(), error);
    let (host, port) = match address {
        Address::Unix(path) => {
            let rights = SocketFileRights { mode: Some(0o600), ..SocketFileRights::default() };
            let socket = ListeningSocket::bind_unix(path, &rights).map_err(refused)?;
            return Ok(vec![ServerListener { socket, tls: None }]);
        }
        Address::Network { host, port, .. } => (host, *port),
    };
    if address.is_encrypted() != tls.is_some() {
        let address = address.clone();
        return Err(match tls {
            None => HttpOpenError::NoCertificate(address),
            Some(_) => HttpOpenError::NotEncrypted(address),
        });
    }
    let sockets = ListeningSocket::bind_host(host, port).map_err(refused)?;
    admitted(sockets, tls, access)
}

/// Takes sockets that are open already, by the same rules.
///
/// # Errors
/// If other machines reach one of them and TLS or knowing the clients is missing.
pub fn admitted(
    sockets: Vec<ListeningSocket>,
    tls: Option<&ServerTls>,
    access: &HttpAccess,
) -> Result<Vec<ServerListener>, HttpOpenError> {
    let is_known = matches!(access, HttpAccess::Known(_))
        || tls.is_some_and(ServerTls::wants_client_certificate);
    for socket in &sockets {
        let ListeningSocket::Tcp(socket) = socket else { continue };
        let address = socket.local_addr().map_err(HttpOpenError::Socket)?;
        let missing = match (address.ip().is_loopback(), tls.is_some(), is_known) {
            (true, ..) | (_, true, true) => continue,
            (_, false, true) => "TLS (tls: in front of the address, and a certificate)",
            (_, true, false) => "a token, users with passwords, or certificates of clients",
            (_, false, false) => {
                "TLS (tls: in front of the address, and a certificate), and a token or users with \
                 passwords"
            }
        };
        return Err(HttpOpenError::NotLoopback { address, missing });
    }
    let listener = |socket| ServerListener { socket, tls: tls.cloned() };
    Ok(sockets.into_iter().map(listener).collect())
}
