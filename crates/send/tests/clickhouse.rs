//! ClickHouse: a server that keeps rows as its documentation says, through faults, ends and repetitions.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use send::{EngineAddress, SendEvent, SendSettings, verify};
use serde_json::{Value, json};
use testkit::Random;

use crate::deliveries::{Points, few_points, recorded, sender_to};
use crate::log_read::decoded;
use crate::logs::{Programs, send_through_ends, stored};
use crate::proxy::Proxy;
use crate::receiver::{Received, receive};
use crate::recorded::{FILES, SAMPLES, record};

/// A row of `whit_samples`.
#[derive(Clone, Debug)]
struct SampleRow {
    time_ms: i64,
    host: String,
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
    recording: u64,
    sample: u64,
}

/// A row of `whit_logs`.
#[derive(Clone, Debug)]
struct LogRow {
    time_ns: i64,
    /// Level, host, process, logger, message, record, store.
    texts: [String; 7],
    pid: u32,
    place: (u64, u64),
}

/// An insert whose answer says that it failed, and which is done later.
type Late = (String, Received);

#[derive(Default)]
struct Tables {
    are_made: bool,
    samples: Vec<SampleRow>,
    logs: Vec<LogRow>,
    tokens: HashSet<String>,
    inserts: usize,
    repeated: usize,
    late: Option<Late>,
}

/// Reads RowBinary.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        *first
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn length(&mut self) -> usize {
        prost::encoding::decode_varint(&mut self.0).unwrap() as usize
    }

    fn text(&mut self) -> String {
        let length = self.length();
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).unwrap()
    }

    fn sample(&mut self) -> SampleRow {
        SampleRow {
            time_ms: i64::from_le_bytes(self.array()),
            host: self.text(),
            name: self.text(),
            labels: (0..self.length()).map(|_| (self.text(), self.text())).collect(),
            value: f64::from_le_bytes(self.array()),
            recording: self.u64(),
            sample: self.u64(),
        }
    }

    fn log(&mut self) -> LogRow {
        let time_ns = i64::from_le_bytes(self.array());
        let [level, host, process] = [(); 3].map(|()| self.text());
        let pid = u32::from_le_bytes(self.array());
        let [logger, message, record, store] = [(); 4].map(|()| self.text());
        let texts = [level, host, process, logger, message, record, store];
        LogRow { time_ns, texts, pid, place: (self.u64(), self.u64()) }
    }
}

impl Tables {
    fn start(are_made: bool) -> (std::net::SocketAddr, Arc<Mutex<Tables>>) {
        let tables = Arc::new(Mutex::new(Tables { are_made, ..Tables::default() }));
        let own = tables.clone();
        (receive(move |request| own.lock().unwrap().answer(request)), tables)
    }

    fn answer(&mut self, request: Received) -> (String, Vec<u8>) {
        let target = request.head.strip_prefix("post /?").unwrap();
        let target = target.split(' ').next().unwrap();
        let parameters: BTreeMap<String, String> = target
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        if let Some(query) = parameters.get("query") {
            return self.insert(query, &parameters, request);
        }
        let question = String::from_utf8(request.body).unwrap();
        if question.starts_with("CREATE TABLE IF NOT EXISTS whit_") {
            assert!(question.ends_with("SETTINGS non_replicated_deduplication_window = 1000"));
            self.are_made = true;
            return ("200 OK".into(), Vec::new());
        }
        match self.are_made {
            true => ("200 OK".into(), self.select(&question, &parameters).into_bytes()),
            false => missing(),
        }
    }

