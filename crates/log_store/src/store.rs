//! The central store: a folder of segments that are only appended to.
//!
//! A commit is one write: records of all streams in the order of time, compressed, with their index,
//! the bytes of dictionaries that are new, and the mark of every stream that moved.  So a mark and
//! its records are there or not there together, whenever the process is killed; what is torn is cut
//! at the next start and was acknowledged to nobody.  A segment begins with all marks and
//! dictionaries: it is read without the others, and retention removes whole files.

mod batch;
mod chunk;
mod columns;
mod counting;
pub(crate) mod dictionaries;
mod newest;
mod open_segment;
pub(crate) mod open_words;
pub(crate) mod opened;
pub(crate) mod reader;
mod retention;
pub(crate) mod segment;
mod state;
mod word_indexer;
pub mod words;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use batch::split_block;
pub use batch::{CommitBatch, LostPart, RecordsPart};
pub(crate) use chunk::{
    BLOCK_OF_COLUMNS, BLOCK_OF_ROWS, BLOCK_STREAM_BYTES, MAGIC as CHUNK_MAGIC, RUN_BYTES,
};
pub use chunk::{BlockIndex, Chunk, ProcessPart, SequenceGap, StreamPart, name_bit};
pub(crate) use columns::ColumnEncoder;
pub use counting::{SegmentCount, StoreCounter, is_store, may_be_store};
pub use dictionaries::{Item, Visit};
pub use newest::{WantsBlock, WantsRecord};
pub use reader::StoreReader;
pub use retention::Retention;
pub use state::DICTIONARY_BYTES_MAX;
pub use word_indexer::WordIndexer;

use batch::{Builder, Merge};
use log_protocol::{DICTIONARY, GapReason, ProcessId, ProcessInfo, StreamId};
use open_segment::OpenSegment;
use segment::Segment;
use segments::{AppendFile, FolderLockError, SegmentHead, lock_folder, sync_folder};
use state::{StoreState, StreamState};

/// The file of a store that its server has locked.
const LOCK: &str = "lock";

/// How a store is written.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Bytes after which the next segment is begun.
    pub segment_bytes: u64,
    /// zstd's level.
    pub compression: i32,
    /// Whether a commit waits until the disk has it; else nothing is to be synced.
    pub sync: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings { segment_bytes: 256 << 20, compression: 1, sync: true }
    }
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("{0}: another central server uses it")]
    InUse(PathBuf),
}

/// What opening a store found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of a torn tail that were cut: nobody was told that they were safe.
    pub cut_bytes: u64,
    /// Damaged parts of segments: file, first byte, byte after the last.
    pub damaged: Vec<(PathBuf, u64, u64)>,
}

/// A store that is written.
pub struct Store {
    folder: PathBuf,
    settings: StoreSettings,
    /// Held for as long as the store is used.
    _lock: File,
    id: [u8; 16],
    state: StoreState,
    segment: Option<OpenSegment>,
    next_segment: u64,
    builder: Builder,
    buffer: Vec<u8>,
}

