//! Files and bytes that a hostile process may have written: no panic, no signal, no endless loop,
//! and what was sound before is found.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use logring::abi::{self, kind, process, ring};
use logring::{
    ArgumentType, Batch, Dictionary, Error, LogValue, ProcessFile, RecordIterator, RingMark,
    RingReader, Tier, encode_entry,
};
use proptest::prelude::*;

const CAPACITY: usize = 8192;

/// A record of one number.
fn record(sequence: u32, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let word = abi::word0(32, kind::LOG, 4) | u64::from(sequence) << 32;
    bytes.extend(word.to_le_bytes());
    bytes.extend(7u64.to_le_bytes());
    bytes.extend([1, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend(value.to_le_bytes());
    bytes
}

/// A ring with records of one number each.
fn ring_file(folder: &Path, count: u32) -> (PathBuf, Vec<u8>) {
    let mut bytes = vec![0; ring::DATA + CAPACITY];
    bytes[..8].copy_from_slice(&abi::RING_MAGIC);
    bytes[ring::VERSION] = 1;
    bytes[ring::CAPACITY..ring::CAPACITY + 8].copy_from_slice(&(CAPACITY as u64).to_le_bytes());
    let written = u64::from(count) * 32;
    bytes[ring::WRITE_POSITION..ring::WRITE_POSITION + 8].copy_from_slice(&written.to_le_bytes());
    for sequence in 0..count {
        let at = ring::DATA + sequence as usize * 32;
        bytes[at..at + 32].copy_from_slice(&record(sequence, u64::from(sequence) * 3));
    }
    let path = folder.join("1-2-3.ring");
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// Reads until nothing comes any more; gives the sequence numbers.
fn read_all(reader: &mut RingReader) -> Vec<u64> {
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    for _ in 0..100 {
        reader.read(&mut batch, 1).unwrap();
        if batch.is_empty() {
            return found;
        }
        found.extend(batch.records().map(|record| record.unwrap().sequence));
    }
    panic!("reading does not end");
}

#[test]
fn what_was_written_is_read_and_the_mark_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = ring_file(folder.path(), 10);
    let mut reader = RingReader::open(&path).unwrap();
    let mut batch = Batch::default();
    reader.read(&mut batch, 1).unwrap();
    assert_eq!((batch.count(), batch.fault()), (10, None));
    let third = batch.records().nth(3).unwrap().unwrap();
    let arguments = third.arguments(&[ArgumentType::Unsigned]).unwrap();
    assert_eq!(arguments.as_slice(), [LogValue::Unsigned(9)]);
    assert_eq!((third.sequence, third.site, third.context, third.stamp), (3, 1, 2, 7));
    reader.commit(Tier::Read, RingMark { position: 96, sequence: 3 }).unwrap();
    let mut again = RingReader::open(&path).unwrap();
    assert_eq!(read_all(&mut again), (3..10).collect::<Vec<u64>>());
    assert_eq!(reader.mark(Tier::Read).unwrap().unwrap().sequence, 3);
    let carried = Batch::from_payload(batch.payload().to_vec(), 0).unwrap();
    assert_eq!(carried.count(), 10);
    let cut = batch.payload()[..60].to_vec();
    assert!(Batch::from_payload(cut, 0).is_err());
}

#[test]
fn other_files_and_later_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut bytes) = ring_file(folder.path(), 1);
    assert!(matches!(ProcessFile::open(&path), Err(Error::Magic { .. })));
    bytes[ring::VERSION] = 2;
    std::fs::write(&path, &bytes).unwrap();
    let said = RingReader::open(&path).unwrap_err().to_string();
    assert!(said.contains("version 2") && said.contains("newer whit"), "{said}");
    bytes[ring::VERSION] = 1;
    for capacity in [0u64, 1, 4095, 5000, 1 << 31, u64::MAX] {
        bytes[ring::CAPACITY..ring::CAPACITY + 8].copy_from_slice(&capacity.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(RingReader::open(&path), Err(Error::Field { .. })));
    }
    assert!(RingReader::open(folder.path()).is_err());
    let link = folder.path().join("link.ring");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(RingReader::open(&link).is_err());
}

