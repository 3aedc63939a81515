//! Every record is accounted for: with a spool on a disk that is full, under each policy, with
//! rings that are damaged or overwritten, and of writers that are killed.
//!
//! Nothing is silently lost: it is in the store, or the store names its range and the reason, and
//! the client is told.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::common::talk::{Client, rust_client, rust_client_as, start_central, start_proxy};
use crate::common::{Folders, drain, folders, in_role};
use log_protocol::GapReason;
use log_store::StoreReader;
use log_store::audit::Audit;
use log_store::query::Filter;
use logring::abi::{kind, ring};
use logring::{LogLevel, LogValue, RingDirectory, RingNotice, RingReader, Tier};

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["full", folder, spool, socket] => {
            let [folder, spool, socket] = [folder, spool, socket].map(Path::new);
            run_full_proxy(folder, spool, socket);
        }
        _ => return false,
    }
    true
}

/// Bytes of the disk of the spool, and of a file that fills a part of it.
const DISK: &std::ffi::CStr = c"size=1500k,mode=700";
/// See [`DISK`].
const FILLED: usize = 1 << 20;

/// A proxy whose spool is on a small disk, of which another file has the most; a line of input
/// removes that file.
fn run_full_proxy(folder: &Path, spool: &Path, socket: &Path) {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    std::fs::create_dir_all(spool).unwrap();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    // SAFETY: descriptors stay shared.
    let namespace = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
    let mounted = namespace
        .and_then(|()| mount_change("/", private))
        .and_then(|()| mount("none", spool, "tmpfs", MountFlags::empty(), Some(DISK)));
    if let Err(error) = mounted {
        println!("> refused {error}");
        return;
    }
    std::fs::write(spool.join("other"), vec![1; FILLED]).unwrap();
    println!("> mounted");
    let other = spool.join("other");
    std::thread::spawn(move || {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        std::fs::remove_file(other).unwrap();
    });
    let mut proxy = crate::common::proxy(folder, spool, socket);
    loop {
        if !proxy.round() {
            proxy.wait(std::time::Duration::from_millis(2));
        }
    }
}

/// `None` if this user may not mount.
fn start_full_proxy(folders: &Folders) -> Option<Client> {
    let Folders { rings, spool, socket, .. } = folders;
    let role = format!("full|{}|{}|{}", rings.display(), spool.display(), socket.display());
    let proxy = Client::start(in_role(&role));
    let said = proxy.next_line();
    if said.starts_with("refused") {
        testkit::skip("a spool on a disk that is full", &said);
        return None;
    }
    Some(proxy)
}

