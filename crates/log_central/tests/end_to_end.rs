//! From a writer's rings through proxy and central server to the store, and back as records.

#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{central, drain, folders, held, proxy, start};

#[test]
fn what_four_threads_wrote_is_in_the_store_once_and_in_order() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let writer = format!("write|{}|4|20000", folders.rings.display());
    let mut writer = start(&writer);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while writer.try_wait().unwrap().is_none() {
        if !proxy.round() {
            proxy.wait(std::time::Duration::from_millis(1));
        }
        assert!(std::time::Instant::now() < deadline, "{:?}", proxy.counters());
    }
    drain(&mut proxy, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.len(), 4);
    assert!(held.numbers.values().all(|numbers| numbers.len() == 20_000));
}
