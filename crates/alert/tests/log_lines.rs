//! The log records of a message, of a real store.

use log_protocol::own_record::{dictionary, record};
use log_protocol::{ProcessId, ProcessInfo, StreamId};
use log_store::{CommitBatch, RecordsPart, Store, StoreSettings};
use logring::LogLevel;

use super::HOSTILE;

/// Writes a record each second from the first second on.
fn write(folder: &std::path::Path, records: &[(LogLevel, &str)]) {
    let settings = StoreSettings { sync: false, ..<_>::default() };
    let mut store = Store::open(folder, settings, [3; 16]).unwrap().0;
    let id = ProcessId([7; 16]);
    let mut batch = CommitBatch::default();
    batch.dictionaries.push((id, 0, dictionary("f.rs", "run", "control/antenna")));
    let (host, name) = ("alpha".to_owned(), "program".to_owned());
    batch.processes.push(ProcessInfo { id, pid: 77, host, name, ..<_>::default() });
    let numbered = (0..).zip(records);
    let body: Vec<u8> = numbered
        .flat_map(|(number, (level, text))| {
            record(*level, text, number, (number + 1) * 1_000_000_000)
        })
        .collect();
    batch.bytes += body.len();
    let (stream, count) = (StreamId { process: id, ring: 0 }, records.len() as u32);
    let next = records.len() as u64;
    let part = RecordsPart { stream, body, skip_bytes: 0, count, first: 0, next, left_out: 0 };
    batch.records.push(part);
    store.write(&batch, 1_000_000_000).unwrap();
}

#[test]
fn the_newest_ten_warnings_of_the_time_are_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = vec![(LogLevel::Error, HOSTILE)];
    records.extend([(LogLevel::Warning, "warm"); 11]);
    records.extend([
        (LogLevel::Info, "calm"),
        (LogLevel::Critical, "hot"),
        (LogLevel::Error, "late"),
    ]);
    write(folder.path(), &records);
    let lines = alert::log_lines(folder.path(), (0, 14_500));
    assert_eq!(lines.len(), 10, "{lines:#?}");
    assert!(lines[9].contains("CRITICAL") && lines[9].contains("hot"), "{lines:#?}");
    assert!(lines[..9].iter().all(|line| line.contains(" WARNING ")), "{lines:#?}");
    let hostile = alert::log_lines(folder.path(), (0, 1_500));
    assert_eq!(hostile.len(), 1);
    assert!(!hostile[0].contains(char::is_control) && hostile[0].contains("Bcc"), "{hostile:?}");
    assert!(alert::log_lines(folder.path(), (60_000, 90_000)).is_empty());
    assert!(alert::log_lines(&folder.path().join("none"), (0, 90_000)).is_empty());
}
