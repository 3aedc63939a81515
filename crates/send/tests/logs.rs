//! The store of log records, handed over to engines: each record once and in order, whatever happens.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use log_format::{JsonFormat, RecordFormat as _};
use log_protocol::own_record::{dictionary, record};
use log_protocol::{ProcessId, ProcessInfo, StreamId};
use log_store::query::Filter;
use log_store::{CommitBatch, RecordsPart, Retention, Store, StoreReader, StoreSettings};
use logring::LogLevel;
use send::{EngineAddress, SendError, SendEvent, SendInput, SendSettings, Sender};
use serde_json::Value;
use testkit::{NatsServer, Random};

use crate::jetstream::{Nats, cutting};
use crate::otlp::{Wire, fields, partly, unpacked};
use crate::proxy::Proxy;
use crate::receiver::{Received, receive};

pub(crate) const START_NS: u64 = 1_700_000_000_000_000_000;

/// Processes that log.
const PROCESSES: usize = 4;

/// Programs whose records are committed to a store.
pub(crate) struct Programs {
    store: Store,
    random: Random,
    next: [u64; PROCESSES],
    now_ns: u64,
}

impl Programs {
    fn new(folder: &Path) -> Self {
        let settings = StoreSettings { segment_bytes: 4_000, sync: false, ..<_>::default() };
        let (store, _) = Store::open(folder, settings, [0xab; 16]).unwrap();
        let random = Random::from_seed(testkit::seed(255));
        Programs { store, random, next: [0; PROCESSES], now_ns: START_NS }
    }

    /// One commit: some records of each process, of which some have the same time and text, and some are
    /// no records of the program.
    pub(crate) fn commit(&mut self) {
        let mut batch = CommitBatch::default();
        for number in 0..PROCESSES {
            let count = 1 + self.random.below(30);
            let id = ProcessId([number as u8 + 1; 16]);
            let (host, name) =
                (format!("host.{}", number % 2), format!("pro gram\"{}", number / 2));
            let pid = 100 + number as u32;
            let info = ProcessInfo { id, pid, host, name, ..ProcessInfo::default() };
            if self.next[number] == 0 {
                let entries = dictionary("f.rs", "run", &format!("log/{number}"));
                batch.dictionaries.push((id, 0, entries));
            }
            let first = self.next[number];
            let mut body = Vec::new();
            for at in first..first + count {
                let level = self.random.one_of(&LogLevel::ALL);
                let time_ns = self.now_ns + self.random.below(2);
                let mut one = record(level, self.random.one_of(&["a\tb", "ä"]), at, time_ns);
                if self.random.below(5) == 0 {
                    one[2] = logring::abi::kind::CALIBRATION;
                }
                body.extend_from_slice(&one);
            }
            let next = first + count;
            self.next[number] = next;
            batch.processes.push(info);
            batch.bytes += body.len();
            let (stream, count) = (StreamId { process: id, ring: 0 }, count as u32);
            let (skip_bytes, left_out) = (0, 0);
            batch.records.push(RecordsPart {
                stream,
                body,
                skip_bytes,
                count,
                first,
                next,
                left_out,
            });
        }
        self.now_ns += self.random.below(1_000_000_000);
        self.store.write(&batch, self.now_ns).unwrap();
    }

    /// A store with some segments.
    pub(crate) fn logged(folder: &Path, commits: usize) -> Self {
        let mut programs = Programs::new(folder);
        (0..commits).for_each(|_| programs.commit());
        programs
    }
}

