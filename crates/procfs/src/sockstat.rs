//! `/proc/net/sockstat` and `/proc/net/sockstat6` (kernel `net/ipv4/proc.c`, `net/ipv6/proc.c`):
//! sockets in use now, by protocol.
//!
//! ```text
//! sockets: used 16
//! TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 116
//! ```

use crate::scan::{lines, take_number, take_word};

/// One number of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketCount<'a> {
    /// The word before the colon (`TCP`, `UDP6`, `sockets`).
    pub protocol: &'a [u8],
    /// The word before the number (`inuse`, `mem`).
    pub key: &'a [u8],
    /// The number.
    pub value: u64,
}

/// Every number of the file.  Malformed text ends its line.
pub fn parse_sockstat(text: &[u8]) -> impl Iterator<Item = SocketCount<'_>> {
    lines(text).flat_map(|mut line| {
        let word = take_word(&mut line);
        let protocol = word.strip_suffix(b":");
        std::iter::from_fn(move || {
            let key = take_word(&mut line);
            let value = take_number(&mut line)?;
            Some(SocketCount { protocol: protocol?, key, value })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file_and_a_broken_one() {
        let text = b"sockets: used 16\nTCP: inuse 1 orphan 0 tw 2 alloc 3 mem 116\nUDP: inuse 4 \
            mem 5\nUDPLITE: inuse 0\nRAW: inuse 6\nFRAG: inuse 7 memory 8\n";
        let counts: Vec<(String, u64)> = parse_sockstat(text)
            .map(|c| {
                let names = [c.protocol, b".", c.key].concat();
                (String::from_utf8(names).unwrap(), c.value)
            })
            .collect();
        let expected = [
            ("sockets.used", 16),
            ("TCP.inuse", 1),
            ("TCP.orphan", 0),
            ("TCP.tw", 2),
            ("TCP.alloc", 3),
            ("TCP.mem", 116),
            ("UDP.inuse", 4),
            ("UDP.mem", 5),
            ("UDPLITE.inuse", 0),
            ("RAW.inuse", 6),
            ("FRAG.inuse", 7),
            ("FRAG.memory", 8),
        ];
        assert_eq!(counts, expected.map(|(name, value)| (name.to_owned(), value)));
        let broken = b"\nTCP inuse 1\nUDP: inuse x mem 5\nRAW: 7\n: inuse 3 4";
        let found: Vec<u64> = parse_sockstat(broken).map(|count| count.value).collect();
        assert_eq!(found, [3]);
    }
}
