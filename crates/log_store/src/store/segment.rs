//! Segments: the files of a store, and how their chunks are found, also behind damage.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::store::chunk::{
    BLOCK_OF_COLUMNS, BLOCK_OF_ROWS, BlockIndex, Chunk, HEAD_BYTES as CHUNK_HEAD_BYTES,
    MAGIC as CHUNK_MAGIC,
};
use crate::store::columns::{self, ColumnDecoder};
use segments::{HEAD_BYTES, HeadError, SegmentHead, SegmentNames};

/// A segment begins so.
pub(crate) const MAGIC: [u8; 8] = *b"whitlogS";
/// The version of the format that is written.
pub(crate) const VERSION: u32 = 2;
/// The version before, which is read: its blocks have rows alone, and do not say so.
const VERSION_OF_ROWS: u32 = 1;
/// How segments are named.
pub(crate) const NAMES: SegmentNames =
    SegmentNames { prefix: "", suffix: ".logs", is_hexadecimal: true };
/// Bytes that are searched at once for the next chunk.
const SEARCH_BYTES: usize = 1 << 20;
/// Bytes that are read at once where a chunk begins: heads and tables of nearly all, and many small ones.
const AHEAD_BYTES: usize = 16 << 10;
/// Buffers of blocks that were read, kept for the next; and the longest that is kept, which is more than
/// nearly all blocks have.
const SPARE_MAX: usize = 4;
const SPARE_BYTES_MAX: usize = 4 << 20;

/// A part of a segment.
#[derive(Debug)]
pub(crate) enum SegmentPart {
    /// A chunk whose head and tables are sound.
    Chunk(u64, Box<Chunk>),
    /// Bytes that are no chunk.
    Damage(u64, u64),
}

/// A segment that is read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: File,
    pub(crate) head: SegmentHead,
    /// The version of its format.
    version: u32,
    /// Where the next piece begins.
    pub(crate) at: u64,
    /// Bytes that the file has, when it was last looked at.
    length: u64,
    ahead: ReadAhead,
    buffers: RefCell<BlockBuffers>,
}

/// Bytes of a segment from a place on, so that small chunks do not take a system call each.
#[derive(Debug, Default)]
struct ReadAhead {
    at: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// Reads so many bytes from a place on, or fewer at the end of the file.
    fn read(&mut self, file: &File, at: u64, bytes: usize) -> io::Result<()> {
        self.bytes.resize(bytes, 0);
        let read = read_at_most(file, &mut self.bytes, at);
        self.at = at;
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        read.map(drop)
    }

    /// What is there from a place on.
    fn from(&self, at: u64) -> &[u8] {
        let skip = at.checked_sub(self.at).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.bytes.get(skip..)).unwrap_or_default()
    }

    /// The bytes of head and tables of the chunk that begins at a place, and of all of it.
    fn lengths(&self, at: u64) -> Option<(usize, u64)> {
        let head = self.from(at);
        Some((CHUNK_HEAD_BYTES + Chunk::table_bytes(head)?, Chunk::total_of(head)))
    }

    /// The chunk that begins at a place, if its head and tables are there and sound.
    fn chunk(&self, at: u64) -> Option<Chunk> {
        let (bytes, total) = self.lengths(at)?;
        let (head, table) = self.from(at).get(..bytes)?.split_at(CHUNK_HEAD_BYTES);
        if total < bytes as u64 { None } else { Chunk::decode(head, table) }
    }
}

/// What blocks are read with: what one has needed serves the next, so that a search does not get its
/// memory from the system again for each.
#[derive(Default)]
struct BlockBuffers {
    stored: Vec<u8>,
    columns: Vec<u8>,
    decoder: ColumnDecoder,
    unpacker: Option<zstd::bulk::Decompressor<'static>>,
    /// Buffers of raw bytes that nobody needs any more.
    spare: Vec<Vec<u8>>,
}

impl fmt::Debug for BlockBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockBuffers").field("spare", &self.spare.len()).finish_non_exhaustive()
    }
}

