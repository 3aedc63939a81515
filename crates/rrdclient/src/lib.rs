//! A client of rrdcached, the daemon that gathers updates of round-robin databases.
//!
//! Speaks the daemon's text protocol: a line for a command, a line with a number and a message for
//! the answer, and as many lines as the number says.  An answer below 0 is a refusal.
//!
//! Uses `connection`.  Reads neither the environment nor, by itself, the clock; certificates are read
//! when an address asks for them.  Begin with `client.rs`; `address.rs` says how a daemon is named, `reply.rs` how answers are read.

#![forbid(unsafe_code)]

mod address;
mod client;
mod error;
mod reply;

pub use address::TlsFiles;
pub use client::{Client, CreateRequest, RefusedUpdate};
pub use error::ClientError;
pub use reply::{FetchReply, InfoField, Reply};
