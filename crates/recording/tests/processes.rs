//! Recordings among real processes and file systems: recorders that are killed, disks that are
//! full.
//!
//! Apart from the other tests, because starting a process shares every descriptor with it for a
//! moment, and those tests look at locks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "shared with the other tests")]
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use recording::{ReadOutcome, Reader, Writer, WriterOptions};
use sample::Snapshot;
use testkit::{Running, own_test};

use crate::recording::support::{
    DEFS, Random, difference, machine, machine_sample, meta, read_all,
};

/// Says to the test that it is to be the recorder, and where.
const FOLDER: &str = "WHIT_TEST_KILLED_IN";

/// Kills of a long run, enough to hit every step now and then; a short one has a tenth.
const KILLS: usize = 100;

fn recorder(folder: &Path) {
    let done = std::fs::File::create(folder.join("done")).unwrap();
    let options = WriterOptions { block_samples: 40, ..WriterOptions::default() };
    let mut writer = Writer::create(&folder.join("killed.whit"), &meta(), &DEFS, options).unwrap();
    let (mut snapshot, mut random) = (Snapshot::new(&DEFS), Random::from_seed(4711));
    for tick in 0.. {
        machine_sample(&mut snapshot, tick, &mut random);
        writer.append(&snapshot).unwrap();
        done.write_all_at(&(tick + 1).to_le_bytes(), 0).unwrap();
    }
}

#[test]
fn a_killed_recorder_leaves_every_sample_it_took() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return recorder(Path::new(&folder));
    }
    let mut random = Random::from_seed(815);
    let mut most = 0;
    for kill in 0..testkit::share(KILLS) {
        let folder = tempfile::tempdir().unwrap();
        let mut command = own_test("processes::a_killed_recorder_leaves_every_sample_it_took");
        let child = Running::start(command.env(FOLDER, folder.path()).stdout(Stdio::null()));
        // Whenever it falls: the time is not what is tested.
        std::thread::sleep(Duration::from_micros(10_000 + random.below(40_000)));
        child.kill();
        let mut done = std::fs::read(folder.path().join("done")).unwrap_or_default();
        done.resize(8, 0);
        let done = u64::from_le_bytes(done.try_into().unwrap());
        let opened = Reader::open(&folder.path().join("killed.whit"), &DEFS);
        if done == 0 && opened.is_err() {
            continue;
        }
        let mut reader = opened.unwrap();
        assert!(!reader.is_being_written(), "the lock died with its holder");
        let (read, _) = read_all(&mut reader);
        let count = read.len() as u64;
        assert!(count == done || count == done + 1, "kill {kill}: {count} of {done}");
        let damage = reader.damage();
        assert_eq!((damage.samples_unreadable, damage.bytes_skipped), (0, 0), "kill {kill}");
        let (mut snapshot, mut random) = (Snapshot::new(&DEFS), Random::from_seed(4711));
        for (tick, read) in (0..).zip(&read) {
            machine_sample(&mut snapshot, tick, &mut random);
            let different = difference(&DEFS, &snapshot, read);
            assert!(different.is_none(), "kill {kill}, sample {tick}: {different:?}");
        }
        most = most.max(count);
    }
    println!("{KILLS} kills, up to {most} samples");
    assert!(most > 100, "the recorder hardly ran: {most}");
}

/// A real full file system, where that can be had.
#[test]
fn a_full_tmpfs() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "none"])
        .arg(folder.path())
        .output()
        .unwrap();
    if !mounted.status.success() {
        return testkit::skip_refused("a full tmpfs", &String::from_utf8_lossy(&mounted.stderr));
    }
    let outcome = std::panic::catch_unwind(|| fill(folder.path()));
    let unmounted = Command::new("umount").arg(folder.path()).status();
    assert!(unmounted.unwrap().success());
    outcome.unwrap();
}

fn fill(folder: &Path) {
    let path = folder.join("full.whit");
    let samples = machine(400, 36);
    let mut writer = Writer::create(
        &path,
        &meta(),
        &DEFS,
        WriterOptions { block_samples: 100, ..WriterOptions::default() },
    )
    .unwrap();
    let mut written = Vec::new();
    let mut filler =
        OpenOptions::new().create(true).append(true).open(folder.join("fill")).unwrap();
    for (index, sample) in samples.iter().enumerate() {
        if index == 150 {
            while filler.write(&[1; 4096]).is_ok_and(|count| count > 0) {}
        }
        if index == 300 {
            std::fs::remove_file(folder.join("fill")).unwrap();
            filler = OpenOptions::new().create(true).append(true).open(folder.join("f2")).unwrap();
        }
        match writer.append(sample) {
            Ok(_) => written.push(index),
            Err(error) => assert!(error.is_no_space(), "{error}"),
        }
    }
    assert!(written.len() < 400 && written.len() > 250, "{} of 400", written.len());
    writer.close().unwrap();
    let mut reader = Reader::open(&path, &DEFS).unwrap();
    let (read, end) = read_all(&mut reader);
    assert_eq!(end, ReadOutcome::End);
    for (index, read) in written.iter().zip(&read) {
        assert!(difference(&DEFS, &samples[*index], read).is_none());
    }
    let gap: u64 = read.iter().map(|sample| sample.gap.samples_unwritten).sum();
    assert_eq!(gap, 400 - written.len() as u64);
    assert!(reader.damage().is_none());
}
