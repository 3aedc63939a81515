//! The format of the recording file, and the code for its fixed parts.
//!
//! All numbers are little-endian.  *varint*, *zigzag* and *packed* are those of `varint.rs`; a
//! *string* is a varint length and that many bytes.  `CRC` is CRC-32C (Castagnoli).
//!
//! ```text
//! file    = prelude, head, block, block, …, [end block, footer]
//! ```
//!
//! # Prelude: 64 bytes
//!
//! | at | bytes | what |
//! |---:|---:|---|
//! | 0 | 8 | `89 57 48 49 54 0D 0A 1A` ("\x89WHIT\r\n\x1a": not text, and a conversion of line ends damages it) |
//! | 8 | 4 | version of the format, 2 |
//! | 12 | 4 | offset of the first block, a multiple of 64 |
//! | 16 | 8 | file id: any number unlikely to be another file's |
//! | 24 | 4 | process id of the latest writer; not covered by any CRC |
//! | 28 | 4 | length of the head as stored |
//! | 32 | 4 | length of the head, decompressed |
//! | 36 | 4 | CRC of the head as stored |
//! | 40 | 1 | compression of the head: 0 none, 1 zstd, 2 zstd with `head-1.dictionary` |
//! | 41 | 19 | 0 |
//! | 60 | 4 | CRC of bytes 0..60, with 0 in place of the process id |
//!
//! The head follows at 64: see `schema.rs`.  The first block begins at the next multiple of 64.
//!
//! # Block header: 64 bytes, at a multiple of 64, so never across a page or a sector
//!
//! | at | bytes | what |
//! |---:|---:|---|
//! | 0 | 4 | `WBLK` |
//! | 4 | 1 | kind: 1 open, 2 columns, 3 frames, 4 end, 5 footer |
//! | 5 | 3 | 0 |
//! | 8 | 4 | number of the block in the file, from 1 |
//! | 12 | 4 | samples in the block; 0 while it is open |
//! | 16 | 8 | sequence number of the first sample: samples written to this file before it |
//! | 24 | 8 | first sample's `realtime_ns`; 0 while open |
//! | 32 | 8 | latest `realtime_ns` of any sample of the block; 0 while open |
//! | 40 | 4 | distance from the header to the body (columns, end: 64; open, frames: 64 or more) |
//! | 44 | 4 | length of the body; 0 while open |
//! | 48 | 4 | CRC of the body; 0 for kinds 1 and 3, whose frames have their own |
//! | 52 | 8 | 0; footer: offset of the end block |
//! | 60 | 4 | CRC of the file id and bytes 0..60 |
//!
//! The next block begins at the next multiple of 64 after the body.
//!
//! - **open**: the last block of a recording that is being written or was not closed.  Its body
//!   is a list of frames (`frame.rs`), one per sample, up to the first invalid one.
//! - **frames**: such a block with a known end.
//! - **columns**: the same samples, column by column and compressed (`columns.rs`).
//! - **end**: the index; only the footer follows.  Body: for each block its offset (8), sequence
//!   number of its first sample (8), first (8) and latest (8) `realtime_ns`, samples (4),
//!   number (4); then 8 bytes: samples that could not be written after the last one.
//! - **footer**: the last 64 bytes of the file, so that the end block is found at once.
//!
//! # How a block closes, and why nothing can be lost
//!
//! Between the header of the open block at B and its first frame is a hole, which takes no space on
//! the disk; the header's distance to the body is its size.
//!
//! 1. The writer writes the columns into the hole at B + 64, and after them the header of the next
//!    open block.  If killed here: the header at B still says *open*, the frames are unchanged.
//! 2. It overwrites the 64 bytes at B: *columns*.  They are within one page and one sector, so they
//!    are old or new, never mixed.
//! 3. It truncates the file after the next block's header, which removes the frames.  If killed
//!    before: the next block is open and empty; the stale bytes where its frames would be are
//!    invalid, since a frame's CRC includes file id, block number and ordinal.
//!
//! In a power cut the disk may have done 2 and not 1.  With `--sync` a writer therefore waits for
//! the disk between the steps.  If the columns do not fit into the hole, they are not written: the
//! header becomes *frames* and the frames stay where they are.
//!
//! A block of many rows is encoded in slices while the next one is filled.  Its header becomes
//! *frames* first; later the open block's header moves to the end of the columns, while its frames
//! stay where they are (`writer/closing.rs`).  A reader that follows a file therefore reads the
//! previous block's header again when the open block does not grow.
//!
//! # Which bytes are valid
//!
//! A block header is valid if its CRC is right and its number is larger than that of the previous
//! block; a body if its CRC is right and every integer in it is in range; a frame if its CRC is
//! right.  A reader that finds no valid header where one must be searches every following multiple
//! of 64.  Sequence numbers give the exact number of samples in between.
//!
//! # Versions
//!
//! Version 1 had no dense bodies, no changed rows or edits in frames, and no dictionary of heads.
//! The same code reads it; a recorder that appends to such a file makes it version 2.
//!
//! A reader refuses a version above its own.  Within a version these may be added, and readers must
//! skip them: keys of the head, bytes after the known parts of a source, parts of a body.

