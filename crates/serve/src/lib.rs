//! An HTTP server with Prometheus's query interface, as Grafana calls it.
//!
//! [`QueryServer::start`] serves a storage of series from a thread of its own: a runtime of one thread for
//! connections, and a few threads for queries, so that a long query delays no other client.  A
//! client that goes away ends its query.  Connections, heads, bodies, answers, queries and times
//! all have limits ([`ServeSettings`]).
//!
//! Only addresses of the loopback are served: there is no token and no TLS yet.
//!
//! [`RecordingStorage`] is a storage: folders of recordings, of which a question reads the fields that it
//! wants.  [`SideFileMaker`] makes the files that make this fast.
//!
//! Uses `promql`, `archive` and `view`; hyper and tokio, which start with the server and not with the program.  Begin with
//! `server.rs` (connections), then `interface.rs` (paths) and `parameters.rs` (what is asked).
#![forbid(unsafe_code)]

mod clock;
mod interface;
mod names;
mod parameters;
mod plan;
mod recordings;
mod server;
mod settings;
mod side_files;

pub use names::prometheus_names;
pub use recordings::RecordingStorage;
pub use server::{QueryServer, ServeError};
pub use settings::ServeSettings;
pub use side_files::SideFileMaker;
