//! A client of HTTP servers, for tests: one request for each connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The number of the status line.
    pub status: u16,
    /// The lines of the head below the status line.
    pub head: String,
    /// The body.
    pub body: String,
}

/// Sends bytes as they are and reads until the server closes the connection.  `None` if what it sends
/// is no answer.
///
/// # Panics
/// If nobody listens at the address.
#[must_use]
pub fn http_raw(address: SocketAddr, request: &[u8]) -> Option<HttpAnswer> {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(crate::PATIENCE)).expect("a time-out");
    http_over(stream, request)
}

/// The same over a connection that is open.
#[must_use]
pub fn http_over(mut stream: impl Read + Write, request: &[u8]) -> Option<HttpAnswer> {
    // A server that refuses a request closes before it has read it all.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let (first, head) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = first.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()?;
    Some(HttpAnswer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Asks by GET, with the parameters in the address, or by POST, with a form.
///
/// # Panics
/// If there is no answer.
#[must_use]
pub fn http(
    address: SocketAddr,
    method: &str,
    path: &str,
    parameters: &[(&str, &str)],
) -> HttpAnswer {
    let pairs =
        parameters.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    let form = pairs.collect::<Vec<_>>().join("&");
    // The answer of version 1.0 is not in chunks.
    let request = match method {
        "POST" => format!(
            "POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ),
        _ => format!("{method} {path}?{form} HTTP/1.0\r\nHost: localhost\r\n\r\n"),
    };
    http_raw(address, request.as_bytes()).expect("an answer")
}

/// A text as it stands in a form.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' => {
            char::from(byte).to_string()
        }
        b' ' => "+".to_owned(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
