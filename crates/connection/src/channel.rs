//! A connection that two threads use: one reads while another writes, and neither waits inside.
//!
//! What is read and written is taken or given at once; whoever must wait polls the socket, outside
//! of the lock that both share.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::Connection;

use crate::stream::TlsStream;

/// Plain bytes that wait to be encrypted: sixteen records of the protocol.
const PLAIN_BYTES_MAX: usize = 256 << 10;

/// An encrypted connection, of which each clone is the same.
#[derive(Debug, Clone)]
pub struct TlsChannel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connection: Mutex<Connection>,
    socket: TcpStream,
}

impl TlsChannel {
    /// Takes over a connection whose handshake is done; its socket does not block any more.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn new(stream: TlsStream) -> io::Result<Self> {
        let (mut connection, socket) = stream.into_parts();
        socket.set_nonblocking(true)?;
        connection.set_buffer_limit(Some(PLAIN_BYTES_MAX));
        Ok(Self(Arc::new(Shared { connection: Mutex::new(connection), socket })))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has come; `None` if nothing has, 0 at the end.
    ///
    /// # Errors
    /// Those of the socket; [`crate::reason()`] of the others.
    pub fn read_now(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let mut connection = self.lock();
        loop {
            match connection.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(Some),
            }
            // An update of keys is answered.
            self.flush(&mut connection)?;
            match connection.read_tls(&mut &self.0.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if let Err(error) = connection.process_new_packets() {
                // The other side learns why; that it does not matter here.
                let _ = self.flush(&mut connection);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }

    /// Takes some of the bytes; `None` if what was taken before is not sent yet.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut connection = self.lock();
        if !self.flush(&mut connection)? {
            return Ok(None);
        }
        let taken = connection.writer().write(bytes)?;
        self.flush(&mut connection)?;
        Ok(Some(taken))
    }

    /// Sends what waits, as far as the socket takes it; whether that was all.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn flush_now(&self) -> io::Result<bool> {
        self.flush(&mut self.lock())
    }

    /// Whether all that was taken is sent.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        !self.lock().wants_write()
    }

    fn flush(&self, connection: &mut Connection) -> io::Result<bool> {
        while connection.wants_write() {
            match connection.write_tls(&mut &self.0.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Tells the other side that nothing follows; reading goes on.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn end_writing(&self) -> io::Result<()> {
        let mut connection = self.lock();
        connection.send_close_notify();
        self.flush(&mut connection)?;
        self.0.socket.shutdown(Shutdown::Write)
    }

    /// Ends it: the other side learns that nothing follows, whoever reads here sees the end.
    pub fn shut_down(&self) {
        let mut connection = self.lock();
        connection.send_close_notify();
        // A peer that is gone need not learn it.
        let _ = self.flush(&mut connection);
        let _ = self.0.socket.shutdown(Shutdown::Both);
    }
}

impl AsFd for TlsChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.socket.as_fd()
    }
}
