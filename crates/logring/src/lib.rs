//! Rings of log records in shared memory.
//!
//! A thread that logs stores a record of some 50 bytes into a ring of its own, in a file on tmpfs,
//! and goes on: about 10 ns, nearly all of it the time stamp.  Whatever happens to the process
//! afterwards, the record is there.  Another thread or process reads the ring, finds in the file of
//! the process what the record's numbers mean, and gives the room back.
//! `docs/format-log-ring.md` defines every byte.
//!
//! Uses no crate of whit.  `log_format` makes text of records, `logger` is what programs call.
//! Begin with [`RingReader`] and [`ProcessFile`], the reader's half; [`writer`] is the other.
//!
//! Readers believe nothing: a file may have been written by anyone, and be cut at any moment.

// Offsets and sizes of this layout are of 64-bit machines with pages of 4 KiB.
pub mod abi;
mod bytes;
mod calibration;
pub mod clock;
mod dictionary;
mod error;
pub mod folder;
mod held_file;
mod kept_levels;
mod level;
mod process_file;
mod reader;
mod record;
mod system;
pub mod writer;

pub use calibration::{Calibration, ClockPair};
pub use dictionary::{
    Dictionary, DictionaryEntry, FormatKind, LogContext, Site, SiteRole, encode_entry,
};
pub use error::{Error, Fault};
pub use kept_levels::{KeptLevel, KeptLevels};
pub use level::{LEVEL_OFF, LogLevel};
pub use process_file::{
    ConsumerCost, ConsumerState, LoggerEntry, ProcessFile, ProcessHeader, UndeliverableRange,
};
pub use reader::{
    Batch, Doorbell, RingDirectory, RingHeader, RingMark, RingReader, Tier, process_and_number,
};
pub use record::{
    ArgumentType, ArgumentValues, AttributeValues, LogValue, RecordIterator, RingNotice, RingRecord,
};
pub use system::wake_without_preempting;
