//! A connection: over a Unix socket, TCP, or TLS over TCP, with one way to wait for all of them.
//!
//! Sockets never block: whoever must wait polls, for as long as the connection's own bound says.
//! Clones are the same connection with bounds of their own, so one thread can read while another
//! writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use connection::{ClientTls, ServerTls, TlsChannel, TlsStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

use crate::clock;

/// A peer that is silent for so long is asked whether it is still there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// Between two such questions; see [`KEEPALIVE_PROBES`].
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// A peer that answers none of so many is gone.
const KEEPALIVE_PROBES: u32 = 4;

/// How long a peer has to read why it is sent away.
const LINGER: Duration = Duration::from_secs(1);

/// How long reading and writing may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// As long as it takes.
    Forever,
    /// So long, each time that there is nothing to read or no room.
    For(Duration),
    /// Until then, for all together.
    Until(Instant),
    /// Not at all: `WouldBlock`.
    Never,
}

/// A connection.
#[derive(Debug, Clone)]
pub struct LogConnection {
    socket: Socket,
    wait: Wait,
}

#[derive(Debug, Clone)]
enum Socket {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Tls(TlsChannel),
}

impl LogConnection {
    /// A connection of this machine.
    ///
    /// # Errors
    /// If the system does not take an option.
    pub fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(LogConnection { socket: Socket::Unix(Arc::new(stream)), wait: Wait::Forever })
    }

    /// A connection of a network.
    ///
    /// # Errors
    /// If the system does not take an option.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        keep_alive(&stream)?;
        stream.set_nonblocking(true)?;
        Ok(LogConnection { socket: Socket::Tcp(Arc::new(stream)), wait: Wait::Forever })
    }

    /// The client's side of TLS's handshake.
    pub fn greet_tls(
        stream: TcpStream,
        host: &str,
        tls: &ClientTls,
        until: Instant,
    ) -> io::Result<Self> {
        keep_alive(&stream)?;
        let stream =
            TlsStream::connect_waiting(tls, host, stream, |socket| readable(socket, until));
        Self::secured(stream)
    }

    /// The server's side of TLS's handshake.
    pub fn answer_tls(stream: TcpStream, tls: &ServerTls, until: Instant) -> io::Result<Self> {
        keep_alive(&stream)?;
        let socket = stream.try_clone()?;
        let secured = TlsStream::accept(tls, stream, |socket| readable(socket, until));
        Self::secured(secured).inspect_err(|_| {
            // The client learns why, which a reset would take from it.
            if let Ok(connection) = Self::tcp(socket) {
                connection.linger();
            }
        })
    }

    fn secured(stream: io::Result<TlsStream>) -> io::Result<Self> {
        let channel = stream.and_then(TlsChannel::new).map_err(explained)?;
        Ok(LogConnection { socket: Socket::Tls(channel), wait: Wait::Forever })
    }

    /// Sets how long reading and writing may wait; clones keep their own bound.
    pub fn set_wait(&mut self, wait: Wait) {
        self.wait = wait;
    }

    /// Ends it: whoever reads from it sees its end.
    pub fn shut_down(&self) {
        // A peer that has left is no fault.
        let _ = match &self.socket {
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Tls(channel) => {
                channel.shut_down();
                Ok(())
            }
        };
    }

    /// Ends it when the peer has read what was written: bytes of the peer that nobody has read would
    /// make the system take the last words back.  Waits a second at most.
    pub fn linger(&self) {
        let until = clock::now() + LINGER;
        let done = match &self.socket {
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Tls(channel) => channel.end_writing(),
        };
        let mut reader = self.clone();
        reader.set_wait(Wait::Until(until));
        let mut piece = [0; 4096];
        while done.is_ok() && clock::now() < until && matches!(reader.read(&mut piece), Ok(1..)) {}
        self.shut_down();
    }

    fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &self.socket {
            Socket::Unix(stream) => now((&**stream).read(buffer)),
            Socket::Tcp(stream) => now((&**stream).read(buffer)),
            Socket::Tls(channel) => channel.read_now(buffer).map_err(explained),
        }
    }

    /// Gives away what the connection takes at once; `None` if that is nothing.
    ///
    /// # Errors
    /// As the system says.
    pub fn write_now(&self, buffer: &[u8]) -> io::Result<Option<usize>> {
        match &self.socket {
            Socket::Unix(stream) => now((&**stream).write(buffer)),
            Socket::Tcp(stream) => now((&**stream).write(buffer)),
            Socket::Tls(channel) => channel.write_now(buffer).map_err(explained),
        }
    }

    /// Writes all of it now, or nothing more can be written to this connection.
    ///
    /// # Errors
    /// If it does not fit into the socket's buffer: the peer does not read.
    pub fn write_all_now(&self, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            match self.write_now(left)? {
                Some(1..) if !self.is_flushed() => return Err(io::ErrorKind::WriteZero.into()),
                Some(count @ 1..) => left = &left[count..],
                _ => return Err(io::ErrorKind::WriteZero.into()),
            }
        }
        Ok(())
    }

    /// Whether the system has all that was written.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        match &self.socket {
            Socket::Unix(_) | Socket::Tcp(_) => true,
            Socket::Tls(channel) => channel.is_flushed(),
        }
    }

    /// Gives the system what was written, as far as it takes it.
    ///
    /// # Errors
    /// As the system says.
    pub fn flush_now(&self) -> io::Result<bool> {
        match &self.socket {
            Socket::Unix(_) | Socket::Tcp(_) => Ok(true),
            Socket::Tls(channel) => channel.flush_now(),
        }
    }

    /// Whether there is something to read, or the peer has left; waits for it so long at most.
    ///
    /// # Errors
    /// As the system says.
    pub fn is_readable(&self, wait: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        Ok(poll_for(&mut fds, Some(wait))? > 0)
    }

    /// Waits for the socket, as long as the bound says.
    fn wait_for(&self, flags: PollFlags) -> io::Result<()> {
        let wait = match self.wait {
            Wait::Never => return Err(io::ErrorKind::WouldBlock.into()),
            Wait::Forever => None,
            Wait::For(time) => Some(time),
            Wait::Until(until) => Some(until.saturating_duration_since(clock::now())),
        };
        let flags = if self.is_flushed() { flags } else { flags | PollFlags::OUT };
        match poll_for(&mut [PollFd::new(self, flags)], wait)? {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not answer")),
            _ => self.flush_now().map(drop),
        }
    }
}

