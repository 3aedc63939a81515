//! How a daemon is named: `unix:PATH`, `/PATH`, `HOST`, `HOST:PORT` or `[IPv6]:PORT`.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

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
    },
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Network(TcpStream),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let malformed = || ClientError::Address(format!("malformed address: {text}"));
        let port = |port: &str| port.parse().map_err(|_| malformed());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(malformed)?;
                match rest.strip_prefix(':') {
                    Some(given) => (host, port(given)?),
                    None if rest.is_empty() => (host, PORT),
                    None => return Err(malformed()),
                }
            }
            None => match text.rsplit_once(':') {
                Some((host, given)) if !host.contains(':') => (host, port(given)?),
                // Several colons are an address of IPv6 without a port.
                _ => (text, PORT),
            },
        };
        Ok(Self::Network { host: host.to_owned(), port })
    }

    pub(crate) fn connect(&self) -> Result<Stream, ClientError> {
        match self {
            Self::Unix(path) => {
                UnixStream::connect(path).map(Stream::Unix).map_err(ClientError::Connect)
            }
            Self::Network { host, port } => {
                let unresolved = |error: io::Error| {
                    let what = "failed to resolve address";
                    ClientError::Address(format!("{what} '{host}' (port {port}): {error}"))
                };
                let addresses = (host.as_str(), *port).to_socket_addrs().map_err(unresolved)?;
                let mut failed = None;
                for address in addresses {
                    match TcpStream::connect(address) {
                        Ok(stream) => {
                            // Commands are single lines that are answered: no reason to wait.
                            let _ = stream.set_nodelay(true);
                            return Ok(Stream::Network(stream));
                        }
                        Err(error) => failed = Some(error),
                    }
                }
                let failed = failed.unwrap_or_else(|| io::ErrorKind::NotFound.into());
                Err(ClientError::Connect(failed))
            }
        }
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Network(stream) => stream.read(buffer),
        }
    }
}

impl io::Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buffer),
            Self::Network(stream) => stream.write(buffer),
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
        let network = |host: &str, port| Address::Network { host: host.to_owned(), port };
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