impl Store {
    /// Opens a store, making it if there is none; gives what was wrong with it.
    ///
    /// # Errors
    /// If the folder cannot be made, read or written, or another process uses it.
    pub fn open(
        folder: &Path,
        settings: StoreSettings,
        new_id: [u8; 16],
    ) -> Result<(Self, Recovery), StoreError> {
        let fail = |source| StoreError::Io { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(fail)?;
        let lock = lock(folder)?;
        let builder = Builder::new(settings.compression).map_err(fail)?;
        let mut store = Store {
            folder: folder.to_owned(),
            settings,
            _lock: lock,
            id: new_id,
            state: StoreState::default(),
            segment: None,
            next_segment: 0,
            builder,
            buffer: Vec::new(),
        };
        let recovery = store.recover()?;
        Ok((store, recovery))
    }

    /// The random number of this store.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the segment that is begun next.
    #[must_use]
    pub fn segment_number(&self) -> u64 {
        self.next_segment
    }

    /// Finds the newest checkpoint and reads from there on; cuts a torn tail.
    fn recover(&mut self) -> Result<Recovery, StoreError> {
        let folder = self.folder.clone();
        let mut recovery = Recovery::default();
        let numbers = segment::NAMES.list(&folder).map_err(|e| self.error(&folder, e))?;
        self.next_segment = numbers.last().map_or(0, |last| last + 1);
        let begin = self.newest_checkpoint(&numbers)?;
        for (at, number) in numbers.iter().enumerate().skip(begin) {
            let path = segment::NAMES.path(&folder, *number);
            let opened = Segment::open(&path).map_err(|e| self.error(&path, e))?;
            let Some(mut segment) = opened else {
                // Nothing was committed to it: its name is used again.
                if at + 1 == numbers.len() {
                    std::fs::remove_file(&path).map_err(|e| self.error(&path, e))?;
                    self.next_segment = *number;
                }
                continue;
            };
            self.id = segment.head.folder;
            let replayed = self.state.replay(&mut segment).map_err(|e| self.error(&path, e))?;
            let length = segment.file.metadata().map_err(|e| self.error(&path, e))?.len();
            let damage = replayed.damage.iter().map(|(from, to)| (path.clone(), *from, *to));
            recovery.damaged.extend(damage);
            if at + 1 == numbers.len() {
                recovery.cut_bytes = length - replayed.end;
                self.reopen(&path, replayed.end)?;
                if !segment.is_of_this_version() {
                    // It is closed as it is: the next commit begins another one.
                    self.segment = None;
                }
            } else if length > replayed.end {
                recovery.damaged.push((path, replayed.end, length));
            }
        }
        Ok(recovery)
    }

    /// The index of the newest segment that begins with a checkpoint; 0 if none does.
    fn newest_checkpoint(&self, numbers: &[u64]) -> Result<usize, StoreError> {
        for (at, number) in numbers.iter().enumerate().rev() {
            let path = segment::NAMES.path(&self.folder, *number);
            let opened = Segment::open(&path).map_err(|e| self.error(&path, e))?;
            let Some(mut segment) = opened else { continue };
            let first = segment.next(false).map_err(|e| self.error(&path, e))?;
            if let Some(segment::SegmentPart::Chunk(_, chunk)) = first
                && chunk.is_checkpoint
            {
                return Ok(at);
            }
        }
        Ok(0)
    }

    fn reopen(&mut self, path: &Path, bytes: u64) -> Result<(), StoreError> {
        let fail = |source| StoreError::Io { path: path.to_owned(), source };
        let mut out = AppendFile::open(path).map_err(fail)?;
        out.cut(bytes).map_err(fail)?;
        if self.settings.sync {
            out.file.sync_data().map_err(fail)?;
        }
        self.segment = Some(OpenSegment::new(out, self.settings.sync));
        Ok(())
    }

    fn error(&self, path: &Path, source: io::Error) -> StoreError {
        StoreError::Io { path: path.to_owned(), source }
    }

    /// The mark of a stream, or of a dictionary: everything before it is committed.
    #[must_use]
    pub fn mark(&self, stream: StreamId) -> u64 {
        if stream.ring == DICTIONARY {
            let process = self.state.processes.get(&stream.process);
            return process.map_or(0, |process| process.in_segment);
        }
        self.state.streams.get(&stream).map_or(0, |stream| stream.next)
    }

    /// All streams and dictionaries with their marks.
    pub fn marks(&self) -> impl Iterator<Item = (StreamId, u64)> + '_ {
        let streams = self.state.streams.iter().map(|(stream, state)| (*stream, state.next));
        streams.chain(self.state.processes.iter().map(|(process, state)| {
            let stream = StreamId { process: *process, ring: DICTIONARY };
            (stream, state.in_segment)
        }))
    }

