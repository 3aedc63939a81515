//! What clients in Rust and in C are told by the proxy: that it is there, connected, without its
//! central server, lost; what is safe by which tier; what cannot be delivered.
//!
//! Client, proxy and central server are processes of their own.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::talk::{Client, c_client, rust_client, start_central, start_proxy};
use crate::common::{Folders, folders, pump, start};
use log_protocol::frame::{FrameKind, Head};

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["sleepy", folder, spool, socket] => {
            let [folder, spool, socket] = [folder, spool, socket].map(Path::new);
            run_sleepy_proxy(crate::common::proxy(folder, spool, socket));
        }
        _ => return false,
    }
    true
}

/// A proxy that looks at nothing by itself for an hour.
fn run_sleepy_proxy(mut proxy: log_proxy::Proxy) {
    loop {
        if !proxy.round() {
            proxy.wait(Duration::from_secs(3600));
        }
    }
}

/// Without work a proxy sleeps: with rings for as long as it is told to, without for a second.
#[test]
fn a_proxy_without_work_sleeps() {
    let folders = folders();
    let central = crate::common::central(&folders.store, &folders.socket);
    let mut proxy = crate::common::proxy(&folders.rings, &folders.spool, &folders.socket);
    // Looks, and how many sleeps of so many milliseconds fit into the time that they took.
    let rounds = |proxy: &mut log_proxy::Proxy, ms: u64, sleep_ms: u128| {
        let (begin, mut count) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_millis(ms) {
            count += 1;
            if !proxy.round() {
                proxy.wait(Duration::from_millis(30));
            }
        }
        (count, begin.elapsed().as_millis() / sleep_ms)
    };
    pump(&mut proxy, "it connects", |proxy| proxy.counters().connections > 0);
    rounds(&mut proxy, 500, 1);
    let (without_rings, sleeps) = rounds(&mut proxy, 2000, 1000);
    assert!(without_rings <= sleeps + 3, "{without_rings} looks, {sleeps} sleeps");
    let mut client = rust_client(&folders.rings);
    client.ask("log 1", "logged");
    pump(&mut proxy, "the record", |proxy| proxy.counters().records > 0);
    rounds(&mut proxy, 500, 1);
    let (with_rings, sleeps) = rounds(&mut proxy, 1500, 30);
    assert!(with_rings <= sleeps + 10, "{with_rings} looks, {sleeps} sleeps");
    client.end();
    central.stop();
}

/// New files, errors, a flush and acknowledgements end a sleep of an hour.
#[test]
fn a_proxy_that_sleeps_is_woken() {
    let folders = folders();
    let _central = start_central(&folders);
    let Folders { rings, spool, socket, .. } = &folders;
    let role = format!("sleepy|{}|{}|{}", rings.display(), spool.display(), socket.display());
    let _proxy = start(&role);
    for is_c in [false, true] {
        let client = if is_c { c_client(&folders) } else { Some(rust_client(&folders.rings)) };
        let Some(mut client) = client else { return };
        client.wait("state 2 0");
        for _ in 0..5 {
            client.ask("log 1", "logged");
            client.ask("flush 2 300000", "flush 1");
            client.ask("flush 3 300000", "flush 1");
            client.ask("sync 3 300000", "flush 1");
            client.ask("flush 1 300000", "flush 1");
        }
        client.end();
    }
}

/// From nobody over a proxy without its central server to both, and back.
fn is_told(client: &mut Client, folders: &Folders) {
    client.wait("state 0 0");
    client.ask("log 100", "logged");
    client.ask("flush 1 20", "flush 0");
    let proxy = start_proxy(folders);
    client.wait("state 3 0");
    client.ask("flush 1 300000", "flush 1");
    // The proxy syncs for no other reason here.
    client.ask("flush 2 300000", "flush 1");
    client.ask("flush 3 50", "flush 0");
    let central = start_central(folders);
    client.wait("state 2 0");
    client.ask("flush 3 300000", "flush 1");
    client.ask("flush 2 300000", "flush 1");
    client.ask("sync 3 300000", "flush 1");
    drop(central);
    let said = client.wait("state 3 0").pop().unwrap();
    assert!(said.len() > "state 3 0 ".len(), "why: {said:?}");
    client.ask("sync 3 50", "flush 0");
    client.ask("sync 2 300000", "flush 1");
    let central = start_central(folders);
    client.wait("state 2 0");
    client.ask("flush 3 300000", "flush 1");
    let pid = proxy.id();
    drop(proxy);
    let said = client.wait("state 7 0").pop().unwrap();
    assert_eq!(said, format!("state 7 0 the consumer (process {pid}) is gone"));
    client.ask("log 10", "logged");
    client.ask("flush 1 20", "flush 0");
    let proxy = start_proxy(folders);
    client.wait("state 2 0");
    client.ask("flush 3 300000", "flush 1");
    drop((proxy, central));
}

