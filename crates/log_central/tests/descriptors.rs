//! A proxy that may have fewer descriptors than there are files: it reads them all, and removes no file
//! of a process whose rings it has not read.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{
    Running, assert_all_here, central, drain, folders, held, proxy, role_of, sequences, start,
    start_limited,
};
use testkit::wait_until;

fn is_removed(rings: &std::path::Path) -> bool {
    logring::RingDirectory::scan(rings).unwrap() == logring::RingDirectory::default()
}

#[test]
fn rings_of_more_dead_processes_than_descriptors() {
    let folders = folders();
    let write = format!("write|{}|2|10", folders.rings.display());
    for _ in 0..8 {
        let writers: Vec<Running> = (0..5).map(|_| start(&write)).collect();
        writers.into_iter().for_each(|mut writer| assert!(writer.ended().success()));
    }
    let sent = sequences(&folders.rings);
    let central = central(&folders.store, &folders.socket);
    // The first has few, and does what it can; the second reads the rest, if there is any.
    let first = start_limited(&role_of("proxy", &folders), 40);
    wait_until("most is read", || {
        let left = logring::RingDirectory::scan(&folders.rings).unwrap();
        left.processes.len() < 10
    });
    first.kill();
    drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    central.stop();
    assert_all_here(&folders.store, &sent);
    assert_eq!(held(&folders.store).numbers.values().map(Vec::len).sum::<usize>(), 40 * 2 * 10);
}

#[test]
fn rings_of_more_threads_than_descriptors() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let reading = start_limited(&role_of("proxy", &folders), 40);
    // Rings of 256 KiB that grow to 1 MiB: a thread waits where nobody reads.
    let mut writer = start(&format!("write|{}|60|20000", folders.rings.display()));
    assert!(writer.ended().success());
    wait_until("all is read and removed", || is_removed(&folders.rings));
    drop(reading);
    central.stop();
    let mut held = held(&folders.store);
    // A ring that continues another one may be opened first: its times alone put it behind that one.
    held.numbers.values_mut().for_each(|numbers| numbers.sort_unstable());
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), 60 * 20_000);
}
