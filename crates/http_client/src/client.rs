//! Requests to one server and their answers.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use connection::{Address, ClientTls, connect_unix};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{self, Runtime};

use crate::{HttpError, HttpUrl};

/// Where systems keep the authorities that they trust.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The file of the authorities that this system trusts, if it has one of the usual ones.
#[must_use]
pub fn system_authorities() -> Option<PathBuf> {
    AUTHORITIES.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// The header `Authorization` with the token in a file that nobody else may read (RFC 6750).
///
/// # Errors
/// If the file cannot be read, others may read it, or its text is no token.
pub fn bearer(path: &Path) -> io::Result<HeaderValue> {
    let secret = connection::read_secret(path)?;
    let value = HeaderValue::from_bytes(&[b"Bearer ", secret.as_slice()].concat());
    let mut value = value.map_err(io::Error::other)?;
    value.set_sensitive(true);
    Ok(value)
}

/// What a request may take.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The time of a request: the name, the connection, TLS and the answer.
    pub timeout: Duration,
    /// The most bytes of an answer's body.
    pub answer_bytes_max: usize,
    /// What is trusted if the address begins with https.
    pub tls: Option<ClientTls>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings { timeout: Duration::from_secs(30), answer_bytes_max: 1 << 20, tls: None }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct ClientAnswer {
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub headers: HeaderMap,
    /// The body of the answer, whole.
    pub body: Bytes,
}

/// A client of one server.  It keeps the connection between requests, and makes a new one when the
/// server has ended it.
pub struct HttpClient {
    url: HttpUrl,
    settings: ClientSettings,
    runtime: Runtime,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl HttpClient {
    /// A client of a server; nothing is connected yet.
    ///
    /// # Errors
    /// If the system gives no file descriptors for it.
    pub fn new(url: HttpUrl, settings: ClientSettings) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(HttpClient { url, settings, runtime, connection: None })
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Sends a request and waits for its answer, whatever its status is.  `target` is the path with
    /// its query ([`HttpUrl::target`], [`HttpUrl::below`]).
    ///
    /// # Errors
    /// If there is no answer in time, or none of the size that is allowed.  The server may have had
    /// the request all the same.
    pub fn send(
        &mut self,
        method: Method,
        target: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: impl Into<Bytes>,
    ) -> Result<ClientAnswer, HttpError> {
        let (url, settings) = (&self.url, &self.settings);
        let request = request(url, method, target, headers, Full::new(body.into()))?;
        let kept = self.connection.take();
        let (answer, connection) = self.runtime.block_on(answered(kept, url, settings, request))?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

/// Sends a request over a connection of its own, within the runtime of the caller, and gives its whole
/// answer.
///
/// # Errors
/// If there is no answer in time, or none of the size that is allowed.
pub async fn ask(
    url: &HttpUrl,
    settings: &ClientSettings,
    target: &str,
    headers: &[(HeaderName, HeaderValue)],
) -> Result<ClientAnswer, HttpError> {
    let request = request(url, Method::GET, target, headers, Full::new(Bytes::new()))?;
    Ok(answered(None, url, settings, request).await?.0)
}

/// The answer to a request, and the connection for the next one.
async fn answered(
    kept: Option<SendRequest<Full<Bytes>>>,
    url: &HttpUrl,
    settings: &ClientSettings,
    request: Request<Full<Bytes>>,
) -> Result<(ClientAnswer, SendRequest<Full<Bytes>>), HttpError> {
    let work = async {
        let mut connection = usable(kept, url, settings).await?;
        let answer = connection.send_request(request).await;
        let answer = answer.map_err(|source| failed(url, source))?;
        let (head, body) = answer.into_parts();
        let body = whole(url, body, settings.answer_bytes_max).await?;
        let answer = ClientAnswer { status: head.status, headers: head.headers, body };
        Ok((answer, connection))
    };
    let done = tokio::time::timeout(settings.timeout, work).await;
    done.unwrap_or_else(|_| Err(timed_out(url, settings.timeout)))
}

/// Sends a request over a connection of its own, within the runtime of the caller, and gives the
/// answer when its head is there: the body comes part by part, without a bound on its size and time.
///
/// # Errors
/// If there is no head of an answer in time.
pub async fn open(
    url: &HttpUrl,
    settings: &ClientSettings,
    method: Method,
    target: &str,
    headers: &[(HeaderName, HeaderValue)],
) -> Result<Response<Incoming>, HttpError> {
    let request = request(url, method, target, headers, Full::new(Bytes::new()))?;
    let work = async {
        let mut connection = usable(None, url, settings).await?;
        connection.send_request(request).await.map_err(|source| failed(url, source))
    };
    let done = tokio::time::timeout(settings.timeout, work).await;
    done.unwrap_or_else(|_| Err(timed_out(url, settings.timeout)))
}

fn timed_out(url: &HttpUrl, timeout: Duration) -> HttpError {
    HttpError::TimedOut { server: url.to_string(), timeout }
}

fn failed(url: &HttpUrl, source: hyper::Error) -> HttpError {
    HttpError::Connection { server: url.to_string(), source }
}

fn request<B>(
    url: &HttpUrl,
    method: Method,
    target: &str,
    headers: &[(HeaderName, HeaderValue)],
    body: B,
) -> Result<Request<B>, HttpError> {
    let mut request = Request::builder().method(method).uri(target).header(HOST, &url.authority);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let made = request.body(body);
    made.map_err(|source| HttpError::Request { server: url.to_string(), source })
}

/// The body, if it is not too long.
async fn whole(url: &HttpUrl, body: Incoming, bytes_max: usize) -> Result<Bytes, HttpError> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(HttpError::TooLong { server: url.to_string(), bytes_max })
        }
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(source) => Err(failed(url, *source)),
            Err(_) => Err(HttpError::TooLong { server: url.to_string(), bytes_max }),
        },
    }
}

