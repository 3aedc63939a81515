//! Clocks that step, ages, disks that are full, versions from the future, records of every size,
//! children of fork: what is kept is right and there once, and what cannot be taken is named and left
//! as it is.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::talk::{Client, rust_client, start_proxy};
use crate::common::{
    Folders, c_program, central, drain, folders, held, in_role, listener, proxy, pump, start,
};
use log_central::{AdmissionLimits, Central, CentralSettings};
use log_protocol::StreamId;
use log_proxy::Spool;
use log_store::audit::Audit;
use log_store::query::Filter;
use log_store::{Retention, Store, StoreReader, StoreSettings};
use logger::{LogConfig, Logger, log_info};
use logring::abi::{FLAG_CUT, kind};
use logring::{ClockPair, LogValue, ProcessFile, RingDirectory};

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["small", store, socket, copy] => run_small(Path::new(store), Path::new(socket), copy),
        ["sizes", folder] => write_sizes(folder),
        _ => return false,
    }
    true
}

/// The only process file of a folder.
fn only_process(folder: &Path) -> ProcessFile {
    let found = RingDirectory::scan(folder).unwrap().processes;
    assert_eq!(found.len(), 1, "{found:?}");
    ProcessFile::open(&found[0]).unwrap()
}

/// Numbers and times of a client's records that a filter lets through, in the store's order.
fn numbers(store: &Path, filter: &Filter) -> Vec<(u64, u64)> {
    let (mut all, mut scratch) = (Vec::new(), Vec::new());
    let mut reader = StoreReader::open(store).unwrap();
    let wants = |chunk: &_, block: &_| filter.wants_block(chunk, block);
    let flow = reader.visit_all(&wants, &mut |item| {
        if item.record.kind == kind::LOG
            && item.process.name == "client"
            && filter.wanted(item, &mut scratch).is_some()
        {
            let site = item.dictionary.site(item.record.site).unwrap();
            let values = item.record.arguments(&site.types).unwrap();
            let LogValue::Unsigned(number) = values.as_slice()[0] else { panic!("{values:?}") };
            all.push((number, item.record.stamp));
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue() && reader.damaged.is_empty());
    all
}

const HOUR_NS: u64 = 3_600_000_000_000;

/// The wall clock steps by an hour, and back: a step moves later records only, the store's index
/// finds each where its time is, and nothing is lost or twice.
#[test]
fn a_step_of_the_clock_moves_later_records_only_and_the_index_finds_them() {
    for is_forth in [true, false] {
        let folders = folders();
        let step = |time: u64| if is_forth { time + HOUR_NS } else { time - HOUR_NS };
        let mut client = rust_client(&folders.rings);
        client.ask("log 1000", "logged");
        let mut file = only_process(&folders.rings);
        // What a consumer reads of the clocks, before the step and behind it.
        let before = file.clocks_now();
        file.calibrate(before).unwrap();
        let now = file.clocks_now();
        file.calibrate(ClockPair { realtime_ns: step(now.realtime_ns), ..now }).unwrap();
        client.ask("log 1000", "logged");
        drop(file);
        // The proxy reads the true clock at once: that is the step back.
        let central = central(&folders.store, &folders.socket);
        let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
        pump(&mut proxy, "it reads", |proxy| proxy.counters().records >= 2000);
        client.ask("log 1000", "logged");
        client.end();
        drain(&mut proxy, &folders.rings);
        central.stop();
        let is_near = |time: u64, other: u64| time.abs_diff(other) < HOUR_NS / 10;
        let all = numbers(&folders.store, &Filter::default());
        assert_eq!(all.len(), 3000);
        let stepped = step(before.realtime_ns);
        let (moved, unmoved): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, time)| is_near(*time, stepped));
        assert!(unmoved.iter().all(|(_, time)| is_near(*time, before.realtime_ns)));
        // Records of a stream are never reordered: each part is in its order.
        assert!(moved.iter().map(|(number, _)| *number).eq(0..1000), "{is_forth}");
        assert!(unmoved.iter().map(|(number, _)| *number).eq((0..1000).chain(0..1000)));
        for (near, count) in [(stepped, 1000), (before.realtime_ns, 2000)] {
            let filter = Filter {
                from_ns: Some(near - HOUR_NS / 10),
                until_ns: Some(near + HOUR_NS / 10),
                ..Filter::default()
            };
            assert_eq!(numbers(&folders.store, &filter).len(), count, "{is_forth}");
        }
        let audit = Audit::of(&folders.store, true).unwrap();
        assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    }
}