/// All records of a store in its order, as JSON.
pub(crate) fn stored(folder: &Path) -> Vec<String> {
    let (mut reader, mut format) = (StoreReader::open(folder).unwrap(), JsonFormat::default());
    let (mut found, mut scratch) = (Vec::new(), Vec::new());
    while let Some((chunk, at)) = reader.next_chunk().unwrap() {
        let flow = reader.visit_chunk(&chunk, at, &|_, _| true, &mut |item| {
            if let Some(record) = Filter::default().wanted(item, &mut scratch) {
                let mut line = Vec::new();
                format.put(&mut line, &record);
                found.push(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            ControlFlow::Continue(())
        });
        assert!(flow.unwrap().is_continue());
    }
    found
}

pub(crate) fn settings() -> SendSettings {
    SendSettings { input: SendInput::Logs, points_max: 50, ..SendSettings::default() }
}

pub(crate) fn sender(folder: &Path, to: &str) -> Sender {
    crate::deliveries::sender_to(folder, to, &settings())
}

/// Sends with ends at random moments, each gone on by another sender; how often it ended.
pub(crate) fn send_through_ends(folder: &Path, to: &str, mut ended: impl FnMut(u64)) -> u64 {
    let mut random = Random::from_seed(testkit::seed(256));
    let mut ends = 0;
    loop {
        let mut pauses = random.below(8);
        let mut is_ended = false;
        let mut sender = sender(folder, to);
        let mut pause = |_: Duration| {
            is_ended = pauses == 0;
            pauses = pauses.saturating_sub(1);
            !is_ended
        };
        let mut tell = |event: SendEvent| match event {
            SendEvent::Note(text) => panic!("{text}"),
            SendEvent::Waits { .. } | SendEvent::GoesOn => {}
        };
        sender.run(&mut pause, &mut tell).unwrap();
        if !is_ended {
            let cursor = sender.cursor();
            assert_eq!(cursor.points_sent, stored(folder).len() as u64);
            assert_eq!((cursor.samples_refused, cursor.samples_unreadable), (0, 0));
            return ends;
        }
        ends += 1;
        ended(ends);
    }
}

/// A line that Loki took: its stream, its time and its text.
pub(crate) type LokiLine = (String, u64, String);

/// What a request to Loki has, checked as strictly as Loki does.
pub(crate) fn pushed(request: &Received) -> Vec<LokiLine> {
    assert!(request.head.starts_with("post /loki/api/v1/push http/1.1\r\n"), "{}", request.head);
    request.assert_has(&["content-type: application/x-protobuf", "content-encoding: snappy"]);
    let message = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
    let mut lines = Vec::new();
    for (tag, stream) in fields(&message) {
        assert_eq!(tag, 1);
        let parts = fields(stream.bytes());
        let (1, labels) = (parts[0].0, parts[0].1.text()) else { panic!("{}", parts[0].0) };
        check_labels(&labels);
        assert!(parts.len() > 1, "a stream without lines");
        for (tag, entry) in &parts[1..] {
            assert_eq!(*tag, 2);
            let [(1, timestamp), (2, line)] = &fields(entry.bytes())[..] else {
                panic!("{labels}")
            };
            let time =
                fields(timestamp.bytes()).into_iter().fold(0, |time, (tag, number)| match tag {
                    1 => time + number.number() * 1_000_000_000,
                    2 if number.number() < 1_000_000_000 => time + number.number(),
                    tag => panic!("field {tag}"),
                });
            lines.push((labels.clone(), time, line.text()));
        }
    }
    lines
}

/// Labels as Loki parses them: few, in order, quoted.
fn check_labels(labels: &str) {
    let inner = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
    let mut names = Vec::new();
    for pair in inner.split("\",") {
        let (name, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{labels}"));
        assert!(!value.is_empty(), "{labels}");
        names.push(name);
    }
    assert_eq!(names, ["host", "job", "level", "process"], "{labels}");
}

/// Checks what each stream has beside what is stored: all of it once, and in order.
fn assert_same(stored: &[String], held: &[LokiLine]) {
    assert!(stored.len() > 500, "{}", stored.len());
    let mut wanted: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let stream = |line: &str| {
        let one: Value = serde_json::from_str(line).unwrap();
        let level = one["level"].as_str().unwrap().to_lowercase();
        let process = one["process"].as_str().unwrap().replace('"', "\\\"");
        let host = one["host"].as_str().unwrap();
        format!("{{host=\"{host}\",job=\"whit\",level=\"{level}\",process=\"{process}\"}}")
    };
    stored.iter().for_each(|line| wanted.entry(stream(line)).or_default().push(line));
    for (labels, time_ns, line) in held {
        let one: Value = serde_json::from_str(line).unwrap();
        let (seconds, nanoseconds) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        let time = one["time"].as_str().unwrap();
        assert!(time.ends_with(&format!(".{nanoseconds:09}Z")), "{time} {seconds}");
        found.entry(labels.clone()).or_default().push(line);
    }
    assert_eq!(wanted, found);
}

#[test]
fn loki_has_every_record_once_through_faults_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 40);
    let held: Arc<Mutex<Vec<LokiLine>>> = Arc::default();
    let (into, mut known) = (held.clone(), BTreeSet::new());
    let loki = receive(move |request| {
        for line in pushed(&request) {
            // Of equal lines of one time Loki keeps one.
            if known.insert(line.clone()) {
                into.lock().unwrap().push(line);
            }
        }
        ("204 No Content".into(), Vec::new())
    });
    let proxy = Proxy::start(loki, testkit::seed(257), 5);
    let to = format!("loki=http://{}", proxy.address);
    let ends = send_through_ends(folder.path(), &to, |_| ());
    assert!(ends > 2, "{ends} ends in {} requests", proxy.requests());
    assert_same(&stored(folder.path()), &held.lock().unwrap());
    // Nothing more is sent, until more is there.
    let requests = proxy.requests();
    let again = sender(folder.path(), &to).run(&mut |_| true, &mut |event| panic!("{event:?}"));
    assert!(again.unwrap());
    assert_eq!(proxy.requests(), requests);
    let status = &send::status(folder.path()).unwrap()[0];
    let json = status.json();
    assert_eq!((&json["records_waiting"], &json["samples_sent"]), (&0.into(), &Value::Null));
    assert_eq!(json["records_sent"], stored(folder.path()).len(), "{json}");
    assert!(status.text().contains(" records, the newest of 2023-11-1"), "{}", status.text());
}

#[test]
fn a_sender_that_follows_a_store_sends_what_is_logged_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let held: Arc<Mutex<Vec<LokiLine>>> = Arc::default();
    let into = held.clone();
    let loki = receive(move |request| {
        into.lock().unwrap().extend(pushed(&request));
        ("204 No Content".into(), Vec::new())
    });
    let settings = SendSettings { follows: true, ..settings() };
    let to = format!("loki=http://{loki}");
    let mut sender = crate::deliveries::sender_to(folder.path(), &to, &settings);
    let (mut programs, mut looks) = (None, 0);
    // Nothing is there at first; then a commit comes between looks, and segments are begun.
    let mut pause = |wait: Duration| {
        if wait.is_zero() {
            return true;
        }
        looks += 1;
        if looks > 2 {
            programs.get_or_insert_with(|| Programs::new(folder.path())).commit();
        }
        looks < 30
    };
    sender.run(&mut pause, &mut |event| panic!("{event:?}")).unwrap();
    sender.run(&mut |wait| wait.is_zero(), &mut |event| panic!("{event:?}")).unwrap();
    assert_same(&stored(folder.path()), &held.lock().unwrap());
    assert!(sender.cursor().recordings.values().filter(|one| one.is_done).count() > 2);
}