#[test]
fn a_file_that_is_cut_under_its_reader_gives_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = ring_file(folder.path(), 100);
    let mut reader = RingReader::open(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let mut batch = Batch::default();
    for length in [ring::DATA + 64, ring::DATA, 300, 0] {
        file.set_len(length as u64).unwrap();
        assert!(reader.read(&mut batch, 1).is_err(), "{length}");
        let mark = RingMark { position: 8, sequence: 1 };
        let committed = reader.commit(Tier::Read, mark);
        assert_eq!(committed.is_ok(), length >= 4096, "{length}");
    }
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn positions_that_contradict_are_a_fault_and_reading_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = ring_file(folder.path(), 100);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let set = |at: usize, value: u64| file.write_all_at(&value.to_le_bytes(), at as u64).unwrap();
    for (written, oldest) in
        [(u64::MAX, 0), (3, 0), (1 << 40, 8), (3200, 5), (CAPACITY as u64 + 8, 0)]
    {
        let mut reader = RingReader::open(&path).unwrap();
        set(ring::WRITE_POSITION, written);
        set(ring::OLDEST_POSITION, oldest);
        let mut batch = Batch::default();
        reader.read(&mut batch, 1).unwrap();
        assert!(batch.fault().is_some() && batch.count() == 0, "{written} {oldest}");
        // The next batch begins where the writer was.
        set(ring::OLDEST_POSITION, 0);
        reader.read(&mut batch, 1).unwrap();
        assert!(batch.is_empty(), "{written}");
    }
    set(ring::WRITE_POSITION, 3200);
    let mut reader = RingReader::open(&path).unwrap();
    // Half a ring was overwritten before the reader came.
    set(ring::OLDEST_POSITION, 1600);
    assert_eq!(read_all(&mut reader), (50..100).collect::<Vec<u64>>());
}

/// A process file without entries.
fn process_bytes() -> Vec<u8> {
    let mut bytes = vec![0; process::DICTIONARY + 4096];
    bytes[..8].copy_from_slice(&abi::PROCESS_MAGIC);
    bytes[process::VERSION] = 1;
    bytes
}

#[test]
fn a_process_file_is_read_and_its_levels_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1-2.process");
    let mut bytes = process_bytes();
    bytes[process::HOST_NAME..process::HOST_NAME + 4].copy_from_slice(b"host");
    bytes[process::LOGGER_COUNT] = 2;
    bytes[process::LOGGERS + 3] = 255;
    let mut site = vec![0; 24];
    site[..8].copy_from_slice(&[9, 0, 0, 0, 4, 1, 1, 0]);
    site[8] = 1;
    site[16] = 2;
    site.extend(b"\x01f{}");
    let entry = encode_entry(1, 1, &site);
    bytes[process::DICTIONARY..process::DICTIONARY + entry.len()].copy_from_slice(&entry);
    bytes[process::DICTIONARY_LENGTH..process::DICTIONARY_LENGTH + 8]
        .copy_from_slice(&(entry.len() as u64).to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let mut file = ProcessFile::open(&path).unwrap();
    assert_eq!(file.header().host_name, "host");
    let read = file.dictionary().site(1).unwrap();
    assert_eq!((read.file.as_str(), read.format.as_str(), read.line), ("f", "{}", 9));
    assert_eq!(file.loggers().unwrap().len(), 2);
    file.set_levels(1, 6, 4).unwrap();
    let second = file.loggers().unwrap()[1].clone();
    assert_eq!((second.level, second.level_central, second.level_local), (4, 6, 4));
    assert!(file.set_levels(2, 1, 1).is_err());
    assert!(file.claim().unwrap());
    assert!(!ProcessFile::open(&path).unwrap().claim().unwrap());
    file.calibrate(file.clocks_now()).unwrap();
    let other = ProcessFile::open(&path).unwrap();
    assert_eq!(other.calibration().pairs(), file.calibration().pairs());
    assert_eq!(other.calibration().pairs().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_iterated(bytes in prop::collection::vec(any::<u8>(), 0..600), first: u64) {
        let types = [ArgumentType::Text, ArgumentType::Float, ArgumentType::Bytes];
        for record in RecordIterator::new(&bytes, first).flatten() {
            if let Ok(arguments) = record.arguments(&types) {
                let _ = (arguments.as_slice().len(), arguments.attributes.count());
            }
            let _ = record.notice();
        }
        let _ = Batch::from_payload(bytes.clone(), first);
        let _ = Dictionary::default().add(&bytes);
    }

    #[test]
    fn any_damage_to_a_ring_leaves_the_records_before_it(
        changes in prop::collection::vec((0usize..ring::DATA + 3200, any::<u8>()), 1..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut bytes) = ring_file(folder.path(), 100);
        for (at, value) in &changes {
            bytes[*at] = *value;
        }
        std::fs::write(&path, &bytes).unwrap();
        let Ok(mut reader) = RingReader::open(&path) else { return Ok(()) };
        let found = read_all(&mut reader);
        let first = changes.iter().map(|(at, _)| *at).min().unwrap_or(0);
        if first >= ring::DATA {
            let sound = (first - ring::DATA) / 32;
            prop_assert!(found.len() >= sound);
            prop_assert!(found[..sound].iter().copied().eq(0..sound as u64));
        }
    }

    #[test]
    fn any_dictionary_entry_is_read_or_refused(
        kind in 0u16..5, payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut dictionary = Dictionary::default();
        let entry = encode_entry(1, kind, &payload);
        if let Ok(length) = dictionary.add(&entry) {
            prop_assert_eq!(length, entry.len());
            prop_assert_eq!(dictionary.count(), 1);
        }
        let mut cut = Dictionary::default();
        prop_assert_eq!(cut.add(&entry[..entry.len() - 1]).unwrap_or(0), 0);
    }
}
