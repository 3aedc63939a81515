//! A proxy that goes on while its central server's store is another one: later records are as readable
//! there as they were in the first.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{central, drain, folders, held_of_damaged, proxy, pump, start};

#[test]
fn a_store_that_is_new_gets_the_definitions_of_what_is_sent_to_it() {
    let folders = folders();
    let first = central(&folders.store, &folders.socket);
    let mut reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    let writer = start(&format!("write|{}|2|0", folders.rings.display()));
    pump(&mut reading, "records are stored", |proxy| {
        proxy.counters().records > 1000 && proxy.is_all_committed()
    });
    first.stop();
    // As if the store had been emptied.
    let old = folders.all.path().join("old");
    std::fs::rename(&folders.store, &old).unwrap();
    let second = central(&folders.store, &folders.socket);
    let before = reading.counters();
    pump(&mut reading, "the proxy connects again and sends", |proxy| {
        let now = proxy.counters();
        now.connections > before.connections && now.records > before.records + 1000
    });
    writer.kill();
    drain(&mut reading, &folders.rings);
    second.stop();
    let [one, other] = [&old, &folders.store].map(|store| held_of_damaged(store));
    assert_eq!((one.without_site, other.without_site), (0, 0));
    for (who, numbers) in &other.numbers {
        // Together they have each number, once.
        let mut all = one.numbers[who].clone();
        all.extend(numbers);
        assert!(!numbers.is_empty() && all.iter().copied().eq(0..all.len() as u64), "{who:?}");
    }
    assert_eq!(other.numbers.len(), 2);
}
