//! Writes a recording: a frame for each sample, columns for each full block, an index at the end.
//!
//! Costs one `write` a sample and three calls a block.  What is remembered of the open block (its
//! frames, and the latest value of every cell) makes the next frame small and lets the block be
//! closed without reading the file; all of it keeps its memory, so that a recorder whose sources
//! have settled allocates nothing.
//!
//! A failed write leaves the file as valid as it was.  The sample is counted, and the next one
//! that can be written carries the count and is told as the difference from the last one that was.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use sample::{Meta, Snapshot, SourceDef, State};

use crate::columns::ColumnEncoder;
use crate::compression::{Compression, Packer, STORED, ZSTD};
use crate::error::{Error, WriteError};
use crate::format::{
    BLOCK_SAMPLES_MAX, BODY_BYTES_MAX, BlockHeader, BlockKind, CELLS_MAX, FRAME_BYTES_MAX,
    HEADER_BYTES, PID_AT, Prelude, VERSION, aligned, crc,
};
use crate::frame::{
    self, BlockState, FRAME_HEADER_BYTES, FrameEncoder, ROWS_MAX, Replay, Walker, frame_header,
};
use crate::lock::{Locking, lock};
use crate::schema::{Schema, encode_head};
use crate::state::{SourceState, TickState};
use crate::storage::{Storage, write_all_at};
use crate::varint::Corrupt;

/// Frames of a block before it is closed.  Larger blocks compress a little better and take more
/// memory in recorder and reader.
const BLOCK_FRAMES_BYTES: usize = 256 << 10;

/// The same when kernel texts are kept, which are large and like their neighbours.
const BLOCK_TEXTS_BYTES: usize = 4 << 20;

/// A block has at least so many times the bytes of its first frame, which tells everything anew.
const BLOCK_FIRST_FRAMES: usize = 8;

/// The hole before the frames of a block is so many times as large as these may become.
const HOLE_FRAMES: usize = 2;

/// When a block could not be closed for want of space, so many samples later it is tried again.
const CLOSE_RETRY_SAMPLES: u32 = 32;

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
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            compression: Compression::default(),
            block_samples: 512,
            sync_blocks: false,
        }
    }
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes that went to the file, those of a block that was closed first included.
    pub bytes: u64,
    /// Whether a block was closed first.
    pub closed_block: bool,
}

/// A block in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) at: u64,
    pub(crate) first_sequence: u64,
    pub(crate) first_realtime_ns: i64,
    pub(crate) latest_realtime_ns: i64,
    pub(crate) samples: u32,
    pub(crate) number: u32,
}

