//! The caching daemon of round-robin databases: rrdcached's protocol on sockets, readings kept in
//! memory until many of a file are written at once, and a journal that holds what is acknowledged.
//!
//! Uses `rrd`, which reads and writes the files, `connection` and `segments` (the folder of the journal);
//! no other crate of whit.  Prints nothing, reads no environment, and asks the caller for the time
//! ([`DaemonWorld`]).
//!
//! A line's way: `server.rs` reads it from a socket, `session.rs` runs it: `protocol.rs` splits it,
//! `cache.rs` finds the file and keeps the reading, `journal.rs` writes what a read brought before
//! it is answered, `writers.rs` writes files.  `replay.rs` brings back what a journal holds,
//! and `heads.rs` makes files whole after a loss of power.
//! Begin reading with `cache.rs`.
#![forbid(unsafe_code)]

mod cache;
mod daemon;
mod heads;
mod help;
mod journal;
mod locks;
mod metrics;
mod paths;
pub mod protocol;
mod queue;
mod replay;
mod server;
mod session;
mod stats;
mod writers;

pub use daemon::{CachingDaemon, DaemonSettings, DaemonWorld, Limits};
pub use journal::{Acknowledge, Journal, JournalError, count_records};
pub use paths::{BaseError, PathRules};
pub use server::{Listener, Server};
pub use session::{ClientSession, NextStep};
