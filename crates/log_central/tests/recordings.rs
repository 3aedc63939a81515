//! Recordings of other hosts, by clients that are broken, hostile, or come again: a sample is written
//! once, by the sender of its host, and nowhere else than in the folder.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use connection::{Address, SocketStream};
use log_central::{AdmissionLimits, Central, CentralSettings, RecordingsKept};
use log_protocol::StreamId;
use log_protocol::bytes::put_short;
use log_protocol::frame::{self, FrameKind, Head};
use log_protocol::handshake::{FrameReader, Hello, PeerRole, greet_server, send};
use log_protocol::parts::send_parts;
use log_store::{Retention, Store, StoreSettings};
use recorder::Keep;
use recording::{ReadOutcome, Reader, SampleEncoder};
use sample::{Cadence, Field, Meta, Snapshot, SourceDef, State, Unit};
use send::{CursorFile, RecordingCursor};

use crate::common::{PATIENCE, listener};

fn defs() -> Vec<Arc<SourceDef>> {
    vec![Arc::new(SourceDef {
        name: "unknown_elsewhere".into(),
        about: "A source that this program does not have".into(),
        letters: "".into(),
        instance: vec![].into(),
        fields: vec![Field::counter("count", Unit::Count, "Count")].into(),
        cadence: Cadence::First,
    })]
}

/// A sample whose value is its number.
fn sample(number: u64) -> Snapshot {
    let mut snapshot = Snapshot::new(&defs());
    snapshot.monotonic_ns = (number + 1) * 1_000_000_000;
    snapshot.realtime_ns = 1_700_000_000_000_000_000 + snapshot.monotonic_ns.cast_signed();
    snapshot.fresh[0] = true;
    snapshot.samples[0].state = State::Ok;
    snapshot.samples[0].table.begin();
    snapshot.samples[0].table.row(b"").set(0, number);
    snapshot
}

struct Served {
    folder: tempfile::TempDir,
    central: Central,
}

fn serve_in(folder: tempfile::TempDir, takes: bool) -> Served {
    serve_keeping(folder, takes, None)
}

fn serve_keeping(folder: tempfile::TempDir, takes: bool, keep: Option<Keep>) -> Served {
    let (store, recovery) =
        Store::open(&folder.path().join("store"), StoreSettings::default(), [7; 16]).unwrap();
    let listener = listener(&folder.path().join("socket"));
    let settings = CentralSettings {
        acks_on_receipt: false,
        recordings: takes.then(|| RecordingsKept {
            folder: folder.path().join("taken"),
            syncs: false,
            keep,
        }),
        secret: Some(b"secret".to_vec()),
        delay: Duration::from_millis(2),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
    };
    let central = Central::start(store, &recovery, vec![listener], settings).unwrap();
    Served { folder, central }
}

impl Served {
    fn new() -> Self {
        serve_in(tempfile::tempdir().unwrap(), true)
    }

    /// Ends the server and starts another one with its files.
    fn again(self) -> Self {
        self.central.stop();
        serve_in(self.folder, true)
    }

    fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.folder.path().join("taken")).unwrap();
        let mut names: Vec<String> =
            all.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The values of the samples of a recording that were read, and how many are missing.
    fn values(&self, name: &str) -> (Vec<u64>, u64) {
        let path = self.folder.path().join("taken").join(name);
        let mut reader = Reader::open(&path, &[]).unwrap();
        let mut snapshot = Snapshot::new(&reader.defs());
        let mut values = Vec::new();
        while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
            values.push(snapshot.samples[0].table.get(0, 0).unwrap());
        }
        (values, reader.damage().samples_unreadable)
    }
}

struct Client {
    reader: FrameReader,
    writer: SocketStream,
}

/// What a server answers: a mark, or why the client is sent away.
type Said = Result<u64, String>;

impl Client {
    fn new(served: &Served, sender: u8) -> Self {
        let address = Address::Unix(served.folder.path().join("socket"));
        let hello = Hello { role: PeerRole::Recorder, proxy: [sender; 16], host: String::new() };
        let (reader, writer) =
            greet_server(&address, PATIENCE, None, Some(b"secret"), &hello).unwrap();
        Client { reader, writer }
    }

    fn said(&mut self) -> Said {
        let mut body = Vec::new();
        let head = self.reader.read(&mut body).unwrap().expect("an answer");
        match head.kind {
            FrameKind::Refused => Err(String::from_utf8(body).unwrap()),
            _ => Ok(frame::marks(&body).next().unwrap().next),
        }
    }

