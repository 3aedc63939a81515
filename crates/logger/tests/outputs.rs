//! A program's own output, and the adapters for `log` and `tracing`.  Each case is a child process
//! of this test, with a role.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::reading::{Read, folder, read_folder};
use log_format::{FileRotation, FileSink, LogRecord, LogSink, LogZone, TextFormat};
use logger::{
    ConsumerState, LocalOptions, LocalOutput, LogAdapter, LogConfig, Logger, Tier, TracingLayer,
    log_info, log_notice, log_warning,
};
use testkit::{Deadline, PATIENCE, own_test};
use tracing_subscriber::layer::SubscriberExt as _;

const ROLE: &str = "WHIT_LOG_ROLE";
const FOLDER: &str = "WHIT_LOG_FOLDER";

fn run(role: &str, folder: &Path) {
    let mut command = own_test("outputs::child");
    let done = command.env(ROLE, role).env(FOLDER, folder).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{role}: {said}");
}

/// Not a test of its own: what a child does.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let rings = folder.join("rings");
    let _logging = logger::start(LogConfig::new(&rings, "host", "program")).unwrap();
    match role.as_str() {
        "file" => file(&folder),
        "threads" => threads(&folder),
        "broken" => broken(),
        "quiet" => quiet(),
        "log" => facade(),
        "tracing" => tracing_layer(),
        other => panic!("{other}"),
    }
}

fn text_file(path: &Path) -> Box<dyn LogSink> {
    let format = TextFormat::new(false, LogZone::default());
    let rotation = FileRotation { bytes_max: None, keep: 0 };
    Box::new(FileSink::open(path, Box::new(format), rotation).unwrap())
}

