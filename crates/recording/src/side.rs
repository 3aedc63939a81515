//! The side file of a recording: its closed blocks once more, column by column, so that a field is
//! read without all others.
//!
//! A dense block is decoded as a whole, some milliseconds; a column of it here takes microseconds.
//! The side file is made by a reader, for recordings of every version, and can be deleted at any
//! time: it has nothing that the recording has not.  It is replaced as a whole, and belongs to the
//! recording whose file id it has.  What is damaged in it is read from the recording.
//!
//! ```text
//! file      = prelude, segment, segment, …
//! prelude   = "WHITSIDE", version (4), 0 (4), file id (8), CRC (4)
//! segment   = header, directory, parts
//! header    = "WSEG", first and last block number (4 each), length of the directory (4), length of
//!             directory and parts (8), first and latest realtime_ns of its ticks (8 each), the last
//!             tick's monotonic_ns (8) and realtime_ns (8), CRC of the directory (4), CRC (4)
//! directory = varint sources, for each: varint length of its head, varint fields, for each: varint
//!             length of its part
//! head      = varint readings, columns of the readings, varint texts, for each: string,
//!             varint instances, for each: string name, varint runs, for each: varint readings
//!             between, varint readings that have the instance
//! part      = for each instance: column
//! column    = varint length, tokens
//! ```
//!
//! Heads and parts end with their CRC.  The columns of the readings: the tick's realtime_ns, the
//! source's monotonic_ns, its realtime_ns less that, flags (1: it was read, 2: it cannot be compared
//! with the one before), of which the first two are coded by their second differences; then a byte:
//! whether a restart follows the last reading.  A token is a varint, by its lowest two bits: 0 a
//! step, zigzagged; 1 so many times the step before (second differences) or no step; 2 so many
//! missing; 3 a value as a varint follows.

mod column;
mod read;
mod write;

pub use read::{SideColumns, SideFile, SideReading, SideSegment};
pub use write::{SideWritten, write_side_file};

use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"WHITSIDE";
const SEGMENT_MAGIC: [u8; 4] = *b"WSEG";
const VERSION: u32 = 1;
const PRELUDE_BYTES: usize = 28;
const SEGMENT_BYTES: usize = 64;

/// Blocks of a segment: an hour or so at a sample a second.
const SEGMENT_BLOCKS: u32 = 8;

/// Limit of a head or part, and of a directory.
const PART_BYTES_MAX: u64 = 256 << 20;

/// The path of the side file of a recording: `NAME.whit.columns`.
#[must_use]
pub fn side_path(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".columns");
    PathBuf::from(name)
}
