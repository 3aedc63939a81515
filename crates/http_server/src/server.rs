//! Connections: from the socket to a request, and back.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use connection::{ListeningSocket, ServerListener};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::access::{Gate, HttpAccess};
use crate::answer::{HttpAnswer, text_answer};
use crate::patient::Patient;
use crate::places::{ConnectionPlace, FoundPlace, Places};

/// The buffer of a connection: no head may be longer.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Lines of a head.
const HEAD_LINES_MAX: usize = 64;

/// How long the server waits when it has no descriptor for a new connection.
const PAUSE: Duration = Duration::from_millis(100);

/// What a server does, and its limits.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Who may ask.
    pub access: HttpAccess,
    /// Connections at the same time.  For one more, the one that has waited longest for a request is
    /// closed, and counted; if all work, the new one is.
    pub connections_max: usize,
    /// Whether a connection takes another request after its first.
    pub keeps_alive: bool,
    /// How long a client may take for TLS, for the head of a request, for its body, and to take a part
    /// of the answer; also how long a connection may be idle.
    pub client_time_max: Duration,
    /// Bytes of the body of a request.
    pub body_bytes_max: usize,
    /// How long an address waits after a wrong password or token.
    pub wrong_password_pause: Duration,
    /// Threads of [`in_background`].
    pub threads_max: usize,
    /// The stack of each of them.
    pub thread_stack_bytes: usize,
}

impl Default for HttpSettings {
    /// The usual limits, for programs of this machine.
    fn default() -> Self {
        HttpSettings {
            access: HttpAccess::ThisMachine,
            connections_max: 512,
            keeps_alive: true,
            client_time_max: Duration::from_secs(30),
            body_bytes_max: 64 << 10,
            wrong_password_pause: Duration::from_secs(1),
            threads_max: 1,
            thread_stack_bytes: 256 << 10,
        }
    }
}

/// What answers requests.
pub trait HttpHandler: Send + Sync + 'static {
    /// Answers a request, in the thread of all connections: what takes long belongs into
    /// [`in_background`].  The future is dropped if the client goes away.
    fn answer(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>>;
}

/// Does work in one of the server's threads for that; `None` if it panicked.
pub async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// The system refuses a thread or a descriptor to a server.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the HTTP server")]
pub struct HttpStartError(#[from] io::Error);

/// A running server; dropping it ends the server and what it works on.
pub struct HttpServer {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct Shared {
    settings: HttpSettings,
    gate: Gate,
    handler: Arc<dyn HttpHandler>,
    places: Arc<Places>,
    closed: AtomicU64,
    refused_bodies: AtomicU64,
    end: Notify,
}

/// A socket of the runtime.
enum Socket {
    Tcp(TcpListener, Option<TlsAcceptor>),
    Unix(UnixListener),
}

impl HttpServer {
    /// Serves the sockets from a thread of its own.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn start(
        listeners: Vec<ServerListener>,
        settings: HttpSettings,
        handler: Arc<dyn HttpHandler>,
    ) -> Result<Self, HttpStartError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // One more computes the hashes of passwords.
            .max_blocking_threads(settings.threads_max.max(1) + 1)
            .thread_stack_size(settings.thread_stack_bytes)
            .thread_name("http-work")
            .build()?;
        let mut addresses = Vec::new();
        let inside = runtime.enter();
        let sockets: io::Result<Vec<Socket>> =
            listeners.into_iter().map(|listener| socket(listener, &mut addresses)).collect();
        let sockets = sockets?;
        drop(inside);
        let shared = Arc::new(Shared {
            gate: Gate::new(&settings.access, settings.wrong_password_pause)?,
            places: Places::new(settings.connections_max),
            settings,
            handler,
            closed: AtomicU64::new(0),
            refused_bodies: AtomicU64::new(0),
            end: Notify::new(),
        });
        let own = shared.clone();
        let serve = move || {
            runtime.block_on(async {
                for socket in sockets {
                    drop(tokio::spawn(accept_all(socket, own.clone())));
                }
                own.end.notified().await;
            });
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(serve)?;
        Ok(HttpServer { addresses, shared, thread: Some(thread) })
    }

    /// Where it listens, on networks.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The number of connections that were closed, since there were too many.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.shared.closed.load(Ordering::Relaxed)
    }

    /// The number of requests that no handler saw: their bodies were too long, came too slowly, or were
    /// cut.
    #[must_use]
    pub fn refused_bodies(&self) -> u64 {
        self.shared.refused_bodies.load(Ordering::Relaxed)
    }

    /// What the server has refused that no handler saw, each with its number.
    #[must_use]
    pub fn unseen(&self) -> [(u64, &'static str); 2] {
        [
            (self.closed(), "connections closed, since there were too many at once"),
            (
                self.refused_bodies(),
                "requests refused, whose bodies were too long, too slow or cut",
            ),
        ]
    }

    /// The number of passwords that were hashed to check them.
    #[must_use]
    pub fn passwords_hashed(&self) -> u64 {
        self.shared.gate.hashed()
    }
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HttpServer").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.end.notify_one();
        if let Some(thread) = self.thread.take() {
            // It panicked only if a handler did, and then its client has had no answer.
            let _ = thread.join();
        }
    }
}

