//! TLS over a socket that blocks or does not: what is read and written is plain, what goes through the
//! socket is not.
//!
//! Clones are the same connection; a lock that nobody waits inside, unless the socket blocks, lets one
//! thread read while another writes.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::files::{ClientTls, ServerTls};
use crate::reason::tls_error;

/// Plain bytes that wait to be encrypted: a write takes at most so many at once.
const PLAIN_BYTES_MAX: usize = 64 << 10;

/// An encrypted connection.
#[derive(Debug, Clone)]
pub(crate) struct TlsStream {
    connection: Arc<Mutex<Connection>>,
    pub(crate) socket: Arc<TcpStream>,
}

impl TlsStream {
    /// Answers a client.  `wait` returns when the socket can be read, or fails to give up.
    pub(crate) fn accept(
        tls: &ServerTls,
        socket: Arc<TcpStream>,
        wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        let connection =
            ServerConnection::new(tls.config.clone()).map_err(|error| tls_error(&error))?;
        Self::begin(connection.into(), socket, wait)
    }

    /// Greets a server whose certificate must be for `host`, a name or a number.
    pub(crate) fn connect(
        tls: &ClientTls,
        host: &str,
        socket: Arc<TcpStream>,
        wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("'{host}' is no name of a host"))
        })?;
        let connection =
            ClientConnection::new(tls.0.clone(), name).map_err(|error| tls_error(&error))?;
        Self::begin(connection.into(), socket, wait)
    }

    fn begin(
        mut connection: Connection,
        socket: Arc<TcpStream>,
        mut wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        connection.set_buffer_limit(Some(PLAIN_BYTES_MAX));
        loop {
            send(&mut connection, &socket)?;
            if !connection.is_handshaking() {
                return Ok(Self { connection: Arc::new(Mutex::new(connection)), socket });
            }
            wait(&socket)?;
            if receive(&mut connection, &socket)? == Some(0) {
                return Err(ended());
            }
        }
    }

    /// Lets a write take so many bytes at once, for a connection whose writer does not wait.
    pub(crate) fn set_room(&self, bytes: usize) {
        self.lock().set_buffer_limit(Some(bytes));
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has come; `None` if nothing has, 0 when the other side has said that nothing follows.
    pub(crate) fn read_now(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let mut connection = self.lock();
        loop {
            match connection.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The socket has ended without that.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(ended()),
                read => return read.map(Some),
            }
            // An update of keys is answered.
            send(&mut connection, &self.socket)?;
            if receive(&mut connection, &self.socket)?.is_none() {
                return Ok(None);
            }
        }
    }

    /// Takes some of the bytes; `None` if what was taken before is not sent yet.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut connection = self.lock();
        if !send(&mut connection, &self.socket)? {
            return Ok(None);
        }
        let taken = connection.writer().write(bytes)?;
        send(&mut connection, &self.socket)?;
        Ok(Some(taken))
    }

    /// Sends what waits, as far as the socket takes it; whether that was all.
    pub(crate) fn flush_now(&self) -> io::Result<bool> {
        send(&mut self.lock(), &self.socket)
    }

    /// Whether all that was taken is sent.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.lock().wants_write()
    }

    /// Tells the other side that nothing follows, and ends one way of the socket or both.
    pub(crate) fn end(&self, how: Shutdown) -> io::Result<()> {
        let mut connection = self.lock();
        connection.send_close_notify();
        let sent = send(&mut connection, &self.socket);
        let ended = self.socket.shutdown(how);
        sent.and(ended)
    }
}

/// Sends what is encrypted; whether that was all.
fn send(connection: &mut Connection, mut socket: &TcpStream) -> io::Result<bool> {
    while connection.wants_write() {
        match connection.write_tls(&mut socket) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Takes what one read of the socket gives, 0 at its end; `None` if there is nothing.
fn receive(connection: &mut Connection, mut socket: &TcpStream) -> io::Result<Option<usize>> {
    let read = loop {
        match connection.read_tls(&mut socket) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            read => break read?,
        }
    };
    if let Err(error) = connection.process_new_packets() {
        // The other side learns why; that it does not matter here.
        let _ = send(connection, socket);
        return Err(tls_error(&error));
    }
    Ok(Some(read))
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed the connection")
}