fn serve(folders: &Folders, segment_bytes: u64, retention: Retention) -> Central {
    let id = log_protocol::auth::random().unwrap();
    let settings = StoreSettings { segment_bytes, sync: false, ..StoreSettings::default() };
    let (store, recovery) = Store::open(&folders.store, settings, id).unwrap();
    let listener = listener(&folders.socket);
    let settings = CentralSettings {
        acks_on_receipt: false,
        recordings: None,
        secret: None,
        delay: Duration::from_millis(2),
        retention,
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
    };
    Central::start(store, &recovery, vec![listener], settings).unwrap()
}

/// Segments of a store, in their order.
fn segments(store: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "logs")).collect();
    all.sort();
    all
}

/// When a segment was begun, and the newest time in it.
fn ages(segment: &Path) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(segment, folder.path().join(segment.file_name().unwrap())).unwrap();
    let head = std::fs::read(segment).unwrap();
    let begun = u64::from_le_bytes(head[24..32].try_into().unwrap());
    let mut reader = StoreReader::open(folder.path()).unwrap();
    let mut newest = begun;
    while let Some((chunk, _)) = reader.next_chunk().unwrap() {
        newest = chunk.blocks.iter().map(|block| block.last_ns).fold(newest, u64::max);
        newest = newest.max(chunk.committed_ns);
    }
    (begun, newest)
}

/// While records come without a pause, what is older than it may be goes, by whole segments; what
/// stays is whole.
#[test]
fn a_store_under_load_keeps_to_its_age() {
    const AGE: Duration = Duration::from_millis(700);
    let folders = folders();
    let age_ns_max = Some(AGE.as_nanos() as u64);
    let central = serve(&folders, 1 << 16, Retention { age_ns_max, bytes_max: None });
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let writer = start(&format!("write|{}|2|0", folders.rings.display()));
    let begin = Instant::now();
    pump(&mut proxy, "segments go", |_| {
        let first = segments(&folders.store);
        let number = |path: &Path| u64::from_str_radix(path.file_stem()?.to_str()?, 16).ok();
        let is_gone = first.first().and_then(|path| number(path)).is_some_and(|first| first > 3);
        is_gone && begin.elapsed() > 3 * AGE
    });
    writer.kill();
    drain(&mut proxy, &folders.rings);
    let committed = central.counters();
    central.stop();
    let left = segments(&folders.store);
    // It was looked at when the last was begun, or later.
    let (last_begun, _) = ages(left.last().unwrap());
    for segment in &left[..left.len() - 1] {
        let (_, newest) = ages(segment);
        assert!(newest >= last_begun - AGE.as_nanos() as u64, "{segment:?}");
    }
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole(), "{audit:?}");
    let total = audit.total();
    assert!(total.records > 0 && total.records < committed.records, "{total:?} {committed:?}");
    assert_eq!((total.dropped, committed.lost, committed.duplicates), (0, 0, 0));
    // Of each stream the last ones are there.
    let held = held(&folders.store);
    for (stream, numbers) in &held.sequences {
        let (first, next) = (numbers[0], audit.streams[stream].next);
        assert!(numbers.iter().copied().eq(first..next), "{stream}");
    }
}

/// A store on a disk of 16 KiB: records that count have less than a byte each.
const DISK: &std::ffi::CStr = c"size=16k,mode=700";

