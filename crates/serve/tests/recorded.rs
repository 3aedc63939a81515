//! Recordings of real readings at made-up times: a sample a second, as fast as the files are read.

use std::path::Path;

use feed::{Feed, LiveFeed};
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot};
use source::SourceContext;
use testkit::Random;

const SECOND_NS: i64 = 1_000_000_000;

/// When the first recording begins, since the epoch.
pub(crate) const STARTED_S: i64 = 1_790_000_000;

/// Files that continue each other, and samples of each.
pub(crate) const FILES: i64 = 3;
pub(crate) const SAMPLES: i64 = 200;

/// Records what `sources` say below a root; the last recording is not closed.  `next` is called
/// before each sample.
pub(crate) fn record(
    folder: &Path,
    root: &Path,
    sources: &[&str],
    next: impl FnMut(i64),
) -> Writer {
    record_files(folder, root, sources, (FILES, SAMPLES), next)
}

/// The same with so many files of so many samples each.
pub(crate) fn record_files(
    folder: &Path,
    root: &Path,
    sources: &[&str],
    (files, samples): (i64, i64),
    mut next: impl FnMut(i64),
) -> Writer {
    let entries: Vec<_> =
        source::ALL.iter().copied().filter(|entry| sources.contains(&entry.name)).collect();
    assert_eq!(entries.len(), sources.len());
    let mut feed = LiveFeed::open(root, &entries, SourceContext::default());
    let mut snapshot = Snapshot::new(&feed.defs());
    let mut random = Random::from_seed(testkit::seed(61));
    let mut number = 0;
    for file in 0.. {
        let mut meta = Meta::new();
        meta.set("host", "vm");
        meta.set("boot_id", "one");
        meta.set("boot_ns", (STARTED_S * SECOND_NS - 1).to_string());
        meta.set("kernel", "6.1.0");
        meta.set("interval_ns", SECOND_NS.to_string());
        meta.set("started_ns", (STARTED_S * SECOND_NS + number * SECOND_NS).to_string());
        let options = WriterOptions { block_samples: 23, ..WriterOptions::default() };
        let path = folder.join(format!("vm-{file}.whit"));
        let mut writer = Writer::create(&path, &meta, &feed.defs(), options).unwrap();
        for _ in 0..samples {
            number += 1;
            next(number);
            assert!(feed.next(&mut snapshot).unwrap());
            let late_ns = random.below(3_000_000).cast_signed();
            let tick_ns = (STARTED_S + number) * SECOND_NS + late_ns;
            let monotonic = |realtime_ns: i64| (realtime_ns - STARTED_S * SECOND_NS) as u64;
            (snapshot.realtime_ns, snapshot.monotonic_ns) = (tick_ns, monotonic(tick_ns));
            for (index, sample) in snapshot.samples.iter_mut().enumerate() {
                sample.realtime_ns = tick_ns + 100_000 * index as i64;
                sample.monotonic_ns = monotonic(sample.realtime_ns);
            }
            writer.append(&snapshot).unwrap();
        }
        if file + 1 == files {
            return writer;
        }
        writer.close().unwrap();
    }
    unreachable!("files are counted")
}
