//! A TCP port of the loopback that refuses connections until a test makes it listen.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// Clients that may wait for `accept`.
const BACKLOG: i32 = 16;

/// A socket that is bound and does not listen.
///
/// A listener that was dropped does not do: while another thread of the test program starts a
/// program, the new process has a copy of the listener until its `exec`, and connections to it
/// succeed.  Its number may also be given to another socket.
#[derive(Debug)]
pub struct ClosedPort {
    socket: OwnedFd,
    port: u16,
}

impl ClosedPort {
    /// Takes a free port.
    ///
    /// # Errors
    /// The kernel has no socket or no port.
    pub fn bind() -> io::Result<Self> {
        let kind = SocketType::STREAM;
        let socket =
            rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddrV4::try_from(rustix::net::getsockname(&socket)?)?;
        Ok(Self { socket, port: address.port() })
    }

    /// The number of the port, of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Takes connections from now on.
    ///
    /// # Errors
    /// The kernel refuses to listen.
    pub fn listen(self) -> io::Result<TcpListener> {
        rustix::net::listen(&self.socket, BACKLOG)?;
        Ok(self.socket.into())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn connections_are_refused_until_it_listens() {
        let closed = ClosedPort::bind().expect("a port");
        let address = (Ipv4Addr::LOCALHOST, closed.port());
        let refused = TcpStream::connect(address).expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let listener = closed.listen().expect("the port listens");
        TcpStream::connect(address).expect("it is taken");
        listener.accept().expect("a client");
    }
}
