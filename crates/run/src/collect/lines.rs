//! `--line-buffer`: jobs write into pipes, and whole lines are copied to the output as they come.
//!
//! A carriage return ends a line too, so that a progress bar moves.  A slot has one pair of pipes for
//! all its jobs, and we keep their writing ends: a job costs no pipe of its own, and it ends when
//! wait4(2) says so, not at an end of file that a process it left behind could delay.  An incomplete
//! line stays here, in memory up to a limit and then in a file without a name.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{self, Errno};
use rustix::pipe::{PipeFlags, pipe_with};

use super::CollectError;
use super::order::{Piece, Store};
use super::sink::{self, Buffers, CHUNK_BYTES, Marks, Sink, Source, Text};
use super::temporary::Temporary;

/// What of one stream may wait in memory, bytes: a line that is not complete, and what is read
/// after it.  More goes to a file.
const WAITING_BYTES_MAX: usize = 2 * CHUNK_BYTES;

/// Reads of one pipe at a time, so that a loud job does not keep the others waiting.
const READS_MAX: usize = 16;

/// What a job wrote and we have not yet passed on; it begins with the beginning of a line.  It is
/// in memory, or, once it was too much for that, all in a file until nothing is left of it.
#[derive(Debug, Default)]
struct Waiting {
    memory: Vec<u8>,
    file: Option<Temporary>,
    /// Bytes in the file.
    file_bytes: u64,
    /// How many of them were passed on.
    file_done: u64,
    /// Bytes up to the end of the last whole line.
    whole_lines: u64,
}

impl Waiting {
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

    /// The first `length` bytes of it.
    fn source(&self, length: u64) -> Source<'_> {
        match &self.file {
            Some(file) if self.file_bytes > 0 => Source::File(file.as_fd(), self.file_done, length),
            _ => Source::Bytes(&self.memory[..length as usize]),
        }
    }

    /// The first `length` bytes of it are no longer wanted.
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

    /// All of it, to be held until its turn comes.
    fn take_piece(&mut self, store: &mut Store) -> Result<Piece, CollectError> {
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
    /// Set not to block.
    reading: OwnedFd,
    writing: OwnedFd,
    waiting: Waiting,
}

impl Stream {
    fn new() -> Result<Self, CollectError> {
        let made = pipe_with(PipeFlags::CLOEXEC).and_then(|(reading, writing)| {
            fcntl_setfl(&reading, OFlags::NONBLOCK)?;
            Ok(Stream { reading, writing, waiting: Waiting::default() })
        });
        made.map_err(|error| sink::failed("make a pipe for", Path::new("a job"), error))
    }
}

/// The two streams of a slot.
#[derive(Debug)]
pub(super) struct Lines {
    streams: [Stream; 2],
    /// Whether what comes is passed on at once: it is the job's turn.
    pub(super) live: bool,
    /// What the job wrote so far, bytes.
    pub(super) received: u64,
}

/// What is needed to pass lines on.
pub(super) struct Outlet<'a> {
    pub(super) sinks: &'a mut [Sink; 2],
    pub(super) buffers: &'a mut Buffers,
    pub(super) marks: Marks<'a>,
    pub(super) folder: &'a Path,
    /// For what is read from a pipe.
    pub(super) chunk: &'a mut Vec<u8>,
}

impl Lines {
    pub(super) fn new() -> Result<Self, CollectError> {
        let streams = [Stream::new()?, Stream::new()?];
        Ok(Lines { streams, live: false, received: 0 })
    }

    /// What the jobs write to.
    pub(super) fn writing(&self) -> [RawFd; 2] {
        [self.streams[0].writing.as_raw_fd(), self.streams[1].writing.as_raw_fd()]
    }

    /// What is to be watched.
    pub(super) fn reading(&self) -> [RawFd; 2] {
        [self.streams[0].reading.as_raw_fd(), self.streams[1].reading.as_raw_fd()]
    }

    /// Reads what has come on one stream, at most so many chunks; whether there may be more.
    fn read(
        &mut self,
        which: usize,
        reads_max: usize,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let Lines { streams, live, received } = self;
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
                    stream.take(count, which, *live, outlet)?;
                    // A pipe that gave less than it was asked for is empty.
                    if count < CHUNK_BYTES {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what has come on the stream with this descriptor.
    pub(super) fn readable(
        &mut self,
        watched: RawFd,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let which = usize::from(self.streams[1].reading.as_raw_fd() == watched);
        self.read(which, READS_MAX, outlet)
    }

    /// Its turn has come: whole lines that wait are passed on.
    pub(super) fn go_live(&mut self, outlet: &mut Outlet<'_>) -> Result<(), CollectError> {
        self.live = true;
        for (which, stream) in self.streams.iter_mut().enumerate() {
            let length = stream.waiting.whole_lines;
            stream.pass_on(length, which, outlet)?;
        }
        Ok(())
    }

    /// The job has ended: reads the rest, and passes everything on if it is its turn.
    pub(super) fn end(&mut self, outlet: &mut Outlet<'_>) -> Result<(), CollectError> {
        for which in 0..2 {
            // A pipe holds 1 MiB at most unless root has said more; what a process left behind
            // writes on and on is not waited for.
            self.read(which, 4 * READS_MAX, outlet)?;
            if self.live {
                let stream = &mut self.streams[which];
                let length = stream.waiting.length();
                stream.pass_on(length, which, outlet)?;
            }
        }
        Ok(())
    }

    /// Takes what waits, to be held until its turn comes.
    pub(super) fn take_pieces(&mut self, store: &mut Store) -> Result<[Piece; 2], CollectError> {
        let [stdout, stderr] = &mut self.streams;
        Ok([stdout.waiting.take_piece(store)?, stderr.waiting.take_piece(store)?])
    }

    /// Throws away what waits.
    pub(super) fn forget(&mut self) -> Result<(), CollectError> {
        for stream in &mut self.streams {
            let length = stream.waiting.length();
            stream.waiting.drop_first(length)?;
        }
        Ok(())
    }
}

impl Stream {
    /// Takes what was read into the outlet's chunk.
    fn take(
        &mut self,
        count: usize,
        which: usize,
        live: bool,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        let chunk = &outlet.chunk[..count];
        if !live {
            return self.waiting.add(chunk, outlet.folder);
        }
        if self.waiting.length() > 0 {
            self.waiting.add(chunk, outlet.folder)?;
            return self.pass_on(self.waiting.whole_lines, which, outlet);
        }
        let lines = memchr::memrchr2(b'\n', b'\r', chunk).map_or(0, |end| end + 1);
        let source = Source::Bytes(&chunk[..lines]);
        let text = Text { marks: outlet.marks, heading: None, source };
        outlet.sinks[which].output(&text, outlet.buffers)?;
        self.waiting.add(&chunk[lines..], outlet.folder)
    }

    fn pass_on(
        &mut self,
        length: u64,
        which: usize,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CollectError> {
        if length == 0 {
            return Ok(());
        }
        let source = self.waiting.source(length);
        let text = Text { marks: outlet.marks, heading: None, source };
        outlet.sinks[which].output(&text, outlet.buffers)?;
        self.waiting.drop_first(length)
    }
}