#[test]
fn a_rust_client_is_told_how_its_proxy_and_central_server_stand() {
    let folders = folders();
    let mut client = rust_client(&folders.rings);
    is_told(&mut client, &folders);
    // What one proxy counted the next goes on with: 110 of INFO, 3 of ALERT.
    let proxy = start_proxy(&folders);
    client.ask_until("counts", "counts", "counts 110 3");
    client.ask("log 5", "logged");
    client.ask_until("counts", "counts", "counts 115 3");
    client.ask_until("cost", "cost", "cost 1 1");
    drop(proxy);
    client.end();
}

#[test]
fn a_c_client_is_told_how_its_proxy_and_central_server_stand() {
    let folders = folders();
    let Some(mut client) = c_client(&folders) else { return };
    is_told(&mut client, &folders);
    client.end();
}

/// Acknowledged on receipt: the writer is told before a commit that waits for an hour.
#[test]
fn a_server_that_acknowledges_at_once_does_not_wait_for_its_commit() {
    use log_central::{AdmissionLimits, Central, CentralSettings};
    use log_store::{Retention, Store, StoreSettings};
    let folders = folders();
    let id = log_protocol::auth::random().unwrap();
    let (store, recovery) = Store::open(&folders.store, StoreSettings::default(), id).unwrap();
    let listener = connection::Address::Unix(folders.socket.clone()).listen(None);
    let settings = CentralSettings {
        secret: None,
        delay: Duration::from_secs(3600),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
        acks_on_receipt: true,
        recordings: None,
    };
    let central = Central::start(store, &recovery, vec![listener.unwrap()], settings).unwrap();
    let proxy = start_proxy(&folders);
    let mut client = rust_client(&folders.rings);
    client.wait("state 2 0");
    client.ask("log 1000", "logged");
    client.ask("flush 3 300000", "flush 1");
    assert_eq!(central.counters().commits, 0);
    client.end();
    drop(proxy);
    // In order, it commits what it has acknowledged.
    central.stop();
    let audit = log_store::audit::Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().records >= 1000, "{audit:?}");
}

/// Damages a frame of records of the spool; gives which.
fn damage(spool: &Path) -> Head {
    let entries = std::fs::read_dir(spool).unwrap().map(|entry| entry.unwrap().path());
    let mut segments: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "spool")).collect();
    segments.sort();
    let bytes = std::fs::read(&segments[0]).unwrap();
    let mut at = 64;
    while let Some(Ok(head)) = bytes.get(at..).map(Head::decode) {
        if head.kind == FrameKind::Records && head.count >= 100 {
            let file = std::fs::OpenOptions::new().write(true).open(&segments[0]).unwrap();
            file.write_all_at(&[0x55; 100], at as u64 + 64 + 1000).unwrap();
            return head;
        }
        at += 64 + head.body_bytes as usize;
    }
    panic!("no frame of records");
}

#[test]
fn clients_are_told_what_cannot_be_delivered() {
    for is_c in [false, true] {
        let folders = folders();
        let mut client = if is_c {
            let Some(client) = c_client(&folders) else { return };
            client
        } else {
            rust_client(&folders.rings)
        };
        client.ask("log 1000", "logged");
        let proxy = start_proxy(&folders);
        client.ask("flush 1 300000", "flush 1");
        drop(proxy);
        let head = damage(&folders.spool);
        let (proxy, central) = (start_proxy(&folders), start_central(&folders));
        let range = format!("range {} 5 {} {}", head.stream.ring, head.first, head.next - 1);
        client.wait(&range);
        client.ask("flush 3 300000", "flush 1");
        drop((proxy, central));
        client.end();
    }
}
