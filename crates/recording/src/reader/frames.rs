//! Reads a block of frames: the open one, which may grow or be closed meanwhile, and those that
//! were closed as frames.

use super::{Cursor, ReadOutcome, Reader, Tail};
use crate::format::{BODY_BYTES_MAX, BlockHeader, BlockKind, HEADER_BYTES};
use crate::frame::{self, FRAME_HEADER_BYTES, FocusedReplay, Replay, frame_header};
use crate::scan;
use crate::storage::read_full_at;

/// Bytes of frames read at once.
const WINDOW_BYTES: usize = 128 << 10;

impl Reader {
    /// Reads the next frame of a block; `None` to try again at the cursor's new position.
    pub(super) fn frame(
        &mut self,
        index: usize,
        header: BlockHeader,
        at: u64,
        ordinal: u32,
    ) -> std::io::Result<Option<ReadOutcome>> {
        let is_open = header.kind == BlockKind::Open;
        if !is_open && ordinal == header.samples {
            self.leave(index);
            return Ok(None);
        }
        if let Some(length) = self.find_frame(at, header.number, ordinal)? {
            let start = (at - self.window_at) as usize + FRAME_HEADER_BYTES;
            let payload = &self.window[start..start + length - FRAME_HEADER_BYTES];
            self.state.texts.all_mut().iter_mut().for_each(|text| text.fresh = false);
            let mut replay = FocusedReplay { replay: Replay(&mut self.state), focus: &self.focus };
            let walked = self.walker.walk(payload, &mut replay);
            if walked.is_ok() {
                let (at, ordinal) = (at + length as u64, ordinal + 1);
                self.cursor = Cursor::Frames { index, header, at, ordinal };
                return Ok(Some(ReadOutcome::Sample));
            }
        }
        if !is_open {
            // It may have been closed as columns since.
            let place = self.map.blocks[index];
            let now = scan::header_at(self.store.as_ref(), place.at, self.prelude.file_id)?;
            if now.is_some_and(|now| now != header && now.number == header.number) {
                self.again(index, index)?;
            } else {
                self.leave(index);
            }
            return Ok(None);
        }
        self.end_of_frames(index, header, at, ordinal)
    }

    /// Searches the blocks from `known` on again, enters `index` again and skips the samples that
    /// were already read.
    pub(super) fn again(&mut self, known: usize, index: usize) -> std::io::Result<()> {
        self.map.go_back(known);
        self.map.walk(self.store.as_ref(), self.prelude.file_id, false)?;
        self.wanted = self.wanted.max(self.sequence);
        self.cursor = Cursor::Before(index);
        Ok(())
    }

    /// Whether the open block `index` moved because the previous one was closed as columns.
    pub(super) fn has_moved(&self, index: usize) -> std::io::Result<bool> {
        let before = index.checked_sub(1).map(|before| self.map.blocks[before]);
        // If bytes were skipped, blocks are not adjacent.
        let Some(before) = before.filter(|_| self.map.bytes_skipped == 0) else {
            return Ok(false);
        };
        let header = scan::header_at(self.store.as_ref(), before.at, self.prelude.file_id)?;
        let end = header.map(|header| before.at + header.span());
        Ok(end.is_some_and(|end| end < self.map.blocks[index].at))
    }

    /// Length of the valid frame at `at`, which is then in the window.
    fn find_frame(&mut self, at: u64, number: u32, ordinal: u32) -> std::io::Result<Option<usize>> {
        let file_id = self.prelude.file_id;
        let length = |bytes: &[u8]| {
            let payload = frame::open(bytes, file_id, number, ordinal)?;
            Some(payload.len() + FRAME_HEADER_BYTES)
        };
        let start = (at - self.window_at) as usize;
        if let Some(length) = length(self.window.get(start..).unwrap_or_default()) {
            return Ok(Some(length));
        }
        // The window may be too short, or older than the file.
        self.read_window(at, WINDOW_BYTES)?;
        let wanted = frame_header(&self.window).map_or(0, |(length, _)| length);
        if wanted + FRAME_HEADER_BYTES > self.window.len() {
            self.read_window(at, wanted + FRAME_HEADER_BYTES)?;
        }
        Ok(length(&self.window))
    }

    /// Reads up to `bytes` from `at` on into the window.
    fn read_window(&mut self, at: u64, bytes: usize) -> std::io::Result<()> {
        let left = self.store.length()?.saturating_sub(at);
        self.window.resize(bytes.min(usize::try_from(left).unwrap_or(usize::MAX)), 0);
        self.window_at = at;
        let count = read_full_at(self.store.as_ref(), &mut self.window, at)?;
        self.window.truncate(count);
        Ok(())
    }

    /// No valid frame follows in the open block: it was closed meanwhile, or there is none yet.
    fn end_of_frames(
        &mut self,
        index: usize,
        header: BlockHeader,
        at: u64,
        ordinal: u32,
    ) -> std::io::Result<Option<ReadOutcome>> {
        let place = self.map.blocks[index];
        let now = scan::header_at(self.store.as_ref(), place.at, self.prelude.file_id)?;
        if index + 1 < self.map.blocks.len() {
            // Later blocks follow; their sequence numbers give the number of missing samples.
            self.cursor = Cursor::Before(index + 1);
            return Ok(None);
        }
        if self.has_moved(index)? {
            self.again(index - 1, index)?;
            return Ok(None);
        }
        if now == Some(header) || now.is_none() {
            self.account_tail(header, at, ordinal)?;
            return Ok(Some(ReadOutcome::NoMoreYet));
        }
        // Closed, or begun again with a larger hole: enter it again and skip what was read.
        self.map.walk(self.store.as_ref(), self.prelude.file_id, false)?;
        self.wanted = self.wanted.max(self.sequence);
        self.cursor = Cursor::Before(index.min(self.map.blocks.len()));
        Ok(None)
    }

    /// Classifies the bytes after the last valid frame: none, a partly written sample, or samples
    /// after a damaged one.
    fn account_tail(&mut self, header: BlockHeader, at: u64, ordinal: u32) -> std::io::Result<()> {
        if self.is_being_written() {
            return Ok(());
        }
        let length = self.store.length()?.saturating_sub(at).min(BODY_BYTES_MAX as u64);
        let mut tail = vec![0; length as usize];
        let count = read_full_at(self.store.as_ref(), &mut tail, at)?;
        tail.truncate(count);
        let lost = scan::later_frames(&tail, self.prelude.file_id, header.number, ordinal);
        // After an empty block there may be stale frames, if the file was not truncated yet.
        let begun = ordinal > 0
            || frame_header(&tail).map_or(tail.len() < HEADER_BYTES, |(_, said)| said == ordinal);
        let torn = lost == 0 && begun && tail.iter().any(|&byte| byte != 0);
        self.tail = Tail { lost: u64::from(lost), torn: u64::from(torn) };
        Ok(())
    }
}