/// Bytes of an entry of the index.
pub(crate) const INDEX_ENTRY_BYTES: usize = 40;

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
        defs: &[&'static SourceDef],
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
        defs: &[&'static SourceDef],
        options: WriterOptions,
    ) -> Result<Writer, Error> {
        let schemas: Vec<_> = defs.iter().map(|def| Schema::of(def)).collect();
        let file_id = RandomState::new().build_hasher().finish();
        let (mut bytes, prelude) = file_head(meta, &schemas, file_id)
            .map_err(|error| Error::io(path, "compress", error))?;
        let open_at = u64::from(prelude.first_block);
        let mut writer = Self::new(storage, path, &schemas, options, file_id)?;
        writer.open = writer.new_open(1, 0);
        writer.open_at = open_at;
        bytes.extend_from_slice(&writer.open.encode(file_id));
        write_all_at(writer.storage.as_mut(), &bytes, 0)
            .map_err(|error| WriteError::io(path, error))?;
        writer.bytes = bytes.len() as u64;
        Ok(writer)
    }

    /// A writer that has written nothing, with an empty first block.
    pub(crate) fn new(
        storage: Box<dyn Storage>,
        path: &Path,
        schemas: &[Schema],
        options: WriterOptions,
        file_id: u64,
    ) -> Result<Writer, Error> {
        let state = empty_state(schemas);
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
            state,
            open: BlockHeader::new(BlockKind::Open, 1, 0),
            open_at: 0,
            frames: Vec::with_capacity(2 * BLOCK_FRAMES_BYTES),
            frames_limit: BLOCK_FRAMES_BYTES,
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
        self.append_with_texts(snapshot, &[])
    }

    /// Adds a sample and the text of kernel files it was made from, each with its path.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_with_texts(
        &mut self,
        snapshot: &Snapshot,
        texts: &[(&[u8], &[u8])],
    ) -> Result<Written, WriteError> {
        let before = self.bytes;
        let closed_block = self.prepare(snapshot).inspect_err(|_| self.unwritten += 1)?;
        let start = self.frames.len();
        self.frames.resize(start + FRAME_HEADER_BYTES, 0);
        self.encoder.encode(&mut self.state, snapshot, self.unwritten, texts, &mut self.frames);
        let written = self.write_frame(start, !texts.is_empty());
        if let Err(error) = written {
            self.frames.truncate(start);
            self.rebuild();
            self.unwritten += 1;
            return Err(error);
        }
        self.count_sample(snapshot.realtime_ns);
        self.unwritten = 0;
        if self.sequence == 1 {
            self.warm_up();
        }
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

    /// Length of the file but for the open block.
    pub fn bytes_closed(&self) -> u64 {
        self.open_at
    }

    /// Where the recording is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts a sample that is in the file.
    pub(crate) fn count_sample(&mut self, realtime_ns: i64) {
        if self.samples == 0 {
            self.first_realtime_ns = realtime_ns;
            self.latest_realtime_ns = realtime_ns;
        }
        self.latest_realtime_ns = self.latest_realtime_ns.max(realtime_ns);
        self.samples += 1;
        self.sequence += 1;
    }

    /// The header of an open block.
    pub(crate) fn new_open(&self, number: u32, first_sequence: u64) -> BlockHeader {
        let mut open = BlockHeader::new(BlockKind::Open, number, first_sequence);
        if self.options.compression != Compression::FramesOnly {
            open.body_at = aligned((HOLE_FRAMES * self.frames_limit) as u64) as u32;
        }
        open
    }

    /// Refuses what cannot be written, and closes the block if it is full.
    fn prepare(&mut self, snapshot: &Snapshot) -> Result<bool, WriteError> {
        let ok = |(index, sample): (usize, &sample::Sample)| {
            let read = snapshot.fresh[index] && sample.state == State::Ok;
            !read || sample.table.width() == self.state.sources[index].width
        };
        let sources = self.state.sources.len();
        let same = snapshot.samples.len() == sources && snapshot.fresh.len() == sources;
        if !same || !snapshot.samples.iter().enumerate().all(ok) {
            return Err(WriteError::OtherSources { path: self.path.clone() });
        }
        let cells = cells(&self.state, snapshot);
        if cells.is_none_or(|cells| cells > CELLS_MAX) {
            let (path, cells) = (self.path.clone(), cells.unwrap_or(usize::MAX));
            return Err(WriteError::TooLarge { path, cells });
        }
        let must = self.samples == BLOCK_SAMPLES_MAX
            || self.state.cells() + cells.unwrap_or(0) > CELLS_MAX
            || self.frames.len() > BODY_BYTES_MAX - 2 * FRAME_BYTES_MAX;
        let full =
            self.samples >= self.options.block_samples || self.frames.len() >= self.frames_limit;
        if self.samples == 0 || !(must || full && self.samples >= self.close_not_before) {
            return Ok(false);
        }
        match self.close_block() {
            Ok(()) => Ok(true),
            Err(error) if must => Err(error),
            Err(_) => {
                // Frames may still fit where columns do not: the block goes on.
                self.close_not_before = self.samples + CLOSE_RETRY_SAMPLES;
                Ok(false)
            }
        }
    }

    /// Writes the frame that begins at `start`.
    fn write_frame(&mut self, start: usize, has_texts: bool) -> Result<(), WriteError> {
        let length = self.frames.len() - start;
        if length - FRAME_HEADER_BYTES > FRAME_BYTES_MAX {
            let cells = self.state.cells();
            return Err(WriteError::TooLarge { path: self.path.clone(), cells });
        }
        frame::seal(&mut self.frames, start, self.file_id, self.open.number, self.samples);
        if self.samples == 0 {
            self.size_block(length, has_texts)?;
        }
        let at = self.open_at + u64::from(self.open.body_at) + start as u64;
        self.write(start, at)
    }

    /// Settles how large a block will be once its first frame is known, and makes its hole larger
    /// if need be.
    fn size_block(&mut self, first_frame: usize, has_texts: bool) -> Result<(), WriteError> {
        let least = if has_texts { BLOCK_TEXTS_BYTES } else { BLOCK_FRAMES_BYTES };
        let limit = (first_frame * BLOCK_FIRST_FRAMES).clamp(least, BODY_BYTES_MAX / 4);
        self.frames_limit = limit;
        let open = self.new_open(self.open.number, self.open.first_sequence);
        if open.body_at > self.open.body_at {
            let header = open.encode(self.file_id);
            write_all_at(self.storage.as_mut(), &header, self.open_at)
                .map_err(|error| WriteError::io(&self.path, error))?;
            self.open = open;
            self.bytes += HEADER_BYTES as u64;
        }
        Ok(())
    }

    fn write(&mut self, start: usize, at: u64) -> Result<(), WriteError> {
        let bytes = &self.frames[start..];
        write_all_at(self.storage.as_mut(), bytes, at)
            .map_err(|error| WriteError::io(&self.path, error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Takes up a file whose open block is `open`, without frames yet.
    pub(crate) fn set_open(&mut self, open: BlockHeader, at: u64, sequence: u64, unwritten: u64) {
        (self.open, self.open_at) = (open, at);
        (self.sequence, self.unwritten) = (sequence, unwritten);
    }

    /// Takes up a file with these blocks.
    pub(crate) fn set_index(&mut self, index: Vec<IndexEntry>) {
        self.index.extend(index);
    }

    /// Closes the block and leaves out so many sequences, whose samples are lost.
    pub(crate) fn step_sequence(&mut self, lost: u64) -> Result<(), WriteError> {
        self.sequence += lost;
        if self.samples > 0 {
            return self.close_block();
        }
        self.open.first_sequence = self.sequence;
        write_all_at(self.storage.as_mut(), &self.open.encode(self.file_id), self.open_at)
            .map_err(|error| WriteError::io(&self.path, error))
    }

    /// Samples in the file, those that are lost left out.
    pub(crate) fn samples_present(&self) -> u64 {
        let closed: u64 = self.index.iter().map(|entry| u64::from(entry.samples)).sum();
        closed + u64::from(self.samples)
    }

    /// Samples in the open block.
    pub(crate) fn block_samples(&self) -> u32 {
        self.samples
    }

    pub(crate) fn file_id(&self) -> u64 {
        self.file_id
    }

    pub(crate) fn storage_mut(&mut self) -> &mut dyn Storage {
        self.storage.as_mut()
    }

    /// What the frames of the open block told, how to read more of them, and they themselves.
    pub(crate) fn parts(&mut self) -> (&mut BlockState, &mut Walker, &mut Vec<u8>) {
        (&mut self.state, &mut self.walker, &mut self.frames)
    }

    /// Makes the state again what the frames tell, after a frame that was not written.
    pub(crate) fn rebuild(&mut self) {
        self.state.clear();
        self.walker.clear();
        let walked = walk_frames(&self.frames, &mut self.walker, &mut self.state);
        assert!(walked.is_ok(), "frames that were written can be read");
    }

    /// Makes columns of the first sample and throws them away: what the end of a block needs of
    /// memory is taken here, and not some minutes later.
    fn warm_up(&mut self) {
        self.out.clear();
        // A failure would be told when the block is closed.
        let _ = self.columns.encode(&self.frames, &self.state, &mut self.packer, &mut self.out);
    }

    /// Makes the open block columns, or leaves its frames where they are, and opens the next one.
    fn close_block(&mut self) -> Result<(), WriteError> {
        let mut header = BlockHeader {
            samples: self.samples,
            first_realtime_ns: self.first_realtime_ns,
            latest_realtime_ns: self.latest_realtime_ns,
            ..self.open
        };
        self.out.clear();
        let room = self.open.body_at as usize;
        let columns = self.options.compression != Compression::FramesOnly
            && self
                .columns
                .encode(&self.frames, &self.state, &mut self.packer, &mut self.out)
                .is_ok()
            && aligned(self.out.len() as u64) as usize + 2 * HEADER_BYTES <= room;
        if columns {
            header.kind = BlockKind::Columns;
            header.body_at = HEADER_BYTES as u32;
            header.body_bytes = self.out.len() as u32;
            header.body_crc = crc(&[&self.out]);
        } else {
            self.out.clear();
            header.kind = BlockKind::Frames;
            header.body_bytes = self.frames.len() as u32;
        }
        let next = self.new_open(header.number + 1, self.sequence);
        self.commit(&header, &next)?;
        self.index.push(IndexEntry {
            at: self.open_at,
            first_sequence: header.first_sequence,
            first_realtime_ns: header.first_realtime_ns,
            latest_realtime_ns: header.latest_realtime_ns,
            samples: header.samples,
            number: header.number,
        });
        self.open_at += header.span();
        self.open = next;
        self.frames.clear();
        self.state.clear();
        self.samples = 0;
        self.close_not_before = 0;
        Ok(())
    }

    /// The steps of closing, as the format's head explains: the body (if `out` holds one) and the
    /// header after it, then this header, then the cut.
    fn commit(&mut self, header: &BlockHeader, next: &BlockHeader) -> Result<(), WriteError> {
        let storage = self.storage.as_mut();
        let after = self.open_at + header.span();
        let body_at = if self.out.is_empty() { after } else { self.open_at + HEADER_BYTES as u64 };
        self.out.resize((after - body_at) as usize, 0);
        self.out.extend_from_slice(&next.encode(self.file_id));
        let steps = || -> io::Result<()> {
            write_all_at(storage, &self.out, body_at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            write_all_at(storage, &header.encode(self.file_id), self.open_at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            // Failing to cut leaves bytes that nobody reads.
            let _ = storage.truncate(after + HEADER_BYTES as u64);
            Ok(())
        };
        let mut steps = steps;
        steps().map_err(|error| WriteError::io(&self.path, error))?;
        self.bytes += (self.out.len() + HEADER_BYTES) as u64;
        Ok(())
    }
}

/// Cells of a snapshot's fresh tables; `None` if one has too many rows.
fn cells(state: &BlockState, snapshot: &Snapshot) -> Option<usize> {
    let mut cells = 0_usize;
    for (index, sample) in snapshot.samples.iter().enumerate() {
        if snapshot.fresh[index] && sample.state == State::Ok {
            let rows = sample.table.rows();
            cells += rows.checked_mul(state.sources[index].columns())?;
            if rows > ROWS_MAX {
                return None;
            }
        }
    }
    Some(cells)
}

/// The state of a block that has told nothing.
pub(crate) fn empty_state(schemas: &[Schema]) -> BlockState {
    BlockState {
        tick: TickState::new(schemas.len()),
        sources: schemas.iter().map(SourceState::new).collect(),
        texts: Vec::new(),
    }
}

/// Replays frames that are known to be whole.
pub(crate) fn walk_frames(
    frames: &[u8],
    walker: &mut Walker,
    state: &mut BlockState,
) -> Result<(), Corrupt> {
    let mut rest = frames;
    while let Some((length, _)) = frame_header(rest) {
        let end = FRAME_HEADER_BYTES + length;
        let payload = rest.get(FRAME_HEADER_BYTES..end).ok_or(Corrupt("a frame ends early"))?;
        walker.walk(payload, &mut Replay(state))?;
        rest = &rest[end..];
    }
    Ok(())
}

/// Takes the lock of a recording, or says who has it.
pub(crate) fn lock_or_refuse(file: &File, path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::FileExt;
    match lock(file).map_err(|error| Error::io(path, "lock", error))? {
        Locking::Done => Ok(()),
        Locking::Held => {
            let mut pid = [0; 4];
            let read = file.read_exact_at(&mut pid, PID_AT as u64);
            let pid = Some(u32::from_le_bytes(pid)).filter(|&pid| read.is_ok() && pid != 0);
            Err(Error::Locked { path: path.to_owned(), pid })
        }
    }
}

/// The file up to its first block.
fn file_head(meta: &Meta, schemas: &[Schema], file_id: u64) -> io::Result<(Vec<u8>, Prelude)> {
    /// Heads are written once and kept with every recording.
    const HEAD_LEVEL: i32 = 9;
    let plain = encode_head(meta, schemas);
    let compressed = zstd::bulk::compress(&plain, HEAD_LEVEL)?;
    let (stored, code) =
        if compressed.len() < plain.len() { (&compressed, ZSTD) } else { (&plain, STORED) };
    let first_block = aligned((HEADER_BYTES + stored.len()) as u64);
    let prelude = Prelude {
        version: VERSION,
        first_block: first_block as u32,
        file_id,
        pid: std::process::id(),
        head_stored_bytes: stored.len() as u32,
        head_plain_bytes: plain.len() as u32,
        head_crc: crc(&[stored]),
        head_compression: code,
    };
    let mut bytes = prelude.encode().to_vec();
    bytes.extend_from_slice(stored);
    bytes.resize(first_block as usize, 0);
    Ok((bytes, prelude))
}

fn encode_index(index: &[IndexEntry], unwritten: u64, out: &mut Vec<u8>) {
    for entry in index {
        out.extend_from_slice(&entry.at.to_le_bytes());
        out.extend_from_slice(&entry.first_sequence.to_le_bytes());
        out.extend_from_slice(&entry.first_realtime_ns.to_le_bytes());
        out.extend_from_slice(&entry.latest_realtime_ns.to_le_bytes());
        out.extend_from_slice(&entry.samples.to_le_bytes());
        out.extend_from_slice(&entry.number.to_le_bytes());
    }
    out.extend_from_slice(&unwritten.to_le_bytes());
}
