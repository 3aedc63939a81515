//! Writes a recording: a frame for each sample, columns for each full block, an index at the end.
//!
//! Costs one `write` a sample and three calls a block.  What is remembered of the open block (its
//! frames, and the latest value of every cell) makes the next frame small and lets the block be
//! closed without reading the file; all of it keeps its memory, so that a recorder whose sources
//! have settled allocates nothing.
//!
//! A failed write leaves the file as valid as it was.  The sample is counted, and the next one
//! that can be written carries the count and is told as the difference from the last one that was.

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
use crate::format::{BLOCK_SAMPLES_MAX, BlockHeader, BlockKind, crc};
use crate::frame::{BlockState, FRAME_HEADER_BYTES, FrameEncoder, Walker};
use crate::index::{IndexEntry, encode_index};
use crate::lock::lock_or_refuse;
use crate::storage::{Storage, write_all_at};
use closing::Closing;

pub use resume::{Resumed, repair};

/// Frames of a block before it is closed.  Larger blocks compress a little better and take more
/// memory in recorder and reader.
const BLOCK_FRAMES_BYTES: usize = 256 << 10;

/// Frames that are made columns at once: some milliseconds' work.
const SLICE_BYTES: usize = 512 << 10;

/// Grains of time in an interval, and their largest.
const GRAINS_INTERVAL: u64 = 1_000_000;
const GRAIN_NS_MAX: u64 = 1_000_000;

/// Blocks in the index before it first has to grow.
const INDEX_BLOCKS: usize = 4096;

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct WriterOptions {
    /// How closed blocks are stored.
    pub compression: Compression,
    /// Samples in a block at most.
    pub block_samples: u32,
    /// Wait for the disk between the steps of closing a block, so that a power cut takes no more
    /// than was written since the latest [`flush`](Writer::flush).
    pub sync_blocks: bool,
    /// Bytes of frames that are made columns at once.  A block of more is closed in slices, one
    /// after each sample that follows.
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

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes that went to the file, those of a block that was closed included.
    pub bytes: u64,
    /// Whether a block was closed.
    pub closed_block: bool,
}

/// What tells a block's instances anew.
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
    /// The open block: its header as it is in the file, where it is, its frames.
    open: BlockHeader,
    open_at: u64,
    frames: Vec<u8>,
    frames_limit: usize,
    /// The block before, while it is being closed in slices.
    closing: Closing,
    /// First readings of the sources in the open block and in the one before: the open one is
    /// sized by what it is likely to get, as not every sample reads all sources.
    key: Key,
    key_before: Key,
    /// Cells of distinct rows before the block is closed.
    cells_limit: usize,
    samples: u32,
    first_realtime_ns: i64,
    latest_realtime_ns: i64,
    /// Samples before which a block that could not be closed is not tried again.
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
    /// [`Error::Locked`] when a recorder writes the file, [`Error::Exists`] when there is such a
    /// file (which is left as it is), [`Error::Io`].
    pub fn create(
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
    ) -> Result<Writer, Error> {
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
        // An empty file is a recorder that died before its first byte: nothing is lost.
        let length = file.metadata().map_err(|error| Error::io(path, "look at", error))?.len();
        if length > 0 {
            return Err(Error::Exists { path: path.to_owned() });
        }
        Self::with_storage(Box::new(file), path, meta, defs, options)
    }

    /// Begins a recording in an empty storage; `path` is for messages.
    pub fn with_storage(
        storage: Box<dyn Storage>,
        path: &Path,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
    ) -> Result<Writer, Error> {
        let schemas = defs.to_vec();
        let file_id = RandomState::new().build_hasher().finish();
        let (mut bytes, prelude) = head::file_head(meta, &schemas, file_id)
            .map_err(|error| Error::io(path, "compress", error))?;
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

    /// A writer that has written nothing, with an empty first block.
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
    /// The sample is not in the file; see [`WriteError`].  Later ones may be.
    pub fn append(&mut self, snapshot: &Snapshot) -> Result<Written, WriteError> {
        self.append_with_texts(snapshot, std::iter::empty())
    }

    /// Adds a sample and the text of kernel files it was made from, each with its path.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_with_texts<'a>(
        &mut self,
        snapshot: &Snapshot,
        texts: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) -> Result<Written, WriteError> {
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
        closed_block |= self.go_on_closing(false);
        Ok(Written { bytes: self.bytes - before, closed_block })
    }

    /// Waits until all samples are on the disk.
    ///
    /// # Errors
    /// The disk may not have all of them.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.storage.sync().map_err(|error| WriteError::io(&self.path, error))
    }

    /// Closes the last block, adds the index and ends the recording.  A recording that is only
    /// dropped is whole as well, as after a crash; it is larger and slower to open.
    ///
    /// # Errors
    /// The recording is as if dropped.
    pub fn close(mut self) -> Result<(), WriteError> {
        self.go_on_closing(true);
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

    /// Samples written to the file since it was begun.
    pub fn samples(&self) -> u64 {
        self.sequence
    }

    /// Bytes written to the file, later overwritten ones included.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// Length of the file but for the open block and one that is being closed.
    pub fn bytes_closed(&self) -> u64 {
        self.closing.at().unwrap_or(self.open_at)
    }

    /// Where the recording is.
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

/// What times are rounded to: a millionth of the interval asked for, so that no rate changes in a
/// digit that anyone prints, or nothing if samples are taken flat out or nobody says how often.
/// Below it there is but noise, which no compression makes smaller.
fn grain_ns(meta: &Meta) -> u64 {
    let interval_ns = meta.get("interval_ns").and_then(|interval| interval.parse::<u64>().ok());
    let most = interval_ns.unwrap_or(0) / GRAINS_INTERVAL;
    std::iter::successors(Some(1), |grain| Some(grain * 10))
        .take_while(|&grain| grain <= most.min(GRAIN_NS_MAX))
        .last()
        .unwrap_or(1)
}
