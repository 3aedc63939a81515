//! Questions about a period of a store, beside reading all of it: random filters, rotated and removed
//! segments, a torn tail, a store that grows, damage, losses.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use log_format::write_message;
use log_protocol::own_record::{dictionary, record};
use log_protocol::{GapReason, ProcessId, ProcessInfo, StreamId};
use log_store::archive::{
    FoundRecords, LogArchive, LogArchiveError, LogOrder, LogPage, LogSearch, LogSteps, RecordKey,
};
use log_store::query::Filter;
use log_store::{
    CommitBatch, LostPart, RecordsPart, Store, StoreReader, StoreSettings, WordIndexer,
};
use logring::LogLevel;
use testkit::Random;

const START_NS: u64 = 1_700_000_000_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Processes that log into a store.
struct Writers {
    store: Store,
    random: Random,
    next: [u64; 6],
    now_ns: u64,
}

impl Writers {
    fn new(folder: &Path, seed: u64) -> Self {
        let settings = StoreSettings { segment_bytes: 60_000, sync: false, ..<_>::default() };
        let (store, _) = Store::open(folder, settings, [1; 16]).unwrap();
        Writers { store, random: Random::from_seed(seed), next: [0; 6], now_ns: START_NS }
    }

    fn process(number: usize) -> ProcessInfo {
        ProcessInfo {
            id: ProcessId([number as u8 + 1; 16]),
            pid: 100 + number as u32,
            host: format!("host{}", number % 3),
            name: format!("program{}", number % 4),
            ..ProcessInfo::default()
        }
    }

    /// One commit: some records of some processes; of one process they may be late.
    fn commit(&mut self) {
        let mut batch = CommitBatch::default();
        for number in 0..6 {
            let count = self.random.below(6);
            if count == 0 {
                continue;
            }
            let process = Self::process(number);
            let stream = StreamId { process: process.id, ring: 0 };
            if self.next[number] == 0 {
                batch.dictionaries.push((
                    process.id,
                    0,
                    dictionary("f", "r", &format!("log/{number}")),
                ));
            }
            let late = if number == 5 { self.random.below(40) * SECOND_NS } else { 0 };
            let first = self.next[number];
            let mut body = Vec::new();
            for at in 0..count {
                // Some have the same time.
                let time = self.now_ns - late + self.random.below(3) * SECOND_NS / 2;
                let level = self.random.one_of(&LogLevel::ALL);
                let what = self.random.one_of(&["disk", "Disk full", "net", "nothing at all"]);
                let text = format!("{what} {}", self.random.below(20));
                body.extend_from_slice(&record(level, &text, first + at, time));
            }
            let next = first + count;
            self.next[number] = next;
            batch.processes.push(process);
            batch.bytes += body.len();
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
        self.now_ns += self.random.below(2 * SECOND_NS);
        self.store.write(&batch, self.now_ns).unwrap();
    }

    fn commits(&mut self, count: usize) {
        (0..count).for_each(|_| self.commit());
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "logs")).collect();
    found.sort();
    found
}