#[test]
fn a_stream_has_every_record_once_whatever_ends_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 30);
    let Some(mut server) = NatsServer::start(None) else { return };
    Nats::connect(server.address()).make_stream();
    let stops = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let to = format!("jetstream=nats://{}", cutting(server.address(), stops.clone()));
    let ends = send_through_ends(folder.path(), &to, |ends| match ends {
        3 => server.start_again(),
        12 => stops.store(true, std::sync::atomic::Ordering::SeqCst),
        _ => {}
    });
    assert!(ends > 2, "{ends}");
    let (mut wanted, mut found) = (BTreeMap::new(), BTreeMap::new());
    let subject = |line: &str| {
        let one: Value = serde_json::from_str(line).unwrap();
        let name = |name: &str| one[name].as_str().unwrap().replace(['.', ' '], "_");
        format!("whit.logs.abababababababab.{}.{}", name("host"), name("process"))
    };
    for line in stored(folder.path()) {
        wanted.entry(subject(&line)).or_insert_with(Vec::new).push(line);
    }
    let mut ids = BTreeSet::new();
    for (subject, id, text) in Nats::connect(server.address()).messages() {
        assert!(id.starts_with("abababababababab-") && ids.insert(id.clone()), "{id}");
        found.entry(subject).or_insert_with(Vec::new).push(text);
    }
    assert_eq!(wanted, found);
}

/// The text, the whole number or the truth of an `AnyValue`.
fn any_value(wire: &Wire<'_>) -> Value {
    let [(tag, value)] = &fields(wire.bytes())[..] else { panic!("no value, or several") };
    match tag {
        1 => value.text().into(),
        3 => value.number().into(),
        tag => panic!("field {tag}"),
    }
}

fn attributes<'a>(parts: &[(u64, Wire<'a>)], tag: u64) -> BTreeMap<String, Value> {
    let of_tag = parts.iter().filter(|(one, _)| *one == tag);
    let pair = |(_, wire): &(u64, Wire<'a>)| {
        let [(1, key), (2, value)] = &fields(wire.bytes())[..] else { panic!("no attribute") };
        (key.text(), any_value(value))
    };
    of_tag.map(pair).collect()
}