    fn begin(&mut self, id: u64, host: &str, name: &str) -> Said {
        let mut meta = Meta::new();
        meta.set("host", host);
        let mut body = Vec::new();
        put_short(&mut body, name.as_bytes());
        body.extend_from_slice(&recording::stream_head(&meta, &defs(), id).unwrap());
        self.ask(FrameKind::Recording, id, (0, 0), &body)
    }

    fn ask(&mut self, kind: FrameKind, id: u64, (first, next): (u64, u64), body: &[u8]) -> Said {
        let head = Head::of(kind, StreamId::of_recording(id), first, next, 0);
        send_parts(&mut self.writer, head, body).unwrap();
        self.said()
    }

    /// Sends samples, the first of them complete.
    fn samples(&mut self, id: u64, (first, next): (u64, u64)) -> Said {
        let (mut encoder, mut frames) = (SampleEncoder::new(&defs(), id), Vec::new());
        for number in first..next {
            encoder.encode(&sample(number), std::iter::empty(), &mut frames);
        }
        let mut packed = Vec::new();
        recording::pack_samples(&frames, &mut packed).unwrap();
        self.ask(FrameKind::Samples, id, (first, next), &packed)
    }
}

#[test]
fn what_comes_twice_is_written_once_and_what_is_missing_is_counted() {
    let mut served = Served::new();
    let mut client = Client::new(&served, 1);
    assert_eq!(client.begin(5, "web", "web-1.whit"), Ok(0));
    assert_eq!(client.samples(5, (0, 4)), Ok(4));
    assert_eq!(client.samples(5, (2, 6)), Ok(6));
    assert_eq!(client.samples(5, (0, 6)), Ok(6));
    // The sender comes again, and the server still has its old connection.
    let mut newer = Client::new(&served, 1);
    assert!(newer.begin(5, "web", "web-1.whit").unwrap_err().contains("try again"));
    testkit::wait_until("the old connection has ended", || {
        Client::new(&served, 1).begin(5, "web", "web-1.whit") == Ok(6)
    });
    served = served.again();
    let mut client = Client::new(&served, 1);
    assert_eq!(client.begin(5, "web", "another name.whit"), Ok(6));
    // The sender could not read three.
    assert_eq!(client.samples(5, (9, 12)), Ok(12));
    assert_eq!(client.ask(FrameKind::RecordingEnd, 5, (0, 0), &[]), Ok(12));
    assert_eq!(client.begin(5, "web", "web-1.whit"), Ok(12));
    assert_eq!(client.samples(5, (6, 12)), Ok(12));
    let wanted = vec![0, 1, 2, 3, 4, 5, 9, 10, 11];
    assert_eq!(served.values("web-1.whit"), (wanted.clone(), 3));
    // A recorder has gone on with a recording that was closed.
    assert_eq!(client.samples(5, (12, 13)), Ok(13));
    served = served.again();
    assert_eq!(served.values("web-1.whit").0, [wanted, vec![12]].concat());
    assert_eq!(served.names(), [".senders", "web-1.whit"]);
    served.central.stop();
}

#[test]
fn an_empty_file_of_a_killed_server_is_written_over() {
    let mut served = Served::new();
    std::fs::write(served.folder.path().join("taken/web-1.whit"), "").unwrap();
    let mut client = Client::new(&served, 1);
    assert_eq!(client.begin(5, "web", "web-1.whit"), Ok(0));
    // Another one of the same name does not get the file, although it may still be empty.
    assert_eq!(client.begin(6, "web", "web-1.whit"), Ok(0));
    assert_eq!(client.samples(5, (0, 4)), Ok(4));
    assert_eq!(client.samples(6, (0, 2)), Ok(2));
    served = served.again();
    let other = "web-1-0000000000000006.whit";
    assert_eq!(served.names(), [".senders", other, "web-1.whit"]);
    assert_eq!(served.values("web-1.whit").0, [0, 1, 2, 3]);
    assert_eq!(served.values(other).0, [0, 1]);
    served.central.stop();
}

