//! Recordings as files: locks, growth, time, slices, names.

use recording::{
    Compression, Error, Interference, ReadOutcome, Reader, Writer, WriterOptions, extract,
};
use sample::{Cadence, Field, Snapshot, SourceDef, Unit};
use std::sync::Arc;
use std::sync::LazyLock;

use crate::recording::support::{
    DEFS, Memory, assert_same, difference, machine, memory_writer, meta, read_all, reader, recorded,
};

fn options(block_samples: u32) -> WriterOptions {
    WriterOptions { block_samples, ..WriterOptions::default() }
}

#[test]
fn the_second_recorder_is_refused_with_the_first_ones_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.whit");
    let create = || Writer::create(&path, &meta(), &DEFS, options(50));
    let first = create().unwrap();
    let ours = std::process::id();
    let refused = create().err().unwrap();
    assert!(matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == ours));
    let text = format!("{}: process {ours} is already recording to it", path.display());
    assert_eq!(refused.to_string(), text);
    let refused = Writer::resume(&path, &DEFS, options(50)).err().unwrap();
    assert!(matches!(refused, Error::Locked { .. }));
    let reader = Reader::open(&path, &DEFS).unwrap();
    assert!(reader.is_being_written());
    assert_eq!(reader.writer_pid(), Some(ours));
    drop(first);
    // A process that another test starts has the lock, too, until it becomes another program.
    testkit::wait_until("nobody writes it", || !reader.is_being_written());
    // What is there stays there.
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(matches!(create().err().unwrap(), Error::Exists { .. }));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    // An empty file holds nothing to lose.
    let empty = folder.path().join("empty.whit");
    std::fs::write(&empty, b"").unwrap();
    assert!(Writer::create(&empty, &meta(), &DEFS, options(50)).is_ok());
    let missing = folder.path().join("no").join("such.whit");
    assert!(matches!(
        Writer::create(&missing, &meta(), &DEFS, options(50)).err().unwrap(),
        Error::Io { .. }
    ));
}

#[test]
fn a_file_that_is_cut_between_two_looks_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let samples = machine(9, 3);
    // Cut within the last sample, within the block, and at its start.
    for (index, keep) in [-1_i64, -300, i64::MIN].into_iter().enumerate() {
        let path = folder.path().join(format!("{index}.whit"));
        let mut writer = Writer::create(&path, &meta(), &DEFS, options(50)).unwrap();
        let head = std::fs::metadata(&path).unwrap().len();
        for sample in &samples[..4] {
            writer.append(sample).unwrap();
        }
        assert_eq!(writer.interference(true), None);
        for sample in &samples[4..8] {
            writer.append(sample).unwrap();
        }
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        let cut = length.saturating_add_signed(keep).max(head - 1);
        file.set_len(cut).unwrap();
        writer.append(&samples[8]).unwrap();
        assert!(file.metadata().unwrap().len() > length, "the sample made the file long again");
        assert_eq!(writer.interference(true), Some(Interference::Truncated), "{cut} of {length}");
    }
}

#[test]
fn a_reader_follows_a_growing_file() {
    for compression in [Compression::Zstd(1), Compression::FramesOnly] {
        let samples = machine(200, 31);
        let memory = Memory::default();
        let options = WriterOptions { compression, ..options(23) };
        let mut writer = memory_writer(&memory, options);
        let store = Box::new(memory.clone());
        let mut reader = Reader::with_store(store, std::path::Path::new("memory"), &DEFS).unwrap();
        let mut snapshot = Snapshot::new(&DEFS);
        let mut read = 0;
        for (index, sample) in samples.iter().enumerate() {
            writer.append(sample).unwrap();
            // Sometimes at once, sometimes after a block or two have been closed.
            if index % 3 != 0 && !(60..115).contains(&index) {
                while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
                    let different = difference(&DEFS, &samples[read], &snapshot);
                    assert!(different.is_none(), "sample {read}: {different:?}");
                    assert!(snapshot.gap.is_none());
                    read += 1;
                }
                assert_eq!(read, index + 1);
            }
        }
        writer.close().unwrap();
        assert_eq!(reader.next(&mut snapshot).unwrap(), ReadOutcome::End);
        assert_eq!(read, 200);
        assert!(reader.damage().is_none(), "{:?}", reader.damage());
        assert!(!reader.damage().not_closed);
    }
}

#[test]
fn any_time_is_found() {
    let samples = machine(1_000, 32);
    let closed = recorded(&samples, options(64));
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, options(64));
    for sample in &samples {
        writer.append(sample).unwrap();
    }
    for bytes in [closed, memory.bytes()] {
        let mut reader = reader(bytes);
        let start = samples[0].realtime_ns;
        let second = 1_000_000_000;
        for (time, first) in [
            (i64::MIN, 0),
            (start, 0),
            (start + 1, 1),
            (start + 63 * second, 63),
            (start + 64 * second, 64),
            (start + 500 * second - 1, 500),
            (start + 999 * second, 999),
            (start + 200 * second, 200),
        ] {
            reader.seek(time);
            let (read, _) = read_all(&mut reader);
            assert_same(&samples[first..], &read);
            assert!(read[0].gap.is_none());
        }
        reader.seek(start + 1_000 * second);
        assert!(read_all(&mut reader).0.is_empty());
        reader.seek(i64::MIN);
        assert_same(&samples, &read_all(&mut reader).0);
        assert!(reader.damage().is_none());
    }
}

