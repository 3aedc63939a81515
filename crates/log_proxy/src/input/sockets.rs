//! Syslog by a Unix socket (datagrams, as `/dev/log`) and UDP; by TCP and TLS in `streams.rs`.
//!
//! Nothing can be read again: what a kill loses is what the sockets hold.  Datagrams over UDP that the
//! kernel drops are counted by it, and told.

use std::fs::Permissions;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use log_protocol::clock;
use logring::LogLevel;
use rustix::net::sockopt;

use super::batch::{BATCH, DatagramBatch, FirstDatagram};
use super::fields::ROUND;
use super::frames::InputFrame;
use super::output::InputRecords;
use super::streams;
use super::syslog::write;
use super::{InputPlace, OpenedInput, PATIENCE};

/// Bytes that the kernel is asked to keep of datagrams.
const BUFFER: usize = 8 << 20;
/// How long datagrams gather: Linux's usual buffer of 208 KiB has room for those of twice that time at a
/// million in a second.
const GATHER: Duration = Duration::from_micros(100);
/// Datagrams that come within this time of those before gather.
const IN_A_ROW: Duration = Duration::from_millis(1);

pub(super) fn open(mut place: InputPlace) -> io::Result<OpenedInput> {
    if let Some(streams) = streams::open(&place)? {
        return Ok(Box::new(move || streams.run(&place)));
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

/// Takes datagrams: those that have come by one system call.  Of UDP, those that come in a row are left to
/// gather for a moment, else each would wake this thread; senders to a Unix socket would wait.
fn datagrams(
    place: &mut InputPlace,
    socket: &OwnedFd,
    mut drops: Option<KernelDrops>,
) -> io::Result<()> {
    // Beyond its limits the system gives it to root; less is no reason to end.
    if sockopt::set_socket_recv_buffer_size_force(socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, BUFFER);
    }
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    let mut looked = clock::now();
    let mut batch = DatagramBatch::new();
    while !place.is_ending() {
        let mut taken = 0;
        // A batch that is not full has taken all; after two this thread looks whether it is to end.
        while taken < ROUND {
            let first = if taken > 0 { FirstDatagram::IfThere } else { FirstDatagram::Wait };
            let count = batch.receive(socket.as_fd(), first)?;
            for (bytes, left_out) in batch.datagrams() {
                write(place.records, &InputFrame { bytes, left_out, end: 0 });
            }
            taken += count;
            if count < BATCH {
                break;
            }
        }
        if let Some(drops) = &mut drops {
            drops.tell(place.records);
            let before = std::mem::replace(&mut looked, clock::now());
            if taken > 0 && taken < ROUND && looked - before < IN_A_ROW {
                std::thread::sleep(GATHER);
            }
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
        if clock::now() - self.looked < Duration::from_secs(1) {
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
