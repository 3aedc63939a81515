//! The ten ways in which ACS's logging loses or distorts records, each as a test that would find it
//! here: the name says which, the comment what ACS does.
//!
//! Writers are processes of their own (this program, started again with a role; and the C client where
//! the loss may be the client's); where a loss is on
//! the way, a relay between proxy and central server cuts or swallows what it is told to.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{
    Folders, Running, c_program, central, drain, folders, held, limit_files, listener, proxy, pump,
    pump_to_end, start,
};
use log_central::{AdmissionLimits, Central, CentralSettings};
use log_format::{Drain, JsonFormat, RecordFormat as _, WriterSink};
use log_protocol::GapReason;
use log_protocol::frame::{FrameKind, HEAD_BYTES, Head};
use log_protocol::{ProcessId, StreamId};
use log_proxy::Proxy;
use log_store::audit::Audit;
use log_store::query::Filter;
use log_store::{Retention, Store, StoreReader, StoreSettings};
use logger::{
    ContextScope, LogConfig, LogLevel, Logger, log_alert, log_critical, log_debug, log_delouse,
    log_emergency, log_error, log_info, log_notice, log_trace, log_warning, trace_scope,
};
use logring::abi::{process, ring, status};
use logring::{ConsumerState, ProcessFile, RingDirectory, RingNotice};

/// Calls of a writer that dies.
const CALLS: u64 = 5_000;
/// Calls of each level of a burst.
const BURST: u64 = 3_000;

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["die", folder, how] => log_and_die(&begin(folder), how),
        ["burst", folder] => burst(begin(folder)),
        ["rich", folder] => rich(&begin(folder)),
        ["throttled", folder] => {
            let mut config = LogConfig::new(folder, "host", "throttled");
            config.set_acs("maxLogsPerSecond", "100").unwrap();
            let _logging = logger::start(config).unwrap();
            let log = Logger::new("throttled").unwrap();
            (0..CALLS).for_each(|number| log_info!(log, "{}", number));
        }
        _ => return false,
    }
    true
}

/// Starts logging with the defaults.
fn begin(folder: &str) -> Logger {
    // Never dropped: the process does not end in order.
    std::mem::forget(logger::start(LogConfig::new(folder, "host", "writer")).unwrap());
    Logger::new("CONTROL/PM01").unwrap()
}

/// Completes calls, says so, and ends without any order.
fn log_and_die(log: &Logger, how: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    for number in 0..CALLS {
        log_info!(log, "{}", number);
    }
    match how {
        "abort" => std::process::abort(),
        "kill" => kill_process(getpid(), Signal::KILL).unwrap(),
        // The handler of Rust's library takes the first for an overflow of the stack.
        "segv" => testkit::wait_for("the end", || {
            kill_process(getpid(), Signal::SEGV).unwrap();
            None
        }),
        "exit" => std::process::exit(3),
        _ => panic!("how it ends"),
    }
    panic!("it lives");
}