/// The records of an `ExportLogsServiceRequest`, each in the words of the JSON format.
fn exported(message: &[u8]) -> Vec<Value> {
    let mut found = Vec::new();
    for (tag, of_process) in fields(message) {
        assert_eq!(tag, 1);
        let parts = fields(of_process.bytes());
        let (1, resource) = &parts[0] else { panic!("no resource") };
        let resource = attributes(&fields(resource.bytes()), 1);
        for (tag, scope_logs) in &parts[1..] {
            assert_eq!(*tag, 2);
            let parts = fields(scope_logs.bytes());
            let logger = fields(parts[0].1.bytes())[0].1.text();
            for (tag, record) in &parts[1..] {
                assert_eq!(*tag, 2);
                let parts = fields(record.bytes());
                let one = |tag: u64| &parts.iter().find(|(one, _)| *one == tag).unwrap().1;
                let own = attributes(&parts, 6);
                let severity = one(2).number();
                assert!((1..=24).contains(&severity), "{severity}");
                found.push(serde_json::json!({
                    "time_ns": one(1).number(), "level": one(3).text(), "message": any_value(one(5)),
                    "host": resource["host.name"], "process": resource["service.name"],
                    "pid": resource["process.pid"], "logger": logger, "tid": own["thread.id"],
                    "file": own["code.file.path"], "routine": own["code.function.name"],
                    "ring": own["whit.ring"], "sequence": own["whit.sequence"],
                }));
            }
        }
    }
    found
}

#[test]
fn a_collector_gets_every_record_and_what_it_rejects_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 30);
    let held: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (into, mut requests) = (held.clone(), 0);
    let collector = receive(move |request| {
        let records = exported(&unpacked(&request, "/v1/logs"));
        requests += 1;
        let body = match requests % 7 {
            2 => return ("503 Service Unavailable\r\nRetry-After: 0".into(), Vec::new()),
            4 => return ("429 Too Many Requests".into(), Vec::new()),
            5 => partly(2, "no"),
            _ => Vec::new(),
        };
        into.lock().unwrap().extend(records);
        ("200 OK\r\nContent-Type: application/x-protobuf".into(), body)
    });
    let mut told = Vec::new();
    let mut sender = sender(folder.path(), &format!("otlp=http://{collector}"));
    let mut tell = |event: SendEvent| match event {
        SendEvent::Note(text) => told.push(text),
        SendEvent::Waits { .. } | SendEvent::GoesOn => {}
    };
    assert!(sender.run(&mut |_| true, &mut tell).unwrap());
    assert_eq!(told, ["2 records are rejected: 200 OK: no"]);
    let (stored, mut held) = (stored(folder.path()), std::mem::take(&mut *held.lock().unwrap()));
    let cursor = sender.cursor();
    assert!(cursor.points_rejected >= 2 && cursor.points_rejected.is_multiple_of(2));
    assert_eq!(cursor.points_sent + cursor.points_rejected, stored.len() as u64);
    let key = |one: &Value| (one["pid"].as_u64(), one["sequence"].as_u64());
    // Those of a process are in their order.
    for pid in 100..100 + PROCESSES as u64 {
        let of_process = held.iter().filter(|one| one["pid"] == pid).map(&key);
        assert!(of_process.is_sorted());
    }
    held.sort_by_key(key);
    let mut wanted: Vec<Value> =
        stored.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    wanted.sort_by_key(key);
    for (wanted, found) in wanted.iter().zip(&held) {
        for (name, value) in
            found.as_object().unwrap().iter().filter(|(name, _)| *name != "time_ns")
        {
            assert_eq!(&wanted[name], value, "{name}: {wanted}");
        }
        let nanoseconds = found["time_ns"].as_u64().unwrap() % 1_000_000_000;
        assert!(wanted["time"].as_str().unwrap().ends_with(&format!(".{nanoseconds:09}Z")));
    }
    assert_eq!(wanted.len(), held.len());
}

