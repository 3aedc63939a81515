//! Files of words: answers with them are those without them, for random filters, damage and change.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use log_format::write_message;
use log_protocol::own_record::{dictionary, record};
use log_protocol::{ProcessId, ProcessInfo, StreamId};
use log_store::query::{Filter, word};
use log_store::{
    CommitBatch, RecordsPart, Retention, Store, StoreReader, StoreSettings, WordIndexer,
};
use logring::LogLevel;
use logring::abi::kind;
use testkit::Random;

const START_NS: u64 = 1_700_000_000_000_000_000;

/// A store of four loggers that is committed to.
struct Commits {
    store: Store,
    next: [u64; 4],
    commit: u64,
}

/// A store of small segments with so many commits.
fn make(folder: &Path, commits: u64, random: &mut Random) {
    Commits::new(folder, 8_000).add(commits, random);
}

impl Commits {
    fn new(folder: &Path, segment_bytes: u64) -> Self {
        let settings = StoreSettings { segment_bytes, sync: false, ..<_>::default() };
        let (store, _) = Store::open(folder, settings, [1; 16]).unwrap();
        // Another life has other processes.
        Commits { store, next: [0; 4], commit: 0 }
    }

    fn add(&mut self, commits: u64, random: &mut Random) {
        for _ in 0..commits {
            let time_ns = START_NS + self.commit;
            let batch = self.batch(random);
            self.store.write(&batch, time_ns).unwrap();
            self.commit += 1;
        }
    }

