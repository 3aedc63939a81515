//! The counters as an OpenMetrics page, for Prometheus and its like.

use std::fmt::Write as _;
use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use connection::ServerListener;
use http_server::{
    Bytes, HttpAccess, HttpAnswer, HttpHandler, HttpServer, HttpSettings, Request, StatusCode,
    answer,
};

use crate::daemon::CachingDaemon;
use crate::journal::Journal;

/// The type of the page.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How long a part of a request may take.
const CLIENT_TIME_MAX: Duration = Duration::from_secs(5);

/// Serves the page: any request is answered with it, and the connection closed.
pub(crate) fn serve(
    listeners: Vec<ServerListener>,
    daemon: &Arc<CachingDaemon>,
) -> io::Result<HttpServer> {
    let settings = HttpSettings {
        // Whoever reaches a socket may ask, as with the others; TLS may want a certificate.
        access: HttpAccess::Anyone,
        connections_max: daemon.settings.limits.connections,
        keeps_alive: false,
        client_time_max: CLIENT_TIME_MAX,
        ..HttpSettings::default()
    };
    let handler = Arc::new(CountersPage(Arc::clone(daemon)));
    HttpServer::start(listeners, settings, handler).map_err(io::Error::other)
}

struct CountersPage(Arc<CachingDaemon>);

impl HttpHandler for CountersPage {
    fn answer(
        self: Arc<Self>,
        _request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        Box::pin(ready(answer(StatusCode::OK, CONTENT_TYPE, page(&self.0))))
    }
}

fn page(daemon: &CachingDaemon) -> String {
    let counters = &daemon.counters;
    let journal = daemon.journal.as_ref();
    let counts = [
        ("updates_received", "UPDATE commands", counters.updates_received.get()),
        ("flushes_received", "FLUSH commands", counters.flushes_received.get()),
        ("file_writes", "Writes of files", counters.updates_written.get()),
        ("readings_written", "Readings that are in their files", counters.readings_written.get()),
        ("readings_accepted", "Readings that were acknowledged", counters.readings_accepted.get()),
        ("updates_refused", "UPDATE commands that were refused", counters.readings_refused.get()),
        ("readings_dropped", "Readings that their file refused", counters.readings_dropped.get()),
        (
            "readings_replayed",
            "Readings that came back from a journal",
            counters.readings_replayed.get(),
        ),
        ("write_errors", "Writes of files that failed", counters.write_errors.get()),
        ("journal_errors", "Writes of the journal that failed", counters.journal_errors.get()),
        ("journal_bytes", "Bytes written to the journal", journal.map_or(0, Journal::bytes)),
        ("journal_rotations", "Segments begun", journal.map_or(0, Journal::rotations)),
        ("memory_waits", "Times that a client waited for memory", counters.memory_waits.get()),
        ("connections", "Connections taken", counters.connections.get()),
        ("connections_refused", "Connections refused", counters.connections_refused.get()),
    ];
    let gauges = [
        ("queue_length", "Files that wait to be written", daemon.queue.len() as u64),
        ("files", "Files in memory", daemon.cache.len() as u64),
        ("memory_bytes", "Memory of readings and files", daemon.cache.bytes()),
        ("replaying", "Whether an old journal is read", u64::from(!daemon.is_replayed())),
        (
            "read_only",
            "Whether readings are refused until there is room for the journal",
            u64::from(daemon.is_read_only()),
        ),
    ];
    let mut page = String::new();
    for (name, about, count) in counts {
        let _ = write!(
            page,
            "# TYPE rrdcached_{name} counter\n# HELP rrdcached_{name} {about}.\n\
             rrdcached_{name}_total {count}\n"
        );
    }
    for (name, about, level) in gauges {
        let _ = write!(
            page,
            "# TYPE rrdcached_{name} gauge\n# HELP rrdcached_{name} {about}.\n\
             rrdcached_{name} {level}\n"
        );
    }
    page.push_str("# EOF\n");
    page
}
