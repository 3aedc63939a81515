//! What a session sends with: datagrams in batches, by the kernel or by a test.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

/// A datagram to send: where its bytes lie in the buffer of the batch, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingDatagram {
    /// Where the bytes of the datagram are in the buffer.
    pub range: Range<usize>,
    /// The address that the datagram is for.
    pub to: SocketAddr,
}

/// Sends and receives datagrams without waiting.
pub trait DatagramSocket {
    /// Sends datagrams in their order, and gives how many were sent: fewer than all, or 0, if the
    /// system takes no more now.
    ///
    /// # Errors
    /// If the first datagram could not be sent; none was.
    fn send(&mut self, buffer: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize>;

    /// Hands over the datagrams that are here, a batch at most, and gives their number.  The bytes
    /// may be changed: those of version 3 are decrypted where they lie.
    ///
    /// # Errors
    /// If the socket as a whole fails.
    fn receive(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize>;
}
