//! What sockets are, from `/proc/PID/net` and, for the other end of a UNIX socket, from sock_diag(7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use super::text_of;

/// `TCP:[127.0.0.1:80->127.0.0.1:5000]`; `TCP:[4711]` as long as it has no address.
pub(super) fn describe(process: i32, link: &str, inode: u64) -> Option<String> {
    let mut name = [0; 32];
    let count = rustix::fs::getxattr(link, "system.sockprotoname", &mut name[..]).ok()?;
    let name = name[..count].split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    let inside = match name {
        "TCP" | "TCPv6" | "UDP" | "UDPv6" => internet(process, name, inode),
        "NETLINK" => netlink_of(process, inode),
        _ if name.starts_with("UNIX") => Some(unix(process, inode)),
        "RAW" | "RAWv6" => None,
        // Kinds that strace does not name either.
        _ => return None,
    };
    Some(format!("{name}:[{}]", inside.unwrap_or_else(|| inode.to_string())))
}

/// The words of a table's line whose word at this place is the inode.
fn line_of(text: &str, place: usize, inode: u64) -> Option<Vec<&str>> {
    let inode = inode.to_string();
    let is_it = |line: &&str| line.split_ascii_whitespace().nth(place) == Some(&*inode);
    Some(text.lines().skip(1).find(is_it)?.split_ascii_whitespace().collect())
}

fn internet(process: i32, name: &str, inode: u64) -> Option<String> {
    let file = match name {
        "TCP" => "tcp",
        "TCPv6" => "tcp6",
        "UDP" => "udp",
        _ => "udp6",
    };
    let text = text_of(&format!("/proc/{process}/net/{file}"))?;
    let words = line_of(&text, 9, inode)?;
    let (local, remote) = (address(words.get(1)?)?, address(words.get(2)?)?);
    Some(if remote.1 == 0 { at(local) } else { format!("{}->{}", at(local), at(remote)) })
}

fn at((ip, port): (IpAddr, u16)) -> String {
    std::net::SocketAddr::new(ip, port).to_string()
}

/// `0100007F:0050`: words of an address as the machine has them in memory, and a port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok();
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0; 16];
            for index in 0..4 {
                bytes[index * 4..index * 4 + 4].copy_from_slice(&word(index)?.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((ip, port))
}

/// `ROUTE:1234`: the protocol and the port.
fn netlink_of(process: i32, inode: u64) -> Option<String> {
    const NAMES: [&str; 23] = [
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
    let text = text_of(&format!("/proc/{process}/net/netlink"))?;
    let words = line_of(&text, 9, inode)?;
    let (protocol, port) = (words.get(1)?.parse::<usize>().ok()?, words.get(2)?);
    let name = NAMES.get(protocol).filter(|name| !name.is_empty())?;
    (*port != "0").then(|| format!("{name}:{port}"))
}

/// `4711->4712,"/run/x"`: itself, the other end, its name.
fn unix(process: i32, inode: u64) -> String {
    let mut inside = inode.to_string();
    if let Some(peer) = peer(inode) {
        inside += &format!("->{peer}");
    }
    let text = text_of(&format!("/proc/{process}/net/unix")).unwrap_or_default();
    let ending = format!(" {inode} ");
    let line = text.lines().skip(1).find(|line| {
        line.split_ascii_whitespace().nth(6).is_some_and(|word| word == ending.trim())
    });
    // A name may have blanks in it.
    if let Some((_, name)) = line.and_then(|line| line.split_once(&ending)) {
        let (abstractly, name) = name.strip_prefix('@').map_or(("", name), |name| ("@", name));
        inside += &format!(",{abstractly}\"{}\"", name.escape_default());
    }
    inside
}

/// The inode of the other end of a UNIX socket of our own network.
fn peer(inode: u64) -> Option<u32> {
    /// Of linux/sock_diag.h and linux/unix_diag.h.
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const UDIAG_SHOW_PEER: u32 = 4;
    const UNIX_DIAG_PEER: u16 = 2;
    /// Header, and `struct unix_diag_msg`, before the attributes of an answer.
    const HEADS: usize = 16 + 16;
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    let mut request = Vec::with_capacity(40);
    request.extend(40_u32.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(u32::try_from(inode).ok()?.to_ne_bytes());
    request.extend(UDIAG_SHOW_PEER.to_ne_bytes());
    // Any cookie.
    request.extend([0xff; 8]);
    rustix::net::send(&socket, &request, SendFlags::empty()).ok()?;
    let mut answer = [0; 512];
    let (count, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    let answer = &answer[..count.min(512)];
    let half = |at: usize| Some(u16::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
    if half(4)? != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let mut at = HEADS;
    loop {
        let (length, kind) = (usize::from(half(at)?), half(at + 2)?);
        if kind == UNIX_DIAG_PEER {
            return Some(u32::from_ne_bytes(*answer.get(at + 4..)?.first_chunk()?));
        }
        if length < 4 {
            return None;
        }
        at += length.next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_kernels_tables() {
        let told = |text| address(text).map(at);
        assert_eq!(told("0100007F:0050").as_deref(), Some("127.0.0.1:80"));
        let six = "00000000000000000000000001000000:1F90";
        assert_eq!(told(six).as_deref(), Some("[::1]:8080"));
        for wrong in ["", ":", "0100007F", "01007F:0050", "0100007F:x", "010000zz:0050"] {
            assert_eq!(told(wrong), None, "{wrong}");
        }
    }
}
