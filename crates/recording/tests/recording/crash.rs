//! A writer killed at any moment: after every call, and at any length of every write.  Whatever
//! is in the file by then is read, is right, and can be gone on with.

use std::path::Path;

use recording::{Compression, ReadOutcome, Reader, Writer, WriterOptions, repair};
use sample::Snapshot;

use crate::recording::support::{
    DEFS, Memory, Random, Step, apply, assert_same, machine, memory_writer, read_all, reader,
    recorded,
};

const SAMPLES: u64 = 60;

fn options(compression: Compression) -> WriterOptions {
    WriterOptions { compression, block_samples: 13, ..WriterOptions::default() }
}

/// Every way to close a block; the last in slices of a sample or less.
fn all_options() -> [WriterOptions; 4] {
    let [zstd, none, frames] =
        [Compression::Zstd(1), Compression::None, Compression::FramesOnly].map(options);
    [zstd, none, frames, WriterOptions { slice_bytes: 200, ..zstd }]
}

/// A recording's steps, and for each number of steps how many samples were told to be written.
fn log(samples: &[Snapshot], options: WriterOptions) -> (Vec<Step>, Vec<usize>) {
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, options);
    let mut done = vec![0];
    for (index, sample) in samples.iter().enumerate() {
        writer.append(sample).unwrap();
        done.resize(memory.0.lock().unwrap().log.len(), index);
        done.push(index + 1);
    }
    writer.close().unwrap();
    let log = memory.0.lock().unwrap().log.clone();
    done.resize(log.len() + 1, samples.len());
    (log, done)
}

/// Lengths at which to cut a write: a kill cuts at pages, but any cut must do.  The 64 bytes of a
/// header are within one sector and are written whole or not at all.
fn cuts(step: &Step, random: &mut Random) -> Vec<usize> {
    match step {
        Step::Write(data, _) if data.len() > 64 => {
            let length = data.len() as u64;
            let mut cuts = vec![0, 1, 11, 12, 13, 63, 64, 65, data.len() - 1];
            cuts.extend((0..4).map(|_| random.below(length) as usize));
            cuts
        }
        _ => vec![0],
    }
}

#[test]
fn a_kill_takes_no_completed_sample() {
    let samples = machine(SAMPLES, 7);
    let mut random = Random::from_seed(99);
    for options in all_options() {
        let (log, done) = log(&samples, options);
        let mut bytes = Vec::new();
        apply(&mut bytes, &log[0], usize::MAX);
        for (index, step) in log.iter().enumerate().skip(1) {
            for cut in cuts(step, &mut random) {
                let mut torn = bytes.clone();
                apply(&mut torn, step, cut);
                if cut > 0 || matches!(step, Step::Write(..)) {
                    check(&torn, &samples, done[index], &format!("step {index} cut at {cut}"));
                }
            }
            apply(&mut bytes, step, usize::MAX);
            check(&bytes, &samples, done[index + 1], &format!("step {index}"));
        }
    }
}

/// Reads a killed recording, which must have so many samples or the one that was on its way.
fn check(bytes: &[u8], samples: &[Snapshot], done: usize, when: &str) {
    let mut reader = reader(bytes.to_vec());
    let (read, _) = read_all(&mut reader);
    assert!(read.len() == done || read.len() == done + 1, "{when}: {} of {done}", read.len());
    assert_same(&samples[..read.len()], &read);
    let damage = reader.damage();
    assert_eq!((damage.samples_unreadable, damage.bytes_skipped), (0, 0), "{when}: {damage:?}");
}

#[test]
fn a_killed_recording_is_gone_on_with() {
    let [whole, .., sliced] = all_options();
    for options in [whole, sliced] {
        kill_and_go_on(options);
    }
}

