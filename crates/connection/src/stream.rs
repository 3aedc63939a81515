//! A connection: what is read and written is plain, what goes through the socket is not.
//!
//! The socket blocks; whoever needs a bound on time gives it a time-out.  The handshake asks the
//! caller to wait before each read, so that its bound holds for all of it, however slowly its bytes
//! come.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::files::{ClientTls, ServerTls};

/// Plain bytes that wait to be encrypted: a write takes at most so many at once.
const PLAIN_BYTES_MAX: usize = 64 << 10;

/// A connection that is encrypted.
#[derive(Debug)]
pub struct TlsStream {
    connection: Connection,
    socket: TcpStream,
}

impl TlsStream {
    /// Answers a client.  `wait` returns when the socket can be read, or fails to give up.
    ///
    /// # Errors
    /// Those of the socket and of `wait`; [`crate::reason()`] of the others.
    pub fn accept(
        tls: &ServerTls,
        socket: TcpStream,
        wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        let connection = ServerConnection::new(tls.0.clone()).map_err(io::Error::other)?;
        Self::begin(connection.into(), socket, wait)
    }

    /// Greets a server whose certificate must be for `host`, a name or a number.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub fn connect(tls: &ClientTls, host: &str, socket: TcpStream) -> io::Result<Self> {
        Self::connect_waiting(tls, host, socket, |_| Ok(()))
    }

    /// As [`Self::connect`]; `wait` returns when the socket can be read, or fails to give up.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub fn connect_waiting(
        tls: &ClientTls,
        host: &str,
        socket: TcpStream,
        wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("'{host}' is no name of a host"))
        })?;
        let connection = ClientConnection::new(tls.0.clone(), name).map_err(io::Error::other)?;
        Self::begin(connection.into(), socket, wait)
    }

    fn begin(
        mut connection: Connection,
        socket: TcpStream,
        mut wait: impl FnMut(&TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        connection.set_buffer_limit(Some(PLAIN_BYTES_MAX));
        let mut stream = Self { connection, socket };
        loop {
            stream.send()?;
            if !stream.connection.is_handshaking() {
                return Ok(stream);
            }
            wait(&stream.socket)?;
            if stream.receive()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Sends what is encrypted.
    fn send(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what one read of the socket gives; 0 at its end.
    fn receive(&mut self) -> io::Result<usize> {
        let read = loop {
            match self.connection.read_tls(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if let Err(error) = self.connection.process_new_packets() {
            // The other side learns why; that it does not matter here.
            let _ = self.send();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(read)
    }

    /// Tells the other side that nothing follows.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn close(&mut self) -> io::Result<()> {
        self.connection.send_close_notify();
        self.send()
    }

    pub(crate) fn into_parts(self) -> (Connection, TcpStream) {
        (self.connection, self.socket)
    }

    /// The socket, for its addresses and time-outs.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Read for TlsStream {
    /// 0 when the other side has said that nothing follows; a socket that ends without that is
    /// `UnexpectedEof`.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            // An update of keys is answered.
            self.send()?;
            self.receive()?;
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(bytes)?;
        self.send()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
