//! What the descriptors of processes point to, looked up when asked: exact for stopped tasks.
//!
//! `/proc/PID/fd/N` names it (one `readlink`).  The details that `strace -yy` shows are the numbers
//! of a device (one `stat`), the process of a pidfd, and the addresses of a socket: its protocol is
//! an extended attribute of the descriptor, its addresses are in the tables of `/proc/PID/net`,
//! which are read up to the socket's line.  The peer of a UNIX socket is in no table; sock_diag(7)
//! gives it, for sockets in our own network namespace.

mod sockets;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::FileType;

use crate::{DescriptorTarget, Descriptors, NetlinkSocket};

/// Looks descriptors up in `/proc`.
#[derive(Clone, Copy, Debug)]
pub struct LiveDescriptors {
    /// Whether the tasks are stopped while their events are looked at, as under ptrace.
    pub are_stopped: bool,
}

impl Descriptors for LiveDescriptors {
    fn target(&self, process: i32, descriptor: i32, details: bool) -> Option<DescriptorTarget> {
        let link = if descriptor == libc::AT_FDCWD {
            format!("/proc/{process}/cwd")
        } else {
            format!("/proc/{process}/fd/{descriptor}")
        };
        let path = fs::read_link(&link).ok()?.as_os_str().as_bytes().to_vec();
        let mut target = DescriptorTarget { path, details: None };
        if !details {
            return Some(target);
        }
        if target.path == b"anon_inode:[pidfd]" {
            if let Some(pid) = pid_of(process, descriptor) {
                target.path = format!("pid:{pid}").into_bytes();
            }
        } else if let Some(inode) = inode_of(&target.path) {
            if let Some(text) = sockets::describe(process, &link, inode) {
                target.path = text;
            }
        } else if target.path.starts_with(b"/") {
            target.details = device(&link);
        }
        Some(target)
    }

    fn command(&self, task: i32) -> Option<Vec<u8>> {
        let mut name =
            if task > 0 { fs::read(format!("/proc/{task}/comm")).ok()? } else { return None };
        name.pop_if(|last| *last == b'\n');
        Some(name)
    }

    fn netlink(&self, process: i32, descriptor: i32) -> Option<NetlinkSocket> {
        let link = format!("/proc/{process}/fd/{descriptor}");
        let inode = inode_of(fs::read_link(&link).ok()?.as_os_str().as_bytes())?;
        sockets::netlink(process, &link, inode)
    }

    fn is_exact(&self) -> bool {
        self.are_stopped
    }
}

/// The inode in `socket:[4711]`.
fn inode_of(path: &[u8]) -> Option<u64> {
    let number = path.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The process that a pidfd refers to.
fn pid_of(process: i32, descriptor: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

/// `char 1:3` for a device.
fn device(link: &str) -> Option<String> {
    let status = rustix::fs::stat(link).ok()?;
    let kind = match FileType::from_raw_mode(status.st_mode) {
        FileType::CharacterDevice => "char",
        FileType::BlockDevice => "block",
        _ => return None,
    };
    let device = status.st_rdev;
    Some(format!("{kind} {}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn target_of(descriptor: &impl AsRawFd, details: bool) -> (String, Option<String>) {
        let live = LiveDescriptors { are_stopped: true };
        let number = descriptor.as_raw_fd();
        let target = live.target(std::process::id() as i32, number, details).unwrap();
        (String::from_utf8(target.path).unwrap(), target.details)
    }

    /// What strace 6.1 shows for the same.
    #[test]
    fn descriptors_are_shown_as_strace_shows_them() {
        let null = fs::File::open("/dev/null").unwrap();
        assert_eq!(target_of(&null, false), ("/dev/null".to_owned(), None));
        assert_eq!(target_of(&null, true), ("/dev/null".to_owned(), Some("char 1:3".to_owned())));
        let folder = fs::File::open("/tmp").unwrap();
        assert_eq!(target_of(&folder, true), ("/tmp".to_owned(), None));
        let (pipe, _end): (OwnedFd, OwnedFd) = rustix::pipe::pipe().unwrap();
        assert!(target_of(&pipe, true).0.starts_with("pipe:["));
        let me = rustix::process::getpid();
        let me = rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty()).unwrap();
        assert_eq!(target_of(&me, true).0, format!("pid:{}", std::process::id()));
        let live = LiveDescriptors { are_stopped: true };
        assert!(live.target(std::process::id() as i32, 9999, true).is_none());
        assert!(live.target(0, 0, true).is_none() && live.target(1, -1, true).is_none());
        let here = live.target(std::process::id() as i32, libc::AT_FDCWD, true).unwrap();
        assert_eq!(here.path, std::env::current_dir().unwrap().as_os_str().as_bytes());
    }

    #[test]
    fn sockets_are_shown_by_their_addresses() {
        for host in ["127.0.0.1", "[::1]"] {
            let Ok(listener) = TcpListener::bind(format!("{host}:0")) else { continue };
            let there = listener.local_addr().unwrap();
            let stream = TcpStream::connect(there).unwrap();
            let here = stream.local_addr().unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let name = if there.is_ipv4() { "TCP" } else { "TCPv6" };
            assert_eq!(target_of(&listener, true).0, format!("{name}:[{there}]"));
            assert_eq!(target_of(&stream, true).0, format!("{name}:[{here}->{there}]"));
            assert_eq!(target_of(&accepted, true).0, format!("{name}:[{there}->{here}]"));
            assert!(target_of(&stream, false).0.starts_with("socket:["));
        }
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = datagrams.local_addr().unwrap();
        assert_eq!(target_of(&datagrams, true).0, format!("UDP:[{at}]"));

        let number = |socket: &dyn AsRawFd| {
            let text = target_of(&socket.as_raw_fd(), false).0;
            inode_of(text.as_bytes()).unwrap()
        };
        let (one, two) = UnixStream::pair().unwrap();
        let (first, second) = (number(&one), number(&two));
        assert_eq!(target_of(&one, true).0, format!("UNIX-STREAM:[{first}->{second}]"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a \" b");
        let listener = UnixListener::bind(&path).unwrap();
        let path = path.to_str().unwrap().replace('"', "\\\"");
        let listening = number(&listener);
        assert_eq!(target_of(&listener, true).0, format!("UNIX-STREAM:[{listening},\"{path}\"]"));
    }
}
