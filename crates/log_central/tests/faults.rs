//! An outage, a full disk, a damaged spool, a damaged store: nothing is lost, or what is lost is
//! named exactly.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{
    Folders, central, drain, folders, held, held_of_damaged, proxy, pump, pump_to_end, start,
};
use log_protocol::GapReason;
use log_protocol::frame::{FrameKind, Head};
use log_proxy::Proxy;
use log_store::audit::Audit;

/// Writes records and waits for the writer's end, while the proxy reads.
fn write(folders: &Folders, proxy: &mut Proxy, threads: u64, count: u64) {
    let role = format!("write|{}|{threads}|{count}", folders.rings.display());
    let mut writer = start(&role);
    let all = proxy.counters().records + threads * count;
    pump_to_end(proxy, &mut writer);
    pump(proxy, "all records", |proxy| proxy.counters().records >= all);
    while proxy.round() {}
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}

#[test]
fn an_outage_is_bridged_by_the_spool_also_over_a_restart_of_the_proxy() {
    let folders = folders();
    let mut first = proxy(&folders.rings, &folders.spool, &folders.socket);
    write(&folders, &mut first, 2, 150_000);
    assert!(first.counters().spool_bytes > 10_000_000, "{:?}", first.counters());
    drop(first);
    let mut second = proxy(&folders.rings, &folders.spool, &folders.socket);
    write(&folders, &mut second, 1, 10_000);
    let central = central(&folders.store, &folders.socket);
    drain(&mut second, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    let count: usize = held.numbers.values().map(Vec::len).sum();
    assert_eq!(count, 310_000);
    assert!(Audit::of(&folders.store, true).unwrap().is_whole());
}

/// A spool that is soon full: less than the rings and one batch of them.
const QUOTA: u64 = 1_500_000;

#[test]
fn a_spool_without_room_frees_no_ring_and_goes_on_when_there_is_room() {
    let folders = folders();
    let id = log_protocol::auth::random().unwrap();
    let spool = log_proxy::Spool::open(&folders.spool, QUOTA, id).unwrap();
    let settings = log_proxy::ProxySettings {
        folders: vec![folders.rings.clone()],
        central: Some(connection::Address::Unix(folders.socket.clone())),
        secret: None,
        tls: None,
        host: "host".to_owned(),
        idle: Duration::from_millis(10),
        sync: None,
    };
    let mut proxy = Proxy::new(settings, spool);
    let mut writer = start(&format!("write|{}|1|100000", folders.rings.display()));
    pump(&mut proxy, "refusals", |proxy| proxy.counters().refusals >= 5);
    assert!(proxy.counters().spool_bytes <= QUOTA);
    let central = central(&folders.store, &folders.socket);
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), 100_000);
}

/// Frames of a spool segment: offset, head.
fn frames(path: &Path) -> Vec<(u64, Head)> {
    let bytes = std::fs::read(path).unwrap();
    let (mut at, mut frames) = (64, Vec::new());
    while let Some(Ok(head)) = bytes.get(at..).map(Head::decode) {
        frames.push((at as u64, head));
        at += 64 + head.body_bytes as usize;
    }
    frames
}

