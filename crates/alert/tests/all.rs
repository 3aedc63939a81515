//! Integration tests, one program: books over synthetic samples, and receivers of all kinds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod book;
mod log_lines;
mod mail;
mod receivers;
mod run;

use std::sync::Arc;

use alert::{AlertBook, AlertMessage, AlertReceiver, AlertRule, AlertSurroundings};
use promql::{Labels, MemoryStorage, Series, SeriesPoint};

/// A label that tries to be a header of mail, a command, JSON and an order to a terminal.
const HOSTILE: &str = "a\r\nBcc: b@c\r\n.\r\n\"};$(touch x)`touch x`\u{1b}[2J\u{202e}";

/// The metric `x` of a device: seconds and values.
fn series(device: &str, samples: &[(i64, f64)]) -> Series {
    let labels: Labels = [("__name__", "x"), ("device", device)].into_iter().collect();
    let point = |&(at_s, value): &(i64, f64)| SeriesPoint { time_ms: at_s * 1000, value };
    Series { labels: Arc::new(labels), samples: samples.iter().map(point).collect() }
}

fn storage(samples: &[(i64, f64)]) -> MemoryStorage {
    MemoryStorage { series: vec![series(HOSTILE, samples)], metadata: vec![] }
}

/// A rule that tells a receiver at once.
fn rule(to: &str) -> AlertRule {
    let mut rule = AlertRule::new("hot", "x > 5").unwrap();
    rule.to = vec![AlertReceiver::parse(to).unwrap()];
    rule
}

/// The message of an alert with hostile labels, and with a hostile process.
fn message() -> AlertMessage {
    let storage = storage(&[(1_790_000_000, 9.0)]);
    let mut book = AlertBook::new(vec![rule("syslog")]);
    let around = AlertSurroundings {
        host: "h",
        page: "http://h:9797/",
        heaviest: &|_, _, _| vec!["9 %  burn (7)".to_owned()],
        log: &|(from_ms, thru_ms)| vec![format!("a record from {from_ms} to {thru_ms}")],
        ..AlertSurroundings::of(&storage, &calendar::UTC)
    };
    assert!(book.step(1_790_000_000_000, &around));
    (*book.next("syslog:/dev/log").unwrap().message).clone()
}
