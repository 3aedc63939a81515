//! Peers that are broken, old, new or hostile, on both sides: they are refused and named, they take
//! nobody's place or memory, and those beside them are served.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::common::talk::rust_client;
use crate::common::{
    Deadline, Folders, PATIENCE, drain, folders, held, listener, proxy, pump, pump_to_end,
    settings, start,
};
use connection::Address;
use log_central::{AdmissionLimits, Central, CentralSettings};
use log_protocol::frame::{self, FrameKind, HEAD_BYTES, Head, StreamMark};
use log_protocol::handshake::{Hello, PeerRole, greet_server};
use log_protocol::{ProcessId, StreamId};
use log_proxy::Proxy;
use log_proxy::Spool;
use log_store::audit::Audit;
use log_store::{Retention, Store, StoreSettings};
use logring::{RingDirectory, RingReader, Tier, abi};

fn serve(folders: &Folders, limits: AdmissionLimits, retention: Retention) -> Central {
    let id = log_protocol::auth::random().unwrap();
    let settings =
        StoreSettings { segment_bytes: 1 << 18, sync: false, ..StoreSettings::default() };
    let (store, recovery) = Store::open(&folders.store, settings, id).unwrap();
    let listener = listener(&folders.socket);
    let settings = CentralSettings {
        acks_on_receipt: false,
        recordings: None,
        secret: Some(b"secret".to_vec()),
        delay: Duration::from_millis(2),
        retention,
        limits,
        host: "central".to_owned(),
    };
    Central::start(store, &recovery, vec![listener], settings).unwrap()
}

fn honest(folders: &Folders) -> Proxy {
    let mut settings = settings(&folders.rings, &folders.socket);
    settings.secret = Some(b"secret".to_vec());
    let spool =
        Spool::open(&folders.spool, 1 << 30, log_protocol::auth::random().unwrap()).unwrap();
    Proxy::new(settings, spool)
}

/// Writes records and carries them; all are in the store, once.
fn carry(folders: &Folders, count: u64) {
    let mut proxy = honest(folders);
    let mut writer = start(&format!("write|{}|1|{count}", folders.rings.display()));
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
}

