//! A UDP socket of the kernel for many devices: `sendmmsg` and `recvmmsg`, a batch a call.
//!
//! A thousand devices that are asked at once answer at once, so the receive buffer is made as large
//! as the system allows, above `net.core.rmem_max` with the privilege for it.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::ber::MESSAGE_BYTES_MAX;
use crate::socket::{DatagramSocket, OutgoingDatagram};

/// Datagrams of a system call.  64 make the call itself a small part of the cost.
const BATCH: usize = 64;

/// Room for one datagram.
const SLOT_BYTES: usize = MESSAGE_BYTES_MAX + 1;

/// A bound socket that does not block.
#[derive(Debug)]
pub struct KernelSocket {
    socket: OwnedFd,
    is_v6: bool,
    receive_bytes: usize,
    /// `BATCH` slots; only the pages that datagrams touched take memory.
    slots: Vec<u8>,
}

impl KernelSocket {
    /// Binds a socket to a local address; port 0 lets the system choose one.  Asks for
    /// `receive_bytes` of receive buffer.
    ///
    /// # Errors
    /// If the system cannot bind the port, such as for an address of another machine.
    pub fn bind(local: SocketAddr, receive_bytes: usize) -> io::Result<Self> {
        let family = if local.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes numbers only.
        let raw = unsafe { libc::socket(family, kind, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        if local.is_ipv6() {
            set(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
        }
        let wanted = libc::c_int::try_from(receive_bytes).unwrap_or(libc::c_int::MAX);
        // Without the privilege the system's maximum is all there is.
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, wanted).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, wanted)?;
        }
        let (name, length) = to_raw(local);
        // SAFETY: `name` is an address of at least `length` bytes, and lives during the call.
        let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), length) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        let receive_bytes = get(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        let receive_bytes = usize::try_from(receive_bytes).unwrap_or_default();
        let slots = vec![0; BATCH * SLOT_BYTES];
        Ok(Self { socket, is_v6: local.is_ipv6(), receive_bytes, slots })
    }

    /// Whether it takes addresses of IPv6.
    #[must_use]
    pub fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// The receive buffer that the system gave, in bytes; its own administration counts.
    #[must_use]
    pub fn receive_bytes(&self) -> usize {
        self.receive_bytes
    }

    /// Answers that fit the receive buffer: 4 KiB each is what a full datagram takes there.
    #[must_use]
    pub fn window(&self) -> usize {
        (self.receive_bytes / 4096).max(16)
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// If the system cannot tell it.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let mut name = MaybeUninit::<libc::sockaddr_storage>::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: `name` has room for `length` bytes.
        let done = unsafe {
            libc::getsockname(self.socket.as_raw_fd(), name.as_mut_ptr().cast(), &raw mut length)
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: all of it was zero before, which is a valid address.
        from_raw(&unsafe { name.assume_init() }).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn set(socket: &OwnedFd, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let value = (&raw const value).cast();
    // SAFETY: `value` points to an integer that lives during the call, and `length` is its size.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn get(socket: &OwnedFd, level: i32, name: i32) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: `place` points to an integer of ours, and `length` is its size.
    match unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, place, &raw mut length) } {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An address as the kernel takes it, and its length.
fn to_raw(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: the structure is numbers only, for which zero is valid.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    match address {
        SocketAddr::V4(address) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than, and aligned for, every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(name) };
            (storage, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(address) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(name) };
            (storage, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

/// The address that the kernel wrote.
fn from_raw(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that this is what the storage holds.
            let name = unsafe { (&raw const *storage).cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { (&raw const *storage).cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let port = u16::from_be(name.sin6_port);
            Some(SocketAddrV6::new(ip, port, name.sin6_flowinfo, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The empty structures of a batch.
fn empty_batch() -> ([libc::mmsghdr; BATCH], [libc::iovec; BATCH], [libc::sockaddr_storage; BATCH])
{
    // SAFETY: structures of numbers and pointers only, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

impl DatagramSocket for KernelSocket {
    fn send(&mut self, buffer: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
        let (mut headers, mut pieces, mut names) = empty_batch();
        let count = datagrams.len().min(BATCH);
        for (index, datagram) in datagrams[..count].iter().enumerate() {
            let bytes = &buffer[datagram.range.clone()];
            pieces[index] =
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let length;
            (names[index], length) = to_raw(datagram.to);
            let header = &mut headers[index].msg_hdr;
            header.msg_name = (&raw mut names[index]).cast();
            header.msg_namelen = length;
            header.msg_iov = &raw mut pieces[index];
            header.msg_iovlen = 1;
        }
        // SAFETY: the first `count` headers point to names and pieces that live until the call
        // returns, and each piece to bytes of `buffer`, which the kernel only reads.
        let sent = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), headers.as_mut_ptr(), count as u32, 0)
        };
        number_of(sent)
    }

    fn receive(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize> {
        let (mut headers, mut pieces, mut names) = empty_batch();
        for (index, slot) in self.slots.chunks_exact_mut(SLOT_BYTES).enumerate() {
            pieces[index] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            let header = &mut headers[index].msg_hdr;
            header.msg_name = (&raw mut names[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut pieces[index];
            header.msg_iovlen = 1;
        }
        // SAFETY: each header points to a name and a piece that live until the call returns, and
        // each piece to a slot of ours that nothing else refers to.
        let received = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = number_of(received)?;
        for (index, slot) in self.slots.chunks_exact_mut(SLOT_BYTES).take(count).enumerate() {
            let length = (headers[index].msg_len as usize).min(slot.len());
            if let Some(from) = from_raw(&names[index]) {
                take(from, &mut slot[..length]);
            }
        }
        Ok(count)
    }
}

/// How many datagrams a call took; none if it would have to wait, or was interrupted.
fn number_of(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).or_else(|_| {
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
            // The queue of the network device is full for a moment.
            _ if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
            _ => Err(error),
        }
    })
}

/// The address to bind to for devices of a family: any address, a port of the system's choice.
#[must_use]
pub fn any_local_address(is_v6: bool) -> SocketAddr {
    let ip = if is_v6 {
        IpAddr::from(Ipv6Addr::UNSPECIFIED)
    } else {
        IpAddr::from(Ipv4Addr::UNSPECIFIED)
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_both_families_arrive_in_batches() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let one = KernelSocket::bind(local.parse().unwrap(), 1 << 20);
            let Ok(mut one) = one else {
                testkit::skip_refused("IPv6", "not permitted: no address of IPv6");
                continue;
            };
            let mut other = KernelSocket::bind(local.parse().unwrap(), 1 << 20).unwrap();
            assert!(one.window() >= 16 && one.receive_bytes() > 0);
            assert_eq!(one.is_v6(), local.starts_with('['));
            let to = other.local_address().unwrap();
            let buffer: Vec<u8> = (0..200).collect();
            let all: Vec<_> =
                (0..100).map(|index| OutgoingDatagram { range: index..2 * index, to }).collect();
            let mut sent = 0;
            while sent < all.len() {
                sent += one.send(&buffer, &all[sent..]).unwrap();
            }
            let mut received = Vec::new();
            while received.len() < all.len() {
                let take = &mut |from, bytes: &mut [u8]| received.push((from, bytes.to_vec()));
                other.receive(take).unwrap();
            }
            let from = one.local_address().unwrap();
            for (datagram, (sender, bytes)) in all.iter().zip(&received) {
                assert_eq!((sender, &bytes[..]), (&from, &buffer[datagram.range.clone()]));
            }
            assert_eq!(other.receive(&mut |_, _| unreachable!()).unwrap(), 0);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_an_error() {
        let mut socket = KernelSocket::bind("127.0.0.1:0".parse().unwrap(), 1 << 16).unwrap();
        let buffer = vec![0; 70_000];
        let to = "127.0.0.1:9".parse().unwrap();
        let long = OutgoingDatagram { range: 0..70_000, to };
        assert!(socket.send(&buffer, &[long]).is_err());
        assert!(KernelSocket::bind("192.0.2.1:0".parse().unwrap(), 1 << 16).is_err());
    }
}
