//! Too many connections, and clients that are slow or take nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_server::{HttpServer, HttpSettings};
use testkit::{PATIENCE, http_raw, wait_until};

use crate::common::{Echo, LARGE_BYTES, address, patient, port, start};

fn is_served(address: SocketAddr) -> bool {
    let answer = http_raw(address, b"GET /a HTTP/1.0\r\n\r\n");
    answer.is_some_and(|answer| answer.body == "/a 0")
}

fn begin(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Reads until the server ends the connection; the number of bytes.
fn read_all(stream: &mut TcpStream) -> usize {
    let mut bytes = Vec::new();
    // It may also be reset.
    let _ = stream.read_to_end(&mut bytes);
    bytes.len()
}

#[test]
fn slow_connections_give_way_however_many_there_are() {
    let server = start(HttpSettings { connections_max: 50, ..patient() });
    let texts = ["", "GET /slow HT", "POST /slow HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"];
    let slow: Vec<TcpStream> =
        (0..500).map(|number| begin(address(&server), texts[number % 3])).collect();
    // Each was the newest of all for a moment.
    for _ in 0..20 {
        assert!(is_served(address(&server)));
    }
    assert!(server.closed() >= 450, "{}", server.closed());
    for mut stream in slow.into_iter().take(400) {
        assert_eq!(read_all(&mut stream), 0);
    }
}

#[test]
fn connections_that_work_do_not_give_way() {
    let echo = Echo::default();
    let held = echo.held.clone();
    let settings = HttpSettings { connections_max: 3, ..patient() };
    let server = HttpServer::start(port(), settings, Arc::new(echo)).unwrap();
    let mut working: Vec<TcpStream> =
        (0..3).map(|_| begin(address(&server), "GET /hold HTTP/1.0\r\n\r\n")).collect();
    wait_until("three requests", || held.load(Ordering::SeqCst) == 3);
    let mut extra = begin(address(&server), "");
    assert_eq!(read_all(&mut extra), 0);
    assert_eq!((server.closed(), held.load(Ordering::SeqCst)), (1, 3));
    // One that goes away ends its work and frees its place.
    working.pop();
    wait_until("its end", || held.load(Ordering::SeqCst) == 2);
    wait_until("a place", || is_served(address(&server)));
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let settings = HttpSettings { client_time_max: Duration::from_millis(200), ..patient() };
    let server = start(settings);
    let mut stream = begin(address(&server), "GET /large HTTP/1.0\r\n\r\n");
    // Others are answered, and the place is free again when the server has given up.
    let asks = std::iter::from_fn(|| Some(is_served(address(&server))));
    assert!(asks.take(200).filter(|is_served| *is_served).count() > 100);
    wait_until("its end", || {
        let now = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let own = format!(":{:04X} ", address(&server).port());
        // 01: a connection that both sides hold.
        !now.lines().skip(1).any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{} ", words[1]).ends_with(&own) && words[3] == "01"
        })
    });
    assert!(read_all(&mut stream) < LARGE_BYTES);
}

#[test]
fn bodies_and_heads_have_limits() {
    let server = start(patient());
    let ask = |request: String| http_raw(address(&server), request.as_bytes());
    let body = "b".repeat(65 << 10);
    let post = |length: usize, body: &str| {
        format!("POST /a HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    assert_eq!(ask(post(64 << 10, &body[..64 << 10])).unwrap().body, "/a 65536");
    // The connection may be reset before the refusal is read.
    for (name, request) in [
        ("a body", post(body.len(), &body)),
        ("a body without end", post(usize::MAX / 2, &body)),
        ("a line", format!("GET /a HTTP/1.0\r\nX: {}\r\n\r\n", "x".repeat(100_000))),
        ("lines", format!("GET /a HTTP/1.0\r\n{}\r\n", "X: y\r\n".repeat(65))),
        ("a path", format!("GET /{} HTTP/1.0\r\n\r\n", "x".repeat(100_000))),
        ("chunks", {
            let chunk = format!("FFFF\r\n{}\r\n", "c".repeat(65535));
            format!("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(3))
        }),
    ] {
        let status = ask(request).map(|answer| answer.status);
        let refused = status.is_none_or(|status| [400, 413, 414, 431].contains(&status));
        assert!(refused, "{name}: {status:?}");
        assert!(is_served(address(&server)));
    }
}
