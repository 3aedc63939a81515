//! Copies a range of a file into another file before a program starts.
//!
//! A thread other than the engine's does it, so that no other job waits for a large range.
//! `copy_file_range` copies within the kernel, or only shares blocks if the file system can do
//! that.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use rustix::fs::copy_file_range;
use rustix::io::Errno;

/// Bytes moved at a time if the kernel cannot copy by itself.
const COPY_BYTES: u64 = 256 << 10;

/// The range to copy, and the file to fill.
#[derive(Debug)]
pub struct InputCopy {
    /// Written first.
    pub header: Arc<[u8]>,
    /// The file to copy from.
    pub from: Arc<File>,
    /// The range of bytes to copy.
    pub range: Range<u64>,
    /// The file to fill, which is empty.
    pub into: OwnedFd,
}

impl InputCopy {
    /// Copies.  If the file has become shorter, copies what there is.
    ///
    /// # Errors
    ///
    /// If the copy cannot be written, as on a full disk.
    pub fn run(&self) -> io::Result<()> {
        self.write(&self.header, 0)?;
        let header = self.header.len() as u64;
        let mut at = self.range.start;
        while at < self.range.end {
            let (mut from, mut into) = (at, header + at - self.range.start);
            let count = usize::try_from(self.range.end - at).unwrap_or(usize::MAX);
            let copied =
                copy_file_range(&*self.from, Some(&mut from), &self.into, Some(&mut into), count);
            match copied {
                Err(Errno::INTR) => {}
                // Another file system or another type of file: through our memory.
                Ok(0) | Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                    return self.read_and_write(at);
                }
                Ok(count) => at += count as u64,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_and_write(&self, mut at: u64) -> io::Result<()> {
        let mut piece = vec![0; (self.range.end - at).min(COPY_BYTES) as usize];
        while at < self.range.end {
            let wanted = (self.range.end - at).min(COPY_BYTES) as usize;
            match self.from.read_at(&mut piece[..wanted], at) {
                Ok(0) => break,
                Ok(count) => {
                    let into = self.header.len() as u64 + at - self.range.start;
                    self.write(&piece[..count], into)?;
                    at += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::pwrite(&self.into, bytes, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_part_is_copied_behind_its_header_by_either_way() {
        let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
        let mut from = tempfile::tempfile().unwrap();
        from.write_all(&bytes).unwrap();
        let from = Arc::new(from);
        // The last range is larger than the file, as if the file had become shorter.
        for (range, by_memory) in [(5..600_005, false), (5..600_005, true), (5..800_000, false)] {
            let mut into = tempfile::tempfile().unwrap();
            let fill = InputCopy {
                header: (*b"head\n").into(),
                from: Arc::clone(&from),
                range: range.clone(),
                into: into.try_clone().unwrap().into(),
            };
            if by_memory {
                fill.write(&fill.header, 0).unwrap();
                fill.read_and_write(range.start).unwrap();
            } else {
                fill.run().unwrap();
            }
            let mut all = Vec::new();
            into.rewind().unwrap();
            into.read_to_end(&mut all).unwrap();
            let end = (range.end as usize).min(bytes.len());
            assert!(all == [b"head\n", &bytes[5..end]].concat(), "{range:?}");
        }
    }
}
