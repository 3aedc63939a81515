//! `/proc/net/dev` (proc(5), kernel `net/core/net-procfs.c`): traffic counters of every interface
//! of this network namespace.
//!
//! ```text
//! Inter-|   Receive                                                |  Transmit
//!  face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
//!     lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
//! ```

use memchr::memrchr;

use crate::scan::{lines, take_number};

/// Columns after an interface's name.
pub const COLUMNS: usize = 16;

/// One interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceLine<'a> {
    /// The interface's name.
    pub name: &'a [u8],
    /// The columns in the file's order: received bytes, packets, errors, dropped, fifo, frame,
    /// compressed, multicast; sent bytes, packets, errors, dropped, fifo, collisions, carrier,
    /// compressed.
    pub columns: [u64; COLUMNS],
    /// How many of them the line has.
    pub count: usize,
}

/// The interfaces, in the kernel's order.  Headings and malformed lines are skipped.
pub fn parse_net_dev(text: &[u8]) -> impl Iterator<Item = InterfaceLine<'_>> {
    lines(text).filter_map(parse_line)
}

#[inline]
fn parse_line(line: &[u8]) -> Option<InterfaceLine<'_>> {
    // Old kernels allow colons in names (aliases) and print no blank after the last one.
    let colon = memrchr(b':', line)?;
    let name = line[..colon].trim_ascii_start();
    if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let mut rest = &line[colon + 1..];
    let mut columns = [0; COLUMNS];
    let mut count = 0;
    for slot in &mut columns {
        let Some(value) = take_number(&mut rest) else { break };
        *slot = value;
        count += 1;
    }
    Some(InterfaceLine { name, columns, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file() {
        let text =
            b"Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs \
            drop fifo colls carrier compressed\n    lo:    3193      29    0    0    0     0       \
            0         0     3193      29    0    0    0     0       0          0\n  eth0: \
            104201070    3907    1    2    3     4          5         6   191663    1971    7    8 \
            9    10       11          12\n";
        let interfaces: Vec<InterfaceLine<'_>> = parse_net_dev(text).collect();
        assert_eq!(interfaces.len(), 2);
        assert_eq!((interfaces[0].name, interfaces[0].count), (&b"lo"[..], 16));
        let eth0 = [104_201_070, 3907, 1, 2, 3, 4, 5, 6, 191_663, 1971, 7, 8, 9, 10, 11, 12];
        assert_eq!((interfaces[1].name, interfaces[1].columns), (&b"eth0"[..], eth0));
    }

    #[test]
    fn odd_and_broken_lines() {
        let text =
            b"eth0:123 4\n  eth0:1: 5 6\n :1 2\n two words: 3\nwlan0: x\nnothing\n\xff\xfe: 9";
        let found: Vec<(&[u8], usize)> = parse_net_dev(text).map(|i| (i.name, i.count)).collect();
        assert_eq!(
            found,
            [(&b"eth0"[..], 2), (&b"eth0:1"[..], 2), (&b"wlan0"[..], 0), (&b"\xff\xfe"[..], 1)]
        );
    }
}