/// Records of all levels from two threads, with nobody who reads.
fn burst(log: Logger) {
    log.set_levels(1, 1);
    let thread = move |thread: u64| {
        for number in 0..BURST {
            log_trace!(log, "{} {} {}", thread, number, "trace");
            log_delouse!(log, "{} {} {}", thread, number, "delouse");
            log_debug!(log, "{} {} {}", thread, number, "debug");
            log_info!(log, "{} {} {}", thread, number, "info");
            log_notice!(log, "{} {} {}", thread, number, "notice");
            log_warning!(log, "{} {} {}", thread, number, "warning");
            log_error!(log, "{} {} {}", thread, number, "error");
            log_critical!(log, "{} {} {}", thread, number, "critical");
            log_alert!(log, "{} {} {}", thread, number, "alert");
            log_emergency!(log, "{} {} {}", thread, number, "emergency");
        }
    };
    let threads = [1, 2].map(|number| std::thread::spawn(move || thread(number)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Records with all that records can have, in batches larger and smaller than ACS's packets.
fn rich(log: &Logger) {
    let antenna = log.with(&[("Antenna", "DV01"), ("Audience", "Operator")]);
    log.set_levels(1, 1);
    for batch in [1, 99, 100, 101, 250, 3] {
        let _scope = ContextScope::enter(&[("Array", "A1")]);
        let _trace = trace_scope!(log);
        for number in 0..batch {
            log_debug!(antenna, "number {} of {}: {:>8.3}|", number, batch, 2.5);
            log_warning!(
                log,
                data: {"FullPath" => "/tmp/x \"]]>", "StackLevel" => 2},
                "cannot open {}", "a\nfile"
            );
        }
    }
}

/// Runs a role to its end, or to that of its process.
fn run(role: &str) {
    let mut running = start(role);
    running.wait().unwrap();
}

/// Runs a role of the Rust client and, in folders of its own, the same of the C client; `check` is
/// for what is in the rings then.
fn each_client(role: &str, check: impl Fn(&Folders, &str)) {
    for is_c in [false, true] {
        let folders = folders();
        let rings = folders.rings.display();
        if is_c {
            let Some(program) = c_program() else { return };
            let mut command = Command::new(program);
            command.arg(role).arg(&folders.rings);
            Running::start(&mut command).ended();
        } else {
            run(&format!("{role}|{rings}"));
        }
        check(&folders, if is_c { "C" } else { "Rust" });
    }
}

/// Writes records while a proxy reads them; gives how many.
fn write(folders: &Folders, proxy: &mut Proxy, threads: u64, count: u64) -> u64 {
    let role = format!("write|{}|{threads}|{count}", folders.rings.display());
    let mut writer = start(&role);
    pump(proxy, "the writer ends", |_| writer.try_wait().unwrap().is_some());
    threads * count
}

/// What a store must hold: all, once.
fn assert_whole(folders: &Folders, count: u64) {
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>() as u64, count);
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole(), "{audit:?}");
}

/// Drains into a central server of this process, and ends it.
fn deliver(folders: &Folders) {
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    drain(&mut proxy, &folders.rings);
    central.stop();
}

/// Calls `each` with level, notice and JSON line of every record of a store, in the order of time.
fn visit(store: &Path, mut each: impl FnMut(LogLevel, Option<RingNotice<'_>>, StreamId, &str)) {
    let (mut format, mut scratch) = (JsonFormat::default(), Vec::new());
    let mut reader = StoreReader::open(store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        if let Some(record) = Filter::default().wanted(item, &mut scratch) {
            let mut line = Vec::new();
            format.put(&mut line, &record);
            let stream = StreamId { process: item.process.id, ring: item.stream.ring };
            let line = String::from_utf8(line).unwrap();
            each(record.level(), item.record.notice(), stream, line.trim_end());
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
}

/// What a relay does with a frame of the proxy.
enum Verdict {
    Pass,
    /// Swallows it.
    Swallow,
    /// Sends half of it, and cuts the connection.
    Cut,
}

/// Passes frames between a socket that proxies connect to and a central server, as `judge` says by
/// connection and frame; acknowledgements to the first `deaf` connections are swallowed.
fn relay(
    folders: &Folders,
    deaf: usize,
    judge: impl FnMut(usize, &Head) -> Verdict + Send + 'static,
) -> PathBuf {
    let (path, to) = (folders.all.path().join("relay"), folders.socket.clone());
    let listener = UnixListener::bind(&path).unwrap();
    let judge = Arc::new(Mutex::new(judge));
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), UnixStream::connect(&to).unwrap());
            let judge = judge.clone();
            let up = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                pass(up.0, up.1, |head| (*judge.lock().unwrap())(number, head));
            });
            std::thread::spawn(move || {
                pass(server, client, |head| match head.kind {
                    FrameKind::Ack if number < deaf => Verdict::Swallow,
                    _ => Verdict::Pass,
                });
            });
        }
    });
    path
}