/// Counts of drops that the stream itself says, records of loggers, and the server's own messages.
fn said(store: &Path) -> (u64, u64, Vec<String>) {
    let (mut dropped, mut logged, mut own) = (0, 0, Vec::new());
    let mut reader = StoreReader::open(store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        if let Some(RingNotice::Dropped { count, .. }) = item.record.notice() {
            dropped += count;
        }
        if item.record.kind == kind::LOG {
            let site = item.dictionary.site(item.record.site).unwrap();
            match item.record.arguments(&site.types).unwrap().as_slice() {
                [LogValue::Text(text)] => own.push(String::from_utf8_lossy(text).into_owned()),
                _ => logged += 1,
            }
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    (dropped, logged, own)
}

/// The audit of the store, in which nothing but this is lost.
#[track_caller]
fn audit(store: &Path, lost: &[(u64, u64, GapReason)]) -> log_store::audit::StreamAudit {
    let audit = Audit::of(store, true).unwrap();
    let mut total = audit.total();
    assert_eq!(total.duplicates, 0);
    assert_eq!(total.lost, lost);
    // Without the stream of the server itself.
    let own = audit.streams.values().find(|one| one.process == "whit log central");
    if let Some(own) = own {
        total.records -= own.records;
        total.next -= own.next;
    }
    total
}

#[test]
fn a_full_disk_stops_writers_only_and_is_told() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    let Some(mut proxy) = start_full_proxy(&folders) else { return };
    client.wait("state 3 0");
    // 1.6 MB; the disk has room for 0.4.
    client.ask("log 40000", "logged");
    let full = client.wait_for_state("state 5 28");
    assert!(full.contains("No space left on device"), "{full}");
    client.ask("flush 1 100", "flush 0");
    client.ask("log 10", "logged");
    // Room from another side: records go on into the spool, as a few may have done before.
    proxy.tell("room");
    client.wait_for_state("state 3 0");
    client.ask("flush 1 50", "flush");
    // 1.5 MB are not enough either; the central server makes room.
    client.ask("log 20000", "logged");
    client.wait_for_state("state 5 28");
    let central = start_central(&folders);
    client.wait_for_state("state 2 0");
    client.ask("flush 3 300000", "flush 1");
    drop((proxy, central));
    client.end();
    let total = audit(&folders.store, &[]);
    assert_eq!(total.dropped, 0);
    assert_eq!(said(&folders.store), (0, 60_010, Vec::new()));
}

#[test]
fn what_a_full_disk_makes_a_writer_drop_is_counted_and_said() {
    let folders = folders();
    let mut client = rust_client_as("drop", &folders.rings);
    let Some(proxy) = start_full_proxy(&folders) else { return };
    client.wait("state 3 0");
    let mut sent = 5001;
    loop {
        client.ask("log 1000", "logged");
        sent += 1000;
        if client.ask("flush 1 300", "flush").pop().unwrap() == "flush 0" {
            break;
        }
        assert!(sent < 1_000_000);
    }
    client.ask("log 5000", "logged");
    let central = start_central(&folders);
    client.wait("state 2 0");
    let mut lines = client.ask("flush 3 300000", "flush 1");
    // The next record finds room, and says before it what was dropped.
    lines.extend(client.ask("sync 3 300000", "flush 1"));
    // In the ring that the thread went on in when its first was full.
    let is_range = |line: &String| line.starts_with("range 2 105 ");
    if !lines.iter().any(is_range) {
        lines.push(client.wait_for_range());
    }
    assert!(lines.iter().any(is_range), "{lines:?}");
    drop((proxy, central));
    client.end();
    let total = audit(&folders.store, &[]);
    let (dropped, logged, own) = said(&folders.store);
    assert!(total.dropped > 1000, "{total:?}");
    assert_eq!((total.dropped, logged + dropped), (dropped, sent));
    assert_eq!(own, [] as [String; 0]);
    // Whoever looks at warnings, or at this logger, sees that there was more.
    for (logger, expected) in [("", dropped), ("status", dropped), ("another", 0)] {
        let filter = Filter {
            level: Some(LogLevel::Warning),
            logger: logger.to_owned(),
            process: "client".to_owned(),
            ..Filter::default()
        };
        assert_eq!(notices(&folders.store, &filter), expected, "{logger}");
    }
}

/// How many records were dropped by what a search shows.
fn notices(store: &Path, filter: &Filter) -> u64 {
    let (mut dropped, mut scratch) = (0, Vec::new());
    let mut reader = StoreReader::open(store).unwrap();
    let flow = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        let record = filter.wanted(item, &mut scratch);
        if let Some(RingNotice::Dropped { count, .. }) = record.and_then(|one| one.record.notice())
        {
            assert!(record.unwrap().level() >= LogLevel::Warning);
            dropped += count;
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    dropped
}

#[test]
fn what_a_killed_writer_could_not_say_itself_is_named() {
    let folders = folders();
    let mut client = rust_client_as("drop", &folders.rings);
    client.ask("log 10000", "logged");
    drop(client);
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let total = audit(&folders.store, &[]);
    let (dropped, logged, own) = said(&folders.store);
    assert_eq!((dropped, own.len()), (0, 1), "{own:?}");
    assert!(own[0].contains("dropped without room in the ring"), "{own:?}");
    assert_eq!(logged + total.dropped, 10_000, "{total:?}");
}

#[test]
fn what_a_writer_overwrote_is_named_as_such() {
    let folders = folders();
    let mut client = rust_client_as("overwrite", &folders.rings);
    client.ask("log 10000", "logged");
    let (proxy, central) = (start_proxy(&folders), start_central(&folders));
    let range = client.wait_for_range();
    // The first ring was full, and the thread went on in the second.
    assert!(range.starts_with("range 2 75 0 "), "{range}");
    client.ask("sync 3 300000", "flush 1");
    drop((proxy, central));
    client.end();
    let total = audit(&folders.store, &[]);
    let own = said(&folders.store).2;
    assert_eq!(own.len(), 1, "{own:?}");
    let last = total.dropped - 1;
    assert!(own[0].contains(&format!("records 0 to {last} of ")), "{own:?}");
    assert!(own[0].contains("overwritten in the ring"), "{own:?}");
    assert_eq!(range, format!("range 2 75 0 {last}"));
}

/// The ring of the client, with its reader.
fn only_ring(rings: &Path) -> (PathBuf, RingReader) {
    let mut found = RingDirectory::scan(rings).unwrap().rings;
    found.retain(|path| RingReader::open(path).unwrap().header().number == 1);
    let path = found.remove(0);
    let reader = RingReader::open(&path).unwrap();
    (path, reader)
}

#[test]
fn records_in_a_damaged_ring_are_named_exactly() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    client.ask("log 300", "logged");
    let (path, mut reader) = only_ring(&folders.rings);
    let mut batch = logring::Batch::default();
    reader.read(&mut batch, 1 << 20).unwrap();
    let victim = batch.records().nth(200).unwrap().unwrap();
    assert_eq!(reader.mark(Tier::Read).unwrap().unwrap_or_default().position, 0);
    // A record without a kind.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0], (ring::DATA + victim.offset + 2) as u64).unwrap();
    let (proxy, central) = (start_proxy(&folders), start_central(&folders));
    client.ask("flush 3 300000", "flush 1");
    client.ask("log 10", "logged");
    let next = batch.end().sequence;
    let range = format!("range 1 74 {} {}", victim.sequence, next - 1);
    client.wait(&range);
    client.ask("flush 3 300000", "flush 1");
    drop((proxy, central));
    client.end();
    let total = audit(&folders.store, &[(victim.sequence, next, GapReason::Ring)]);
    assert_eq!(total.records, victim.sequence + 10);
    let own = said(&folders.store).2;
    assert!(own[0].contains("a ring was damaged"), "{own:?}");
}

/// At the end of a ring nobody knows how many records damaged bytes were: one number stands for
/// them, and the proxy goes on.
#[test]
fn damage_at_the_end_of_a_dead_writers_ring_is_said() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    client.ask("log 100", "logged");
    let (path, mut reader) = only_ring(&folders.rings);
    drop(client);
    let mut batch = logring::Batch::default();
    reader.read(&mut batch, 1 << 20).unwrap();
    let victim = batch.records().nth(90).unwrap().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0], (ring::DATA + victim.offset + 2) as u64).unwrap();
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    drain(&mut proxy, &folders.rings);
    assert!(proxy.take_messages().iter().any(|text| text.contains("no kind")));
    central.stop();
    let first = victim.sequence;
    assert_eq!(audit(&folders.store, &[(first, first + 1, GapReason::Ring)]).records, first);
}

