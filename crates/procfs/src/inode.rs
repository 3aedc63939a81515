//! The three counts of the virtual file system under `/proc/sys/fs` (proc_sys_fs(5)):
//! `dentry-state`, `inode-nr` and `file-nr`.  Each is a line of numbers with tabs between.
//!
//! The kernel keeps these counters per CPU and adds them up carelessly, so a count that should be
//! near 0 may come out a little below it.

use crate::scan::{take_number, take_signed};

/// `dentry-state`: `90958 89191 45 0 17312 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DentryState {
    /// Directory entries that are cached.
    pub count: i64,
    /// Those of them that nobody uses.
    pub unused: i64,
    /// Unused ones that say that there is no such name; from Linux 5.0 on.
    pub negative: Option<i64>,
}

/// Parses `dentry-state`; `None` when its first two numbers are not there.
pub fn parse_dentry_state(mut text: &[u8]) -> Option<DentryState> {
    let count = take_signed(&mut text)?;
    let unused = take_signed(&mut text)?;
    // In between: the age at which entries are reclaimed, and pages asked for.
    let age = take_signed(&mut text);
    let pages = age.and_then(|_| take_signed(&mut text));
    // Before Linux 5.0 two dummies that are 0 follow; they read as no negative entries.
    Some(DentryState { count, unused, negative: pages.and_then(|_| take_signed(&mut text)) })
}

/// `inode-nr`: `71138 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeNr {
    /// Inodes that the kernel holds.
    pub count: i64,
    /// Those of them that nobody uses.
    pub free: i64,
}

/// Parses `inode-nr`; `None` when it has not two numbers.
pub fn parse_inode_nr(mut text: &[u8]) -> Option<InodeNr> {
    Some(InodeNr { count: take_signed(&mut text)?, free: take_signed(&mut text)? })
}

/// `file-nr`: `641 0 2466183`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNr {
    /// File handles that are open.
    pub open: u64,
    /// The most that may be.
    pub max: u64,
}

/// Parses `file-nr`; `None` when it has not three numbers.
pub fn parse_file_nr(mut text: &[u8]) -> Option<FileNr> {
    let open = take_number(&mut text)?;
    // Handles that are kept free: 0 since Linux 2.6.
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
