//! Lines of a plain or gzip-compressed file, one at a time, without copying.
//!
//! A killed recorder leaves compressed data without an end.  The lines that can be decompressed
//! are returned; after the last one [`Lines::is_truncated`] returns true.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::CollectlError;

/// Initial size of the buffer: an interval of a usual machine.
const BUFFER_BYTES: usize = 256 * 1024;

/// The most bytes of a line.  The longest lines that collectl writes are interrupts of machines
/// with thousands of CPUs (11 bytes each), and command lines (4 KiB).
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The first bytes of a gzip file (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Lines of a file.
pub(super) struct Lines {
    path: PathBuf,
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    finished: bool,
    truncated: bool,
    corrupt: bool,
    /// Whether the file is still being written, so that more may follow its end.
    following: bool,
}

impl Lines {
    /// Opens a file; its first bytes, not its name, say whether it is compressed.
    pub(super) fn open(path: &Path) -> Result<Self, CollectlError> {
        let failed = |source| CollectlError::Io { path: path.to_owned(), source };
        Lines::over(File::open(path).map_err(failed)?, path)
    }

    /// Lines read from `file`; error messages name it `path`.
    pub(super) fn over(mut file: impl Read + 'static, path: &Path) -> Result<Self, CollectlError> {
        let failed = |source| CollectlError::Io { path: path.to_owned(), source };
        let mut magic = [0; 2];
        let mut read = 0;
        while read < magic.len() {
            match file.read(&mut magic[read..]).map_err(failed)? {
                0 => break,
                count => read += count,
            }
        }
        if read == 0 {
            return Err(CollectlError::Empty(path.to_owned()));
        }
        let whole = std::io::Cursor::new(magic[..read].to_vec()).chain(file);
        let input: Box<dyn Read> = if magic == GZIP_MAGIC {
            Box::new(MultiGzDecoder::new(std::io::BufReader::with_capacity(64 * 1024, whole)))
        } else {
            Box::new(whole)
        };
        Ok(Lines {
            path: path.to_owned(),
            input,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            finished: false,
            truncated: false,
            corrupt: false,
            following: false,
        })
    }

    /// With true, `None` means that there is nothing more yet, and a line without a newline is
    /// kept until it has one.  With false, `None` means the end of the file.
    pub(super) fn follow(&mut self, following: bool) {
        self.following = following;
    }

    /// Whether the compressed data or the last line is incomplete.
    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Whether the compressed data could not be decompressed further.
    pub(super) fn is_corrupt(&self) -> bool {
        self.corrupt
    }

    /// The next line, without its newline; `None` at the end.  A last line without a newline is
    /// skipped: it is incomplete.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, CollectlError> {
        let mut searched = self.start;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = self.start..searched + length;
                self.start = line.end + 1;
                return Ok(Some(&self.buffer[line]));
            }
            if self.finished {
                self.truncated |= self.start < self.end;
                self.start = self.end;
                return Ok(None);
            }
            let pending = self.end - self.start;
            self.fill()?;
            searched = self.start + pending;
            if self.following && self.finished {
                self.finished = false;
                if searched == self.end {
                    return Ok(None);
                }
            }
        }
    }

    /// Undoes the latest [`next`](Self::next), so that it returns the same line again.
    pub(super) fn give_back(&mut self, length: usize) {
        self.start -= length + 1;
    }

    fn fill(&mut self) -> Result<(), CollectlError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= LINE_BYTES_MAX {
                let limit = LINE_BYTES_MAX;
                return Err(CollectlError::LineTooLong { path: self.path.clone(), limit });
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.finished = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.finished = true;
                self.truncated = true;
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData) =>
            {
                self.finished = true;
                self.corrupt = true;
            }
            Err(source) => {
                return Err(CollectlError::Io { path: self.path.clone(), source });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(bytes: &[u8]) -> (Vec<Vec<u8>>, Lines) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = Lines::open(file.path()).unwrap();
        let mut got = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            got.push(line.to_vec());
        }
        (got, lines)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_compressed_and_several_members_are_the_same() {
        let (plain, lines) = all(b"a\n\nbc\n");
        assert_eq!(plain, [b"a".to_vec(), b"".to_vec(), b"bc".to_vec()]);
        assert!(!lines.is_truncated());
        assert_eq!(all(&gzip(b"a\n\nbc\n")).0, plain);
        let two = [gzip(b"a\n\n"), gzip(b"bc\n")].concat();
        assert_eq!(all(&two).0, plain);
    }

    #[test]
    fn a_cut_file_gives_what_it_has() {
        let text: Vec<u8> = (0..20_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let packed = gzip(&text);
        let (got, lines) = all(&packed[..packed.len() / 2]);
        assert!(lines.is_truncated() && !lines.is_corrupt());
        assert!(got.len() > 1000);
        assert!(got.iter().enumerate().all(|(n, line)| *line == format!("line {n}").into_bytes()));
        let mut broken = packed.clone();
        let middle = packed.len() / 2;
        broken[middle..middle + 64].fill(0xff);
        assert!(all(&broken).1.is_corrupt());
    }

    #[test]
    fn long_lines_are_read_and_endless_ones_refused() {
        let mut text = vec![b'x'; 3 * BUFFER_BYTES];
        text.push(b'\n');
        assert_eq!(all(&text).0[0].len(), 3 * BUFFER_BYTES);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![b'x'; LINE_BYTES_MAX + 10]).unwrap();
        let mut lines = Lines::open(file.path()).unwrap();
        assert!(matches!(lines.next(), Err(CollectlError::LineTooLong { .. })));
    }

    #[test]
    fn a_growing_file_is_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"a\nb").unwrap();
        let mut lines = Lines::open(file.path()).unwrap();
        lines.follow(true);
        assert_eq!(lines.next().unwrap(), Some(&b"a"[..]));
        for _ in 0..2 {
            assert_eq!(lines.next().unwrap(), None);
        }
        file.write_all(b"c\nd\ne").unwrap();
        assert_eq!(lines.next().unwrap(), Some(&b"bc"[..]));
        assert_eq!(lines.next().unwrap(), Some(&b"d"[..]));
        assert_eq!(lines.next().unwrap(), None);
        assert!(!lines.is_truncated());
        lines.follow(false);
        assert_eq!(lines.next().unwrap(), None);
        assert!(lines.is_truncated());
    }

    #[test]
    fn an_empty_file_says_so() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Lines::open(file.path()), Err(CollectlError::Empty(_))));
    }
}
