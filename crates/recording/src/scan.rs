//! What a file holds before any sample is read: its head, and where its blocks are.
//!
//! A closed recording tells by its index, at the price of three reads.  Any other is walked from
//! block header to block header, 64 bytes each; where a header is damaged, the next valid one is
//! looked for.

use std::io;
use std::path::Path;

use sample::Meta;
use zstd::bulk::Decompressor;

use crate::compression;
use crate::error::Error;
use crate::format::{
    BlockHeader, BlockKind, HEAD_BYTES_MAX, HEADER_BYTES, Prelude, SEQUENCE_MAX, VERSION, aligned,
    crc,
};
use crate::frame;
use crate::schema::{Schema, decode_head};
use crate::storage::{Bytestore, read_full_at};
use crate::writer::{INDEX_ENTRY_BYTES, IndexEntry};

/// Bytes read at once when looking for a valid header.
const SEARCH_BYTES: usize = 64 << 10;

/// Offsets beyond this are no file's.
const OFFSET_MAX: u64 = 1 << 60;

/// Bytes of frames whose CRC is tried when looking for frames, so that no made-up file can keep a
/// reader busy for long.
pub(crate) const SEARCH_CRC_BYTES: usize = 256 << 20;

/// The head of a file.
pub(crate) struct Head {
    pub(crate) prelude: Prelude,
    pub(crate) meta: Meta,
    pub(crate) schemas: Vec<Schema>,
}

/// Reads the head.
pub(crate) fn read_head(store: &dyn Bytestore, path: &Path) -> Result<Head, Error> {
    let io = |error| Error::io(path, "read", error);
    let damaged = |what| Error::HeadDamaged { path: path.to_owned(), what };
    let mut bytes = [0; HEADER_BYTES];
    let count = read_full_at(store, &mut bytes, 0).map_err(io)?;
    let version = Prelude::version_of(&bytes).filter(|_| count >= 12);
    let version = version.ok_or_else(|| Error::NotARecording { path: path.to_owned() })?;
    if version > VERSION {
        return Err(Error::FutureVersion { path: path.to_owned(), version });
    }
    if count < HEADER_BYTES {
        return Err(damaged("the file ends in it"));
    }
    let prelude = Prelude::decode(&bytes).map_err(|corrupt| damaged(corrupt.0))?;
    let (stored, plain) = (prelude.head_stored_bytes as usize, prelude.head_plain_bytes as usize);
    if stored > HEAD_BYTES_MAX || plain > HEAD_BYTES_MAX {
        return Err(damaged("it is too large"));
    }
    let mut head = vec![0; stored];
    if read_full_at(store, &mut head, HEADER_BYTES as u64).map_err(io)? < stored {
        return Err(damaged("the file ends in it"));
    }
    if crc(&[&head]) != prelude.head_crc {
        return Err(damaged("its checksum is wrong"));
    }
    let mut decompressor = Decompressor::new().map_err(io)?;
    let mut out = Vec::new();
    compression::unpack(prelude.head_compression, &head, plain, &mut decompressor, &mut out)
        .map_err(|corrupt| damaged(corrupt.0))?;
    let (meta, schemas) = decode_head(&out).map_err(|corrupt| damaged(corrupt.0))?;
    Ok(Head { prelude, meta, schemas })
}

/// Reads the block header at `at`; `None` if there is no valid one.
pub(crate) fn header_at(
    store: &dyn Bytestore,
    at: u64,
    file_id: u64,
) -> io::Result<Option<BlockHeader>> {
    let mut bytes = [0; HEADER_BYTES];
    if at > OFFSET_MAX {
        return Ok(None);
    }
    let count = read_full_at(store, &mut bytes, at)?;
    Ok(BlockHeader::decode(&bytes, file_id).filter(|_| count == HEADER_BYTES))
}

/// A block and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) at: u64,
    pub(crate) first_sequence: u64,
    /// Latest `realtime_ns` in this block and all before; the largest of all while it is open.
    pub(crate) latest_realtime_ns: i64,
    pub(crate) samples: u32,
    pub(crate) number: u32,
    /// Where its frames were found although its header is lost.
    pub(crate) frames_at: Option<u64>,
}