/// All wanted records, by reading the whole store.
fn all(folder: &Path, search: &LogSearch) -> BTreeMap<RecordKey, (LogLevel, String)> {
    let mut reader = StoreReader::open(folder).unwrap();
    let (mut found, mut scratch) = (BTreeMap::new(), Vec::new());
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        let (ring, sequence) = (item.stream.ring, item.record.sequence);
        let (process, time_ns) = (item.process.id, item.record.stamp);
        if let Some(record) = search.filter.wanted(item, &mut scratch) {
            let mut text = Vec::new();
            write_message(&mut text, &record);
            let text = String::from_utf8(text).unwrap();
            if search.words.iter().all(|word| word.is_match(text.as_bytes())) {
                let key = RecordKey { time_ns, process, ring, sequence };
                found.insert(key, (record.level(), text));
            }
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    found
}

fn page(archive: &LogArchive, search: &LogSearch, page: LogPage) -> FoundRecords {
    let found = archive.records(search, page, &|| false, &mut |_, record| {
        let mut text = Vec::new();
        write_message(&mut text, record);
        text
    });
    found.unwrap()
}

/// All pages of a search.
fn paged(
    archive: &LogArchive,
    search: &LogSearch,
    order: LogOrder,
    limit: usize,
) -> Vec<(RecordKey, String)> {
    let (mut behind, mut found) = (None, Vec::new());
    loop {
        let answer = page(archive, search, LogPage { order, limit, behind, bytes_max: 60_000 });
        assert!(answer.records.len() <= limit);
        behind = answer.records.last().map(|record| record.key);
        let texts = answer.records.into_iter();
        found.extend(texts.map(|one| (one.key, String::from_utf8(one.text).unwrap())));
        if !answer.has_more {
            return found;
        }
    }
}

fn random_search(random: &mut Random, span_ns: u64) -> LogSearch {
    let mut filter = Filter::default();
    if random.percent(40) {
        filter.level = Some(random.one_of(&LogLevel::ALL));
    }
    if random.percent(70) {
        let from = START_NS + random.below(span_ns);
        filter.from_ns = Some(from);
        filter.until_ns = Some(from + random.below(span_ns / 2));
    }
    if random.percent(25) {
        filter.logger = random.one_of(&["log/1", "log/*", "*5", "none"]).to_owned();
    }
    if random.percent(25) {
        filter.host = random.one_of(&["host1", "host*", "nobody"]).to_owned();
    }
    if random.percent(25) {
        filter.process = random.one_of(&["program1", "103", "p*2"]).to_owned();
    }
    let text = if random.percent(30) {
        random.one_of(&["disk", "FULL disk", "\"at all\"", "\"K FULL 1\"", "1"])
    } else {
        ""
    };
    LogSearch::new(filter, text).unwrap()
}

/// Compares every answer with what reading the whole store gives.
fn check(folder: &Path, archive: &LogArchive, search: &LogSearch, limit: usize) {
    let expected = all(folder, search);
    let texts = || expected.iter().map(|(key, (_, text))| (*key, text.clone()));
    let oldest: Vec<_> = texts().collect();
    let newest: Vec<_> = texts().rev().collect();
    assert_eq!(paged(archive, search, LogOrder::OldestFirst, limit), oldest, "{search:?}");
    assert_eq!(paged(archive, search, LogOrder::NewestFirst, limit), newest, "{search:?}");
    let from_ns = search.filter.from_ns.unwrap_or(START_NS - 100 * SECOND_NS);
    let step_ns = 7 * SECOND_NS + 13;
    let steps = LogSteps { from_ns, step_ns, count: 90 };
    let counts = archive.counts(search, steps, &|| false).unwrap();
    let mut sums = vec![[0_u64; 16]; steps.count];
    let unbounded = LogSearch {
        filter: Filter { from_ns: None, until_ns: None, ..search.filter.clone() },
        ..search.clone()
    };
    for (key, (level, _)) in all(folder, &unbounded) {
        let Some(after) = key.time_ns.checked_sub(from_ns) else { continue };
        if let Some(step) = sums.get_mut((after / step_ns) as usize) {
            step[usize::from(level.number())] += 1;
        }
    }
    assert_eq!(counts.steps, sums, "{search:?}");
}

#[test]
fn random_questions_have_the_answers_of_the_whole_store() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path();
    let mut writers = Writers::new(folder, 11);
    writers.commits(500);
    assert!(segments(folder).len() > 3);
    let archive = LogArchive::new(folder);
    let span = writers.now_ns - START_NS;
    let mut random = Random::from_seed(5);
    for round in 0..16 {
        if round == 6 {
            // From here on with files of words.
            WordIndexer::new(folder).advance(&|| false).unwrap();
        }
        let limit = if round % 2 == 0 { 100_000 } else { 700 + random.index(500) };
        check(folder, &archive, &random_search(&mut random, span), limit);
    }
    // A few records at a time, over times that several have.
    let filter = Filter {
        from_ns: Some(START_NS + span / 2),
        until_ns: Some(START_NS + span / 2 + 5 * SECOND_NS),
        ..Filter::default()
    };
    for limit in [1, 2, 3] {
        check(folder, &archive, &LogSearch::new(filter.clone(), "").unwrap(), limit);
    }
}

