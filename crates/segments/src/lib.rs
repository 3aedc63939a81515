//! Folders of numbered files that are only appended to.
//!
//! The spool of the log proxy, the central store of logs and the journal of the caching daemon are such
//! folders.  Their formats differ; here is what they share: one process for each folder (`lock.rs`), the
//! names of files (`names.rs`), the head of a segment of logs (`head.rs`), appending so that a write that
//! fails leaves nothing (`append.rs`), and one sync for all threads that wait for the disk (`shared.rs`).
//!
//! Uses no crate of whit.  Begin with `append.rs`.
#![forbid(unsafe_code)]

mod append;
mod head;
mod lock;
mod names;
mod shared;

pub use append::AppendFile;
pub use head::{HEAD_BYTES, HeadError, SegmentHead};
pub use lock::{FolderLockError, lock_folder};
pub use names::{SegmentNames, is_own_file, sync_folder};
pub use shared::SharedFile;
