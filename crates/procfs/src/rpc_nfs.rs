//! `/proc/net/rpc/nfs` and `/proc/net/rpc/nfsd` (kernel `net/sunrpc/stats.c`, `fs/nfsd/stats.c`):
//! counters of the NFS client and server of this network namespace.
//!
//! ```text
//! net 0 0 0 0
//! rpc 1298 0 1298
//! proc3 22 0 1 0 2 0 0 5 6 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! ```

use crate::scan::{lines, take_number, take_word};

/// One line: its first word and the numbers after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLine<'a> {
    /// `net`, `rpc`, `proc3`, `proc4ops`, …
    pub tag: &'a [u8],
    rest: &'a [u8],
}

impl<'a> RpcLine<'a> {
    /// The numbers, up to the first word that is not a number.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + use<'a> {
        let mut rest = self.rest;
        std::iter::from_fn(move || take_number(&mut rest))
    }

    /// The numbers of a line that begins with their count (`proc3 22 …`), at most that many.
    pub fn counted(&self) -> impl Iterator<Item = u64> + use<'a> {
        let mut numbers = self.numbers();
        let count = numbers.next().unwrap_or(0);
        numbers.take(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

/// The lines of the file.
pub fn parse_rpc(text: &[u8]) -> impl Iterator<Item = RpcLine<'_>> {
    lines(text).filter_map(|line| {
        let mut rest = line;
        let tag = take_word(&mut rest);
        (!tag.is_empty()).then_some(RpcLine { tag, rest })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_and_broken_lines() {
        let text = b"rc 0 7 8\nth 8 0 0.000 0.1\nproc3 3 1 2 3 4\nproc4ops 5 1 2\nproc2 x\n\nnet\nrpc 1 -2";
        let parsed: Vec<(&[u8], Vec<u64>, Vec<u64>)> = parse_rpc(text)
            .map(|line| (line.tag, line.numbers().collect(), line.counted().collect()))
            .collect();
        assert_eq!(parsed[0], (&b"rc"[..], vec![0, 7, 8], vec![]));
        assert_eq!(parsed[1].1[..2], [8, 0]);
        assert_eq!(parsed[2], (&b"proc3"[..], vec![3, 1, 2, 3, 4], vec![1, 2, 3]));
        assert_eq!(parsed[3].2, [1, 2]);
        assert_eq!(parsed[4], (&b"proc2"[..], vec![], vec![]));
        assert_eq!(parsed[5], (&b"net"[..], vec![], vec![]));
        assert_eq!(parsed[6], (&b"rpc"[..], vec![1], vec![]));
    }
}
