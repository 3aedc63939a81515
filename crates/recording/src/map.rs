//! The blocks of a file and their offsets.
//!
//! The index of a closed recording has them; it takes three reads.  In other recordings the map
//! follows the block headers, 64 bytes each; after a damaged header it searches the next valid one.

use std::io;

use crate::format::{BlockHeader, BlockKind, HEADER_BYTES, Prelude, SEQUENCE_MAX};
use crate::index::{INDEX_ENTRY_BYTES, index_entry, u64_of};
use crate::scan::{end_body, has_frame, header_at, search, search_frames};
use crate::storage::Bytestore;

/// A block and its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLocation {
    pub(crate) at: u64,
    pub(crate) first_sequence: u64,
    /// The first sample's `realtime_ns`; 0 while it is open.
    pub(crate) first_realtime_ns: i64,
    /// Latest `realtime_ns` in this and all earlier blocks; `i64::MAX` while it is open.
    pub(crate) latest_realtime_ns: i64,
    pub(crate) samples: u32,
    pub(crate) number: u32,
    /// The offset of its frames, if they were found although the header is lost.
    pub(crate) frames_at: Option<u64>,
}

/// The blocks found so far.
#[derive(Debug, Default)]
pub(crate) struct BlockMap {
    /// All blocks found, in the order of the file.
    pub(crate) blocks: Vec<BlockLocation>,
    /// The offset of the next header, which may not exist yet.
    pub(crate) next_at: u64,
    /// Whether the recording was closed.
    pub(crate) is_closed: bool,
    /// Samples that could not be written after the last one.
    pub(crate) unwritten: u64,
    /// Bytes skipped because there was no header where one must be.
    pub(crate) bytes_skipped: u64,
    /// The last block was open when its header was read; it may have been closed since.
    pub(crate) last_is_open: bool,
}

impl BlockMap {
    /// Finds the blocks of a file.
    pub(crate) fn read(store: &dyn Bytestore, prelude: &Prelude) -> io::Result<BlockMap> {
        let mut map = BlockMap { next_at: u64::from(prelude.first_block), ..BlockMap::default() };
        if !map.read_index(store, prelude.file_id)? {
            map.walk(store, prelude.file_id, true)?;
        }
        Ok(map)
    }

    fn add(&mut self, at: u64, header: &BlockHeader) {
        let before = self.blocks.last().map_or(i64::MIN, |block| block.latest_realtime_ns);
        let open = header.kind == BlockKind::Open;
        let latest = if open { i64::MAX } else { header.latest_realtime_ns.max(before) };
        self.blocks.push(BlockLocation {
            at,
            first_sequence: header.first_sequence,
            first_realtime_ns: header.first_realtime_ns,
            latest_realtime_ns: latest,
            samples: header.samples,
            number: header.number,
            frames_at: None,
        });
    }