/// A count that no writer can have reached is not taken over into any sum.
#[test]
fn a_damaged_count_of_dropped_records_is_said_and_not_believed() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    client.ask("log 100", "logged");
    let (path, _) = only_ring(&folders.rings);
    drop(client);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xFF; 128], ring::DROPPED as u64).unwrap();
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    drain(&mut proxy, &folders.rings);
    let name = path.display().to_string();
    let said = proxy.take_messages();
    assert!(said.iter().any(|text| text.contains(&name) && text.contains("damaged")), "{said:?}");
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    let total = audit.total();
    assert!(total.next - total.records == 1 && total.lost_count() == 1, "{total:?}");
    assert_eq!((total.dropped, audit.is_whole()), (0, false), "{total:?}");
}

/// A file that its owner cuts is said once, and is gone when its owner is.
#[test]
fn a_ring_that_is_cut_is_said_once() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    client.ask("log 100", "logged");
    let (path, _) = only_ring(&folders.rings);
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    while proxy.counters().records < 100 {
        if !proxy.round() {
            proxy.wait(std::time::Duration::from_millis(1));
        }
    }
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(100).unwrap();
    let mut complaints = 0;
    for _ in 0..100 {
        proxy.round();
        complaints += proxy.take_messages().len();
    }
    assert!((1..=8).contains(&complaints), "{complaints}");
    drop(client);
    drain(&mut proxy, &folders.rings);
    central.stop();
}