use varint::Corrupt;

/// The version that this code writes, and the highest that it reads.
pub const VERSION: u32 = 2;

/// The first eight bytes of every recording.
pub(crate) const MAGIC: [u8; 8] = *b"\x89WHIT\r\n\x1a";

/// Size of the prelude, of a block header and of the footer; what they are aligned to.
pub(crate) const HEADER_BYTES: usize = 64;

/// The offset of the process id in the prelude.
pub(crate) const PID_AT: usize = 24;

const BLOCK_MAGIC: [u8; 4] = *b"WBLK";

/// Limit of the head, stored or decompressed: half a million fields with their help.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 20;

/// Limit of a block's body as stored, and of each decompressed part.  A block usually has some
/// hundred KiB; the limit is for machines with a hundred thousand instances.
pub(crate) const BODY_BYTES_MAX: usize = 256 << 20;

/// Limit of a single frame, for the same machines.
pub(crate) const FRAME_BYTES_MAX: usize = 64 << 20;

/// Limit of samples in a block.
pub(crate) const BLOCK_SAMPLES_MAX: u32 = 65_536;

/// Limit of sequence numbers, so that no sum overflows.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 60;

/// Limit of the cells (instances by columns) of all sources of a block: 128 MiB of them.
pub(crate) const CELLS_MAX: usize = 16 << 20;

/// Rounds up to an offset at which a header may begin.
pub(crate) const fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(HEADER_BYTES as u64)
}

/// CRC of several pieces, one after the other.
pub(crate) fn crc(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| crc32c::crc32c_append(crc, piece))
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The file's first 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prelude {
    pub(crate) version: u32,
    pub(crate) first_block: u32,
    pub(crate) file_id: u64,
    pub(crate) pid: u32,
    pub(crate) head_stored_bytes: u32,
    pub(crate) head_plain_bytes: u32,
    pub(crate) head_crc: u32,
    pub(crate) head_compression: u8,
}

impl Prelude {
    /// The bytes of the header in the file.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.first_block.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file_id.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.head_stored_bytes.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.head_plain_bytes.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.head_crc.to_le_bytes());
        bytes[40] = self.head_compression;
        let crc = crc(&[&bytes[..60]]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes[PID_AT..PID_AT + 4].copy_from_slice(&self.pid.to_le_bytes());
        bytes
    }

    /// Parses it.  Callers check the magic before and the version after this: a future version
    /// may have another prelude.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Prelude, Corrupt> {
        let mut covered = *bytes;
        covered[PID_AT..PID_AT + 4].fill(0);
        if crc(&[&covered[..60]]) != u32_at(bytes, 60) {
            return Err(Corrupt("its first 64 bytes are damaged"));
        }
        Ok(Prelude {
            version: u32_at(bytes, 8),
            first_block: u32_at(bytes, 12),
            file_id: u64_at(bytes, 16),
            pid: u32_at(bytes, PID_AT),
            head_stored_bytes: u32_at(bytes, 28),
            head_plain_bytes: u32_at(bytes, 32),
            head_crc: u32_at(bytes, 36),
            head_compression: bytes[40],
        })
    }

    /// The version of a file that begins with these bytes; `None` if it is not a recording.  Magic
    /// and version are at the same offsets in every version.
    pub(crate) fn version_of(bytes: &[u8; HEADER_BYTES]) -> Option<u32> {
        (bytes[..8] == MAGIC).then(|| u32_at(bytes, 8))
    }
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Open,
    Columns,
    Frames,
    End,
    Footer,
}

impl BlockKind {
    const ALL: [BlockKind; 5] =
        [BlockKind::Open, BlockKind::Columns, BlockKind::Frames, BlockKind::End, BlockKind::Footer];
}

