//! A sink that sends messages of RFC 5424: to a local socket, by UDP, or by TCP (RFC 6587).
//!
//! One system call for each message, as the protocol has it.  What cannot be sent waits; a server
//! that was started anew is connected again.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rustix::io::Errno;

use crate::format::RecordFormat as _;
use crate::record::LogRecord;
use crate::sink::LogSink;
use crate::syslog::SyslogFormat;

/// Longest time that connecting may take, and sending of one message.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes that every receiver takes (RFC 5424, 6.1): what is too long for the socket is cut, but not
/// below.
const MESSAGE_BYTES_MIN: usize = 480;

/// Where syslog listens.
#[derive(Debug)]
enum SyslogSocket {
    Local(UnixDatagram),
    Udp(UdpSocket),
    /// Messages are preceded by their length (RFC 6587).
    Tcp(TcpStream),
}

impl SyslogSocket {
    fn open(target: &str) -> io::Result<Self> {
        if let Some(address) = target.strip_prefix("tcp:") {
            let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
            for address in address.to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, PATIENCE) {
                    Ok(stream) => {
                        stream.set_write_timeout(Some(PATIENCE))?;
                        return Ok(SyslogSocket::Tcp(stream));
                    }
                    Err(error) => last = error,
                }
            }
            return Err(last);
        }
        if target.contains('/') {
            let socket = UnixDatagram::unbound()?;
            socket.connect(target)?;
            socket.set_write_timeout(Some(PATIENCE))?;
            return Ok(SyslogSocket::Local(socket));
        }
        let socket = UdpSocket::bind(("::", 0)).or_else(|_| UdpSocket::bind(("0.0.0.0", 0)))?;
        socket.connect(target)?;
        Ok(SyslogSocket::Udp(socket))
    }

    fn send(&mut self, mut text: &[u8]) -> io::Result<()> {
        loop {
            let sent = match self {
                SyslogSocket::Local(socket) => socket.send(text),
                SyslogSocket::Udp(socket) => socket.send(text),
                SyslogSocket::Tcp(stream) => {
                    let mut message = format!("{} ", text.len()).into_bytes();
                    message.extend_from_slice(text);
                    return stream.write_all(&message);
                }
            };
            match sent {
                Err(error)
                    if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error())
                        && text.len() > MESSAGE_BYTES_MIN =>
                {
                    text = &text[..(text.len() / 2).max(MESSAGE_BYTES_MIN)];
                }
                other => return other.map(drop),
            }
        }
    }
}

/// Sends messages of RFC 5424.
pub struct SyslogSink {
    format: SyslogFormat,
    target: String,
    socket: SyslogSocket,
    message: Vec<u8>,
    /// What could not be sent.
    waiting: VecDeque<Vec<u8>>,
}

impl SyslogSink {
    /// Sends to `/dev/log` or another path, `HOST:PORT` (UDP), or `tcp:HOST:PORT`.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(target: &str, facility: u8) -> io::Result<Self> {
        Ok(SyslogSink {
            format: SyslogFormat::new(facility),
            target: target.to_owned(),
            socket: SyslogSocket::open(target)?,
            message: Vec::new(),
            waiting: VecDeque::new(),
        })
    }

    /// Sends, over a new connection if the old one is broken.
    fn send(&mut self, text: &[u8]) -> io::Result<()> {
        let Err(error) = self.socket.send(text) else { return Ok(()) };
        // A message that was sent in part must not be followed by another.
        let is_slow = error.kind() == io::ErrorKind::WouldBlock;
        if is_slow && !matches!(self.socket, SyslogSocket::Tcp(_)) {
            return Err(error);
        }
        self.socket = SyslogSocket::open(&self.target)?;
        if is_slow { Err(error) } else { self.socket.send(text) }
    }
}

impl LogSink for SyslogSink {
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()> {
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        self.format.put(&mut message, record);
        let text = message.trim_ascii_end();
        let sent = match self.waiting.is_empty() {
            true => self.send(text),
            false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        };
        if sent.is_err() {
            self.waiting.push_back(text.to_vec());
        }
        self.message = message;
        sent
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some(text) = self.waiting.pop_front() {
            if let Err(error) = self.send(&text) {
                self.waiting.push_front(text);
                return Err(error);
            }
        }
        Ok(())
    }
}
