//! Syslog by a Unix socket (datagrams, as `/dev/log`), UDP and TCP (counted octets or lines).
//!
//! Nothing can be read again: what a kill loses is what the sockets hold.  Datagrams over UDP that the
//! kernel drops are counted by it, and told.

use std::fs::Permissions;
use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use log_protocol::clock;
use logring::LogLevel;
use rustix::net::{RecvFlags, recv, sockopt};

use super::InputPlace;
use super::fields::{left_out, level_of, wait_for};
use super::frames::{InputFrame, InputFrames};
use super::output::InputRecords;
use super::syslog::SyslogMessage;

/// Bytes that the kernel is asked to keep of datagrams: it gives what its limits allow.
const BUFFER: usize = 8 << 20;
/// Connections at once; further ones wait in the listener's queue.
const CONNECTIONS_MAX: usize = 512;
/// The longest datagram.
const DATAGRAM_MAX: usize = 64 << 10;
/// Datagrams, or pieces of a connection, that are taken in a row.
const ROUND: usize = 64;

pub(super) fn open(
    mut place: InputPlace,
) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
    if let Some(address) = place.target.strip_prefix("tcp:") {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        return Ok(Box::new(move || streams(&mut place, &listener)));
    }
    if place.target.contains('/') {
        let socket = bind_path(Path::new(&place.target))?;
        return Ok(Box::new(move || {
            let done = datagrams(&mut place, &OwnedFd::from(socket), None);
            let _ = std::fs::remove_file(&place.target);
            done
        }));
    }
    let socket = UdpSocket::bind(&place.target)?;
    Ok(Box::new(move || {
        let drops = KernelDrops::of(&socket);
        datagrams(&mut place, &OwnedFd::from(socket), Some(drops))
    }))
}

/// Binds a path that nobody listens at; all users may send, as to `/dev/log`.
fn bind_path(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind(path).or_else(|error| {
        let is_left = error.kind() == io::ErrorKind::AddrInUse
            && UnixDatagram::unbound()?
                .connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if !is_left {
            return Err(error);
        }
        std::fs::remove_file(path)?;
        UnixDatagram::bind(path)
    })?;
    std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(socket)
}

fn write(records: InputRecords, frame: &InputFrame<'_>) {
    let message = SyslogMessage::parse(frame.bytes);
    let mut fields = message.fields();
    fields.extend(left_out(frame));
    records.write(level_of(message.severity), message.text, &fields);
}

fn datagrams(
    place: &mut InputPlace,
    socket: &OwnedFd,
    mut drops: Option<KernelDrops>,
) -> io::Result<()> {
    // What the system allows; less is no reason to end.
    let _ = sockopt::set_socket_recv_buffer_size(socket, BUFFER);
    let mut bytes = vec![0; DATAGRAM_MAX];
    while !place.is_ending() {
        let is_ready = wait_for(&[socket.as_fd()])?[0];
        for _ in 0..if is_ready { ROUND } else { 0 } {
            // A datagram that is longer says its whole length.
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            match recv(socket, &mut bytes[..], flags) {
                Ok((kept, whole)) => {
                    let left_out = whole.saturating_sub(kept) as u64;
                    write(place.records, &InputFrame { bytes: &bytes[..kept], left_out, end: 0 });
                }
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(drops) = &mut drops {
            drops.tell(place.records);
        }
    }
    Ok(())
}

/// Datagrams of a socket that the kernel has dropped.
struct KernelDrops {
    inode: String,
    table: &'static str,
    told: u64,
    looked: std::time::Instant,
}

impl KernelDrops {
    fn of(socket: &UdpSocket) -> Self {
        let inode = rustix::fs::fstat(socket).map_or(0, |facts| facts.st_ino).to_string();
        let is_new = socket.local_addr().is_ok_and(|address| address.is_ipv6());
        let table = if is_new { "/proc/self/net/udp6" } else { "/proc/self/net/udp" };
        KernelDrops { inode, table, told: 0, looked: clock::now() }
    }

    /// Says how many there are since it last said so, once a second.
    fn tell(&mut self, records: InputRecords) {
        if clock::now() - self.looked < std::time::Duration::from_secs(1) {
            return;
        }
        self.looked = clock::now();
        let Ok(table) = std::fs::read_to_string(self.table) else { return };
        let Some(drops) = dropped(&table, &self.inode).filter(|drops| *drops > self.told) else {
            return;
        };
        let text = format!(
            "{} datagrams were dropped by the kernel: the buffer of the socket was full",
            drops - self.told
        );
        records.write_own(LogLevel::Warning, &text);
        self.told = drops;
    }
}

/// The last column of a socket's line in `/proc/net/udp`.
fn dropped(table: &str, inode: &str) -> Option<u64> {
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|line| line.get(9) == Some(&inode))?.last()?.parse().ok()
}

/// A connection.
struct Peer {
    stream: TcpStream,
    frames: InputFrames,
}

fn streams(place: &mut InputPlace, listener: &TcpListener) -> io::Result<()> {
    let mut peers: Vec<Peer> = Vec::new();
    let mut bytes = vec![0; 64 << 10];
    while !place.is_ending() {
        let mut files: Vec<_> = peers.iter().map(|peer| peer.stream.as_fd()).collect();
        if peers.len() < CONNECTIONS_MAX {
            files.push(listener.as_fd());
        }
        let ready = wait_for(&files)?;
        let mut at = 0;
        peers.retain_mut(|peer| {
            at += 1;
            !ready[at - 1] || take(place.records, peer, &mut bytes)
        });
        if ready.len() == at + 1 && ready[at] {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    peers.push(Peer { stream, frames: InputFrames::counted_or_lines() });
                }
                // Too many descriptors: the next round tries again.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    std::thread::sleep(super::PATIENCE);
                }
                Err(_) => {}
            }
        }
    }
    for mut peer in peers {
        while take(place.records, &mut peer, &mut bytes) {
            if !wait_for(&[peer.stream.as_fd()])?[0] {
                peer.frames.finish(|frame| write(place.records, &frame));
                break;
            }
        }
    }
    Ok(())
}

/// Takes what a connection has; gives whether it goes on.
fn take(records: InputRecords, peer: &mut Peer, bytes: &mut [u8]) -> bool {
    for _ in 0..ROUND {
        match peer.stream.read(bytes) {
            Ok(0) => break,
            Ok(length) => peer.frames.take(&bytes[..length], |frame| write(records, &frame)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        if bytes.is_empty() {
            return true;
        }
    }
    // The end, or it is still sending.
    match peer.stream.peek(&mut [0]) {
        Ok(1..) => true,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
        _ => {
            peer.frames.finish(|frame| write(records, &frame));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn drops_are_in_the_last_column() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  \
                     timeout inode ref pointer drops\n\
                     12053: 0100007F:0203 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
                     0        0 77 2 0000000000000000 5\n";
        assert_eq!((super::dropped(table, "77"), super::dropped(table, "7")), (Some(5), None));
    }
}
