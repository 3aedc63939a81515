//! Files of cgroups that are neither key-value lists nor a single number (kernel
//! `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/blkio-controller.rst`):
//!
//! ```text
//! 254:0 rbytes=90112 wbytes=0 rios=5 wios=0 dbytes=0 dios=0        io.stat
//! 254:0 Read 90112                                                 blkio.throttle.io_service_bytes
//! ```
//!
//! and `/proc/cgroups`.

use crate::scan::{lines, take_number, take_word};

/// Disk traffic of a cgroup, summed over its devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoTotals {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
}

/// Sums up `io.stat` over the devices (`major:minor`) for which `counts` returns true.
pub fn parse_io_stat(text: &[u8], mut counts: impl FnMut(&[u8]) -> bool) -> IoTotals {
    let mut totals = IoTotals::default();
    for mut line in lines(text) {
        let mut counted = false;
        loop {
            let word = take_word(&mut line);
            if word.is_empty() {
                break;
            }
            // A device without numbers can precede one with numbers on the same line.
            let Some(at) = memchr::memchr(b'=', word) else {
                counted = counts(word);
                continue;
            };
            let (key, mut value) = (&word[..at], &word[at + 1..]);
            let Some(value) = take_number(&mut value).filter(|_| counted) else { continue };
            let total = match key {
                b"rbytes" => &mut totals.read_bytes,
                b"wbytes" => &mut totals.written_bytes,
                b"rios" => &mut totals.reads,
                b"wios" => &mut totals.writes,
                _ => continue,
            };
            *total = total.saturating_add(value);
        }
    }
    totals
}

/// Sums up a `blkio.throttle.*` file over the devices for which `counts` returns true: (reads,
/// writes).
pub fn parse_blkio(text: &[u8], mut counts: impl FnMut(&[u8]) -> bool) -> (u64, u64) {
    let (mut reads, mut writes) = (0u64, 0u64);
    for mut line in lines(text) {
        let device = take_word(&mut line);
        let total = match take_word(&mut line) {
            b"Read" => &mut reads,
            b"Write" => &mut writes,
            _ => continue,
        };
        if let Some(value) = take_number(&mut line).filter(|_| counts(device)) {
            *total = total.saturating_add(value);
        }
    }
    (reads, writes)
}

/// Each controller in `/proc/cgroups` with its number of cgroups: `memory  4  15  1` gives 15.
pub fn parse_cgroups(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter(|line| !line.starts_with(b"#")).filter_map(|mut line| {
        let controller = take_word(&mut line);
        let _hierarchy = take_number(&mut line)?;
        Some((controller, take_number(&mut line)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_count_are_summed_up() {
        let text = b"8:0 rbytes=90112 wbytes=5 rios=5 wios=1 dbytes=0 dios=0\n\
            253:0 rbytes=90112 wbytes=5 rios=5 wios=1\n\
            7:0 8:16 rbytes=1 wbytes=2 rios=3 wios=x\n8:32\nrbytes=5\n";
        let totals = parse_io_stat(text, |device| device.starts_with(b"8:"));
        let wanted = IoTotals { read_bytes: 90_113, written_bytes: 7, reads: 8, writes: 1 };
        assert_eq!(totals, wanted);
        assert_eq!(parse_io_stat(b"", |_| true), IoTotals::default());
    }

    #[test]
    fn version_one() {
        let text =
            b"8:0 Read 10\n8:0 Write 20\n8:0 Total 30\n253:0 Read 10\n8:16 Write 1\nTotal 40\n";
        assert_eq!(parse_blkio(text, |device| device.starts_with(b"8:")), (10, 21));
        assert_eq!(parse_blkio(b"Total 0\n", |_| true), (0, 0));
        let cgroups = b"#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t3\t1\nx\t1\n";
        assert_eq!(parse_cgroups(cgroups).collect::<Vec<_>>(), [(&b"cpu"[..], 3)]);
    }
}
