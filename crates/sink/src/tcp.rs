//! TCP: a connection that stays open, and is opened again after a failure.  One `write` a message.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::{Message, Transport};

/// Timeout of connecting and of writing, as in collectl.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends payloads one after the other over TCP.
#[derive(Debug)]
pub struct TcpTransport {
    host: String,
    port: u16,
    connection: Option<TcpStream>,
}

impl TcpTransport {
    /// To a host by name or address; connects with the first message.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        TcpTransport { host: host.into(), port, connection: None }
    }

    fn connected(&mut self) -> io::Result<&mut TcpStream> {
        if self.connection.is_none() {
            self.connection = Some(connect(&self.host, self.port, TIMEOUT)?);
        }
        self.connection.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Transport for TcpTransport {
    fn deliver(&mut self, message: &Message<'_>) -> io::Result<()> {
        let done = self.connected().and_then(|connection| connection.write_all(message.payload));
        if done.is_err() {
            // The peer may have a part of the message: the next one needs a new connection.
            self.connection = None;
        }
        done
    }

    fn peer(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Connects to a host by name or address; the time is also that of each write.
pub(crate) fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let stream = connection::connect_tcp(connection::resolve(host, port)?, Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_is_opened_again_when_the_peer_is_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut transport = TcpTransport::new("127.0.0.1", port);
        let message = |payload| Message { source: "h", sequence: 0, payload };
        transport.deliver(&message(b"one\n")).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut line = [0; 4];
        peer.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"one\n");
        drop((peer, listener));
        // Our kernel may accept the first writes after the peer has closed the connection.
        while transport.deliver(&message(b"two\n")).is_ok() {}
        assert!(transport.deliver(&message(b"two\n")).is_err(), "nobody listens");
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        transport.deliver(&message(b"three\n")).unwrap();
        drop(transport);
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "three\n");
    }
}
