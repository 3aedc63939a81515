//! How a daemon is named: `unix:PATH`, `/PATH`, `HOST`, `HOST:PORT` or `[IPv6]:PORT`, the last three
//! also with `tls:` in front.

use std::path::PathBuf;
use std::time::Duration;

use connection::{Address, AddressRules, ClientTls, SocketStream};

use crate::error::ClientError;

/// How addresses of daemons are written.
const RULES: AddressRules = AddressRules {
    default_port: Some(42217),
    is_path: |text| text.starts_with('/'),
    // Several colons are an address of IPv6 without a port.
    is_host: |host| !host.contains(':'),
};

/// How long the daemon may take to end a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The files of an encrypted connection, in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authorities (CA) that the daemon's certificate is checked by.
    pub authority: Option<PathBuf>,
    /// The client's own certificate.
    pub certificate: Option<PathBuf>,
    /// The key of the certificate; without it, the key in the certificate's file.
    pub key: Option<PathBuf>,
}

/// Reads the address of a daemon.
pub(crate) fn parse(given: &str) -> Result<Address, ClientError> {
    let malformed = |_| ClientError::Address(format!("malformed address: {given}"));
    Address::parse(given, &RULES).map_err(malformed)
}

/// Connects to a daemon; the connection blocks.
pub(crate) fn connect(address: &Address, files: &TlsFiles) -> Result<SocketStream, ClientError> {
    let (host, port, is_encrypted) = match address {
        Address::Unix(path) => {
            let stream = std::os::unix::net::UnixStream::connect(path);
            return stream.map(SocketStream::unix).map_err(ClientError::Connect);
        }
        Address::Network { host, port, is_encrypted } => (host, *port, *is_encrypted),
    };
    let tls = is_encrypted.then(|| files.load()).transpose()?;
    let addresses = connection::resolve(host, port).map_err(|error| {
        let what = "failed to resolve address";
        ClientError::Address(format!("{what} '{host}' (port {port}): {error}"))
    })?;
    let stream = connection::connect_tcp(addresses, None).map_err(ClientError::Connect)?;
    // Commands are single lines that are answered: no reason to wait.
    let _ = stream.set_nodelay(true);
    let plain = SocketStream::tcp(stream);
    let Some(tls) = tls else { return Ok(plain) };
    plain.greet_tls(&tls, host, HANDSHAKE_TIMEOUT).map_err(|error| {
        match connection::reason(&error) {
            Some(text) => ClientError::Tls(text),
            None => ClientError::Connect(error),
        }
    })
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
        assert_eq!(parse("tls:host:7").unwrap(), either("host", 7, true));
        assert_eq!(parse("tls:[::1]").unwrap(), either("::1", 42217, true));
        assert_eq!(parse("unix:a/b").unwrap(), Address::Unix("a/b".into()));
        assert_eq!(parse("/run/s").unwrap(), Address::Unix("/run/s".into()));
        assert_eq!(parse("host").unwrap(), network("host", 42217));
        assert_eq!(parse("host:7").unwrap(), network("host", 7));
        assert_eq!(parse("[::1]:7").unwrap(), network("::1", 7));
        assert_eq!(parse("[::1]").unwrap(), network("::1", 42217));
        assert_eq!(parse("::1").unwrap(), network("::1", 42217));
        for wrong in ["[::1", "[::1]7", "host:x", "host:99999"] {
            let error = parse(wrong).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("Unable to connect to rrdcached: malformed address: {wrong}")
            );
        }
    }
}
