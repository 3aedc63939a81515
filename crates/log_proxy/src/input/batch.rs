//! Datagrams of a socket, several by one system call (`recvmmsg`): where programs send faster than one is
//! taken, a call takes what has come meanwhile.
//!
//! Memory is that of the longest datagrams, of which the system gives what is used.
#![allow(unsafe_code, reason = "rustix has no recvmmsg")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Datagrams of a call.  A Unix socket holds 10 by default, and one more per sender that waits.
pub(super) const BATCH: usize = 32;
/// The longest datagram; of a longer one that much is kept.
const DATAGRAM_MAX: usize = 64 << 10;

/// Whether a call waits for the first datagram, as long as the socket's time limit says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstDatagram {
    Wait,
    IfThere,
}

/// What a call has taken.
pub(super) struct DatagramBatch {
    slots: Vec<u8>,
    /// How long each is, which may be longer than its slot.
    lengths: [usize; BATCH],
    count: usize,
}

impl DatagramBatch {
    pub(super) fn new() -> Self {
        DatagramBatch { slots: vec![0; BATCH * DATAGRAM_MAX], lengths: [0; BATCH], count: 0 }
    }

    /// Takes datagrams in place of those before; gives how many, which is 0 if none has come.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        first: FirstDatagram,
    ) -> io::Result<usize> {
        self.count = 0;
        // SAFETY: structures of numbers and pointers only, for which zero is valid.
        let (mut headers, mut pieces): ([libc::mmsghdr; BATCH], [libc::iovec; BATCH]) =
            unsafe { std::mem::zeroed() };
        let slots = self.slots.chunks_exact_mut(DATAGRAM_MAX);
        for ((slot, piece), header) in slots.zip(&mut pieces).zip(&mut headers) {
            *piece = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
        }
        let wait = match first {
            FirstDatagram::Wait => libc::MSG_WAITFORONE,
            FirstDatagram::IfThere => libc::MSG_DONTWAIT,
        };
        // SAFETY: each of the headers points to a piece that lives until the call returns, and each piece to
        // a slot of ours that nothing else refers to; no header asks for a name or control data.
        let taken = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                // A datagram that is longer says its whole length.
                wait | libc::MSG_TRUNC,
                std::ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(taken) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        };
        self.count = count.min(BATCH);
        for (length, header) in self.lengths.iter_mut().zip(&headers[..self.count]) {
            *length = header.msg_len as usize;
        }
        Ok(self.count)
    }

    /// What was taken: the bytes that are kept, and how many are left out.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let slots = self.slots.chunks_exact(DATAGRAM_MAX);
        slots.zip(&self.lengths[..self.count]).map(|(slot, length)| {
            let kept = (*length).min(DATAGRAM_MAX);
            (&slot[..kept], (*length - kept) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_call_takes_what_has_come_and_says_what_is_left_out() {
        let (one, other) = UnixDatagram::pair().unwrap();
        let mut batch = DatagramBatch::new();
        assert_eq!(batch.receive(other.as_fd(), FirstDatagram::IfThere).unwrap(), 0);
        assert_eq!(batch.datagrams().count(), 0);
        let long = vec![7; DATAGRAM_MAX + 5];
        for bytes in [b"first".as_slice(), b"", &long, b"last"] {
            one.send(bytes).unwrap();
        }
        assert_eq!(batch.receive(other.as_fd(), FirstDatagram::Wait).unwrap(), 4);
        let taken: Vec<_> = batch.datagrams().collect();
        let expected =
            [(b"first".as_slice(), 0), (b"", 0), (&long[..DATAGRAM_MAX], 5), (b"last", 0)];
        assert_eq!(taken, expected);
        one.send(b"next").unwrap();
        assert_eq!(batch.receive(other.as_fd(), FirstDatagram::Wait).unwrap(), 1);
        assert_eq!(batch.datagrams().next(), Some((b"next".as_slice(), 0)));
    }
}
