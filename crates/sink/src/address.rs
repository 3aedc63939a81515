//! The destination of live lines in collectl's syntax: `address[:port[:timeout]]` to connect,
//! `server[:port]` to listen.

use std::io;
use std::time::Duration;

use crate::tcp::connect;
use crate::{LineSocket, ListenerSink, Sink};

/// collectl's default port.
const PORT: u16 = 2655;

/// collectl's default timeout of a connection.
const CONNECT_TIMEOUT_SECONDS: u64 = 10;

/// The destination of live lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveAddress {
    /// Listen on a port.
    Server(u16),
    /// Connect: host, port, seconds to wait.
    Peer(String, u16, u64),
}

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveAddressError {
    /// The part before the port is missing.
    #[error("no address")]
    NoAddress,
    /// Not a port.
    #[error("'{0}' is not a port number")]
    NotAPort(String),
    /// Not a number of seconds.
    #[error("'{0}' is not a number of seconds")]
    NotSeconds(String),
    /// A server with a timeout.
    #[error("a server takes only a port: server[:port]")]
    ServerTimeout,
}

/// Why a socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Cannot listen.
    #[error("cannot listen on port {port}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// Cannot connect.
    #[error("cannot connect to {host}, port {port}")]
    Connect {
        /// The host.
        host: String,
        /// The port of the host.
        port: u16,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
}

impl LiveAddress {
    /// Parses an address; an IPv6 address must be in brackets.
    ///
    /// # Errors
    /// If the text is no address; the error says which part.
    pub fn parse(text: &str) -> Result<Self, LiveAddressError> {
        let (host, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or(rest)),
            None => text.split_once(':').unwrap_or((text, "")),
        };
        if host.is_empty() {
            return Err(LiveAddressError::NoAddress);
        }
        let (port, timeout) = rest.split_once(':').unwrap_or((rest, ""));
        let port = match port {
            "" => PORT,
            port => port.parse().map_err(|_| LiveAddressError::NotAPort(port.to_owned()))?,
        };
        if host.eq_ignore_ascii_case("server") {
            return match timeout {
                "" => Ok(LiveAddress::Server(port)),
                _ => Err(LiveAddressError::ServerTimeout),
            };
        }
        let timeout = match timeout {
            "" => CONNECT_TIMEOUT_SECONDS,
            seconds => seconds
                .parse()
                .ok()
                .filter(|&seconds| seconds > 0)
                .ok_or_else(|| LiveAddressError::NotSeconds(seconds.to_owned()))?,
        };
        Ok(LiveAddress::Peer(host.to_owned(), port, timeout))
    }

    /// Opens the socket.
    ///
    /// # Errors
    /// If the port cannot be listened on, or the host cannot be reached.
    pub fn open(&self) -> Result<Box<dyn Sink>, OpenError> {
        match self {
            LiveAddress::Server(port) => {
                let listener = ListenerSink::open(*port);
                let listener =
                    listener.map_err(|error| OpenError::Listen { port: *port, error })?;
                Ok(Box::new(listener))
            }
            LiveAddress::Peer(host, port, seconds) => {
                let stream = connect(host, *port, Duration::from_secs(*seconds));
                let stream = stream.map_err(|error| OpenError::Connect {
                    host: host.clone(),
                    port: *port,
                    error,
                })?;
                Ok(Box::new(LineSocket::new(stream)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parse = |text| LiveAddress::parse(text).unwrap();
        assert_eq!(parse("server"), LiveAddress::Server(2655));
        assert_eq!(parse("Server:99"), LiveAddress::Server(99));
        assert_eq!(parse("10.0.0.1"), LiveAddress::Peer("10.0.0.1".into(), 2655, 10));
        assert_eq!(parse("10.0.0.1::3"), LiveAddress::Peer("10.0.0.1".into(), 2655, 3));
        assert_eq!(parse("[::1]:7:2"), LiveAddress::Peer("::1".into(), 7, 2));
        for text in ["", ":7", "a:b", "a:70000", "a:7:0", "server:7:7"] {
            assert!(LiveAddress::parse(text).is_err(), "{text}");
        }
    }
}
