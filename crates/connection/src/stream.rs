//! A connection: over a Unix socket, TCP, or TLS over TCP.
//!
//! As it is made its socket blocks: a read is one system call, bounded by the socket's own time-outs.
//! After [`SocketStream::polling`] it does not: whoever must wait polls, for as long as the connection's
//! own bound says.  Clones are the same connection with bounds of their own, so one thread can read
//! while another writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::clock;
use crate::files::{ClientTls, ServerTls};
use crate::tls::TlsStream;

/// How long a peer has to read why it is sent away.
const LINGER: Duration = Duration::from_secs(1);

/// Plain bytes that wait to be encrypted where the writer does not wait: sixteen records of TLS.
const POLLING_BYTES_MAX: usize = 256 << 10;

/// How long reading and writing may wait, of a connection that polls.
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

/// How TCP notices that a silent peer has vanished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Sends a keepalive after this long without bytes of the peer.
    pub idle: Duration,
    /// Sends the next after this long without an answer.
    pub interval: Duration,
    /// Ends the connection after so many without an answer.
    pub probes: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), interval: Duration::from_secs(15), probes: 4 }
    }
}

/// A connection.
#[derive(Debug, Clone)]
pub struct SocketStream {
    socket: Socket,
    polls: bool,
    wait: Wait,
}

#[derive(Debug, Clone)]
enum Socket {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Tls(TlsStream),
}

impl SocketStream {
    /// A connection of this machine, which blocks.
    #[must_use]
    pub fn unix(stream: UnixStream) -> Self {
        Self::new(Socket::Unix(Arc::new(stream)))
    }

    /// A connection of a network, which blocks and is not encrypted.
    #[must_use]
    pub fn tcp(stream: TcpStream) -> Self {
        Self::new(Socket::Tcp(Arc::new(stream)))
    }

    fn new(socket: Socket) -> Self {
        Self { socket, polls: false, wait: Wait::Forever }
    }

