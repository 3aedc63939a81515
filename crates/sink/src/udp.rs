//! UDP: one datagram a message.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::{Message, Transport};

/// Sends payloads as datagrams.
#[derive(Debug)]
pub struct UdpTransport {
    socket: UdpSocket,
    address: SocketAddr,
}

impl UdpTransport {
    /// To a host by name or address, which may be that of a multicast group.
    ///
    /// # Errors
    /// The name has no address, or the socket cannot be created.
    pub fn open(host: &str, port: u16) -> io::Result<Self> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let address = connection::resolve(host, port)?.next().ok_or_else(unknown)?;
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        Ok(UdpTransport { socket: UdpSocket::bind(any)?, address })
    }
}

impl Transport for UdpTransport {
    fn deliver(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.socket.send_to(message.payload, self.address).map(drop)
    }

    fn peer(&self) -> String {
        self.address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_a_datagram() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut transport =
            UdpTransport::open("127.0.0.1", peer.local_addr().unwrap().port()).unwrap();
        for payload in [&b"one"[..], b"two"] {
            transport.deliver(&Message { source: "h", sequence: 0, payload }).unwrap();
        }
        let mut packet = [0; 16];
        for payload in [&b"one"[..], b"two"] {
            let length = peer.recv(&mut packet).unwrap();
            assert_eq!(&packet[..length], payload);
        }
    }
}
