//! A proxy whose rings are quiet sleeps long, and the next record ends its sleep.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::{Duration, Instant};

use log_proxy::Proxy;
use log_proxy::Spool;

use crate::common::talk::{Client, c_client, rust_client};
use crate::common::{Deadline, central, folders, settings};

/// Between two looks at rings that may not ring.
const IDLE: Duration = Duration::from_millis(20);
/// Longer than such a look, shorter than the sleep of a quiet proxy, which is a second.
const LONG: Duration = Duration::from_millis(700);
/// Sleeps that a record is to end.
const WOKEN: u32 = 3;

/// Runs a proxy until it has slept long.
fn run_until_quiet(proxy: &mut Proxy) {
    let deadline = Deadline::default();
    loop {
        let before = Instant::now();
        if !proxy.round() {
            proxy.wait(IDLE);
        }
        if before.elapsed() > LONG {
            return;
        }
        assert!(deadline.is_ahead(), "it never sleeps long");
    }
}

fn try_client(start: impl FnOnce(&crate::common::Folders) -> Option<Client>) {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let spool =
        Spool::open(&folders.spool, 1 << 30, log_protocol::auth::random().unwrap()).unwrap();
    let settings = settings(&folders.rings, &folders.socket);
    let mut proxy = Proxy::new(log_proxy::ProxySettings { idle: IDLE, ..settings }, spool);
    let Some(mut client) = start(&folders) else { return };
    client.ask("log 1", "logged");
    // A busy machine may make any sleep long: only how many were not is looked at.
    let (mut woken, deadline) = (0, Deadline::default());
    while woken < WOKEN {
        assert!(deadline.is_ahead(), "a record ended {woken} sleeps");
        run_until_quiet(&mut proxy);
        let known = proxy.counters().records;
        let mut longest = Duration::ZERO;
        std::thread::scope(|scope| {
            // The record comes while the proxy sleeps.
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                client.ask("log 1", "logged");
            });
            while proxy.counters().records == known {
                let before = Instant::now();
                if !proxy.round() {
                    proxy.wait(IDLE);
                }
                longest = longest.max(before.elapsed());
                assert!(deadline.is_ahead(), "the record never comes");
            }
        });
        woken += u32::from(longest < LONG);
    }
    client.end();
    central.stop();
}

#[test]
fn the_next_record_of_a_rust_program_ends_a_long_sleep() {
    try_client(|folders| Some(rust_client(&folders.rings)));
}

#[test]
fn the_next_record_of_a_c_program_ends_a_long_sleep() {
    try_client(c_client);
}
