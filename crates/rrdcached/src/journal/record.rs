//! The bytes of a segment: a head, then blocks of records, each block with its length and checksum.
//!
//! Numbers are LEB128.  Damage costs the block that it is in: reading goes on at the next mark that
//! a block with the right checksum follows.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use rrd::header::Time;
use varint::Bytes;

/// A segment begins so.
const HEAD: &[u8; 8] = b"whitrrdj";
/// The version of the format.
const VERSION: u32 = 1;
/// Head, version, number of the segment, checksum.
pub(crate) const HEAD_BYTES: usize = 24;
/// A block begins so.
const MARK: [u8; 4] = *b"\xb1rrd";
/// Mark, length and checksum.
pub(super) const BLOCK_HEAD_BYTES: usize = 12;
/// Longest segment that is read: segments are rotated far below.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Name = 1,
    Update = 2,
    Forget = 3,
    Wrote = 4,
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A file gets a number, for this segment.
    Name { id: u64, path: &'a [u8] },
    /// A reading: time and values.
    Update { id: u64, reading: &'a [u8] },
    /// Readings that are not written are dropped.
    Forget { id: u64 },
    /// The file has all readings until a time.
    Wrote { id: u64, until: Time },
}

/// The head of a segment.
pub(super) fn head(number: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(HEAD);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..20].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32c::crc32c(&head[..20]);
    head[20..].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// Fills in the head of a block.
pub(super) fn seal(block: &mut [u8]) {
    let (head, payload) = block.split_at_mut(BLOCK_HEAD_BYTES);
    head[..4].copy_from_slice(&MARK);
    head[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[8..].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
}

/// Records of a block, one after the other.
#[derive(Debug, Clone)]
struct RecordReader<'a> {
    bytes: Bytes<'a>,
}

impl<'a> RecordReader<'a> {
    fn number(&mut self) -> Option<u64> {
        self.bytes.varint().ok()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        self.bytes.prefixed().ok()
    }

    fn time(&mut self) -> Option<Time> {
        let seconds = i64::try_from(self.number()?).ok()?;
        Some(Time { seconds, microseconds: i64::try_from(self.number()?).ok()? })
    }
}

impl<'a> Iterator for RecordReader<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let kind = self.bytes.byte().ok()?;
        let id = self.number()?;
        match kind {
            kind if kind == Kind::Name as u8 => Some(Record::Name { id, path: self.text()? }),
            kind if kind == Kind::Update as u8 => {
                Some(Record::Update { id, reading: self.text()? })
            }
            kind if kind == Kind::Forget as u8 => Some(Record::Forget { id }),
            kind if kind == Kind::Wrote as u8 => Some(Record::Wrote { id, until: self.time()? }),
            _ => None,
        }
    }
}

/// The bytes of a segment, and where its sound blocks lie.
#[derive(Debug)]
pub(crate) struct SegmentBytes {
    bytes: Vec<u8>,
    /// The records of each block.
    blocks: Vec<Range<usize>>,
    /// Bytes that are no sound block.
    pub(crate) damaged: u64,
}

impl SegmentBytes {
    /// Reads a segment.
    ///
    /// # Errors
    /// If the file cannot be read, or is no segment.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.take(SEGMENT_BYTES_MAX).read_to_end(&mut bytes)?;
        Self::of(bytes)
    }

    fn of(bytes: Vec<u8>) -> io::Result<Self> {
        let mut own = Self { bytes, blocks: Vec::new(), damaged: 0 };
        let bytes = &own.bytes[..];
        if bytes.len() < HEAD_BYTES {
            // The process ended before it had written the head.
            return Ok(own);
        }
        let version = bytes.get(8..12).unwrap_or_default();
        if !bytes.starts_with(HEAD) || version != VERSION.to_le_bytes() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no journal that is known here",
            ));
        }
        let mut position = HEAD_BYTES;
        while position < bytes.len() {
            let rest = &bytes[position..];
            if let Some(length) = block(rest) {
                let start = position + BLOCK_HEAD_BYTES;
                position = start + length;
                own.blocks.push(start..position);
                continue;
            }
            let Some(length) = gap(rest) else { break };
            own.damaged += length as u64;
            position += length;
        }
        Ok(own)
    }

    /// All records, in their order.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let blocks = self.blocks.iter().map(|block| &self.bytes[block.clone()]);
        blocks.flat_map(|bytes| RecordReader { bytes: Bytes::new(bytes) })
    }
}

/// The number of records in the bytes of a segment.
///
/// # Errors
/// If it is no segment.
pub fn count_records(bytes: &[u8]) -> io::Result<u64> {
    Ok(SegmentBytes::of(bytes.to_vec())?.records().count() as u64)
}

/// The length of what lies before the next mark; `None` if nothing but zeros follows: room that was
/// made and not used.
fn gap(bytes: &[u8]) -> Option<usize> {
    match memchr::memmem::find(&bytes[1..], &MARK) {
        Some(next) => Some(next + 1),
        None if bytes.iter().all(|byte| *byte == 0) => None,
        // Zeros at the end are no damage, but what stands before them is.
        None => Some(bytes.len()),
    }
}

/// The length of the records of the block that bytes begin with, if it is sound.
fn block(bytes: &[u8]) -> Option<usize> {
    let (head, rest) = bytes.split_at_checked(BLOCK_HEAD_BYTES)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let length = usize::try_from(word(4)).ok()?;
    let payload = rest.get(..length)?;
    (head[..4] == MARK && crc32c::crc32c(payload) == word(8)).then_some(length)
}
