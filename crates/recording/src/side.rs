//! The side file of a recording: its closed blocks once more, column by column, so that a field is
//! read without all others.
//!
//! A dense block is decoded from its start, a tenth of a second with a thousand processes; a column of
//! it here takes microseconds, and a whole sample some milliseconds.
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
//! directory = varint length of the ticks, varint length of the moments, varint sources, for each:
//!             varint length of its head, varint fields, for each: varint length of its part
//! ticks     = varint ticks, column of their realtime_ns
//! moments   = nothing if a reading has two rows of one name; columns of the ticks: monotonic_ns less
//!             that of the first reading, or less realtime_ns if there is none, 1 for a restart, the
//!             gap before it (3 columns); for each source: columns of its readings: state, cost_ns
//!             less the time until the next source of the tick began; varint edits, varint their
//!             length, for each: varint readings since the one before, edit (`rows.rs`)
//! head      = runs of ticks that have a reading of the source, columns of the readings, byte whether
//!             a restart follows, varint texts, for each: string, varint instances, for each: string
//!             name, runs of readings that have the instance
//! part      = for each instance: column (`column.rs`), some columns in a piece
//! runs      = varint runs, for each: varint without, varint with
//! ```
//!
//! Ticks, moments, heads and parts are packed: varint pieces, for each: varint instances (0 but in
//! parts), varint plain length, byte compression (0 none, 1 zstd, without the frame's magic number),
//! varint stored length, varint length of its bits; for each: stored bytes, bits; a CRC.  All but
//! parts are one piece.  So one instance is read without unpacking all.  The columns of the
//! readings: the source's monotonic_ns less the tick's realtime_ns, its realtime_ns less its
//! monotonic_ns, and flags: 1 it was read, 2 it cannot be compared with the one before.
//!
//! One writer at a time writes `NAME.whit.columns.new`, which it has locked, and renames it; what a
//! killed writer left is written anew by the next one.

mod column;
mod gathered;
mod part;
mod read;
mod replay;
mod write;

pub use read::{SideColumns, SideFile, SideReading, SideSegment, SideValues};
pub use replay::SideSamples;
pub use write::{SideWriter, SideWritten, write_side_file};

use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"WHITSIDE";
const SEGMENT_MAGIC: [u8; 4] = *b"WSEG";
const VERSION: u32 = 4;
const PRELUDE_BYTES: usize = 28;
const SEGMENT_BYTES: usize = 64;

/// Blocks of a segment: an hour or so at a sample a second.
const SEGMENT_BLOCKS: u32 = 8;

/// Limit of a head or part, compressed or not, and of a directory: 16,000 processes that change in
/// every reading of a segment.
const PART_BYTES_MAX: u64 = 64 << 20;

/// Flags of a reading.
const IS_OK: u64 = 1;
const IS_RESTART: u64 = 2;

/// What readers make of a recording, by what follows its name: columns, these while they are
/// written, and summaries.
const SIDE_SUFFIXES: [&str; 3] = [".columns", ".columns.new", ".summary"];

/// The paths of all that readers may have made of a recording, whether they exist or not.  They
/// are of no use without it.
#[must_use]
pub fn side_paths(recording: &Path) -> [PathBuf; 3] {
    SIDE_SUFFIXES.map(|suffix| with_suffix(recording, suffix))
}

/// The recording that a side file is of, by the name of the side file.
#[must_use]
pub fn side_of(name: &str) -> Option<&str> {
    SIDE_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix))
}

/// The path of the side file of a recording: `NAME.whit.columns`.
#[must_use]
pub fn side_path(recording: &Path) -> PathBuf {
    with_suffix(recording, ".columns")
}

/// The path of the summary of a recording, which the archive makes: `NAME.whit.summary`.
#[must_use]
pub fn summary_path(recording: &Path) -> PathBuf {
    with_suffix(recording, ".summary")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
