//! A block of many rows is closed in slices, one after each of the samples that follow.
//!
//! Thousands of processes fill a block with megabytes of frames, and to make columns of them at
//! once would take the time of many ticks.  Such a block is *set aside*: its header becomes
//! *frames*, and the next block begins behind it, without a hole.  When the columns are done, after
//! some more samples, they go into the hole and the next block takes its place behind them.  A
//! killed writer leaves a block of frames and loses nothing; how the file looks in the end does
//! not go by how it was sliced.
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
//! 1 and 2 are those of any closing.  3 copies N's frames to where its own hole ends, then
//! overwrites its header, then cuts the file.  If the copy would meet what it copies, the hole is
//! made larger instead: it costs no disk.

use super::Writer;
use crate::error::WriteError;
use crate::format::{BlockHeader, BlockKind, HEADER_BYTES, aligned, crc};
use crate::frame::BlockState;
use crate::index::IndexEntry;
use crate::storage::write_all_at;

/// A block that was set aside.
pub(super) struct Closing {
    /// Whether there is one; if not, this is but memory for the next.
    is_begun: bool,
    /// Its header, of frames, and where it stands.
    header: BlockHeader,
    at: u64,
    frames: Vec<u8>,
    state: BlockState,
    /// How large its hole is.
    room: usize,
    /// Bytes of frames to be walked after each sample.
    slice: usize,
}

impl Closing {
    /// Nothing is set aside.
    pub(super) fn new(header: BlockHeader, state: BlockState) -> Self {
        Closing { is_begun: false, header, at: 0, frames: Vec::new(), state, room: 0, slice: 0 }
    }

    /// Whether a block is being closed.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Where the block that is being closed stands.
    pub(super) fn at(&self) -> Option<u64> {
        self.is_begun.then_some(self.at)
    }
}

/// Walks over the frames that closing a block takes.
const WALKS: usize = 2;

impl Writer {
    /// Whether the block is one to be closed in slices.
    pub(super) fn is_large(&self) -> bool {
        self.frames.len() > self.options.slice_bytes
            && self.state.texts.is_empty()
            && self.open.body_at as usize > HEADER_BYTES
            && self.is_slow()
    }

    /// Makes the open block one of frames and begins the next one behind it.
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
        // Done before the next block is full, if that one grows as this one did.
        let each = self.frames.len() * WALKS * 5 / 4 / (self.samples as usize).max(1);
        closing.slice = each.max(self.options.slice_bytes / WALKS);
        std::mem::swap(&mut closing.frames, &mut self.frames);
        std::mem::swap(&mut closing.state, &mut self.state);
        self.columns.begin(&self.closing.state, true);
        self.begin_block(next, header.span());
        Ok(())
    }

    /// Goes on with a block that was set aside, all of it if that is wanted.  Says whether it is
    /// closed now.  What fails leaves the block as frames, which is no loss.
    pub(super) fn go_on_closing(&mut self, all: bool) -> bool {
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
        // The open block is whole wherever its frames are; without a hole it closes as frames.
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

    /// Whether the open block began behind one that was set aside, and is there yet.
    pub(super) fn lacks_hole(&self) -> bool {
        let usual = self.new_open(self.open.number, self.open.first_sequence);
        self.open.body_at < usual.body_at
    }

    /// Step 3: brings the open block's frames to where a hole of the usual size ends.
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
            // Failing to cut leaves bytes that nobody reads.
            let _ = storage.truncate(new_at + self.frames.len() as u64);
            std::io::Result::Ok(())
        };
        steps().map_err(|error| WriteError::io(&self.path, error))?;
        self.bytes += (self.frames.len() + HEADER_BYTES) as u64;
        self.open = open;
        Ok(())
    }
}