#[test]
fn a_damaged_spool_segment_costs_exactly_the_range_that_is_named() {
    let folders = folders();
    let mut first = proxy(&folders.rings, &folders.spool, &folders.socket);
    write(&folders, &mut first, 1, 100_000);
    drop(first);
    let segment = files(&folders.spool, "spool").remove(0);
    let frames = frames(&segment);
    let records = frames.iter().filter(|(_, head)| head.kind == FrameKind::Records);
    let mut large = records.filter(|(_, head)| head.body_bytes > 10_000 && head.first > 0);
    let (at, head) = *large.next().expect("a frame behind the first");
    let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
    file.write_all_at(&[0x55; 100], at + 64 + 1000).unwrap();
    let mut second = proxy(&folders.rings, &folders.spool, &folders.socket);
    let messages = second.take_messages();
    assert!(messages.iter().any(|text| text.contains("are damaged")), "{messages:?}");
    let central = central(&folders.store, &folders.socket);
    drain(&mut second, &folders.rings);
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    let lost: Vec<_> = audit.streams.values().flat_map(|one| one.lost.clone()).collect();
    assert_eq!(lost, [(head.first, head.next, GapReason::Spool)]);
    assert_eq!(audit.total().duplicates, 0);
    let held = held(&folders.store);
    let named = format!("records {} to {}", head.first, head.next - 1);
    assert!(held.own.iter().any(|text| text.contains(&named)), "{:?}", held.own);
    let here = held.numbers.values().map(Vec::len).sum::<usize>();
    // The frame may have begun or ended with a record that says where the thread goes on.
    let least = 100_000 - (head.next - head.first);
    assert!((least..=least + 2).contains(&(here as u64)), "{here}, at least {least}");
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Whatever frame of the spool is damaged, in its head or in its body, also the last: the rest
/// arrives, and what does not is named.
#[test]
fn no_damage_of_the_spool_stops_it_or_is_silent() {
    let original = folders();
    let mut first = proxy(&original.rings, &original.spool, &original.socket);
    write(&original, &mut first, 1, 20_000);
    drop(first);
    let segment = files(&original.spool, "spool").remove(0);
    let frames = frames(&segment);
    let last = frames.len() - 1;
    let of = |kind| frames.iter().position(|(_, head)| head.kind == kind).unwrap();
    let sent: u64 = frames.iter().map(|(_, head)| u64::from(head.count)).sum();
    for (number, offset) in [
        (of(FrameKind::Process), 72),
        (of(FrameKind::Dictionary), 10),
        (of(FrameKind::Dictionary), 80),
        (of(FrameKind::Records), 20),
        (last, 30),
        (last, 72),
    ] {
        let folders = folders();
        copy(&original.rings, &folders.rings);
        copy(&original.spool, &folders.spool);
        let segment = files(&folders.spool, "spool").remove(0);
        let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
        let (at, head) = frames[number];
        file.write_all_at(&[0xAA; 8], at + offset).unwrap();
        let mut second = proxy(&folders.rings, &folders.spool, &folders.socket);
        let central = central(&folders.store, &folders.socket);
        drain(&mut second, &folders.rings);
        let kept = files(&folders.spool, "damaged").len();
        drop(second);
        central.stop();
        let what = format!("{:?} {number} at {offset}", head.kind);
        let audit = Audit::of(&folders.store, true).unwrap();
        let lost: Vec<_> = audit.streams.values().flat_map(|one| one.lost.clone()).collect();
        let total = audit.total();
        assert_eq!(total.duplicates, 0, "{what}");
        if head.kind == FrameKind::Records {
            let ranges: Vec<_> = lost.iter().map(|(first, next, _)| (*first, *next)).collect();
            assert_eq!(ranges, [(head.first, head.next)], "{what}: {lost:?}");
        } else {
            assert_eq!(lost, [], "{what}");
        }
        let own = held_own(&folders.store);
        assert_eq!(own.len(), lost.len(), "{what}: {own:?}");
        assert_eq!(total.records + total.lost_count(), sent + own.len() as u64, "{what}");
        assert_eq!(kept, 1, "{what}");
    }
}

/// The records of the central server itself; all others have their call sites.
fn held_own(store: &Path) -> Vec<String> {
    held(store).own
}

#[test]
fn a_torn_commit_is_cut_and_a_damaged_one_is_named() {
    let folders = folders();
    for _ in 0..3 {
        let central = central(&folders.store, &folders.socket);
        let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
        write(&folders, &mut proxy, 1, 3_000);
        drain(&mut proxy, &folders.rings);
        central.stop();
    }
    assert_eq!(held(&folders.store).numbers.len(), 3);
    let segment = files(&folders.store, "logs").pop().unwrap();
    let length = segment.metadata().unwrap().len();
    let file = std::fs::OpenOptions::new().append(true).open(&segment).unwrap();
    std::io::Write::write_all(&mut &file, b"WLC1 the begin of a commit").unwrap();
    let central_again = central(&folders.store, &folders.socket);
    central_again.stop();
    assert!(segment.metadata().unwrap().len() >= length);
    assert_eq!(held(&folders.store).numbers.len(), 3);
    assert!(Audit::of(&folders.store, true).unwrap().is_whole());
    // A whole commit in the middle.
    let bytes = std::fs::read(&segment).unwrap();
    let starts: Vec<usize> = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, four)| *four == b"WLC1")
        .map(|(at, _)| at)
        .collect();
    let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
    file.write_all_at(&[0; 8], starts[2] as u64).unwrap();
    let audit = Audit::of(&folders.store, false).unwrap();
    assert!(!audit.is_whole());
    assert_eq!(audit.damaged[0].1, starts[2] as u64);
    let central = central(&folders.store, &folders.socket);
    central.stop();
    // The damaged commit may have held definitions.
    let held = held_of_damaged(&folders.store);
    assert!(held.own.iter().any(|text| text.contains("are damaged")), "{:?}", held.own);
}
