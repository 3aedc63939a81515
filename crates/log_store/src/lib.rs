//! The central store of log records: none lost, none twice.
//!
//! A folder of segments that are only appended to: the central server commits the records of all
//! streams, merged by time, with the mark of each stream in one write.  Readers need no server: they
//! open the folder, also while it is written.  `docs/format-log-store.md` defines every byte.
//!
//! Uses `segments` (the folder), `log_protocol` (identities; questions that are sent), `logring` and
//! `log_format` (records and their text); prints nothing.  Begin with `store.rs`; `store/reader.rs` is the
//! reading side, `query.rs` says which records are wanted, `remote.rs` asks a server for them;
//! `archive.rs` answers questions about a period, `store/words.rs` says which blocks have a word.
#![forbid(unsafe_code)]

pub mod archive;
pub mod audit;
#[doc(hidden)]
pub mod fuzzing;
mod own;
pub mod query;
pub mod remote;
mod store;
mod wanted_count;

pub use own::OwnLog;
pub use store::words;
pub use store::{
    BlockIndex, Chunk, CommitBatch, DICTIONARY_BYTES_MAX, Item, LostPart, ProcessPart, RecordsPart,
    Recovery, Retention, SegmentCount, SequenceGap, Store, StoreCounter, StoreError, StoreReader,
    StoreSettings, StreamPart, Visit, WantsBlock, WantsRecord, WordIndexer, is_store, may_be_store,
    name_bit,
};