impl Segment {
    /// Opens a segment.  `None`: its head is not whole, so nothing was ever committed to it.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let mut head = [0; HEAD_BYTES];
        let length = read_at_most(&file, &mut head, 0)?;
        let (mut version, at) = (VERSION, HEAD_BYTES as u64);
        let mut decoded = SegmentHead::decode(&head[..length], MAGIC, version);
        if decoded == Err(HeadError::Version(VERSION_OF_ROWS)) {
            version = VERSION_OF_ROWS;
            decoded = SegmentHead::decode(&head[..length], MAGIC, version);
        }
        match decoded {
            Ok(head) => {
                let (length, ahead, buffers) = (0, ReadAhead::default(), RefCell::default());
                Ok(Some(Segment { file, head, version, at, length, ahead, buffers }))
            }
            Err(HeadError::Version(version)) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "version {version}, this program reads versions {VERSION_OF_ROWS} and {VERSION}"
                ),
            )),
            Err(HeadError::Unsound) => Ok(None),
        }
    }

    /// Whether chunks that are written now may be appended to it.
    pub(crate) fn is_of_this_version(&self) -> bool {
        self.version == VERSION
    }

    /// The next piece; `None` at the end of what is there.  At a piece that is not whole yet it
    /// gives `None` too, unless `is_closed`: then nothing more is written, and it is damage.
    pub(crate) fn next(&mut self, is_closed: bool) -> io::Result<Option<SegmentPart>> {
        let start = self.at;
        if !self.reaches(start, 1)? {
            return Ok(None);
        }
        if let Some(chunk) = self.chunk_from(start)? {
            self.at = start + chunk.total_bytes;
            return Ok(Some(SegmentPart::Chunk(start, Box::new(chunk))));
        }
        let length = self.look_at_length()?;
        if start >= length {
            return Ok(None);
        }
        // What is behind decides whether this is damage or the end that is being written.
        let found = self.search(start + 1, length)?;
        if found.is_none() && !is_closed {
            return Ok(None);
        }
        self.at = found.unwrap_or(length);
        Ok(Some(SegmentPart::Damage(start, self.at)))
    }

    fn look_at_length(&mut self) -> io::Result<u64> {
        self.length = self.file.metadata()?.len();
        Ok(self.length)
    }

    /// Whether the file has so many bytes from a place on; it is looked at only if it had fewer before.
    fn reaches(&mut self, at: u64, bytes: u64) -> io::Result<bool> {
        let Some(end) = at.checked_add(bytes) else { return Ok(false) };
        Ok(end <= self.length || end <= self.look_at_length()?)
    }

    /// The chunk that begins at a place, if it is sound.
    pub(crate) fn chunk_from(&mut self, at: u64) -> io::Result<Option<Chunk>> {
        let mut chunk = self.ahead.chunk(at);
        if chunk.is_none() {
            // What is there may have been written since it was read ahead.
            self.ahead.read(&self.file, at, AHEAD_BYTES)?;
            let Some((bytes, total)) = self.ahead.lengths(at) else { return Ok(None) };
            if total < bytes as u64 || !self.reaches(at, total)? {
                return Ok(None);
            }
            if bytes > AHEAD_BYTES {
                self.ahead.read(&self.file, at, bytes)?;
            }
            chunk = self.ahead.chunk(at);
        }
        match chunk {
            Some(chunk) if self.reaches(at, chunk.total_bytes)? => Ok(Some(chunk)),
            _ => Ok(None),
        }
    }

    /// The next place at or after `from` where a sound chunk begins.
    fn search(&mut self, mut from: u64, length: u64) -> io::Result<Option<u64>> {
        let mut buffer = vec![0; SEARCH_BYTES + CHUNK_MAGIC.len()];
        while from + (CHUNK_HEAD_BYTES as u64) <= length {
            let read = read_at_most(&self.file, &mut buffer, from)?;
            let starts = buffer[..read].windows(4).enumerate();
            let places: Vec<u64> = starts
                .filter(|(_, four)| *four == CHUNK_MAGIC)
                .map(|(at, _)| from + at as u64)
                .collect();
            for place in places {
                if self.chunk_from(place)?.is_some() {
                    return Ok(Some(place));
                }
            }
            from += SEARCH_BYTES as u64;
        }
        Ok(None)
    }

    /// Whether dictionaries and blocks of a chunk have their checksums.
    pub(crate) fn is_body_sound(&self, at: u64, chunk: &Chunk) -> io::Result<bool> {
        let mut buffer = Vec::new();
        let mut place = at + chunk.dictionaries_at;
        for part in &chunk.processes {
            buffer.resize(part.dictionary_bytes as usize, 0);
            self.file.read_exact_at(&mut buffer, place)?;
            place += u64::from(part.dictionary_bytes);
            if crc32c::crc32c(&buffer) != part.dictionary_crc {
                return Ok(false);
            }
        }
        for block in &chunk.blocks {
            buffer.resize(block.bytes as usize, 0);
            self.file.read_exact_at(&mut buffer, at + block.offset)?;
            if crc32c::crc32c(&buffer) != block.crc {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The dictionaries of a chunk: for each of its processes its bytes; `None` where they are
    /// damaged.
    pub(crate) fn dictionaries(&self, at: u64, chunk: &Chunk) -> io::Result<Vec<Option<Vec<u8>>>> {
        let mut place = at + chunk.dictionaries_at;
        let mut all = Vec::with_capacity(chunk.processes.len());
        for part in &chunk.processes {
            let mut bytes = vec![0; part.dictionary_bytes as usize];
            self.file.read_exact_at(&mut bytes, place)?;
            place += bytes.len() as u64;
            all.push((crc32c::crc32c(&bytes) == part.dictionary_crc).then_some(bytes));
        }
        Ok(all)
    }

    /// The raw bytes of a block; `None` if it is damaged.
    pub(crate) fn block(
        &self,
        at: u64,
        chunk: &Chunk,
        number: usize,
    ) -> io::Result<Option<Vec<u8>>> {
        let Some(block) = chunk.blocks.get(number) else { return Ok(None) };
        let buffers = &mut *self.buffers.borrow_mut();
        buffers.stored.resize(block.bytes as usize, 0);
        self.file.read_exact_at(&mut buffers.stored, at + block.offset)?;
        if crc32c::crc32c(&buffers.stored) != block.crc {
            return Ok(None);
        }
        let has_form = self.version != VERSION_OF_ROWS;
        let mut raw = buffers.spare.pop().unwrap_or_default();
        let unpacked = buffers.unpack(has_form, block, &mut raw)?;
        Ok(unpacked.map(|()| raw))
    }

    /// Takes the raw bytes of a block back, for the next.
    pub(crate) fn give_back(&self, raw: Vec<u8>) {
        let spare = &mut self.buffers.borrow_mut().spare;
        if spare.len() < SPARE_MAX && raw.capacity() <= SPARE_BYTES_MAX {
            spare.push(raw);
        }
    }
}

impl BlockBuffers {
    /// Puts the raw bytes of the block that was read in place of what is in `raw`; `None` if it is damaged.
    fn unpack(
        &mut self,
        has_form: bool,
        block: &BlockIndex,
        raw: &mut Vec<u8>,
    ) -> io::Result<Option<()>> {
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        let raw_bytes = block.raw_bytes as usize;
        let (form, packed) = match (has_form, self.stored.split_first()) {
            (false, _) => (BLOCK_OF_ROWS, &self.stored[..]),
            (true, Some((form, rest))) => (*form, rest),
            (true, None) => return Ok(None),
        };
        let mut into = |out: &mut Vec<u8>, bytes_max: usize| {
            out.clear();
            out.reserve(bytes_max);
            unpacker.decompress_to_buffer(packed, out).ok()
        };
        Ok(match form {
            BLOCK_OF_ROWS => into(raw, raw_bytes).filter(|bytes| *bytes == raw_bytes).map(drop),
            BLOCK_OF_COLUMNS => into(&mut self.columns, columns::bytes_max(block))
                .and_then(|_| self.decoder.decode(&self.columns, block, raw)),
            _ => None,
        })
    }
}

fn read_at_most(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
