//! Outputs of the proxy itself, beside the central server and in its place: which levels go where,
//! the order of time, outputs that fail, and proxies that are killed.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::talk::{Client, c_client, rust_client};
use crate::common::{Folders, ROLE, drain, folders, start};
use log_format::{
    FileRotation, FileSink, JsonFormat, LogRecord, LogSink, LogZone, RecordFormat, TextFormat,
    write_message,
};
use log_proxy::Proxy;
use log_proxy::Spool;
use log_store::audit::Audit;
use logring::LogLevel;

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    let ["outputs", folder, file] = role else { return false };
    let mut proxy = without_central(Path::new(folder));
    proxy.add_output("file", file_sink(Path::new(file), Box::<JsonFormat>::default()));
    loop {
        if !proxy.round() {
            proxy.wait(Duration::from_millis(2));
        }
    }
}

/// A proxy that has only outputs of its own.
fn without_central(rings: &Path) -> Proxy {
    let mut settings = crate::common::settings(rings, Path::new("nowhere"));
    settings.central = None;
    Proxy::new(settings, Spool::none([1; 16]))
}

fn file_sink(path: &Path, format: Box<dyn RecordFormat>) -> Box<dyn LogSink> {
    let rotation = FileRotation { bytes_max: None, keep: 0 };
    Box::new(FileSink::open(path, format, rotation).unwrap())
}

/// Runs a proxy in a thread until the value is dropped.
struct Background {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Proxy>>,
}

fn background(mut proxy: Proxy) -> Background {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let thread = std::thread::spawn(move || {
        while !over.load(Ordering::Acquire) {
            if !proxy.round() {
                proxy.wait(Duration::from_millis(2));
            }
        }
        proxy
    });
    Background { is_over, thread: Some(thread) }
}

impl Background {
    fn stop(mut self) -> Proxy {
        self.is_over.store(true, Ordering::Release);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Records of a file of JSON lines, by level.
fn levels_of(path: &Path) -> BTreeMap<String, usize> {
    let mut levels = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (_, rest) = line.split_once("\"level\":\"").unwrap();
        *levels.entry(rest.split_once('"').unwrap().0.to_owned()).or_insert(0) += 1;
    }
    levels
}

fn levels_in_store(folders: &Folders) -> BTreeMap<String, usize> {
    let mut levels = BTreeMap::new();
    let mut reader = log_store::StoreReader::open(&folders.store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        if item.record.kind == logring::abi::kind::LOG && item.process.name != "whit log central" {
            let level = LogLevel::from_number(item.record.flags & logring::abi::LEVEL_MASK);
            *levels.entry(level.unwrap().name().to_owned()).or_insert(0) += 1;
        }
        std::ops::ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    levels
}

fn counts(debug: usize, info: usize) -> BTreeMap<String, usize> {
    let all = [("DEBUG", debug), ("INFO", info)];
    all.iter().filter(|(_, n)| *n > 0).map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

/// What only the local level lets through is not sent; what the central level let through when it was
/// made is, whatever the level is when it is read.
fn goes_where_its_levels_say(folders: &Folders, mut client: Client) {
    let central = crate::common::central(&folders.store, &folders.socket);
    let file = folders.all.path().join("file");
    let start = || {
        let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
        proxy.add_output("file", file_sink(&file, Box::<JsonFormat>::default()));
        background(proxy)
    };
    let proxy = start();
    client.ask("levels 4 3", "set");
    client.ask("log 10", "logged");
    client.ask("debug 5", "logged");
    client.ask("flush 3 300000", "flush 1");
    assert_eq!(levels_of(&file), counts(5, 10));
    assert_eq!(levels_in_store(folders), counts(0, 10));
    // Nothing but what is left out: it is acknowledged all the same.
    client.ask("debug 3", "logged");
    client.ask("flush 3 300000", "flush 1");
    assert_eq!(levels_of(&file), counts(8, 10));
    drop(proxy.stop());
    client.ask("levels 3 4", "set");
    client.ask("debug 7", "logged");
    client.ask("log 1", "logged");
    client.ask("levels 4 4", "set");
    let proxy = start();
    client.ask("flush 3 300000", "flush 1");
    client.end();
    let mut proxy = proxy.stop();
    drain(&mut proxy, &folders.rings);
    central.stop();
    assert_eq!(levels_of(&file), counts(8, 11));
    assert_eq!(levels_in_store(folders), counts(7, 11));
    let audit = Audit::of(&folders.store, true).unwrap();
    let total = audit.total();
    assert!(audit.is_whole(), "{audit:?}");
    assert_eq!((total.left_out, total.dropped, proxy.counters().dropped), (8, 0, 0));
}

#[test]
fn records_of_rust_go_where_their_levels_say() {
    let folders = folders();
    let client = rust_client(&folders.rings);
    goes_where_its_levels_say(&folders, client);
}

#[test]
fn records_of_c_go_where_their_levels_say() {
    let folders = folders();
    if let Some(client) = c_client(&folders) {
        goes_where_its_levels_say(&folders, client);
    }
}

/// Without a central server: text in the order of time, tiers are told, files are removed.
#[test]
fn without_a_central_server_outputs_have_everything() {
    let folders = folders();
    let file = folders.all.path().join("file");
    let mut proxy = without_central(&folders.rings);
    let format = TextFormat::new(false, LogZone::default());
    proxy.add_output("file", file_sink(&file, Box::new(format)));
    let proxy = background(proxy);
    let mut client = rust_client(&folders.rings);
    client.wait("state 1 0");
    client.ask("log 100", "logged");
    client.ask("flush 1 300000", "flush 1");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 100);
    client.ask("log 1", "logged");
    client.ask("flush 2 300000", "flush 1");
    client.ask("flush 3 50", "flush 0");
    client.ask("counts", "counts 101 0");
    client.end();
    let mut writer = start(&format!("write|{}|4|3000", folders.rings.display()));
    assert!(writer.wait().unwrap().success());
    let mut proxy = proxy.stop();
    drain(&mut proxy, &folders.rings);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 101 + 4 * 3000);
    for thread in 0..4 {
        let mark = format!(" thread {thread} number ");
        let of_thread: Vec<&str> = text.lines().filter(|line| line.contains(&mark)).collect();
        let numbers: Vec<usize> = of_thread
            .iter()
            .map(|line| {
                let (_, rest) = line.split_once(" number ").unwrap();
                rest.split_once(' ').unwrap().0.parse().unwrap()
            })
            .collect();
        assert!(numbers.iter().copied().eq(0..3000), "thread {thread}");
    }
}

/// Threads that take turns are in their order: each waits for the one before.
#[test]
fn threads_are_in_the_order_of_time() {
    const TURNS: u64 = 2000;
    let folders = folders();
    if std::env::var(ROLE).is_err() {
        let file = folders.all.path().join("file");
        let mut proxy = without_central(&folders.rings);
        proxy.add_output("file", file_sink(&file, Box::<JsonFormat>::default()));
        let proxy = background(proxy);
        let mut command = testkit::own_test("outputs::threads_are_in_the_order_of_time");
        command.env(ROLE, folders.rings.display().to_string());
        assert!(command.output().unwrap().status.success());
        let mut proxy = proxy.stop();
        drain(&mut proxy, &folders.rings);
        let text = std::fs::read_to_string(&file).unwrap();
        let turn = |line: &str| -> Option<u64> {
            let (_, rest) = line.split_once("\"message\":\"turn ")?;
            rest.split_once('"')?.0.parse().ok()
        };
        let turns: Vec<u64> = text.lines().filter_map(turn).collect();
        let wrong = turns.windows(2).find(|two| two[1] != two[0] + 1);
        assert_eq!((turns.len() as u64, wrong), (TURNS, None));
        return;
    }
    let folder = std::env::var(ROLE).unwrap();
    let _logging = logger::start(logger::LogConfig::new(folder, "host", "turns")).unwrap();
    let log = logger::Logger::new("turns").unwrap();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let next = &next;
            scope.spawn(move || {
                for turn in (0..TURNS).filter(|turn| turn % 3 == thread) {
                    while next.load(Ordering::Acquire) != turn {
                        std::thread::yield_now();
                    }
                    logger::log_info!(log, "turn {}", turn);
                    next.store(turn + 1, Ordering::Release);
                }
            });
        }
    });
}

