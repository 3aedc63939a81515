//! Stores that an older program wrote, in version 1: read as it showed them, and gone on with.
//!
//! `testdata/log-store/version-1` is such a store, of three programs; `version-1.txt` is what
//! `whit log query --all --utc` of that program said of it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use log_format::{LogZone, RecordFormat as _, TextFormat};
use log_store::audit::Audit;
use log_store::query::Filter;
use log_store::{CommitBatch, OwnLog, Store, StoreReader, StoreSettings, WordIndexer};
use logring::LogLevel;

const SETTINGS: StoreSettings =
    StoreSettings { segment_bytes: 256 << 20, compression: 1, sync: false };

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/log-store")
}

/// A copy of the store, and what is shown of it.
fn old_store() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        let name = format!("{number:016x}.logs");
        std::fs::copy(testdata().join("version-1").join(&name), folder.path().join(name)).unwrap();
    }
    (folder, std::fs::read_to_string(testdata().join("version-1.txt")).unwrap())
}

fn segment(folder: &Path, number: u64) -> Vec<u8> {
    std::fs::read(folder.join(format!("{number:016x}.logs"))).unwrap()
}

/// The text of what a filter finds, as `whit log query --utc` shows it, and how many records it read.
fn shown(folder: &Path, filter: &Filter) -> (String, u64) {
    let mut format = TextFormat::new(false, LogZone::default());
    let mut reader = StoreReader::open(folder).unwrap();
    reader.look_up(filter.keys());
    let (mut out, mut scratch, mut read) = (Vec::new(), Vec::new(), 0);
    let flow = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        read += 1;
        if let Some(record) = filter.wanted(item, &mut scratch) {
            format.put(&mut out, &record);
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    assert_eq!(reader.damaged, []);
    (String::from_utf8(out).unwrap(), read)
}

fn all() -> Filter {
    Filter { all_kinds: true, ..Filter::default() }
}

/// Commits a record of another process.
fn add(store: &mut Store, text: &str, now_ns: u64) {
    let mut log = OwnLog::new([now_ns as u8; 16], "host".to_owned());
    let mut batch = CommitBatch::default();
    log.add(&mut batch, LogLevel::Error, text, now_ns);
    store.write(&batch, now_ns).unwrap();
}

#[test]
fn a_store_of_version_1_is_shown_as_before() {
    let (folder, expected) = old_store();
    let folder = folder.path();
    let (text, count) = shown(folder, &all());
    assert_eq!((text.as_str(), count), (expected.as_str(), 259));
    let audit = Audit::of(folder, true).unwrap();
    assert!(audit.is_whole());
    assert_eq!((audit.total().records, audit.total().duplicates), (259, 0));
    // Words are found, with their files and without.
    let filter = Filter { text: "größe".into(), words: vec!["end".to_owned()], ..all() };
    let (without, before) = shown(folder, &filter);
    assert_eq!(without.lines().count(), 1);
    assert_eq!(WordIndexer::new(folder).advance(&|| false).unwrap(), 1);
    let (with, after) = shown(folder, &filter);
    assert_eq!(with, without);
    assert!(after < before, "{after} of {before}");
}

#[test]
fn a_store_of_version_1_is_gone_on_with_in_version_2() {
    let (folder, expected) = old_store();
    let folder = folder.path();
    let before = [segment(folder, 0), segment(folder, 1)];
    let (mut store, recovery) = Store::open(folder, SETTINGS, [9; 16]).unwrap();
    assert_eq!((recovery.cut_bytes, recovery.damaged.len()), (0, 0));
    assert_ne!(store.id(), [9; 16], "the same store");
    let marks: Vec<u64> = store.marks().map(|(_, mark)| mark).collect();
    let newest_ns = 1_900_000_000_000_000_000;
    for number in 0..40 {
        add(&mut store, &format!("number {number}"), newest_ns + number);
    }
    drop(store);
    // What was written before is not touched.
    assert_eq!([segment(folder, 0), segment(folder, 1)], before);
    assert_eq!([before[1][8], segment(folder, 2)[8]], [1, 2]);
    let (text, _) = shown(folder, &all());
    assert_eq!(text.strip_prefix(&expected).map(|more| more.lines().count()), Some(40));
    let audit = Audit::of(folder, true).unwrap();
    assert!(audit.is_whole());
    assert_eq!(audit.total().records, 299);
    // The newest segment alone says all marks, and is gone on with.
    let (mut store, _) = Store::open(folder, SETTINGS, [9; 16]).unwrap();
    assert!(store.marks().count() > marks.len());
    add(&mut store, "last", newest_ns + 50);
    assert_eq!(store.segment_number(), 3);
    drop(store);
    assert!(shown(folder, &all()).0.trim_end().ends_with("last"));
}

/// A program of version 1 was killed while it wrote: what is not whole is cut, and nothing else.
#[test]
fn a_torn_tail_of_version_1_is_cut_before_version_2_begins() {
    let (folder, expected) = old_store();
    let folder = folder.path();
    let path = folder.join(format!("{:016x}.logs", 1));
    let whole = std::fs::metadata(&path).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(whole - 7).unwrap();
    let (mut store, recovery) = Store::open(folder, SETTINGS, [9; 16]).unwrap();
    assert!(recovery.cut_bytes > 7 && recovery.damaged.is_empty(), "{recovery:?}");
    add(&mut store, "after", 1_900_000_000_000_000_000);
    drop(store);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), whole - 7 - recovery.cut_bytes);
    let (text, count) = shown(folder, &all());
    let kept = text.lines().count() - 1;
    assert!(kept < 259 && count as usize == kept + 1, "{kept}");
    assert!(text.lines().take(kept).all(|line| expected.lines().any(|one| one == line)));
    assert!(Audit::of(folder, true).unwrap().is_whole());
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let (folder, _) = old_store();
    let path = folder.path().join(format!("{:016x}.logs", 0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 3;
    std::fs::write(&path, log_store::fuzzing::mended_store(bytes)).unwrap();
    let said = Store::open(folder.path(), SETTINGS, [9; 16]).err();
    // The newest checkpoint is behind it.
    assert!(said.is_none());
    let mut reader = StoreReader::open(folder.path()).unwrap();
    let said = reader.next_chunk().unwrap_err().to_string();
    assert_eq!(said, "version 3, this program reads versions 1 and 2");
}
