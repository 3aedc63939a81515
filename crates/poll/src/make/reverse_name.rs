//! Names of IPv4 addresses: of `/etc/hosts`, otherwise of the first name server (RFC 1035, PTR).
//!
//! The C library could be asked, but one lookup in it costs 400 system calls where no server is.

use std::cell::Cell;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// How long a server may take; after one silence it is not asked again.
const WAIT: Duration = Duration::from_secs(2);

/// Where names of addresses are looked up.
pub struct ReverseNames {
    hosts: String,
    server: Option<String>,
    is_silent: Cell<bool>,
}

impl ReverseNames {
    /// Reads `/etc/hosts` and `/etc/resolv.conf`; a file that cannot be read knows nothing.
    pub fn read() -> Self {
        let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
        let resolver = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let server = resolver.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next()? == "nameserver").then(|| words.next()).flatten()
        });
        Self { server: server.map(str::to_owned), hosts, is_silent: Cell::new(false) }
    }

    /// The name of an address; waits two seconds at the most for the name server.
    pub fn of(&self, address: Ipv4Addr) -> Option<String> {
        in_hosts(&self.hosts, address).or_else(|| self.asked(address))
    }

    fn asked(&self, address: Ipv4Addr) -> Option<String> {
        let server = self.server.as_deref().filter(|_| !self.is_silent.get())?;
        let local = if server.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(local).ok()?;
        socket.connect((server, 53)).ok()?;
        socket.set_read_timeout(Some(WAIT)).ok()?;
        socket.send(&question(address)).ok()?;
        let mut answer = [0; 1_500];
        let Ok(length) = socket.recv(&mut answer) else {
            self.is_silent.set(true);
            return None;
        };
        pointer(&answer[..length])
    }
}

fn in_hosts(hosts: &str, address: Ipv4Addr) -> Option<String> {
    hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let is_it = words.next()?.parse() == Ok(address);
        is_it.then(|| words.next()).flatten().map(str::to_owned)
    })
}

/// A query for the name of an address.
fn question(address: Ipv4Addr) -> Vec<u8> {
    // Identifier, recursion wanted, one question.
    let mut out = vec![0x77, 0x68, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let [a, b, c, d] = address.octets();
    for label in [d, c, b, a].map(|part| part.to_string()).iter().map(String::as_str) {
        out.push(label.len() as u8);
        out.extend_from_slice(label.as_bytes());
    }
    out.extend_from_slice(b"\x07in-addr\x04arpa\x00\x00\x0c\x00\x01");
    out
}

/// The first PTR record of an answer.
fn pointer(answer: &[u8]) -> Option<String> {
    let number = |at: usize| Some(u16::from_be_bytes([*answer.get(at)?, *answer.get(at + 1)?]));
    if number(0)? != 0x7768 || number(2)? & 0x800f != 0x8000 {
        return None;
    }
    let mut at = 12;
    for _ in 0..number(4)? {
        at = name(answer, at)?.1 + 4;
    }
    for _ in 0..number(6)? {
        at = name(answer, at)?.1;
        let (kind, length) = (number(at)?, usize::from(number(at + 8)?));
        if kind == 12 {
            return name(answer, at + 10).map(|(name, _)| name).filter(|name| !name.is_empty());
        }
        at += 10 + length;
    }
    None
}

/// A name, and where what follows it begins.
fn name(answer: &[u8], mut at: usize) -> Option<(String, usize)> {
    let (mut labels, mut end) = (Vec::new(), None);
    // A name has at most 127 labels; more jumps than that are a circle.
    for _ in 0..128 {
        let length = usize::from(*answer.get(at)?);
        if length == 0 {
            return Some((labels.join("."), end.unwrap_or(at + 1)));
        }
        if length >= 0xc0 {
            end = end.or(Some(at + 2));
            at = (length & 0x3f) << 8 | usize::from(*answer.get(at + 1)?);
            continue;
        }
        let label = answer.get(at + 1..at + 1 + length)?;
        labels.push(String::from_utf8_lossy(label).into_owned());
        at += 1 + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_answers_are_read() {
        let hosts = "# none\n127.0.0.1 localhost x\n10.0.0.1\tbox # 10.0.0.2 no\n";
        assert_eq!(in_hosts(hosts, Ipv4Addr::LOCALHOST).as_deref(), Some("localhost"));
        assert_eq!(in_hosts(hosts, Ipv4Addr::new(10, 0, 0, 2)), None);
        let mut answer = question(Ipv4Addr::new(10, 0, 0, 1));
        answer[2] = 0x81;
        answer[7] = 1;
        answer.extend_from_slice(
            b"\xc0\x0c\x00\x0c\x00\x01\x00\x00\x00\x05\x00\x07\x03box\x02at\x00",
        );
        assert_eq!(pointer(&answer).as_deref(), Some("box.at"));
        for length in 0..answer.len() {
            assert_eq!(pointer(&answer[..length]), None);
        }
        answer[3] = 3;
        assert_eq!(pointer(&answer), None);
        // A name that points to itself.
        answer[3] = 0;
        answer[12..14].copy_from_slice(b"\xc0\x0c");
        assert_eq!(pointer(&answer), None);
    }
}
