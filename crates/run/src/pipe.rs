//! Standard input cut into blocks, one for each job (`--pipe`, `--pipe-part`).
//!
//! [`Cutter`] does no reading itself: its owner reads into [`Cutter::space`], reports the number of
//! bytes, and takes blocks while there are any.  So a blocking reader can use it as well as an event
//! loop, and can ask for an incomplete block after a timeout (`--block-timeout`).
//!
//! A block is the buffer that was read into; only the bytes after its last record are copied, to the
//! beginning of the next one.  Buffers given back ([`Cutter::recycle`]) are used again.
//!
//! [`parts()`] finds where to cut a file; it reads only around the borders.

mod cutter;
mod parts;
mod separator;

use thiserror::Error;

pub use self::cutter::{Cutter, RecordBlock};
pub use self::parts::{FileParts, parts};

/// How a stream is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeOptions {
    /// How large blocks are; `None` is 1 MiB of a stream, and ten blocks a slot of a file.
    pub block: Option<BlockSize>,
    /// What a record begins with (`--recstart`); for a fixed text see [`unescape`].
    pub record_start: Option<Vec<u8>>,
    /// What a record ends with (`--recend`); a newline when neither is given, and an empty one
    /// lets records end anywhere.
    pub record_end: Option<Vec<u8>>,
    /// The two are regular expressions (`--regexp`), in which `^` and `$` are those of a line.
    pub regexp: bool,
    /// The two are taken off what is given to the jobs (`--rrs`).
    pub remove_separators: bool,
    /// Records of a block (`-N`); 0 is as good as none.
    pub records_max: Option<u64>,
    /// Lines of a record (`-L`); the separators do not count then.
    pub record_lines: Option<u64>,
    /// The beginning of the stream that every block is given before its own (`--header`).
    pub header: PipeHeader,
    /// Records are those of comma separated values: newlines in quotes do not end them (`--csv`).
    pub csv: bool,
    /// Lines of white space alone are left out (`-r`).
    pub drop_blank_lines: bool,
}

/// How large blocks are (`--block`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// So many bytes, or a little less: a block ends with the last record that ends in it.
    Bytes(u64),
    /// So many blocks for each slot (`--block -1`); of a file only.
    PerSlot(u32),
}

/// Bytes of a stream's block when nothing is said.
const BLOCK_BYTES: u64 = 1 << 20;

/// Blocks of a file for each slot when nothing is said.
const BLOCKS_PER_SLOT: u32 = 10;

/// Bytes of a record.  A block is raised to hold one record; a stream without any separator would
/// be held in memory.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// Bytes in which a header that is a regular expression must match.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// The bytes that the text of `--recstart` or `--recend` stands for: as `-d`, but it may be empty.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    crate::input::delimiter(text).unwrap_or_default()
}

/// What of the beginning of a stream is repeated before every block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PipeHeader {
    /// Nothing.
    #[default]
    None,
    /// So many lines (`--header 2`; `:` is 1).
    Lines(u64),
    /// What this regular expression matches at the beginning.
    Pattern(String),
}

/// Why a stream cannot be cut.
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
        /// Of which option.
        option: &'static str,
        /// Why not.
        error: String,
    },
    /// Options that exclude each other.
    #[error("{0}")]
    Options(&'static str),
    /// A record is longer than may be held in memory.
    #[error("a record is longer than {limit} bytes: give what ends one with --recend")]
    TooLong {
        /// The limit.
        limit: u64,
    },
}
