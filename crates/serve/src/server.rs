//! Servers: of queries with a page of newest samples, and of such a page alone.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use connection::ServerListener;
use http_server::{HttpAnswer, HttpHandler, HttpServer, HttpSettings, HttpStartError};
use hyper::Request;
use hyper::body::Bytes;
use promql::SeriesStorage;

use crate::evaluation::Evaluation;
use crate::interface::{self, Shared};
use crate::memory::QueryMemory;
use crate::metrics::{self, NewestSamples};
use crate::page::Page;
use crate::settings::ServeSettings;

/// A running server of queries; dropping it ends the server and its queries.
pub struct QueryServer {
    http: HttpServer,
    shared: Arc<Shared>,
}

impl QueryServer {
    /// Serves a storage, and a page with the newest samples, from a thread of its own.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn start(
        listeners: Vec<ServerListener>,
        settings: ServeSettings,
        storage: Arc<dyn SeriesStorage>,
        newest: Arc<dyn NewestSamples>,
    ) -> Result<Self, HttpStartError> {
        QueryServer::begin(listeners, settings, storage, newest, None)
    }

    /// Serves recordings as [`start`](Self::start) does, and a page for people with its interface.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn start_with_page(
        listeners: Vec<ServerListener>,
        settings: ServeSettings,
        page: Page,
        newest: Arc<dyn NewestSamples>,
    ) -> Result<Self, HttpStartError> {
        let storage = page.recordings();
        QueryServer::begin(listeners, settings, storage, newest, Some(Arc::new(page)))
    }

    fn begin(
        listeners: Vec<ServerListener>,
        settings: ServeSettings,
        storage: Arc<dyn SeriesStorage>,
        newest: Arc<dyn NewestSamples>,
        page: Option<Arc<Page>>,
    ) -> Result<Self, HttpStartError> {
        // One thread more makes pages.
        let threads_max = settings.queries_max.max(1) + 1;
        let http = HttpSettings { threads_max, ..settings.http.clone() };
        let evaluation = Arc::new(Evaluation::new(settings));
        let shared = Arc::new(Shared { evaluation, storage, newest, page });
        let handler = Arc::new(QueryHandler(shared.clone()));
        Ok(QueryServer { http: HttpServer::start(listeners, http, handler)?, shared })
    }

    /// The server below.
    #[must_use]
    pub fn http(&self) -> &HttpServer {
        &self.http
    }

    /// Where it listens first.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.http.addresses().first().copied()
    }
}

impl Drop for QueryServer {
    fn drop(&mut self) {
        self.shared.evaluation.end();
        if let Some(page) = &self.shared.page {
            page.end();
        }
    }
}

struct QueryHandler(Arc<Shared>);

impl HttpHandler for QueryHandler {
    fn answer(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        Box::pin(async move { interface::answer(&self.0, &request).await })
    }
}

/// Serves a page with the newest samples, and nothing else, from a thread of its own; dropping it ends
/// the server.
pub struct MetricsServer(HttpServer);

impl MetricsServer {
    /// Starts the server.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn start(
        listeners: Vec<ServerListener>,
        settings: HttpSettings,
        newest: Arc<dyn NewestSamples>,
    ) -> Result<Self, HttpStartError> {
        let handler = Arc::new(MetricsHandler(newest, Arc::default()));
        Ok(MetricsServer(HttpServer::start(listeners, settings, handler)?))
    }

    /// The server below.
    #[must_use]
    pub fn http(&self) -> &HttpServer {
        &self.0
    }
}

struct MetricsHandler(Arc<dyn NewestSamples>, Arc<QueryMemory>);

impl HttpHandler for MetricsHandler {
    fn answer(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        Box::pin(async move { metrics::answer_alone(&self.0, &request, &self.1).await })
    }
}
