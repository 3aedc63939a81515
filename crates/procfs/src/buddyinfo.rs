//! `/proc/buddyinfo` (proc_buddyinfo(5), kernel `mm/vmstat.c`): free blocks of 1, 2, 4, … pages,
//! zone by zone:
//!
//! ```text
//! Node 0, zone   Normal   2173   2020   1462    971    535    206     62    303    377    225   1266
//! ```

use crate::scan::{lines, take_number, take_word};

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone<'a> {
    /// The NUMA node's number, as text.
    pub node: &'a [u8],
    /// The zone's name: `DMA`, `DMA32`, `Normal`, `Movable`, …
    pub name: &'a [u8],
    /// The rest of the line: see [`Zone::blocks`].
    counts: &'a [u8],
}

impl Zone<'_> {
    /// The numbers of free blocks of 2⁰, 2¹, 2², … pages, up to the kernel's largest order.
    pub fn blocks(&self) -> impl Iterator<Item = u64> {
        let mut rest = self.counts;
        std::iter::from_fn(move || take_number(&mut rest))
    }
}

/// The zones, in the file's order.  Lines of another form are skipped.
pub fn parse_buddyinfo(text: &[u8]) -> impl Iterator<Item = Zone<'_>> {
    lines(text).filter_map(parse_line)
}

fn parse_line(line: &[u8]) -> Option<Zone<'_>> {
    let mut rest = line.strip_prefix(b"Node ")?;
    let node = take_word(&mut rest).strip_suffix(b",")?;
    if !node.iter().all(u8::is_ascii_digit) || take_word(&mut rest) != b"zone" {
        return None;
    }
    let name = take_word(&mut rest);
    (!name.is_empty()).then_some(Zone { node, name, counts: rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file() {
        let text = b"Node 0, zone      DMA      0      0      1      1      3 \n\
            Node 12, zone   Normal   2173   2020 \n";
        let zones: Vec<(&[u8], &[u8], Vec<u64>)> = parse_buddyinfo(text)
            .map(|zone| (zone.node, zone.name, zone.blocks().collect()))
            .collect();
        assert_eq!(zones.len(), 2);
        assert_eq!(zones[0], (&b"0"[..], &b"DMA"[..], vec![0, 0, 1, 1, 3]));
        assert_eq!(zones[1], (&b"12"[..], &b"Normal"[..], vec![2173, 2020]));
    }

    #[test]
    fn broken_lines_are_passed_over() {
        let text =
            b"Node 0 zone DMA 1\nNode x, zone DMA 1\nNode 0, zone\nNode\n\nNode 0, zoo D 1\n\
            Node 0, zone DMA 1 x 3";
        let zones: Vec<Vec<u64>> =
            parse_buddyinfo(text).map(|zone| zone.blocks().collect()).collect();
        assert_eq!(zones, [vec![1]]);
    }
}
