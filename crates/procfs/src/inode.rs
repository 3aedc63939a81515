//! Three files of the virtual filesystem under `/proc/sys/fs` (proc_sys_fs(5)): `dentry-state`,
//! `inode-nr` and `file-nr`.  Each is a line of numbers separated by tabs.
//!
//! The kernel keeps these counters per CPU and sums them without a lock, so a count near 0 may
//! come out slightly negative.

use crate::scan::{take_number, take_signed};

/// `dentry-state`: `90958 89191 45 0 17312 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DentryState {
    /// Cached directory entries.
    pub count: i64,
    /// Cached directory entries that are not in use.
    pub unused: i64,
    /// Unused negative entries, which cache that a name does not exist; since Linux 5.0.
    pub negative: Option<i64>,
}

/// Parses `dentry-state`; `None` if its first two numbers are missing.
pub fn parse_dentry_state(mut text: &[u8]) -> Option<DentryState> {
    let count = take_signed(&mut text)?;
    let unused = take_signed(&mut text)?;
    // `age_limit` and `want_pages`.
    let age = take_signed(&mut text);
    let pages = age.and_then(|_| take_signed(&mut text));
    // Before Linux 5.0 two dummy zeros follow: no negative entries.
    Some(DentryState { count, unused, negative: pages.and_then(|_| take_signed(&mut text)) })
}

/// `inode-nr`: `71138 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeNr {
    /// Allocated inodes.
    pub count: i64,
    /// Cached inodes that are not in use.
    pub free: i64,
}

/// Parses `inode-nr`; `None` unless it has two numbers.
pub fn parse_inode_nr(mut text: &[u8]) -> Option<InodeNr> {
    Some(InodeNr { count: take_signed(&mut text)?, free: take_signed(&mut text)? })
}

/// `file-nr`: `641 0 2466183`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNr {
    /// Allocated file handles.
    pub open: u64,
    /// The limit (`file-max`).
    pub max: u64,
}

/// Parses `file-nr`; `None` unless it has three numbers.
pub fn parse_file_nr(mut text: &[u8]) -> Option<FileNr> {
    let open = take_number(&mut text)?;
    // Free handles: always 0 since Linux 2.6.
    take_number(&mut text)?;
    Some(FileNr { open, max: take_number(&mut text)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_files_of_two_kernels() {
        let state = parse_dentry_state(b"90958\t89191\t45\t0\t17312\t0\n");
        let expected = DentryState { count: 90_958, unused: 89_191, negative: Some(17_312) };
        assert_eq!(state, Some(expected));
        let short = DentryState { count: 5, unused: -1, negative: None };
        assert_eq!(parse_dentry_state(b"5 -1 45 0"), Some(short));
        assert_eq!(parse_inode_nr(b"71138\t12\n"), Some(InodeNr { count: 71_138, free: 12 }));
        let file = parse_file_nr(b"641\t0\t9223372036854775807\n");
        assert_eq!(file, Some(FileNr { open: 641, max: 9_223_372_036_854_775_807 }));
    }

    #[test]
    fn broken_text_is_refused() {
        for broken in ["", "1", "x 2 3", "1 x", "-", "99999999999999999999 1 1"] {
            assert_eq!(parse_dentry_state(broken.as_bytes()), None, "{broken:?}");
            assert_eq!(parse_inode_nr(broken.as_bytes()), None, "{broken:?}");
            assert_eq!(parse_file_nr(broken.as_bytes()), None, "{broken:?}");
        }
        assert_eq!(parse_file_nr(b"1 2"), None);
    }
}