#[test]
fn a_record_that_is_refused_for_good_keeps_no_other_back() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 5);
    let stored = stored(folder.path());
    let bad = stored[stored.len() / 2].clone();
    let (wanted, held) = (bad.clone(), Arc::new(Mutex::new(BTreeSet::new())));
    let into = held.clone();
    let loki = receive(move |request| {
        let mut lines = pushed(&request).into_iter().map(|(_, _, line)| line);
        // Loki takes the others of such a request.
        let has_bad = lines.clone().any(|line| line == wanted);
        into.lock().unwrap().extend(lines.by_ref().filter(|line| *line != wanted));
        match has_bad {
            true => ("400 Bad Request".into(), b"entry too far behind".to_vec()),
            false => ("204 No Content".into(), Vec::new()),
        }
    });
    let mut sender = sender(folder.path(), &format!("loki=http://{loki}"));
    assert!(sender.run(&mut |_| true, &mut |_| ()).unwrap());
    let cursor = sender.cursor();
    assert_eq!((cursor.samples_refused, cursor.points_sent), (1, stored.len() as u64 - 1));
    assert_eq!(held.lock().unwrap().len(), stored.len() - 1);
    let listed = std::fs::read_to_string(folder.path().join(".send-test.refused")).unwrap();
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    let bad: Value = serde_json::from_str(&bad).unwrap();
    assert_eq!((&listed["host"], &listed["process"]), (&bad["host"], &bad["process"]), "{listed}");
    assert!(listed["why"].as_str().unwrap().contains("entry too far behind"), "{listed}");
    assert!(listed["segment"].as_str().unwrap().ends_with(".logs") && listed["record"].is_u64());
}

/// Records of all kinds that a store has.
fn all_kinds(folder: &Path) -> u64 {
    let mut counter = log_store::StoreCounter::new(folder);
    counter.look().unwrap().values().map(|count| count.records).sum()
}

#[test]
fn what_is_deleted_before_it_is_sent_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut programs = Programs::logged(folder.path(), 10);
    let down = testkit::ClosedPort::bind().unwrap();
    let to = format!("loki=http://127.0.0.1:{}", down.port());
    let run = |pause: &mut dyn FnMut(Duration) -> bool| {
        let mut told = Vec::new();
        let mut sender = sender(folder.path(), &to);
        assert!(!sender.run(pause, &mut |event| told.push(event)).unwrap());
        let cursor = sender.cursor();
        (told, cursor.samples_deleted, cursor.commits_deleted)
    };
    // What comes while the engine is down is counted, too.
    let mut waits = 0;
    run(&mut |_| {
        programs.commit();
        waits += 1;
        waits < 10
    });
    let before = all_kinds(folder.path());
    let keep_none = Retention { bytes_max: Some(0), age_ns_max: None };
    programs.store.retain(&keep_none, programs.now_ns).unwrap();
    let deleted = before - all_kinds(folder.path());
    assert!(deleted > 100, "{deleted}");
    let (told, counted, commits) = run(&mut |_| false);
    assert_eq!((counted, commits), (deleted, 0), "{told:?}");
    let note = format!("{deleted} records were deleted before they were sent");
    assert!(told.contains(&SendEvent::Note(note)), "{told:?}");
    // What came and went while nobody looked is told by its commits.
    let known = log_store::StoreCounter::new(folder.path()).look().unwrap();
    let next = known.last_key_value().unwrap().1.next_commit;
    (0..20).for_each(|_| programs.commit());
    programs.store.retain(&keep_none, programs.now_ns).unwrap();
    let (told, _, commits) = run(&mut |_| false);
    let left = log_store::StoreCounter::new(folder.path()).look().unwrap();
    assert_eq!(commits, left.first_key_value().unwrap().1.first_commit - next, "{told:?}");
    assert!(commits > 10 && format!("{told:?}").contains("commits of the store"), "{told:?}");
}

#[test]
fn engines_say_what_they_take() {
    let folder = tempfile::tempdir().unwrap();
    let open = |to: &str, input: SendInput| {
        let to = EngineAddress::parse(to).unwrap();
        let settings = SendSettings { input, ..settings() };
        Sender::new(folder.path(), &to.cursor_name(input), &to, settings)
    };
    let refused = |to: &str, input| match open(to, input) {
        Err(error @ (SendError::NoLogs { .. } | SendError::LogsAlone { .. })) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{to}"),
    };
    let said = refused("graphite=h", SendInput::Logs);
    assert!(
        said.contains(
            "graphite takes no log records: otlp, jetstream, loki, journal, clickhouse do"
        ),
        "{said}"
    );
    assert!(refused("loki=http://h:1", SendInput::Samples).contains("log records alone"));
    let name = EngineAddress::parse("otlp=http://h:1").unwrap().cursor_name(SendInput::Logs);
    assert_eq!(name, "otlp-logs-http-h-1");
    assert_eq!(SendInput::of(folder.path()), SendInput::Samples);
    drop(Programs::logged(folder.path(), 1));
    assert_eq!(SendInput::of(folder.path()), SendInput::Logs);
}