/// Gives a socket to the runtime.
fn socket(listener: ServerListener, addresses: &mut Vec<SocketAddr>) -> io::Result<Socket> {
    match listener.socket {
        ListeningSocket::Tcp(socket) => {
            socket.set_nonblocking(true)?;
            addresses.push(socket.local_addr()?);
            let tls = listener.tls.map(|tls| TlsAcceptor::from(tls.config()));
            Ok(Socket::Tcp(TcpListener::from_std(socket)?, tls))
        }
        ListeningSocket::Unix(socket, _) => {
            socket.set_nonblocking(true)?;
            Ok(Socket::Unix(UnixListener::from_std(socket)?))
        }
    }
}

/// Takes connections, for ever.
async fn accept_all(socket: Socket, shared: Arc<Shared>) {
    loop {
        let is_taken = match &socket {
            Socket::Tcp(listener, tls) => match listener.accept().await {
                Ok((stream, peer)) => {
                    let _ = stream.set_nodelay(true);
                    let from = Some(peer.ip());
                    match tls.clone() {
                        None => begin(&shared, from, async { Ok(stream) }),
                        Some(tls) => {
                            let longest = shared.settings.client_time_max;
                            let greet = tokio::time::timeout(longest, tls.accept(stream));
                            begin(&shared, from, async { greet.await? });
                        }
                    }
                    true
                }
                Err(_) => false,
            },
            Socket::Unix(listener) => match listener.accept().await {
                Ok((stream, _)) => {
                    begin(&shared, None, async { Ok(stream) });
                    true
                }
                Err(_) => false,
            },
        };
        if !is_taken {
            // No descriptor is free, or the client has gone.
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Starts the task of a connection, if there is a place for it.
fn begin<S, G>(shared: &Arc<Shared>, from: Option<IpAddr>, greeted: G)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    G: Future<Output = io::Result<S>> + Send + 'static,
{
    let place = match shared.places.acquire() {
        FoundPlace::Free(place) => place,
        FoundPlace::Instead(place) => {
            shared.closed.fetch_add(1, Ordering::Relaxed);
            place
        }
        FoundPlace::None => {
            shared.closed.fetch_add(1, Ordering::Relaxed);
            return;
        }
    };
    let shared = shared.clone();
    drop(tokio::spawn(async move {
        tokio::select! {
            () = place.must_end() => {}
            () = async {
                // A client that cannot be greeted went away, was too slow, or spoke no TLS.
                if let Ok(stream) = greeted.await {
                    converse(stream, from, &place, &shared).await;
                }
            } => {}
        }
    }));
}

/// Answers the requests of one connection.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send>(
    stream: S,
    from: Option<IpAddr>,
    place: &ConnectionPlace,
    shared: &Arc<Shared>,
) {
    let longest = shared.settings.client_time_max;
    let service = service_fn(|request| async move {
        Ok::<_, Infallible>(answer(request, from, place, shared).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(longest)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .keep_alive(shared.settings.keeps_alive)
        .serve_connection(TokioIo::new(Patient::new(stream, longest)), service);
    // An error is the client's: it went away, was too slow, or spoke no HTTP.
    let _ = connection.await;
}

/// Answers one request.
async fn answer(
    request: Request<Incoming>,
    from: Option<IpAddr>,
    place: &ConnectionPlace,
    shared: &Arc<Shared>,
) -> HttpAnswer {
    if let Some(refusal) = shared.gate.refusal(request.headers(), from).await {
        return refusal;
    }
    let (head, body) = request.into_parts();
    let body = match whole_body(body, shared).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    place.works();
    let request = Request::from_parts(head, body);
    let answer = shared.handler.clone().answer(request).await;
    place.waits();
    answer
}

/// The body of a request, or why it is refused (RFC 9110, sections 15.5.1, 15.5.9 and 15.5.14).
async fn whole_body(body: Incoming, shared: &Shared) -> Result<Bytes, HttpAnswer> {
    let most = shared.settings.body_bytes_max;
    let body = Limited::new(body, most).collect();
    let (status, why) = match tokio::time::timeout(shared.settings.client_time_max, body).await {
        Ok(Ok(body)) => return Ok(body.to_bytes()),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "the body came too slowly\n".to_owned()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes\n"))
        }
        Ok(Err(_)) => (StatusCode::BAD_REQUEST, "the body is malformed, or cut\n".to_owned()),
    };
    shared.refused_bodies.fetch_add(1, Ordering::Relaxed);
    Err(text_answer(status, why))
}
