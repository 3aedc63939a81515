//! The open block of a writer: its frames, its size, and how it is closed.

use std::io;

use sample::{Sample, Snapshot, State};

use super::{BLOCK_FRAMES_BYTES, Writer};
use crate::compression::Compression;
use crate::error::WriteError;
use crate::format::{
    BLOCK_SAMPLES_MAX, BODY_BYTES_MAX, BlockHeader, BlockKind, CELLS_MAX, FRAME_BYTES_MAX,
    HEADER_BYTES, aligned, crc,
};
use crate::frame::{self, BlockState, FRAME_HEADER_BYTES, ROWS_MAX, Replay};
use crate::index::IndexEntry;
use crate::storage::write_all_at;

/// The size of a block if kernel texts are kept, which are large and similar to each other.
const BLOCK_TEXTS_BYTES: usize = 4 << 20;

/// A block has at least this many times the bytes of its first readings.
const BLOCK_FIRST_FRAMES: usize = 8;

/// Cells of distinct rows at which a block is closed.  Closing needs about 150 bytes for each, so
/// without a limit thousands of short-lived processes would take tens of megabytes.
const BLOCK_CELLS: usize = 64 << 10;

/// A block may have at least this many times the cells of its first readings.
const BLOCK_FIRST_CELLS: usize = 2;

/// Cells of a first sample up to which memory is allocated in advance: a machine without processes.
const WARM_CELLS: usize = 16 << 10;

/// The hole before the frames of a block is this many times as large as the frames can become.
const HOLE_FRAMES: usize = 2;

/// Blocks whose samples are closer together than this are not coded densely: a recorder that
/// samples as fast as it can has no CPU time to spare.
const DENSE_INTERVAL_NS: i64 = 100_000_000;

/// Samples after which a block that could not be closed for lack of space is tried again.
const CLOSE_RETRY_SAMPLES: u32 = 32;

impl Writer {
    /// The header of an open block.
    pub(super) fn new_open(&self, number: u32, first_sequence: u64) -> BlockHeader {
        let mut open = BlockHeader::new(BlockKind::Open, number, first_sequence);
        if self.options.compression != Compression::FramesOnly {
            open.body_at = aligned((HOLE_FRAMES * self.frames_limit) as u64) as u32;
        }
        open
    }

