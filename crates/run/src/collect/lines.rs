//! `--line-buffer`: jobs write to pipes, and whole lines are copied to the output as they come.
//!
//! A carriage return ends a line too, so that a progress bar moves.  The jobs of a slot share one
//! pair of pipes, whose writing ends we keep open: a job needs no pipe of its own, and ends when
//! wait4(2) says so, not at an end-of-file that a left-over process could delay.  An incomplete
//! line waits here, in memory up to a limit and then in an unnamed file.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{self, Errno};
use rustix::pipe::{PipeFlags, pipe_with};

use super::CollectError;
use super::latest::LatestLines;
use super::order::{HeldPart, Store};
use super::sink::{self, Buffers, CHUNK_BYTES, Marks, Sink, Source, Text};
use super::temporary::Temporary;

/// Most bytes of a stream that wait in memory: an incomplete line and what follows it.  More is
/// kept in a file.
const WAITING_BYTES_MAX: usize = 2 * CHUNK_BYTES;

/// Most reads of one pipe at a time, so that a job with much output does not delay the others.
const READS_MAX: usize = 16;

/// Bytes of a stream that are not written yet, from the beginning of a line.  They are in memory,
/// or once they are too many, all in a file until it is used up.
#[derive(Debug, Default)]
struct Unwritten {
    memory: Vec<u8>,
    file: Option<Temporary>,
    /// Bytes in the file.
    file_bytes: u64,
    /// Bytes of the file that were written.
    file_done: u64,
    /// Bytes up to the end of the last whole line.
    whole_lines: u64,
}

impl Unwritten {
    fn length(&self) -> u64 {
        self.file_bytes - self.file_done + self.memory.len() as u64
    }

    fn add(&mut self, bytes: &[u8], folder: &Path) -> Result<(), CollectError> {
        if let Some(end) = memchr::memrchr2(b'\n', b'\r', bytes) {
            self.whole_lines = self.length() + end as u64 + 1;
        }
        if self.file_bytes == 0 && self.memory.len() + bytes.len() <= WAITING_BYTES_MAX {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Temporary::for_us(folder)?),
        };
        for bytes in [&self.memory[..], bytes] {
            file.write_at(bytes, self.file_bytes, folder)?;
            self.file_bytes += bytes.len() as u64;
        }
        self.memory.clear();
        Ok(())
    }

    /// The first `length` bytes.
    fn source(&self, length: u64) -> Source<'_> {
        match &self.file {
            Some(file) if self.file_bytes > 0 => Source::File(file.as_fd(), self.file_done, length),
            _ => Source::Bytes(&self.memory[..length as usize]),
        }
    }

    /// Drops the first `length` bytes.
    fn drop_first(&mut self, length: u64) -> Result<(), CollectError> {
        self.whole_lines = self.whole_lines.saturating_sub(length);
        if self.file_bytes == 0 {
            self.memory.drain(..length as usize);
            return Ok(());
        }
        self.file_done += length;
        if self.file_done < self.file_bytes {
            return Ok(());
        }
        (self.file_bytes, self.file_done) = (0, 0);
        self.file.as_ref().map_or(Ok(()), Temporary::clear)
    }

    /// Takes all bytes, to be held until the job's turn comes.
    fn take_piece(&mut self, store: &mut Store) -> Result<HeldPart, CollectError> {
        let length = self.length();
        let file_holds_all = self.file_done == 0 && self.file_bytes > 0;
        if file_holds_all
            && store.wants_file(length)
            && let Some(file) = self.file.take()
        {
            (self.file_bytes, self.whole_lines) = (0, 0);
            return Ok(store.hold_file(file, length));
        }
        let piece = store.hold(self.source(length))?;
        self.drop_first(length)?;
        Ok(piece)
    }
}

/// One stream of a slot's jobs.
#[derive(Debug)]
struct Stream {
    /// Non-blocking.
    reading: OwnedFd,
    writing: OwnedFd,
    unwritten: Unwritten,
}

impl Stream {
    fn new() -> Result<Self, CollectError> {
        let made = pipe_with(PipeFlags::CLOEXEC).and_then(|(reading, writing)| {
            fcntl_setfl(&reading, OFlags::NONBLOCK)?;
            Ok(Stream { reading, writing, unwritten: Unwritten::default() })
        });
        made.map_err(|error| sink::failed("make a pipe for", Path::new("a job"), error))
    }
}

/// The two streams of a slot.
#[derive(Debug)]
pub(super) struct LineStreams {
    streams: [Stream; 2],
    /// Output is written as it comes, because it is the job's turn.
    pub(super) live: bool,
    /// Bytes that the job wrote so far.
    pub(super) received: u64,
}

