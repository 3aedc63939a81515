//! The recorder: samples this machine on time, and passes each sample to files, to views, and
//! through a [`Sink`](sink::Sink) to a screen or a socket.
//!
//! Any program can embed it: it runs in the caller's thread, takes plain structs, sleeps on the
//! caller's [`Clock`](sample::Clock), takes requests from a [`Control`] and reports to a
//! [`MessageLog`].  It installs no signal handler, prints nothing, and ends by returning.
//!
//! Uses `sample`, `procfs`, `source`, `recording`, `rrd`, `view`, `sink`.
//!
//! Begin reading in `recorder.rs` (the loop), then `schedule.rs` (the times of ticks) and
//! `outputs.rs` (the destinations of samples).
#![forbid(unsafe_code)]

mod budget;
mod databases;
mod error;
mod export;
mod facts;
mod first_sample;
mod intervals;
mod live;
mod messages;
mod names;
mod outputs;
mod plot_output;
mod plot_writer;
mod recorder;
mod recording_file;
mod roll;
mod rotation;
mod schedule;
mod stream_output;

pub use budget::{Budget, Used};
pub use databases::names as database_names;
pub use databases::{DatabaseTable, NamedSource, TableError, read_table};
pub use error::RecorderError;
pub use export::open_export;
pub use facts::{RunFacts, gather_facts};
pub use first_sample::FirstSampleCheck;
pub use intervals::{IntervalError, Intervals, parse_intervals};
pub use live::{LiveText, ViewInput};
pub use messages::{MessageLog, Notify, Severity, local};
pub use names::FileNames;
pub use outputs::{FileSettings, Outputs, SnapshotObserver};
pub use plot_output::{PlotOutput, PlotStyle, ensure_directory};
pub use plot_writer::PlotWriter;
pub use recorder::{Consumer, Control, Recorder, RecorderSettings, Requests, StopAfter};
pub use recording_file::{RecordingFile, RecordingOptions};
pub use roll::{Keep, KeepError, Roll, RollError, recording_bytes, remove_recording};
pub use rotation::Rotation;
pub use schedule::{Tick, TickSchedule};
pub use stream_output::StreamOutput;

/// Tests check that a sample allocates nothing.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
