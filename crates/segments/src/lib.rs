//! Folders of files that are only appended to.
//!
//! The proxy's spool, the central store of logs and the journal of the caching daemon are such
//! folders.  Their formats differ; what they share is here.
//!
//! Uses no crate of whit.
#![forbid(unsafe_code)]

mod lock;

pub use lock::{LockError, lock_folder};