/// A thread that begins while a round may run: its first record is older than what is read with it.
#[test]
fn the_first_record_of_a_thread_is_in_the_order_of_time() {
    let folders = folders();
    if let Ok(folder) = std::env::var(ROLE) {
        let [go, done] = ["go", "done"].map(|name| Path::new(&folder).join(name));
        let _logging = logger::start(logger::LogConfig::new(folder, "host", "turns")).unwrap();
        let log = logger::Logger::new("turns").unwrap();
        logger::log_info!(log, "turn 0");
        testkit::wait_until("it may go on", || go.exists());
        std::thread::scope(|scope| drop(scope.spawn(|| logger::log_info!(log, "turn 1"))));
        logger::log_info!(log, "turn 2");
        std::fs::write(done, "").unwrap();
        return;
    }
    let file = folders.all.path().join("file");
    let mut proxy = without_central(&folders.rings);
    proxy.add_output("file", file_sink(&file, Box::<JsonFormat>::default()));
    let mut command =
        testkit::own_test("outputs::the_first_record_of_a_thread_is_in_the_order_of_time");
    command.env(ROLE, folders.rings.display().to_string()).stdout(std::process::Stdio::null());
    let mut child = testkit::Running::start(&mut command);
    let mut has = |turn: &str, file: &Path| {
        proxy.round();
        std::fs::read_to_string(file).unwrap_or_default().contains(turn)
    };
    testkit::wait_until("the first turn", || has("turn 0", &file));
    std::fs::write(folders.rings.join("go"), "").unwrap();
    // The proxy neither sleeps nor looks at the folder meanwhile.
    testkit::wait_until("all turns are made", || folders.rings.join("done").exists());
    testkit::wait_until("the last turn", || has("turn 2", &file));
    assert!(child.ended().success());
    let text = std::fs::read_to_string(&file).unwrap();
    let at = |turn: &str| text.find(turn);
    assert!(
        at("turn 1").is_some_and(|first| at("turn 2").is_some_and(|second| first < second)),
        "{text}"
    );
}

