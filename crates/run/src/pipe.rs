//! Standard input split into blocks, one for each job (`--pipe`, `--pipe-part`).
//!
//! [`Cutter`] does not read: its owner reads into [`Cutter::space`], reports the number of bytes,
//! and takes blocks while there are any.  So blocking readers and event loops can use it, and both
//! can ask for an incomplete block after a timeout (`--block-timeout`).
//!
//! A block is the buffer that was read into; only the bytes after its last record are copied, to
//! the beginning of the next buffer.  Buffers that are returned ([`Cutter::recycle`]) are used
//! again.
//!
//! [`parts()`] finds where to split a file; it reads only around the borders.

mod cutter;
mod key;
mod parts;
mod separator;
mod sorter;

use thiserror::Error;

pub use self::cutter::{Cutter, RecordBlock};
pub use self::key::LineKey;
pub use self::parts::{FileParts, file_bytes, parts};
pub use self::sorter::Binning;
pub(crate) use self::sorter::Sorter;

/// How a stream is split.
#[derive(Clone, Debug, Default)]
pub struct PipeOptions {
    /// How large blocks are; `None` is 1 MiB for a stream, and ten blocks a slot for a file.
    pub block: Option<BlockSize>,
    /// What a record begins with (`--recstart`); for a fixed text see [`unescape`].
    pub record_start: Option<Vec<u8>>,
    /// What a record ends with (`--recend`); a newline when neither is given; an empty one allows a
    /// split anywhere.
    pub record_end: Option<Vec<u8>>,
    /// Both are regular expressions (`--regexp`), in which `^` and `$` match at lines.
    pub regexp: bool,
    /// Remove separators from what jobs get (`--rrs`).
    pub remove_separators: bool,
    /// Records of a block (`-N`); 0 is the same as `None`.
    pub records_max: Option<u64>,
    /// Lines of a record (`-L`); the separators are then ignored.
    pub record_lines: Option<u64>,
    /// The beginning of the stream, which is sent before every block (`--header`).
    pub header: PipeHeader,
    /// The first line is left out, before the header (`--skip-first-line`).
    pub skips_first_line: bool,
    /// Records are CSV: newlines in quotes do not end them (`--csv`).
    pub csv: bool,
    /// Drop lines of white space (`-r`).
    pub drop_blank_lines: bool,
    /// A record is the lines with the same key (`--group-by`); the separators are then ignored.
    pub group_by: Option<LineKey>,
}

/// How large blocks are (`--block`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// At most this many bytes: a block ends after the last record that fits.
    Bytes(u64),
    /// This many blocks for each slot (`--block -1`); only for files.
    PerSlot(u32),
}

/// Default bytes of a block of a stream.
const BLOCK_BYTES: u64 = 1 << 20;

/// Default blocks of a file for each slot.
const BLOCKS_PER_SLOT: u32 = 10;

/// Most bytes of a record.  A block is enlarged to hold one record; without a limit a stream
/// without separators would be held in memory.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// Most bytes in which the regular expression of a header must match.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// The bytes that the text of `--recstart` or `--recend` stands for: as for `-d`, but it may be
/// empty.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    crate::input::delimiter(text).unwrap_or_default()
}

/// The beginning of a stream that is repeated before every block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PipeHeader {
    /// Nothing.
    #[default]
    None,
    /// This many lines (`--header 2`; `:` is 1).
    Lines(u64),
    /// What this regular expression matches at the beginning.
    Pattern(String),
}

/// Why a stream cannot be split.
#[derive(Debug, Error)]
pub enum PipeError {
    /// The input could not be read.
    #[error("cannot read the input of --pipe: {0}")]
    Read(#[from] std::io::Error),
    /// A regular expression cannot be used.
    #[error("cannot use the regular expression {pattern:?} of {option}: {error}")]
    Pattern {
        /// As the user wrote it.
        pattern: String,
        /// The option that it was given to.
        option: &'static str,
        /// Why not.
        error: String,
    },
    /// The key of a line cannot be found.
    #[error("{option}: {why}")]
    Key {
        /// The option.
        option: &'static str,
        /// Why not.
        why: String,
    },
    /// Options that exclude each other.
    #[error("{0}")]
    Options(&'static str),
    /// A record is longer than may be held in memory.
    #[error("a record is longer than {limit} bytes: set the end of a record with --recend")]
    TooLong {
        /// The limit.
        limit: u64,
    },
}