#[test]
fn a_host_is_of_its_first_sender_and_names_stay_in_the_folder() {
    let mut served = Served::new();
    let begin = |served: &Served, sender, id, host: &str, name: &str| {
        Client::new(served, sender).begin(id, host, name)
    };
    assert_eq!(begin(&served, 1, 1, "web", "../../web.whit"), Ok(0));
    assert_eq!(begin(&served, 1, 2, "web", "../../web.whit"), Ok(0));
    assert_eq!(begin(&served, 1, 3, "web", "/etc/passwd"), Ok(0));
    let refused = |said: Said, part: &str| {
        let why = said.unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    refused(begin(&served, 2, 4, "web", "web.whit"), "another folder or machine");
    refused(begin(&served, 2, 1, "db", "web.whit"), "as a recording of web");
    for host in ["", "../web", "a/b", ".web", "a b", "web\n1 db"] {
        refused(begin(&served, 2, 5, host, "x.whit"), "is no name of a host");
    }
    let wanted =
        [".senders", "_.._web-0000000000000002.whit", "_.._web.whit", "web-_etc_passwd.whit"];
    assert_eq!(served.names(), wanted);
    // Who is whose is known after a restart; recordings that nobody sent are of nobody.
    let own = served.folder.path().join("taken/own.whit");
    let mut meta = Meta::new();
    meta.set("host", "own");
    drop(recording::Writer::create(&own, &meta, &defs(), Default::default()).unwrap());
    served = served.again();
    refused(begin(&served, 2, 4, "web", "web.whit"), "another folder or machine");
    refused(begin(&served, 2, 6, "own", "own-2.whit"), "that nobody has sent");
    assert!(!Path::new("/web.whit").exists());
    served.central.stop();
}

#[test]
fn what_is_damaged_or_too_much_is_refused_and_the_server_goes_on() {
    let served = Served::new();
    // The connection before may not have ended yet: the newest one has the recording.
    let begun = || {
        testkit::wait_for("the recording", || {
            let mut client = Client::new(&served, 1);
            client.begin(5, "web", "web.whit").ok().map(|_| client)
        })
    };
    let refused = |said: Said, part: &str| {
        let why = said.unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    refused(Client::new(&served, 1).samples(5, (0, 2)), "not begun");
    refused(begun().ask(FrameKind::Samples, 5, (0, 2), b"\0\x09rubbish"), "damaged");
    refused(begun().ask(FrameKind::Samples, 5, (0, 2), b""), "damaged");
    let far = (1 << 53, (1 << 53) + 1);
    refused(begun().ask(FrameKind::Samples, 5, far, b""), "numbers of samples");
    refused(begun().ask(FrameKind::Recording, 9, (0, 0), b"\x05"), "without a name");
    refused(begun().ask(FrameKind::Recording, 9, (0, 0), b"\x01\0a rubbish"), "not a whit");
    refused(begun().ask(FrameKind::Records, 5, (0, 0), b""), "recordings and nothing else");
    // The head of another one.
    let mut body = vec![0, 0];
    body.extend_from_slice(&recording::stream_head(&Meta::new(), &defs(), 8).unwrap());
    refused(begun().ask(FrameKind::Recording, 9, (0, 0), &body), "of another recording");
    // More than is taken at once: it is refused by what the first part says.
    let mut client = begun();
    let head = Head::of(FrameKind::Samples, StreamId::of_recording(5), 0, 1, 1);
    send(&mut client.writer, Head { left_out: u32::MAX, ..head }, b"x").unwrap();
    refused(client.said(), "more than this server takes");
    // Few may send much at once; the others wait their turn.
    let many = |id| {
        let mut client = Client::new(&served, 1);
        client.begin(id, "web", "web.whit").unwrap();
        let large = Head::of(FrameKind::Samples, StreamId::of_recording(id), 0, 1, 1);
        send(&mut client.writer, Head { left_out: 8 << 20, ..large }, b"x").unwrap();
        client
    };
    let holders: Vec<Client> = (100..104).map(many).collect();
    testkit::wait_until("the fifth is refused", || {
        let said = begun().ask(FrameKind::Samples, 5, (0, 1), &vec![9; 2 << 20]);
        said.unwrap_err().contains("others send as much")
    });
    drop(holders);
    assert_eq!(begun().samples(5, (0, 3)), Ok(3));
    assert_eq!(served.values("web.whit"), (vec![0, 1, 2], 0));
    served.central.stop();
    let without = serve_in(tempfile::tempdir().unwrap(), false);
    refused(Client::new(&without, 1).begin(5, "web", "web.whit"), "takes no recordings");
    without.central.stop();
}

/// Sends a recording of two samples, whole or without its end, that was written so many hours ago.
fn sent(served: &Served, (id, host): (u64, &str), is_ended: bool, hours: u64) {
    let name = format!("{host}-{id}.whit");
    let mut client = Client::new(served, 1);
    assert_eq!(client.begin(id, host, &name), Ok(0));
    assert_eq!(client.samples(id, (0, 2)), Ok(2));
    if is_ended {
        assert_eq!(client.ask(FrameKind::RecordingEnd, id, (0, 0), &[]), Ok(2));
    }
    let path = served.folder.path().join("taken").join(name);
    written_before(&path, hours);
}

fn written_before(path: &Path, hours: u64) {
    let then = std::time::SystemTime::now() - Duration::from_secs(hours * 3600);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn old_recordings_of_other_hosts_go_when_nobody_waits_for_them() {
    let served = Served::new();
    let taken = served.folder.path().join("taken");
    let mut meta = Meta::new();
    meta.set("host", "own");
    drop(recording::Writer::create(&taken.join("own-1.whit"), &meta, &defs(), Default::default()));
    for (id, hours) in [(1, 300), (2, 200), (3, 3), (4, 0)] {
        sent(&served, (id, "web"), true, hours);
    }
    sent(&served, (5, "db"), false, 90);
    sent(&served, (6, "db"), true, 80);
    // An engine to which the folder is sent: it has all of all but one.
    let (mut file, mut cursor) = CursorFile::open(&taken, "engine").unwrap();
    let mut engine_has = |ids: &[u64]| {
        for id in ids {
            let known = RecordingCursor { is_done: true, ..RecordingCursor::default() };
            cursor.recordings.insert(*id, known);
        }
        file.write(&cursor).unwrap();
    };
    engine_has(&[1, 3, 4, 5, 6]);
    let again = |served: Served, keep: Keep| {
        served.central.stop();
        // What a server that ends has written was written just now.
        let old = [("own-1", 900), ("web-1", 300), ("web-2", 200), ("db-5", 90), ("db-6", 80)];
        for (name, hours) in old {
            let path = served.folder.path().join(format!("taken/{name}.whit"));
            if path.exists() {
                written_before(&path, hours);
            }
        }
        serve_keeping(served.folder, true, Some(keep))
    };
    let left = |served: &Served, wanted: &[&str]| {
        testkit::wait_until("what is old goes", || {
            let names = served.names().into_iter().filter(|name| name.ends_with(".whit"));
            names.collect::<Vec<_>>() == wanted
        });
    };
    let says = |served: &Served, part: &str| {
        testkit::wait_until("that is said", || {
            served.central.take_messages().iter().any(|text| text.contains(part))
        });
    };
    // By age: the newest of each host stays, what nobody sent, and what the engine waits for.
    let days = Keep::parse("3d").unwrap();
    let served = again(served, days);
    left(&served, &["db-6.whit", "own-1.whit", "web-2.whit", "web-3.whit", "web-4.whit"]);
    says(
        &served,
        "1 recordings of other hosts are older or larger than is kept, but the engine engine",
    );
    engine_has(&[2]);
    let served = again(served, days);
    left(&served, &["db-6.whit", "own-1.whit", "web-3.whit", "web-4.whit"]);
    // By size: what its sender may go on with stays.
    sent(&served, (7, "db"), true, 0);
    sent(&served, (8, "web"), false, 1);
    sent(&served, (9, "web"), true, 0);
    engine_has(&[7, 8, 9]);
    let served = again(served, Keep { age_ns: None, size_bytes: Some(1) });
    left(&served, &["db-7.whit", "own-1.whit", "web-8.whit", "web-9.whit"]);
    // With a cursor that cannot be read nothing goes.
    std::fs::write(taken.join(".send-other.json"), "{").unwrap();
    let served = again(served, days);
    says(&served, "are not deleted");
    served.central.stop();
}

#[test]
fn a_sender_has_so_many_hosts_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    let number = "01".repeat(16);
    let lines: String = (0..4096).map(|host| format!("{number} h{host}\n")).collect();
    std::fs::write(folder.path().join("taken/.senders"), lines).unwrap();
    let served = serve_in(folder, true);
    assert_eq!(Client::new(&served, 1).begin(1, "h7", "h7.whit"), Ok(0));
    let why = Client::new(&served, 1).begin(2, "more", "more.whit").unwrap_err();
    assert!(why.contains("one host too many") && why.contains(".senders"), "{why}");
    assert_eq!(Client::new(&served, 2).begin(2, "more", "more.whit"), Ok(0));
    testkit::wait_until("the server says it, too", || {
        served.central.take_messages().iter().any(|text| text.contains("one host too many"))
    });
    served.central.stop();
}
