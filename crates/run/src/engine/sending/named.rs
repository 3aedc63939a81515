//! Blocks that jobs open by a name (`--cat`, `--fifo`).
//!
//! The name is `/proc/PID/fd/N` of a descriptor that we hold until the job has ended: of a file
//! that never had another name (`O_TMPFILE`), or of a pipe.  So nothing is left behind however we
//! end, not even by KILL.  Each open is one of its own: a program may seek, open it twice, or start
//! others that have closed what they do not know; an inherited descriptor (`/dev/fd/N`) would
//! give none of the last.  The price: to `lstat` it is a symbolic link, a file cannot be made
//! beside it (`sed -i`), and it ends with us.
//!
//! In the command line stands `$PARALLEL_TMP`, as with GNU parallel, and the shell puts the name
//! there.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};

use super::{Body, Sending};
use crate::collect::{CollectError, Temporary};
use spawn::InputCopy;

/// What stands in a command line for the name.
pub(in crate::engine) const NAME: &str = "$PARALLEL_TMP";

/// How a job reads its block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BlockAccess {
    /// It is standard input.
    #[default]
    Stdin,
    /// It is a pipe with a name (`--fifo`).
    Fifo,
    /// It is a file without a name in this folder, and has one (`--cat`).
    File(PathBuf),
}

impl BlockAccess {
    /// Whether the job gets a name.
    pub fn is_named(&self) -> bool {
        *self != BlockAccess::Stdin
    }
}

impl Sending {
    /// Makes the file, and fills it with a block that is in memory; for a part of a file see
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

    /// Whether there is such a part.
    pub(in crate::engine) fn is_part(&self) -> bool {
        self.file.is_some() && matches!(self.block.body, Body::Range { .. })
    }

    /// What is to be copied before the job starts.
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
            // The job may be over before the copying is.
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