    fn insert(
        &mut self,
        query: &str,
        parameters: &BTreeMap<String, String>,
        request: Received,
    ) -> (String, Vec<u8>) {
        assert_eq!((&*parameters["insert_deduplicate"], &*parameters["async_insert"]), ("1", "0"));
        if !self.are_made {
            return missing();
        }
        self.finish();
        self.inserts += 1;
        let token = parameters["insert_deduplication_token"].clone();
        let table = query.strip_prefix("insert into ").unwrap().split(' ').next().unwrap();
        let is_samples = match (table, query) {
            (
                "whit_samples",
                "insert into whit_samples (time, host, name, labels, value, recording, sample) format rowbinary",
            ) => true,
            (
                "whit_logs",
                "insert into whit_logs (time, level, host, process, pid, logger, message, record, store, segment, number) format rowbinary",
            ) => false,
            _ => panic!("{query}"),
        };
        let token = format!("{table} {token}");
        if self.inserts.is_multiple_of(4) {
            self.late = Some((token, request));
            return ("503 Service Unavailable".into(), Vec::new());
        }
        self.keep(token, &request.body, is_samples);
        ("200 OK".into(), Vec::new())
    }

    /// Does what was begun.
    fn finish(&mut self) {
        if let Some((token, request)) = self.late.take() {
            let is_samples = token.starts_with("whit_samples");
            self.keep(token, &request.body, is_samples);
        }
    }

    /// Keeps all rows of an insert, unless its token is known.
    fn keep(&mut self, token: String, rows: &[u8], is_samples: bool) {
        if !self.tokens.insert(token) {
            self.repeated += 1;
            return;
        }
        let mut bytes = Bytes(rows);
        while !bytes.0.is_empty() {
            match is_samples {
                true => self.samples.push(bytes.sample()),
                false => self.logs.push(bytes.log()),
            }
        }
    }

    fn select(&self, question: &str, parameters: &BTreeMap<String, String>) -> String {
        let word = |from: &str| {
            question.split(from).nth(1).unwrap().split([' ', '\'', ',']).next().unwrap()
        };
        if question.starts_with("SELECT max(sample) FROM whit_samples WHERE recording = ") {
            let recording: u64 = word("recording = ").parse().unwrap();
            let of = self.samples.iter().filter(|row| row.recording == recording);
            return format!("{}\n", of.map(|row| row.sample).max().unwrap_or(0));
        }
        if question.starts_with("SELECT segment, max(number) FROM whit_logs WHERE store = '") {
            let store = word("store = '");
            let of = self.logs.iter().filter(|row| row.texts[6] == store);
            let last = of.map(|row| row.place).max();
            return last
                .map_or(String::new(), |(segment, number)| format!("{segment}\t{number}\n"));
        }
        assert!(
            question.starts_with("SELECT name, labels, toUnixTimestamp64Milli(time), value FROM")
        );
        let first: i64 = word(">= fromUnixTimestamp64Milli(").parse().unwrap();
        let last: i64 = word("<= fromUnixTimestamp64Milli(").parse().unwrap();
        let mut rows: Vec<&SampleRow> = self
            .samples
            .iter()
            .filter(|row| {
                row.host == parameters["param_host"] && (first..=last).contains(&row.time_ms)
            })
            .collect();
        rows.sort_by_key(|row| row.time_ms);
        let line = |row: &SampleRow| {
            format!("{}\n", json!([row.name, row.labels, row.time_ms, row.value]))
        };
        rows.into_iter().map(line).collect()
    }

    /// The points of all series.
    fn points(&self) -> Points {
        let mut points = Points::new();
        for row in &self.samples {
            let mut labels: BTreeMap<&str, &str> =
                row.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            labels.extend([("__name__", &*row.name), ("instance", &row.host), ("job", "whit")]);
            let of_series = points.entry(format!("{labels:?}")).or_default();
            of_series.push((row.time_ms, row.value.to_bits()));
        }
        points
    }
}

/// The answer about tables that are not there.
fn missing() -> (String, Vec<u8>) {
    let text =
        "Code: 60. DB::Exception: Table default.whit_samples does not exist. (UNKNOWN_TABLE)";
    ("404 Not Found".into(), text.into())
}

