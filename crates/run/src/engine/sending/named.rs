//! Blocks that jobs open by a name (`--cat`, `--fifo`).
//!
//! The name is `/proc/PID/fd/N` of a descriptor that we hold until the job has ended: of an unnamed
//! file (`O_TMPFILE`), or of a pipe.  So nothing is left behind however we end, not even by KILL.
//! Each open creates a new open file description: a program may seek, open it twice, or start
//! others that close inherited descriptors; `/dev/fd/N` would not work for those.  The price: it is
//! a symbolic link to `lstat`, no file can be created beside it (`sed -i`), and it vanishes with
//! us.
//!
//! The command line contains `$PARALLEL_TMP`, as in GNU parallel, which the shell expands to the
//! name.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};

use super::{Body, Sending};
use crate::collect::{CollectError, Temporary};
use spawn::InputCopy;

/// The variable in the command line that holds the name.
pub(in crate::engine) const NAME: &str = "$PARALLEL_TMP";

/// How a job reads its block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BlockAccess {
    /// It is standard input.
    #[default]
    Stdin,
    /// It is a pipe that the job opens by name (`--fifo`).
    Fifo,
    /// It is an unnamed file in this folder that the job opens by a `/proc` name (`--cat`).
    File(PathBuf),
}

impl BlockAccess {
    /// Whether the job gets a name.
    pub fn is_named(&self) -> bool {
        *self != BlockAccess::Stdin
    }
}

impl Sending {
    /// Creates the file, and writes a block in memory to it; for a range of a file see
    /// [`input_copy`](Self::input_copy).
    pub(in crate::engine) fn make_file(&mut self, folder: &Path) -> Result<(), CollectError> {
        let file = Temporary::for_us(folder)?;
        if let Body::Bytes(bytes) = &self.block.body {
            file.write_at(&self.block.header, 0, folder)?;
            file.write_at(bytes, self.block.header.len() as u64, folder)?;
        }
        self.sent = self.block.len();
        self.file = Some(file);
        Ok(())
    }

    /// Whether the block is a range of a file that must be copied.
    pub(in crate::engine) fn is_part(&self) -> bool {
        self.file.is_some() && matches!(self.block.body, Body::Range { .. })
    }

    /// The copy that is made before the job starts.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub(in crate::engine) fn input_copy(&self) -> io::Result<Option<InputCopy>> {
        let (Some(file), Body::Range { file: from, range }) = (&self.file, &self.block.body) else {
            return Ok(None);
        };
        Ok(Some(InputCopy {
            header: self.block.header.clone(),
            from: from.clone(),
            range: range.clone(),
            // The job may end before the copy is done.
            into: rustix::io::fcntl_dupfd_cloexec(file.as_fd(), 3)?,
        }))
    }

    /// The name that the job opens.
    pub(in crate::engine) fn name(&self) -> Option<String> {
        let fd = match &self.file {
            Some(file) => file.as_fd(),
            None => self.reader.as_ref().filter(|_| self.is_named)?.as_fd(),
        };
        Some(format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()))
    }
}
