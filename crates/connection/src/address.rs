//! Addresses: `unix:PATH`, a path, `HOST`, `HOST:PORT` or `[IPv6]:PORT`, the last three also encrypted,
//! with `tls:` in front.
//!
//! Protocols differ in which of these they take; [`AddressRules`] says how.  A port is a number or the
//! name of a service, as services(5) has it.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

/// Names of services and their ports.
const SERVICES: &str = "/etc/services";
/// Most bytes of it: fifty times those of a usual one.
const SERVICES_BYTES_MAX: u64 = 1 << 20;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host and a port.
    Network {
        /// The name or number of the host, without brackets.
        host: String,
        /// The port.
        port: u16,
        /// Whether TLS is spoken.
        is_encrypted: bool,
    },
}

/// How the addresses of a protocol are written.
#[derive(Debug, Clone, Copy)]
pub struct AddressRules {
    /// The port of an address that names none; `None`: each names a host and a port.
    pub default_port: Option<u16>,
    /// Whether a text is a path, also without `unix:`.
    pub is_path: fn(&str) -> bool,
    /// Whether text before the last colon is a host, without brackets; otherwise the colon belongs to
    /// the host, an address of IPv6.
    pub is_host: fn(&str) -> bool,
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A path with `tls:` in front.
    #[error("a socket file is not encrypted")]
    EncryptedFile,
    /// `unix:` without a path.
    #[error("a socket file needs a name")]
    NoPath,
    /// There is no port, or no host, and the protocol wants both.
    #[error("there is no host or no port")]
    Incomplete,
    /// What stands after the colon is no port.
    #[error("'{0}' is no port")]
    NotAPort(String),
    /// A bracket is opened and not closed.
    #[error("a ] is missing")]
    NoBracket,
    /// Something other than a port follows the bracket.
    #[error("'{0}' follows the address")]
    AfterBracket(String),
}

impl Address {
    /// Reads an address by the rules of its protocol.
    ///
    /// # Errors
    /// If the text is no address of the protocol.
    pub fn parse(text: &str, rules: &AddressRules) -> Result<Self, AddressError> {
        let encrypted = text.strip_prefix("tls:");
        let (rest, is_encrypted) = (encrypted.unwrap_or(text), encrypted.is_some());
        let path = rest.strip_prefix("unix:");
        if let Some(path) = path.or_else(|| Some(rest).filter(|rest| (rules.is_path)(rest))) {
            return match path {
                _ if is_encrypted => Err(AddressError::EncryptedFile),
                "" => Err(AddressError::NoPath),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let (host, port) = split(rest, rules)?;
        let port = match port {
            Some(port) => port_of(port).ok_or_else(|| AddressError::NotAPort(port.to_owned()))?,
            None => rules.default_port.ok_or(AddressError::Incomplete)?,
        };
        if host.is_empty() && rules.default_port.is_none() {
            return Err(AddressError::Incomplete);
        }
        Ok(Self::Network { host: host.to_owned(), port, is_encrypted })
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Network { is_encrypted: true, .. })
    }
}

/// The host and the port of a text.
fn split<'a>(
    text: &'a str,
    rules: &AddressRules,
) -> Result<(&'a str, Option<&'a str>), AddressError> {
    let Some(rest) = text.strip_prefix('[') else {
        return Ok(match text.rsplit_once(':') {
            Some((host, port)) if (rules.is_host)(host) => (host, Some(port)),
            _ => (text, None),
        });
    };
    let (host, rest) = rest.split_once(']').ok_or(AddressError::NoBracket)?;
    match rest.strip_prefix(':') {
        None if !rest.is_empty() => Err(AddressError::AfterBracket(rest.to_owned())),
        port => Ok((host, port)),
    }
}

/// The port of a number or of a service's name.
fn port_of(text: &str) -> Option<u16> {
    if let Ok(port) = text.parse() {
        return Some(port);
    }
    let mut services = Vec::new();
    File::open(SERVICES).ok()?.take(SERVICES_BYTES_MAX).read_to_end(&mut services).ok()?;
    service_port(&String::from_utf8_lossy(&services), text)
}

/// The port of TCP that lines of services(5) give to a name: `http 80/tcp www # World Wide Web`.
fn service_port(services: &str, name: &str) -> Option<u16> {
    let port = |line: &str| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let (first, place) = (words.next()?, words.next()?);
        let (port, protocol) = place.split_once('/')?;
        let is_named = first == name || words.any(|alias| alias == name);
        port.parse().ok().filter(|_| is_named && protocol == "tcp")
    };
    services.lines().find_map(port)
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(out, "{}", path.display()),
            Self::Network { host, port, is_encrypted } => {
                let prefix = if *is_encrypted { "tls:" } else { "" };
                match host.contains(':') {
                    true => write!(out, "{prefix}[{host}]:{port}"),
                    false => write!(out, "{prefix}{host}:{port}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A protocol with a port of its own.
    const SHORT: AddressRules = AddressRules {
        default_port: Some(7),
        is_path: |text| text.starts_with('/'),
        is_host: |host| !host.contains(':'),
    };

    fn network(host: &str, port: u16, is_encrypted: bool) -> Address {
        Address::Network { host: host.to_owned(), port, is_encrypted }
    }

    #[test]
    fn addresses_are_read_by_their_rules() {
        let long = AddressRules { default_port: None, is_path: |text| text.contains('/'), ..SHORT };
        let cases = [
            (SHORT, "unix:a/b", Ok(Address::Unix("a/b".into()))),
            (SHORT, "/run/s:1", Ok(Address::Unix("/run/s:1".into()))),
            (SHORT, "host", Ok(network("host", 7, false))),
            (SHORT, "tls:host:9", Ok(network("host", 9, true))),
            (SHORT, "::1", Ok(network("::1", 7, false))),
            (SHORT, "tls:[::1]", Ok(network("::1", 7, true))),
            (SHORT, "[::1]:9", Ok(network("::1", 9, false))),
            (SHORT, "", Ok(network("", 7, false))),
            (SHORT, "unix:", Err(AddressError::NoPath)),
            (SHORT, "tls:/run/s", Err(AddressError::EncryptedFile)),
            (SHORT, "[::1", Err(AddressError::NoBracket)),
            (SHORT, "[::1]9", Err(AddressError::AfterBracket("9".to_owned()))),
            (SHORT, "host:70000", Err(AddressError::NotAPort("70000".to_owned()))),
            (long, "a/b", Ok(Address::Unix("a/b".into()))),
            (long, "host", Err(AddressError::Incomplete)),
            (long, ":9", Err(AddressError::Incomplete)),
        ];
        for (rules, text, address) in cases {
            assert_eq!(Address::parse(text, &rules), address, "{text}");
        }
    }

    #[test]
    fn services_have_ports() {
        let text = "# names\nntp 123/udp\nhttp\t80/tcp  www web # web\nodd 99999/tcp\nshort\n";
        for (name, port) in [
            ("http", Some(80)),
            ("web", Some(80)),
            ("ntp", None),
            ("#", None),
            ("odd", None),
            ("short", None),
            ("", None),
        ] {
            assert_eq!(service_port(text, name), port, "{name}");
        }
    }

    #[test]
    fn an_address_is_shown_as_it_is_read() {
        for text in ["/run/s", "host:9", "tls:host:9", "tls:[::1]:9"] {
            assert_eq!(Address::parse(text, &SHORT).unwrap().to_string(), text);
        }
    }
}
