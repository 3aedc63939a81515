//! What programs take of the memory that their rings are in: little while they log little, and nothing
//! of those that were killed as they started.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::{File, FileTimes};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::talk::{Client, c_client, rust_client};
use crate::common::{folders, proxy};

/// 2,000 processes are to take 200 MB at most.
const BYTES_MAX: u64 = 100_000;

/// Bytes that the files of a process take.
fn taken(rings: &Path, pid: u32) -> u64 {
    let begin = format!("{pid}-");
    let entries = std::fs::read_dir(rings).unwrap().map(Result::unwrap);
    let own = entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with(&begin));
    own.map(|entry| entry.metadata().unwrap().blocks() * 512).sum()
}

/// A process that logs little takes little; its ring grows as it logs more, and loses nothing.
fn takes_little(rings: &Path, mut client: Client) {
    client.ask("log 30", "logged");
    let little = taken(rings, client.process.id());
    assert!(little > 0 && little <= BYTES_MAX, "{little} bytes");
    client.ask("log 20000", "logged");
    let much = taken(rings, client.process.id());
    assert!(much > 1_000_000, "{much} bytes");
    client.end();
    let found = crate::common::sequences(rings);
    let mut records: Vec<u64> = found.values().copied().collect();
    records.retain(|count| *count > 0);
    // Two records say who begins in each ring, and one where it goes on.
    assert!(records.iter().sum::<u64>() >= 20_030, "{records:?}");
}

#[test]
fn a_rust_program_that_logs_little_takes_little() {
    let folders = folders();
    takes_little(&folders.rings, rust_client(&folders.rings));
}

#[test]
fn a_c_program_that_logs_little_takes_little() {
    let folders = folders();
    if let Some(client) = c_client(&folders) {
        takes_little(&folders.rings, client);
    }
}

/// Makes files that were begun so long ago; gives whether each is there.
fn begun<const N: usize>(rings: &Path, names: [&str; N], age: Duration) -> impl Fn() -> [bool; N] {
    let paths = names.map(|name| rings.join(name));
    for path in &paths {
        let file = File::create(path).unwrap();
        let changed = SystemTime::now() - age;
        file.set_times(FileTimes::new().set_modified(changed)).unwrap();
    }
    move || paths.each_ref().map(|path| path.exists())
}

/// Files that a process began to make go once it is gone; those of one that lives stay.
#[test]
fn what_killed_programs_began_to_make_is_removed() {
    let folders = folders();
    let own = std::process::id();
    let ticks = logring::clock::start_ticks(own).unwrap();
    // No process has this id: it is above the highest that Linux gives.
    let gone = 5_000_000;
    let names = [
        format!("{gone}-77-0.new"),
        format!("{gone}-77.2-1.new"),
        format!("{gone}-77-0123456789abcdef.new"),
        format!("{gone}-0123456789abcdef.new"),
        // The id is another process's now.
        format!("{own}-{}-0.new", ticks + 1),
        format!("{own}-{ticks}-0.new"),
        format!("{own}-{ticks}.3-1.new"),
        format!("{own}-{ticks}-0123456789abcdef.new"),
        format!("{own}-0123456789abcdef.new"),
        "other.new".to_owned(),
    ];
    let names = names.each_ref().map(String::as_str);
    let mut after = [true; 10];
    after[..5].fill(false);
    for is_proxy in [true, false] {
        let there = begun(&folders.rings, names, Duration::from_secs(3600));
        assert_eq!(there(), [true; 10]);
        if is_proxy {
            proxy(&folders.rings, &folders.spool, &folders.socket).round();
        } else {
            let format = Box::<log_format::JsonFormat>::default();
            let mut sink = log_format::WriterSink::new(format, Vec::new());
            let remove = log_format::RecoveredRings::Remove;
            log_format::recover(&folders.rings, &mut sink, remove).unwrap();
        }
        assert_eq!(there(), after, "by the proxy: {is_proxy}");
    }
    // One that was begun just now may be of a process in another container.
    let there = begun(&folders.rings, [names[0]], Duration::ZERO);
    proxy(&folders.rings, &folders.spool, &folders.socket).round();
    assert_eq!(there(), [true]);
}
