//! Closes a block of many rows in slices, one after each of the samples that follow.
//!
//! Thousands of processes fill a block with megabytes of frames; encoding them as columns at once
//! would take the time of many ticks.  Such a block is *set aside*: its header becomes *frames*,
//! and the next block begins after it, without a hole.  When the columns are encoded, some samples
//! later, they are written into the hole and the next block moves to the end of them.  A killed
//! writer leaves a block of frames and loses nothing.  The final file does not depend on the
//! slices.
//!
//! In the file, with *B* the block, *N* the next one, each step a valid recording:
//!
//! ```text
//! B frames | hole            | B's frames | N open | N's frames
//! B frames | columns | N open: N's frames are those over there …     (1)
//! B columns          | N open: …                                     (2)
//! B columns          | N open | hole | N's frames                    (3)
//! ```
//!
//! 1 and 2 are those of any closing.  3 copies N's frames to the end of its new hole, then
//! overwrites its header, then truncates the file.  If the copy would overlap the original, the
//! hole is made larger: it takes no space on the disk.

use super::Writer;
use crate::error::WriteError;
use crate::format::{BlockHeader, BlockKind, HEADER_BYTES, aligned, crc};
use crate::frame::BlockState;
use crate::index::IndexEntry;
use crate::storage::write_all_at;

/// A block that was set aside.
pub(super) struct Closing {
    /// Whether there is one; if not, the other members are only kept for their memory.
    is_begun: bool,
    /// The header of the block, of kind frames.
    header: BlockHeader,
    /// The offset of the block in the file.
    at: u64,
    frames: Vec<u8>,
    state: BlockState,
    /// The size of its hole.
    room: usize,
    /// Bytes of frames to encode after each sample.
    slice: usize,
}

impl Closing {
    /// No block is set aside.
    pub(super) fn new(header: BlockHeader, state: BlockState) -> Self {
        Closing { is_begun: false, header, at: 0, frames: Vec::new(), state, room: 0, slice: 0 }
    }

    /// Whether a block is being closed.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The offset of the block that is being closed.
    pub(super) fn at(&self) -> Option<u64> {
        self.is_begun.then_some(self.at)
    }
}

/// Passes over the frames to close a block.
const WALKS: usize = 2;

impl Writer {
    /// Whether the open block must be closed in slices.
    pub(super) fn is_large(&self) -> bool {
        self.frames.len() > self.options.slice_bytes
            && self.state.texts.is_empty()
            && self.open.body_at as usize > HEADER_BYTES
            && self.is_slow()
    }

    /// Changes the kind of the open block to frames and begins the next one after it.
    pub(super) fn set_aside(&mut self) -> Result<(), WriteError> {
        let header = BlockHeader {
            kind: BlockKind::Frames,
            body_bytes: self.frames.len() as u32,
            ..self.open_so_far()
        };
        let next = BlockHeader::new(BlockKind::Open, header.number + 1, self.sequence);
        self.out.clear();
        self.commit(&header, &next)?;
        let closing = &mut self.closing;
        closing.is_begun = true;
        (closing.header, closing.at) = (header, self.open_at);
        closing.room = self.open.body_at as usize;
        // Finish before the next block is full, if it grows as fast as this one.
        let each = self.frames.len() * WALKS * 5 / 4 / (self.samples as usize).max(1);
        closing.slice = each.max(self.options.slice_bytes / WALKS);
        std::mem::swap(&mut closing.frames, &mut self.frames);
        std::mem::swap(&mut closing.state, &mut self.state);
        self.columns.begin(&self.closing.state, true);
        self.begin_block(next, header.span());
        Ok(())
    }

    /// Encodes a slice of a block that was set aside, or all of it, and returns whether it is now
    /// closed.  After an error the block stays as frames, and nothing is lost.
    pub(super) fn continue_closing(&mut self, all: bool) -> bool {
        if !self.closing.is_begun {
            return false;
        }
        self.out.clear();
        loop {
            let Closing { frames, state, slice, .. } = &self.closing;
            let slice = if all { usize::MAX } else { *slice };
            let done = self.columns.step(frames, state, slice, &mut self.packer, &mut self.out);
            match done {
                Ok(false) if all => {}
                Ok(false) => return false,
                Ok(true) => break,
                // The frames are those that were written.
                Err(_) => {
                    self.out.clear();
                    break;
                }
            }
        }
        self.closing.is_begun = false;
        let fits = aligned(self.out.len() as u64) as usize + 2 * HEADER_BYTES <= self.closing.room;
        let is_columns = !self.out.is_empty() && fits && self.put_columns().is_ok();
        let header = self.closing.header;
        self.index.push(IndexEntry {
            at: self.closing.at,
            first_sequence: header.first_sequence,
            first_realtime_ns: header.first_realtime_ns,
            latest_realtime_ns: header.latest_realtime_ns,
            samples: header.samples,
            number: header.number,
        });
        // If this fails, the open block is still complete; without a hole it closes as frames.
        let _ = self.move_frames();
        self.closing.frames.clear();
        self.closing.state.clear();
        is_columns
    }

    /// Steps 1 and 2.
    fn put_columns(&mut self) -> Result<(), WriteError> {
        let mut header = BlockHeader {
            kind: BlockKind::Columns,
            body_at: HEADER_BYTES as u32,
            body_bytes: self.out.len() as u32,
            body_crc: crc(&[&self.out]),
            ..self.closing.header
        };
        std::mem::swap(&mut header, &mut self.closing.header);
        let frames_header = header;
        let header = self.closing.header;
        let at = self.closing.at;
        let next_at = at + header.span();
        let frames_at = self.open_at + u64::from(self.open.body_at);
        let moved = BlockHeader { body_at: (frames_at - next_at) as u32, ..self.open };
        let written = self.put_body(&header, at, &moved, false);
        if written.is_ok() {
            (self.open, self.open_at) = (moved, next_at);
        } else {
            self.closing.header = frames_header;
        }
        written
    }

    /// Whether the open block began after one that was set aside, and has not moved yet.
    pub(super) fn lacks_hole(&self) -> bool {
        let usual = self.new_open(self.open.number, self.open.first_sequence);
        self.open.body_at < usual.body_at
    }

    /// Step 3: moves the open block's frames to the end of a hole of the usual size.
    pub(super) fn move_frames(&mut self) -> Result<(), WriteError> {
        let old_at = self.open_at + u64::from(self.open.body_at);
        let old_end = old_at + self.frames.len() as u64;
        self.frames_limit = self.frames_limit.max(self.frames.len());
        let mut open = self.new_open(self.open.number, self.open.first_sequence);
        let new_at = self.open_at + u64::from(open.body_at);
        let meets = new_at < old_end && old_at < new_at + self.frames.len() as u64;
        if meets {
            open.body_at = (aligned(old_end) - self.open_at) as u32;
        }
        let new_at = self.open_at + u64::from(open.body_at);
        let storage = self.storage.as_mut();
        let mut steps = || {
            write_all_at(storage, &self.frames, new_at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            write_all_at(storage, &open.encode(self.file_id), self.open_at)?;
            if self.options.sync_blocks {
                storage.sync()?;
            }
            // If this fails, invalid bytes stay in the file, which readers ignore.
            let _ = storage.truncate(new_at + self.frames.len() as u64);
            std::io::Result::Ok(())
        };
        steps().map_err(|error| WriteError::io(&self.path, error))?;
        self.bytes += (self.frames.len() + HEADER_BYTES) as u64;
        self.open = open;
        Ok(())
    }
}
