//! The standard input of jobs: blocks that a thread splits standard input into, or ranges of files.
//!
//! The thread reads and splits ahead of the engine, as far as [`Queue`] allows; buffers of blocks
//! whose jobs have ended return to it, so that it allocates nothing once warm.  Ranges are not read
//! at all: the kernel moves them ([`super::sending`]).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::os::Waker;
use super::queue::{NextItem, Queue};
use crate::pipe::{Binning, Cutter, PipeError, Sorter};

/// Most buffers kept for the reading thread: those ahead and one for each of some slots.
const SPARE_MAX: usize = 16;

/// The capacity that is requested for pipes; the kernel may refuse it
/// (`/proc/sys/fs/pipe-max-size`, `pipe-user-pages-soft`).
pub(super) const PIPE_BYTES: usize = 1 << 20;

/// A block: what a job gets on its standard input.
#[derive(Debug)]
pub struct InputBlock {
    /// The header, sent first.
    pub(super) header: Arc<[u8]>,
    /// The data, sent after the header.
    pub(super) body: Body,
    /// The number of the job that it is for, from 1; 0 if any may have it.
    pub(super) job: u32,
}

/// Where the data is.
#[derive(Debug)]
pub(super) enum Body {
    /// In memory.
    Bytes(Vec<u8>),
    /// In memory, for several jobs.
    Shared(Arc<Vec<u8>>),
    /// In a file.
    Range { file: Arc<File>, range: Range<u64> },
}

impl InputBlock {
    /// A block without a header for the job of this number, or with 0 for any.
    pub(super) fn for_job(body: Body, job: u32) -> Self {
        InputBlock { header: Arc::default(), body, job }
    }

    /// The length in bytes, header included.
    pub(super) fn len(&self) -> u64 {
        let body = match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Shared(bytes) => bytes.len() as u64,
            Body::Range { range, .. } => range.end - range.start,
        };
        self.header.len() as u64 + body
    }
}

/// Ranges of files, in order.
#[derive(Debug, Default)]
pub struct Ranges {
    files: VecDeque<FileRanges>,
}

/// The ranges of one file.
#[derive(Debug)]
struct FileRanges {
    file: Arc<File>,
    header: Arc<[u8]>,
    ranges: std::vec::IntoIter<Range<u64>>,
}

impl Ranges {
    /// Appends the ranges of a file.
    pub fn add(&mut self, file: File, parts: crate::pipe::FileParts) {
        self.files.push_back(FileRanges {
            file: Arc::new(file),
            header: parts.header.into(),
            ranges: parts.ranges.into_iter(),
        });
    }

    pub(super) fn left(&self) -> usize {
        self.files.iter().map(|file| file.ranges.len()).sum()
    }
}

impl Iterator for Ranges {
    type Item = InputBlock;

    fn next(&mut self) -> Option<InputBlock> {
        while let Some(FileRanges { file, header, ranges }) = self.files.front_mut() {
            if let Some(range) = ranges.next() {
                let body = Body::Range { file: Arc::clone(file), range };
                return Some(InputBlock { header: Arc::clone(header), body, job: 0 });
            }
            self.files.pop_front();
        }
        None
    }
}

/// Blocks that a thread splits off a stream.
pub struct Blocks {
    queue: Arc<Queue<InputBlock, PipeError>>,
    shared: Arc<Shared>,
}

/// Buffers that return to the thread.
#[derive(Default)]
struct Shared {
    /// Buffers to be used again.
    spare: Mutex<Vec<Vec<u8>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Blocks {
    /// Starts a thread that splits `stream` and wakes the engine when it waits for a block.  After
    /// `timeout` without a whole block it delivers the incomplete one (`--block-timeout`).  With
    /// `binning` the lines of a block are sorted by the job that they are for.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn thread(
        stream: File,
        cutter: Cutter,
        timeout: Option<Duration>,
        binning: Option<Binning>,
        waker: Waker,
    ) -> io::Result<Self> {
        // A pipe then gives more at a time; other files refuse, which does no harm.
        let _ = rustix::pipe::fcntl_setpipe_size(&stream, PIPE_BYTES);
        let queue = Arc::new(Queue::new(waker));
        let shared = Arc::new(Shared::default());
        let blocks = Blocks { queue: Arc::clone(&queue), shared: Arc::clone(&shared) };
        let sorter = binning.map(Sorter::new);
        let reader = BlockReader { stream, cutter, timeout, sorter, queue, shared };
        thread::Builder::new().name("input".into()).spawn(move || reader.run())?;
        Ok(blocks)
    }

    pub(super) fn next_block(&self) -> Result<NextItem<InputBlock>, PipeError> {
        self.queue.next_item()
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        self.queue.take_warnings()
    }

    pub(super) fn give_back(&self, block: InputBlock) {
        let Body::Bytes(bytes) = block.body else { return };
        let mut spare = lock(&self.shared.spare);
        if spare.len() < SPARE_MAX {
            spare.push(bytes);
        }
    }
}

/// Adds blocks for several jobs.
fn put_all(queue: &Queue<InputBlock, PipeError>, blocks: Vec<(u32, Vec<u8>)>) {
    for (job, block) in blocks {
        let bytes = block.len();
        queue.put(InputBlock::for_job(Body::Bytes(block), job), bytes);
    }
}

/// The thread that reads and splits.
struct BlockReader {
    stream: File,
    cutter: Cutter,
    timeout: Option<Duration>,
    sorter: Option<Sorter>,
    queue: Arc<Queue<InputBlock, PipeError>>,
    shared: Arc<Shared>,
}

impl BlockReader {
    fn run(mut self) {
        let error = self.read_all().err();
        self.queue.end(error);
    }

    fn read_all(&mut self) -> Result<(), PipeError> {
        let mut header: Option<Arc<[u8]>> = None;
        let mut ended = false;
        let mut since = Instant::now();
        loop {
            while let Some(block) = self.cutter.block()? {
                let header = header.get_or_insert_with(|| self.cutter.header().into());
                match &mut self.sorter {
                    Some(sorter) => {
                        put_all(&self.queue, sorter.sort(&block.bytes, header)?);
                        self.cutter.recycle(block.bytes);
                    }
                    None => {
                        let bytes = block.bytes.len();
                        let body = Body::Bytes(block.bytes);
                        let block = InputBlock { header: Arc::clone(header), body, job: 0 };
                        self.queue.put(block, bytes);
                    }
                }
                if let Some(bytes) = lock(&self.shared.spare).pop() {
                    self.cutter.recycle(bytes);
                }
                since = Instant::now();
            }
            self.queue.warn(self.cutter.take_warnings());
            if ended {
                let rest = self.sorter.as_mut().map(Sorter::rest);
                put_all(&self.queue, rest.unwrap_or_default());
                return Ok(());
            }
            if let Some(timeout) = self.timeout {
                let left = timeout.saturating_sub(since.elapsed());
                if !self.wait(Some(left))? {
                    self.cutter.flush();
                    since = Instant::now();
                    continue;
                }
            }
            match self.stream.read(self.cutter.space()) {
                Ok(0) => {
                    self.cutter.end();
                    ended = true;
                }
                Ok(count) => self.cutter.filled(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process has made our standard input non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => drop(self.wait(None)?),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for input; false when the time was over before.
    fn wait(&self, left: Option<Duration>) -> io::Result<bool> {
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut descriptors = [PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        match poll(&mut descriptors, left.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
