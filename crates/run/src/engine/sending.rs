//! Standard input of a job that reads a block: a pipe, and the data that is not written yet.
//!
//! The pipe gets the largest capacity that the kernel allows (usually 1 MiB), so that most blocks
//! fit before the job starts and need one `write`; the rest follows whenever there is room.  A
//! range of a file is not copied: `splice` puts the pages of the page cache into the pipe.
//!
//! A job may also open the block by a name ([`named`]).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::blocks::{Body, InputBlock, PIPE_BYTES};
use crate::collect::Temporary;

mod named;

pub use named::BlockAccess;
pub(super) use named::NAME;

/// The default capacity of a pipe (pipe(7)).
const DEFAULT_PIPE_BYTES: usize = 64 << 10;

/// Bytes read at a time from a file that cannot be spliced.
const COPY_BYTES: u64 = 256 << 10;

/// A block that is being sent to a job.
#[derive(Debug)]
pub(super) struct Sending {
    block: InputBlock,
    /// Bytes that were sent, including the header.
    sent: u64,
    /// Bytes of earlier blocks of the job (`--round-robin`).
    earlier: u64,
    /// The reading end, until the program has it.
    reader: Option<OwnedFd>,
    /// The writing end, until everything is written.
    writer: Option<OwnedFd>,
    /// The file cannot be spliced.
    copies: bool,
    /// Other blocks follow, so the pipe stays open after this one.
    stays_open: bool,
    /// The job has closed the reading end.
    is_refused: bool,
    /// The job opens the block by a name, so our own descriptor stays open.
    is_named: bool,
    /// The file that the job opens, if it opens one.
    file: Option<Temporary>,
}

impl Sending {
    /// A block of which nothing was sent.
    pub(super) fn new(block: InputBlock, stays_open: bool, access: &BlockAccess) -> Self {
        Sending {
            block,
            sent: 0,
            earlier: 0,
            reader: None,
            writer: None,
            copies: false,
            stays_open,
            is_refused: false,
            is_named: *access != BlockAccess::Stdin,
            file: None,
        }
    }

    /// Creates the pipe; returns the reading end for the job.
    ///
    /// # Errors
    ///
    /// As pipe(2): no descriptor is left, for example.
    pub(super) fn open(&mut self) -> io::Result<RawFd> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&writer, OFlags::WRONLY | OFlags::NONBLOCK)?;
        // Large enough for the block, if allowed; a smaller pipe is only slower.
        let bytes = usize::try_from(self.block.len()).map_or(PIPE_BYTES, |it| it.min(PIPE_BYTES));
        if bytes > DEFAULT_PIPE_BYTES || self.stays_open {
            let _ = fcntl_setpipe_size(&writer, PIPE_BYTES);
        }
        let fd = reader.as_raw_fd();
        (self.reader, self.writer) = (Some(reader), Some(writer));
        Ok(fd)
    }

    /// The descriptor for the job's standard input, while we have it.
    pub(super) fn reader(&self) -> Option<RawFd> {
        self.reader.as_ref().filter(|_| !self.is_named).map(AsRawFd::as_raw_fd)
    }

    /// The writing end, while something is to be written.
    pub(super) fn writer(&self) -> Option<RawFd> {
        self.writer.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The program has its reading end.
    pub(super) fn started(&mut self) {
        if !self.is_named {
            self.reader = None;
        }
    }

    /// Whether all of the block is sent and the pipe waits for another block.
    pub(super) fn is_idle(&self) -> bool {
        self.stays_open
            && !self.is_refused
            && self.writer.is_some()
            && self.sent == self.block.len()
    }

    /// Continues with another block; returns the one before.
    pub(super) fn continue_with(&mut self, mut block: InputBlock) -> InputBlock {
        // The job got its header with its first block.
        block.header = [].into();
        self.earlier += self.sent;
        self.sent = 0;
        std::mem::replace(&mut self.block, block)
    }

    /// Closes the writing end, unless another block follows.
    pub(super) fn close_unless_idle(&mut self) {
        if self.is_refused || !self.is_idle() {
            self.writer = None;
        }
    }

    /// Closes the writing end: no other block follows.
    pub(super) fn close_writer(&mut self) {
        self.writer = None;
    }

    /// Closes the pipe.
    pub(super) fn close(&mut self) {
        (self.reader, self.writer, self.file) = (None, None, None);
    }

    /// Starts from the beginning, for another attempt.
    pub(super) fn rewind(&mut self) {
        self.close();
        (self.sent, self.earlier, self.is_refused) = (0, 0, false);
    }

    /// The sent bytes for the joblog: all of a stream's block, whether the job read it or not; 0
    /// for a file or for the input of `--tee`, which is not sent but available.
    pub(super) fn bytes(&self) -> u64 {
        match self.block.body {
            Body::Bytes(_) => self.earlier + self.block.len(),
            Body::Range { .. } | Body::Shared(_) => 0,
        }
    }

    /// Returns the block when the job no longer needs it.
    pub(super) fn into_block(self) -> InputBlock {
        self.block
    }

    /// Writes as much as there is room for; returns whether more is to be written.  If not, call
    /// [`close_unless_idle`](Self::close_unless_idle) once the writing end is no longer watched.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.  A job that does not read is not an error.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        let Some(writer) = &self.writer else { return Ok(false) };
        let length = self.block.len();
        let header = self.block.header.len() as u64;
        while self.sent < length {
            let in_body = self.sent.saturating_sub(header);
            let done = match &self.block.body {
                _ if self.sent < header => {
                    rustix::io::write(writer, &self.block.header[self.sent as usize..])
                }
                Body::Bytes(bytes) => rustix::io::write(writer, &bytes[in_body as usize..]),
                Body::Shared(bytes) => rustix::io::write(writer, &bytes[in_body as usize..]),
                Body::Range { file, range } if self.copies => {
                    copy(file, range.start + in_body, length - self.sent, writer)
                }
                Body::Range { file, range } => {
                    let mut offset = range.start + in_body;
                    let count = usize::try_from(length - self.sent).unwrap_or(usize::MAX);
                    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
                    splice(file, Some(&mut offset), writer, None, count.min(PIPE_BYTES), flags)
                }
            };
            match done {
                // The file has become shorter.
                Ok(0) => break,
                Ok(count) => self.sent += count as u64,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::PIPE) => {
                    self.is_refused = true;
                    return Ok(false);
                }
                Err(Errno::INVAL) if !self.copies => self.copies = true,
                Err(error) => return Err(error.into()),
            }
        }
        self.sent = length;
        Ok(false)
    }
}