/// A central server whose store is on a small disk in a namespace of its own; lines of input give it
/// room, and end it after a copy of the store.
fn run_small(store: &Path, socket: &Path, copy: &str) {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    std::fs::create_dir_all(store).unwrap();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    // SAFETY: descriptors stay shared.
    let namespace = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
    let mounted = namespace
        .and_then(|()| mount_change("/", private))
        .and_then(|()| mount("none", store, "tmpfs", MountFlags::empty(), Some(DISK)));
    if let Err(error) = mounted {
        println!("> refused {error}");
        return;
    }
    let central = central(store, socket);
    println!("> mounted");
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "counters" => {
                let counters = central.counters();
                println!("> failures {} {}", u8::from(counters.failures > 2), counters.lost);
            }
            "room" => {
                mount_remount(store, MountFlags::empty(), c"size=256m,mode=700").unwrap();
                println!("> room");
            }
            other => panic!("{other}"),
        }
    }
    let said = central.take_messages();
    central.stop();
    std::fs::create_dir_all(copy).unwrap();
    for segment in segments(store) {
        std::fs::copy(&segment, Path::new(copy).join(segment.file_name().unwrap())).unwrap();
    }
    println!("> said {said:?}");
}

/// Without room at the central server nothing is acknowledged, and the proxy keeps everything; with
/// room it goes on by itself.
#[test]
fn a_full_disk_at_the_central_server_holds_acknowledgements_back() {
    let folders = folders();
    let copy = folders.all.path().join("copy");
    let Folders { store, socket, .. } = &folders;
    let role = format!("small|{}|{}|{}", store.display(), socket.display(), copy.display());
    let mut central = Client::start(in_role(&role));
    let said = central.next_line();
    if said.starts_with("refused") {
        testkit::skip("a store on a disk that is full", &said);
        return;
    }
    let _proxy = start_proxy(&folders);
    let mut client = rust_client(&folders.rings);
    client.wait("state 2 0");
    // While there is room, they are acknowledged.
    client.ask("log 10", "logged");
    client.ask("flush 3 300000", "flush 1");
    client.ask("log 200000", "logged");
    central.ask_until("counters", "failures", "failures 1 0");
    // The rings have room, and the spool has all.
    client.ask("flush 1 20000", "flush 1");
    client.ask("flush 3 300", "flush 0");
    client.ask("log 1000", "logged");
    client.ask("flush 1 20000", "flush 1");
    let kept: u64 = std::fs::read_dir(&folders.spool)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept > 1_000_000, "{kept}");
    central.ask("room", "room");
    client.ask("flush 3 30000", "flush 1");
    client.end();
    let said = central.end_and_hear("said");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("written again: records are committed"), "{said}");
    let audit = Audit::of(&copy, true).unwrap();
    let total = audit.total();
    assert!(audit.is_whole() && total.dropped == 0, "{audit:?}");
    let all = numbers(&copy, &Filter::default());
    let expected = (0..10).chain(0..200_000).chain(0..1000);
    assert!(all.iter().map(|(number, _)| *number).eq(expected), "{}", all.len());
}

/// Writes a version where it is in the file, and the checksum of its head if it has one.
fn set_version(path: &Path, version: u8, has_checksum: bool) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).unwrap();
    head[8] = version;
    if has_checksum {
        let crc = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&crc.to_le_bytes());
    }
    file.write_all_at(&head, 0).unwrap();
}

/// The names and bytes of all files of a folder, but for locks.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.file_stem().is_some_and(|name| name != "lock"));
    files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Spool, store, ring and process file of a later version are named, and left as they are; what is