/// Polls, over signals; gives how many are ready, 0 when the time is over.
fn poll_for(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<usize> {
    let until = wait.map(|wait| clock::now() + wait);
    loop {
        let left = until.map(|until| until.saturating_duration_since(clock::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(fds, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return Ok(ready?),
        }
    }
}

fn readable(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(clock::now());
    match poll_for(&mut [PollFd::new(socket, PollFlags::IN)], Some(left))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "TLS: the other side does not answer")),
        _ => Ok(()),
    }
}

/// A peer that has vanished is noticed; what is small is sent at once.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
    Ok(())
}

/// What cannot be done now is `None`.
fn now(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        done => done.map(Some),
    }
}

/// Says what TLS means.
fn explained(error: io::Error) -> io::Error {
    match connection::reason(&error) {
        Some(text) => io::Error::new(error.kind(), format!("TLS: {text}")),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "the other side closed the connection")
        }
        None => error,
    }
}

impl AsFd for LogConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Tls(channel) => channel.as_fd(),
        }
    }
}

impl Read for LogConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_now(buffer) {
                Ok(Some(count)) => return Ok(count),
                Ok(None) => self.wait_for(PollFlags::IN)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Write for LogConnection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match self.write_now(buffer) {
                Ok(Some(count)) => return Ok(count),
                Ok(None) => self.wait_for(PollFlags::OUT)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.flush_now()? {
            self.wait_for(PollFlags::OUT)?;
        }
        Ok(())
    }
}