fn pass(mut from: UnixStream, mut to: UnixStream, mut judge: impl FnMut(&Head) -> Verdict) {
    let mut bytes = vec![0; HEAD_BYTES];
    while from.read_exact(&mut bytes[..HEAD_BYTES]).is_ok() {
        let head = Head::decode(&bytes).unwrap();
        bytes.resize(HEAD_BYTES + head.body_bytes as usize, 0);
        if from.read_exact(&mut bytes[HEAD_BYTES..]).is_err() {
            break;
        }
        let sent = match judge(&head) {
            Verdict::Pass => to.write_all(&bytes).is_ok(),
            Verdict::Swallow => true,
            Verdict::Cut => {
                let _ = to.write_all(&bytes[..bytes.len() / 2]);
                false
            }
        };
        bytes.resize(HEAD_BYTES, 0);
        if !sent {
            break;
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

/// ACS: the cache is cleared before the remote call; an exception loses the batch.
#[test]
fn loss_01_a_batch_whose_send_fails_is_sent_again() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut large = 0;
    let relay = relay(&folders, 3, move |number, head| {
        large += u32::from(number < 3 && head.kind == FrameKind::Records);
        if large == 3 {
            large = 0;
            return Verdict::Cut;
        }
        Verdict::Pass
    });
    let mut proxy = proxy(&folders.rings, &folders.spool, &relay);
    let count = write(&folders, &mut proxy, 2, 40_000);
    drain(&mut proxy, &folders.rings);
    assert!(proxy.counters().connections >= 4, "{:?}", proxy.counters());
    central.stop();
    assert_whole(&folders, count);
}

/// ACS: the file fallback works only before the first connection; afterwards the cache is lost.
#[test]
fn loss_02_a_central_server_that_goes_away_later_is_bridged_by_the_spool() {
    let folders = folders();
    let first = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut count = write(&folders, &mut proxy, 1, 2_000);
    drain(&mut proxy, &folders.rings);
    assert_eq!(proxy.counters().connections, 1);
    first.stop();
    // More than its rings can hold.
    count += write(&folders, &mut proxy, 2, 50_000);
    pump(&mut proxy, "the spool", |proxy| proxy.counters().spool_bytes > 4_000_000);
    assert!(!proxy.is_connected());
    let second = central(&folders.store, &folders.socket);
    drain(&mut proxy, &folders.rings);
    second.stop();
    assert_whole(&folders, count);
}

/// ACS: the throttle truncates the sequence and returns `true`.
#[test]
fn loss_03_what_a_throttle_suppresses_is_counted_and_said() {
    each_client("throttled", |folders, client| {
        deliver(folders);
        let (mut kept, mut suppressed) = (0, 0);
        visit(&folders.store, |_, notice, _, line| match notice {
            Some(RingNotice::Suppressed { count, .. }) => {
                assert!(line.contains(&format!("{count} records were suppressed")), "{line}");
                suppressed += count;
            }
            _ => kept += 1,
        });
        assert!(kept >= 100 && suppressed > 0, "{client}: {kept} {suppressed}");
        assert_eq!(kept + suppressed, CALLS, "{client}");
    });
}

/// ACS: a folder that cannot be written: "Cache is lost!".
#[test]
fn loss_04_a_spool_that_cannot_be_written_leaves_records_in_the_rings() {
    let folders = folders();
    let role = format!(
        "proxy|{}|{}|{}",
        folders.rings.display(),
        folders.spool.display(),
        folders.socket.display()
    );
    let proxy = start(&role);
    limit_files(&proxy, Some(512 << 10));
    let count = 60_000;
    let writer = format!("write|{}|1|{count}", folders.rings.display());
    let mut writer = start(&writer);
    let (state, errno) = testkit::wait_for("the proxy says that it has no room", || {
        let found = RingDirectory::scan(&folders.rings).unwrap().processes;
        let file = std::fs::File::open(found.first()?).ok()?;
        let word = |at: usize| {
            let mut bytes = [0; 4];
            file.read_exact_at(&mut bytes, (process::STATUS + at) as u64).unwrap();
            u32::from_le_bytes(bytes)
        };
        let state = ConsumerState::from_number(word(status::STATE));
        (state == Some(ConsumerState::Full)).then(|| (state, word(status::FAILURE)))
    });
    assert_eq!((state, errno), (Some(ConsumerState::Full), 27), "EFBIG is told to the client");
    limit_files(&proxy, None);
    let central = central(&folders.store, &folders.socket);
    testkit::wait_for("all rings are read", || {
        let found = RingDirectory::scan(&folders.rings).unwrap();
        let is_over = writer.try_wait().unwrap().is_some();
        (is_over && found.rings.is_empty() && found.processes.is_empty()).then_some(())
    });
    central.stop();
    assert_whole(&folders, count);
}

/// ACS: what is in the deque of a process that crashes is lost.
#[test]
fn loss_05_a_process_that_dies_loses_no_completed_call() {
    let folders = folders();
    let program = c_program();
    let ends = ["abort", "kill", "segv", "exit"];
    for how in ends {
        run(&format!("die|{}|{how}", folders.rings.display()));
        if let Some(program) = program {
            let mut command = Command::new(program);
            command.arg(format!("die-{how}")).arg(&folders.rings);
            Running::start(&mut command).ended();
        }
    }
    deliver(&folders);
    let mut numbers: BTreeMap<ProcessId, Vec<u64>> = BTreeMap::new();
    visit(&folders.store, |_, _, stream, line| {
        let (_, message) = line.split_once("\"message\":\"").unwrap();
        let number = message.trim_end_matches("\"}").parse().unwrap();
        numbers.entry(stream.process).or_default().push(number);
    });
    for (process, numbers) in &numbers {
        let here = numbers.len();
        assert!(numbers.iter().copied().eq(0..CALLS), "{process}: {here} records");
    }
    assert_eq!(numbers.len(), if program.is_some() { 2 } else { 1 } * ends.len());
    assert!(Audit::of(&folders.store, true).unwrap().is_whole());
}

/// ACS: without the notification service "the log records will be lost"; a server that is off duty
/// returns silently.
#[test]
fn loss_06_a_central_server_that_cannot_store_or_serve_acknowledges_nothing() {
    let folders = folders();
    // One that lets nobody in.
    let settings = StoreSettings { sync: false, ..StoreSettings::default() };
    let id = log_protocol::auth::random().unwrap();
    let (store, recovery) = Store::open(&folders.all.path().join("other"), settings, id).unwrap();
    let listener = listener(&folders.socket);
    let settings = CentralSettings {
        secret: Some(b"secret".to_vec()),
        delay: Duration::from_millis(2),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
        acks_on_receipt: false,
        recordings: None,
    };
    let strict = Central::start(store, &recovery, vec![listener], settings).unwrap();
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let count = write(&folders, &mut proxy, 1, 60_000);
    assert!(proxy.counters().connections == 0 && !proxy.is_all_committed());
    strict.stop();
    // One whose disk is full.
    let role = format!("central|{}|{}", folders.store.display(), folders.socket.display());
    let full = start(&role);
    limit_files(&full, Some(16 << 10));
    pump(&mut proxy, "a connection", |proxy| proxy.counters().connections > 0);
    let end = Instant::now() + Duration::from_millis(500);
    pump(&mut proxy, "some time", |_| Instant::now() >= end);
    assert!(!proxy.is_all_committed(), "it acknowledged what it has not stored");
    limit_files(&full, None);
    drain(&mut proxy, &folders.rings);
    drop(full);
    let held = held(&folders.store);
    let said = |text: &str| held.own.iter().any(|own| own.contains(text));
    assert!(said("File too large"), "{:?}", held.own);
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>() as u64, count);
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole(), "{audit:?}");
}

