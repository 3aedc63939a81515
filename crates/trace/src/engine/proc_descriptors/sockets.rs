//! Sockets by their inodes: `TCP:[127.0.0.1:80->127.0.0.1:5000]`, `UNIX-STREAM:[47->48,"/run/x"]`,
//! `NETLINK:[ROUTE:4711]`, or the protocol and the inode if nothing else is known.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::NetlinkSocket;
use crate::decode::text::{Quote, escape};

/// Protocols that strace shows by name; other sockets stay `socket:[4711]`.
const PROTOCOLS: [&str; 9] =
    ["TCP", "TCPv6", "UDP", "UDPv6", "UNIX", "UNIX-STREAM", "NETLINK", "RAW", "RAWv6"];

/// The protocols of netlink by number (linux/netlink.h).
const NETLINK: [&str; 23] = [
    "ROUTE",
    "UNUSED",
    "USERSOCK",
    "FIREWALL",
    "SOCK_DIAG",
    "NFLOG",
    "XFRM",
    "SELINUX",
    "ISCSI",
    "AUDIT",
    "FIB_LOOKUP",
    "CONNECTOR",
    "NETFILTER",
    "IP6_FW",
    "DNRTMSG",
    "KOBJECT_UEVENT",
    "GENERIC",
    "",
    "SCSITRANSPORT",
    "ECRYPTFS",
    "RDMA",
    "CRYPTO",
    "SMC",
];

/// Most lines of a table that are searched for a socket; on a machine with more connections the
/// inode alone is shown, or each lookup would take too long.
const LINES_MAX: usize = 1 << 16;

/// Describes a socket of a process; `link` is its descriptor in `/proc`.
pub(super) fn describe(process: i32, link: &str, inode: u64) -> Option<Vec<u8>> {
    let protocol = protocol_of(link)?;
    let known = match protocol {
        "TCP" => internet(process, "tcp", inode),
        "TCPv6" => internet(process, "tcp6", inode),
        "UDP" => internet(process, "udp", inode),
        "UDPv6" => internet(process, "udp6", inode),
        "UNIX" | "UNIX-STREAM" => unix(inode),
        "NETLINK" => bus(process, inode),
        _ => None,
    };
    let known = known.unwrap_or_else(|| inode.to_string().into_bytes());
    Some([protocol.as_bytes(), b":[", &known, b"]"].concat())
}

/// The name of a socket's protocol, if it is one of [`PROTOCOLS`].
fn protocol_of(link: &str) -> Option<&'static str> {
    let mut name = [0; 32];
    let length = rustix::fs::getxattr(link, "system.sockprotoname", &mut name).ok()?;
    let name = name.get(..length)?.split(|byte| *byte == 0).next()?;
    PROTOCOLS.iter().copied().find(|protocol| protocol.as_bytes() == name)
}

/// The netlink socket that a descriptor of a process is.
pub(super) fn netlink(process: i32, link: &str, inode: u64) -> Option<NetlinkSocket> {
    (protocol_of(link)? == "NETLINK")
        .then(|| NetlinkSocket { protocol: bound(process, inode).map(|(protocol, _)| protocol) })
}

/// Finds the line of a table of `/proc/PID/net` that has the inode in this column.
fn line_of<T>(
    process: i32,
    table: &str,
    column: usize,
    inode: u64,
    read: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let inode = inode.to_string();
    let mut lines = BufReader::new(File::open(format!("/proc/{process}/net/{table}")).ok()?);
    let mut line = String::new();
    for _ in 0..LINES_MAX {
        line.clear();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.split_ascii_whitespace().nth(column) == Some(&inode) {
            return read(&line);
        }
    }
    None
}

/// The addresses of a TCP or UDP socket.
fn internet(process: i32, table: &str, inode: u64) -> Option<Vec<u8>> {
    line_of(process, table, 9, inode, |line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let here = address(words.next()?)?;
        let there = address(words.next()?)?;
        let connected = there.port() != 0 || !there.ip().is_unspecified();
        let text = if connected { format!("{here}->{there}") } else { here.to_string() };
        Some(text.into_bytes())
    })
}

