//! Files of words: answers with them are those without them, for random filters, damage and change.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use log_protocol::own_record::{dictionary, record};
use log_protocol::{ProcessId, ProcessInfo, StreamId};
use log_store::query::{Filter, word};
use log_store::{CommitBatch, RecordsPart, Store, StoreReader, StoreSettings, WordIndexer};
use logring::LogLevel;
use testkit::Random;

const START_NS: u64 = 1_700_000_000_000_000_000;

/// A store of small segments: `commits` commits of records of four loggers.
fn make(folder: &Path, commits: u64, random: &mut Random) {
    let settings = StoreSettings { segment_bytes: 8_000, sync: false, ..<_>::default() };
    let (mut store, _) = Store::open(folder, settings, [1; 16]).unwrap();
    let mut next = [0; 4];
    for commit in 0..commits {
        let mut batch = CommitBatch::default();
        for number in 0..4_usize {
            // The last logger is rare.
            if number == 3 && commit % 40 != 7 {
                continue;
            }
            let id = ProcessId([number as u8 + 1; 16]);
            if next[number] == 0 {
                let name = format!("program{number}");
                batch.processes.push(ProcessInfo { id, name, ..ProcessInfo::default() });
                batch.dictionaries.push((id, 0, dictionary("f", "r", &format!("Log/{number}"))));
            }
            let (first, count) = (next[number], random.below(60));
            let mut body = Vec::new();
            for at in 0..count {
                let what = random.one_of(&["disk", "Disk_full", "net", "größe 7", "\u{1}\n"]);
                let text = format!("{what} {}:{commit}, end", random.below(5000));
                let level = random.one_of(&LogLevel::ALL);
                body.extend_from_slice(&record(level, &text, first + at, START_NS + commit));
            }
            next[number] += count;
            batch.bytes += body.len();
            let (stream, next) = (StreamId { process: id, ring: 0 }, first + count);
            let count = count as u32;
            batch.records.push(RecordsPart {
                stream,
                body,
                skip_bytes: 0,
                count,
                first,
                next,
                left_out: 0,
            });
        }
        store.write(&batch, START_NS + commit).unwrap();
    }
}

/// The files of a store with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.filter(|path| path.extension().is_some_and(|end| end == ending));
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The records of a filter, and how many were looked at.
fn found(folder: &Path, filter: &Filter) -> (Vec<(ProcessId, u64)>, u64) {
    let mut reader = StoreReader::open(folder).unwrap();
    reader.look_up(filter.keys());
    let (mut found, mut looked, mut scratch) = (Vec::new(), 0, Vec::new());
    let flow = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        looked += 1;
        if filter.wanted(item, &mut scratch).is_some() {
            found.push((item.process.id, item.record.sequence));
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    (found, looked)
}

fn filter(random: &mut Random) -> Filter {
    let mut filter = Filter::default();
    match random.below(4) {
        0 => filter.words.push(word(&random.below(6000).to_string()).unwrap()),
        1 => {
            filter
                .words
                .push(word(random.one_of(&["DISK", "disk_full", "größe", "none"])).unwrap());
        }
        2 => {
            let texts = [" 77:1", "Disk_full 4", "7 12:", "net", " 9:3, end"];
            random.one_of(&texts).clone_into(&mut filter.text);
        }
        _ => {}
    }
    if random.below(2) == 0 {
        filter.logger = random.one_of(&["Log/1", "Log/3", "log/1", "Log/*", "other"]).to_owned();
    }
    if random.below(3) == 0 {
        filter.from_ns = Some(START_NS + random.below(70));
    }
    filter
}

#[test]
fn answers_are_the_same_with_and_without() {
    let mut random = Random::from_seed(5);
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    make(store, 70, &mut random);
    let segments = files(store, "logs").len();
    assert!(segments > 5, "{segments}");
    let filters: Vec<Filter> = (0..40).map(|_| filter(&mut random)).collect();
    let without: Vec<_> = filters.iter().map(|filter| found(store, filter)).collect();
    let mut indexer = WordIndexer::new(store);
    assert_eq!(indexer.go_on(&|| false).unwrap(), segments as u64 - 1);
    assert_eq!(indexer.go_on(&|| false).unwrap(), 0);
    assert_eq!(WordIndexer::new(store).go_on(&|| false).unwrap(), 0);
    let (mut most, mut least) = (0, 0);
    for (filter, (wanted, all)) in filters.iter().zip(&without) {
        let (records, looked) = found(store, filter);
        assert_eq!(&records, wanted, "{filter:?}");
        most += all;
        least += looked;
    }
    assert!(least * 4 < most * 3, "{least} of {most}");
    // A word that is nowhere, and a logger that is rare, need few blocks.
    let nowhere = Filter { words: vec!["zzz".to_owned()], ..Filter::default() };
    let rare = Filter { logger: "Log/3".to_owned(), ..Filter::default() };
    let all = found(store, &Filter::default()).1;
    assert!(found(store, &nowhere).1 * 4 < all);
    assert!(found(store, &rare).1 * 4 < all);

    // Damage anywhere in a file, and a file that is cut, rule nothing out.
    for (number, path) in files(store, "words").into_iter().enumerate() {
        let file = std::fs::OpenOptions::new().write(true).read(true).open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        match number % 4 {
            0 => file.set_len(random.below(bytes)).unwrap(),
            1 => std::fs::remove_file(&path).unwrap(),
            _ => (0..20).for_each(|_| {
                file.write_all_at(&[random.below(256) as u8], random.below(bytes)).unwrap();
            }),
        }
    }
    for (filter, (wanted, _)) in filters.iter().zip(&without) {
        assert_eq!(&found(store, filter).0, wanted, "{filter:?}");
    }
    // The file of another segment is not taken for that of this one.
    let segments = files(store, "logs");
    let mut second = std::fs::OpenOptions::new().append(true).open(&segments[1]).unwrap();
    second.write_all(b"what is no chunk").unwrap();
    let made = WordIndexer::new(store).go_on(&|| false).unwrap();
    assert!(made > 1, "{made}");
    for (filter, (wanted, _)) in filters.iter().zip(&without) {
        assert_eq!(&found(store, filter).0, wanted, "{filter:?}");
    }
    // A segment that goes takes its file with it.
    std::fs::remove_file(&segments[0]).unwrap();
    WordIndexer::new(store).go_on(&|| false).unwrap();
    assert_eq!(files(store, "words").len(), files(store, "logs").len() - 1);
    assert_eq!(WordIndexer::new(store).go_on(&|| true).unwrap(), 0);
}

#[test]
fn a_word_is_a_word() {
    assert_eq!(word("Disk_7").as_deref(), Ok("disk_7"));
    for bad in ["", "a b", "a.", &"x".repeat(65)] {
        assert!(word(bad).unwrap_err().contains("letters, digits"), "{bad}");
    }
}