/// beside them is carried.
#[test]
fn what_a_later_version_wrote_is_named_and_left_alone() {
    let folders = folders();
    let write = |count: u64| {
        let role = format!("write|{}|1|{count}", folders.rings.display());
        assert!(start(&role).ended().success());
    };
    let files = |ending: &str| -> Vec<PathBuf> {
        contents(&folders.rings)
            .into_keys()
            .filter(|path| path.extension().is_some_and(|one| one == ending))
            .collect()
    };
    write(50);
    let process = files("process").remove(0);
    set_version(&process, 2, false);
    let of_future = files("ring");
    write(60);
    let ring = files("ring").into_iter().rfind(|path| !of_future.contains(path)).unwrap();
    set_version(&ring, 2, false);
    write(70);
    let mut first = proxy(&folders.rings, &folders.spool, &folders.socket);
    pump(&mut first, "it reads", |proxy| proxy.counters().records >= 70 + 2);
    for _ in 0..100 {
        first.round();
    }
    let mut said = first.take_messages();
    said.retain(|text| text.contains("version"));
    // Once each.
    assert_eq!(said.len(), 2, "{said:?}");
    for path in [&process, &ring] {
        let named = format!("{}: version 2", path.display());
        assert!(said.iter().any(|text| text.contains(&named)), "{said:?}");
    }
    drop(first);
    // The spool.
    let segment = contents(&folders.spool).into_keys().next().unwrap();
    set_version(&segment, 2, true);
    let before = contents(&folders.spool);
    let opened = Spool::open(&folders.spool, 1 << 30, [1; 16]);
    let said = opened.err().unwrap().to_string();
    assert!(said.contains("version 2") && said.contains("newer whit"), "{said}");
    assert!(said.contains(segment.to_str().unwrap()) && contents(&folders.spool) == before);
    let mut head = before[&segment][..64].to_vec();
    head[8] = 1;
    let crc = crc32c::crc32c(&head[..60]);
    head[60..].copy_from_slice(&crc.to_le_bytes());
    let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
    file.write_all_at(&head, 0).unwrap();
    // Carried, as far as this version reads it.
    let server = central(&folders.store, &folders.socket);
    let mut second = proxy(&folders.rings, &folders.spool, &folders.socket);
    pump(&mut second, "it is carried", |proxy| proxy.is_all_committed() && proxy.is_connected());
    server.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert!(held.numbers.values().any(|numbers| numbers.len() == 70), "{held:?}");
    assert!(process.exists() && ring.exists() && of_future.iter().all(|path| path.exists()));
    // The store.
    let segment = segments(&folders.store).remove(0);
    set_version(&segment, 3, true);
    let before = contents(&folders.store);
    let opened = Store::open(&folders.store, StoreSettings::default(), [1; 16]);
    let said = opened.err().unwrap().to_string();
    assert!(said.contains("version 3, this program reads versions 1 and 2"), "{said}");
    assert!(said.contains(segment.to_str().unwrap()) && contents(&folders.store) == before);
    let said = Audit::of(&folders.store, true).unwrap_err().to_string();
    assert!(said.contains("version 3"), "{said}");
}

/// Texts up to the longest record, and beyond it.
const SIZES: [usize; 8] = [0, 1, 4_000, 70_000, 262_144, 393_216, 524_200, 3_000_000];

/// Writes texts of all sizes, three times.
fn write_sizes(folder: &str) {
    let mut config = LogConfig::new(folder, "host", "sizes");
    (config.rings.ring_bytes, config.rings.ring_bytes_max) = (4 << 20, 16 << 20);
    let _logging = logger::start(config).unwrap();
    let log = Logger::new("sizes").unwrap();
    for _ in 0..3 {
        for size in SIZES {
            log_info!(log, "{} {}", size, "x".repeat(size));
        }
    }
}

