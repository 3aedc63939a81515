//! `meminfo` and `numastat` of a NUMA node, under `/sys/devices/system/node/node0` (kernel
//! `drivers/base/node.c`, `Documentation/admin-guide/numastat.rst`):
//!
//! ```text
//! Node 0 MemTotal:       10578136 kB
//! ```
//!
//! ```text
//! numa_hit 6897359
//! ```

use crate::scan::{lines, number, take_number, take_word};

/// Calls `found` with the index and the value of each of `keys` (`MemTotal:`) that the text of
/// `meminfo` has.  Keys are in the file's order.
pub fn parse_node_meminfo(text: &[u8], keys: &[&[u8]], mut found: impl FnMut(usize, u64)) {
    let mut next = 0;
    for line in lines(text) {
        let Some(mut rest) = line.strip_prefix(b"Node ") else { continue };
        if take_number(&mut rest).is_none() {
            continue;
        }
        let key = take_word(&mut rest);
        if let (Some(index), Some(value)) = (find(keys, next, key), number(rest)) {
            next = index + 1;
            found(index, value);
        }
    }
}

/// Calls `found` with the index and the value of each of `keys` (`numa_hit`) that the text of
/// `numastat` has.  Keys are in the file's order.
pub fn parse_numastat(text: &[u8], keys: &[&[u8]], mut found: impl FnMut(usize, u64)) {
    let mut next = 0;
    for mut line in lines(text) {
        let key = take_word(&mut line);
        if let (Some(index), Some(value)) = (find(keys, next, key), number(line)) {
            next = index + 1;
            found(index, value);
        }
    }
}

/// The index of a key; tries `next` first, since files keep their order.
fn find(keys: &[&[u8]], next: usize, key: &[u8]) -> Option<usize> {
    if keys.get(next).is_some_and(|held| *held == key) {
        return Some(next);
    }
    keys.iter().position(|held| *held == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_lines_and_broken_ones() {
        let text = b"\nNode 0 MemTotal:       10578136 kB\nNode 0 MemUsed:         1127752 kB\n\
            Node 0 NFS_Unstable:          0 kB\nNode 0 Slab:            179768 kB\n\
            Node 0 HugePages_Surp:      3\nNode x MemFree: 1 kB\nNode 0 Active: kB\nNode 0\nNode";
        let keys: [&[u8]; 6] =
            [b"MemTotal:", b"MemFree:", b"MemUsed:", b"Active:", b"Slab:", b"HugePages_Surp:"];
        let mut read = Vec::new();
        parse_node_meminfo(text, &keys, |key, value| read.push((keys[key], value)));
        let expected: [(&[u8], u64); 4] = [
            (b"MemTotal:", 10_578_136),
            (b"MemUsed:", 1_127_752),
            (b"Slab:", 179_768),
            (b"HugePages_Surp:", 3),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn numastat_in_any_order() {
        let mut read = Vec::new();
        let text = b"numa_hit 6897359\nnuma_foreign 2\nnuma_miss 1\nother_node x\nnuma_hits 1\n";
        let keys: [&[u8]; 4] = [b"numa_hit", b"numa_miss", b"numa_foreign", b"other_node"];
        parse_numastat(text, &keys, |key, value| read.push((key, value)));
        assert_eq!(read, [(0, 6_897_359), (2, 2), (1, 1)]);
    }
}