/// Keeps messages, and fails while it is told to: then they wait in its memory, as in all sinks.
#[derive(Clone, Default)]
struct Faulty {
    fails: Arc<AtomicBool>,
    delivered: Arc<Mutex<Vec<String>>>,
    waiting: Arc<Mutex<Vec<String>>>,
}

impl LogSink for Faulty {
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()> {
        let mut text = Vec::new();
        write_message(&mut text, record);
        self.waiting.lock().unwrap().push(String::from_utf8(text).unwrap());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fails.load(Ordering::Acquire) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.delivered.lock().unwrap().append(&mut self.waiting.lock().unwrap());
        Ok(())
    }
}

/// In place of a central server an output that fails loses nothing: rings wait for it.
#[test]
fn rings_wait_for_an_output_that_is_all_there_is() {
    let folders = folders();
    let sink = Faulty::default();
    let mut proxy = without_central(&folders.rings);
    proxy.add_output("faulty", Box::new(sink.clone()));
    let proxy = background(proxy);
    let mut client = rust_client(&folders.rings);
    client.ask("log 10", "logged");
    client.ask("flush 1 300000", "flush 1");
    sink.fails.store(true, Ordering::Release);
    client.ask("log 10", "logged");
    client.ask("flush 1 200", "flush 0");
    client.wait_for_state("state 5 0");
    client.ask("log 1000", "logged");
    sink.fails.store(false, Ordering::Release);
    client.ask("flush 1 300000", "flush 1");
    client.wait_for_state("state 1 0");
    client.end();
    let mut proxy = proxy.stop();
    drain(&mut proxy, &folders.rings);
    let delivered = sink.delivered.lock().unwrap();
    let expected = (0..10).chain(0..10).chain(0..1000).map(|number| number.to_string());
    assert!(delivered.iter().cloned().eq(expected), "{}", delivered.len());
    assert_eq!(proxy.counters().missed, 0);
}

/// Beside a central server an output that fails holds nothing up, and says what it missed.
#[test]
fn an_output_that_fails_does_not_hold_the_central_server_up() {
    let folders = folders();
    let central = crate::common::central(&folders.store, &folders.socket);
    let sink = Faulty::default();
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    proxy.add_output("faulty", Box::new(sink.clone()));
    let proxy = background(proxy);
    let mut client = rust_client(&folders.rings);
    client.wait("state 2 0");
    sink.fails.store(true, Ordering::Release);
    client.ask("log 10", "logged");
    client.ask("flush 3 300000", "flush 1");
    client.wait_for_state("state 4 0");
    client.ask("log 1000", "logged");
    client.ask("flush 3 300000", "flush 1");
    sink.fails.store(false, Ordering::Release);
    client.wait("state 2 0");
    client.ask("log 1", "logged");
    client.ask("flush 3 300000", "flush 1");
    testkit::wait_until("the last record", || {
        sink.delivered.lock().unwrap().last().is_some_and(|text| text == "0")
    });
    client.end();
    let mut proxy = proxy.stop();
    drain(&mut proxy, &folders.rings);
    central.stop();
    assert_eq!(levels_in_store(&folders), counts(0, 1011));
    let missed = proxy.counters().missed;
    let delivered = sink.delivered.lock().unwrap();
    let note = format!("output faulty works again; {missed} records are missing there");
    assert_eq!(delivered.iter().filter(|text| **text == note).count(), 1, "{missed}");
    assert_eq!(delivered.len() as u64 - 1 + missed, 1011);
    assert!(missed >= 1000, "{missed}");
}

/// Killed at any moment, a proxy without a central server writes every record at least once.
#[test]
fn a_killed_proxy_without_a_central_server_loses_nothing() {
    let folders = folders();
    let file = folders.all.path().join("file");
    let role = format!("outputs|{}|{}", folders.rings.display(), file.display());
    let writer = start(&format!("write|{}|2|0", folders.rings.display()));
    for kill in 0..20 {
        let proxy = start(&role);
        let bytes = || file.metadata().map_or(0, |facts| facts.len());
        let before = bytes();
        testkit::wait_until("the file grows", || bytes() > before + kill * 1000);
        drop(proxy);
    }
    drop(writer);
    let mut proxy = without_central(&folders.rings);
    proxy.add_output("file", file_sink(&file, Box::<JsonFormat>::default()));
    drain(&mut proxy, &folders.rings);
    let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
    let mut numbers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('{') && line.ends_with('}')) {
        let Some((_, rest)) = line.split_once("\"message\":\"thread ") else { continue };
        let (thread, rest) = rest.split_once(" number ").unwrap();
        let number = rest.split_once(' ').unwrap().0.parse().unwrap();
        numbers.entry(thread.to_owned()).or_default().push(number);
    }
    assert_eq!(numbers.len(), 2);
    for (thread, mut all) in numbers {
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 100 && all.iter().copied().eq(0..all.len() as u64), "{thread}");
    }
}
