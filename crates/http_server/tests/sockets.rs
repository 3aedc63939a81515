//! The sockets: TLS, socket files, connections that take one request.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use connection::{Address, ClientTls, ServerTls, SocketStream, connect_tcp, resolve};
use http_server::{HttpAccess, HttpServer, HttpSettings, open};
use testkit::{Authority, PATIENCE, http_over};

use crate::common::{Echo, address, loopback, patient, start};

const REQUEST: &[u8] = b"GET /a HTTP/1.0\r\n\r\n";

#[test]
fn requests_come_over_tls_and_only_from_clients_with_a_certificate_if_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ca");
    let files = authority.sign("server", &["127.0.0.1"], false);
    let own = authority.sign("client", &[], false);
    for asks in [false, true] {
        let ca = asks.then_some(&*authority.file);
        let tls = ServerTls::load(&files.certificate, &files.key, ca).unwrap();
        let listeners = open(&loopback(true), Some(&tls), &HttpAccess::Anyone).unwrap();
        let settings = HttpSettings { access: HttpAccess::Anyone, ..patient() };
        let server = HttpServer::start(listeners, settings, Arc::new(Echo::default())).unwrap();
        let ask = |own| {
            let client = ClientTls::load(&authority.file, own).unwrap();
            let address = address(&server);
            let places = resolve("127.0.0.1", address.port()).unwrap();
            let stream = SocketStream::tcp(connect_tcp(places, None).unwrap());
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let stream = stream.greet_tls(&client, "127.0.0.1", PATIENCE).ok()?;
            http_over(stream, REQUEST)
        };
        let own = ask(Some((&*own.certificate, &*own.key)));
        assert_eq!(own.map(|answer| answer.body), Some("/a 0".to_owned()));
        let stranger = ask(None);
        assert_eq!(stranger.is_some(), !asks);
        // Without TLS there is no answer, and the server goes on.
        assert!(testkit::http_raw(address(&server), REQUEST).is_none());
        assert_eq!(ask(None).is_some(), !asks);
    }
}

#[test]
fn a_client_that_never_greets_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let files = Authority::new(folder.path(), "ca").sign("server", &["127.0.0.1"], false);
    let tls = ServerTls::load(&files.certificate, &files.key, None).unwrap();
    let listeners = open(&loopback(true), Some(&tls), &HttpAccess::Anyone).unwrap();
    let settings = HttpSettings { client_time_max: Duration::from_millis(100), ..patient() };
    let server = HttpServer::start(listeners, settings, Arc::new(Echo::default())).unwrap();
    // It reads the end of the connection.
    assert!(testkit::http_raw(address(&server), b"").is_none());
}

#[test]
fn a_socket_file_serves_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listeners = open(&Address::Unix(path.clone()), None, &HttpAccess::ThisMachine).unwrap();
    let _server = HttpServer::start(listeners, patient(), Arc::new(Echo::default())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let answer = http_over(UnixStream::connect(&path).unwrap(), REQUEST).unwrap();
    assert_eq!(answer.body, "/a 0");
}

#[test]
fn a_connection_takes_one_request_or_many() {
    let two = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\
                Connection: close\r\n\r\n";
    for (keeps_alive, count) in [(true, 2), (false, 1)] {
        let server = start(HttpSettings { keeps_alive, ..patient() });
        let answer = testkit::http_raw(address(&server), two).unwrap();
        let both = format!("HTTP/1.1 {}", answer.head) + &answer.body;
        assert_eq!(both.matches("content-length: 4").count(), count, "{both}");
    }
}
