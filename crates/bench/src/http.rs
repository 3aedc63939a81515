//! Asking a server by GET over TCP: a connection for each question, as a script does.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a server answers.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// As it came: packed, if that was asked for and the server does it.
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Asks for a path; `packed` lets the server pack its answer.
pub(crate) fn get(address: SocketAddr, path: &str, packed: bool) -> io::Result<HttpAnswer> {
    let mut connection = ask(address, path, packed)?;
    let mut bytes = Vec::new();
    let mut part = [0; 64 << 10];
    loop {
        if let Some(answer) = whole(&bytes) {
            return Ok(answer);
        }
        match connection.read(&mut part)? {
            0 => break,
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    let (head, body) = split(&bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(HttpAnswer { status: status(head), body: body.to_vec() })
}

/// Asks for a path, and leaves the answer to be read.
pub(crate) fn ask(address: SocketAddr, path: &str, packed: bool) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let packing = if packed { "Accept-Encoding: gzip\r\n" } else { "" };
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{packing}Connection: close\r\n\r\n");
    // At once: a server may answer, and close, when it has read a part.
    connection.write_all(request.as_bytes())?;
    Ok(connection)
}

/// An answer that says how long it is, once all of it is there.
fn whole(bytes: &[u8]) -> Option<HttpAnswer> {
    let (head, body) = split(bytes)?;
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    let length: usize = value?.parse().ok()?;
    let body = body.get(..length)?.to_vec();
    Some(HttpAnswer { status: status(head), body })
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 4..]))
}

fn status(head: &str) -> u16 {
    let word = head.split(' ').nth(1);
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_it_says() {
        let answer = whole(b"HTTP/1.1 200 OK\r\ncontent-Length: 2\r\n\r\nabc").unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "ab"));
        assert!(whole(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc").is_none());
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\nabc").is_none());
        assert_eq!(status(split(b"HTTP/1.1 404 No\r\n\r\n").unwrap().0), 404);
    }
}
