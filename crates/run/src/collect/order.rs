//! Output that is held until the jobs before it are written (`--keep-order`).
//!
//! Memory and descriptors are bounded: small outputs are kept in memory up to a budget, a large one
//! stays in its file as long as there are few such files, all others are copied to one shared file.
//! The job's result is held with its output, since joblog lines are written in order too.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::path::PathBuf;

use super::CollectError;
use super::compressed::Compressed;
use super::sink::{self, CHUNK_BYTES, Marks, Source, Text};
use super::temporary::{Spool, Temporary};
use crate::job::JobResult;

/// Outputs up to this many bytes are kept in memory.
const SMALL_BYTES: u64 = CHUNK_BYTES as u64;

/// Most bytes of all outputs in memory.
const MEMORY_BYTES_MAX: u64 = 8 << 20;

/// Most files that are held where descriptors suffice.  With 256 a runner with some hundred slots
/// stays below the usual limit of 1,024 descriptors.
pub(crate) const HELD_FILES_MAX: usize = 256;

/// A part of an output that is held.
#[derive(Debug, Default)]
pub(super) enum HeldPart {
    #[default]
    Nothing,
    Memory(Vec<u8>),
    /// A file of its own, and the length of its contents.
    File(Temporary, u64),
    /// A compressed file of its own.
    Compressed(Compressed),
    /// Offset and length in the shared file.
    Spooled(u64, u64),
}

/// The output of a job that is held.
#[derive(Debug)]
pub(super) struct HeldOutput {
    pub(super) finished: JobResult,
    pub(super) tag: Option<Vec<u8>>,
    pub(super) heading: Option<Vec<u8>>,
    /// Standard output and error.
    pub(super) pieces: [HeldPart; 2],
    /// The line with the name of the file that the output was saved to.
    pub(super) name: Option<Vec<u8>>,
}

impl HeldOutput {
    /// The texts for standard output and error.
    pub(super) fn texts<'a>(&'a self, store: &'a Store) -> [Text<'a>; 2] {
        let marks = Marks::tag(self.tag.as_deref());
        let heading = self.heading.as_deref();
        [
            Text { marks, heading, source: store.source(&self.pieces[0]) },
            Text { marks, heading: None, source: store.source(&self.pieces[1]) },
        ]
    }
}

/// The memory and the files in which output is held.
#[derive(Debug)]
pub(super) struct Store {
    memory_bytes: u64,
    files: usize,
    files_max: usize,
    spool: Spool,
    scratch: Vec<u8>,
}

impl Store {
    /// A store that holds this many files at most, and creates its shared file, if it needs one, in
    /// this folder.
    pub(super) fn new(files_max: usize, folder: PathBuf) -> Self {
        let (spool, scratch) = (Spool::new(folder), Vec::new());
        Store { memory_bytes: 0, files: 0, files_max, spool, scratch }
    }

    /// Holds a copy of `source`.
    pub(super) fn hold(&mut self, source: Source<'_>) -> Result<HeldPart, CollectError> {
        let length = source.length();
        if length == 0 {
            return Ok(HeldPart::Nothing);
        }
        if length <= SMALL_BYTES && self.memory_bytes + length <= MEMORY_BYTES_MAX {
            let mut bytes = Vec::with_capacity(length as usize);
            sink::each_chunk(source, CHUNK_BYTES, &mut self.scratch, |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            })?;
            self.memory_bytes += bytes.len() as u64;
            return Ok(HeldPart::Memory(bytes));
        }
        let (offset, length) = self.spool.add(source)?;
        Ok(HeldPart::Spooled(offset, length))
    }

    /// Whether to hold a file of this length instead of copying it.
    pub(super) fn wants_file(&self, length: u64) -> bool {
        length > SMALL_BYTES && self.files < self.files_max
    }

    /// Holds a file; ask [`Store::wants_file`] first.
    pub(super) fn hold_file(&mut self, file: Temporary, length: u64) -> HeldPart {
        self.files += 1;
        HeldPart::File(file, length)
    }

    /// Holds a compressed file, or what it has if no more files can be held.
    pub(super) fn hold_compressed(&mut self, file: Compressed) -> Result<HeldPart, CollectError> {
        if self.files >= self.files_max {
            let (offset, length) = self.spool.add(Source::Made(&file))?;
            return Ok(HeldPart::Spooled(offset, length));
        }
        self.files += 1;
        Ok(HeldPart::Compressed(file))
    }

    fn source<'a>(&'a self, piece: &'a HeldPart) -> Source<'a> {
        match piece {
            HeldPart::Nothing => Source::Bytes(&[]),
            HeldPart::Memory(bytes) => Source::Bytes(bytes),
            HeldPart::File(file, length) => Source::File(file.as_fd(), 0, *length),
            HeldPart::Compressed(file) => Source::Made(file),
            HeldPart::Spooled(offset, length) => self.spool.part(*offset, *length),
        }
    }

    /// Releases what was held.
    pub(super) fn release(&mut self, pieces: [HeldPart; 2]) -> Result<(), CollectError> {
        for piece in pieces {
            match piece {
                HeldPart::Nothing => {}
                HeldPart::Memory(bytes) => self.memory_bytes -= bytes.len() as u64,
                HeldPart::File(..) | HeldPart::Compressed(_) => self.files -= 1,
                HeldPart::Spooled(offset, length) => self.spool.release(offset, length)?,
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
enum JobOutputState {
    /// It runs, or will run again, in this slot.
    Running(u32),
    /// It has ended; `None` if everything was written.
    Ended(Option<Box<HeldOutput>>),
}

/// The jobs that were started and whose output is not written, by number.
#[derive(Debug, Default)]
pub(super) struct Order {
    queue: VecDeque<(u64, JobOutputState)>,
}

impl Order {
    /// The job is about to start, maybe again.
    pub(super) fn begin(&mut self, seq: u64, slot: u32) {
        match self.queue.binary_search_by_key(&seq, |entry| entry.0) {
            Ok(at) => self.queue[at].1 = JobOutputState::Running(slot),
            Err(at) => self.queue.insert(at, (seq, JobOutputState::Running(slot))),
        }
    }

    /// Whether no other job comes before this one.
    pub(super) fn is_first(&self, seq: u64) -> bool {
        self.queue.front().is_none_or(|entry| seq <= entry.0)
    }

    /// The job has ended; `held` is still to be written.
    pub(super) fn end(&mut self, seq: u64, held: Option<Box<HeldOutput>>) {
        if let Ok(at) = self.queue.binary_search_by_key(&seq, |entry| entry.0) {
            self.queue[at].1 = JobOutputState::Ended(held);
        }
    }

    /// Takes the first job, if it has ended.
    pub(super) fn next_ended(&mut self) -> Option<Option<Box<HeldOutput>>> {
        match self.queue.front()?.1 {
            JobOutputState::Running(_) => None,
            JobOutputState::Ended(_) => match self.queue.pop_front()?.1 {
                JobOutputState::Ended(held) => Some(held),
                JobOutputState::Running(_) => None,
            },
        }
    }

    /// Number and slot of the first job, if it runs.
    pub(super) fn first_running(&self) -> Option<(u64, u32)> {
        match self.queue.front()? {
            (seq, JobOutputState::Running(slot)) => Some((*seq, *slot)),
            (_, JobOutputState::Ended(_)) => None,
        }
    }

    /// Jobs that have ended and wait.
    pub(super) fn held_count(&self) -> usize {
        self.queue.iter().filter(|entry| matches!(entry.1, JobOutputState::Ended(_))).count()
    }
}
