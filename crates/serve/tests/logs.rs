//! The section `logs`, over a store of made-up records: its answers are those of `whit log query`, and
//! new records come as they are committed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use log_format::{JsonFormat, RecordFormat as _};
use log_protocol::own_record::{dictionary, record};
use log_protocol::{ProcessId, ProcessInfo, StreamId};
use log_store::query::Filter;
use log_store::{CommitBatch, RecordsPart, Store, StoreReader, StoreSettings};
use logring::LogLevel;
use serde_json::Value;
use serve::{Page, QueryServer, RecordedPages, RecordingStorage, ServeSettings};
use testkit::{HttpAnswer, PATIENCE, http};

use crate::common::{listeners, patient};
use crate::recorded::record as record_samples;

const START_MS: u64 = 1_700_000_000_000;
const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m\n\u{202e}evil";

/// A program that logs into a store.
struct Writer {
    store: Store,
    next: u64,
}

impl Writer {
    fn new(folder: &Path) -> Self {
        let settings = StoreSettings { sync: false, segment_bytes: 20_000, ..<_>::default() };
        Writer { store: Store::open(folder, settings, [3; 16]).unwrap().0, next: 0 }
    }

    /// Commits records of one time.
    fn write(&mut self, at_ms: u64, records: &[(LogLevel, &str)]) {
        let id = ProcessId([7; 16]);
        let process = ProcessInfo {
            id,
            pid: 77,
            host: "alpha".to_owned(),
            name: "program<b>".to_owned(),
            ..<_>::default()
        };
        let mut batch = CommitBatch::default();
        if self.next == 0 {
            batch.dictionaries.push((id, 0, dictionary("f.rs", "run", "control/antenna")));
        }
        batch.processes.push(process);
        let (first, mut body) = (self.next, Vec::new());
        for (level, text) in records {
            body.extend(record(*level, text, self.next, at_ms * 1_000_000));
            self.next += 1;
        }
        batch.bytes += body.len();
        let (stream, count) = (StreamId { process: id, ring: 0 }, records.len() as u32);
        let next = self.next;
        let part = RecordsPart { stream, body, skip_bytes: 0, count, first, next, left_out: 0 };
        batch.records.push(part);
        self.store.write(&batch, at_ms * 1_000_000).unwrap();
    }
}

/// A server of no recordings and a store.
fn serve(recorded: &Path, store: &Path) -> (QueryServer, SocketAddr) {
    std::fs::create_dir_all(recorded).unwrap();
    drop(record_samples(recorded, Path::new("/"), &["cpu"], |_| {}));
    let (storage, _) = RecordingStorage::open(&[recorded.to_owned()]).unwrap();
    let storage = Arc::new(storage);
    let page = Page::new(storage.clone()).with_logs(store);
    let settings = ServeSettings { http: patient(), ..ServeSettings::default() };
    let pages = Arc::new(RecordedPages::new(storage));
    let server = QueryServer::start_with_page(listeners(), settings, page, pages).unwrap();
    let address = server.address().unwrap();
    (server, address)
}

/// A question with the parameters behind `?`, as they stand.
fn asked(address: SocketAddr, path: &str) -> HttpAnswer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    http(address, "GET", &format!("/api/whit/v1/logs/{path}"), &pairs.collect::<Vec<_>>())
}

