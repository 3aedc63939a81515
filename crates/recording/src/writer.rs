//! Writes a recording: a frame for each sample, columns for each full block, an index at the end.
//!
//! Costs one `write` per sample and three system calls per block.  The writer keeps the frames of
//! the open block and the latest value of every cell, so that frames are small differences and the
//! block can be closed without reading the file.  It reuses its memory: a recorder whose sources
//! no longer gain instances allocates nothing.
//!
//! After a failed write the file is still valid.  The sample is counted; the next sample that can
//! be written stores the count, and its differences from the last written one.

mod block;
mod closing;
mod head;
mod resume;

use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sample::{Meta, Snapshot, SourceDef};

use crate::columns::ColumnEncoder;
use crate::compression::{Compression, Packer};
use crate::error::{Error, WriteError};
use crate::format::{BLOCK_SAMPLES_MAX, BlockHeader, BlockKind, HEAD_BYTES_MAX, MAGIC, crc};
use crate::frame::{BlockState, FRAME_HEADER_BYTES, FrameEncoder, Walker};
use crate::index::{IndexEntry, encode_index};
use crate::lock::lock_or_refuse;
use crate::schema;
use crate::storage::{Interference, Storage, write_all_at};
use closing::Closing;

pub(crate) use head::file_head;
pub use resume::{Resumed, repair};

/// Bytes of frames at which a block is closed.  Larger blocks compress slightly better and need
/// more memory in recorder and reader.
const BLOCK_FRAMES_BYTES: usize = 256 << 10;

/// Bytes of frames that are encoded as columns at once: a few milliseconds.
const SLICE_BYTES: usize = 512 << 10;

/// Times are rounded to this fraction of the interval, and at most to the second value.
const GRAINS_INTERVAL: u64 = 1_000_000;
const GRAIN_NS_MAX: u64 = 1_000_000;

/// Bytes before what was written since the last look that are compared, too: a frame has more, and
/// not all of them are zeros.
const BEFORE_HOLE_BYTES: usize = 64;

/// Initial capacity of the index, in blocks.
const INDEX_BLOCKS: usize = 4096;

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct WriterOptions {
    /// How closed blocks are stored.
    pub compression: Compression,
    /// The most samples of a block.
    pub block_samples: u32,
    /// Whether to sync between the steps of closing a block, so that a power cut loses only what
    /// was written since the latest [`flush`](Writer::flush).
    pub sync_blocks: bool,
    /// Bytes of frames that are encoded as columns at once.  A larger block is closed in slices,
    /// one after each sample that follows.
    pub slice_bytes: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            compression: Compression::default(),
            block_samples: 512,
            sync_blocks: false,
            slice_bytes: SLICE_BYTES,
        }
    }
}

/// The result of writing a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenSample {
    /// Bytes written to the file, including those of a closed block.
    pub bytes: u64,
    /// Whether a block was closed.
    pub closed_block: bool,
}

/// The size of the first reading of each source in a block, which stores every cell.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// Bytes of the frames with a source's first reading.
    bytes: usize,
    /// Cells after the latest of them.
    cells: usize,
}

/// The recording being written.
pub struct Writer {
    storage: Box<dyn Storage>,
    path: PathBuf,
    options: WriterOptions,
    file_id: u64,
    encoder: FrameEncoder,
    columns: ColumnEncoder,
    packer: Packer,
    walker: Walker,
    state: BlockState,
    /// The open block: its header as in the file, its offset, its frames.
    open: BlockHeader,
    open_at: u64,
    frames: Vec<u8>,
    /// Bytes of them at the last look at the file.
    frames_seen: usize,
    frames_limit: usize,
    /// The previous block, while it is being closed in slices.
    closing: Closing,
    /// First readings of the sources in the open and in the previous block.  Not every sample reads
    /// all sources, so the size of the open block is estimated from both.
    key: Key,
    key_before: Key,
    /// Cells of distinct rows at which the block is closed.
    cells_limit: usize,
    samples: u32,
    first_realtime_ns: i64,
    latest_realtime_ns: i64,
    /// The number of samples at which a failed close of the block is tried again.
    close_not_before: u32,
    /// Samples in the file.
    sequence: u64,
    /// Samples lost since the last one in the file.
    unwritten: u64,
    bytes: u64,
    index: Vec<IndexEntry>,
    out: Vec<u8>,
}

impl Writer {
    /// Begins a recording in a new file, and holds its lock until dropped.
    ///
    /// # Errors
    /// [`Error::Locked`] if a recorder writes the file, [`Error::Exists`] if the file exists (it is
    /// not changed), [`Error::Io`].
    pub fn create(
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
    ) -> Result<Writer, Error> {
        Self::create_as(path, meta, defs, options, random_id())
    }