fn kill_and_go_on(options: WriterOptions) {
    let samples = machine(SAMPLES, 8);
    let (log, done) = log(&samples, options);
    let mut random = Random::from_seed(5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.whit");
    let mut bytes = Vec::new();
    apply(&mut bytes, &log[0], usize::MAX);
    for (index, step) in log.iter().enumerate().skip(1) {
        for cut in cuts(step, &mut random).into_iter().take(6) {
            let mut torn = bytes.clone();
            apply(&mut torn, step, cut);
            std::fs::write(&path, &torn).unwrap();
            let (mut writer, resumed) = Writer::resume(&path, &DEFS, options).unwrap();
            let begun = resumed.samples as usize;
            assert!(begun == done[index] || begun == done[index] + 1, "step {index} cut at {cut}");
            for sample in &samples[begun..] {
                writer.append(sample).unwrap();
            }
            writer.close().unwrap();
            let mut reader = reader(std::fs::read(&path).unwrap());
            let (read, end) = read_all(&mut reader);
            assert_eq!(end, ReadOutcome::End);
            assert_same(&samples, &read);
            assert!(reader.damage().is_none(), "{:?}", reader.damage());
        }
        apply(&mut bytes, step, usize::MAX);
    }
    // A closed recording as well.
    std::fs::write(&path, &bytes).unwrap();
    let (mut writer, resumed) = Writer::resume(&path, &DEFS, options).unwrap();
    assert!(resumed.was_closed);
    writer.append(&samples[0]).unwrap();
    drop(writer);
    let (read, end) = read_all(&mut reader(std::fs::read(&path).unwrap()));
    assert_eq!((read.len(), end), (SAMPLES as usize + 1, ReadOutcome::NoMoreYet));
    assert_same(&samples, &read[..SAMPLES as usize]);
}

#[test]
fn a_torn_sample_is_accounted_for_and_repaired() {
    let samples = machine(20, 3);
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, WriterOptions::default());
    for sample in &samples {
        writer.append(sample).unwrap();
    }
    drop(writer);
    let mut bytes = memory.bytes();
    bytes.truncate(bytes.len() - 3);
    let mut torn = reader(bytes.clone());
    assert_same(&samples[..19], &read_all(&mut torn).0);
    let damage = torn.damage();
    assert_eq!((damage.samples_torn, damage.samples_unreadable), (1, 0));
    assert!(damage.not_closed);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("torn.whit");
    std::fs::write(&path, &bytes).unwrap();
    let resumed = repair(&path, WriterOptions::default()).unwrap();
    assert_eq!((resumed.samples, resumed.samples_unreadable), (19, 0));
    assert!(resumed.bytes_torn > 0);
    let mut repaired = reader(std::fs::read(&path).unwrap());
    assert_same(&samples[..19], &read_all(&mut repaired).0);
    assert!(repaired.damage().is_none() && !repaired.damage().not_closed);
    assert!(std::fs::metadata(&path).unwrap().len() < 100_000, "the hole is gone");
}

#[test]
fn failed_writes_are_counted_and_the_rest_goes_on() {
    let samples = machine(200, 11);
    // Once in a while a call fails: frames, bodies and headers of blocks among them.
    let [whole, .., sliced] = all_options();
    for (every, options) in [2, 3, 7, 10, 31].into_iter().flat_map(|n| [(n, whole), (n, sliced)]) {
        let memory = Memory::default();
        let mut writer = memory_writer(&memory, options);
        let calls = 2_000;
        memory.0.lock().unwrap().fails = (2..calls).filter(|call| call % every == 0).collect();
        let mut written = Vec::new();
        let (mut lost, mut lost_now) = (0, 0);
        for sample in &samples {
            if writer.append(sample).is_ok() {
                let mut sample = copy(sample);
                sample.gap.samples_unwritten = std::mem::take(&mut lost_now);
                written.push(sample);
            } else {
                lost += 1;
                lost_now += 1;
            }
        }
        memory.0.lock().unwrap().fails.clear();
        writer.close().unwrap();
        let mut reader = reader(memory.bytes());
        let (read, end) = read_all(&mut reader);
        assert_eq!(end, ReadOutcome::End);
        assert!(lost > 0);
        assert_same(&written, &read);
        for (written, read) in written.iter().zip(&read) {
            assert_eq!(written.gap, read.gap);
        }
        let gaps: u64 = read.iter().map(|sample| sample.gap.samples_unwritten).sum();
        assert_eq!(gaps + reader.damage().samples_unwritten, lost);
    }
}