    /// Processes that are known.
    pub fn processes(&self) -> impl Iterator<Item = &ProcessInfo> + '_ {
        self.state.processes.values().map(|process| &process.info)
    }

    /// Writes a batch.  Readers see it; it and its marks are safe once [`Store::sync`], or what
    /// [`Store::begin_sync`] began, has ended well.
    ///
    /// # Errors
    /// If it cannot be written, or the segment is full and what it has cannot be synced.  Then nothing
    /// of the batch is there, and the same may be tried again.
    pub fn write(&mut self, batch: &CommitBatch, now_ns: u64) -> Result<(), StoreError> {
        if self.is_segment_full() {
            self.sync()?;
            self.begin_segment(now_ns)?;
        }
        // After an error, bytes of dictionaries that were added stay: `in_segment` says what is safe.
        self.write_batch(batch, now_ns)?;
        for process in &batch.ended {
            self.state.forget(*process);
        }
        Ok(())
    }

    fn is_segment_full(&self) -> bool {
        self.segment.as_ref().is_none_or(|open| open.bytes() >= self.settings.segment_bytes)
    }

    /// Whether a batch can be written while a sync is under way.
    #[must_use]
    pub fn has_room_beside_sync(&self) -> bool {
        let has_room = self.segment.as_ref().is_none_or(OpenSegment::has_room_beside_sync);
        has_room && !self.is_segment_full()
    }

    /// Waits until the disk has everything that was written.
    ///
    /// # Errors
    /// If the disk does not take it; then it may be tried again.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.segment.as_mut().map_or(Ok(()), OpenSegment::sync)
    }

    /// The file that another thread is to sync, and how many bytes of it are written; `None`: the disk
    /// has everything, or nobody waits for it.  One at a time, and [`Store::end_sync`] after it.
    #[must_use]
    pub fn begin_sync(&self) -> Option<(Arc<File>, u64)> {
        self.segment.as_ref().and_then(OpenSegment::begin_sync)
    }

    /// Takes the end of a sync, which was about so many bytes: the batches that they hold are safe.
    ///
    /// # Errors
    /// If it failed: call [`Store::sync`], until that succeeds.
    pub fn end_sync(&mut self, bytes: u64, result: io::Result<()>) -> Result<(), StoreError> {
        // No segment is begun while a sync is under way.
        self.segment.as_mut().map_or(Ok(()), |open| open.end_sync(bytes, result))
    }

    fn write_batch(&mut self, batch: &CommitBatch, now_ns: u64) -> Result<(), StoreError> {
        let folder = self.folder.clone();
        self.describe(batch);
        let mut chunk =
            Chunk { number: self.state.next_chunk, committed_ns: now_ns, ..Chunk::default() };
        let mut parts = Parts::of(batch);
        let dictionaries = self.add_processes(&mut chunk, &mut parts);
        self.add_streams(&mut chunk, batch, &mut parts);
        let loggers = Loggers::of(&self.state, &chunk);
        let logger_bit = |process: u32, context: u32| loggers.bit(process, context);
        let mut merge = Merge { batch, streams: &mut chunk.streams, logger_bit: &logger_bit };
        self.builder.merge(&mut merge, &parts.streams).map_err(|e| self.error(&folder, e))?;
        chunk.blocks = std::mem::take(&mut self.builder.blocks);
        self.buffer.clear();
        chunk.encode(&mut self.buffer);
        self.buffer.extend_from_slice(&dictionaries);
        self.buffer.extend_from_slice(&self.builder.bodies);
        if let Some(open) = &mut self.segment {
            open.append(&self.buffer)?;
        }
        self.take_over(&chunk);
        Ok(())
    }

    /// Takes over what is said about processes and streams, and new bytes of dictionaries.
    fn describe(&mut self, batch: &CommitBatch) {
        for info in &batch.processes {
            self.state.processes.entry(info.id).or_default().info = info.clone();
        }
        for info in &batch.streams {
            let stream = self.state.streams.entry(info.id).or_default();
            (stream.tid, stream.thread) = (info.tid, info.thread.clone());
        }
        for (process, offset, bytes) in &batch.dictionaries {
            let state = self.state.processes.entry(*process).or_default();
            state.info.id = *process;
            state.add(*offset, bytes);
        }
    }

    /// Adds the processes of a batch to a chunk; gives the bytes of their dictionaries.
    fn add_processes(&mut self, chunk: &mut Chunk, parts: &mut Parts) -> Vec<u8> {
        let mut dictionaries = Vec::new();
        for id in &parts.processes {
            let process = self.state.processes.entry(*id).or_default();
            process.info.id = *id;
            let offset = process.in_segment;
            let bytes = &process.dictionary[offset as usize..];
            dictionaries.extend_from_slice(bytes);
            parts.index.insert(*id, chunk.processes.len() as u32);
            chunk.processes.push(ProcessPart {
                info: process.info.clone(),
                dictionary_offset: offset,
                dictionary_bytes: bytes.len() as u32,
                dictionary_crc: crc32c::crc32c(bytes),
            });
        }
        dictionaries
    }

    /// Adds the streams of a batch to a chunk, with their marks and what is missing.
    fn add_streams(&mut self, chunk: &mut Chunk, batch: &CommitBatch, parts: &mut Parts) {
        let moves = batch.records.iter().map(|part| (part.stream, part.next));
        let moves = moves.chain(batch.lost.iter().map(|part| (part.stream, part.next)));
        for (id, next) in moves {
            let index = *parts.streams.entry(id).or_insert_with(|| {
                let state = self.state.streams.entry(id).or_default();
                chunk.streams.push(StreamPart {
                    process: parts.index.get(&id.process).copied().unwrap_or(0),
                    ring: id.ring,
                    tid: state.tid,
                    thread: state.thread.clone(),
                    first: state.next,
                    next: state.next,
                    count: 0,
                });
                chunk.streams.len() as u32 - 1
            });
            let part = &mut chunk.streams[index as usize];
            part.next = part.next.max(next);
        }
        for lost in &batch.lost {
            let stream = parts.streams[&lost.stream];
            let (reason, first, next) = (lost.reason, lost.first, lost.next);
            chunk.gaps.push(SequenceGap { stream, reason, first, next });
        }
        let begin = chunk.gaps.len();
        for part in batch.records.iter().filter(|part| part.left_out > 0) {
            let stream = parts.streams[&part.stream];
            let more = u64::from(part.left_out);
            match chunk.gaps[begin..].iter_mut().find(|gap| gap.stream == stream) {
                Some(gap) => gap.next = gap.next.saturating_add(more),
                None => {
                    let (reason, first) = (GapReason::LeftOut, part.first);
                    let next = first.saturating_add(more);
                    chunk.gaps.push(SequenceGap { stream, reason, first, next });
                }
            }
        }
    }

    /// Notes that a chunk is written.
    fn take_over(&mut self, chunk: &Chunk) {
        self.state.next_chunk = chunk.number.saturating_add(1);
        for part in &chunk.processes {
            if let Some(process) = self.state.processes.get_mut(&part.info.id) {
                process.in_segment = part.dictionary_offset + u64::from(part.dictionary_bytes);
            }
        }
        // Of a ring that another thread took over, the later entry is the one to keep.
        for part in &chunk.streams {
            let state: &mut StreamState =
                self.state.streams.entry(chunk.stream_id(part)).or_default();
            state.next = state.next.max(part.next);
            (state.tid, state.thread) = (part.tid, part.thread.clone());
        }
    }

    /// Begins a segment: its head and a checkpoint.
    fn begin_segment(&mut self, now_ns: u64) -> Result<(), StoreError> {
        let number = self.next_segment;
        let path = segment::NAMES.path(&self.folder, number);
        let fail = |source| StoreError::Io { path: path.clone(), source };
        let out = AppendFile::create(path.clone(), 0o640).map_err(fail)?;
        let head = SegmentHead { number, created_ns: now_ns, folder: self.id };
        let mut chunk = self.checkpoint(now_ns);
        self.buffer.clear();
        self.buffer.extend_from_slice(&head.encode(segment::MAGIC, segment::VERSION));
        chunk.encode(&mut self.buffer);
        for part in &chunk.processes {
            self.buffer.extend_from_slice(&self.state.processes[&part.info.id].dictionary);
        }
        let mut open = OpenSegment::new(out, self.settings.sync);
        let written = open.append(&self.buffer).and_then(|()| open.sync());
        let has_name = || match self.settings.sync {
            true => sync_folder(&self.folder).map_err(fail),
            false => Ok(()),
        };
        if let Err(error) = written.and_then(|()| has_name()) {
            // The same number is tried again.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        self.segment = Some(open);
        self.next_segment += 1;
        self.take_over(&chunk);
        Ok(())
    }

    /// Everything that is known, without records.
    fn checkpoint(&self, now_ns: u64) -> Chunk {
        let mut chunk = Chunk {
            is_checkpoint: true,
            number: self.state.next_chunk,
            committed_ns: now_ns,
            ..Chunk::default()
        };
        let mut index = HashMap::new();
        for (id, process) in &self.state.processes {
            index.insert(*id, chunk.processes.len() as u32);
            chunk.processes.push(ProcessPart {
                info: process.info.clone(),
                dictionary_offset: 0,
                dictionary_bytes: process.dictionary.len() as u32,
                dictionary_crc: crc32c::crc32c(&process.dictionary),
            });
        }
        for (id, stream) in &self.state.streams {
            let Some(process) = index.get(&id.process) else { continue };
            let (first, next) = (stream.next, stream.next);
            let (tid, thread) = (stream.tid, stream.thread.clone());
            let (process, ring) = (*process, id.ring);
            chunk.streams.push(StreamPart { process, ring, tid, thread, first, next, count: 0 });
        }
        chunk
    }
}

