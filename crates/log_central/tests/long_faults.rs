//! Faults again and again: an outage of hours, disks that are full, spools with random damage.  The
//! store has every record once, or the audit names the exact range that the damage took.
//!
//! A short run has 24,000 records, 3 full disks and 5 damaged spools, a long one five times as
//! many. `WHIT_LOG_OUTAGE_RECORDS=6000000` is two hours of 50,000 records a minute, and
//! `WHIT_LOG_FAULTS=200` as many full disks and damaged spools; `WHIT_SEED` sets another seed than
//! the usual one.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use crate::common::{
    Folders, central, drain, folders, held, limit_files, proxy, pump, pump_to_end, sequences, start,
};
use log_proxy::Proxy;
use log_store::audit::Audit;
use testkit::{Random, setting, share};

fn random() -> (u64, Random) {
    let seed = testkit::seed(20_261_123);
    (seed, Random::from_seed(seed))
}

/// Writes records and waits for the writer's end, while the proxy reads.
fn write(folders: &Folders, proxy: &mut Proxy, threads: u64, count: u64) {
    let role = format!("write|{}|{threads}|{count}", folders.rings.display());
    let mut writer = start(&role);
    pump_to_end(proxy, &mut writer);
    let all = proxy.counters().records.max(threads * count);
    pump(proxy, "all records", |proxy| proxy.counters().records >= all);
    while proxy.round() {}
}

#[test]
fn an_outage_of_hours_with_restarts_of_the_proxy_loses_nothing() {
    let count = setting("WHIT_LOG_OUTAGE_RECORDS", share(120_000) as u64);
    let folders = folders();
    // It was there once.
    let first = central(&folders.store, &folders.socket);
    let mut reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    write(&folders, &mut reading, 1, 1000);
    drain(&mut reading, &folders.rings);
    first.stop();
    for _ in 0..4 {
        write(&folders, &mut reading, 2, count / 8);
        drop(reading);
        reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    }
    let spooled = reading.counters().spool_bytes;
    let again = central(&folders.store, &folders.socket);
    drain(&mut reading, &folders.rings);
    again.stop();
    let held = held(&folders.store);
    held.assert_whole();
    let here = held.numbers.values().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(here, 1000 + count / 8 * 8);
    assert!(Audit::of(&folders.store, true).unwrap().is_whole());
    println!("{here} records, of which {spooled} bytes were spooled");
}

#[test]
fn disks_that_are_full_again_and_again_lose_nothing() {
    let faults = setting("WHIT_LOG_FAULTS", share(15) as u64);
    let (seed, mut random) = random();
    let folders = folders();
    let writer = start(&format!("write|{}|2|0", folders.rings.display()));
    let proxy_role = format!(
        "proxy|{}|{}|{}",
        folders.rings.display(),
        folders.spool.display(),
        folders.socket.display()
    );
    let central_role = format!("central|{}|{}", folders.store.display(), folders.socket.display());
    let reading = start(&proxy_role);
    let storing = start(&central_role);
    for fault in 0..faults {
        // What is open has more bytes soon than it may.
        let of_proxy = 1 + random.below(2_000_000);
        let of_central = 1 + random.below(300_000);
        if fault % 3 != 0 {
            limit_files(&reading, Some(of_proxy.max(400_000)));
        }
        if fault % 3 != 1 {
            limit_files(&storing, Some(of_central));
        }
        std::thread::sleep(Duration::from_millis(50 + random.below(200)));
        limit_files(&reading, None);
        limit_files(&storing, None);
        std::thread::sleep(Duration::from_millis(random.below(60)));
    }
    writer.kill();
    drop(reading);
    drop(storing);
    let sent = sequences(&folders.rings);
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole(), "seed {seed}: {audit:?}");
    // Rings that were outgrown are gone already.
    for (stream, next) in &sent {
        let found = audit.streams.get(stream).map_or(0, |one| one.next);
        assert_eq!(found, *next, "seed {seed}: {stream}");
    }
    for (who, numbers) in &held.numbers {
        let is_whole = numbers.iter().copied().eq(0..numbers.len() as u64);
        assert!(is_whole, "seed {seed}: {who:?}");
    }
    println!("{faults} full disks, {} records", held.records);
}