    fn batch(&mut self, random: &mut Random) -> CommitBatch {
        let (commit, mut batch) = (self.commit, CommitBatch::default());
        for number in 0..4_usize {
            // The last logger is rare.
            if number == 3 && commit % 40 != 7 {
                continue;
            }
            let id = ProcessId([number as u8 + 1; 16]);
            if self.next[number] == 0 {
                let name = format!("program{number}");
                batch.processes.push(ProcessInfo { id, name, ..ProcessInfo::default() });
                batch.dictionaries.push((id, 0, dictionary("f", "r", &format!("Log/{number}"))));
            }
            let (first, count) = (self.next[number], random.below(60));
            let mut body = Vec::new();
            for at in 0..count {
                let what = random.one_of(&["disk", "Disk_full", "net", "größe 7", "\u{1}\n"]);
                let text = format!("{what} {}:{commit}, end", random.below(5000));
                let level = random.one_of(&LogLevel::ALL);
                // A period may end within a block.
                let time_ns = START_NS + commit + at / 20;
                body.extend_from_slice(&record(level, &text, first + at, time_ns));
            }
            self.next[number] += count;
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
        batch
    }
}

/// The files of a store with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.filter(|path| path.extension().is_some_and(|end| end == ending));
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether the message that a record has fits a filter, told without what makes searches fast.
fn has_message(message: &[u8], filter: &Filter) -> bool {
    let text = filter.text.as_str().as_bytes();
    let has_text = text.is_empty() || message.windows(text.len()).any(|part| part == text);
    let lower = String::from_utf8_lossy(message).to_ascii_lowercase();
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let words: BTreeSet<&str> = lower.split(|c| !is_of_word(c)).collect();
    has_text
        && filter.words.iter().all(|word| words.contains(word.as_str()))
        && filter.regex.as_ref().is_none_or(|regex| regex.is_match(message))
}

/// The records of a filter, and how many were looked at.
fn found(folder: &Path, filter: &Filter) -> (Vec<(ProcessId, u64)>, u64) {
    let mut reader = StoreReader::open(folder).unwrap();
    reader.look_up(filter.keys());
    let (mut found, mut looked, mut scratch) = (Vec::new(), 0, Vec::new());
    let (text, regex, words) = <_>::default();
    let of_any_message = Filter { text, regex, words, ..filter.clone() };
    let flow = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        looked += 1;
        let is_wanted = filter.wanted(item, &mut scratch).is_some();
        if is_wanted {
            found.push((item.process.id, item.record.sequence));
        }
        let fits = of_any_message.wanted(item, &mut Vec::new()).is_some_and(|record| {
            let mut message = Vec::new();
            write_message(&mut message, &record);
            has_message(&message, filter)
        });
        assert_eq!(fits, is_wanted, "{filter:?}");
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    let mut counter = StoreReader::open(folder).unwrap();
    counter.look_up(filter.keys());
    assert_eq!(counter.count(filter).unwrap(), found.len() as u64, "{filter:?}");
    (found, looked)
}

fn filter(random: &mut Random) -> Filter {
    let mut filter = Filter::default();
    match random.below(6) {
        0 => filter.words.push(word(&random.below(6000).to_string()).unwrap()),
        1 => {
            filter
                .words
                .push(word(random.one_of(&["DISK", "disk_full", "größe", "none"])).unwrap());
        }
        2 => {
            let texts = [" 77:1", "Disk_full 4", "7 12:", "net", " 9:3, end"];
            filter.text = random.one_of(&texts).into();
        }
        3 => {
            let parts = ["isk", "sk_fu", "ull 49", "öße", "4321", "99"];
            filter.text = random.one_of(&parts).into();
        }
        4 => {
            let patterns =
                ["(?i)DISK_.* 4[0-9]7:", "(net|tape) 1\\d*:5", "größe|full 12", "\\bull"];
            filter.regex = Some(regex::bytes::Regex::new(random.one_of(&patterns)).unwrap());
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

/// What tables tell is what reading tells: by level, for periods with ends in the middle of blocks.
#[test]
fn counts_of_levels_and_periods_are_those_of_the_records() {
    let mut random = Random::from_seed(15);
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 70, &mut random);
    let mut all = 0;
    for _ in 0..60 {
        let from_ns = (random.below(3) > 0).then(|| START_NS + random.below(70));
        let until_ns = (random.below(3) > 0).then(|| START_NS + random.below(80));
        let level = (random.below(3) > 0).then(|| random.one_of(&LogLevel::ALL));
        let process = random.one_of(&["", "program1", "program*"]).to_string();
        let all_kinds = random.below(5) == 0;
        let filter = Filter { from_ns, until_ns, level, process, all_kinds, ..<_>::default() };
        // It compares.
        all += found(folder.path(), &filter).0.len();
    }
    assert!(all > 1000, "{all}");
}

/// Calls by which this thread has read; `None` on kernels that do not count them.
fn read_calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

#[test]
fn many_small_commits_are_read_by_few_calls() {
    let mut random = Random::from_seed(16);
    let folder = tempfile::tempdir().unwrap();
    let mut commits = Commits::new(folder.path(), 1 << 30);
    let mut reader = StoreReader::open(folder.path()).unwrap();
    let Some(begun) = read_calls() else {
        testkit::skip("calls that read a store", "this kernel does not count them");
        return;
    };
    let own = read_calls().unwrap() - begun;
    let mut chunks = 0;
    for round in 1..=5 {
        commits.add(100, &mut random);
        let before = read_calls().unwrap();
        // What was read ahead of the last round's end is not taken for what is there now.
        while reader.next_chunk().unwrap().is_some() {
            chunks += 1;
        }
        let calls = read_calls().unwrap() - before - own;
        // The segment begins with one of marks.
        assert_eq!(chunks, 1 + 100 * round);
        assert!(calls <= 60, "{calls} calls for 100 commits");
    }
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
    assert_eq!(indexer.advance(&|| false).unwrap(), segments as u64 - 1);
    assert_eq!(indexer.advance(&|| false).unwrap(), 0);
    assert_eq!(WordIndexer::new(store).advance(&|| false).unwrap(), 0);
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
    let made = WordIndexer::new(store).advance(&|| false).unwrap();
    assert!(made > 1, "{made}");
    for (filter, (wanted, _)) in filters.iter().zip(&without) {
        assert_eq!(&found(store, filter).0, wanted, "{filter:?}");
    }
    // A segment that goes takes its file with it, and what a kill left of making it.
    std::fs::remove_file(&segments[0]).unwrap();
    std::fs::write(segments[0].with_extension("words.new"), "begun").unwrap();
    WordIndexer::new(store).advance(&|| false).unwrap();
    assert!(files(store, "new").is_empty());
    assert_eq!(files(store, "words").len(), files(store, "logs").len() - 1);
    assert_eq!(WordIndexer::new(store).advance(&|| true).unwrap(), 0);
}

/// The newest segment has a file of its own, which goes on while the segment does: also after another
/// start, torn, damaged, and with other chunks in the segment than it was made of.
#[test]
fn the_newest_segment_is_searched_by_words_while_it_is_written() {
    let mut random = Random::from_seed(6);
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    let filters: Vec<Filter> = (0..12).map(|_| filter(&mut random)).collect();
    let same = |what: &str| {
        let with: Vec<_> = filters.iter().map(|filter| found(store, filter)).collect();
        let kept = folder.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        let paths = [files(store, "words"), files(store, "open-words")].concat();
        let moved = |path: &PathBuf| kept.join(path.file_name().unwrap());
        paths.iter().for_each(|path| std::fs::rename(path, moved(path)).unwrap());
        let without: Vec<_> = filters.iter().map(|filter| found(store, filter)).collect();
        paths.iter().for_each(|path| std::fs::rename(moved(path), path).unwrap());
        std::fs::remove_dir(&kept).unwrap();
        for (filter, (with, without)) in filters.iter().zip(with.iter().zip(&without)) {
            assert_eq!(with.0, without.0, "{what}: {filter:?}");
        }
        let looked = |all: &[(Vec<_>, u64)]| all.iter().map(|one| one.1).sum::<u64>();
        (looked(&with), looked(&without))
    };
    // One segment, in which a new indexer goes on with the file of the one before.
    let mut commits = Commits::new(store, 1 << 30);
    let mut indexer = WordIndexer::new(store);
    for round in 0..4 {
        commits.add(8, &mut random);
        if round % 2 == 0 {
            indexer = WordIndexer::new(store);
        }
        assert_eq!(indexer.advance(&|| false).unwrap(), 0);
        let (with, without) = same("open");
        assert!(with < without, "{with} of {without}");
    }
    let nowhere = Filter { words: vec!["zzz".to_owned()], ..Filter::default() };
    assert!(found(store, &nowhere).1 * 4 < found(store, &Filter::default()).1);
    let path = &files(store, "open-words")[0];
    let whole = std::fs::read(path).unwrap();
    WordIndexer::new(store).advance(&|| false).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), whole, "all was known");
    // Torn anywhere: what is missing is written again.
    for _ in 0..3 {
        std::fs::write(path, &whole[..random.index(whole.len())]).unwrap();
        same("torn");
        WordIndexer::new(store).advance(&|| false).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), whole);
    }
    for _ in 0..6 {
        let mut bytes = whole.clone();
        let at = random.index(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        std::fs::write(path, bytes).unwrap();
        same("damaged");
    }
    // The disk lost the last commits, and has others in their place.
    std::fs::write(path, &whole).unwrap();
    let segment = &files(store, "logs")[0];
    let bytes = std::fs::read(segment).unwrap();
    drop(commits);
    std::fs::write(segment, &bytes[..bytes.len() / 2]).unwrap();
    let mut commits = Commits::new(store, 1 << 30);
    commits.add(30, &mut random);
    same("another end");
    WordIndexer::new(store).advance(&|| false).unwrap();
    let (with, without) = same("another end, known");
    assert!(with < without, "{with} of {without}");
    // Closed: its file is that which is made without knowing anything.
    drop(commits);
    let mut commits = Commits::new(store, 1);
    commits.add(2, &mut random);
    assert!(WordIndexer::new(store).advance(&|| false).unwrap() > 0);
    let made: Vec<_> =
        files(store, "words").iter().map(|path| std::fs::read(path).unwrap()).collect();
    let numbers = files(store, "open-words").len();
    assert_eq!(numbers, 1, "that of the newest");
    files(store, "words").iter().for_each(|path| std::fs::remove_file(path).unwrap());
    WordIndexer::new(store).advance(&|| false).unwrap();
    let again: Vec<_> =
        files(store, "words").iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!(made, again);
}

