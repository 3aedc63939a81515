//! The proxy of log records: one for each host.
//!
//! It finds rings by itself, appends what it reads to a spool and sends it to the central server, until
//! that acknowledges it.  Beside the server, or without one, it writes records as text to outputs of its
//! own machine.  Syslog, files, the journal and the kernel come in by `input`.
//!
//! Uses `logring` (rings), `log_format` (outputs), `log_protocol` (frames, handshake), `connection` and
//! `segments`; prints nothing.  A record's way: `proxy/reading.rs`, `spool.rs`, `proxy/link.rs`.
//! Begin with `proxy.rs`.
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod fuzzing;
pub mod input;
mod proxy;
pub mod spool;
mod stamps;

pub use proxy::{Proxy, ProxySettings, ProxyWaker};
pub use spool::Spool;
