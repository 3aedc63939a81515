//! Hands recordings and log records over to engines: each sample, and each record, once it is there.
//!
//! The recording is the write-ahead log.  An engine has only a **cursor** into it (`cursor.rs`): for each
//! recording of the folder the number of the next sample, advanced when the engine has acknowledged
//! what is before it, and kept beside the recordings.  So an outage of the engine, an end of whit or of
//! the machine cost time and nothing else, and memory does not depend on how much is still to be sent.
//!
//! `backlog.rs` reads the samples behind a cursor, `series.rs` makes series of them, by the names that
//! `/metrics` has, `sender.rs` sends batches and goes on when they are acknowledged, at the pace of
//! `pace.rs` when it follows.  An engine (`engine.rs`) takes a batch and says whether it has it; most are asked by HTTP (`http.rs`), and a new one
//! is a file and a line in `kinds.rs`.
//!
//! The store of a central server of log records is sent the same way: its segments are the files, and
//! `log_backlog.rs` reads the records behind a cursor.
//!
//! Another whit gets recordings as they are: `recording_stock.rs`.
//!
//! `verify.rs` asks an engine for what it has acknowledged, `read_back.rs` makes recordings of what one has, `log_read.rs` log records.
//!
//! Uses `feed`, `recording`, `metric_names`, `log_store` and `http_client`.  Prints nothing.  Begin with `sender.rs`.
#![forbid(unsafe_code)]

mod asked;
mod backlog;
mod batch;
mod clickhouse;
mod clock;
mod cursor;
mod engine;
mod error;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
mod graphite;
mod groups;
mod gzip;
mod http;
mod influx;
mod jetstream;
mod jetstream_read;
mod journal;
mod kinds;
mod labels;
mod log_backlog;
mod log_batch;
mod log_question;
mod log_read;
mod loki;
mod loki_read;
mod otlp;
mod otlp_logs;
mod pace;
mod protobuf;
mod read_back;
mod recording_files;
mod recording_stock;
mod remote_write;
mod remote_write_2;
mod sender;
mod series;
mod settings;
mod status;
mod steps;
mod stock;
mod unsent;
mod verify;

pub use cursor::{CursorFile, RecordingCursor, SendCursor, StoreCursor};
pub use error::SendError;
pub use groups::ProcessChoice;
pub use kinds::{EngineAddress, EngineKind};
pub use log_read::{is_log_engine, read_logs};
pub use read_back::{EngineRecording, read_back, read_back_all};
pub use sender::{SendEvent, Sender};
pub use series::SourceChoice;
pub use settings::{EngineAccess, SendInput, SendSettings};
pub use status::{EngineStatus, status};
pub use steps::StepChoice;
pub use unsent::Unsent;
pub use verify::{SeriesVerified, VerifyReport, verify};
