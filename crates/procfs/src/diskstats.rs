//! `/proc/diskstats` (proc(5), kernel `Documentation/admin-guide/iostats.rst`): counters of every
//! block device, disk or partition, since it appeared.
//!
//! ```text
//!  254       0 vda 65453 10133 8541258 87963 25690 41549 15096376 70822 0 22588 159607 7687 22 810096 725 2443 95
//! ```
//!
//! The kernel prints 11 columns since 2.6, 15 with discards since 4.18, 17 with flushes since 5.5.
//! Before 2.6.25 partitions had only 4.

use crate::scan::{lines, take_number, take_word};

/// The largest number of columns after the name.
pub const COLUMNS: usize = 17;

/// The columns of a device without any I/O, such as an unused loop device; most lines of some
/// machines are these.
const IDLE: &[u8; 2 * COLUMNS] = b" 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLine<'a> {
    /// The device number's major part.
    pub major: u64,
    /// The device number's minor part.
    pub minor: u64,
    /// The device's name; it can hold a slash (`cciss/c0d0`).
    pub name: &'a [u8],
    /// The columns in the file's order: reads, reads merged, sectors read, ms reading, writes,
    /// writes merged, sectors written, ms writing, in flight, ms busy, weighted ms, discards,
    /// discards merged, sectors discarded, ms discarding, flushes, ms flushing.
    pub columns: [u64; COLUMNS],
    /// Bit `n` is set when the kernel printed column `n`.
    pub present: u32,
}

/// The devices, in the kernel's order.  Malformed lines are skipped.
pub fn parse_diskstats(text: &[u8]) -> impl Iterator<Item = DiskLine<'_>> {
    lines(text).filter_map(parse_line)
}

#[inline]
fn parse_line(mut line: &[u8]) -> Option<DiskLine<'_>> {
    let major = take_number(&mut line)?;
    let minor = take_number(&mut line)?;
    let name = take_word(&mut line);
    if name.is_empty() {
        return None;
    }
    let mut columns = [0; COLUMNS];
    if line == IDLE {
        return Some(DiskLine { major, minor, name, columns, present: (1 << COLUMNS) - 1 });
    }
    let mut count = 0;
    for slot in &mut columns {
        let Some(value) = take_number(&mut line) else { break };
        *slot = value;
        count += 1;
    }
    let mut present = (1 << count) - 1;
    if count == 4 {
        // An old partition: reads, sectors read, writes, sectors written.
        let [reads, sectors_read, writes, sectors_written, ..] = columns;
        columns = [0; COLUMNS];
        (columns[0], columns[2], columns[4], columns[6]) =
            (reads, sectors_read, writes, sectors_written);
        present = 0b101_0101;
    }
    Some(DiskLine { major, minor, name, columns, present })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file_of_a_6_18_kernel() {
        let text = b"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
            254       0 vda 65453 10133 8541258 87963 25690 41549 15096376 70822 0 22588 159607 \
            7687 22 810096 725 2443 95\n";
        let disks: Vec<DiskLine<'_>> = parse_diskstats(text).collect();
        assert_eq!(disks.len(), 2);
        let vda = &disks[1];
        assert_eq!((vda.major, vda.minor, vda.name), (254, 0, &b"vda"[..]));
        assert_eq!(vda.present, (1 << 17) - 1);
        assert_eq!(vda.columns[..4], [65453, 10133, 8_541_258, 87963]);
        assert_eq!(vda.columns[9..], [22588, 159_607, 7687, 22, 810_096, 725, 2443, 95]);
    }

    #[test]
    fn older_kernels_print_fewer_columns() {
        let check = |line: &str, present: u32| {
            let disk = parse_diskstats(line.as_bytes()).next().unwrap();
            assert_eq!(disk.present, present, "{line}");
            disk.columns
        };
        let columns = check(" 104 0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11\n", (1 << 11) - 1);
        assert_eq!(columns[..11], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        check("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", (1 << 15) - 1);
        let partition = check("   8    1 sda1 100 200 300 400\n", 0b101_0101);
        assert_eq!(partition[..8], [100, 0, 200, 0, 300, 0, 400, 0]);
    }

    #[test]
    fn broken_lines_give_what_can_be_read() {
        let text =
            b"\n8\n8 0\n8 x sda 1\n8 0 sda\n8 16 sdb 1 2 -3 4\n8 32 sdc 1 99999999999999999999";
        let disks: Vec<(&[u8], u32)> = parse_diskstats(text).map(|d| (d.name, d.present)).collect();
        assert_eq!(disks, [(&b"sda"[..], 0), (&b"sdb"[..], 0b11), (&b"sdc"[..], 0b1)]);
    }
}
