//! `/sys/block/zram*/{mm_stat,io_stat}` (kernel `Documentation/admin-guide/blockdev/zram.rst`):
//! one line of numbers each, with more columns in newer kernels.

use crate::scan::take_number;

/// `mm_stat`: original size, compressed size, memory used, its limit, its peak (all in bytes),
/// pages of one repeated value, pages freed by compaction, incompressible pages now, and
/// incompressible pages since the start.
pub const MM_COLUMNS: usize = 9;

/// `io_stat`: failed reads, failed writes, requests that were not page-aligned, pages freed by
/// the swap subsystem.
pub const IO_COLUMNS: usize = 4;

/// The numbers of such a file; `None` for columns that this kernel does not print.
pub fn parse_columns<const N: usize>(mut text: &[u8]) -> [Option<u64>; N] {
    let mut columns = [None; N];
    for column in &mut columns {
        *column = take_number(&mut text);
        if column.is_none() {
            break;
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_files_and_short_ones() {
        let text = b"1048576  74932 225280        0   229376       12       3        5       9\n";
        let columns: [Option<u64>; MM_COLUMNS] = parse_columns(text);
        assert_eq!(
            columns.map(|c| c.unwrap_or(99)),
            [1_048_576, 74_932, 225_280, 0, 229_376, 12, 3, 5, 9]
        );
        // Linux 4.1 has seven columns.
        let old: [Option<u64>; MM_COLUMNS] = parse_columns(b"1 2 3 4 5 6 7\n");
        assert_eq!((old[6], old[7], old[8]), (Some(7), None, None));
        assert_eq!(parse_columns::<IO_COLUMNS>(b"1 x 3"), [Some(1), None, None, None]);
        assert_eq!(parse_columns::<IO_COLUMNS>(b""), [None; 4]);
    }
}
