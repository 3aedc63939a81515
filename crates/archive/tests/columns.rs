//! Ranges from columns where something happens at the edge of a block or of a segment of the side
//! file, and how much of the files they read.

use archive::{RangeQuery, Recordings};
use recording::{Writer, WriterOptions, side_path};
use sample::{Meta, Snapshot, State};
use testkit::Random;

use crate::decoded::everything;
use crate::machine::{DEFS, SECOND_NS, STARTED_NS};
use crate::ranges::compare;

/// A segment has eight blocks.
const BLOCK_SAMPLES: u64 = 5;
const SEGMENT_SAMPLES: u64 = 8 * BLOCK_SAMPLES;

/// What happens at one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Nothing,
    /// The counters begin again.
    Reset,
    /// The recorder was started again.
    Restart,
    /// A disk is there from then on, or not for one sample, or no more.
    Plugged,
    Away,
    Unplugged,
    /// A value is missing, a reading fails, or there is none.
    Missing,
    Failed,
    Skipped,
    /// The wall clock is set back.
    SetBack,
}

const EVENTS: [Event; 10] = [
    Event::Nothing,
    Event::Reset,
    Event::Restart,
    Event::Plugged,
    Event::Away,
    Event::Unplugged,
    Event::Missing,
    Event::Failed,
    Event::Skipped,
    Event::SetBack,
];

/// Takes the sample of a tick of a machine at which something happens at the tick `at`.
fn sample(snapshot: &mut Snapshot, tick: u64, at: u64, event: Event) {
    let is_now = |asked| event == asked && tick == at;
    let set_back_ns = if event == Event::SetBack && tick >= at { 7 * SECOND_NS } else { 0 };
    snapshot.monotonic_ns = (tick + 100) * SECOND_NS + tick * 37 % 1_000;
    snapshot.realtime_ns = STARTED_NS + (snapshot.monotonic_ns - set_back_ns).cast_signed();
    snapshot.restart = is_now(Event::Restart);
    let since = if event == Event::Reset && tick >= at { at } else { 0 };
    for (index, sample) in snapshot.samples.iter_mut().enumerate() {
        snapshot.fresh[index] = index < 2 && !is_now(Event::Skipped);
        sample.monotonic_ns = snapshot.monotonic_ns + 1_000;
        sample.realtime_ns = snapshot.realtime_ns + 1_000;
        sample.state = if is_now(Event::Failed) { State::Failed(5) } else { State::Ok };
        sample.table.begin();
    }
    if is_now(Event::Failed) {
        return;
    }
    let mut row = snapshot.samples[0].table.row(b"");
    if !is_now(Event::Missing) {
        row.set(0, 10 * (tick - since) + tick % 3);
        row.set_signed(1, (tick * 7_919 % 100).cast_signed() - 50);
    }
    for (disk, name) in [(0, b"disk0".as_slice()), (1, b"disk1"), (2, b"disk2")] {
        let is_there = match event {
            Event::Plugged => tick >= at,
            Event::Away => tick != at,
            Event::Unplugged => tick < at,
            _ => true,
        };
        if disk == 1 && !is_there {
            continue;
        }
        let mut row = snapshot.samples[1].table.row(name);
        row.set_text(0, name);
        row.set(1, (tick - since) * disk);
        if disk != 1 || !is_now(Event::Missing) {
            row.set_signed(2, (tick / 10).cast_signed());
        }
    }
}

fn record(folder: &std::path::Path, samples: u64, block_samples: u64, event: (u64, Event)) {
    let path = folder.join("edges.whit");
    let mut meta = Meta::new();
    meta.set("host", "edges");
    meta.set("interval_ns", SECOND_NS.to_string());
    meta.set("started_ns", (STARTED_NS + 100 * SECOND_NS.cast_signed()).to_string());
    let options = WriterOptions { block_samples: block_samples as u32, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, &meta, &DEFS, options).unwrap();
    let mut snapshot = Snapshot::new(&DEFS);
    for tick in 0..samples {
        sample(&mut snapshot, tick, event.0, event.1);
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn ranges_over_the_edges_of_blocks_and_segments_are_what_every_sample_gives() {
    let mut random = Random::from_seed(testkit::seed(71));
    let mut count = 0;
    let edges = [BLOCK_SAMPLES, SEGMENT_SAMPLES, 2 * SEGMENT_SAMPLES];
    for (event, edge) in EVENTS.iter().flat_map(|event| edges.map(|edge| (event, edge))) {
        for at in edge - 1..=edge + 1 {
            let folder = tempfile::tempdir().unwrap();
            record(folder.path(), 2 * SEGMENT_SAMPLES + 9, BLOCK_SAMPLES, (at, *event));
            let recordings = Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now());
            let recordings = recordings.unwrap();
            assert!(recordings.write_side_files().is_empty());
            for source in
                everything(folder.path()).iter().filter(|source| source.def.name != "slow")
            {
                let event_ns = STARTED_NS + ((at + 100) * SECOND_NS).cast_signed();
                // Steps that are no multiple of the interval, from any time on.
                for step_ns in [SECOND_NS, 1_370_000_000, 13_333_333_333] {
                    let before_ns = random.below(20 * SECOND_NS).cast_signed();
                    let query = RangeQuery {
                        host: source.host.clone(),
                        source: source.def.name.to_string(),
                        fields: match &*source.def.name {
                            "whole" => vec!["level".into(), "ticks".into()],
                            _ => vec!["reads".into(), "heat".into()],
                        },
                        from_ns: event_ns - before_ns,
                        thru_ns: event_ns + random.below(20 * SECOND_NS).cast_signed() + 1,
                        step_ns: step_ns.cast_signed(),
                        ..RangeQuery::default()
                    };
                    count += compare(&recordings, source, &query);
                }
            }
        }
    }
    assert!(count > 2_000, "{count}");
}

/// Bytes that this thread has read; `None` on kernels that do not count them.
fn read_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

#[test]
fn a_range_of_one_field_reads_little_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 4_000, 100, (0, Event::Nothing));
    let recordings = Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let from_ns = STARTED_NS + 100 * SECOND_NS.cast_signed();
    let query = RangeQuery {
        host: "edges".into(),
        source: "disks".into(),
        fields: vec!["heat".into()],
        from_ns,
        thru_ns: from_ns + 3_999 * SECOND_NS.cast_signed(),
        step_ns: 4_100_000_000,
        ..RangeQuery::default()
    };
    let Some(begun) = read_bytes() else {
        testkit::skip("bytes read by a range", "this kernel does not count them");
        return;
    };
    let own_bytes = read_bytes().unwrap() - begun;
    let cost = || {
        let before = read_bytes().unwrap();
        let answer = recordings.range(&query).unwrap();
        (answer.series, read_bytes().unwrap() - before - own_bytes)
    };
    let (without, whole_bytes) = cost();
    assert!(recordings.write_side_files().is_empty());
    let (with, side_bytes) = cost();
    assert_eq!(with, without);
    let path = recordings.path(0).unwrap();
    let length = |path: &std::path::Path| path.metadata().unwrap().len();
    let all_bytes = length(path) + length(&side_path(path));
    assert!(side_bytes * 3 < whole_bytes, "{side_bytes} of {whole_bytes}, {all_bytes} in all");
}
