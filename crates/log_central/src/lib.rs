//! The central server of log records: takes frames from proxies, commits them to the store, acknowledges
//! what is committed, and answers questions.
//!
//! Uses `log_store` (the records), `log_protocol` (frames, handshake) and `connection`; prints nothing.
//! Begin with `central.rs`; a record's way: `central/peer.rs`, `central/admission.rs` (which records
//! are new), `central/committer.rs`; a recording's: `central/recordings.rs`.
#![forbid(unsafe_code)]

mod central;

pub use central::{AdmissionLimits, Central, CentralCounters, CentralSettings, RecordingsKept};
#[doc(hidden)]
pub use central::{fuzz_admission, fuzz_recordings};