#[test]
fn every_sample_is_in_the_table_once() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu", "memory", "disk"], |_| ());
    let (address, tables) = Tables::start(false);
    let proxy = Proxy::start(address, testkit::seed(258), 3);
    let to = format!("clickhouse=http://{}", proxy.address);
    let mut random = Random::from_seed(testkit::seed(259));
    let mut ends = 0;
    let settings = SendSettings { creates_tables: true, ..few_points() };
    loop {
        let mut pauses = random.below(6);
        let mut is_ended = false;
        let mut sender = sender_to(folder.path(), &to, &settings);
        let mut pause = |_: Duration| {
            is_ended = pauses == 0;
            pauses = pauses.saturating_sub(1);
            !is_ended
        };
        sender.run(&mut pause, &mut |_| ()).unwrap();
        if !is_ended {
            assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
            break;
        }
        ends += 1;
    }
    let mut tables = tables.lock().unwrap();
    tables.finish();
    assert!(ends > 2 && tables.repeated > 0, "{ends} ends, {} repetitions", tables.repeated);
    assert_eq!(tables.points(), recorded(folder.path()));
}

#[test]
fn what_the_table_lacks_or_has_twice_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    let (address, tables) = Tables::start(false);
    let text = format!("clickhouse=http://{address}");
    let mut told = Vec::new();
    let mut sender = sender_to(folder.path(), &text, &few_points());
    assert!(!sender.run(&mut |_| false, &mut |event| told.push(event)).unwrap());
    // Its lock goes with it.
    drop(sender);
    let said = format!("{told:?}");
    assert!(said.contains("does not exist") && said.contains("--create-tables"), "{said}");
    tables.lock().unwrap().are_made = true;
    let tell = |event: SendEvent| assert!(!matches!(event, SendEvent::Note(_)), "{event:?}");
    let mut sender = sender_to(folder.path(), &text, &few_points());
    assert!(sender.run(&mut |_| true, &mut { tell }).unwrap());
    drop(sender);
    tables.lock().unwrap().finish();
    let engine = EngineAddress::parse(&text).unwrap();
    // The name that `sender_to` gives.
    let names = send::CursorFile::names_in(folder.path()).unwrap();
    let report = || verify(folder.path(), &names[0], &engine, &few_points()).unwrap();
    assert!(report().is_whole());
    let mut own = tables.lock().unwrap();
    let points = own.samples.len() as u64;
    own.samples.remove(7);
    let twice = own.samples[70].clone();
    own.samples.push(twice);
    own.samples[100].value += 1.0;
    drop(own);
    let report = report();
    assert!(!report.is_whole());
    let json = report.json("c");
    let counts = ["points", "missing", "different", "doubled"].map(|name| json[name].as_u64());
    assert_eq!(counts, [Some(points), Some(1), Some(1), Some(1)], "{json}");
}

#[test]
fn every_log_record_is_in_the_table_once() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 30);
    let (address, tables) = Tables::start(true);
    let proxy = Proxy::start(address, testkit::seed(260), 3);
    let to = format!("clickhouse=http://{}", proxy.address);
    let ends = send_through_ends(folder.path(), &to, |_| ());
    let mut tables = tables.lock().unwrap();
    tables.finish();
    assert!(ends > 2 && tables.repeated > 0, "{ends} ends, {} repetitions", tables.repeated);
    let stored = stored(folder.path());
    assert_eq!(stored.len(), tables.logs.len());
    for (line, row) in stored.iter().zip(&tables.logs) {
        let [level, host, process, logger, message, record, store] = &row.texts;
        assert_eq!((line, store.as_str()), (record, "abababababababab"));
        let one: Value = serde_json::from_str(line).unwrap();
        for (name, text) in [
            ("level", level),
            ("host", host),
            ("process", process),
            ("logger", logger),
            ("message", message),
        ] {
            assert_eq!(one[name], text.as_str());
        }
        assert_eq!(one["pid"], row.pid);
        let nanoseconds = format!(".{:09}Z", row.time_ns % 1_000_000_000);
        assert!(one["time"].as_str().unwrap().ends_with(&nanoseconds), "{line}");
    }
}
