//! Recordings and newest samples over HTTP: Prometheus's query interface, as Grafana calls it, and pages
//! for its scraper.
//!
//! [`QueryServer::start`] serves a storage of series from a thread of its own: a long query delays no
//! other client, and a client that goes away ends its query.  Answers, queries and times have limits
//! ([`ServeSettings`]).  [`RecordingStorage`] is a storage: folders of recordings, of which a
//! question reads the fields that it wants.
//!
//! `/metrics` has the newest samples, in OpenMetrics or in Prometheus's text format: of recordings
//! ([`RecordedPages`]), or of a recorder that never waits for a reader ([`live_samples`],
//! [`MetricsServer`]).
//!
//! [`SideFileMaker`] makes the files that make questions to recordings fast.
//!
//! Uses `http_server`, `promql`, `archive`, `feed` and `view`.  Begin with `server.rs`, then `interface.rs`
//! (paths), `parameters.rs` (what is asked) and `metrics.rs`.
#![forbid(unsafe_code)]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;

mod beneath;
mod clock;
mod evaluation;
mod held_selectors;
mod interface;
mod live;
mod memory;
mod metrics;
mod other_host;
mod page;
mod parameters;
mod pollers_page;
mod recorded_pages;
mod recordings;
mod server;
mod settings;
mod side_files;

pub use live::{LivePages, SamplePublisher, live_samples};
pub use metrics::{NewestError, NewestPage, NewestSamples};
pub use other_host::{OtherHost, OtherHostError};
pub use page::{Page, PageReportError, PictureFormat, ReportMade, draw_period, write_report};
pub use recorded_pages::RecordedPages;
pub use recordings::RecordingStorage;
pub use server::{MetricsServer, QueryServer};
pub use settings::ServeSettings;
pub use side_files::SideFileMaker;
