//! What a log call costs: 10,000 calls as fast as possible, and quill's paced method (the mean of 20
//! calls in a row, after a pause of 2 ms).  Prints nanoseconds a call.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use logger::{LogConfig, Logger, log_debug, log_info};
use logring::{Batch, Tier, writer};

const CALLS: u32 = 10_000;

/// Reads and gives back all that was written.
fn drain() {
    let (_, rings) = writer::local_files().unwrap();
    let mut batch = Batch::default();
    for mut ring in rings {
        loop {
            ring.read(&mut batch, 1 << 20).unwrap();
            if batch.is_empty() {
                break;
            }
            ring.commit(Tier::Read, batch.end()).unwrap();
        }
    }
}

/// Median of the means of several bursts.
fn burst(name: &str, mut call: impl FnMut(u32)) {
    let mut means: Vec<f64> = (0..51)
        .map(|_| {
            drain();
            let begin = Instant::now();
            (0..CALLS).for_each(&mut call);
            begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    println!(
        "burst  {name:<24} min {:6.2}  median {:6.2}  max {:6.2}",
        means[0], means[25], means[50]
    );
}

/// The mean of 20 calls in a row, a thousand times, with a pause of 2 ms before each: busy, as
/// quill's benchmark waits, or asleep, which leaves cold caches and a slower clock.
fn paced(name: &str, is_busy: bool, mut call: impl FnMut(u32)) {
    let begin = Instant::now();
    let ticks = logring::clock::tsc();
    while begin.elapsed() < Duration::from_millis(50) {}
    let tick_ns = begin.elapsed().as_nanos() as f64 / (logring::clock::tsc() - ticks) as f64;
    let mut means: Vec<f64> = (0..1000)
        .map(|round| {
            if round % 100 == 0 {
                drain();
            }
            let pause = Instant::now();
            if is_busy {
                while pause.elapsed() < Duration::from_millis(2) {}
            } else {
                std::thread::sleep(Duration::from_millis(2));
            }
            let ticks = logring::clock::tsc();
            (0..20).for_each(&mut call);
            (logring::clock::tsc() - ticks) as f64 * tick_ns / 20.0
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let way = if is_busy { "paced " } else { "asleep" };
    println!(
        "{way} {name:<24} p50 {:6.2}  p95 {:6.2}  p99 {:6.2}",
        means[500], means[950], means[990]
    );
}

fn main() {
    let folder = format!("/dev/shm/whit-log-burst-{}", std::process::id());
    let logging = logger::start(LogConfig::new(&folder, "host", "burst")).unwrap();
    let log = Logger::new("burst").unwrap();
    log.set_levels(4, 4);
    let text = "a text of forty bytes, which is copied..";
    burst("rdtsc alone", |_| {
        black_box(logring::clock::tsc());
    });
    burst("disabled level", |i| log_debug!(log, "{} {} {}", i, 2.5, i));
    burst("no argument", |_| log_info!(log, "nothing"));
    burst("three scalars", |i| log_info!(log, "{} {} {}", i, f64::from(i), -5));
    burst("40-byte string", |_| log_info!(log, "{}", black_box(text)));
    burst("string and three scalars", |i| {
        log_info!(log, "{} {} {} {}", black_box(text), i, 2.5, i);
    });
    for is_busy in [true, false] {
        paced("three scalars", is_busy, |i| log_info!(log, "{} {} {}", i, f64::from(i), -5));
        paced("40-byte string", is_busy, |_| log_info!(log, "{}", black_box(text)));
    }
    drain();
    drop(logging);
    std::fs::remove_dir_all(folder).unwrap();
}
