//! Standard input cut into blocks, one for each job (`--pipe`, `--pipe-part`).
//!
//! [`Cutter`] does no reading itself: its owner reads into [`Cutter::space`], tells how much it was,
//! and takes blocks while there are any.  So it can be fed by a blocking reader as well as by an
//! event loop, and be told to give what it has when its time is over (`--block-timeout`).
//!
//! A block is the buffer that was read into; only the bytes behind its last record are copied, to
//! the beginning of the next one.  Buffers given back ([`Cutter::recycle`]) are used again.
//!
//! [`parts`] finds where a file is to be cut by reading around the borders alone.

mod cutter;
mod parts;

use thiserror::Error;

pub use self::cutter::{Block, Cutter};
pub use self::parts::{Parts, parts};

/// How a stream is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a block, about: it ends with the last record that ends in it.
    pub block_bytes: u64,
    /// For files: blocks for each slot instead (`--block -1`).
    pub blocks_per_slot: Option<u32>,
    /// What a record begins with (`--recstart`).
    pub record_start: Option<Vec<u8>>,
    /// What a record ends with (`--recend`); a newline when neither is given, and an empty one
    /// lets records end anywhere.
    pub record_end: Option<Vec<u8>>,
    /// The two are regular expressions (`--regexp`).
    pub regexp: bool,
    /// The two are taken off what is given to the jobs (`--rrs`).
    pub remove_separators: bool,
    /// Records of a block (`-N`).
    pub records_max: Option<u64>,
    /// Lines of a record (`-L`).
    pub record_lines: Option<u64>,
    /// The beginning of the stream that every block is given before its own (`--header`).
    pub header: Header,
    /// Records are those of comma separated values: newlines in quotes do not end them (`--csv`).
    pub csv: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            block_bytes: 1 << 20,
            blocks_per_slot: None,
            record_start: None,
            record_end: None,
            regexp: false,
            remove_separators: false,
            records_max: None,
            record_lines: None,
            header: Header::None,
            csv: false,
        }
    }
}

/// What of the beginning of a stream is repeated before every block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Header {
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
    /// A file could not be read.
    #[error("cannot read the file: {0}")]
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
    Options(String),
    /// A record is longer than may be held in memory.
    #[error("a record is longer than {limit} bytes: is the record separator right?")]
    TooLong {
        /// The limit.
        limit: u64,
    },
}
