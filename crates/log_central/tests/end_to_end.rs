//! From a writer's rings through proxy and central server to the store, and back as records.

#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{central, drain, folders, held, proxy, pump_to_end, start};

#[test]
fn what_four_threads_wrote_is_in_the_store_once_and_in_order() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let writer = format!("write|{}|4|20000", folders.rings.display());
    let mut writer = start(&writer);
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.len(), 4);
    assert!(held.numbers.values().all(|numbers| numbers.len() == 20_000));
}
