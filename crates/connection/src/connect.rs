//! Connecting: names by the system's resolver, one address after the other, within a time.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::address::Address;
use crate::clock;
use crate::files::ClientTls;
use crate::stream::{Keepalive, SocketStream};

impl Address {
    /// Connects; gives up after the time, which is for all of it: the name, the connection and TLS's
    /// handshake.  The connection polls.  `tls` is for addresses that are encrypted.
    ///
    /// # Errors
    /// If nobody answers, or the certificate of whoever does is not trusted.
    pub fn connect(&self, timeout: Duration, tls: Option<&ClientTls>) -> io::Result<SocketStream> {
        let until = clock::now() + timeout;
        let connection = match self {
            Self::Unix(path) => SocketStream::unix(connect_unix(path)?),
            Self::Network { host, port, is_encrypted } => {
                let addresses = resolve(host, *port)?;
                let stream = connect_tcp(addresses, Some(clock::left(until)))?;
                let connection = SocketStream::tcp(stream);
                connection.keep_alive(&Keepalive::default())?;
                match (is_encrypted, tls) {
                    (false, _) => connection,
                    (true, Some(tls)) => connection.greet_tls(tls, host, clock::left(until))?,
                    (true, None) => {
                        let what = "an address with tls: needs the authorities (CA) of servers";
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                    }
                }
            }
        };
        connection.polling()
    }
}

/// The addresses of a host, by the system's resolver.
///
/// # Errors
/// If the name is not known.
pub fn resolve(host: &str, port: u16) -> io::Result<impl Iterator<Item = SocketAddr>> {
    (host, port).to_socket_addrs()
}

/// Connects to the first address that answers; the time is for all tries together.
///
/// # Errors
/// If no address answers: the error of the last one, or `NotFound` without any.
pub fn connect_tcp(
    addresses: impl Iterator<Item = SocketAddr>,
    timeout: Option<Duration>,
) -> io::Result<TcpStream> {
    let until = timeout.map(|timeout| clock::now() + timeout);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in addresses {
        let connected = match until.map(clock::left) {
            None => TcpStream::connect(address),
            Some(Duration::ZERO) => return Err(io::ErrorKind::TimedOut.into()),
            Some(left) => TcpStream::connect_timeout(&address, left),
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Connects to a socket file without waiting: whoever listens has taken it at once, or is too busy.
///
/// # Errors
/// If nobody listens there, or too many wait already (`TimedOut`).
pub fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(rustix::io::Errno::AGAIN) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "too many wait to be taken there"))
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(UnixStream::from(socket)),
    }
}
