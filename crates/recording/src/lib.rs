//! The recording file: format, writer and reader, and the import of the files of collectl, sysstat's
//! `sadc` and atop.
//!
//! ```text
//! Snapshot ─ Writer ─▶ frames of the open block ─▶ columns of a closed block ─ Reader ─▶ Snapshot
//! ```
//!
//! `format.rs` defines the file byte by byte and explains why a crash cannot lose a complete sample.
//!
//! Uses `sample`, and `procfs` for the kernel files in collectl's recordings.
//! Begin with `format.rs`, then `writer.rs` and `reader.rs`.

pub mod atop;
pub mod collectl;
mod columns;
mod compression;
mod error;
mod extract;
mod focus;
mod format;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod imported;
mod index;
mod lock;
mod map;
mod pauses;
mod reader;
mod reader_file;
mod rows;
pub mod sadc;
mod scan;
mod schema;
mod side;
mod state;
mod storage;
mod stream;
mod writer;

pub use compression::{Compression, ZSTD_MAGIC};
pub use error::{Error, WriteError};
pub use extract::{ExtractSummary, extract};
pub use format::VERSION;
pub use lock::is_being_written;
pub use pauses::Pause;
pub use reader::{Damage, Outline, ReadOutcome, Reader};
pub use schema::text_fields;
pub use side::{
    SideColumns, SideFile, SideReading, SideSamples, SideSegment, SideValues, SideWriter,
    SideWritten, side_of, side_path, side_paths, summary_path, write_side_file,
};
pub use storage::{Bytestore, Interference, Storage};
pub use stream::{
    FRAME_START, HEAD_START, SampleDecoder, SampleEncoder, frame_length, head_length, pack_samples,
    stream_head, unpack_samples, unpacked_length,
};
pub use varint::{Bytes, Corrupt, put, put_bytes, unzigzag, zigzag};
pub use writer::{Resumed, Writer, WriterOptions, WrittenSample, random_id, repair};