    /// Whether it goes over a network and is not encrypted.
    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self.socket, Socket::Tcp(_))
    }

    /// Whether it is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// The TCP socket, also below TLS.
    fn tcp_socket(&self) -> Option<&Arc<TcpStream>> {
        match &self.socket {
            Socket::Unix(_) => None,
            Socket::Tcp(stream) => Some(stream),
            Socket::Tls(stream) => Some(&stream.socket),
        }
    }

    /// Makes the socket of the connection non-blocking.
    ///
    /// # Errors
    /// If the system does not take the option.
    pub fn polling(mut self) -> io::Result<Self> {
        match &self.socket {
            Socket::Unix(stream) => stream.set_nonblocking(true)?,
            Socket::Tcp(stream) => stream.set_nonblocking(true)?,
            Socket::Tls(stream) => {
                stream.socket.set_nonblocking(true)?;
                stream.set_room(POLLING_BYTES_MAX);
            }
        }
        self.polls = true;
        Ok(self)
    }

    /// Sends what is small at once, and notices a peer that has vanished.  A Unix socket needs neither.
    ///
    /// # Errors
    /// If the system does not take an option.
    pub fn keep_alive(&self, keepalive: &Keepalive) -> io::Result<()> {
        let Some(stream) = self.tcp_socket() else { return Ok(()) };
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, keepalive.idle)?;
        sockopt::set_tcp_keepintvl(stream, keepalive.interval)?;
        sockopt::set_tcp_keepcnt(stream, keepalive.probes)?;
        Ok(())
    }

    /// Bounds each read of a connection that blocks; `None` waits as long as it takes.
    ///
    /// # Errors
    /// If the system does not take the option.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match (&self.socket, self.tcp_socket()) {
            (Socket::Unix(stream), _) => stream.set_read_timeout(timeout),
            (_, Some(stream)) => stream.set_read_timeout(timeout),
            _ => Ok(()),
        }
    }

    /// Bounds each write of a connection that blocks; `None` waits as long as it takes.
    ///
    /// # Errors
    /// If the system does not take the option.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match (&self.socket, self.tcp_socket()) {
            (Socket::Unix(stream), _) => stream.set_write_timeout(timeout),
            (_, Some(stream)) => stream.set_write_timeout(timeout),
            _ => Ok(()),
        }
    }

    /// Sets how long reading and writing may wait, if it polls; clones keep their own bound.
    pub fn set_wait(&mut self, wait: Wait) {
        self.wait = wait;
    }

    /// The client's side of TLS's handshake, with a server whose certificate must be for the host.
    ///
    /// # Errors
    /// If the handshake is not ended in time, or one side does not trust the other.
    pub fn greet_tls(self, tls: &ClientTls, host: &str, timeout: Duration) -> io::Result<Self> {
        let until = clock::now() + timeout;
        let Socket::Tcp(socket) = self.socket else { return Ok(self) };
        let stream = TlsStream::connect(tls, host, socket, |socket| readable(socket, until))?;
        Ok(Self { socket: Socket::Tls(stream), ..self })
    }

    /// The server's side of TLS's handshake.
    pub(crate) fn answer_tls(self, tls: &ServerTls, timeout: Duration) -> io::Result<Self> {
        let until = clock::now() + timeout;
        let Socket::Tcp(socket) = self.socket else { return Ok(self) };
        let stream = TlsStream::accept(tls, socket, |socket| readable(socket, until))?;
        Ok(Self { socket: Socket::Tls(stream), ..self })
    }

    /// Ends it: whoever reads from it sees its end.
    pub fn shut_down(&self) {
        // A peer that has left is no fault.
        let _ = self.end(Shutdown::Both);
    }

    /// Lets whoever reads from it see its end; what is written is still sent.
    pub fn end_reading(&self) {
        // A peer that has left is no fault.
        let _ = match &self.socket {
            Socket::Unix(stream) => stream.shutdown(Shutdown::Read),
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Read),
            Socket::Tls(stream) => stream.socket.shutdown(Shutdown::Read),
        };
    }

    /// Tells the peer that nothing follows; reading goes on.
    ///
    /// # Errors
    /// If the peer has left.
    pub fn end_writing(&self) -> io::Result<()> {
        self.end(Shutdown::Write)
    }

    fn end(&self, how: Shutdown) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(stream) => stream.shutdown(how),
            Socket::Tcp(stream) => stream.shutdown(how),
            Socket::Tls(stream) => stream.end(how),
        }
    }

    /// Ends it when the peer has read what was written: bytes of the peer that nobody has read would
    /// make the system take the last words back.  Waits a second at most.
    pub fn linger(&self) {
        let until = clock::now() + LINGER;
        let ended = self.end_writing();
        let mut piece = [0; 4096];
        while ended.is_ok()
            && self.is_readable(clock::left(until)).unwrap_or(false)
            && matches!(self.read_now(&mut piece), Ok(None | Some(1..)))
        {}
        self.shut_down();
    }

    fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &self.socket {
            Socket::Unix(stream) => now((&**stream).read(buffer)),
            Socket::Tcp(stream) => now((&**stream).read(buffer)),
            Socket::Tls(stream) => stream.read_now(buffer),
        }
    }

    /// Gives the system what it takes at once; `None` if that is nothing.
    ///
    /// # Errors
    /// If the peer has left, or does not speak TLS.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match &self.socket {
            Socket::Unix(stream) => now((&**stream).write(bytes)),
            Socket::Tcp(stream) => now((&**stream).write(bytes)),
            Socket::Tls(stream) => stream.write_now(bytes),
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
            Socket::Tls(stream) => stream.is_flushed(),
        }
    }

    /// Gives the system what was written, as far as it takes it; whether that was all.
    ///
    /// # Errors
    /// If the peer has left.
    pub fn flush_now(&self) -> io::Result<bool> {
        match &self.socket {
            Socket::Unix(_) | Socket::Tcp(_) => Ok(true),
            Socket::Tls(stream) => stream.flush_now(),
        }
    }

    /// Whether there is something to read, or the peer has left; waits for it so long at most.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn is_readable(&self, wait: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        Ok(poll_for(&mut fds, Some(wait))? > 0)
    }

    /// Waits for the socket, as long as the bound says.
    fn wait_for(&self, flags: PollFlags) -> io::Result<()> {
        if !self.polls {
            // The socket's own time-out has passed.
            return Err(Errno::AGAIN.into());
        }
        let wait = match self.wait {
            Wait::Never => return Err(io::ErrorKind::WouldBlock.into()),
            Wait::Forever => None,
            Wait::For(time) => Some(time),
            Wait::Until(until) => Some(clock::left(until)),
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
        let left = until.map(clock::left).map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready?),
        }
    }
}

fn readable(socket: &TcpStream, until: Instant) -> io::Result<()> {
    match poll_for(&mut [PollFd::new(socket, PollFlags::IN)], Some(clock::left(until)))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "TLS: the other side does not answer")),
        _ => Ok(()),
    }
}

/// What cannot be done now is `None`.
fn now(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        done => done.map(Some),
    }
}

impl AsFd for SocketStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Tls(stream) => stream.socket.as_fd(),
        }
    }
}

impl Read for SocketStream {
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

impl Write for SocketStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match self.write_now(buffer) {
                // A socket that blocks has taken too long.
                Ok(Some(_)) if !self.polls && !self.is_flushed() => return Err(Errno::AGAIN.into()),
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
