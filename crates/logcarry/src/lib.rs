//! Log records from the rings of a host to a central store: none lost, none twice.
//!
//! A proxy (one for each host) finds rings by itself, appends what it reads to a spool and sends it
//! to the central server; that merges the records of all streams by time, commits them with the
//! mark of each stream in one write, and acknowledges what is committed.  A record is named by
//! (process, ring, sequence number), so whatever is sent again is recognised however late it is, and
//! whatever is missing shows.
//!
//! Uses `logring` (records and dictionaries), `logdrain` (their text) and `connection`; prints nothing.  Formats: `docs/format-log-frames.md`
//! and `docs/format-log-store.md`.
//!
//! A record's way: `proxy`, `spool`, `frame`, `central`, `store`.  Begin with `frame.rs`, then
//! `store.rs`.
#![forbid(unsafe_code)]

pub mod address;
pub mod audit;
pub mod auth;
mod bytes;
pub mod central;
mod clock;
pub mod connection;
mod cost;
pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod handshake;
mod identity;
pub mod levels;
mod lock;
mod own;
pub mod proxy;
pub mod query;
mod record;
pub mod remote;
pub mod spool;
mod stamps;
pub mod store;

pub use cost::OwnCost;
pub use identity::{DICTIONARY, ProcessId, ProcessInfo, StreamId, StreamInfo};
