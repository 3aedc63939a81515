//! A client beside servers of all kinds: right ones, hostile ones, none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_client::{ClientSettings, HttpClient, HttpError, HttpUrl, Method, StatusCode, header};

/// Takes a connection for each list, in which it answers each request with one text; then it ends the
/// connection.  Returns what it was sent.
fn server(connections: Vec<Vec<Vec<u8>>>) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let mut heard = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                heard.push(request(&mut stream));
                // The client may have had enough.
                let _ = stream.write_all(&answer);
            }
        }
        heard
    });
    (address, thread)
}

/// A request with its body.
fn request(stream: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    let mut one = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut one).unwrap() == 1 {
        bytes.push(one[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.to_ascii_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn client(address: SocketAddr, settings: ClientSettings) -> HttpClient {
    let url = HttpUrl::parse(&format!("http://{address}/base")).unwrap();
    HttpClient::new(url, settings).unwrap()
}

#[test]
fn a_connection_serves_many_requests_and_is_made_again_when_it_ended() {
    let moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let ends = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nc".to_vec();
    let connections = vec![vec![answer("200 OK", "a"), ends], vec![moved.to_vec()]];
    let (address, server) = server(connections);
    let mut client = client(address, ClientSettings::default());
    let headers = [(header::USER_AGENT, header::HeaderValue::from_static("whit"))];
    let target = client.url().target();
    let first = client.send(Method::POST, &target, &headers, "body").unwrap();
    assert_eq!((first.status, &first.body[..]), (StatusCode::OK, &b"a"[..]));
    let below = client.url().below("/x?y=1");
    assert_eq!(&client.send(Method::GET, &below, &[], "").unwrap().body[..], b"c");
    // A redirect is the answer: nobody is asked elsewhere.
    let third = client.send(Method::GET, "/", &[], "").unwrap();
    assert_eq!(third.status, StatusCode::FOUND);
    let heard = server.join().unwrap();
    assert!(heard[0].starts_with("POST /base HTTP/1.1\r\n"), "{heard:?}");
    assert!(heard[0].contains(&format!("host: {address}\r\n")), "{heard:?}");
    assert!(heard[0].contains("user-agent: whit\r\n") && heard[0].ends_with("body"), "{heard:?}");
    assert!(heard[1].starts_with("GET /base/x?y=1 HTTP/1.1\r\n"), "{heard:?}");
}

#[test]
fn what_a_bad_server_says_is_an_error() {
    let endless = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 5000]].concat();
    for (said, error) in [
        (endless, "has more than 4096 bytes"),
        (answer("200 OK", &"x".repeat(5000)), "has more than 4096 bytes"),
        (b"SSH-2.0-x\r\n".to_vec(), "connection to"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec(), "connection to"),
        (Vec::new(), "connection to"),
    ] {
        let (address, server) = server(vec![vec![said]]);
        let settings = ClientSettings { answer_bytes_max: 4096, ..ClientSettings::default() };
        let mut client = client(address, settings);
        let failed = client.send(Method::GET, "/", &[], "").unwrap_err();
        assert!(failed.to_string().contains(error), "{failed}");
        server.join().unwrap();
    }
}

#[test]
fn a_server_that_is_silent_or_not_there_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let timeout = Duration::from_millis(50);
    let settings = ClientSettings { timeout, ..ClientSettings::default() };
    let mut asks = client(silent.local_addr().unwrap(), settings);
    let failed = asks.send(Method::GET, "/", &[], "").unwrap_err();
    assert!(matches!(failed, HttpError::TimedOut { .. }), "{failed}");
    let address = silent.local_addr().unwrap();
    drop((silent, asks));
    let failed = client(address, ClientSettings::default()).send(Method::GET, "/", &[], "");
    assert!(matches!(failed, Err(HttpError::Connect { .. })), "{failed:?}");
    let url = HttpUrl::parse(&format!("https://{address}/")).unwrap();
    let mut client = HttpClient::new(url, ClientSettings::default()).unwrap();
    assert!(client.send(Method::GET, "/", &[], "").is_err());
    for target in ["no path", "/a b", "/\r\nX: y"] {
        let made = client.send(Method::GET, target, &[], "");
        assert!(made.is_err(), "{target}");
    }
}

#[test]
fn a_socket_file_is_a_server_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let heard = request(&mut stream);
        stream.write_all(&answer("204 No Content", "")).unwrap();
        heard
    });
    let url = HttpUrl::parse(&format!("unix:{}", path.display())).unwrap();
    let mut client = HttpClient::new(url, ClientSettings::default()).unwrap();
    let answered = client.send(Method::GET, "/parts", &[], "").unwrap();
    assert_eq!(answered.status, StatusCode::NO_CONTENT);
    assert!(server.join().unwrap().starts_with("GET /parts HTTP/1.1\r\nhost: localhost\r\n"));
}
