//! Several machines that write to one daemon: writers on addresses of their own, over TCP and TLS.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use crate::common::{GAUGE, LocalMachine, folder, make, rows, settings};
use connection::{ListeningSocket, ServerTls};
use rrdcached::protocol::Permissions;
use rrdcached::{Acknowledge, CachingDaemon, Listener, Server};
use rrdclient::{Client, TlsFiles};
use rustix::net::{AddressFamily, SocketType};
use testkit::Authority;

const START: i64 = 1_600_000_000;
const BATCHES: i64 = 40;
const READINGS: i64 = 50;
const FILES: usize = 5;

/// A connection from an address of this machine.
fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
    let socket = socket.expect("socket");
    rustix::net::bind(&socket, &SocketAddr::from((from, 0))).expect("address");
    rustix::net::connect(&socket, &to).expect("connection");
    socket.into()
}

/// A writer without encryption: its batches, each acknowledged before the next.
fn write_plain(number: usize, to: SocketAddr) {
    let stream = connect([127, 0, 1, number as u8 + 1], to);
    let mut input = BufReader::new(stream.try_clone().expect("clone"));
    let mut output = stream;
    let mut line = || {
        let mut line = String::new();
        input.read_line(&mut line).expect("answer");
        line
    };
    for batch in 0..BATCHES {
        let mut text = String::from("BATCH\n");
        for file in 0..FILES {
            text.push_str(&format!("UPDATE w{number}f{file}.rrd"));
            for reading in 1..=READINGS {
                let value = batch * READINGS + reading;
                text.push_str(&format!(" {}:{value}", START + value));
            }
            text.push('\n');
        }
        text.push_str(".\n");
        // In pieces, as a network delivers them.
        for piece in text.as_bytes().chunks(777) {
            output.write_all(piece).expect("send");
        }
        assert!(line().starts_with("0 Go ahead"));
        assert_eq!(line(), "0 errors\n");
    }
}

fn write_encrypted(number: usize, address: &str, files: &TlsFiles) {
    let client = Client::connect(address, None, files).expect("connection");
    for batch in 0..BATCHES {
        let readings: Vec<String> = (1..=READINGS)
            .map(|reading| batch * READINGS + reading)
            .map(|value| format!("{}:{value}", START + value))
            .collect();
        let names: Vec<String> = (0..FILES).map(|file| format!("w{number}f{file}.rrd")).collect();
        let updates: Vec<(&str, &[String])> =
            names.iter().map(|name| (name.as_str(), &readings[..])).collect();
        assert_eq!(client.update_batch(&updates).expect("batch"), []);
    }
}

#[test]
fn several_writers_lose_nothing() {
    const PLAIN: usize = 4;
    const ALL: usize = 8;
    let (_held, path) = folder();
    for number in 0..ALL {
        for file in 0..FILES {
            make(&path.join(format!("base/w{number}f{file}.rrd")), GAUGE);
        }
    }
    let authority = Authority::new(&path, "authority");
    let own = authority.sign("server", &["127.0.0.1"], false);
    let listen = |tls: Option<ServerTls>, acknowledge| {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
        let address = socket.local_addr().expect("address");
        let listener = Listener {
            socket: ListeningSocket::Tcp(socket),
            permissions: Permissions::read("UPDATE,BATCH").expect("commands"),
            acknowledge,
            tls,
        };
        (listener, address)
    };
    let (plain, plain_address) = listen(None, Acknowledge::Os);
    let tls = ServerTls::load(&own.certificate, &own.key, Some(&authority.file)).expect("tls");
    let (encrypted, address) = listen(Some(tls), Acknowledge::Disk);
    let daemon =
        CachingDaemon::new(settings(&path), Box::new(LocalMachine::default())).expect("daemon");
    let server = Server::start(daemon, vec![plain, encrypted], Vec::new()).expect("server");
    std::thread::scope(|scope| {
        for number in 0..PLAIN {
            scope.spawn(move || write_plain(number, plain_address));
        }
        for number in PLAIN..ALL {
            let name = format!("writer{number}");
            let client = authority.sign(&name, &[], false);
            let files = TlsFiles {
                authority: Some(authority.file.clone()),
                certificate: Some(client.certificate),
                key: Some(client.key),
            };
            scope.spawn(move || write_encrypted(number, &format!("tls:{address}"), &files));
        }
    });
    server.stop(true);
    let expected: Vec<(i64, f64)> =
        (1..=BATCHES * READINGS).map(|value| (START + value, value as f64)).collect();
    for number in 0..ALL {
        for file in 0..FILES {
            let rows = rows(&path.join(format!("base/w{number}f{file}.rrd")));
            assert_eq!(rows, expected, "writer {number}, file {file}");
        }
    }
}
