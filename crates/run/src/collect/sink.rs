//! Our standard output and error: bytes, parts of files, and tagged lines are written to them.
//!
//! Whole files are written by sendfile(2) without being read, unless lines get a tag or the
//! descriptor does not support it (opened with O_APPEND).
//!
//! An output that cannot be written is no reason to run fewer jobs: the first failure is kept for
//! [`Sink::take_loss`], and the next text is tried again.  A reader that has left is an error.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{self, Errno};

use super::CollectError;
use super::color::Color;
use crate::loss::Loss;

/// Bytes read and written at a time: the default capacity of a pipe, which fits the L2 cache.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Bytes for one sendfile(2): far more than it moves at once.
const SENDFILE_BYTES: usize = 1 << 30;

/// Bytes that a program makes when they are asked for.
pub(super) trait GeneratedBytes: std::fmt::Debug {
    /// How many there are; 0 before they were asked for.
    fn length(&self) -> u64;

    /// Calls `take` with them, in pieces of `buffer`'s length at most.
    fn each_chunk(
        &self,
        buffer: &mut [u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), CollectError>,
    ) -> Result<(), CollectError>;
}

/// Bytes to write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The part of a file at an offset and of a length; less if the file has become shorter.
    File(BorrowedFd<'a>, u64, u64),
    /// What a program makes of a file.
    Made(&'a dyn GeneratedBytes),
}

impl Source<'_> {
    /// The length in bytes; of what a program makes 0 before it was read.
    pub(super) fn length(&self) -> u64 {
        match self {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::File(_, _, length) => *length,
            Source::Made(text) => text.length(),
        }
    }
}

/// Turns an error number into an error.
pub(super) fn failed(what: &str, path: &Path, error: Errno) -> CollectError {
    match error {
        Errno::PIPE => CollectError::ReaderGone,
        _ => CollectError::Io { what: format!("{what} {}", path.display()), error: error.into() },
    }
}

/// Calls `take` with the source's bytes, `chunk_bytes` at a time.
pub(super) fn each_chunk(
    source: Source<'_>,
    chunk_bytes: usize,
    scratch: &mut Vec<u8>,
    mut take: impl FnMut(&[u8]) -> Result<(), CollectError>,
) -> Result<(), CollectError> {
    let (file, mut offset, length) = match source {
        Source::Bytes(bytes) => return bytes.chunks(chunk_bytes).try_for_each(take),
        Source::Made(text) => {
            scratch.resize(chunk_bytes, 0);
            return text.each_chunk(scratch, &mut take);
        }
        Source::File(file, offset, length) => (file, offset, length),
    };
    scratch.resize(chunk_bytes, 0);
    let end = offset + length;
    while offset < end {
        let wanted = usize::try_from(end - offset).unwrap_or(usize::MAX).min(chunk_bytes);
        match io::pread(file, &mut scratch[..wanted], offset) {
            // Another process has truncated the file.
            Ok(0) => break,
            Ok(count) => {
                take(&scratch[..count])?;
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("read", Path::new("a temporary file"), error)),
        }
    }
    Ok(())
}

/// What is written before and after each line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks<'a> {
    /// Written before it, followed by a TAB.
    pub(super) tag: Option<&'a [u8]>,
    /// The color of the line; a last line without a newline gets one.
    pub(super) color: Option<Color>,
}

impl<'a> Marks<'a> {
    /// Only a tag.
    pub(super) fn tag(tag: Option<&'a [u8]>) -> Self {
        Marks { tag, color: None }
    }

    fn is_empty(&self) -> bool {
        self.tag.is_none() && self.color.is_none()
    }
}

/// A text to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    /// What is written before and after each line.
    pub(super) marks: Marks<'a>,
    /// A line that comes first.
    pub(super) heading: Option<&'a [u8]>,
    /// The output of the job.
    pub(super) source: Source<'a>,
}

impl<'a> Text<'a> {
    /// These bytes without any marks.
    pub(super) fn plain(bytes: &'a [u8]) -> Self {
        Text { marks: Marks::default(), heading: None, source: Source::Bytes(bytes) }
    }

    /// Whether nothing is to be written, as far as that is known without reading.
    pub(super) fn is_empty(&self) -> bool {
        let may_have_bytes = matches!(self.source, Source::Made(_));
        self.heading.is_none() && self.source.length() == 0 && !may_have_bytes
    }

    /// The length in bytes, with the heading and without tags.
    pub(super) fn length(&self) -> u64 {
        self.heading.map_or(0, |heading| heading.len() as u64 + 1) + self.source.length()
    }

    /// Calls `take` with pieces of the text; with all of it at once if it is short.
    pub(super) fn each_piece(
        &self,
        buffers: &mut Buffers,
        mut take: impl FnMut(&[u8]) -> Result<(), CollectError>,
    ) -> Result<(), CollectError> {
        let Buffers { read, text } = buffers;
        text.clear();
        if let Some(heading) = self.heading {
            add(self.marks, heading, &mut true, text);
            end_line(self.marks, text);
            text.push(b'\n');
        }
        let mut line_begins = true;
        each_chunk(self.source, CHUNK_BYTES, read, |chunk| {
            // A chunk of empty lines may become as many tags, so small pieces are used.
            for piece in chunk.chunks(CHUNK_BYTES / 16) {
                add(self.marks, piece, &mut line_begins, text);
                if text.len() >= CHUNK_BYTES {
                    take(text)?;
                    text.clear();
                }
            }
            Ok(())
        })?;
        if self.marks.color.is_some() && !line_begins {
            end_line(self.marks, text);
            text.push(b'\n');
        }
        if text.is_empty() { Ok(()) } else { take(text) }
    }
}