/// Damages a file at random; gives what it did.
fn damage(path: &Path, random: &mut Random) -> String {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let at = random.below(length);
    let bytes = (1 + random.below(3_000)).min(length - at);
    match random.below(5) {
        0 => file.set_len(at).unwrap(),
        1 => file.write_all_at(&vec![0; bytes as usize], at).unwrap(),
        2 => {
            // One bit.
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            byte[0] ^= 1 << random.below(8);
            file.write_all_at(&byte, at).unwrap();
        }
        3 => {
            // A part is there twice.
            let mut part = vec![0; bytes as usize];
            file.read_exact_at(&mut part, at).unwrap();
            file.write_all_at(&part, random.below(length)).unwrap();
        }
        _ => {
            let noise: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
            file.write_all_at(&noise, at).unwrap();
        }
    }
    format!("{bytes} bytes at {at} of {length}")
}

#[test]
fn random_damage_of_a_spool_costs_what_the_audit_names_and_no_more() {
    let faults = setting("WHIT_LOG_FAULTS", share(25) as u64);
    let (seed, mut random) = random();
    let (mut harmless, mut lost_in_all) = (0, 0);
    for round in 0..faults {
        let folders = folders();
        let mut first = proxy(&folders.rings, &folders.spool, &folders.socket);
        write(&folders, &mut first, 1, 5_000 + random.below(20_000));
        drop(first);
        let mut segments: Vec<_> = std::fs::read_dir(&folders.spool)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "spool"))
            .collect();
        segments.sort();
        let sent = sequences(&folders.rings);
        let did = damage(&segments[0], &mut random);
        let what = format!("seed {seed}, round {round}: {did}");
        let mut second = proxy(&folders.rings, &folders.spool, &folders.socket);
        let central = central(&folders.store, &folders.socket);
        drain(&mut second, &folders.rings);
        let first = Audit::of(&folders.store, true).unwrap();
        for (stream, next) in &sent {
            let found = first.streams.get(stream).map_or(0, |one| one.next);
            assert_eq!(found, *next, "{what}: {stream} {first:?}");
        }
        // What comes afterwards is not harmed.
        write(&folders, &mut second, 1, 500);
        drain(&mut second, &folders.rings);
        central.stop();
        let audit = Audit::of(&folders.store, true).unwrap();
        let total = audit.total();
        assert_eq!((total.duplicates, audit.damaged.len()), (0, 0), "{what}");
        // Nothing was dropped by the writer: what is neither here nor named would be counted so.
        assert_eq!(total.dropped, 0, "{what}: {audit:?}");
        let held = held(&folders.store);
        let (mut missing, mut written) = (0, 0);
        for (stream, audited) in &audit.streams {
            let sequences = held.sequences.get(stream).map_or(&[][..], Vec::as_slice);
            if audited.process == "whit log central" {
                continue;
            }
            let is_named = |number: u64| {
                audited.lost.iter().any(|(first, next, _)| (*first..*next).contains(&number))
            };
            assert!(!sequences.iter().any(|number| is_named(*number)), "{what}");
            missing += audited.lost_count();
            written += audited.next;
            assert_eq!(sequences.len() as u64 + audited.lost_count(), audited.next, "{what}");
        }
        harmless += u64::from(missing == 0);
        lost_in_all += missing;
        assert!(written > 0, "{what}");
        let last = held.numbers.values().filter(|numbers| numbers.len() == 500).count();
        assert_eq!(last, 1, "{what}");
    }
    println!("{faults} damages, {harmless} harmless, {lost_in_all} records lost and named");
}