#[test]
fn a_slice_becomes_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.whit"), folder.path().join("b.whit"));
    let samples = machine(300, 33);
    std::fs::write(&from, recorded(&samples, options(40))).unwrap();
    let (first, last) = (samples[77].realtime_ns, samples[222].realtime_ns);
    let extracted = extract(&from, &to, first, last, options(40)).unwrap();
    assert_eq!(extracted.samples, 146);
    let mut reader = Reader::open(&to, &DEFS).unwrap();
    assert_eq!(reader.meta().host(), "testhost");
    assert_same(&samples[77..=222], &read_all(&mut reader).0);
    // Nothing in the slice, nothing made; a file that is there stays.
    let none = folder.path().join("none.whit");
    assert_eq!(extract(&from, &none, 5, 9, options(40)).unwrap().samples, 0);
    assert!(!none.exists());
    assert!(matches!(
        extract(&from, &to, first, last, options(40)).unwrap_err(),
        Error::Exists { .. }
    ));
    assert_same(&samples[77..=222], &read_all(&mut Reader::open(&to, &DEFS).unwrap()).0);
}

#[test]
fn sources_and_fields_are_found_by_name() {
    static OTHER: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
        Arc::new(SourceDef {
            name: "many".into(),
            about: "Another build's".into(),
            letters: "d".into(),
            instance: vec!["device".into()].into(),
            fields: vec![
                Field::gauge("new", Unit::Count, "Not in the recording"),
                Field::gauge("temperature", Unit::Millicelsius, "Moved"),
                Field::counter("model", Unit::Count, "Was a text"),
                Field::counter("reads", Unit::Count, "Moved"),
            ]
            .into(),
            cadence: Cadence::First,
        })
    });
    let samples = machine(5, 34);
    let bytes = recorded(&samples, options(40));
    let path = std::path::Path::new("memory");
    let mut reader =
        Reader::with_store(Box::new(bytes), path, std::slice::from_ref(&*OTHER)).unwrap();
    let defs = reader.defs();
    assert_eq!(defs.iter().map(|def| &*def.name).collect::<Vec<_>>(), ["single", "many", "wide"]);
    assert_eq!(defs[0].fields, DEFS[0].fields);
    let (read, _) = read_all(&mut reader);
    let (old, new) = (&samples[4].samples[1].table, &read[4].samples[1].table);
    for row in 0..4 {
        assert_eq!(new.get(row, 0), None);
        assert_eq!(new.get(row, 1), old.get(row, 2));
        assert_eq!(new.get(row, 2), None);
        assert_eq!(new.get(row, 3), old.get(row, 0));
    }
    assert_eq!(read[4].samples[0].table.get(0, 1), samples[4].samples[0].table.get(0, 1));
}

#[test]
fn kernel_texts_come_back() {
    let samples = machine(50, 35);
    let text = |tick: usize| format!("cpu {} 2 3\nintr {}\n", tick / 2, tick / 2 * 100);
    for compression in [Compression::Zstd(3), Compression::FramesOnly] {
        let memory = Memory::default();
        let mut writer = memory_writer(&memory, WriterOptions { compression, ..options(20) });
        for (tick, sample) in samples.iter().enumerate() {
            let stat = text(tick);
            let both = [
                (b"/proc/stat".as_slice(), stat.as_bytes()),
                (b"/proc/meminfo".as_slice(), b"MemTotal: 5\n".as_slice()),
            ];
            let some = &both[..if tick % 5 == 4 { 0 } else { 1 + tick % 2 }];
            writer.append_with_texts(sample, some.iter().copied()).unwrap();
        }
        for closed in [false, true] {
            if closed {
                let empty = Memory::default();
                std::mem::replace(&mut writer, memory_writer(&empty, options(20))).close().unwrap();
            }
            let mut reader = reader(memory.bytes());
            let mut snapshot = Snapshot::new(&DEFS);
            for tick in 0..50 {
                assert_eq!(reader.next(&mut snapshot).unwrap(), ReadOutcome::Sample);
                let texts: Vec<_> = reader.texts().collect();
                let expected = if tick % 5 == 4 { 0 } else { 1 + tick % 2 };
                assert_eq!(texts.len(), expected, "tick {tick}");
                if expected > 0 {
                    assert_eq!(texts[0], (b"/proc/stat".as_slice(), text(tick).as_bytes()));
                }
            }
        }
    }
}