fn file(folder: &Path) {
    let log = Logger::new("of the file").unwrap();
    log.set_levels(2, 6);
    let path = folder.join("out.txt");
    let output = LocalOutput::start(text_file(&path), LocalOptions::default()).unwrap();
    let again = LocalOutput::start(text_file(&path), LocalOptions::default());
    assert!(again.is_err(), "two consumers");
    log_warning!(log, "number {} and {:>5}|", 7, "text");
    log_notice!(log, "for the central store only");
    let flushed = logger::flush(Tier::Synced, Duration::from_secs(60));
    assert!(flushed.is_safe, "{flushed:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("WARNING") && text.contains("number 7 and  text|"), "{text}");
    assert!(!text.contains("central store"), "{text}");
    log_warning!(log, "the last");
    let counters = output.stop();
    assert_eq!((counters.missing, counters.damaged_bytes), (0, 0));
    assert!(std::fs::read_to_string(&path).unwrap().contains("the last"));
    // The files of the process are gone; the doorbell stays.
    assert_eq!(std::fs::read_dir(folder.join("rings")).unwrap().count(), 1);
    log_warning!(log, "after the end");
}

/// Ten threads write faster than the output: nothing is lost, and all is in order.
fn threads(folder: &Path) {
    let log = Logger::new("threads").unwrap();
    let path = folder.join("out.txt");
    let output = LocalOutput::start(text_file(&path), LocalOptions::default()).unwrap();
    let threads: Vec<_> = (0..10u32)
        .map(|thread| {
            std::thread::spawn(move || {
                for number in 0..10_000u32 {
                    log_info!(log, "thread {} number {}.", thread, number);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(output.stop().missing, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut next = [0u32; 10];
    for line in text.lines() {
        let (_, rest) = line.split_once("thread ").unwrap();
        let (thread, number) = rest.trim_end_matches('.').split_once(" number ").unwrap();
        let thread: usize = thread.parse().unwrap();
        assert_eq!(number.parse::<u32>().unwrap(), next[thread]);
        next[thread] += 1;
    }
    assert_eq!(next, [10_000; 10]);
}

/// Fails at first, as a full disk does.
struct Full {
    fails: Arc<AtomicBool>,
    lines: Vec<u8>,
}

impl LogSink for Full {
    fn write(&mut self, record: &LogRecord<'_>) -> std::io::Result<()> {
        writeln!(self.lines, "{}", record.logger())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.fails.load(Ordering::Acquire) {
            return Err(std::io::Error::from_raw_os_error(28));
        }
        Ok(())
    }
}

/// An output that fails says so through the status, and goes on when it can.
fn broken() {
    let log = Logger::new("broken").unwrap();
    let fails = Arc::new(AtomicBool::new(true));
    let sink = Full { fails: Arc::clone(&fails), lines: Vec::new() };
    let output = LocalOutput::start(Box::new(sink), LocalOptions::default()).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let watch = logger::on_status(move |status| {
        let _ = sender.send((status.state, status.failure));
    });
    log_info!(log, "{}", 1);
    assert!(!logger::flush(Tier::Read, Duration::from_millis(100)).is_safe);
    let next = || receiver.recv_timeout(PATIENCE).unwrap();
    // A state that is over before it was looked at is not told.
    while next() != (ConsumerState::Degraded, 28) {}
    fails.store(false, Ordering::Release);
    assert!(logger::flush(Tier::Read, PATIENCE).is_safe);
    while next().0 != ConsumerState::InProcess {}
    drop((output, watch));
}

/// Says when it was given a record.
struct Given(std::sync::mpsc::Sender<Instant>);

impl LogSink for Given {
    fn write(&mut self, _: &LogRecord<'_>) -> std::io::Result<()> {
        self.0.send(Instant::now()).map_err(std::io::Error::other)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How often the output's thread has slept.
fn sleeps() -> u64 {
    let of_output = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let count =
            status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        (name.trim() == "log-output").then(|| count.trim().parse().unwrap())
    };
    let mut tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.find_map(|task| of_output(task.unwrap())).expect("a thread")
}

/// Turns in which a record is to wake the output.
const WOKEN: u32 = 3;

/// Without records the output looks once a second, and the next record wakes it, as a flush and the
/// end do.
fn quiet() {
    let log = Logger::new("quiet").unwrap();
    let (sender, given) = std::sync::mpsc::channel();
    let output = LocalOutput::start(Box::new(Given(sender)), LocalOptions::default()).unwrap();
    let (mut woken, deadline) = (0, Deadline::default());
    // A busy machine may delay any record: only how many were given before a look is counted.
    while woken < WOKEN {
        assert!(deadline.is_ahead(), "{woken} records woke the output");
        log_info!(log, "{}", 1);
        given.recv_timeout(PATIENCE).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let (begun, before) = (Instant::now(), sleeps());
        std::thread::sleep(Duration::from_millis(2_000));
        let looks = sleeps() - before;
        // One in a second; with pauses of 20 ms they would be fifty.
        assert!(looks <= 8 + begun.elapsed().as_secs(), "{looks} looks in {:?}", begun.elapsed());
        // Just after a look the next one is a second away.
        let looked = sleeps();
        testkit::wait_until("a look", || sleeps() != looked);
        let logged = Instant::now();
        log_info!(log, "{}", 2);
        let delay = given.recv_timeout(PATIENCE).unwrap() - logged;
        woken += u32::from(delay < Duration::from_millis(500));
    }
    drop(output);
}

fn facade() {
    LogAdapter::install().unwrap();
    Logger::new("quiet").unwrap().set_levels(6, 6);
    for number in 0..3 {
        log::info!("number {number}");
    }
    let mut target = String::new();
    for name in ["one", "two"] {
        // A target that is not static, at the same address.
        target.clear();
        target.push_str(name);
        log::info!(target: &target, "of {name}");
    }
    log::error!(target: "other", "static text");
    log::warn!(target: "quiet", "passes");
    log::info!(target: "quiet", "does not");
    assert!(!log::log_enabled!(target: "quiet", log::Level::Info));
}

fn tracing_layer() {
    let subscriber = tracing_subscriber::registry().with(TracingLayer);
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::info_span!("request", id = 7u64, user = tracing::field::Empty);
        let _entered = span.enter();
        span.record("user", "ada");
        let inner = tracing::debug_span!("inner");
        let _inner = inner.enter();
        tracing::warn!(answer = 42i64, ratio = 2.5, ok = true, name = "x", "a message {}", 1);
        tracing::debug!(target: "other", value = ?Some(1));
    });
}

fn attributes(record: &Read) -> Vec<String> {
    record.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn the_own_output_writes_a_file_and_goes() {
    run("file", folder().path());
}

#[test]
fn ten_threads_lose_nothing_to_a_slow_output() {
    run("threads", folder().path());
}

#[test]
fn an_output_that_fails_is_told_of() {
    run("broken", folder().path());
}

#[test]
fn a_quiet_output_sleeps_until_the_next_record() {
    run("quiet", folder().path());
}

#[test]
fn records_of_the_facade_log_are_found() {
    let folder = folder();
    run("log", folder.path());
    let found = read_folder(&folder.path().join("rings"));
    let of = |logger: &str| -> Vec<&str> {
        let records = found.records.iter().filter(|record| record.logger == logger);
        records.map(|record| record.values[0].as_str()).collect()
    };
    assert_eq!(of("all::outputs"), ["number 0", "number 1", "number 2"]);
    assert_eq!((of("other"), of("quiet")), (vec!["static text"], vec!["passes"]));
    assert_eq!((of("one"), of("two")), (vec!["of one"], vec!["of two"]));
    assert_eq!(found.records[0].routine, "all::outputs");
}

#[test]
fn events_of_tracing_are_found_with_their_spans() {
    let folder = folder();
    run("tracing", folder.path());
    let found = read_folder(&folder.path().join("rings"));
    let [event, other] = &found.records[..] else { panic!("{found:?}") };
    assert_eq!((event.logger.as_str(), event.values[0].as_str()), ("all::outputs", "a message 1"));
    let own = ["answer=42", "ratio=2.5", "ok=true", "name=x"];
    let of_spans = ["id=7", "user=ada", "span=request:inner"];
    assert_eq!(attributes(event), own.into_iter().chain(of_spans).collect::<Vec<_>>());
    assert_eq!((other.logger.as_str(), other.attributes[0].1.as_str()), ("other", "Some(1)"));
}