fn connect(folders: &Folders) -> UnixStream {
    let stream = UnixStream::connect(&folders.socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What the other side says until it closes.
fn rest(mut stream: &UnixStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn framed(head: Head, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::put(&mut bytes, head, body);
    bytes
}

/// A connection of this role that was welcomed.
fn welcomed(folders: &Folders, role: PeerRole) -> (log_protocol::handshake::FrameReader, Writer) {
    let hello = Hello { role, proxy: [0; 16], host: String::new() };
    let address = Address::Unix(folders.socket.clone());
    let timeout = PATIENCE;
    greet_server(&address, timeout, None, Some(b"secret"), &hello).unwrap()
}

type Writer = connection::SocketStream;

/// Why a server that was sent these bytes ends the connection.
fn refused(folders: &Folders, role: PeerRole, bytes: &[u8]) -> String {
    let (mut reader, mut writer) = welcomed(folders, role);
    writer.write_all(bytes).unwrap();
    let mut body = Vec::new();
    loop {
        match reader.read(&mut body) {
            Ok(Some(head)) if head.kind == FrameKind::Refused => {
                return String::from_utf8(body).unwrap();
            }
            Ok(Some(_)) => {}
            ended => panic!("it says nothing: {ended:?}"),
        }
    }
}

#[test]
fn a_server_refuses_what_is_malformed_and_serves_the_others() {
    let folders = folders();
    let central = serve(&folders, AdmissionLimits::default(), Retention::default());
    // Before the hello: no frame, a body that is too long, a version from the future.
    for bytes in [b"GET / HTTP/1.1\r\nHost: central\r\n\r\n".repeat(4), vec![0xFF; 5000]] {
        let stream = connect(&folders);
        let _ = (&stream).write_all(&bytes);
        rest(&stream);
    }
    let stream = connect(&folders);
    let _ = (&stream).write_all(&framed(Head::plain(FrameKind::Hello), &vec![1; 1 << 20]));
    rest(&stream);
    let stream = connect(&folders);
    let future = [7_u32.to_le_bytes().as_slice(), &[9; 500]].concat();
    (&stream).write_all(&framed(Head::plain(FrameKind::Hello), &future)).unwrap();
    let said = rest(&stream);
    assert!(said.contains("speaks version 1 of the protocol, not 7"), "{said}");
    // Behind it.
    let stream = StreamId { process: ProcessId([9; 16]), ring: 1 };
    let mut unknown = Head::plain(FrameKind::Held).encode();
    unknown[4] = 200;
    let crc = crc32c::crc32c(&unknown[..60]);
    unknown[60..].copy_from_slice(&crc.to_le_bytes());
    let mut damaged = framed(Head::of(FrameKind::Records, stream, 0, 1, 1), &[1; 64]);
    damaged[HEAD_BYTES + 5] ^= 1;
    let mut endless = Head { body_bytes: 0, ..Head::plain(FrameKind::Records) }.encode();
    endless[8..12].copy_from_slice(&(2_u32 << 30).to_le_bytes());
    let crc = crc32c::crc32c(&endless[..60]);
    endless[60..].copy_from_slice(&crc.to_le_bytes());
    let bare = |kind| framed(Head::plain(kind), &[]);
    for (role, bytes, why) in [
        (PeerRole::Proxy, unknown.to_vec(), "kind 200"),
        (PeerRole::Proxy, damaged, "checksum"),
        (PeerRole::Proxy, endless.to_vec(), "more than any frame may have"),
        (PeerRole::Proxy, vec![0; HEAD_BYTES], "no frame begins here"),
        (PeerRole::Proxy, bare(FrameKind::Query), "kind 18 is not expected"),
        (PeerRole::Admin, bare(FrameKind::Records), "kind 10 is not expected"),
        (PeerRole::Admin, bare(FrameKind::Query), "a question that this version does not know"),
    ] {
        let said = refused(&folders, role, &bytes);
        assert!(said.contains(why), "{why}: {said}");
    }
    // Records that are none, with the right checksum: their range is named as lost, and no more.
    let (mut reader, mut writer) = welcomed(&folders, PeerRole::Proxy);
    let head = Head::of(FrameKind::Records, stream, 0, 5, 5);
    writer.write_all(&framed(head, &[0xEE; 240])).unwrap();
    let mut body = Vec::new();
    assert_eq!(reader.read(&mut body).unwrap().unwrap().kind, FrameKind::Ack);
    carry(&folders, 5_000);
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    let lost: Vec<_> = audit.streams.iter().filter(|(_, one)| !one.lost.is_empty()).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!((*lost[0].0, lost[0].1.lost_count()), (stream, 5));
    assert_eq!(held(&folders.store).numbers.values().map(Vec::len).sum::<usize>(), 5_000);
}

#[test]
fn who_says_nothing_or_does_not_listen_takes_nobodys_place() {
    let folders = folders();
    let limits = AdmissionLimits { newcomers: 4, ..AdmissionLimits::default() };
    let central = serve(&folders, limits, Retention::default());
    // One that asks for marks again and again and reads no answer: commits go on beside it.
    let (_reader, mut deaf) = welcomed(&folders, PeerRole::Proxy);
    let mut marks = Vec::new();
    for ring in 0..30_000 {
        let stream = StreamId { process: ProcessId([3; 16]), ring };
        frame::put_mark(&mut marks, StreamMark { stream, next: 0 });
    }
    let question = framed(Head::plain(FrameKind::Ask), &marks);
    deaf.set_wait(connection::Wait::For(Duration::from_millis(300)));
    while deaf.write_all(&question).is_ok() {}
    carry(&folders, 20_000);
    // More than may wait: each is closed at once or after its time, none is served before the honest.
    let silent: Vec<UnixStream> = (0..50).map(|_| connect(&folders)).collect();
    let mut slow = connect(&folders);
    let trickle = std::thread::spawn(move || {
        let hello = framed(Head::plain(FrameKind::Hello), &[0; 200]);
        // A byte at a time: the time is for all of it.
        hello.iter().all(|byte| {
            std::thread::sleep(Duration::from_millis(50));
            slow.write_all(&[*byte]).is_ok()
        })
    });
    // The places of the silent are free again after ten seconds at most.
    carry(&folders, 5_000);
    drop(silent);
    assert!(!trickle.join().unwrap(), "a byte every 50 ms goes on for ever");
    central.stop();
    let numbers = held(&folders.store).numbers;
    assert_eq!(numbers.values().map(Vec::len).sum::<usize>(), 25_000);
}

#[test]
fn a_proxy_gives_up_a_server_that_makes_no_sense_and_loses_nothing() {
    let folders = folders();
    let listener = UnixListener::bind(&folders.socket).unwrap();
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut writer = start(&format!("write|{}|1|2000", folders.rings.display()));
    let challenge = |version: u32, secret: u32| {
        let body = [version.to_le_bytes(), secret.to_le_bytes()].concat();
        framed(Head::plain(FrameKind::Challenge), &[body, vec![5; 32]].concat())
    };
    let welcome = framed(Head::plain(FrameKind::Welcome), &[0; 48]);
    let stream = StreamId { process: ProcessId([9; 16]), ring: 1 };
    let mut foreign = Vec::new();
    frame::put_mark(&mut foreign, StreamMark { stream, next: u64::MAX });
    let foreign = framed(Head::plain(FrameKind::Ack), &foreign);
    let mut damaged = framed(Head::plain(FrameKind::Ack), &[1; 64]);
    damaged[HEAD_BYTES] ^= 1;
    // Each another reason: one that stays the same is said once.
    let cases: [(Vec<u8>, &str); 6] = [
        (b"HTTP/1.1 400 Bad Request\r\n".repeat(5), "no frame begins here"),
        (framed(Head::plain(FrameKind::Ack), &[0; 32]), "no whit log server"),
        (challenge(2, 0), "speaks version 2 of the protocol"),
        (challenge(1, 1), "wants a secret, and we have none"),
        ([challenge(1, 0), welcome.clone(), vec![0xAA; 200]].concat(), "no frame begins here"),
        ([challenge(1, 0), welcome, foreign, damaged].concat(), "checksum of a frame is wrong"),
    ];
    for (bytes, why) in cases {
        let answer = bytes.clone();
        let other = listener.try_clone().unwrap();
        let server = std::thread::spawn(move || {
            let (stream, _) = other.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            (&stream).write_all(&answer).unwrap();
            // Until the proxy has given it up.
            let _ = std::io::copy(&mut &stream, &mut std::io::sink());
        });
        pump(&mut proxy, why, |proxy| {
            proxy.take_messages().iter().any(|text: &String| text.contains(why))
        });
        server.join().unwrap();
    }
    drop(listener);
    std::fs::remove_file(&folders.socket).unwrap();
    let central = crate::common::central(&folders.store, &folders.socket);
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), 2_000);
}

#[test]
fn damage_without_a_record_behind_it_gives_its_room_back() {
    use std::os::unix::fs::FileExt as _;
    let folders = folders();
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut client = rust_client(&folders.rings);
    client.ask("log 5", "logged");
    pump(&mut proxy, "five records", |proxy| proxy.counters().records >= 5);
    let found = RingDirectory::scan(&folders.rings).unwrap();
    let mut rings = found.rings.iter().map(|path| RingReader::open(path).unwrap());
    let ring = rings.find(|ring| !ring.header().is_shared).unwrap();
    let read = || ring.mark(Tier::Read).unwrap().unwrap();
    let before = read();
    client.ask("log 5", "logged");
    let file = std::fs::OpenOptions::new().write(true).open(ring.path()).unwrap();
    file.write_all_at(&[0; 8], abi::ring::DATA as u64 + before.position).unwrap();
    pump(&mut proxy, "the room of five records", |_| read().position > before.position);
    client.ask("log 5", "logged");
    pump(&mut proxy, "five more", |proxy| proxy.counters().records >= 10);
    client.end();
    drain(&mut proxy, &folders.rings);
    let counters = central.counters();
    central.stop();
    // What became of the five in the middle is named.
    assert_eq!((counters.lost, counters.duplicates), (5, 0));
}

#[test]
fn a_store_under_load_keeps_to_its_size() {
    let folders = folders();
    let most = 1 << 19;
    let retention = Retention { bytes_max: Some(most), age_ns_max: None };
    let central = serve(&folders, AdmissionLimits::default(), retention);
    let mut proxy = honest(&folders);
    let mut writer = start(&format!("write|{}|2|200000", folders.rings.display()));
    let bytes = || -> u64 {
        let entries = std::fs::read_dir(&folders.store).unwrap();
        // One may be removed while it is looked at.
        entries.filter_map(|entry| entry.unwrap().metadata().ok()).map(|data| data.len()).sum()
    };
    let (mut largest, deadline) = (0, Deadline::default());
    loop {
        let has_ended = writer.try_wait().unwrap().is_some();
        if !proxy.round() {
            // A slow machine may leave most of it in the rings until here.
            if has_ended && proxy.is_all_committed() {
                break;
            }
            proxy.wait(Duration::from_millis(1));
        }
        largest = largest.max(bytes());
        assert!(deadline.is_ahead(), "{:?}", proxy.counters());
    }
    drain(&mut proxy, &folders.rings);
    let counters = central.counters();
    assert!(counters.records >= 400_000 && counters.lost == 0, "{counters:?}");
    central.stop();
    // The newest segment, and a commit that made it longer than it should be.
    assert!(largest < 3 * most, "{largest}");
    assert!(largest > most / 2, "{largest}: nothing had to be removed");
    assert!(!held(&folders.store).numbers.is_empty());
}

/// A stream that claims more numbers than a writer can have used counts with what is here alone.
#[test]
fn numbers_that_are_impossible_are_in_no_sum() {
    let folders = folders();
    let central = serve(&folders, AdmissionLimits::default(), Retention::default());
    carry(&folders, 1000);
    let sound = {
        let (_reader, mut writer) = welcomed(&folders, PeerRole::Proxy);
        let stream = StreamId { process: ProcessId([7; 16]), ring: 1 };
        let head = Head::of(FrameKind::Lost, stream, 0, u64::MAX, 0);
        writer.write_all(&framed(head, &3_u32.to_le_bytes())).unwrap();
        let deadline = Deadline::default();
        while central.counters().lost == 0 {
            assert!(deadline.is_ahead());
            std::thread::sleep(Duration::from_millis(1));
        }
        stream
    };
    central.stop();
    let audit = Audit::of(&folders.store, false).unwrap();
    assert!(audit.streams[&sound].is_impossible() && !audit.is_whole());
    let total = audit.total();
    assert!((1000..2000).contains(&total.next), "{total:?}");
    assert_eq!((total.lost_count(), total.dropped), (0, 0), "{total:?}");
}

/// A server on its socket file and on a port; gives the port's address.
fn serve_both(folders: &Folders, secret: Option<&[u8]>) -> (Central, Address) {
    let id = log_protocol::auth::random().unwrap();
    let (store, recovery) = Store::open(&folders.store, StoreSettings::default(), id).unwrap();
    let local = Address::Unix(folders.socket.clone()).listen(None).unwrap();
    let network = log_protocol::parse_address("127.0.0.1:0").unwrap().listen(None).unwrap();
    let port = network.socket.port().unwrap().unwrap();
    let settings = CentralSettings {
        acks_on_receipt: false,
        recordings: None,
        secret: secret.map(<[u8]>::to_vec),
        delay: Duration::from_millis(2),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
    };
    let central = Central::start(store, &recovery, vec![local, network], settings).unwrap();
    (central, log_protocol::parse_address(&format!("127.0.0.1:{port}")).unwrap())
}

/// Connections that show nothing and come again at once lock nobody out: neither who comes over the
/// socket file, nor who comes from their own address with the secret.
#[test]
fn a_crowd_without_the_secret_locks_nobody_out() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folders = folders();
    let (central, network) = serve_both(&folders, Some(b"secret"));
    let Address::Network { port, .. } = network else { panic!("{network:?}") };
    let is_over = std::sync::Arc::new(AtomicBool::new(false));
    let crowd: Vec<_> = (0..6)
        .map(|_| {
            let is_over = is_over.clone();
            std::thread::spawn(move || {
                let mut held = std::collections::VecDeque::new();
                while !is_over.load(Ordering::Acquire) {
                    held.extend(std::net::TcpStream::connect(("127.0.0.1", port)));
                    if held.len() > 100 {
                        held.pop_front();
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
            })
        })
        .collect();
    let mut said = Vec::new();
    testkit::wait_until("the server says that there are too many", || {
        said.extend(central.take_messages());
        said.iter().any(|text| text.contains("have not shown who they are"))
    });
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let local = Address::Unix(folders.socket.clone());
    for _ in 0..20 {
        greet_server(&local, Duration::from_secs(5), None, Some(b"secret"), &hello).unwrap();
    }
    let greeted = || greet_server(&network, Duration::from_secs(5), None, Some(b"secret"), &hello);
    testkit::wait_until("a client from the same address is served", || greeted().is_ok());
    is_over.store(true, Ordering::Release);
    crowd.into_iter().for_each(|one| one.join().unwrap());
    carry(&folders, 5_000);
    central.stop();
}

#[test]
fn levels_are_not_set_over_a_network_without_a_secret() {
    let folders = folders();
    let (central, network) = serve_both(&folders, None);
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let local = Address::Unix(folders.socket.clone());
    for (address, kind) in [(&network, FrameKind::Refused), (&local, FrameKind::LevelSet)] {
        let (mut reader, mut writer) = greet_server(address, PATIENCE, None, None, &hello).unwrap();
        let order = log_protocol::levels::LevelOrder {
            logger: "*".to_owned(),
            central: Some(99),
            ..Default::default()
        };
        writer.write_all(&framed(Head::plain(FrameKind::SetLevel), &order.encode())).unwrap();
        let mut body = Vec::new();
        assert_eq!(reader.read(&mut body).unwrap().unwrap().kind, kind);
    }
    central.stop();
}