fn ask(address: SocketAddr, path: &str) -> Value {
    let answer = asked(address, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn texts(answer: &Value) -> Vec<String> {
    let records = answer["records"].as_array().unwrap();
    records.iter().map(|record| record["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn records_counts_and_names_of_a_period() {
    let held = tempfile::tempdir().unwrap();
    let (recorded, folder) = (held.path().join("recorded"), held.path().join("log"));
    let mut writer = Writer::new(&folder);
    for second in 0..100_u64 {
        let text = format!("number {second}");
        let mut records = vec![(LogLevel::Info, text.as_str())];
        if second % 10 == 0 {
            records.push((LogLevel::Error, HOSTILE));
        }
        writer.write(START_MS + second * 1000, &records);
    }
    let (_server, address) = serve(&recorded, &folder);
    let period = format!("from={START_MS}&thru={}", START_MS + 100_000);
    // Page by page it is all that whit log query --format json says.
    let (mut behind, mut found) = (String::new(), Vec::new());
    loop {
        let answer =
            ask(address, &format!("records?{period}&order=oldest&count=7&behind={behind}"));
        for record in answer["records"].as_array().unwrap() {
            let mut record = record.as_object().unwrap().clone();
            let id = record.remove("id").unwrap();
            assert!(record.remove("at_ms").unwrap().is_u64());
            let whole = ask(address, &format!("record?id={}", id.as_str().unwrap()));
            assert_eq!(whole["message"], record["message"]);
            found.push(Value::Object(record));
        }
        let Some(next) = answer["behind"].as_str() else { break };
        behind = next.to_owned();
    }
    let (mut format, mut expected, mut scratch) = (JsonFormat::default(), Vec::new(), Vec::new());
    let filter = Filter::default();
    let mut reader = StoreReader::open(&folder).unwrap();
    let _ = reader.visit_all(&|_, _| true, &mut |item| {
        if let Some(record) = filter.wanted(item, &mut scratch) {
            let mut line = Vec::new();
            format.put(&mut line, &record);
            expected.push(serde_json::from_slice::<Value>(&line).unwrap());
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(found, expected);
    let newest = ask(address, &format!("records?{period}&count=2&text=NUMBER 99"));
    assert_eq!(texts(&newest), ["number 99"]);
    let errors = ask(address, &format!("records?{period}&level=warning&host=al*&logger=control/*"));
    assert_eq!(texts(&errors), vec![HOSTILE; 10]);
    let counts = ask(address, &format!("counts?{period}&points=10"));
    assert_eq!(counts["levels"]["INFO"], serde_json::json!(vec![10; 10]));
    assert_eq!(counts["levels"]["ERROR"], serde_json::json!(vec![1; 10]));
    // What was before the first record is not known.
    let before =
        ask(address, &format!("counts?from={}&thru={START_MS}&points=5", START_MS - 50_000));
    assert!(before["levels"]["INFO"].as_array().unwrap().iter().all(Value::is_null));
    let names = ask(address, &format!("loggers?{period}"));
    assert_eq!(names["loggers"], serde_json::json!(["control/antenna"]));
    assert_eq!(names["processes"][0]["name"], "program<b>");
    for (path, more, head, lines) in [
        ("records", "", "time,level,", 121),
        ("counts", "&points=100", "time_ms,TRACE,", 101),
        ("loggers", "", "kind,", 4),
    ] {
        let answer = asked(address, &format!("{path}?{period}&format=csv{more}"));
        assert!(answer.body.starts_with(head), "{}", answer.body);
        // A text of two lines stays one field.
        assert_eq!(answer.body.lines().count(), lines, "{path}: {}", answer.body);
    }
    // A list in CSV that is not all of them says from where to go on.
    let (mut behind, mut pages, mut lines) = (Some(String::new()), 0, 0);
    while let Some(from) = behind {
        let asked = asked(address, &format!("records?{period}&format=csv&count=60{from}"));
        (pages, lines) = (pages + 1, lines + asked.body.lines().count() - 1);
        let header = asked.head.lines().find_map(|line| line.strip_prefix("whit-behind: "));
        behind = header.map(|key| format!("&behind={key}"));
    }
    assert_eq!((pages, lines), (2, 120));
    for wrong in [
        "records?from=5&thru=4",
        "records?level=loud",
        "records?order=up",
        "records?pair=x",
        "records?regex=(",
        "records?behind=7",
        "records?count=0",
        "record?id=x",
        "other",
        "",
        "counts?order=newest",
        "loggers?text=x",
        "live?from=1",
        "records?count=100000",
    ] {
        let answer = asked(address, wrong);
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.body);
    }
    // Nothing is in the store yet: an empty answer, not an error.
    let (_other, address) = serve(&held.path().join("other"), &held.path().join("nothing"));
    let empty = ask(address, &format!("records?{period}"));
    assert_eq!(texts(&empty), Vec::<String>::new());
}

#[test]
fn a_long_record_is_shortened_in_lists_and_whole_by_itself() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path().join("log");
    let mut writer = Writer::new(&folder);
    let long = "\u{202e}ä<b>\n".repeat(4000);
    writer.write(START_MS, &[(LogLevel::Info, &long)]);
    let (_server, address) = serve(held.path(), &folder);
    let found = ask(address, &format!("records?from={START_MS}&thru={}", START_MS + 1000));
    let listed = &found["records"][0];
    if listed["is_short"] == true {
        assert!(listed["message"].as_str().unwrap().len() <= 4100);
    }
    let id = listed["id"].as_str().unwrap();
    let whole = ask(address, &format!("record?id={id}"));
    let message = whole["message"].as_str().unwrap();
    let (begin, _) = message.rsplit_once('b').unwrap();
    assert!(long.starts_with(begin) && begin.len() > 1000, "{}", message.len());
}

/// The events of a stream.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(address: SocketAddr, query: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/whit/v1/logs/live?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        Events(BufReader::new(stream))
    }

    /// The next line that begins so.
    fn line(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0);
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim_end().to_owned();
            }
        }
    }

    fn event(&mut self) -> Value {
        serde_json::from_str(&self.line("data: ")).unwrap()
    }
}

#[test]
fn new_records_come_to_those_who_want_them_and_what_is_missed_is_counted() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path().join("log");
    let mut writer = Writer::new(&folder);
    writer.write(START_MS, &[(LogLevel::Error, "before")]);
    let (_server, address) = serve(held.path(), &folder);
    let (mut all, mut errors) = (Events::open(address, ""), Events::open(address, "level=ERROR"));
    for events in [&mut all, &mut errors] {
        assert_eq!(events.line("event: "), "begin");
        assert_eq!(events.event(), serde_json::json!({}));
    }
    let (mut shown, mut counted) = (Vec::new(), 0);
    for second in 0..50 {
        writer.write(START_MS + second, &[(LogLevel::Info, "info"), (LogLevel::Error, HOSTILE)]);
    }
    while counted < 100 {
        let event = all.event();
        assert_eq!(event["missed"], 0);
        shown.extend(texts(&event));
        counted = shown.len();
    }
    let mut seen = Vec::new();
    while seen.len() < 50 {
        seen.extend(texts(&errors.event()));
    }
    assert_eq!(seen, vec![HOSTILE; 50]);
    // More at once than an event has: the rest is counted.
    let many = vec![(LogLevel::Info, "many"); 1000];
    writer.write(START_MS + 60, &many);
    let (mut shown, mut missed) = (0, 0);
    while shown + missed < 1000 {
        let event = all.event();
        shown += texts(&event).len() as u64;
        missed += event["missed"].as_u64().unwrap();
    }
    assert_eq!((shown, missed), (200, 800));
}