/// Copies a part of a file through our memory.
fn copy(file: &File, offset: u64, left: u64, writer: &OwnedFd) -> Result<usize, Errno> {
    let mut piece = vec![0; left.min(COPY_BYTES) as usize];
    let read = file.read_at(&mut piece, offset);
    let count = read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    match count {
        0 => Ok(0),
        _ => rustix::io::write(writer, &piece[..count]),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;

    use super::*;

    /// What a job reads of a block, and how often the pipe was full.
    fn through(block: InputBlock) -> (Vec<u8>, u32) {
        let mut sending = Sending::new(block, false, &BlockAccess::Stdin);
        sending.open().unwrap();
        let mut reader = File::from(sending.reader.take().unwrap());
        let (mut all, mut piece, mut waits) = (Vec::new(), vec![0; 100_000], 0);
        while sending.write().unwrap() {
            waits += 1;
            let count = reader.read(&mut piece).unwrap();
            all.extend_from_slice(&piece[..count]);
        }
        sending.close_unless_idle();
        reader.read_to_end(&mut all).unwrap();
        (all, waits)
    }

    #[test]
    fn blocks_larger_than_the_pipe_follow_when_there_is_room() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let whole = [b"head\n", &bytes[..]].concat();
        let header: Arc<[u8]> = (*b"head\n").into();
        let body = Body::Bytes(bytes.clone());
        let (all, waits) = through(InputBlock { header: Arc::clone(&header), body, job: 0 });
        assert!(all == whole && waits > 0);

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b"before", &bytes[..], b"behind"].concat()).unwrap();
        let body = Body::Range { file: Arc::new(file), range: 6..3_000_006 };
        let (all, waits) = through(InputBlock { header, body, job: 0 });
        assert!(all == whole && waits > 0);
    }

    #[test]
    fn a_job_that_does_not_read_is_no_error() {
        let body = Body::Bytes(vec![0; 3_000_000]);
        let mut sending = Sending::new(InputBlock::for_job(body, 0), false, &BlockAccess::Stdin);
        sending.open().unwrap();
        assert!(sending.write().unwrap());
        sending.started();
        assert!(!sending.write().unwrap());
        sending.close_unless_idle();
        assert_eq!((sending.writer(), sending.bytes()), (None, 3_000_000));
    }
}