/// Parses `0100007F:1F90`: 32-bit words in memory order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(host.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let host = if host.len() == 8 {
        IpAddr::V4(Ipv4Addr::from(word(0)?))
    } else {
        let mut bytes = [0; 16];
        for (at, piece) in bytes.chunks_exact_mut(4).enumerate() {
            piece.copy_from_slice(&word(at)?);
        }
        IpAddr::V6(Ipv6Addr::from(bytes))
    };
    Some(SocketAddr::new(host, port))
}

/// The protocol and the port of a netlink socket, as text.
fn bus(process: i32, inode: u64) -> Option<Vec<u8>> {
    let (protocol, port) = bound(process, inode)?;
    let name = NETLINK.get(protocol as usize).filter(|name| !name.is_empty())?;
    Some(format!("{name}:{port}").into_bytes())
}

/// The protocol and the port of a netlink socket; one that is not bound has none.
fn bound(process: i32, inode: u64) -> Option<(u32, i64)> {
    line_of(process, "netlink", 9, inode, |line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let protocol = words.next()?.parse().ok()?;
        let port = words.next()?.parse().ok()?;
        (port != 0).then_some((protocol, port))
    })
}

/// A UNIX socket by sock_diag(7): its peer, and the path that it is bound to.
fn unix(inode: u64) -> Option<Vec<u8>> {
    let answer = ask(u32::try_from(inode).ok()?)?;
    let half = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    // SOCK_DIAG_BY_FAMILY; an error has type 2.
    if u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?) != 20 {
        return None;
    }
    let mut text = inode.to_string().into_bytes();
    let mut bound = None;
    // The netlink header takes 16 bytes, and so does `struct unix_diag_msg`; attributes follow.
    let mut at = 32;
    while let Some(header) = answer.get(at..at + 4) {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = answer.get(at + 4..at + length.max(4))?;
        match u16::from_ne_bytes([header[2], header[3]]) {
            // UNIX_DIAG_NAME.
            0 => bound = Some(value),
            // UNIX_DIAG_PEER.
            2 => text.extend_from_slice(format!("->{}", half(at + 4)?).as_bytes()),
            _ => (),
        }
        at += length.max(4).next_multiple_of(4);
    }
    match bound {
        Some([0, name @ ..]) => {
            text.extend_from_slice(b",@\"");
            escape(name, Quote::Double, &mut text);
            text.push(b'"');
        }
        Some(path) if !path.is_empty() => {
            text.extend_from_slice(b",\"");
            let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
            escape(path, Quote::Double, &mut text);
            text.push(b'"');
        }
        _ => (),
    }
    Some(text)
}

/// Asks sock_diag(7) for one UNIX socket.
fn ask(inode: u32) -> Option<Vec<u8>> {
    let mut question = Vec::with_capacity(40);
    // The header: length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, number, port.
    question.extend(40u32.to_ne_bytes());
    question.extend(20u16.to_ne_bytes());
    question.extend(1u16.to_ne_bytes());
    question.extend([0; 8]);
    // `struct unix_diag_req`: family, all states, this inode, name and peer, no cookie.
    question.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    question.extend(u32::MAX.to_ne_bytes());
    question.extend(inode.to_ne_bytes());
    question.extend(5u32.to_ne_bytes());
    question.extend(u64::MAX.to_ne_bytes());
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    rustix::net::send(&socket, &question, SendFlags::empty()).ok()?;
    // A path takes at most 108 bytes; the kernel has answered when the send returns.
    let mut answer = vec![0; 1024];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    answer.truncate(length);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_tables_are_read() {
        let text = |word| address(word).map(|address| address.to_string());
        assert_eq!(text("0100007F:1F90").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(text("0100007F:0050").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(text("00000000000000000000000001000000:0016").as_deref(), Some("[::1]:22"));
        let wrong = ["", ":", "0100007F", "0100007:1", "xx00007F:1F90", "0100007F:FFFFF"];
        for wrong in wrong.iter().chain(&["01007F:0050", "0100007F:x", "010000zz:0050"]) {
            assert_eq!(text(wrong), None, "{wrong}");
        }
    }
}
