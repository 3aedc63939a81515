//! Encrypted connections: who is let in, who is not and what it is told, and clients that do not end
//! what they began.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{GAUGE, LocalMachine, PATIENCE, folder, make, rows, settings};
use connection::{ListeningSocket, ServerTls};
use rrdcached::protocol::Permissions;
use rrdcached::{Acknowledge, CachingDaemon, DaemonSettings, Listener, Server};
use rrdclient::{Client, ClientError, TlsFiles};
use testkit::{Authority, CertificateFiles};

/// A daemon on a port of this machine; clients need a certificate of `clients`.
fn start(
    settings: DaemonSettings,
    own: &CertificateFiles,
    clients: Option<&Authority>,
) -> (Server, String) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("socket");
    let address = format!("tls:{}", socket.local_addr().expect("address"));
    let authority = clients.map(|authority| authority.file.as_path());
    let tls = ServerTls::load(&own.certificate, &own.key, authority).expect("certificate");
    let listener = Listener {
        socket: ListeningSocket::Tcp(socket),
        permissions: Permissions::ALL,
        acknowledge: Acknowledge::Os,
        tls: Some(tls),
    };
    let daemon = CachingDaemon::new(settings, Box::new(LocalMachine::default())).expect("daemon");
    (Server::start(daemon, vec![listener], Vec::new()).expect("server"), address)
}

fn files(authority: &Authority, own: Option<&CertificateFiles>) -> TlsFiles {
    TlsFiles {
        authority: Some(authority.file.clone()),
        certificate: own.map(|own| own.certificate.clone()),
        key: own.map(|own| own.key.clone()),
    }
}

/// What a client is told that asks for a sign of life.
fn refused(address: &str, files: &TlsFiles) -> String {
    let said = Client::connect(address, None, files).and_then(|client| client.ping());
    let error = said.expect_err("a refusal");
    assert!(matches!(error, ClientError::Tls(_)), "{error:?}");
    let text = error.to_string();
    text.strip_prefix("Unable to connect to rrdcached: TLS: ").expect("prefix").to_owned()
}

#[test]
fn only_certificates_of_the_right_authorities_are_taken() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let ours = Authority::new(&path, "ours");
    let others = Authority::new(&path, "others");
    let server_files = ours.sign("server", &["127.0.0.1"], false);
    let (server, address) = start(settings(&path), &server_files, Some(&ours));
    let client_files = ours.sign("client", &[], false);
    let own = files(&ours, Some(&client_files));

    let client = Client::connect(&address, None, &own).expect("connection");
    client.ping().expect("PONG");
    let readings: Vec<String> = (1..=3000).map(|n| format!("{}:{n}", 1_600_000_000 + n)).collect();
    client.update_batch(&[("a.rrd", &readings[..])]).expect("batch");
    // An answer of many records.
    let fetched = client.fetch("a.rrd", "LAST", 1_600_000_000, 1_600_003_000).expect("rows");
    assert_eq!(fetched.values.iter().filter(|value| !value.is_nan()).count(), 3000);

    for _ in 0..20 {
        assert_eq!(
            refused(&address, &files(&ours, None)),
            "the other side asks for a certificate, and we have none"
        );
    }
    let foreign = others.sign("foreign", &[], false);
    assert_eq!(
        refused(&address, &files(&ours, Some(&foreign))),
        "the other side does not know the authority (CA) that has signed our certificate"
    );
    let expired = ours.sign("expired", &[], true);
    assert_eq!(refused(&address, &files(&ours, Some(&expired))), "our certificate has expired");
    assert_eq!(
        refused(&address, &files(&others, Some(&client_files))),
        "the certificate of the other side is not signed by an authority (CA) that we trust"
    );
    let by_name = address.replace("127.0.0.1", "localhost");
    assert_eq!(refused(&by_name, &own), "the certificate of the other side is for another host");
    assert!(refused(&address, &TlsFiles::default()).contains("RRDCACHED_TLS_CA"));
    // A client that does not speak TLS.
    let plain = address.strip_prefix("tls:").expect("prefix");
    assert!(Client::connect(plain, None, &own).expect("socket").ping().is_err());
    client.ping().expect("the good client is not disturbed");
    drop(client);
    server.stop(true);
    assert_eq!(rows(&path.join("base/a.rrd")).len(), 3000);
}

#[test]
fn a_daemon_with_an_expired_certificate_or_without_tls_is_refused() {
    let (_held, path) = folder();
    let ours = Authority::new(&path, "ours");
    let expired = ours.sign("server", &["127.0.0.1"], true);
    let (server, address) = start(settings(&path), &expired, None);
    let text = refused(&address, &files(&ours, None));
    assert_eq!(text, "the certificate of the other side has expired");
    server.stop(true);
    let plain = TcpListener::bind("127.0.0.1:0").expect("socket");
    let address = format!("tls:{}", plain.local_addr().expect("address"));
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().expect("client");
        let _ = stream.write_all(b"-1 Unknown command\n");
        let _ = stream.read(&mut [0; 1000]);
    });
    assert_eq!(refused(&address, &files(&ours, None)), "the other side does not speak TLS");
    answers.join().expect("thread");
}

