//! A handler that says what it was asked, and a server with it.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use connection::{Address, ServerListener};
use http_server::{HttpAccess, HttpAnswer, HttpHandler, HttpServer, HttpSettings, text_answer};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};

/// Bytes of the answer to `/large`: more than all buffers of a connection.
pub(crate) const LARGE_BYTES: usize = 32 << 20;

/// Answers with the path and the length of the body; `/hold` never, `/large` with much.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) held: Arc<AtomicUsize>,
}

/// Counts a request as long as somebody waits for it.
struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HttpHandler for Echo {
    fn answer(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        Box::pin(async move {
            match request.uri().path() {
                "/hold" => {
                    self.held.fetch_add(1, Ordering::SeqCst);
                    let _held = Held(self.held.clone());
                    std::future::pending().await
                }
                "/large" => text_answer(StatusCode::OK, vec![b'x'; LARGE_BYTES]),
                path => {
                    let text = format!("{path} {}", request.body().len());
                    text_answer(StatusCode::OK, text)
                }
            }
        })
    }
}

/// Limits of time that never decide a test.
pub(crate) fn patient() -> HttpSettings {
    HttpSettings { client_time_max: Duration::from_secs(600), ..HttpSettings::default() }
}

/// A port of the loopback.
pub(crate) fn loopback(is_encrypted: bool) -> Address {
    Address::Network { host: "127.0.0.1".to_owned(), port: 0, is_encrypted }
}

/// A free port of the loopback, open.
pub(crate) fn port() -> Vec<ServerListener> {
    http_server::open(&loopback(false), None, &HttpAccess::ThisMachine).unwrap()
}

pub(crate) fn start(settings: HttpSettings) -> HttpServer {
    HttpServer::start(port(), settings, Arc::new(Echo::default())).unwrap()
}

pub(crate) fn address(server: &HttpServer) -> SocketAddr {
    server.addresses()[0]
}
