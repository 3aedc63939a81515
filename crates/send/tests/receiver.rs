//! A server that takes requests as the test says.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A request: its head in small letters, and its body.
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Checks what the head has.
    pub(crate) fn assert_has(&self, lines: &[&str]) {
        for line in lines {
            assert!(self.head.contains(line), "{line}: {}", self.head);
        }
    }
}

/// Answers each request with a status, which may have further headers behind it, and a body.
pub(crate) fn receive(
    mut answer: impl FnMut(Received) -> (String, Vec<u8>) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A client that was killed is no error.
            let Ok(request) = received(&mut stream) else { continue };
            let (status, body) = answer(request);
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    address
}

fn received(stream: &mut TcpStream) -> std::io::Result<Received> {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one)?;
        head.push(one[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body)?;
    Ok(Received { head, body })
}