/// Files of an older version rule nothing out, and are made again.
#[test]
fn files_of_another_version_are_made_again() {
    let mut random = Random::from_seed(8);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    make(store, 40, &mut random);
    WordIndexer::new(store).advance(&|| false).unwrap();
    let filter = Filter { words: vec!["disk".to_owned()], ..Filter::default() };
    let wanted = found(store, &filter);
    let paths = [files(store, "words"), files(store, "open-words")].concat();
    let read = || paths.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>();
    let made = read();
    for (path, bytes) in paths.iter().zip(&made) {
        let mut bytes = bytes.clone();
        bytes[8] = 1;
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(found(store, &filter).0, wanted.0);
    WordIndexer::new(store).advance(&|| false).unwrap();
    assert!(read() == made);
}

/// Records about clocks have no logger, so a search by logger passes over their blocks; a notice of dropped
/// records without a context may be about any.
#[test]
fn records_without_a_logger_are_of_none() {
    for (kind, is_read) in [(kind::CALIBRATION, false), (kind::DROPPED, true)] {
        let folder = tempfile::tempdir().unwrap();
        let mut commits = Commits::new(folder.path(), 1 << 20);
        let mut batch = commits.batch(&mut Random::from_seed(3));
        let part = &mut batch.records[0];
        let mut head = record(LogLevel::Info, "", part.next, START_NS);
        (part.next, part.count) = (part.next + 1, part.count + 1);
        head[2] = kind;
        head[16..24].fill(0);
        part.body.extend_from_slice(&head);
        commits.store.write(&batch, START_NS).unwrap();
        WordIndexer::new(folder.path()).advance(&|| false).unwrap();
        let other = Filter { logger: "other".to_owned(), ..Filter::default() };
        let (records, looked) = found(folder.path(), &other);
        assert_eq!((records.len(), looked > 0), (usize::from(is_read), is_read));
    }
}

#[test]
fn a_word_is_a_word() {
    assert_eq!(word("Disk_7").as_deref(), Ok("disk_7"));
    for bad in ["", "a b", "a.", &"x".repeat(65)] {
        assert!(word(bad).unwrap_err().contains("letters, digits"), "{bad}");
    }
}

/// Where records have few bytes, the files of words have more than the segments.
#[test]
fn a_store_keeps_to_its_size_with_its_files_of_words() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut commits = Commits::new(folder, 8_000);
    commits.add(70, &mut Random::from_seed(9));
    WordIndexer::new(folder).advance(&|| false).unwrap();
    let bytes = |endings: &[&str]| -> u64 {
        let all = endings.iter().flat_map(|ending| files(folder, ending));
        all.map(|path| path.metadata().unwrap().len()).sum()
    };
    let (segments, all) = (bytes(&["logs"]), bytes(&["logs", "words", "open-words"]));
    assert!(segments < all);
    let keep = |bytes_max| {
        let retention = Retention { bytes_max: Some(bytes_max), age_ns_max: None };
        commits.store.retain(&retention, START_NS).unwrap().len()
    };
    assert_eq!(keep(all), 0);
    assert!(keep(segments) > 0);
    assert!(bytes(&["logs", "words", "open-words"]) <= segments);
    assert_eq!(files(folder, "words").len() + 1, files(folder, "logs").len());
}