    /// Refuses a sample that cannot be written, and closes the block if it is full.
    pub(super) fn prepare(&mut self, snapshot: &Snapshot) -> Result<bool, WriteError> {
        let ok = |(index, sample): (usize, &Sample)| {
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
        let full = self.samples >= self.options.block_samples
            || self.frames.len() >= self.frames_limit
            || self.state.cells() >= self.cells_limit;
        if self.samples == 0 || !(must || full && self.samples >= self.close_not_before) {
            return Ok(false);
        }
        let had_begun = self.closing.is_begun();
        self.continue_closing(true);
        let large = self.is_large();
        let closed = if large { self.set_aside() } else { self.close_block() };
        match closed {
            Ok(()) => Ok(had_begun || !large),
            Err(error) if must => Err(error),
            Err(_) => {
                // Frames may still fit where columns do not: continue the block.
                self.close_not_before = self.samples + CLOSE_RETRY_SAMPLES;
                Ok(false)
            }
        }
    }

    /// Whether a sample has a source's first reading in the open block.
    pub(super) fn begins_a_source(&self, snapshot: &Snapshot) -> bool {
        let sources = self.state.sources.iter().zip(&snapshot.samples).zip(&snapshot.fresh);
        sources.into_iter().any(|((state, sample), &fresh)| {
            fresh && sample.state == State::Ok && state.names.is_empty() && sample.table.rows() > 0
        })
    }

    /// Writes the frame that begins at `start`.
    pub(super) fn write_frame(&mut self, start: usize, has_texts: bool) -> Result<(), WriteError> {
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

    /// Chooses the size of a block after its first frame, and enlarges its hole if necessary.
    fn size_block(&mut self, first_frame: usize, has_texts: bool) -> Result<(), WriteError> {
        let least = if has_texts { BLOCK_TEXTS_BYTES } else { BLOCK_FRAMES_BYTES };
        let key_bytes = first_frame.max(self.key_before.bytes);
        let limit = (key_bytes * BLOCK_FIRST_FRAMES).clamp(least, BODY_BYTES_MAX / 4);
        self.frames_limit = limit;
        let key_cells = self.state.cells().max(self.key_before.cells);
        self.cells_limit = BLOCK_CELLS.max(BLOCK_FIRST_CELLS * key_cells);
        let open = self.new_open(self.open.number, self.open.first_sequence);
        // After a block that is being closed there is no hole: this block will move.
        if open.body_at > self.open.body_at && !self.closing.is_begun() {
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

    /// Restores the state from the frames, after a frame that was not written.
    pub(super) fn rebuild(&mut self) {
        self.state.clear();
        let walked = self.walker.walk_all(&self.frames, &mut Replay(&mut self.state));
        assert!(walked.is_ok(), "frames that were written can be read");
    }

    /// Encodes the first sample as columns and discards them, so that the memory for closing a
    /// block is allocated now, not minutes later.  Not done for many rows: it would take long and
    /// allocate memory that may never be used.
    pub(super) fn warm_up(&mut self) {
        if self.state.cells() > WARM_CELLS {
            return;
        }
        self.columns.warm_up(&self.frames, &self.state, &mut self.packer, &mut self.out);
    }

    /// Whether the samples of the block came slowly enough for the dense coding.
    pub(super) fn is_slow(&self) -> bool {
        let Compression::Zstd(_) = self.options.compression else { return false };
        let took_ns = self.latest_realtime_ns.saturating_sub(self.first_realtime_ns);
        took_ns >= i64::from(self.samples.saturating_sub(1)) * DENSE_INTERVAL_NS
    }

    /// Closes the open block as columns or as frames, and begins the next one.
    pub(super) fn close_block(&mut self) -> Result<(), WriteError> {
        let mut header = self.open_so_far();
        self.out.clear();
        let room = self.open.body_at as usize;
        let dense = self.is_slow();
        let columns = self.options.compression != Compression::FramesOnly
            && self
                .columns
                .encode(&self.frames, &self.state, dense, &mut self.packer, &mut self.out)
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
        self.begin_block(next, header.span());
        Ok(())
    }

    /// The open block's header with the number and times of its samples so far.
    pub(super) fn open_so_far(&self) -> BlockHeader {
        BlockHeader {
            samples: self.samples,
            first_realtime_ns: self.first_realtime_ns,
            latest_realtime_ns: self.latest_realtime_ns,
            ..self.open
        }
    }

    /// Continues with the next block, after one of `span` bytes.
    pub(super) fn begin_block(&mut self, next: BlockHeader, span: u64) {
        self.open_at += span;
        self.open = next;
        self.frames.clear();
        self.frames_seen = 0;
        self.state.clear();
        self.samples = 0;
        self.close_not_before = 0;
        self.key_before = std::mem::take(&mut self.key);
    }

    /// The steps of closing, as `format.rs` explains: writes the body (if `out` has one) and the
    /// header after it, then this header, then truncates.
    pub(super) fn commit(
        &mut self,
        header: &BlockHeader,
        next: &BlockHeader,
    ) -> Result<(), WriteError> {
        self.put_body(header, self.open_at, next, true)
    }

    /// Writes the block at `at`; `cuts` says whether only `next` follows it, so that the file
    /// can be truncated.
    pub(super) fn put_body(
        &mut self,
        header: &BlockHeader,
        at: u64,
        next: &BlockHeader,
        cuts: bool,
    ) -> Result<(), WriteError> {
        let storage = self.storage.as_mut();
        let after = at + header.span();
        let body_at = if self.out.is_empty() { after } else { at + HEADER_BYTES as u64 };
        self.out.resize((after - body_at) as usize, 0);
        self.out.extend_from_slice(&next.encode(self.file_id));
        let steps = || -> io::Result<()> {
            write_all_at(storage, &self.out, body_at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            write_all_at(storage, &header.encode(self.file_id), at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            if cuts {
                // If this fails, invalid bytes stay in the file, which readers ignore.
                let _ = storage.truncate(after + HEADER_BYTES as u64);
            }
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