/// What is needed to write lines.
pub(super) struct Outlet<'a> {
    pub(super) sinks: &'a mut [Sink; 2],
    pub(super) buffers: &'a mut Buffers,
    pub(super) marks: Marks<'a>,
    /// Where only the latest line of the job with this number is shown.
    pub(super) latest: Option<(&'a mut LatestLines, u64)>,
    pub(super) folder: &'a Path,
    /// Buffer for what is read from a pipe.
    pub(super) chunk: &'a mut Vec<u8>,
}

impl LineStreams {
    pub(super) fn new() -> Result<Self, CollectError> {
        let streams = [Stream::new()?, Stream::new()?];
        Ok(LineStreams { streams, live: false, received: 0 })
    }

    /// The descriptors that the jobs write to.
    pub(super) fn writing(&self) -> [RawFd; 2] {
        [self.streams[0].writing.as_raw_fd(), self.streams[1].writing.as_raw_fd()]
    }

    /// The descriptors to watch.
    pub(super) fn reading(&self) -> [RawFd; 2] {
        [self.streams[0].reading.as_raw_fd(), self.streams[1].reading.as_raw_fd()]
    }

    /// Reads from one stream, at most `reads_max` times.
    fn read(
        &mut self,
        which: usize,
        reads_max: usize,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let LineStreams { streams, live, received } = self;
        let stream = &mut streams[which];
        let mut reads = 0;
        while reads < reads_max {
            outlet.chunk.resize(CHUNK_BYTES, 0);
            match io::read(&stream.reading, &mut outlet.chunk[..]) {
                Err(Errno::AGAIN) | Ok(0) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(sink::failed(
                        "read what was written by",
                        Path::new("a job"),
                        error,
                    ));
                }
                Ok(count) => {
                    *received += count as u64;
                    reads += 1;
                    stream.add_read(count, which, *live, outlet)?;
                    // A read that returns less than asked for has emptied the pipe.
                    if count < CHUNK_BYTES {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads from the stream with this descriptor.
    pub(super) fn readable(
        &mut self,
        watched: RawFd,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let which = usize::from(self.streams[1].reading.as_raw_fd() == watched);
        self.read(which, READS_MAX, outlet)
    }

    /// The job's turn has come: writes the whole lines that wait.
    pub(super) fn go_live(&mut self, outlet: &mut Outlet<'_>) -> Result<(), CollectError> {
        self.live = true;
        for (which, stream) in self.streams.iter_mut().enumerate() {
            let length = stream.unwritten.whole_lines;
            stream.write_lines(length, which, outlet)?;
        }
        Ok(())
    }

    /// The job has ended: reads the rest, and writes everything if it is the job's turn.
    pub(super) fn end(&mut self, outlet: &mut Outlet<'_>) -> Result<(), CollectError> {
        for which in 0..2 {
            // A pipe holds at most 1 MiB unless root has raised the limit; this does not wait for a
            // left-over process that goes on writing.
            self.read(which, 4 * READS_MAX, outlet)?;
            if self.live {
                let stream = &mut self.streams[which];
                let length = stream.unwritten.length();
                stream.write_lines(length, which, outlet)?;
            }
        }
        Ok(())
    }

    /// Takes what waits, to be held until the job's turn comes.
    pub(super) fn take_pieces(&mut self, store: &mut Store) -> Result<[HeldPart; 2], CollectError> {
        let [stdout, stderr] = &mut self.streams;
        Ok([stdout.unwritten.take_piece(store)?, stderr.unwritten.take_piece(store)?])
    }

    /// Drops what waits.
    pub(super) fn forget(&mut self) -> Result<(), CollectError> {
        for stream in &mut self.streams {
            let length = stream.unwritten.length();
            stream.unwritten.drop_first(length)?;
        }
        Ok(())
    }
}

impl Stream {
    /// Adds what was read into the outlet's chunk.
    fn add_read(
        &mut self,
        count: usize,
        which: usize,
        live: bool,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let chunk = &outlet.chunk[..count];
        if let Some((latest, seq)) = &mut outlet.latest {
            return latest.add(*seq, which, chunk, outlet.marks, &mut outlet.sinks[0]);
        }
        if !live {
            return self.unwritten.add(chunk, outlet.folder);
        }
        if self.unwritten.length() > 0 {
            self.unwritten.add(chunk, outlet.folder)?;
            return self.write_lines(self.unwritten.whole_lines, which, outlet);
        }
        let lines = memchr::memrchr2(b'\n', b'\r', chunk).map_or(0, |end| end + 1);
        let source = Source::Bytes(&chunk[..lines]);
        let text = Text { marks: outlet.marks, heading: None, source };
        outlet.sinks[which].output(&text, outlet.buffers)?;
        self.unwritten.add(&chunk[lines..], outlet.folder)
    }

    fn write_lines(
        &mut self,
        length: u64,
        which: usize,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        if length == 0 {
            return Ok(());
        }
        let source = self.unwritten.source(length);
        let text = Text { marks: outlet.marks, heading: None, source };
        outlet.sinks[which].output(&text, outlet.buffers)?;
        self.unwritten.drop_first(length)
    }
}