/// The 64 bytes before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) kind: BlockKind,
    pub(crate) number: u32,
    pub(crate) samples: u32,
    pub(crate) first_sequence: u64,
    pub(crate) first_realtime_ns: i64,
    pub(crate) latest_realtime_ns: i64,
    pub(crate) body_at: u32,
    pub(crate) body_bytes: u32,
    pub(crate) body_crc: u32,
    pub(crate) end_at: u64,
}

impl BlockHeader {
    /// The header of a block without samples.
    pub(crate) fn new(kind: BlockKind, number: u32, first_sequence: u64) -> Self {
        BlockHeader {
            kind,
            number,
            samples: 0,
            first_sequence,
            first_realtime_ns: 0,
            latest_realtime_ns: 0,
            body_at: HEADER_BYTES as u32,
            body_bytes: 0,
            body_crc: 0,
            end_at: 0,
        }
    }

    /// As it stands in the file.
    pub(crate) fn encode(&self, file_id: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        let kind = BlockKind::ALL.iter().position(|&kind| kind == self.kind);
        bytes[4] = kind.map_or(0, |index| index as u8 + 1);
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.samples.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_realtime_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.latest_realtime_ns.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.body_at.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.body_crc.to_le_bytes());
        bytes[52..60].copy_from_slice(&self.end_at.to_le_bytes());
        let crc = crc(&[&file_id.to_le_bytes(), &bytes[..60]]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Parses it; `None` unless it is valid.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], file_id: u64) -> Option<BlockHeader> {
        let valid = bytes[..4] == BLOCK_MAGIC
            && crc(&[&file_id.to_le_bytes(), &bytes[..60]]) == u32_at(bytes, 60);
        if !valid {
            return None;
        }
        let header = BlockHeader {
            kind: *BlockKind::ALL.get(usize::from(bytes[4]).checked_sub(1)?)?,
            number: u32_at(bytes, 8),
            samples: u32_at(bytes, 12),
            first_sequence: u64_at(bytes, 16),
            first_realtime_ns: u64_at(bytes, 24).cast_signed(),
            latest_realtime_ns: u64_at(bytes, 32).cast_signed(),
            body_at: u32_at(bytes, 40),
            body_bytes: u32_at(bytes, 44),
            body_crc: u32_at(bytes, 48),
            end_at: u64_at(bytes, 52),
        };
        let sane = header.number >= 1
            && header.number < u32::MAX
            && header.first_sequence <= SEQUENCE_MAX
            && header.samples <= BLOCK_SAMPLES_MAX
            && header.body_at as usize >= HEADER_BYTES
            && header.body_at as usize <= BODY_BYTES_MAX
            && header.body_bytes as usize <= BODY_BYTES_MAX;
        sane.then_some(header)
    }

    /// The distance from this header to the next.
    pub(crate) fn span(&self) -> u64 {
        aligned(u64::from(self.body_at) + u64::from(self.body_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_return_and_no_bit_may_flip() {
        let header = BlockHeader {
            samples: 7,
            first_realtime_ns: -5,
            latest_realtime_ns: i64::MAX,
            body_bytes: 1000,
            body_crc: 0xdead_beef,
            end_at: 1 << 40,
            ..BlockHeader::new(BlockKind::Columns, 3, 99)
        };
        let bytes = header.encode(17);
        assert_eq!(BlockHeader::decode(&bytes, 17), Some(header));
        assert_eq!(BlockHeader::decode(&bytes, 18), None);
        assert_eq!(header.span(), 1088);
        for bit in 0..512 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BlockHeader::decode(&flipped, 17), None, "bit {bit}");
        }
    }

    #[test]
    fn the_prelude_returns_and_the_pid_may_change() {
        let prelude = Prelude {
            version: VERSION,
            first_block: 4096,
            file_id: 1 << 60,
            pid: 123,
            head_stored_bytes: 4000,
            head_plain_bytes: 9000,
            head_crc: 5,
            head_compression: 1,
        };
        let mut bytes = prelude.encode();
        assert_eq!(Prelude::decode(&bytes), Ok(prelude));
        bytes[PID_AT] ^= 1;
        assert_eq!(Prelude::decode(&bytes).map(|prelude| prelude.pid), Ok(122));
        bytes[PID_AT - 1] ^= 1;
        assert!(Prelude::decode(&bytes).is_err());
    }
}
