//! What descriptors of traced processes point to, looked up in `/proc`.
//!
//! One `readlink` each.  With details (`-yy`) a `stat` of what is a device, and for a socket the
//! kernel's tables of sockets in the network of that process, read anew each time, as sockets come,
//! go and are connected.  That costs as much as the machine has sockets, a microsecond or so for each.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use trace::{Descriptors, Target};

mod sockets;

/// Text of the kernel that is read at most: some 400,000 sockets.
const TEXT_MAX: u64 = 64 << 20;

/// Looks descriptors of processes up.
pub(crate) struct OfProcesses {
    is_exact: bool,
}

impl OfProcesses {
    /// Exact if tasks stand still while they are looked at.
    pub(crate) fn new(is_exact: bool) -> Self {
        OfProcesses { is_exact }
    }
}

impl Descriptors for OfProcesses {
    fn target(&self, process: i32, descriptor: i32, details: bool) -> Option<Target> {
        let link = match descriptor {
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            0.. => format!("/proc/{process}/fd/{descriptor}"),
            _ => return None,
        };
        let path = fs::read_link(&link).ok()?.into_os_string().into_vec();
        let plain = |path| Some(Target { path, details: None });
        if !details {
            return plain(path);
        }
        if path.starts_with(b"/") {
            return Some(Target { path, details: device(&link) });
        }
        let text = String::from_utf8_lossy(&path);
        let described = if let Some(inode) = inode_of(&text) {
            sockets::describe(process, &link, inode)
        } else if text == "anon_inode:[pidfd]" {
            field(process, descriptor, "Pid:").map(|pid| format!("pid:{pid}"))
        } else {
            None
        };
        plain(described.map_or(path, String::into_bytes))
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }
}

/// `char 1:3`, if it is a device.
fn device(link: &str) -> Option<String> {
    let meta = fs::metadata(link).ok()?;
    let kind = match meta.file_type() {
        kind if kind.is_char_device() => "char",
        kind if kind.is_block_device() => "block",
        _ => return None,
    };
    let number = meta.rdev();
    Some(format!("{kind} {}:{}", libc::major(number), libc::minor(number)))
}

/// The number in `socket:[4711]`.
fn inode_of(text: &str) -> Option<u64> {
    text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// What the kernel says of a descriptor besides.
fn field(process: i32, descriptor: i32, name: &str) -> Option<String> {
    let text = text_of(&format!("/proc/{process}/fdinfo/{descriptor}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().to_owned())
}

/// The text of one of the kernel's files.
fn text_of(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(TEXT_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::fd::AsRawFd as _;

    use super::*;

    fn told(descriptor: i32, details: bool) -> String {
        let process = std::process::id().cast_signed();
        let target = OfProcesses::new(true).target(process, descriptor, details).unwrap();
        let text = String::from_utf8(target.path).unwrap();
        target.details.map_or(text.clone(), |details| format!("{text}<{details}>"))
    }

    #[test]
    fn files_and_devices() {
        let null = fs::File::open("/dev/null").unwrap();
        assert_eq!(told(null.as_raw_fd(), false), "/dev/null");
        assert_eq!(told(null.as_raw_fd(), true), "/dev/null<char 1:3>");
        let here = std::env::current_dir().unwrap();
        assert_eq!(told(libc::AT_FDCWD, true), here.to_str().unwrap());
        let none = OfProcesses::new(true);
        assert!(none.target(std::process::id().cast_signed(), 9_999, true).is_none());
        assert!(none.target(0, 0, true).is_none() && none.target(1, -1, true).is_none());
    }

    #[test]
    fn sockets_with_their_addresses() {
        use std::net::{TcpListener, TcpStream, UdpSocket};
        use std::os::unix::net::{UnixListener, UnixStream};
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        assert_eq!(told(server.as_raw_fd(), true), format!("TCP:[{at}]"));
        assert!(told(server.as_raw_fd(), false).starts_with("socket:["));
        let client = TcpStream::connect(at).unwrap();
        let from = client.local_addr().unwrap();
        assert_eq!(told(client.as_raw_fd(), true), format!("TCP:[{from}->{at}]"));
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = datagrams.local_addr().unwrap();
        assert_eq!(told(datagrams.as_raw_fd(), true), format!("UDP:[{at}]"));
        if let Ok(server) = TcpListener::bind("[::1]:0") {
            let at = server.local_addr().unwrap();
            assert_eq!(told(server.as_raw_fd(), true), format!("TCPv6:[{at}]"));
        }
        let (one, other) = UnixStream::pair().unwrap();
        let inode = |socket: &UnixStream| inode_of(&told(socket.as_raw_fd(), false)).unwrap();
        let expected = format!("UNIX-STREAM:[{}->{}]", inode(&one), inode(&other));
        assert_eq!(told(one.as_raw_fd(), true), expected);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a\"b");
        let server = UnixListener::bind(&path).unwrap();
        let text = told(server.as_raw_fd(), true);
        let name = format!(",\"{}\"]", path.display()).replace("a\"b", "a\\\"b");
        assert!(text.starts_with("UNIX-STREAM:[") && text.ends_with(&name), "{text} {name}");
    }
}
