//! `kill -9` of writer, proxy and central server at random moments: every record of a completed
//! call is in the store, once.
//!
//! A short run kills each twelve times, a long one sixty times; `WHIT_LOG_KILLS` says how often.
//! `WHIT_SEED` sets another seed than the usual one.  Clients are killed some at a time, in turn
//! with nobody who reads and with a proxy that does.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::Duration;

use crate::common::{
    Folders, Running, c_program, central, drain, folders, held, proxy, role_of, sequences,
    sequences_of, start,
};
use log_protocol::{ProcessId, StreamId};
use log_store::audit::Audit;
use testkit::Random;

fn kills() -> u64 {
    testkit::setting("WHIT_LOG_KILLS", testkit::share(60) as u64)
}

fn seed() -> u64 {
    testkit::seed(20_261_123)
}

fn pause(random: &mut Random, most_us: u64) {
    std::thread::sleep(Duration::from_micros(random.below(most_us)));
}

/// Clients that run at once.
const CLIENTS: u64 = 4;

/// Everything that rings held is in the store, once, and nothing else is.
fn assert_sent(folders: &Folders, sent: &BTreeMap<StreamId, u64>, seed: u64) -> u64 {
    let held = held(&folders.store);
    held.assert_whole();
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "seed {seed}: {audit:?}");
    for (stream, next) in sent {
        let found = audit.streams.get(stream).map_or(0, |one| one.next);
        assert_eq!(found, *next, "seed {seed}: {stream}");
    }
    for (stream, numbers) in &held.sequences {
        let is_whole = numbers.iter().copied().eq(0..numbers.len() as u64);
        assert!(is_whole, "seed {seed}: {stream}");
    }
    let total = audit.total();
    println!("lost 0, duplicates {}, connections that broke: {:?}", total.duplicates, held.broken);
    held.records
}

#[test]
fn a_killed_client_loses_no_completed_call() {
    let seed = seed();
    let mut random = Random::from_seed(seed);
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let (mut sent, mut killed) = (BTreeMap::new(), 0);
    for round in 0..kills().div_ceil(CLIENTS) {
        let reading = (round % 2 == 1).then(|| start(&role_of("proxy", &folders)));
        let write = format!("write|{}|2|0", folders.rings.display());
        let writers: Vec<Running> = (0..CLIENTS).map(|_| start(&write)).collect();
        for writer in writers {
            let rings = format!("{}-", writer.id());
            testkit::wait_until("the writer writes", || {
                sequences_of(&folders.rings, &rings).values().sum::<u64>() >= 100
            });
            pause(&mut random, 20_000);
            writer.kill();
            // What the rings of a dead process hold is what its calls completed.
            sent.extend(sequences_of(&folders.rings, &rings));
            killed += 1;
        }
        drop(reading);
        drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    }
    central.stop();
    let records = assert_sent(&folders, &sent, seed);
    println!("{killed} kills of Rust clients, {records} records");
}

#[test]
fn a_killed_c_client_loses_no_completed_call() {
    let seed = seed();
    let mut random = Random::from_seed(seed);
    let folders = folders();
    let Some(program) = c_program() else { return };
    let central = central(&folders.store, &folders.socket);
    let mut completed = BTreeMap::new();
    for round in 0..kills().div_ceil(CLIENTS) {
        let reading = (round % 2 == 1).then(|| start(&role_of("proxy", &folders)));
        let begin = || {
            let mut command = Command::new(program);
            Running::start(command.arg("until-killed").arg(&folders.rings))
        };
        let clients: Vec<Running> = (0..CLIENTS).map(|_| begin()).collect();
        for client in clients {
            let note = folders.rings.join(format!("completed-{}", client.id()));
            let is_noted = || note.metadata().ok().filter(|facts| facts.len() == 8);
            testkit::wait_for("the client writes", is_noted);
            pause(&mut random, 20_000);
            let path = logring::RingDirectory::scan(&folders.rings).unwrap().processes;
            let name = format!("/{}-", client.id());
            let path = path.into_iter().find(|path| path.to_str().unwrap().contains(&name));
            let file = logring::ProcessFile::open(&path.unwrap()).unwrap();
            client.kill();
            let count = u64::from_le_bytes(std::fs::read(&note).unwrap().try_into().unwrap());
            completed.insert(ProcessId(file.header().process_id), count);
        }
        drop(reading);
        drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    }
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.len(), completed.len(), "seed {seed}");
    for ((process, _), numbers) in &held.numbers {
        let (count, completed) = (numbers.len() as u64, completed[process]);
        // A call may be complete that was not noted.
        let is_right = count == completed || count == completed + 1;
        assert!(is_right, "seed {seed}: {process} completed {completed}, {count} are here");
    }
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "seed {seed}: {audit:?}");
    let (kills, records) = (completed.len(), held.records);
    println!("{kills} kills of C clients, {records} records, lost 0, duplicates 0");
}

#[test]
fn killed_proxies_and_central_servers_lose_nothing_and_send_nothing_twice() {
    let seed = seed();
    let mut random = Random::from_seed(seed);
    let folders = folders();
    let mut storing = start(&role_of("central", &folders));
    let mut reading = start(&role_of("proxy", &folders));
    let writer = start(&format!("write|{}|3|0", folders.rings.display()));
    for round in 0..kills() * 2 {
        pause(&mut random, 60_000);
        let (victim, name) =
            if round % 2 == 0 { (&mut reading, "proxy") } else { (&mut storing, "central") };
        Child::kill(victim).unwrap();
        victim.ended();
        pause(&mut random, 20_000);
        *victim = start(&role_of(name, &folders));
    }
    writer.kill();
    drop(reading);
    drop(storing);
    // Rings that were outgrown are gone already.
    let sent = sequences(&folders.rings);
    let central = crate::common::central(&folders.store, &folders.socket);
    drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    central.stop();
    let records = assert_sent(&folders, &sent, seed);
    assert!(records > 1000, "{records}");
    println!("{} kills of each, {records} records", kills());
}
