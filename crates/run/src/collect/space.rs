//! Detects that the disk of the temporary files is full.
//!
//! A job that could not write its output reports that at best to its standard error, which cannot
//! be written either.  On a full disk a file ends at the end of a disk block.  So outputs of such a
//! length are checked, and once a second any output.  The check writes a file: if that fails, the
//! disk is full.

use std::os::fd::BorrowedFd;
use std::path::Path;

use super::CollectError;
use super::temporary::Temporary;

/// File system blocks are multiples of this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// Time between two checks without such a length, nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// What is written to check for room: more than two blocks.
const TRIAL: [u8; 2 * BLOCK_BYTES as usize + 1] = [0; 2 * BLOCK_BYTES as usize + 1];

#[derive(Debug, Default)]
pub(super) struct Space {
    looked_ns: u64,
}

impl Space {
    /// A job that ended at `now_ns` has written these lengths to files in `folder`, of which `file`
    /// is one.  Returns an error if output may be missing because the disk is full.
    pub(super) fn check(
        &mut self,
        now_ns: u64,
        lengths: [u64; 2],
        file: BorrowedFd<'_>,
        folder: &Path,
    ) -> Result<(), CollectError> {
        let suspected = lengths.iter().any(|length| *length > 0 && length % BLOCK_BYTES == 0);
        if !suspected {
            if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
                return Ok(());
            }
            self.looked_ns = now_ns;
            // Some file systems report no number of blocks.
            if rustix::fs::fstatfs(file)
                .map_or(true, |disk| disk.f_blocks == 0 || disk.f_bavail > 2)
            {
                return Ok(());
            }
        }
        Temporary::for_us(folder)?.write_at(&TRIAL, 0, folder)
    }
}
