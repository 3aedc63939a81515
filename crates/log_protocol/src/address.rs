//! Where a central server listens: a Unix socket, TCP, or TLS over TCP.

use std::fmt;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use connection::{ClientTls, ServerTls};

use crate::clock;
use crate::connection::{LogConnection, Wait};

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogAddress {
    /// A socket in the file system.
    Unix(PathBuf),
    /// Host and port.
    Tcp(String),
    /// Host and port; encrypted.
    Tls(String),
}

impl fmt::Display for LogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogAddress::Unix(path) => write!(f, "{}", path.display()),
            LogAddress::Tcp(address) => f.write_str(address),
            LogAddress::Tls(address) => write!(f, "tls:{address}"),
        }
    }
}

impl LogAddress {
    /// Reads an address: `unix:PATH`, a path with a `/`, `HOST:PORT`, or `tls:HOST:PORT`.
    ///
    /// # Errors
    /// If it is none; the text says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(LogAddress::Unix(PathBuf::from(path)));
        }
        let (rest, is_encrypted) =
            text.strip_prefix("tls:").map_or((text, false), |rest| (rest, true));
        if rest.contains('/') {
            if is_encrypted {
                return Err(format!("{text}: a socket file is not encrypted: leave tls: out"));
            }
            return Ok(LogAddress::Unix(PathBuf::from(rest)));
        }
        let (host, port) = rest.rsplit_once(':').unwrap_or(("", ""));
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err(format!("{text}: give HOST:PORT, tls:HOST:PORT, or the path of a socket"));
        }
        Ok(match is_encrypted {
            true => LogAddress::Tls(rest.to_owned()),
            false => LogAddress::Tcp(rest.to_owned()),
        })
    }

    /// Connects; gives up after the time, which is for all of it: the name, the connection and
    /// TLS's handshake.  `tls` is for addresses that are encrypted.
    ///
    /// # Errors
    /// If nobody answers, or the certificate of who does is not trusted.
    pub fn connect(&self, timeout: Duration, tls: Option<&ClientTls>) -> io::Result<LogConnection> {
        let until = clock::now() + timeout;
        match self {
            LogAddress::Unix(path) => connect_unix(path),
            LogAddress::Tcp(address) => LogConnection::tcp(connect_tcp(address, until)?),
            LogAddress::Tls(address) => {
                let Some(tls) = tls else {
                    let what = "an address with tls: needs the authorities (CA) of servers";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                };
                LogConnection::greet_tls(connect_tcp(address, until)?, host(address), tls, until)
            }
        }
    }

    /// Listens.  A socket that nobody listens on any more is replaced.  `tls` is for addresses that
    /// are encrypted.
    ///
    /// # Errors
    /// If the address is in use or cannot be had, or there is no certificate for it.
    pub fn listen(&self, tls: Option<&ServerTls>) -> io::Result<LogListener> {
        let (socket, tls) = match self {
            LogAddress::Tcp(address) => (ListenSocket::Tcp(TcpListener::bind(address)?), None),
            LogAddress::Tls(address) => {
                if tls.is_none() {
                    let what = "an address with tls: needs a certificate and its key";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                }
                (ListenSocket::Tcp(TcpListener::bind(address)?), tls.cloned())
            }
            LogAddress::Unix(path) => {
                let is_socket =
                    path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
                let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
                if is_socket && connect_unix(path).is_err_and(refused) {
                    std::fs::remove_file(path)?;
                }
                (ListenSocket::Unix(UnixListener::bind(path)?), None)
            }
        };
        Ok(LogListener { socket, tls })
    }
}

/// The host of an address, without the port and the brackets of a number with colons.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Connects without waiting: whoever listens has taken it at once, or is too busy.
fn connect_unix(path: &Path) -> io::Result<LogConnection> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(rustix::io::Errno::AGAIN) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "too many wait to be taken there"))
        }
        Err(error) => Err(error.into()),
        Ok(()) => LogConnection::unix(UnixStream::from(socket)),
    }
}

fn connect_tcp(address: &str, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in address.to_socket_addrs()? {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A socket that listens.
#[derive(Debug)]
pub struct LogListener {
    socket: ListenSocket,
    tls: Option<ServerTls>,
}

#[derive(Debug)]
enum ListenSocket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A client that has come, and has shown nothing yet.
#[derive(Debug)]
pub struct Arrival {
    socket: ArrivedSocket,
    /// Who it is, for people: an address, or a user of this machine.
    pub from: String,
}

#[derive(Debug)]
enum ArrivedSocket {
    Unix(UnixStream),
    Tcp(TcpStream, Option<ServerTls>),
}

impl LogListener {
    /// Takes the next client.
    ///
    /// # Errors
    /// As the system says.
    pub fn accept(&self) -> io::Result<Arrival> {
        match &self.socket {
            ListenSocket::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                let user = rustix::net::sockopt::socket_peercred(&stream)?.uid.as_raw();
                let (socket, from) = (ArrivedSocket::Unix(stream), format!("user {user}"));
                Ok(Arrival { socket, from })
            }
            ListenSocket::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                let socket = ArrivedSocket::Tcp(stream, self.tls.clone());
                Ok(Arrival { socket, from: address.to_string() })
            }
        }
    }

    /// The port, of TCP.
    ///
    /// # Errors
    /// As the system says.
    pub fn port(&self) -> io::Result<Option<u16>> {
        match &self.socket {
            ListenSocket::Unix(_) => Ok(None),
            ListenSocket::Tcp(listener) => {
                listener.local_addr().map(|address| Some(address.port()))
            }
        }
    }
}

impl Arrival {
    /// The connection, encrypted if its address is: TLS's handshake ends in time, or fails.
    ///
    /// # Errors
    /// If it fails; the text says what was wrong with the client.
    pub fn connection(self, until: Instant) -> io::Result<LogConnection> {
        let mut connection = match self.socket {
            ArrivedSocket::Unix(stream) => LogConnection::unix(stream)?,
            ArrivedSocket::Tcp(stream, None) => LogConnection::tcp(stream)?,
            ArrivedSocket::Tcp(stream, Some(tls)) => {
                LogConnection::answer_tls(stream, &tls, until)?
            }
        };
        connection.set_wait(Wait::Until(until));
        Ok(connection)
    }
}

impl AsFd for LogListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            ListenSocket::Unix(listener) => listener.as_fd(),
            ListenSocket::Tcp(listener) => listener.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("unix:socket", Ok("socket")),
            ("/run/a:1", Ok("/run/a:1")),
            ("central:4515", Ok("central:4515")),
            ("tls:central:4515", Ok("tls:central:4515")),
            ("tls:[::1]:4515", Ok("tls:[::1]:4515")),
            ("tls:/run/a", Err("leave tls: out")),
            ("central", Err("give HOST:PORT")),
            ("central:70000", Err("give HOST:PORT")),
            ("tls::4515", Err("give HOST:PORT")),
        ] {
            match (LogAddress::parse(text), shown) {
                (Ok(address), Ok(shown)) => assert_eq!(address.to_string(), shown),
                (Err(said), Err(part)) => assert!(said.contains(part), "{text}: {said}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
        assert_eq!(host("[::1]:4515"), "::1");
        assert_eq!(host("central:4515"), "central");
    }
}
