//! Connections: from the socket to a request, and back.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use promql::SeriesStorage;
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};

use crate::interface;
use crate::settings::{ServeSettings, Shared};

/// The stack of a thread that evaluates queries: the tree of a query has 150 levels at most.
const STACK_BYTES: usize = 4 << 20;

/// The buffer of a connection: no head may be longer.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Lines of a head.
const HEAD_LINES_MAX: usize = 64;

/// How long the server waits when it has no descriptor for a new connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not one of the loopback.
    #[error(
        "cannot listen on {0}: whoever reaches this address could read everything, and there is no \
         token and no TLS yet; choose an address of the loopback, such as 127.0.0.1:9797"
    )]
    NotLoopback(SocketAddr),
    /// The system refuses the address.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The system refuses a thread or a descriptor.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}

/// A running server; dropping it ends the server and its queries.
pub struct QueryServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl QueryServer {
    /// Listens, and serves a storage from a thread of its own.
    ///
    /// # Errors
    /// If the address is not one of the loopback, or the system refuses something.
    pub fn start(
        settings: ServeSettings,
        storage: Arc<dyn SeriesStorage>,
    ) -> Result<Self, ServeError> {
        let listen = settings.listen;
        if !listen.ip().is_loopback() {
            return Err(ServeError::NotLoopback(listen));
        }
        let listener =
            TcpListener::bind(listen).map_err(|error| ServeError::Listen(listen, error))?;
        listener.set_nonblocking(true).map_err(ServeError::Start)?;
        let address = listener.local_addr().map_err(ServeError::Start)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(settings.queries_max.max(1))
            .thread_stack_size(STACK_BYTES)
            .thread_name("query")
            .build()
            .map_err(ServeError::Start)?;
        let shared = Arc::new(Shared {
            queries: Semaphore::new(settings.queries_max.max(1)),
            settings,
            storage,
            ends: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            end: Notify::new(),
        });
        let own = shared.clone();
        let serve = move || {
            runtime.block_on(async {
                // Without a socket of the runtime there is nothing to serve.
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(&listener, &own) => {}
                    () = own.end.notified() => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("serve".into()).spawn(serve);
        let thread = Some(thread.map_err(ServeError::Start)?);
        Ok(QueryServer { address, shared, thread })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections that were closed at once, since there were too many.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Drop for QueryServer {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.end.notify_one();
        if let Some(thread) = self.thread.take() {
            // It panicked only if a query did, and then its client has had no answer.
            let _ = thread.join();
        }
    }
}

/// Takes connections, for ever.
async fn accept(listener: &tokio::net::TcpListener, shared: &Arc<Shared>) {
    let connections = Arc::new(Semaphore::new(shared.settings.connections_max));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is free, or the client has gone.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let shared = shared.clone();
        drop(tokio::spawn(async move {
            converse(stream, &shared).await;
            drop(permit);
        }));
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, shared: &Arc<Shared>) {
    let time_max = shared.settings.client_time_max;
    // A client that takes nothing of its answer is given up.
    let milliseconds = u32::try_from(time_max.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, milliseconds);
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async {
        Ok::<_, Infallible>(interface::answer(shared, request).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // An error is the client's: it went away, was too slow, or spoke no HTTP.
    let _ = connection.await;
}
