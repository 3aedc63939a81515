//! Where records go: one trait for all outputs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::format::RecordFormat;
use crate::record::LogRecord;

/// Takes records to where they go.
pub trait LogSink: Send {
    /// Takes a record; it may stay in memory until [`LogSink::flush`].
    ///
    /// # Errors
    /// If it cannot be delivered; then it stays in memory, and the next flush tries again.
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()>;

    /// Delivers what is in memory.
    ///
    /// # Errors
    /// If it cannot be delivered; what was not stays in memory.
    fn flush(&mut self) -> io::Result<()>;

    /// Waits until the disk has what was delivered, where there is one.
    ///
    /// # Errors
    /// If the disk does not take it.
    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Takes all and keeps nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoSink;

impl LogSink for NoSink {
    fn write(&mut self, _: &LogRecord<'_>) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes to an open file, a terminal, a pipe.
pub struct WriterSink<W> {
    format: Box<dyn RecordFormat>,
    buffer: Vec<u8>,
    to: W,
}

impl<W: Write + Send> WriterSink<W> {
    /// Writes in a format.
    pub fn new(format: Box<dyn RecordFormat>, to: W) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
        buffer.extend_from_slice(format.head());
        WriterSink { format, buffer, to }
    }

    /// Ends the text and delivers it all.
    ///
    /// # Errors
    /// If it cannot be delivered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.buffer.extend_from_slice(self.format.foot());
        self.flush()
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.to
    }
}

impl<W: Write + Send> LogSink for WriterSink<W> {
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()> {
        self.format.put(&mut self.buffer, record);
        if self.buffer.len() >= BUFFER_BYTES {
            write_out(&mut self.to, &mut self.buffer)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        write_out(&mut self.to, &mut self.buffer)?;
        self.to.flush()
    }
}

/// Writes a buffer, and takes from it what was written, so that the next try does not write it again.
fn write_out(to: &mut impl Write, buffer: &mut Vec<u8>) -> io::Result<()> {
    while !buffer.is_empty() {
        match to.write(buffer) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(count) if count == buffer.len() => buffer.clear(),
            Ok(count) => drop(buffer.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// When a file is put aside, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRotation {
    /// Bytes from which on the next file is begun; `None`: never.
    pub bytes_max: Option<u64>,
    /// Files kept beside the one that is written: `FILE.1` is the newest.
    pub keep: u32,
}

/// Writes to a file, by its name.
pub struct FileSink {
    format: Box<dyn RecordFormat>,
    path: PathBuf,
    rotation: FileRotation,
    file: File,
    /// Bytes in the file.
    bytes: u64,
    buffer: Vec<u8>,
}

impl FileSink {
    /// Appends to a file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(
        path: &Path,
        format: Box<dyn RecordFormat>,
        rotation: FileRotation,
    ) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).read(true).open(path)?;
        let bytes = without_foot(&file, format.foot())?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
        let mut last = [0];
        if bytes == 0 {
            buffer.extend_from_slice(format.head());
        } else if file.read_at(&mut last, bytes - 1).is_ok_and(|count| count == 1) && last != *b"\n"
        {
            // A line that was torn: the next record begins its own.
            buffer.push(b'\n');
        }
        Ok(FileSink { format, path: path.to_owned(), rotation, file, bytes, buffer })
    }

    /// Opens the file anew by its name: somebody else has put it aside.
    ///
    /// # Errors
    /// If it cannot be written or opened.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file = OpenOptions::new().append(true).create(true).read(true).open(&self.path)?;
        self.bytes = without_foot(&self.file, self.format.foot())?;
        if self.bytes == 0 {
            self.buffer.extend_from_slice(self.format.head());
        }
        Ok(())
    }

    fn deliver(&mut self) -> io::Result<()> {
        let before = self.buffer.len();
        let written = write_out(&mut self.file, &mut self.buffer);
        self.bytes += (before - self.buffer.len()) as u64;
        written?;
        if self.rotation.bytes_max.is_some_and(|most| self.bytes >= most) {
            self.rotate()?;
        }
        Ok(())
    }

    /// Ends the text of the file, if it is a whole one from its beginning.
    fn end(&mut self) -> io::Result<()> {
        let (head, foot) = (self.format.head(), self.format.foot());
        let mut first = vec![0; head.len()];
        if foot.is_empty() || self.file.read_exact_at(&mut first, 0).is_err() || first != head {
            return Ok(());
        }
        self.bytes += foot.len() as u64;
        self.file.write_all(foot)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.end()?;
        let name = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        if self.rotation.keep == 0 {
            std::fs::remove_file(&self.path)?;
        } else {
            for number in (1..self.rotation.keep).rev() {
                if let Err(error) = std::fs::rename(name(number), name(number + 1))
                    && error.kind() != io::ErrorKind::NotFound
                {
                    return Err(error);
                }
            }
            std::fs::rename(&self.path, name(1))?;
        }
        self.reopen()
    }
}

impl Drop for FileSink {
    /// Ends the text, so that readers of whole documents take it; [`FileSink::open`] goes on from there.
    fn drop(&mut self) {
        if self.flush().is_ok() {
            // A file without its end is read by everything else, and goes on at the next start.
            let _ = self.end();
        }
    }
}

/// Takes a foot off the end of a file that is gone on with; the bytes that are left.
fn without_foot(file: &File, foot: &[u8]) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let Some(kept) = bytes.checked_sub(foot.len() as u64).filter(|_| !foot.is_empty()) else {
        return Ok(bytes);
    };
    let mut last = vec![0; foot.len()];
    file.read_exact_at(&mut last, kept)?;
    if last != foot {
        return Ok(bytes);
    }
    file.set_len(kept)?;
    Ok(kept)
}

impl LogSink for FileSink {
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()> {
        self.format.put(&mut self.buffer, record);
        if self.buffer.len() >= BUFFER_BYTES {
            self.deliver()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { self.deliver() }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }
}