/// Buffers that are used again for each text.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    read: Vec<u8>,
    text: Vec<u8>,
}

/// One of our two outputs.
#[derive(Debug)]
pub(super) struct Sink {
    file: OwnedFd,
    name: PathBuf,
    /// Whether sendfile(2) can write to it, as far as is known.
    sendfile: bool,
    loss: Loss<CollectError>,
}

impl Sink {
    /// An output to `file`; the name is for errors.
    pub(super) fn new(file: OwnedFd, name: impl Into<PathBuf>) -> Self {
        Sink { file, name: name.into(), sendfile: true, loss: Loss::None }
    }

    /// The first failure to write, once.
    pub(super) fn take_loss(&mut self) -> Option<CollectError> {
        self.loss.take()
    }

    /// Keeps a failure to write, unless the reader is gone: that ends the run.
    fn note(&mut self, written: Result<(), CollectError>) -> Result<(), CollectError> {
        match written {
            Err(CollectError::Write { what, error }) => {
                self.loss.note(CollectError::Write { what, error });
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes all bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), CollectError> {
        let written = write_all(&self.file, bytes, &self.name);
        self.note(written)
    }

    /// Writes a text; a short one in one write, so that output of other writers does not come
    /// between.
    pub(super) fn output(
        &mut self,
        text: &Text<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), CollectError> {
        let written = if text.marks.is_empty() && text.source.length() > CHUNK_BYTES as u64 {
            self.output_long(text, buffers)
        } else {
            text.each_piece(buffers, |piece| write_all(&self.file, piece, &self.name))
        };
        self.note(written)
    }

    fn output_long(&mut self, text: &Text<'_>, buffers: &mut Buffers) -> Result<(), CollectError> {
        let nothing = Source::Bytes(&[]);
        Text { source: nothing, ..*text }
            .each_piece(buffers, |heading| write_all(&self.file, heading, &self.name))?;
        let (from, mut offset, length) = match text.source {
            Source::File(file, offset, length) => (file, offset, length),
            source => {
                return each_chunk(source, CHUNK_BYTES, &mut buffers.read, |chunk| {
                    write_all(&self.file, chunk, &self.name)
                });
            }
        };
        let end = offset + length;
        while self.sendfile && offset < end {
            let wanted = usize::try_from(end - offset).unwrap_or(usize::MAX).min(SENDFILE_BYTES);
            match rustix::fs::sendfile(&self.file, from, Some(&mut offset), wanted) {
                // The end of the file, or an output that takes nothing: write(2) tells.
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait_for_room(&self.file),
                Err(Errno::INVAL | Errno::NOSYS) => self.sendfile = false,
                Err(error) => return Err(not_written(&self.name, error)),
            }
        }
        let rest = Source::File(from, offset, end - offset);
        each_chunk(rest, CHUNK_BYTES, &mut buffers.read, |chunk| {
            write_all(&self.file, chunk, &self.name)
        })
    }
}

/// Writes all bytes to a descriptor that may be non-blocking (a terminal shared with others).
fn write_all(file: &OwnedFd, mut bytes: &[u8], name: &Path) -> Result<(), CollectError> {
    while !bytes.is_empty() {
        match io::write(file, bytes) {
            // No device should, but then it would take nothing for ever.
            Ok(0) => return Err(not_written(name, Errno::IO)),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room(file),
            Err(error) => return Err(not_written(name, error)),
        }
    }
    Ok(())
}

/// An output that could not be written.
fn not_written(name: &Path, error: Errno) -> CollectError {
    match error {
        Errno::PIPE => CollectError::ReaderGone,
        _ => CollectError::Write { what: name.display().to_string(), error: error.into() },
    }
}

fn wait_for_room(file: &OwnedFd) {
    // If poll fails, the next write returns the error.
    let _ = poll(&mut [PollFd::new(file, PollFlags::OUT)], None);
}

/// Appends `bytes` to `out` with the marks of each line.  A carriage return ends a line too: what a
/// progress bar overwrites keeps its tag.
fn add(marks: Marks<'_>, bytes: &[u8], line_begins: &mut bool, out: &mut Vec<u8>) {
    if marks.is_empty() {
        out.extend_from_slice(bytes);
        return;
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        if *line_begins {
            if let Some(color) = marks.color {
                color.push_begin(out);
            }
            if let Some(tag) = marks.tag {
                out.extend_from_slice(tag);
                out.push(b'\t');
            }
        }
        let end = memchr::memchr2(b'\n', b'\r', rest);
        out.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        *line_begins = end.is_some();
        let Some(end) = end else { return };
        end_line(marks, out);
        out.push(rest[end]);
        rest = &rest[end + 1..];
    }
}

fn end_line(marks: Marks<'_>, out: &mut Vec<u8>) {
    if marks.color.is_some() {
        Color::push_end(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_at_the_beginning_of_lines_alone() {
        let mut out = Vec::new();
        let mut line_begins = true;
        for piece in [&b"a"[..], b"b\n\nc", b"", b"d\n"] {
            add(Marks::tag(Some(b"T")), piece, &mut line_begins, &mut out);
        }
        assert_eq!(out, b"T\tab\nT\t\nT\tcd\n");
        assert!(line_begins);
        out.clear();
        add(Marks::tag(Some(b"T")), b"1%\r2%\r\n", &mut line_begins, &mut out);
        assert_eq!(out, b"T\t1%\rT\t2%\rT\t\n");
    }
}
