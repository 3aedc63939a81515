//! All of the input for each job (`--tee`).
//!
//! A thread reads the stream, a limited way ahead.  Each piece is given to all jobs, and the next
//! piece when all jobs have read it: so the slowest job sets the pace, and memory holds a few MiB
//! however long the stream is.  Jobs that have ended or have closed their standard input are not
//! waited for.
//!
//! Nothing is written before all jobs have started, because later ones would miss the beginning.  A
//! file is sent whole to each job, at the job's own pace.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

use super::blocks::{Body, InputBlock, PIPE_BYTES};
use super::os::Waker;
use super::queue::{NextItem, Queue};
use super::sending::Sending;
use super::*;

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Most buffers kept for the reading thread.
const SPARE_MAX: usize = 16;

/// The input that all jobs get.
pub enum Tee {
    /// A stream, read by a thread.
    Stream(Stream),
    /// A file of this size, in bytes.
    File(Arc<File>, u64),
}

/// A stream that a thread reads.
pub struct Stream {
    queue: Arc<Queue<Vec<u8>, PipeError>>,
    spare: Spare,
}

/// Buffers to be used again.
type Spare = Arc<Mutex<Vec<Vec<u8>>>>;

impl Tee {
    /// Starts a thread that reads `stream` and wakes the engine when it waits for a piece.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn stream(stream: File, waker: Waker) -> io::Result<Self> {
        // A pipe then gives more at a time; other files refuse, which does no harm.
        let _ = rustix::pipe::fcntl_setpipe_size(&stream, PIPE_BYTES);
        let queue = Arc::new(Queue::new(waker));
        let spare = Spare::default();
        let (ours, buffers) = (Arc::clone(&queue), Arc::clone(&spare));
        thread::Builder::new().name("input".into()).spawn(move || {
            let error = read_all(stream, &ours, &buffers).err();
            ours.end(error.map(PipeError::from));
        })?;
        Ok(Tee::Stream(Stream { queue, spare }))
    }

    /// Sends the input to a job that is about to start.
    pub(super) fn begin(&self) -> Box<Sending> {
        let body = match self {
            Tee::Stream(_) => Body::Shared(Arc::default()),
            Tee::File(file, bytes) => Body::Range { file: Arc::clone(file), range: 0..*bytes },
        };
        let block = InputBlock::for_job(body, 0);
        Box::new(Sending::new(block, matches!(self, Tee::Stream(_)), &BlockAccess::Stdin))
    }
}

impl Stream {
    /// Returns a piece that one job has read; the last job returns the buffer.
    fn give_back(&self, block: InputBlock) {
        let Body::Shared(bytes) = block.body else { return };
        let Some(bytes) = Arc::into_inner(bytes) else { return };
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_MAX {
            spare.push(bytes);
        }
    }
}

fn read_all(mut stream: File, queue: &Queue<Vec<u8>, PipeError>, spare: &Spare) -> io::Result<()> {
    loop {
        let kept = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut piece = kept.unwrap_or_default();
        piece.resize(PIECE_BYTES, 0);
        let count = loop {
            match stream.read(&mut piece) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process has made our standard input non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)];
                    let _ = poll(&mut ready, None);
                }
                Err(error) => return Err(error),
            }
        };
        if count == 0 {
            return Ok(());
        }
        piece.truncate(count);
        queue.put(piece, count);
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Gives the next piece of the stream to all jobs, when all have read the one before.
    pub(super) fn pass_on(&mut self) -> Result<(), EngineError> {
        while self.have_all_taken() {
            let Some(Tee::Stream(stream)) = self.job_source.tee() else { return Ok(()) };
            match stream.queue.next_item()? {
                NextItem::NotYet => return Ok(()),
                NextItem::Item(piece) => self.give_all(&Arc::new(piece))?,
                NextItem::End => {
                    let jobs = self.slots.iter_mut().flatten();
                    jobs.filter_map(|job| job.sending.as_mut()).for_each(|it| it.close_writer());
                }
            }
        }
        Ok(())
    }

    /// Whether all jobs run, at least one reads, and none has anything left to read.
    fn have_all_taken(&self) -> bool {
        let Some(Tee::Stream(_)) = self.job_source.tee() else { return false };
        let is_last = self.has_ended || self.job_source.left() == Some(0);
        if !is_last || !self.again.is_empty() {
            return false;
        }
        let mut readers = 0;
        for job in self.slots.iter().flatten() {
            let Some(sending) = job.sending.as_ref() else { continue };
            if job.child.is_none() || sending.writer().is_some() && !sending.is_idle() {
                return false;
            }
            readers += usize::from(sending.writer().is_some());
        }
        readers > 0
    }

    fn give_all(&mut self, piece: &Arc<Vec<u8>>) -> Result<(), EngineError> {
        for slot in 0..self.slots.len() {
            let sending = self.slots[slot].as_mut().and_then(|job| job.sending.as_mut());
            let Some(sending) = sending.filter(|sending| sending.is_idle()) else { continue };
            let body = Body::Shared(Arc::clone(piece));
            let before = sending.continue_with(InputBlock::for_job(body, 0));
            if let Some(Tee::Stream(stream)) = self.job_source.tee() {
                stream.give_back(before);
            }
            self.write_stdin(u32::try_from(slot).unwrap_or(u32::MAX))?;
        }
        Ok(())
    }
}
