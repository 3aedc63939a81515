//! A listening TCP port: each client gets every message after it has connected.
//!
//! For each message one `accept`, and one `write` per client.  Never waits for a client: a client
//! that is too slow is disconnected, and the messages that it missed are counted.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::{Message, Sink, SinkCounts};

/// Unsent bytes that a client may have: more than a minute of all sources at 1 s.
const BACKLOG_BYTES_MAX: usize = 1024 * 1024;

/// The most clients at a time.
const CLIENTS_MAX: usize = 64;

/// A listening socket and its clients.
#[derive(Debug)]
pub struct ListenerSink {
    listener: TcpListener,
    clients: Vec<Client>,
    counts: SinkCounts,
}

#[derive(Debug)]
struct Client {
    stream: TcpStream,
    backlog: Vec<u8>,
}

impl Client {
    /// Sends the unsent bytes and `payload`; false if the client is gone or too slow.
    fn send(&mut self, payload: &[u8]) -> bool {
        self.backlog.extend_from_slice(payload);
        while !self.backlog.is_empty() {
            match self.stream.write(&self.backlog) {
                Ok(0) => return false,
                Ok(count) => drop(self.backlog.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        self.backlog.len() <= BACKLOG_BYTES_MAX
    }
}

impl ListenerSink {
    /// Listens on a port of all addresses; 0 for any that is free.
    ///
    /// # Errors
    /// The port is taken or not allowed.
    pub fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("0.0.0.0", port))?;
        listener.set_nonblocking(true)?;
        Ok(ListenerSink { listener, clients: Vec::new(), counts: SinkCounts::default() })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// If the system does not say it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Sink for ListenerSink {
    /// Counts a message as sent or dropped once per client; without clients it counts as neither.
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        let before = self.clients.len();
        self.clients.retain_mut(|client| client.send(message.payload));
        self.counts.calls += before as u64;
        self.counts.sent += self.clients.len() as u64;
        self.counts.dropped += (before - self.clients.len()) as u64;
        Ok(())
    }

    fn tend(&mut self) -> io::Result<()> {
        self.counts.calls += 1;
        while let Ok((stream, _)) = self.listener.accept() {
            self.counts.calls += 2;
            if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, backlog: Vec::new() });
            }
        }
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn it_survives_its_clients_and_drops_the_slow() {
        let mut listener = ListenerSink::open(0).unwrap();
        let address = (Ipv4Addr::LOCALHOST, listener.address().unwrap().port());
        let first = TcpStream::connect(address).unwrap();
        let second = TcpStream::connect(address).unwrap();
        while listener.clients.len() < 2 {
            listener.tend().unwrap();
        }
        listener.send(&Message { source: "h", sequence: 0, payload: b"one\n" }).unwrap();
        let mut line = String::new();
        BufReader::new(&first).read_line(&mut line).unwrap();
        assert_eq!(line, "one\n");
        drop(first);
        let long = vec![b'x'; 256 * 1024];
        for sequence in 1..65 {
            listener.send(&Message { source: "h", sequence, payload: &long }).unwrap();
        }
        assert!(listener.clients.is_empty(), "one is gone, the other reads nothing");
        assert_eq!(listener.counts().dropped, 2);
        drop(second);
    }
}
