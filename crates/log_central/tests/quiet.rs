//! A proxy whose rings are quiet sleeps long, and the next record ends its sleep.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::{Duration, Instant};

use log_proxy::Proxy;
use log_proxy::Spool;

use crate::common::talk::{Client, c_client, rust_client};
use crate::common::{central, folders, settings};

/// Between two looks at rings that may not ring.
const IDLE: Duration = Duration::from_millis(20);
/// Longer than such a look on a busy machine, shorter than the sleep of a quiet proxy.
const LONG: Duration = Duration::from_millis(700);
const TURNS: u32 = 5;

/// Runs a proxy until it has slept long.
fn run_until_quiet(proxy: &mut Proxy) {
    let begin = Instant::now();
    loop {
        let before = Instant::now();
        if !proxy.round() {
            proxy.wait(IDLE);
        }
        if before.elapsed() > LONG {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "it never sleeps long");
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
    let mut sum = Duration::ZERO;
    for _ in 0..TURNS {
        run_until_quiet(&mut proxy);
        std::thread::scope(|scope| {
            // The record comes while the proxy sleeps.
            let asking = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                let begin = Instant::now();
                client.ask("log 1", "logged");
                begin
            });
            let known = proxy.counters().records;
            let deadline = Instant::now() + Duration::from_secs(30);
            while proxy.counters().records == known {
                if !proxy.round() {
                    proxy.wait(IDLE);
                }
                assert!(Instant::now() < deadline, "the record never comes");
            }
            sum += asking.join().unwrap().elapsed();
        });
    }
    // A sleep that nothing ends lasts a second.
    assert!(sum < TURNS * Duration::from_millis(400), "{sum:?} for {TURNS} records");
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