#[test]
fn a_store_grows_loses_its_oldest_segments_and_has_a_torn_tail() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path();
    let archive = LogArchive::new(&folder.join("not-there-yet"));
    assert_eq!(
        page(
            &archive,
            &LogSearch::default(),
            LogPage { order: LogOrder::NewestFirst, limit: 3, bytes_max: 9, behind: None }
        ),
        FoundRecords::default()
    );
    let archive = LogArchive::new(folder);
    let mut writers = Writers::new(folder, 12);
    let everything = LogSearch::default();
    for _ in 0..8 {
        writers.commits(100);
        check(folder, &archive, &everything, 100_000);
    }
    let names = archive.names(&Filter::default(), &|| false).unwrap();
    assert_eq!(names.hosts.keys().collect::<Vec<_>>(), ["host0", "host1", "host2"]);
    assert_eq!(
        names.loggers,
        (0..6).map(|number| format!("log/{number}")).collect::<BTreeSet<_>>()
    );
    let before = names.recorded_ns.unwrap();
    std::fs::remove_file(&segments(folder)[0]).unwrap();
    check(folder, &archive, &everything, 100_000);
    let after = archive.names(&Filter::default(), &|| false).unwrap().recorded_ns.unwrap();
    assert!(after.0 > before.0 && after.1 == before.1);
    // A write that is not whole is not there yet.
    let last = segments(folder).pop().unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&last).unwrap();
    file.write_all(b"WLC1 and no more").unwrap();
    check(folder, &archive, &everything, 100_000);
    drop(writers);
    let settings = StoreSettings { segment_bytes: 60_000, sync: false, ..<_>::default() };
    let (store, recovery) = Store::open(folder, settings, [1; 16]).unwrap();
    assert_eq!(recovery.cut_bytes, 16);
    drop(store);
    check(folder, &archive, &everything, 100_000);
}

#[test]
fn what_the_store_lacks_is_told() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path();
    let mut writers = Writers::new(folder, 13);
    writers.commits(20);
    let process = Writers::process(2);
    let stream = StreamId { process: process.id, ring: 0 };
    let first = writers.next[2];
    let mut batch = CommitBatch::default();
    batch.lost.push(LostPart { stream, first, next: first + 7, reason: GapReason::Overwritten });
    writers.store.write(&batch, writers.now_ns).unwrap();
    writers.next[2] += 7;
    let lost_ns = writers.now_ns;
    writers.commits(400);
    let archive = LogArchive::new(folder);
    let newest =
        LogPage { order: LogOrder::NewestFirst, limit: 10, bytes_max: 1 << 20, behind: None };
    let found = page(&archive, &LogSearch::default(), newest);
    let lost: Vec<_> = found.losses.lost().map(|loss| (loss.host.as_str(), loss.records)).collect();
    assert_eq!(lost, [("host2", 7)]);
    let later = Filter { from_ns: Some(lost_ns + 60 * SECOND_NS), ..Filter::default() };
    let found = page(&archive, &LogSearch::new(later, "").unwrap(), newest);
    assert_eq!(found.losses.records(), 0);
    // Damage in the middle of a segment, with an index that is new and with one that is not.
    drop(writers);
    let path = segments(folder)[0].clone();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 400].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    for archive in [&archive, &LogArchive::new(folder)] {
        let page = LogPage { limit: 100_000, ..newest };
        let found = archive.records(&LogSearch::default(), page, &|| false, &mut |_, _| Vec::new());
        let found = found.unwrap();
        let expected = all(folder, &LogSearch::default());
        assert_eq!(found.records.len(), expected.len());
        assert!(!found.losses.damaged.is_empty());
    }
}