/// The longest record is carried whole, a longer one is cut and says so, and what comes behind it is
/// as it was.
#[test]
fn records_of_every_size_are_carried_and_cut_ones_say_so() {
    let folders = folders();
    let server = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut writer = start(&format!("sizes|{}", folders.rings.display()));
    pump(&mut proxy, "the writer ends", |_| writer.try_wait().unwrap().is_some());
    drain(&mut proxy, &folders.rings);
    server.stop();
    let (mut found, mut left_out_bytes) = (Vec::new(), 0);
    let mut reader = StoreReader::open(&folders.store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        if item.record.kind == kind::LOG && item.process.name == "sizes" {
            let site = item.dictionary.site(item.record.site).unwrap();
            let origin = log_format::RecordOrigin::default();
            let record = log_format::LogRecord::new(item.record, item.dictionary, origin, 0);
            let mut json = Vec::new();
            log_format::RecordFormat::put(
                &mut log_format::JsonFormat::default(),
                &mut json,
                &record,
            );
            let json = String::from_utf8(json).unwrap();
            assert_eq!(json.contains("[a text was cut"), json.contains(",\"cut\":true"));
            assert_eq!(json.contains("[a text was cut"), record.is_cut());
            let values = item.record.arguments(&site.types).unwrap();
            let [LogValue::Unsigned(size), LogValue::Text(text)] = values.as_slice() else {
                panic!("{:?}", site.types)
            };
            assert!(text.iter().all(|byte| *byte == b'x'));
            let left_out = record.cut_bytes().unwrap_or(0);
            left_out_bytes += left_out;
            assert_eq!(text.len() as u64 + left_out, *size, "{:?}", record.cut_bytes());
            let said = format!("{left_out} bytes are left out]");
            assert_eq!(json.contains(&said), record.is_cut());
            found.push((*size as usize, text.len(), item.record.flags & FLAG_CUT != 0));
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue() && reader.damaged.is_empty());
    assert_eq!(found.len(), SIZES.len() * 3);
    for ((size, here, is_cut), expected) in found.into_iter().zip(SIZES.iter().cycle()) {
        assert_eq!((size, is_cut), (*expected, size == 3_000_000));
        assert!(if is_cut { here > 524_000 } else { here == size }, "{size}: {here}");
    }
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    assert_eq!((audit.cut, audit.cut_bytes), (3, left_out_bytes), "{audit:?}");
}

/// Parent and children of `fork` are processes of their own all the way: each record is counted with
/// its own, and is in the store once.
#[test]
fn children_of_fork_are_counted_apart_and_carried_once() {
    let folders = folders();
    let Some(program) = c_program() else { return };
    let _proxy = start_proxy(&folders);
    let server = central(&folders.store, &folders.socket);
    let mut command = Command::new(program);
    command.arg("fork-talk").arg(&folders.rings);
    let client = Client::start(command);
    let mut pids = BTreeMap::new();
    for _ in 0..3 {
        let said = client.wait("logged").pop().unwrap();
        let [_, pid, count] = said.split(' ').collect::<Vec<_>>()[..] else { panic!("{said}") };
        pids.insert(pid.parse::<u32>().unwrap(), count.parse::<u64>().unwrap());
    }
    assert_eq!(pids.len(), 3);
    testkit::wait_until("each process has its count", || {
        let found = RingDirectory::scan(&folders.rings).unwrap().processes;
        let files = found.iter().map(|path| ProcessFile::open(path).unwrap());
        let counts: BTreeMap<u32, u64> =
            files.map(|one| (one.header().pid, one.loggers().unwrap()[0].counts[4])).collect();
        counts == pids
    });
    client.end();
    testkit::wait_for("the rings are gone", || {
        let found = RingDirectory::scan(&folders.rings).unwrap();
        (found.rings.is_empty() && found.processes.is_empty()).then_some(())
    });
    server.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    let mut records: BTreeMap<u32, u64> = BTreeMap::new();
    let mut streams: BTreeMap<StreamId, u32> = BTreeMap::new();
    let mut reader = StoreReader::open(&folders.store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        if item.record.kind == kind::LOG && item.process.name == "c" {
            *records.entry(item.process.pid).or_default() += 1;
            let stream = StreamId { process: item.process.id, ring: item.stream.ring };
            streams.insert(stream, item.process.pid);
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    assert_eq!(records, pids);
    assert_eq!(streams.len(), 3);
}