/// ACS's Java: 1000 records are queued, at 70 % those below INFO are dropped; lossless, it sleeps in
/// the call.
#[test]
fn loss_07_a_burst_beyond_every_queue_keeps_all_levels() {
    each_client("burst", |folders, client| {
        deliver(folders);
        let mut found: BTreeMap<LogLevel, u64> = BTreeMap::new();
        visit(&folders.store, |level, notice, _, line| {
            assert!(notice.is_none(), "{client}: {line}");
            *found.entry(level).or_default() += 1;
        });
        let expected: BTreeMap<LogLevel, u64> =
            LogLevel::ALL.into_iter().map(|level| (level, 2 * BURST)).collect();
        assert_eq!(found, expected, "{client}");
        assert_eq!(Audit::of(&folders.store, true).unwrap().total().dropped, 0, "{client}");
    });
}

/// ACS's Python: beyond 1000 only INFO and above stay; what is older than 60 s is replaced.
#[test]
fn loss_08_old_records_of_low_levels_arrive_as_they_were() {
    each_client("burst", |folders, client| {
        let now_ns = logring::clock::realtime_ns();
        // All of it becomes an hour older, or as old as the machine is.
        let directory = RingDirectory::scan(&folders.rings).unwrap();
        let hz = ProcessFile::open(&directory.processes[0]).unwrap().header().stamp_hz;
        let mut back = hz * 3600;
        for is_looking in [true, false] {
            for path in &directory.rings {
                back = make_older(path, back, is_looking);
            }
        }
        deliver(folders);
        let age_ns = u128::from(back) * 1_000_000_000 / u128::from(hz);
        let (mut low, mut traces) = (0, Vec::new());
        visit(&folders.store, |level, _, _, line| {
            low += u64::from(level < LogLevel::Info);
            if level == LogLevel::Trace && line.contains("\"message\":\"1 ") {
                let (_, message) = line.split_once("\"message\":\"1 ").unwrap();
                traces.push(message.trim_end_matches(" trace\"}").parse::<u64>().unwrap());
            }
            let time = line.split('"').nth(3).unwrap();
            let time: jiff::Timestamp = time.parse().unwrap();
            let time_ns = u128::try_from(time.as_nanosecond()).unwrap();
            let off = (time_ns + age_ns).abs_diff(u128::from(now_ns));
            assert!(off < 60_000_000_000, "{line}: {off} ns off");
        });
        assert_eq!(low, 3 * 2 * BURST, "{client}");
        assert!(traces.iter().copied().eq(0..BURST), "{client}");
    });
}

