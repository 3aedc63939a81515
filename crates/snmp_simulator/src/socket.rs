//! A socket for all addresses of IPv4: each datagram says which address it was sent to, and an answer
//! leaves from there (`IP_PKTINFO`, ip(7)).

use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Datagrams of a system call.
const BATCH: usize = 64;

/// Room for one datagram.
const SLOT_BYTES: usize = 65_536;

/// Room for the address that a datagram was sent to, with its head.
const CONTROL_BYTES: usize = 64;

/// Room that is aligned for the heads of control messages.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct ControlRoom([u8; CONTROL_BYTES]);

/// The socket and its buffers.
#[derive(Debug)]
pub(crate) struct WildcardSocket {
    socket: OwnedFd,
    slots: Vec<u8>,
}

/// An answer: from which of our addresses, to whom, which bytes of the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: SocketAddrV4,
    pub(crate) range: std::ops::Range<usize>,
}

impl WildcardSocket {
    pub(crate) fn bind(port: u16) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes numbers only.
        let raw = unsafe { libc::socket(libc::AF_INET, kind, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        set(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        let bytes = 32 << 20;
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)?;
        }
        let name = raw_address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: `name` is an address of `length` bytes that lives during the call.
        let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), length) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket, slots: vec![0; BATCH * SLOT_BYTES] })
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        let mut name = raw_address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let place = (&raw mut name).cast();
        // SAFETY: `name` has room for `length` bytes.
        let done = unsafe { libc::getsockname(self.socket.as_raw_fd(), place, &raw mut length) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(u16::from_be(name.sin_port)) }
    }

    /// Another descriptor of the socket, to wait for it.
    pub(crate) fn waiter(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// Hands over what is here: the address that was meant, the sender, the bytes.
    pub(crate) fn receive(
        &mut self,
        take: &mut dyn FnMut(Ipv4Addr, SocketAddrV4, &mut [u8]),
    ) -> usize {
        // SAFETY: structures of numbers and pointers only, for which zero is valid.
        let (mut headers, mut pieces, mut names): (
            [libc::mmsghdr; BATCH],
            [libc::iovec; BATCH],
            [libc::sockaddr_in; BATCH],
        ) = unsafe { std::mem::zeroed() };
        let mut controls = [ControlRoom([0; CONTROL_BYTES]); BATCH];
        for (index, slot) in self.slots.chunks_exact_mut(SLOT_BYTES).enumerate() {
            pieces[index] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            fill(
                &mut headers[index].msg_hdr,
                &mut names[index],
                &mut pieces[index],
                &mut controls[index],
            );
        }
        // SAFETY: each header points to a name, a piece and a control room that live until the call
        // returns, and each piece to a slot of ours.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).unwrap_or_default();
        for (index, slot) in self.slots.chunks_exact_mut(SLOT_BYTES).take(count).enumerate() {
            let length = (headers[index].msg_len as usize).min(slot.len());
            let name = &names[index];
            let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            let from = SocketAddrV4::new(ip, u16::from_be(name.sin_port));
            if let Some(meant) = meant_address(&headers[index].msg_hdr) {
                take(meant, from, &mut slot[..length]);
            }
        }
        count
    }

    /// Sends answers; those that the system does not take are lost, as on a network.
    pub(crate) fn send(&self, buffer: &[u8], answers: &[Answer]) {
        for batch in answers.chunks(BATCH) {
            // SAFETY: as in `receive`.
            let (mut headers, mut pieces, mut names): (
                [libc::mmsghdr; BATCH],
                [libc::iovec; BATCH],
                [libc::sockaddr_in; BATCH],
            ) = unsafe { std::mem::zeroed() };
            let mut controls = [ControlRoom([0; CONTROL_BYTES]); BATCH];
            for (index, answer) in batch.iter().enumerate() {
                let bytes = &buffer[answer.range.clone()];
                pieces[index] = libc::iovec {
                    iov_base: bytes.as_ptr().cast_mut().cast(),
                    iov_len: bytes.len(),
                };
                names[index] = raw_address(answer.to);
                let header = &mut headers[index].msg_hdr;
                fill(header, &mut names[index], &mut pieces[index], &mut controls[index]);
                set_from(header, answer.from);
            }
            let mut done = 0;
            while done < batch.len() {
                // SAFETY: the headers from `done` to the end of the batch point to names, pieces and
                // control rooms that live until the call returns; the bytes are only read.
                let sent = unsafe {
                    libc::sendmmsg(
                        self.socket.as_raw_fd(),
                        headers.as_mut_ptr().add(done),
                        (batch.len() - done) as u32,
                        0,
                    )
                };
                done += usize::try_from(sent).unwrap_or_default().max(1);
            }
        }
    }
}

/// Waits until a datagram is here or the time is over.
pub(crate) fn wait(socket: &OwnedFd, time: Duration) {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives during the call.  An error is as a time that is over.
    let _ = unsafe { libc::poll(&raw mut entry, 1, milliseconds) };
}

fn raw_address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn fill(
    header: &mut libc::msghdr,
    name: &mut libc::sockaddr_in,
    piece: &mut libc::iovec,
    control: &mut ControlRoom,
) {
    header.msg_name = std::ptr::from_mut(name).cast();
    header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    header.msg_iov = piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL_BYTES;
}

/// The address that a received datagram was sent to.
fn meant_address(header: &libc::msghdr) -> Option<Ipv4Addr> {
    // SAFETY: the kernel filled the control room of this header, which still lives; the macros give
    // only messages that lie within it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(head) = control.as_ref() {
            if head.cmsg_level == libc::IPPROTO_IP && head.cmsg_type == libc::IP_PKTINFO {
                let info = libc::CMSG_DATA(control).cast::<libc::in_pktinfo>().read_unaligned();
                return Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()));
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

/// Lets a datagram leave from one of our addresses.
fn set_from(header: &mut libc::msghdr, from: Ipv4Addr) {
    let length = size_of::<libc::in_pktinfo>() as u32;
    // SAFETY: `CMSG_SPACE` of the structure is 32 bytes, less than the control room that this header
    // points to, which is aligned for it and lives.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(length) as usize;
        let control = libc::CMSG_FIRSTHDR(header);
        (*control).cmsg_level = libc::IPPROTO_IP;
        (*control).cmsg_type = libc::IP_PKTINFO;
        (*control).cmsg_len = libc::CMSG_LEN(length) as usize;
        let info = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        libc::CMSG_DATA(control).cast::<libc::in_pktinfo>().write_unaligned(info);
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
