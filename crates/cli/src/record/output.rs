//! Where live text goes: the terminal, a socket we connect to, or sockets that connect to us.
//!
//! Each takes the text of one interval at a time and makes one `write` of it (and one `accept`
//! for the listener).  A listener never waits for its clients: one that does not keep up is
//! dropped.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, ensure};

/// collectl's port.
const PORT: u16 = 2655;

/// How long connecting may take, unless `-A address:port:timeout` says otherwise; collectl's.
const CONNECT_TIMEOUT_SECONDS: u64 = 10;

/// Unsent text that a client of the listener may have.  More than a minute of everything at 1 s.
const BACKLOG_BYTES_MAX: usize = 1024 * 1024;

/// Clients of the listener at a time.
const CLIENTS_MAX: usize = 64;

/// A place for live text.
pub(crate) trait Output {
    /// Sends the text of one interval; returns the system calls it took.
    ///
    /// # Errors
    /// Those after which sending more makes no sense.
    fn send(&mut self, text: &[u8]) -> io::Result<u64>;

    /// Does what is due whether or not there is text: takes in new clients.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn tend(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

/// Standard output.
pub(crate) struct Screen;

impl Output for Screen {
    fn send(&mut self, mut text: &[u8]) -> io::Result<u64> {
        let mut calls = 0;
        while !text.is_empty() {
            calls += 1;
            match rustix::io::write(rustix::stdio::stdout(), text) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => text = &text[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(calls)
    }
}

/// `-A address`: a connection of ours.  Each line begins with the host's name.
pub(crate) struct Push {
    stream: TcpStream,
    prefix: Vec<u8>,
    text: Vec<u8>,
}

impl Output for Push {
    fn send(&mut self, text: &[u8]) -> io::Result<u64> {
        self.text.clear();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            self.text.extend_from_slice(&self.prefix);
            self.text.extend_from_slice(line);
        }
        self.stream.write_all(&self.text)?;
        Ok(1)
    }
}

/// `-A server`: whoever connects gets every interval from then on.
pub(crate) struct Listen {
    listener: TcpListener,
    clients: Vec<Client>,
}

struct Client {
    stream: TcpStream,
    backlog: Vec<u8>,
}

impl Client {
    /// Sends what is unsent and `text`; false when the client is gone or too slow.
    fn send(&mut self, text: &[u8]) -> bool {
        self.backlog.extend_from_slice(text);
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

impl Output for Listen {
    fn send(&mut self, text: &[u8]) -> io::Result<u64> {
        let calls = self.clients.len() as u64;
        self.clients.retain_mut(|client| client.send(text));
        Ok(calls)
    }

    fn tend(&mut self) -> io::Result<u64> {
        let mut calls = 1;
        while let Ok((stream, _)) = self.listener.accept() {
            calls += 2;
            if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, backlog: Vec::new() });
            }
        }
        Ok(calls)
    }
}

/// What `-A` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// Listen on a port.
    Server(u16),
    /// Connect: host, port, seconds to wait.
    Peer(String, u16, u64),
}

impl Address {
    /// Parses `address[:port[:timeout]]` or `server[:port]`; an IPv6 address stands in brackets.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let (host, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or(rest)),
            None => text.split_once(':').unwrap_or((text, "")),
        };
        ensure!(!host.is_empty(), "-A {text}: no address");
        let (port, timeout) = rest.split_once(':').unwrap_or((rest, ""));
        let port = match port {
            "" => PORT,
            port => port.parse().with_context(|| format!("-A {text}: '{port}' is no port"))?,
        };
        if host.eq_ignore_ascii_case("server") {
            ensure!(timeout.is_empty(), "-A {text}: a server has a port and nothing else");
            return Ok(Address::Server(port));
        }
        let timeout = match timeout {
            "" => CONNECT_TIMEOUT_SECONDS,
            seconds => seconds
                .parse()
                .ok()
                .filter(|&seconds| seconds > 0)
                .with_context(|| format!("-A {text}: '{seconds}' is no number of seconds"))?,
        };
        Ok(Address::Peer(host.to_owned(), port, timeout))
    }

    /// Opens the socket.
    pub(crate) fn open(&self, host: &str) -> anyhow::Result<Box<dyn Output>> {
        match self {
            Address::Server(port) => {
                let listener = TcpListener::bind(("0.0.0.0", *port))
                    .with_context(|| format!("cannot listen on port {port}"))?;
                listener.set_nonblocking(true).context("cannot listen without waiting")?;
                Ok(Box::new(Listen { listener, clients: Vec::new() }))
            }
            Address::Peer(peer, port, timeout) => {
                let context = || format!("cannot connect to {peer}, port {port}");
                let mut addresses =
                    (peer.as_str(), *port).to_socket_addrs().with_context(context)?;
                let address = addresses.next().with_context(context)?;
                let timeout = Duration::from_secs(*timeout);
                let stream = TcpStream::connect_timeout(&address, timeout).with_context(context)?;
                stream.set_write_timeout(Some(timeout)).with_context(context)?;
                let prefix = format!("{host} ").into_bytes();
                Ok(Box::new(Push { stream, prefix, text: Vec::new() }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};

    #[test]
    fn addresses() {
        let parse = |text| Address::parse(text).unwrap();
        assert_eq!(parse("server"), Address::Server(2655));
        assert_eq!(parse("Server:99"), Address::Server(99));
        assert_eq!(parse("10.0.0.1"), Address::Peer("10.0.0.1".into(), 2655, 10));
        assert_eq!(parse("10.0.0.1::3"), Address::Peer("10.0.0.1".into(), 2655, 3));
        assert_eq!(parse("[::1]:7:2"), Address::Peer("::1".into(), 7, 2));
        for text in ["", ":7", "a:b", "a:70000", "a:7:0", "server:7:7"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_push_names_the_host_on_every_line() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut push = Address::parse(&format!("127.0.0.1:{port}")).unwrap().open("h1").unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        push.send(b"#cpu\n 1\n").unwrap();
        drop(push);
        let mut text = String::new();
        peer.read_to_string(&mut text).unwrap();
        assert_eq!(text, "h1 #cpu\nh1  1\n");
    }

    #[test]
    fn a_listener_survives_its_clients_and_drops_the_slow() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let mut listen = Listen { listener, clients: Vec::new() };
        let first = TcpStream::connect(address).unwrap();
        let second = TcpStream::connect(address).unwrap();
        while listen.clients.len() < 2 {
            listen.tend().unwrap();
        }
        listen.send(b"one\n").unwrap();
        let mut line = String::new();
        BufReader::new(&first).read_line(&mut line).unwrap();
        assert_eq!(line, "one\n");
        drop(first);
        let long = vec![b'x'; 256 * 1024];
        for _ in 0..64 {
            listen.send(&long).unwrap();
        }
        assert!(listen.clients.is_empty(), "one is gone, the other reads nothing");
        drop(second);
    }
}
