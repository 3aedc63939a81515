//! A server over a few series.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use connection::{Address, ServerListener};
use http_server::{HttpAccess, HttpSettings};
use promql::{Labels, MemoryStorage, Metadata, Series, SeriesPoint, SeriesStorage};
use sample::Meta;
use serve::{QueryServer, ServeSettings, live_samples};

/// When the samples begin, and end ten minutes later.
pub(crate) const START_S: i64 = 1_700_000_000;

pub(crate) fn storage() -> MemoryStorage {
    let mut series = Vec::new();
    for (instance, job, factor) in [("a:1", "whit", 1), ("b:1", "whit", 2), ("c:1", "x<&>", 3)] {
        for (name, start) in [("load1", 0), ("reads_total", 1000)] {
            let labels = [("__name__", name), ("instance", instance), ("job", job)];
            let labels = Arc::new(labels.into_iter().collect::<Labels>());
            let sample = |step: i64| SeriesPoint {
                time_ms: (START_S + 10 * step) * 1000,
                value: (start + step * factor) as f64 / 4.0,
            };
            series.push(Series { labels, samples: (0..60).map(sample).collect() });
        }
    }
    let known = |name: &str, kind, help: &str| Metadata {
        name: name.to_owned(),
        kind,
        help: help.to_owned(),
        unit: String::new(),
    };
    let metadata =
        vec![known("load1", "gauge", "The load."), known("reads_total", "counter", "Reads.")];
    MemoryStorage { series, metadata }
}

/// A free port of the loopback.
pub(crate) fn listeners() -> Vec<ServerListener> {
    let address = Address::Network { host: "127.0.0.1".to_owned(), port: 0, is_encrypted: false };
    http_server::open(&address, None, &HttpAccess::ThisMachine).unwrap()
}

/// Limits of time that never decide a test.
pub(crate) fn patient() -> HttpSettings {
    HttpSettings { client_time_max: Duration::from_secs(600), ..ServeSettings::default().http }
}

pub(crate) fn start(http: HttpSettings, storage: impl SeriesStorage + 'static) -> QueryServer {
    start_with(ServeSettings { http, ..ServeSettings::default() }, storage)
}

pub(crate) fn start_with(
    settings: ServeSettings,
    storage: impl SeriesStorage + 'static,
) -> QueryServer {
    let (_, pages) = live_samples(Meta::new(), &[]);
    let pages = Arc::new(pages);
    QueryServer::start(listeners(), settings, Arc::new(storage), pages).unwrap()
}

pub(crate) fn server() -> QueryServer {
    start(patient(), storage())
}

pub(crate) fn address(server: &QueryServer) -> SocketAddr {
    server.address().unwrap()
}

/// The samples as Prometheus imports them.
pub(crate) fn open_metrics() -> String {
    let mut text = String::new();
    for (kind, name, help) in [("gauge", "load1", "The load."), ("counter", "reads", "Reads.")] {
        text += &format!("# TYPE {name} {kind}\n# HELP {name} {help}\n");
        let storage = storage();
        let of_name = |series: &&Series| series.labels.get("__name__").starts_with(name);
        for series in storage.series.iter().filter(of_name) {
            let labels = &series.labels;
            for sample in &series.samples {
                text += &format!(
                    "{}{{instance=\"{}\",job=\"{}\"}} {} {}\n",
                    labels.get("__name__"),
                    labels.get("instance"),
                    labels.get("job"),
                    sample.value,
                    sample.time_ms / 1000
                );
            }
        }
    }
    text + "# EOF\n"
}