/// Moves the stamps of a ring's records back, or looks how far that is possible.
fn make_older(path: &Path, back: u64, is_looking: bool) -> u64 {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let word = |at: u64| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    };
    let capacity = word(ring::CAPACITY as u64);
    let end = word(ring::WRITE_POSITION as u64);
    let (mut at, mut least) = (0, back);
    while at < end {
        let place = |at: u64| ring::DATA as u64 + at % capacity;
        let (size, stamp) = (word(place(at)) & 0xFFFF, word(place(at + 8)));
        least = least.min(stamp);
        if !is_looking {
            file.write_all_at(&(stamp - back).to_le_bytes(), place(at + 8)).unwrap();
        }
        at += size * 8;
    }
    least
}

/// ACS: no sequence numbers anywhere, so nobody can see a loss.
#[test]
fn loss_09_a_loss_on_the_way_is_detected_and_named() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let swallowed = Arc::new(Mutex::new(None));
    let seen = swallowed.clone();
    let relay = relay(&folders, 0, move |_, head| {
        let mut seen = seen.lock().unwrap();
        // Not the last of a stream, behind which nothing would show the gap: the rings that a thread
        // outgrows hold 5,459 records at most, and the last ring has 50,000.
        let is_large = head.kind == FrameKind::Records && head.count > 100;
        if is_large && head.first > 10_000 && head.next < 45_000 && seen.is_none() {
            *seen = Some(*head);
            return Verdict::Swallow;
        }
        Verdict::Pass
    });
    let mut proxy = proxy(&folders.rings, &folders.spool, &relay);
    let count = 60_000;
    let mut writer = start(&format!("write in one ring|{}|{count}", folders.rings.display()));
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let Some(head) = swallowed.lock().unwrap().take() else { panic!("no frame was swallowed") };
    let audit = Audit::of(&folders.store, true).unwrap();
    let lost = &audit.streams[&head.stream].lost;
    assert_eq!(*lost, [(head.first, head.next, GapReason::Missing)]);
    let held = held(&folders.store);
    let named = format!("records {} to {} of {}", head.first, head.next - 1, head.stream);
    assert!(held.own.iter().any(|text| text.contains(&named)), "{:?}", held.own);
    let here = held.numbers.values().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(here + u64::from(head.count), count);
}

/// ACS: stdout and central have different fields; large batches overtake buffered records.
#[test]
fn loss_10_local_and_central_outputs_have_the_same_records_in_order() {
    let folders = folders();
    run(&format!("rich|{}", folders.rings.display()));
    // The rings are given to the local outputs first, and then, as they were, to the proxy.
    let copy = folders.all.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(&folders.rings).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    let output = folders.all.path().join("output");
    let mut sink =
        WriterSink::new(Box::new(JsonFormat::default()), std::fs::File::create(&output).unwrap());
    let mut drained = Drain::new();
    assert_eq!(drained.scan(&copy, &|_| true), [] as [String; 0]);
    while drained.round(&mut sink, u64::MAX).unwrap() > 0 {}
    deliver(&folders);
    // Clocks are read again meanwhile: times may be some microseconds apart.
    let without_time = |line: &str| line.split_once("\"level\"").unwrap().1.to_owned();
    let local = std::fs::read_to_string(&output).unwrap();
    let local: Vec<String> = local.lines().map(without_time).collect();
    let mut central: Vec<String> = Vec::new();
    let mut next: BTreeMap<StreamId, u64> = BTreeMap::new();
    visit(&folders.store, |_, _, stream, line| {
        let (_, sequence) = line.split_once("\"sequence\":").unwrap();
        let sequence: u64 = sequence.split(',').next().unwrap().parse().unwrap();
        let last = next.entry(stream).or_default();
        assert!(sequence >= *last, "{sequence} behind {last}");
        *last = sequence + 1;
        central.push(without_time(line));
    });
    assert_eq!(local.len(), 6 * 2 + 2 * (1 + 99 + 100 + 101 + 250 + 3));
    for (one, other) in local.iter().zip(&central) {
        assert_eq!(one, other);
    }
    assert_eq!(local.len(), central.len());
    let last = local.iter().find(|line| line.contains("a\\nfile")).unwrap();
    for part in ["\"Array\":\"A1\"", "\"FullPath\":\"/tmp/x \\\"]]>\"", "\"StackLevel\":2"] {
        assert!(last.contains(part), "{last}");
    }
    assert!(central.iter().any(|line| line.contains("\"Antenna\":\"DV01\"")));
}
