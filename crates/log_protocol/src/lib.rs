//! What the proxy, the central server and clients of log records say to each other.
//!
//! A connection begins with a handshake, in which both sides prove that they know the secret; then
//! come frames, each a head with a checksum and a body.  A record is named by (process, ring, sequence
//! number), so whatever is sent again is recognised however late it is, and whatever is missing shows.
//! `docs/format-log-frames.md` defines every byte.
//!
//! Uses `connection` and `logring` (the words of a record); prints nothing.  Begin with `frame.rs`, then
//! `handshake.rs`.
#![forbid(unsafe_code)]

mod address;
pub mod auth;
pub mod bytes;
pub mod clock;
pub mod cost;
pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod gap;
pub mod handshake;
mod identity;
pub mod levels;
pub mod own_record;
pub mod parts;
pub mod record;

pub use address::parse_address;
pub use cost::OwnCost;
pub use gap::GapReason;
pub use identity::{DICTIONARY, ProcessId, ProcessInfo, StreamId, StreamInfo};