/// What is known of a file's blocks so far.
#[derive(Debug, Default)]
pub(crate) struct BlockMap {
    /// All blocks found, in the order of the file.
    pub(crate) blocks: Vec<BlockPlace>,
    /// Where the header after the last of them is or will be.
    pub(crate) next_at: u64,
    /// Whether the recording was closed.
    pub(crate) is_closed: bool,
    /// Samples that could not be written after the last one that was.
    pub(crate) unwritten: u64,
    /// Bytes stepped over because no header was where one must be.
    pub(crate) bytes_skipped: u64,
    /// The last block is open; it may have been closed since.
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
        self.blocks.push(BlockPlace {
            at,
            first_sequence: header.first_sequence,
            latest_realtime_ns: latest,
            samples: header.samples,
            number: header.number,
            frames_at: None,
        });
    }

    /// Looks for more blocks at the end.  `searches` says whether to look beyond a header that is
    /// not there: a reader that follows a file does not, since it may come yet.
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
                if searches {
                    if self.search(store, file_id, self.next_at)? {
                        continue;
                    }
                    self.salvage(store, file_id)?;
                }
                return Ok(());
            };
            match header.kind {
                BlockKind::End => self.read_end(store, &header)?,
                BlockKind::Footer => self.is_closed = true,
                BlockKind::Columns | BlockKind::Frames => {
                    self.add(self.next_at, &header);
                    self.next_at += header.span();
                }
                BlockKind::Open => {
                    let at = self.next_at;
                    self.add(at, &header);
                    // An open block without frames that has blocks behind it: a power cut took
                    // the header that closed it.
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

    /// Looks for a later block's header from `from` on, and moves there.
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

    /// No header follows at all: looks for the frames of an open block that lost its header, and
    /// counts what is stepped over.
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

    /// The index by way of the footer; false if there is none or it is damaged.
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

/// The body of the end block, if it is sound; then it has at least eight bytes.
fn end_body(store: &dyn Bytestore, at: u64, end: &BlockHeader) -> io::Result<Option<Vec<u8>>> {
    let body = read_body(store, at, end)?;
    let sound = |body: &Vec<u8>| body.len() % INDEX_ENTRY_BYTES == 8;
    Ok(body.filter(sound).filter(|body| crc(&[body]) == end.body_crc))
}

/// Reads a block's body; `None` if the file ends in it.
pub(crate) fn read_body(
    store: &dyn Bytestore,
    at: u64,
    header: &BlockHeader,
) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    Ok(read_body_into(store, at, header, &mut body)?.then_some(body))
}

/// Reads a block's body into `body`; false if the file ends in it.
pub(crate) fn read_body_into(
    store: &dyn Bytestore,
    at: u64,
    header: &BlockHeader,
    body: &mut Vec<u8>,
) -> io::Result<bool> {
    let start = at.saturating_add(u64::from(header.body_at));
    let length = u64::from(header.body_bytes);
    // Memory is taken only for what the file really has.
    if start.checked_add(length).is_none_or(|end| end > store.length().unwrap_or(0)) {
        return Ok(false);
    }
    body.resize(length as usize, 0);
    Ok(read_full_at(store, body, start)? == body.len())
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn index_entry(bytes: &[u8]) -> IndexEntry {
    IndexEntry {
        at: u64_of(&bytes[..8]),
        first_sequence: u64_of(&bytes[8..16]),
        first_realtime_ns: u64_of(&bytes[16..24]).cast_signed(),
        latest_realtime_ns: u64_of(&bytes[24..32]).cast_signed(),
        samples: u64_of(&bytes[32..36]) as u32,
        number: u64_of(&bytes[36..40]) as u32,
    }
}

/// Looks at every multiple of 64 from `from` on for what `is_it` takes.  It gets 64 bytes and
/// their offset.
fn search<T>(
    store: &dyn Bytestore,
    from: u64,
    mut is_it: impl FnMut(&[u8; HEADER_BYTES], u64) -> Option<T>,
) -> io::Result<Option<(u64, T)>> {
    let mut chunk = vec![0; SEARCH_BYTES];
    let mut at = aligned(from);
    loop {
        let count = read_full_at(store, &mut chunk, at)?;
        for (index, bytes) in chunk[..count].as_chunks::<HEADER_BYTES>().0.iter().enumerate() {
            let offset = at + (index * HEADER_BYTES) as u64;
            if let Some(found) = is_it(bytes, offset) {
                return Ok(Some((offset, found)));
            }
        }
        if count < chunk.len() {
            return Ok(None);
        }
        at += count as u64;
    }
}

/// Whether an open block has its first frame.
fn has_frame(store: &dyn Bytestore, file_id: u64, at: u64, open: &BlockHeader) -> io::Result<bool> {
    let at = at.saturating_add(u64::from(open.body_at));
    let mut bytes = vec![0; frame::FRAME_HEADER_BYTES];
    read_full_at(store, &mut bytes, at)?;
    let length = frame::frame_header(&bytes).map_or(0, |(length, _)| length);
    if length as u64 > store.length()? {
        return Ok(false);
    }
    bytes.resize(frame::FRAME_HEADER_BYTES + length, 0);
    read_full_at(store, &mut bytes, at)?;
    Ok(frame::open(&bytes, file_id, open.number, 0).is_some())
}

/// Looks for the first frame of a block whose header is lost, from `from` on: frames begin at a
/// multiple of 64, and their CRC knows the block's number.
pub(crate) fn search_frames(
    store: &dyn Bytestore,
    from: u64,
    file_id: u64,
    number: u32,
) -> io::Result<Option<u64>> {
    let mut whole = Vec::new();
    let (file_bytes, mut budget) = (store.length()?, SEARCH_CRC_BYTES);
    let found = search(store, from, |bytes, at| {
        let (length, ordinal) = frame::frame_header(bytes)?;
        if ordinal != 0 || at + length as u64 > file_bytes {
            return None;
        }
        budget = budget.checked_sub(length)?;
        whole.resize(frame::FRAME_HEADER_BYTES + length, 0);
        read_full_at(store, &mut whole, at).ok()?;
        frame::open(&whole, file_id, number, 0).map(drop)
    })?;
    Ok(found.map(|(at, ())| at))
}

/// How many samples of an open block are lost if `bytes`, where the frame `ordinal` must be, do
/// not begin with it: those up to the last valid frame among them.
pub(crate) fn later_frames(bytes: &[u8], file_id: u64, number: u32, ordinal: u32) -> u32 {
    let (mut lost, mut budget) = (0, SEARCH_CRC_BYTES);
    for start in 1..bytes.len().saturating_sub(frame::FRAME_HEADER_BYTES) {
        let Some((length, later)) = frame::frame_header(&bytes[start..]) else { continue };
        let plausible = later > ordinal && (later - ordinal) as usize <= bytes.len();
        if !plausible || length > bytes.len() - start {
            continue;
        }
        let Some(left) = budget.checked_sub(length) else { break };
        budget = left;
        if frame::open(&bytes[start..], file_id, number, later).is_some() {
            lost = later + 1 - ordinal;
        }
    }
    lost
}
