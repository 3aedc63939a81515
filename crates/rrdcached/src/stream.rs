//! A connection of a client: of this machine, of a network, or of a network and encrypted.

use std::io::{self, Read as _, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connection::{ServerTls, TlsStream};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::locks::lock;

/// How long a client may take to accept answers.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client that was refused is read from, so that it sees why: bytes that nobody reads
/// would make the system take the answer back.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 16;
/// A client that is silent for so long is asked whether it is there …
const KEEPALIVE_IDLE: Duration = Duration::from_secs(120);
/// … so often …
const KEEPALIVE_PROBES: u32 = 6;
/// … and left, if it does not answer.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Of this machine.
    Unix(UnixStream),
    /// Of a network.
    Tcp(TcpStream),
    /// Of a network, encrypted; one thread reads and writes.
    Tls(Arc<Mutex<TlsStream>>),
}

/// Who is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A user of this machine, by number.
    User(u32),
    /// An address of a network.
    Network(SocketAddr),
}

impl Peer {
    /// Whether connections of both count together: the port does not matter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User(one), Self::User(other)) => one == other,
            (Self::Network(one), Self::Network(other)) => one.ip() == other.ip(),
            _ => false,
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(number) => write!(out, "user {number}"),
            Self::Network(address) => write!(out, "{address}"),
        }
    }
}

impl Stream {
    /// A connection of this machine.
    pub(crate) fn unix(stream: UnixStream) -> io::Result<(Self, Peer)> {
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        let peer = Peer::User(sockopt::socket_peercred(&stream)?.uid.as_raw());
        Ok((Self::Unix(stream), peer))
    }

    /// A connection of a network, not encrypted yet.
    pub(crate) fn tcp(stream: TcpStream, address: SocketAddr) -> io::Result<(Self, Peer)> {
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        stream.set_nodelay(true)?;
        // A client that has vanished is noticed.
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
        Ok((Self::Tcp(stream), Peer::Network(address)))
    }

    /// The connection as `tls` asks for it: encrypted, if it does.  `seconds` is all the time that
    /// the handshake may take.
    ///
    /// # Errors
    /// A client that does not end its handshake in time, or whose certificate is refused.
    pub(crate) fn secured(self, tls: Option<&ServerTls>, seconds: u32) -> io::Result<Self> {
        let (Some(tls), Self::Tcp(socket)) = (tls, &self) else { return Ok(self) };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let end = Itimerspec {
            it_interval: none,
            it_value: Timespec { tv_sec: i64::from(seconds), tv_nsec: 0 },
        };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &end)?;
        let wait = |socket: &TcpStream| loop {
            let mut ready =
                [PollFd::new(&timer, PollFlags::IN), PollFd::new(socket, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if !ready[0].revents().is_empty() => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(_) => return Ok(()),
            }
        };
        match TlsStream::accept(tls, socket.try_clone()?, wait) {
            Ok(stream) => Ok(Self::Tls(Arc::new(Mutex::new(stream)))),
            Err(error) => {
                linger(socket);
                Err(error)
            }
        }
    }

    pub(crate) fn shut_down(&self) {
        // A client that has left is no fault.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Read),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Read),
            // Its thread waits in it; the socket below is shut down.
            Self::Tls(_) => Ok(()),
        };
    }

    /// Tells the client that nothing follows.
    pub(crate) fn close(&self) {
        if let Self::Tls(stream) = self {
            // A client that has left does not need it.
            let _ = lock(stream).close();
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Tls(stream) => lock(stream).socket().set_read_timeout(Some(timeout)),
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Tls(stream) => Self::Tls(Arc::clone(stream)),
        })
    }

    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Unix(stream) => stream.read(bytes),
                Self::Tcp(stream) => stream.read(bytes),
                Self::Tls(stream) => lock(stream).read(bytes),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Lines have ends: what is missing of the last one is seen without TLS.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
        }
    }
}

/// Why an encrypted connection was ended.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it left before the end of the handshake".to_owned(),
        io::ErrorKind::TimedOut => "it did not end the handshake in time".to_owned(),
        _ => connection::reason(error).unwrap_or_else(|| rrd::reason(error)),
    }
}

/// Reads what a client that was refused still sends, for a moment.
fn linger(socket: &TcpStream) {
    let _ = socket.shutdown(Shutdown::Write);
    let mut bytes = [0; 4096];
    let mut socket = socket;
    for _ in 0..LINGER_READS {
        let mut ready = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
        let patience = Timespec { tv_sec: LINGER.as_secs() as i64, tv_nsec: 0 };
        let is_ready = poll(&mut ready, Some(&patience)).is_ok_and(|count| count > 0);
        if !is_ready || !socket.read(&mut bytes).is_ok_and(|count| count > 0) {
            return;
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => lock(stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
