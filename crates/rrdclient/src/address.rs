//! How a daemon is named: `unix:PATH`, `/PATH`, `HOST`, `HOST:PORT` or `[IPv6]:PORT`, the last three
//! also with `tls:` in front.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use connection::{ClientTls, TlsStream};

use crate::error::ClientError;

/// The port of a daemon that names none.
const PORT: u16 = 42217;

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host, by name or number, and a port.
    Network {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Whether TLS is spoken (`tls:` in front).
        is_encrypted: bool,
    },
}

/// The files of an encrypted connection, in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authorities (CA) that the daemon's certificate is checked by.
    pub authority: Option<PathBuf>,
    /// The client's own certificate.
    pub certificate: Option<PathBuf>,
    /// Its key; without it, that in the file of the certificate.
    pub key: Option<PathBuf>,
}

/// How long the daemon may take to end a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Network(TcpStream),
    Encrypted(Box<TlsStream>),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(given: &str) -> Result<Self, ClientError> {
        let text = given;
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let (is_encrypted, text) = match text.strip_prefix("tls:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let malformed = || ClientError::Address(format!("malformed address: {given}"));
        let port = |port: &str| port.parse().map_err(|_| malformed());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(malformed)?;
                match rest.strip_prefix(':') {
                    Some(number) => (host, port(number)?),
                    None if rest.is_empty() => (host, PORT),
                    None => return Err(malformed()),
                }
            }
            None => match text.rsplit_once(':') {
                Some((host, number)) if !host.contains(':') => (host, port(number)?),
                // Several colons are an address of IPv6 without a port.
                _ => (text, PORT),
            },
        };
        Ok(Self::Network { host: host.to_owned(), port, is_encrypted })
    }

    pub(crate) fn connect(&self, files: &TlsFiles) -> Result<Stream, ClientError> {
        match self {
            Self::Unix(path) => {
                UnixStream::connect(path).map(Stream::Unix).map_err(ClientError::Connect)
            }
            Self::Network { host, port, is_encrypted: false } => {
                connect(host, *port).map(Stream::Network)
            }
            Self::Network { host, port, is_encrypted: true } => {
                let tls = files.load()?;
                let stream = connect(host, *port)?;
                encrypted(&tls, host, stream).map_err(|error| match connection::reason(&error) {
                    Some(text) => ClientError::Tls(text),
                    None => ClientError::Connect(error),
                })
            }
        }
    }
}

impl TlsFiles {
    fn load(&self) -> Result<ClientTls, ClientError> {
        let Some(authority) = &self.authority else {
            return Err(ClientError::Tls(
                "no authority (CA) is given that the daemon could be checked by \
                 (RRDCACHED_TLS_CA)"
                    .to_owned(),
            ));
        };
        let own = self.certificate.as_deref();
        let own = own.map(|certificate| (certificate, self.key.as_deref().unwrap_or(certificate)));
        ClientTls::load(authority, own).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            ClientError::Tls(format!("{error}{}", cause.unwrap_or_default()))
        })
    }
}

fn connect(host: &str, port: u16) -> Result<TcpStream, ClientError> {
    let unresolved = |error: io::Error| {
        let what = "failed to resolve address";
        ClientError::Address(format!("{what} '{host}' (port {port}): {error}"))
    };
    let mut failed = None;
    for address in (host, port).to_socket_addrs().map_err(unresolved)? {
        match TcpStream::connect(address) {
            Ok(stream) => {
                // Commands are single lines that are answered: no reason to wait.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => failed = Some(error),
        }
    }
    Err(ClientError::Connect(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
}

fn encrypted(tls: &ClientTls, host: &str, stream: TcpStream) -> io::Result<Stream> {
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let stream = TlsStream::connect(tls, host, stream)?;
    stream.socket().set_read_timeout(None)?;
    Ok(Stream::Encrypted(Box::new(stream)))
}

impl Stream {
    pub(crate) fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
            Self::Network(stream) => both(stream, timeout),
            Self::Encrypted(stream) => both(stream.socket(), timeout),
        }
    }
}

fn both(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Network(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl io::Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buffer),
            Self::Network(stream) => stream.write(buffer),
            Self::Encrypted(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let either = |host: &str, port, is_encrypted| Address::Network {
            host: host.to_owned(),
            port,
            is_encrypted,
        };
        let network = |host: &str, port| either(host, port, false);
        assert_eq!(Address::parse("tls:host:7").unwrap(), either("host", 7, true));
        assert_eq!(Address::parse("tls:[::1]").unwrap(), either("::1", PORT, true));
        assert_eq!(Address::parse("unix:a/b").unwrap(), Address::Unix("a/b".into()));
        assert_eq!(Address::parse("/run/s").unwrap(), Address::Unix("/run/s".into()));
        assert_eq!(Address::parse("host").unwrap(), network("host", PORT));
        assert_eq!(Address::parse("host:7").unwrap(), network("host", 7));
        assert_eq!(Address::parse("[::1]:7").unwrap(), network("::1", 7));
        assert_eq!(Address::parse("[::1]").unwrap(), network("::1", PORT));
        assert_eq!(Address::parse("::1").unwrap(), network("::1", PORT));
        for wrong in ["[::1", "[::1]7", "host:x", "host:99999"] {
            let error = Address::parse(wrong).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("Unable to connect to rrdcached: malformed address: {wrong}")
            );
        }
    }
}
