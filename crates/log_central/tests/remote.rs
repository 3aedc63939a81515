//! Questions to a central server: records from afar are those of its store; a record is shown soon
//! after it was written; levels are set while programs run.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{Deadline, Folders, PATIENCE, central, drain, folders, proxy, start};
use connection::Address;
use log_central::Central;
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake::{Hello, PeerRole, greet_server, send};
use log_protocol::levels::LevelOrder;
use log_store::query::Filter;
use log_store::remote::{RemoteAnswer, RemotePart, RemoteQuery};
use log_store::{Item, StoreReader};
use logger::{LogConfig, LogLevel, Logger, log_debug, log_info};

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["tick", folder, pause_ms] => tick(Path::new(folder), pause_ms.parse().unwrap()),
        _ => return false,
    }
    true
}

/// Logs the time, at levels DEBUG and INFO in turn, until it is killed.  DEBUG is off at first.
fn tick(folder: &Path, pause_ms: u64) {
    let _logging = logger::start(LogConfig::new(folder, "host", "ticker")).unwrap();
    let log = Logger::new("tick.logger").unwrap();
    log.set_levels(LogLevel::Info.number(), logring::LEVEL_OFF);
    loop {
        log_debug!(log, "at {}", now_ns());
        log_info!(log, "at {}", now_ns());
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn ask(folders: &Folders, query: &RemoteQuery) -> RemoteAnswer {
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let address = Address::Unix(folders.socket.clone());
    let (reader, mut writer) = greet_server(&address, PATIENCE, None, None, &hello).unwrap();
    RemoteAnswer::ask(reader, &mut writer, query).unwrap()
}

/// A record as it is told apart from all others.
fn name(item: &Item<'_>) -> String {
    let process = item.process;
    let site = item.dictionary.site(item.record.site).map(|site| site.format.clone());
    format!(
        "{}/{} {} {} {} {:?} {} {:?}",
        process.id,
        item.stream.ring,
        item.stream.thread,
        item.record.sequence,
        item.record.stamp,
        site,
        process.name,
        item.record.payload
    )
}

fn all(folders: &Folders, query: &RemoteQuery) -> (Vec<String>, u64) {
    let mut answer = ask(folders, query);
    let mut names = Vec::new();
    loop {
        let part = answer.next(&mut |item| {
            names.push(name(item));
            ControlFlow::Continue(())
        });
        if let RemotePart::End { records, damaged } = part.unwrap() {
            assert_eq!(damaged, [] as [String; 0]);
            return (names, records);
        }
    }
}

/// A store with records of some threads, and the server that still runs.
fn filled() -> (Folders, Central) {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut writer = start(&format!("write|{}|3|20000", folders.rings.display()));
    while writer.try_wait().unwrap().is_none() {
        if !proxy.round() {
            proxy.wait(Duration::from_millis(1));
        }
    }
    drain(&mut proxy, &folders.rings);
    (folders, central)
}

#[test]
fn records_from_afar_are_those_of_the_store() {
    let (folders, central) = filled();
    let everything = Filter { all_kinds: true, ..Filter::default() };
    let mut here = Vec::new();
    let mut reader = StoreReader::open(&folders.store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        here.push(name(item));
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    assert!(here.len() > 60_000);
    let query = RemoteQuery { filter: everything.clone(), ..RemoteQuery::default() };
    let (far, records) = all(&folders, &query);
    assert!(far == here, "{} {}", far.len(), here.len());
    assert_eq!(records, here.len() as u64);
    let (none, records) = all(&folders, &RemoteQuery { counts: true, ..query.clone() });
    assert_eq!((none.len(), records), (0, here.len() as u64));
    let (some, records) = all(&folders, &RemoteQuery { limit: 1000, ..query.clone() });
    assert!(some == here[..1000]);
    assert_eq!(records, 1000);
    for count in [1, 17, 5000, 1 << 30] {
        let (newest, _) = all(&folders, &RemoteQuery { newest: Some(count), ..query.clone() });
        let from = here.len().saturating_sub(count as usize);
        assert!(newest.ends_with(&here[from..]), "{count}: {}", newest.len());
        // Several may have the stamp of the first.
        assert!(newest.len() <= here.len() - from + 100, "{count}: {}", newest.len());
    }
    let text = Filter { text: "thread 1 number 77 ".into(), ..Filter::default() };
    assert_eq!(all(&folders, &RemoteQuery { filter: text, ..RemoteQuery::default() }).0.len(), 1);
    central.stop();
}

/// A proxy in a thread of its own, as `whit log proxy` runs it.
struct Carrying(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Carrying {
    fn begin(folders: &Folders) -> Self {
        let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let run = move || {
            let mut pause = Duration::ZERO;
            while !over.load(Ordering::Acquire) {
                if proxy.round() {
                    pause = Duration::ZERO;
                    continue;
                }
                pause = (pause * 2).clamp(Duration::from_micros(200), Duration::from_millis(20));
                proxy.wait(pause);
            }
        };
        Carrying(is_over, Some(std::thread::spawn(run)))
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.take().unwrap().join().unwrap();
    }
}

/// In units of the time between two records, which grows as the machine is busier.
#[test]
fn a_record_is_shown_soon_after_it_was_written() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let carrying = Carrying::begin(&folders);
    let _ticker = start(&format!("tick|{}|7", folders.rings.display()));
    let query = RemoteQuery { follows: true, newest: Some(0), ..RemoteQuery::default() };
    let mut answer = ask(&folders, &query);
    let (mut delays, mut pauses, mut last) = (Vec::new(), Vec::new(), None);
    let deadline = Deadline::default();
    while delays.len() < 300 {
        assert!(deadline.is_ahead(), "{} records", delays.len());
        let part = answer.next(&mut |item| {
            if let Some(word) = item.record.payload.first_chunk() {
                let written = u64::from_le_bytes(*word);
                delays.push(now_ns().saturating_sub(written));
                pauses.extend(last.replace(written).map(|last| written.saturating_sub(last)));
            }
            ControlFlow::Continue(())
        });
        part.unwrap();
    }
    let median = |times: &mut Vec<u64>| {
        times.sort_unstable();
        times[times.len() / 2] as f64 / 1e6
    };
    let (delay, pause) = (median(&mut delays), median(&mut pauses));
    println!("shown after {delay:.1} ms, written every {pause:.1} ms (medians)");
    assert!(delay < 7.0 * pause, "shown after {delay:.1} ms, written every {pause:.1} ms");
    drop(carrying);
    central.stop();
}

#[test]
fn a_level_that_is_set_at_the_centre_is_followed_by_a_running_program() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let carrying = Carrying::begin(&folders);
    let _ticker = start(&format!("tick|{}|2", folders.rings.display()));
    let query = RemoteQuery { follows: true, newest: Some(0), ..RemoteQuery::default() };
    let mut answer = ask(&folders, &query);
    let deadline = Deadline::default();
    // Counts INFO since the last DEBUG, and DEBUG.
    let mut next = |counts: &mut [u32; 2]| {
        assert!(deadline.is_ahead(), "{counts:?}");
        let part = answer.next(&mut |item| {
            let level = item.record.flags & 0x0F;
            if level == LogLevel::Debug.number() {
                *counts = [0, counts[1] + 1];
            } else {
                counts[0] += 1;
            }
            ControlFlow::Continue(())
        });
        part.unwrap();
    };
    let mut counts = [0, 0];
    while counts[0] < 100 {
        next(&mut counts);
    }
    assert_eq!(counts[1], 0, "DEBUG is off");
    set_level(&folders, LogLevel::Debug.number());
    while counts[1] < 100 {
        next(&mut counts);
    }
    // What was logged before the level was set again may still be on its way; then DEBUG is off.
    set_level(&folders, LogLevel::Info.number());
    while counts[0] < 100 {
        next(&mut counts);
    }
    drop(carrying);
    central.stop();
}

fn set_level(folders: &Folders, level: u8) {
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let address = Address::Unix(folders.socket.clone());
    let (mut reader, mut writer) = greet_server(&address, PATIENCE, None, None, &hello).unwrap();
    let order = LevelOrder {
        logger: "tick.*".into(),
        process: "ticker".into(),
        central: Some(level),
        ..LevelOrder::default()
    };
    send(&mut writer, Head::plain(FrameKind::SetLevel), &order.encode()).unwrap();
    let mut body = Vec::new();
    loop {
        let head = reader.read(&mut body).unwrap().expect("an answer");
        assert_eq!(head.kind, FrameKind::LevelSet);
        if head.next != 1 {
            assert_eq!(head.count, 1, "loggers");
            return;
        }
        assert_eq!(head.count, 1, "proxies");
    }
}