/// A block that cannot have what is asked for is not read: its damage is not seen.
#[test]
fn a_question_reads_only_blocks_with_its_words() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path();
    let mut writers = Writers::new(folder, 17);
    writers.commits(300);
    drop(writers);
    WordIndexer::new(folder).advance(&|| false).unwrap();
    let first = segments(folder).remove(0);
    let mut bytes = std::fs::read(&first).unwrap();
    // A chunk ends with its last block.
    *bytes.last_mut().unwrap() ^= 0xFF;
    std::fs::write(&first, bytes).unwrap();
    let damage = |text: &str, filter: Filter| {
        let search = LogSearch::new(filter, text).unwrap();
        let all = LogPage {
            order: LogOrder::NewestFirst,
            limit: 100_000,
            bytes_max: 1 << 20,
            behind: None,
        };
        let archive = LogArchive::new(folder);
        let steps = LogSteps { from_ns: START_NS, step_ns: 3600 * SECOND_NS, count: 2 };
        let counted = archive.counts(&search, steps, &|| false).unwrap();
        let found = page(&archive, &search, all);
        assert_eq!(found.losses.damaged, counted.losses.damaged);
        found.losses.damaged.len()
    };
    let of = |words: &[&str], text: &str, logger: &str| Filter {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        text: text.into(),
        logger: logger.to_owned(),
        ..Filter::default()
    };
    let cases = [
        ("", of(&["nowhere"], "", "")),
        ("", of(&[], "is nowhere here", "")),
        ("", of(&[], "", "other")),
        ("disk \"is NOWHERE here\"", Filter::default()),
    ];
    for (text, filter) in cases.clone() {
        assert_eq!(damage(text, filter), 0, "{text}");
    }
    // A part of a word, and letters whose case no file of words knows, rule nothing out.
    for text in ["isk", "disk", "Ö"] {
        assert_eq!(damage(text, Filter::default()), 1, "{text}");
    }
    // No word has that part, `gr`, or `hier` at its begin.
    for text in ["iskd", "größe", "\"ist größe hier\""] {
        assert_eq!(damage(text, Filter::default()), 0, "{text}");
    }
    let like = |pattern: &str| Filter {
        regex: Some(regex::bytes::Regex::new(pattern).unwrap()),
        ..Filter::default()
    };
    for (pattern, damaged) in [("(tape|floppy) .*full", 0), ("(?i)DI.K|tape", 1), ("disk|x", 1)] {
        assert_eq!(damage("", like(pattern)), damaged, "{pattern}");
    }
    std::fs::remove_file(first.with_extension("words")).unwrap();
    // An index of the names of loggers remains in each block.
    for (text, filter) in cases.into_iter().filter(|(_, filter)| filter.logger.is_empty()) {
        assert_eq!(damage(text, filter), 1, "{text}");
    }
}

#[test]
fn a_question_about_a_short_time_reads_only_the_segments_of_that_time() {
    let held = tempfile::tempdir().unwrap();
    let folder = held.path();
    let mut writers = Writers::new(folder, 15);
    writers.commits(300);
    let archive = LogArchive::new(folder);
    let from_ns = writers.now_ns - 5 * SECOND_NS;
    let search =
        LogSearch::new(Filter { from_ns: Some(from_ns), ..Filter::default() }, "").unwrap();
    let newest =
        LogPage { order: LogOrder::NewestFirst, limit: 1000, bytes_max: 1 << 20, behind: None };
    let before = page(&archive, &search, newest);
    assert!(before.records.len() > 5);
    // Whoever read the others would find nothing in them but damage.
    let all = segments(folder);
    assert!(all.len() > 3);
    for path in &all[..all.len() - 2] {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[64..].fill(0);
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(page(&archive, &search, newest), before);
    let steps = LogSteps { from_ns, step_ns: SECOND_NS, count: 10 };
    let counts = archive.counts(&search, steps, &|| false).unwrap();
    let sum: u64 = counts.steps.iter().flatten().sum();
    assert_eq!(sum, before.records.len() as u64);
    assert_eq!(counts.losses.damaged, []);
}

#[test]
fn a_question_ends_when_nobody_waits() {
    let held = tempfile::tempdir().unwrap();
    Writers::new(held.path(), 14).commits(50);
    let archive = LogArchive::new(held.path());
    let steps = LogSteps { from_ns: START_NS, step_ns: SECOND_NS, count: 5 };
    let ended = archive.counts(&LogSearch::default(), steps, &|| true);
    assert!(matches!(ended, Err(LogArchiveError::Ended)));
    let looked = std::cell::Cell::new(0);
    let some = || {
        looked.set(looked.get() + 1);
        looked.get() > 60
    };
    let ended = archive.counts(&LogSearch::default(), steps, &some);
    assert!(matches!(ended, Err(LogArchiveError::Ended)));
    assert!(archive.counts(&LogSearch::default(), steps, &|| false).is_ok());
}

#[test]
fn keys_are_read_as_they_are_written() {
    let key = RecordKey { time_ns: 7, process: ProcessId([0xAB; 16]), ring: 2, sequence: u64::MAX };
    assert_eq!(key.to_string().parse(), Ok(key));
    for text in ["", "7", "7-ab-2-3", &format!("{key}-1"), "x-00000000000000000000000000000000-1-1"]
    {
        assert_eq!(text.parse::<RecordKey>(), Err(()), "{text}");
    }
}