#[test]
fn without_an_authority_of_clients_everyone_may_connect() {
    let (_held, path) = folder();
    let ours = Authority::new(&path, "ours");
    let own = ours.sign("server", &["127.0.0.1"], false);
    let (server, address) = start(settings(&path), &own, None);
    let client = Client::connect(&address, None, &files(&ours, None)).expect("connection");
    client.ping().expect("PONG");
    drop(client);
    server.stop(true);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (_held, path) = folder();
    let ours = Authority::new(&path, "ours");
    let one = ours.sign("one", &["a"], false);
    let other = ours.sign("other", &["b"], false);
    let load = |certificate: &Path, key: &Path, authority: Option<&Path>| {
        ServerTls::load(certificate, key, authority).expect_err("refusal").to_string()
    };
    let name = |file: &Path| file.display().to_string();
    let missing = path.join("missing.pem");
    assert_eq!(load(&missing, &one.key, None), format!("cannot read {}", name(&missing)));
    assert_eq!(
        load(&one.key, &one.key, None),
        format!("{} holds no certificate in PEM", name(&one.key))
    );
    assert_eq!(
        load(&one.certificate, &one.certificate, None),
        format!("{} holds no private key in PEM", name(&one.certificate))
    );
    assert_eq!(
        load(&one.certificate, &other.key, None),
        format!(
            "{} and {} cannot be used together: the key is of another certificate",
            name(&one.certificate),
            name(&other.key)
        )
    );
    assert!(load(&one.certificate, &one.key, Some(&one.key)).contains("no certificate in PEM"));
    let long = path.join("long.pem");
    std::fs::write(&long, vec![b'x'; 2 << 20]).expect("file");
    assert!(load(&long, &one.key, None).contains("more than 1048576 bytes"));
}

/// A server that drops clients which do not end their handshake within so many seconds, and a
/// client's files.
fn start_impatient(path: &Path, seconds: u32) -> (Server, String, TlsFiles) {
    let ours = Authority::new(path, "ours");
    let own = ours.sign("server", &["127.0.0.1"], false);
    let mut settings = settings(path);
    settings.limits.handshake_seconds = seconds;
    let (server, address) = start(settings, &own, Some(&ours));
    let client_files = ours.sign("client", &[], false);
    (server, address, files(&ours, Some(&client_files)))
}

/// Clients that begin a handshake and do not end it hold up nobody; garbage ends its connection.
#[test]
fn a_handshake_that_does_not_end_holds_up_nobody() {
    let (_held, path) = folder();
    let (server, address, files) = start_impatient(&path, 3600);
    let plain = address.strip_prefix("tls:").expect("prefix");
    let connect = || TcpStream::connect(plain).expect("connection");
    let silent: Vec<TcpStream> = (0..24).map(|_| connect()).collect();
    let mut garbage = connect();
    let _ = garbage.write_all(&[0x47; 100_000]);
    // Nobody waits for as long as a handshake may take.
    garbage.set_read_timeout(Some(PATIENCE)).expect("timeout");
    let ended = garbage.read_to_end(&mut Vec::new());
    assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    let good = Client::connect(&address, None, &files).expect("connection");
    good.ping().expect("PONG");
    drop((good, silent));
    server.stop(true);
}

/// Clients that begin a handshake and do not end it are dropped, all of them within the same time.
#[test]
fn a_handshake_that_does_not_end_is_dropped() {
    let (_held, path) = folder();
    let (server, address, files) = start_impatient(&path, 2);
    let plain = address.strip_prefix("tls:").expect("prefix");
    let begun = Instant::now();
    let silent: Vec<TcpStream> =
        (0..24).map(|_| TcpStream::connect(plain).expect("connection")).collect();
    // One that sends a byte every now and then: a long record, hardly begun.
    let slow = TcpStream::connect(plain).expect("connection");
    let mut drips = slow.try_clone().expect("clone");
    let dripping = std::thread::spawn(move || {
        let record = [22, 3, 1, 0x10, 0, 1, 0, 0x0f, 0xfc];
        for byte in record.into_iter().chain(std::iter::repeat(0)) {
            if drips.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let mut dropped = Vec::new();
    for mut stream in silent.iter().chain([&slow]) {
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        // The end, or a reset.
        match stream.read(&mut [0; 10]) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        dropped.push(begun.elapsed());
    }
    assert!(dropped[0] >= Duration::from_millis(1900), "{dropped:?}");
    // One after the other would take 25 times as long.
    assert!(dropped[24] < 10 * dropped[0], "{dropped:?}");
    let _ = slow.shutdown(std::net::Shutdown::Both);
    dripping.join().expect("thread");
    let good = Client::connect(&address, None, &files).expect("connection");
    good.ping().expect("PONG");
    drop(good);
    server.stop(true);
}
