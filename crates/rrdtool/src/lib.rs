//! RRDtool's commands, all of them: databases, graphs, times and the caching daemon joined.
//!
//! Uses `rrd`, `graph`, `time_words` and `rrdclient`.  Two programs are made of it: the verb `whit rrd` and the C library `librrd`.  Reads neither the
//! environment nor the clock: [`ToolEnvironment`] has what a program knows of them.
//!
//! Begin with `tool.rs`; `daemon.rs` is the caching daemon as `rrd` sees it, `series.rs` the files
//! as `graph` sees them.

#![forbid(unsafe_code)]

mod daemon;
mod series;
mod tool;

pub use daemon::{create_request, fetched_series};
pub use rrdclient::TlsFiles;
pub use tool::{Connection, FetchCallback, GraphOutcome, Tool, ToolEnvironment};