    /// Begins a recording whose number is given: a copy of another one.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_as(
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
        file_id: u64,
    ) -> Result<Writer, Error> {
        schema::check(meta, defs).map_err(|what| Error::TooMany { path: path.to_owned(), what })?;
        let new = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = match new {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let old = OpenOptions::new().read(true).write(true).open(path);
                old.map_err(|error| Error::io(path, "open", error))?
            }
            Err(error) => return Err(Error::io(path, "create", error)),
        };
        lock_or_refuse(&file, path)?;
        // A recorder that was killed before its first write leaves an empty file: overwrite it.
        let length = file.metadata().map_err(|error| Error::io(path, "look at", error))?.len();
        if length > 0 {
            return Err(Error::Exists { path: path.to_owned() });
        }
        Self::begin(Box::new(file), path, meta, defs, options, file_id)
    }

    /// Begins a recording in an empty storage; `path` is for messages.
    pub fn with_storage(
        storage: Box<dyn Storage>,
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
    ) -> Result<Writer, Error> {
        Self::begin(storage, path, meta, defs, options, random_id())
    }

    fn begin(
        storage: Box<dyn Storage>,
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
        file_id: u64,
    ) -> Result<Writer, Error> {
        let schemas = defs.to_vec();
        let (mut bytes, prelude) = file_head(meta, &schemas, file_id)
            .map_err(|error| Error::io(path, "compress", error))?;
        if prelude.head_plain_bytes as usize > HEAD_BYTES_MAX {
            return Err(Error::TooMany { path: path.to_owned(), what: "names and help texts" });
        }
        let open_at = u64::from(prelude.first_block);
        let mut writer = Self::new(storage, path, &schemas, options, file_id)?;
        writer.state.tick.set_grain(grain_ns(meta));
        writer.open = writer.new_open(1, 0);
        writer.open_at = open_at;
        bytes.extend_from_slice(&writer.open.encode(file_id));
        write_all_at(writer.storage.as_mut(), &bytes, 0)
            .map_err(|error| WriteError::io(path, error))?;
        writer.bytes = bytes.len() as u64;
        Ok(writer)
    }

    /// A writer with an empty first block, which has written nothing yet.
    fn new(
        storage: Box<dyn Storage>,
        path: &Path,
        schemas: &[Arc<SourceDef>],
        options: WriterOptions,
        file_id: u64,
    ) -> Result<Writer, Error> {
        let state = BlockState::new(schemas);
        let packer = Packer::new(options.compression, BLOCK_FRAMES_BYTES)
            .map_err(|error| Error::io(path, "compress", error))?;
        let options = WriterOptions {
            block_samples: options.block_samples.clamp(1, BLOCK_SAMPLES_MAX),
            ..options
        };
        Ok(Writer {
            storage,
            path: path.to_owned(),
            options,
            file_id,
            encoder: FrameEncoder::default(),
            columns: ColumnEncoder::new(&state, 2 * BLOCK_FRAMES_BYTES),
            packer,
            walker: Walker::new(&state.sources),
            closing: Closing::new(BlockHeader::new(BlockKind::Open, 1, 0), state.clone()),
            state,
            open: BlockHeader::new(BlockKind::Open, 1, 0),
            open_at: 0,
            frames: Vec::with_capacity(2 * BLOCK_FRAMES_BYTES),
            frames_seen: 0,
            frames_limit: BLOCK_FRAMES_BYTES,
            key: Key::default(),
            key_before: Key::default(),
            cells_limit: usize::MAX,
            samples: 0,
            first_realtime_ns: 0,
            latest_realtime_ns: 0,
            close_not_before: 0,
            sequence: 0,
            unwritten: 0,
            bytes: 0,
            index: Vec::with_capacity(INDEX_BLOCKS),
            out: Vec::with_capacity(2 * BLOCK_FRAMES_BYTES),
        })
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// The sample was not written; see [`WriteError`].  Later ones may succeed.
    pub fn append(&mut self, snapshot: &Snapshot) -> Result<WrittenSample, WriteError> {
        self.append_with_texts(snapshot, std::iter::empty())
    }

    /// Adds a sample and its kernel texts, each with its path.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_with_texts<'a>(
        &mut self,
        snapshot: &Snapshot,
        texts: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) -> Result<WrittenSample, WriteError> {
        let before = self.bytes;
        let mut closed_block = self.prepare(snapshot).inspect_err(|_| self.unwritten += 1)?;
        let start = self.frames.len();
        self.frames.resize(start + FRAME_HEADER_BYTES, 0);
        let has_texts = texts.clone().next().is_some();
        let is_key = self.begins_a_source(snapshot);
        self.encoder.encode(&mut self.state, snapshot, self.unwritten, texts, &mut self.frames);
        if is_key {
            self.key.bytes += self.frames.len() - start;
            self.key.cells = self.state.cells();
        }
        let written = self.write_frame(start, has_texts);
        if let Err(error) = written {
            self.frames.truncate(start);
            self.rebuild();
            self.unwritten += 1;
            return Err(error);
        }
        self.count_sample(self.state.tick.realtime_ns());
        self.unwritten = 0;
        if self.sequence == 1 {
            self.warm_up();
        }
        closed_block |= self.continue_closing(false);
        Ok(WrittenSample { bytes: self.bytes - before, closed_block })
    }

    /// Waits until all samples are on the disk.
    ///
    /// # Errors
    /// If `fdatasync` fails: some samples may not be on the disk.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.storage.sync().map_err(|error| WriteError::io(&self.path, error))
    }

    /// Closes the last block, and writes the index and the footer.  A recording whose writer is
    /// only dropped is complete too, as after a crash, but larger and slower to open.
    ///
    /// # Errors
    /// If the file cannot be written; the recording is then as if the writer had been dropped.
    pub fn close(mut self) -> Result<(), WriteError> {
        self.continue_closing(true);
        if self.samples > 0 {
            self.close_block()?;
        }
        let mut end = BlockHeader::new(BlockKind::End, self.open.number, self.sequence);
        self.out.clear();
        encode_index(&self.index, self.unwritten, &mut self.out);
        end.body_bytes = self.out.len() as u32;
        end.body_crc = crc(&[&self.out]);
        let mut footer = BlockHeader::new(BlockKind::Footer, end.number + 1, self.sequence);
        footer.end_at = self.open_at;
        self.commit(&end, &footer)?;
        if self.options.sync_blocks { self.flush() } else { Ok(()) }
    }

    /// What another program did to the file.  Costs an `fstat`, and with `written_since` a `pread`:
    /// needed if samples were written since the last look, as these made the file long again.  Then
    /// also reads what was written since: where the file was cut before, it has zeros.
    pub fn interference(&mut self, written_since: bool) -> Option<Interference> {
        let frames_at = self.open_at + u64::from(self.open.body_at);
        let frames = self.frames.len() as u64;
        let written = if frames == 0 { self.open_at } else { frames_at + frames };
        let start = written_since.then_some(MAGIC.as_slice());
        let seen = std::mem::replace(&mut self.frames_seen, self.frames.len());
        let found = self.storage.interference(written, start);
        if found.is_some() || !written_since || frames == 0 {
            return found;
        }
        // A hole ends where a frame begins that was written since.
        let from = seen.min(self.frames.len()).saturating_sub(BEFORE_HOLE_BYTES);
        let header = self.open.encode(self.file_id);
        let is_there = (from > 0 || self.storage.has(&header, self.open_at))
            && self.storage.has(&self.frames[from..], frames_at + from as u64);
        (!is_there).then_some(Interference::Truncated)
    }

    /// Counts samples that were lost before this recording began: the gap before its first sample.
    pub fn add_unwritten(&mut self, samples: u64) {
        self.unwritten += samples;
    }

    /// Leaves numbers of samples out, before the next one: readers count them as unreadable.
    ///
    /// # Errors
    /// If the block before them cannot be closed, or the file cannot be written.
    pub fn leave_out(&mut self, samples: u64) -> Result<(), WriteError> {
        self.continue_closing(true);
        self.step_sequence(samples)
    }

    /// Samples written to the file since it was begun.
    pub fn samples(&self) -> u64 {
        self.sequence
    }

    /// Length of the file without the open block and one that is being closed.
    pub fn bytes_closed(&self) -> u64 {
        self.closing.at().unwrap_or(self.open_at)
    }

    /// The path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts a sample that is in the file.
    fn count_sample(&mut self, realtime_ns: i64) {
        if self.samples == 0 {
            self.first_realtime_ns = realtime_ns;
            self.latest_realtime_ns = realtime_ns;
        }
        self.latest_realtime_ns = self.latest_realtime_ns.max(realtime_ns);
        self.samples += 1;
        self.sequence += 1;
    }
}

/// A number that no other recording has.
#[must_use]
pub fn random_id() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Times are rounded to multiples of this: a millionth of the interval, which changes no printed
/// digit of a rate; 1 ns if samples are taken as fast as possible or the interval is unknown.
/// Smaller digits are noise, which does not compress.
fn grain_ns(meta: &Meta) -> u64 {
    let interval_ns = meta.get("interval_ns").and_then(|interval| interval.parse::<u64>().ok());
    let most = interval_ns.unwrap_or(0) / GRAINS_INTERVAL;
    std::iter::successors(Some(1), |grain| Some(grain * 10))
        .take_while(|&grain| grain <= most.min(GRAIN_NS_MAX))
        .last()
        .unwrap_or(1)
}
