//! Writing allocates nothing once warm, ends of blocks included.
//!
//! Alone in its binary, because it counts by replacing the allocator.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::LazyLock;

use recording::{Compression, Storage, Writer, WriterOptions};
use sample::{Cadence, Field, Meta, Snapshot, SourceDef, State, Unit};

static DISK: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "disk".into(),
        about: "Disks".into(),
        letters: "dD".into(),
        instance: vec!["disk".into()].into(),
        fields: vec![
            Field::counter("reads", Unit::Count, "Reads"),
            Field::counter("busy", Unit::Milliseconds, "Busy"),
            Field::gauge("queue", Unit::Count, "Queue"),
            Field::text("kind", "Kind"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

/// Takes everything and keeps nothing.
struct Nothing;

impl Storage for Nothing {
    fn write_at(&mut self, bytes: &[u8], _: u64) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fill(snapshot: &mut Snapshot, tick: u64) {
    snapshot.monotonic_ns = tick * 1_000_000_123;
    snapshot.realtime_ns = 5 + (tick * 1_000_000_000).cast_signed();
    snapshot.fresh[0] = true;
    let sample = &mut snapshot.samples[0];
    sample.state = State::Ok;
    sample.monotonic_ns = snapshot.monotonic_ns;
    sample.cost_ns = 9_000 + tick * 7 % 300;
    sample.table.begin();
    for (disk, name) in [b"sda".as_slice(), b"sdb", b"sdc", b"nvme0n1"].into_iter().enumerate() {
        let mut row = sample.table.row(name);
        row.set(0, tick * 17 * disk as u64 % 1_000_003);
        row.set(1, tick * tick % (100 * (disk as u64 + 1)));
        if disk != 2 || tick % 100 != 50 {
            row.set(2, tick % 3);
        }
        row.set_text(3, if disk == 3 { b"nvme" } else { b"scsi" });
    }
}

#[test]
fn nothing_is_allocated_after_ten_samples() {
    for compression in [Compression::Zstd(1), Compression::None, Compression::FramesOnly] {
        let options = WriterOptions { compression, block_samples: 100, ..Default::default() };
        let mut writer = Writer::with_storage(
            Box::new(Nothing),
            Path::new("x"),
            &Meta::new(),
            std::slice::from_ref(&*DISK),
            options,
        )
        .unwrap();
        let mut snapshot = Snapshot::new(std::slice::from_ref(&*DISK));
        for tick in 0..10 {
            fill(&mut snapshot, tick);
            writer.append(&snapshot).unwrap();
        }
        let (blocks, allocations) = testkit::allocations_of(|| {
            let mut blocks = 0;
            for tick in 10..5_000 {
                fill(&mut snapshot, tick);
                blocks += u32::from(writer.append(&snapshot).unwrap().closed_block);
            }
            blocks
        });
        assert_eq!(blocks, 49);
        assert_eq!(allocations.count, 0, "{compression:?}: {allocations:?}");
    }
}

/// Files kept beside the numbers, one of which always changes and one that comes and goes.
fn texts(tick: u64, stat: &mut Vec<u8>) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    use std::io::Write as _;
    stat.clear();
    for line in 0..40 {
        writeln!(stat, "cpu{line} {:08} 17 {:04}", tick * 7 + line, tick * tick % 9_999).unwrap();
    }
    let all: [(&[u8], &[u8]); 3] =
        [(b"/proc/stat", stat), (b"/proc/version", b"Linux\n"), (b"/sys/fs/cgroup/x", b"17\n")];
    all.into_iter().take(if tick % 7 == 3 { 2 } else { 3 })
}

#[test]
fn keeping_the_kernels_text_allocates_nothing_once_warm() {
    let options = WriterOptions { block_samples: 100, ..Default::default() };
    let (path, meta) = (Path::new("x"), Meta::new());
    let mut writer =
        Writer::with_storage(Box::new(Nothing), path, &meta, std::slice::from_ref(&*DISK), options)
            .unwrap();
    let (mut snapshot, mut stat) = (Snapshot::new(std::slice::from_ref(&*DISK)), Vec::new());
    let mut append = |tick| {
        fill(&mut snapshot, tick);
        writer.append_with_texts(&snapshot, texts(tick, &mut stat)).unwrap().closed_block
    };
    // The end of the first block takes memory for its texts.
    (0..110).for_each(|tick| _ = append(tick));
    let (blocks, allocations) =
        testkit::allocations_of(|| (110..1_000).filter(|&tick| append(tick)).count());
    assert_eq!(blocks, 8);
    assert_eq!(allocations.count, 0, "{allocations:?}");
}