/// The streams and processes of a batch, and where they are in the chunk.
struct Parts {
    processes: Vec<ProcessId>,
    index: HashMap<ProcessId, u32>,
    streams: HashMap<StreamId, u32>,
}

impl Parts {
    fn of(batch: &CommitBatch) -> Self {
        let records = batch.records.iter().map(|part| part.stream.process);
        let lost = batch.lost.iter().map(|part| part.stream.process);
        let dictionaries = batch.dictionaries.iter().map(|(process, ..)| *process);
        let mut processes: Vec<ProcessId> = records.chain(lost).chain(dictionaries).collect();
        processes.sort_unstable();
        processes.dedup();
        Parts { processes, index: HashMap::new(), streams: HashMap::new() }
    }
}

/// The bits of loggers' names, by process and context.
struct Loggers<'a> {
    processes: Vec<Option<&'a [u64]>>,
}

impl<'a> Loggers<'a> {
    fn of(state: &'a StoreState, chunk: &Chunk) -> Self {
        let bits = |part: &ProcessPart| {
            state.processes.get(&part.info.id).map(state::ProcessState::context_bits)
        };
        Loggers { processes: chunk.processes.iter().map(bits).collect() }
    }

    /// All bits where the name is not known.
    fn bit(&self, process: u32, context: u32) -> u64 {
        let bits = self.processes.get(process as usize).copied().flatten();
        bits.and_then(|bits| bits.get(context as usize)).copied().unwrap_or(u64::MAX)
    }
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    lock_folder(folder, LOCK, 0o640).map_err(|error| match error {
        FolderLockError::InUse => StoreError::InUse(folder.to_owned()),
        FolderLockError::Io(path, source) => StoreError::Io { path, source },
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use logring::LogLevel;

    use super::*;
    use crate::own::OwnLog;

    fn batch(log: &mut OwnLog, text: &str) -> CommitBatch {
        let mut batch = CommitBatch::default();
        log.add(&mut batch, LogLevel::Info, text, 1_700_000_000_000_000_000);
        batch
    }

    fn shown(folder: &Path) -> u64 {
        let (mut reader, mut count) = (StoreReader::open(folder).unwrap(), 0);
        let flow = reader.visit_all(&|_, _| true, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert!(flow.unwrap().is_continue());
        assert_eq!(reader.damaged, []);
        count
    }

    #[test]
    fn what_is_written_is_shown_before_the_disk_has_it() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path();
        let (mut store, _) = Store::open(folder, StoreSettings::default(), [1; 16]).unwrap();
        let mut log = OwnLog::new([2; 16], "host".to_owned());
        store.write(&batch(&mut log, "one"), 1).unwrap();
        let (file, bytes) = store.begin_sync().unwrap();
        store.write(&batch(&mut log, "two"), 2).unwrap();
        assert_eq!(shown(folder), 2);
        store.end_sync(bytes, file.sync_data()).unwrap();
        assert!(store.begin_sync().is_some());
        store.write(&batch(&mut log, "three"), 3).unwrap();
        store.sync().unwrap();
        assert!(store.begin_sync().is_none());
        drop(store);
        assert_eq!(shown(folder), 3);
    }
}