fn copy(sample: &Snapshot) -> Snapshot {
    let mut copy = Snapshot::new(&DEFS);
    copy.monotonic_ns = sample.monotonic_ns;
    copy.realtime_ns = sample.realtime_ns;
    copy.samples.clone_from(&sample.samples);
    copy.fresh.clone_from(&sample.fresh);
    copy
}

#[test]
fn a_full_disk_costs_only_the_samples_that_do_not_fit() {
    let [whole, .., sliced] = all_options();
    for options in [whole, sliced] {
        println!("{} of 300 written", fill_the_disk(options));
    }
}

fn fill_the_disk(options: WriterOptions) -> usize {
    let samples = machine(300, 12);
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, options);
    let mut written = 0;
    for (index, sample) in samples.iter().enumerate() {
        // Space runs out at sample 100, just behind what is written, and returns at 200.
        if index == 100 {
            let mut file = memory.0.lock().unwrap();
            file.space = Some(file.bytes.len() as u64 + 40);
        }
        if index == 200 {
            memory.0.lock().unwrap().space = None;
        }
        match writer.append(sample) {
            Ok(_) => written += 1,
            Err(error) => assert!(error.is_no_space(), "{error}"),
        }
        if index == 150 {
            let read = read_all(&mut reader(memory.bytes())).0;
            assert_same(&samples[..read.len()], &read);
            assert_eq!(read.len(), written);
        }
    }
    writer.close().unwrap();
    let (read, _) = read_all(&mut reader(memory.bytes()));
    assert_eq!(read.len(), written);
    let gap = read.iter().map(|sample| sample.gap.samples_unwritten).max();
    assert_eq!(gap, Some(300 - written as u64));
    written
}

/// Bytes that stand for nothing but the file's random id: with it go all checksums.
fn without_ids(bytes: &[u8]) -> Vec<u8> {
    let mut bodies = Vec::new();
    for header in bytes.chunks_exact(64).filter(|chunk| chunk.starts_with(b"WBLK")) {
        bodies.extend_from_slice(&header[..60]);
    }
    bodies
}

#[test]
fn a_block_closed_in_slices_is_what_it_is_at_once() {
    let samples = machine(200, 13);
    let [whole, .., sliced] = all_options();
    let [at_once, in_slices] = [whole, sliced].map(|options| recorded(&samples, options));
    let [steps_at_once, steps_in_slices] =
        [whole, sliced].map(|options| log(&samples, options).0.len());
    assert!(steps_in_slices > steps_at_once + 3 * 14, "{steps_in_slices} {steps_at_once}");
    // Headers tell lengths and checksums of the bodies.
    assert_eq!(without_ids(&at_once), without_ids(&in_slices));
    assert_eq!(at_once.len(), in_slices.len());
    assert_same(&samples, &read_all(&mut reader(in_slices)).0);
}

#[test]
fn a_reader_follows_a_writer_that_closes_in_slices() {
    let samples = machine(200, 14);
    let [.., sliced] = all_options();
    for lag in 1..40 {
        let memory = Memory::default();
        let mut writer = memory_writer(&memory, sliced);
        writer.append(&samples[0]).unwrap();
        let store = Box::new(memory.clone());
        let mut reader = Reader::with_store(store, Path::new("memory"), &DEFS).unwrap();
        let mut read = Vec::new();
        for (index, sample) in samples.iter().enumerate().skip(1) {
            writer.append(sample).unwrap();
            if index % lag == 0 {
                read.extend(read_all(&mut reader).0);
                assert_eq!(read.len(), index + 1, "lag {lag}");
            } else if index % lag == lag / 2 {
                // In the middle of what there is.
                let mut one = Snapshot::new(&DEFS);
                assert_eq!(reader.next(&mut one).unwrap(), ReadOutcome::Sample);
                read.push(one);
            }
        }
        writer.close().unwrap();
        read.extend(read_all(&mut reader).0);
        assert_same(&samples, &read);
        assert_eq!(reader.damage(), recording::Damage::default(), "lag {lag}");
    }
}