    /// Looks for more blocks at the end.  With `searches` also beyond a missing header; a reader
    /// that follows a file does not, since the header may still be written.
    pub(crate) fn walk(
        &mut self,
        store: &dyn Bytestore,
        file_id: u64,
        searches: bool,
    ) -> io::Result<()> {
        if self.last_is_open {
            // Read it again: it may be closed by now.
            let last = self.blocks.pop();
            self.next_at = last.map_or(self.next_at, |block| block.at);
            self.last_is_open = false;
        }
        while !self.is_closed {
            let header = header_at(store, self.next_at, file_id)?;
            let last = self.blocks.last().map_or(0, |block| block.number);
            let Some(header) = header.filter(|header| header.number > last) else {
                if self.leave_moved(store, file_id)? {
                    continue;
                }
                if searches {
                    if self.search(store, file_id, self.next_at)? {
                        continue;
                    }
                    self.salvage(store, file_id)?;
                }
                return Ok(());
            };
            match header.kind {
                BlockKind::End => {
                    self.read_end(store, &header)?;
                    self.skip_foreign(store, self.next_at + header.span())?;
                }
                BlockKind::Footer => self.is_closed = true,
                BlockKind::Columns | BlockKind::Frames => {
                    self.add(self.next_at, &header);
                    self.next_at += header.span();
                }
                BlockKind::Open => {
                    let at = self.next_at;
                    self.add(at, &header);
                    // An open block without frames, followed by other blocks: the header that
                    // closed it was lost in a power cut.
                    let lost = searches
                        && !has_frame(store, file_id, at, &header)?
                        && self.search(store, file_id, at + HEADER_BYTES as u64)?;
                    if !lost {
                        self.last_is_open = true;
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the bytes after the footer at `footer_at`, if there are any.
    fn skip_foreign(&mut self, store: &dyn Bytestore, footer_at: u64) -> io::Result<()> {
        let end = footer_at.saturating_add(HEADER_BYTES as u64);
        self.bytes_skipped += store.length()?.saturating_sub(end);
        Ok(())
    }

    /// If the last block was closed meanwhile, so that the next one has moved, goes back to it.
    fn leave_moved(&mut self, store: &dyn Bytestore, file_id: u64) -> io::Result<bool> {
        let Some(&last) = self.blocks.last() else { return Ok(false) };
        let header = header_at(store, last.at, file_id)?;
        let moved = header.is_some_and(|header| {
            header.number == last.number
                && header.kind == BlockKind::Columns
                && last.at + header.span() < self.next_at
                && self.bytes_skipped == 0
        });
        if moved {
            self.go_back(self.blocks.len() - 1);
        }
        Ok(moved)
    }

    /// Removes the block `index` and all later ones, so that a walk finds them again.
    pub(crate) fn go_back(&mut self, index: usize) {
        if let Some(block) = self.blocks.get(index) {
            self.next_at = block.at;
            self.blocks.truncate(index);
            self.last_is_open = false;
        }
    }

    /// Searches the header of a later block from `from` on, and continues there.
    fn search(&mut self, store: &dyn Bytestore, file_id: u64, from: u64) -> io::Result<bool> {
        let last = self.blocks.last().map_or(0, |block| block.number);
        let found = search(store, from, |bytes, _| {
            BlockHeader::decode(bytes, file_id)
                .filter(|header| header.number > last && header.kind != BlockKind::Footer)
        })?;
        if let Some((at, _)) = found {
            self.bytes_skipped += at - from;
            self.next_at = at;
        }
        Ok(found.is_some())
    }

    /// If no header follows, searches the frames of an open block that lost its header, and counts
    /// the skipped bytes.
    fn salvage(&mut self, store: &dyn Bytestore, file_id: u64) -> io::Result<()> {
        let left = store.length()?.saturating_sub(self.next_at);
        let last = self.blocks.last();
        let number = last.map_or(0, |block| block.number).saturating_add(1);
        let sequence =
            last.map_or(0, |block| block.first_sequence.saturating_add(u64::from(block.samples)));
        let found = search_frames(store, self.next_at, file_id, number)?;
        self.bytes_skipped += found.map_or(left, |at| at - self.next_at);
        if found.is_some() {
            self.add(self.next_at, &BlockHeader::new(BlockKind::Open, number, sequence));
            if let Some(block) = self.blocks.last_mut() {
                block.frames_at = found;
            }
        }
        Ok(())
    }

    /// Reads the index that the footer points to; false if there is none or it is damaged.
    fn read_index(&mut self, store: &dyn Bytestore, file_id: u64) -> io::Result<bool> {
        let Some(footer_at) = store.length()?.checked_sub(HEADER_BYTES as u64) else {
            return Ok(false);
        };
        let footer = header_at(store, footer_at, file_id)?;
        let Some(footer) = footer.filter(|footer| footer.kind == BlockKind::Footer) else {
            return Ok(false);
        };
        let end = header_at(store, footer.end_at, file_id)?;
        let Some(end) = end.filter(|end| end.kind == BlockKind::End) else {
            return Ok(false);
        };
        if footer.end_at.saturating_add(end.span()) != footer_at {
            return Ok(false);
        }
        let Some(body) = end_body(store, footer.end_at, &end)? else { return Ok(false) };
        let (entries, unwritten) = body.split_at(body.len() - 8);
        let mut sound = true;
        for entry in entries.chunks_exact(INDEX_ENTRY_BYTES).map(index_entry) {
            let last = self.blocks.last();
            sound &= last.is_none_or(|last| last.at < entry.at && last.number < entry.number)
                && entry.at < footer.end_at
                && entry.first_sequence <= SEQUENCE_MAX
                && entry.at.is_multiple_of(HEADER_BYTES as u64);
            let mut header =
                BlockHeader::new(BlockKind::Columns, entry.number, entry.first_sequence);
            header.first_realtime_ns = entry.first_realtime_ns;
            header.latest_realtime_ns = entry.latest_realtime_ns;
            header.samples = entry.samples;
            self.add(entry.at, &header);
        }
        if !sound {
            *self = BlockMap { next_at: self.next_at, ..BlockMap::default() };
            return Ok(false);
        }
        self.next_at = footer.end_at;
        self.unwritten = u64_of(unwritten);
        self.is_closed = true;
        Ok(true)
    }

    fn read_end(&mut self, store: &dyn Bytestore, end: &BlockHeader) -> io::Result<()> {
        if let Some(body) = end_body(store, self.next_at, end)? {
            self.unwritten = u64_of(&body[body.len() - 8..]);
        }
        self.is_closed = true;
        Ok(())
    }
}