/// The connection that was kept, if it still is one, or a new one.
async fn usable<B>(
    kept: Option<SendRequest<B>>,
    url: &HttpUrl,
    settings: &ClientSettings,
) -> Result<SendRequest<B>, HttpError>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    if let Some(mut kept) = kept
        && kept.ready().await.is_ok()
    {
        return Ok(kept);
    }
    let unreachable = |source| HttpError::Connect { server: url.to_string(), source };
    match url.address() {
        Address::Unix(path) => {
            let stream = unix(path).map_err(unreachable)?;
            greeted(url, stream).await
        }
        Address::Network { host, port, is_encrypted } => {
            // Only a name waits for the system's resolver in a thread.
            let stream = tokio::net::TcpStream::connect((host.as_str(), *port)).await;
            let stream = stream.map_err(unreachable)?;
            stream.set_nodelay(true).map_err(unreachable)?;
            if !is_encrypted {
                return greeted(url, stream).await;
            }
            let no_authorities = || HttpError::NoAuthorities(url.to_string());
            let tls = settings.tls.as_ref().ok_or_else(no_authorities)?;
            let stream = encrypted(tls, host, stream).await.map_err(unreachable)?;
            greeted(url, stream).await
        }
    }
}

fn unix(path: &Path) -> io::Result<tokio::net::UnixStream> {
    let stream = connect_unix(path)?;
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

async fn encrypted(
    tls: &ClientTls,
    host: &str,
    stream: tokio::net::TcpStream,
) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
    let name = tokio_rustls::rustls::pki_types::ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    tokio_rustls::TlsConnector::from(tls.config()).connect(name, stream).await
}

/// Speaks HTTP over a stream; a task of the runtime carries what is said.
async fn greeted<B>(
    url: &HttpUrl,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<B>, HttpError>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    let made = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(|source| failed(url, source))?;
    // How it ends is told by the request that it carries.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}
