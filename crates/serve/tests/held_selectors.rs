//! A storage that holds what selectors found answers as one that reads all of it each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use alert::{AlertSurroundings, default_rules};
use calendar::CivilZone;
use promql::{QueryBudget, QueryLimits, SeriesStorage as _, selector};
use recording::{Writer, WriterOptions};
use sample::{Cadence, Field, Meta, Sample, Snapshot, SourceDef, State, Unit};
use serve::RecordingStorage;
use testkit::Random;

const START_S: u64 = 1_700_000_000;

/// A recorder that reads once in so many seconds.
struct Recorder {
    writer: Writer,
    snapshot: Snapshot,
}

impl Recorder {
    fn new(path: &Path, defs: &[Arc<SourceDef>], at_s: u64, interval_s: u64) -> Self {
        let mut meta = Meta::new();
        meta.set("host", "one");
        meta.set("boot_id", "1");
        meta.set("started_ns", (at_s * 1_000_000_000).to_string());
        for interval in ["interval_ns", "interval2_ns", "interval3_ns"] {
            meta.set(interval, (interval_s * 1_000_000_000).to_string());
        }
        // Blocks are closed often.
        let options = WriterOptions { block_samples: 9, ..WriterOptions::default() };
        let writer = Writer::create(path, &meta, defs, options).unwrap();
        Recorder { writer, snapshot: Snapshot::new(defs) }
    }

    /// Records a tick: `fill` says whether a source is read, and fills it.
    fn record(&mut self, at_s: u64, fill: &mut dyn FnMut(usize, &mut Sample) -> bool) {
        let snapshot = &mut self.snapshot;
        snapshot.monotonic_ns = (at_s - START_S + 1) * 1_000_000_000;
        snapshot.realtime_ns = (at_s * 1_000_000_000).cast_signed();
        for (index, sample) in snapshot.samples.iter_mut().enumerate() {
            sample.monotonic_ns = snapshot.monotonic_ns;
            sample.realtime_ns = snapshot.realtime_ns;
            sample.state = State::Ok;
            sample.table.begin();
            snapshot.fresh[index] = fill(index, sample);
        }
        self.writer.append(snapshot).unwrap();
    }
}

/// What a selector finds, by labels: times and the bits of values.
fn found(
    storage: &RecordingStorage,
    text: &str,
    (from_ms, to_ms): (i64, i64),
) -> BTreeMap<String, Vec<(i64, u64)>> {
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let series = storage.select(&selector(text).unwrap(), from_ms, to_ms, &budget).unwrap();
    let points = |series: &promql::Series| {
        series.samples.iter().map(|point| (point.time_ms, point.value.to_bits())).collect()
    };
    series.iter().map(|series| (format!("{:?}", series.labels), points(series))).collect()
}

#[test]
fn rows_that_come_and_go_blocks_and_recordings_change_no_series() {
    let folder = tempfile::tempdir().unwrap();
    let def = |name: &'static str| {
        Arc::new(SourceDef {
            name: name.into(),
            about: "A source".into(),
            instance: vec!["device".into()].into(),
            fields: vec![
                Field::gauge("depth", Unit::Count, "A level"),
                Field::counter("reads", Unit::Count, "A counter"),
                Field::text("mode", "A text"),
            ]
            .into(),
            ..SourceDef::EMPTY
        })
    };
    let defs = [def("quick"), def("slow")];
    let mut recorder = Recorder::new(&folder.path().join("a.whit"), &defs, START_S, 1);
    let mut random = Random::from_seed(24);
    let mut held: Option<RecordingStorage> = None;
    let (mut compared, mut ends) = (0, 0);
    for second in 0..240 {
        let at_s = START_S + second;
        if second == 150 {
            let next = Recorder::new(&folder.path().join("b.whit"), &defs, at_s, 1);
            std::mem::replace(&mut recorder, next).writer.close().unwrap();
        }
        recorder.record(at_s, &mut |source, sample| {
            let there = random.below(8);
            for (place, device) in [b"a", b"b", b"c"].into_iter().enumerate() {
                if there >> place & 1 == 1 {
                    continue;
                }
                let mut row = sample.table.row(device);
                row.set(1, second);
                if random.below(6) > 0 {
                    row.set(0, random.below(9));
                }
                row.set_text(2, [b"on", b"no"][usize::from(random.below(20) == 0)]);
            }
            source == 0 || second % 4 == 0
        });
        if random.below(3) > 0 {
            continue;
        }
        let open = || RecordingStorage::open(&[folder.path().to_owned()]).unwrap().0;
        let held = held.get_or_insert_with(|| open().holding());
        let spans = open().recordings().unwrap().recorded_spans().collect::<Vec<_>>();
        assert_eq!(spans.last().unwrap().thru_ns, None, "the recorder writes it");
        testkit::wait_until("the recordings", || {
            held.recordings().unwrap().recorded_spans().eq(spans.iter().cloned())
        });
        if second % 40 > 30 {
            assert!(open().recordings().unwrap().write_side_files().is_empty());
        }
        // Now and then the end is an earlier one.
        let end_s = at_s - if random.below(9) == 0 { 3 } else { 0 };
        let to_ms = (end_s * 1000).cast_signed();
        for text in
            ["whit_quick_depth", "whit_slow_reads_total", "{device=\"b\"}", "whit_quick_info", "x"]
        {
            for length_ms in [60_000, 7_000] {
                let period = (to_ms - length_ms, to_ms);
                let all = found(&open(), text, period);
                assert_eq!(found(held, text, period), all, "{text} {period:?} at {second}");
                let points = || all.values().flatten();
                compared += points().count();
                ends +=
                    points().filter(|(_, bits)| *bits == promql::stale_mark().to_bits()).count();
            }
        }
    }
    assert!(compared > 10_000 && ends > 500, "{compared} {ends}");
}

#[test]
fn the_rule_about_full_disks_says_the_same_at_each_step() {
    const MINUTES: u64 = 9 * 60;
    const GIB: u64 = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.whit");
    let known = source::definitions();
    let def = known.iter().find(|def| def.name == "filesystem").unwrap().clone();
    assert!(def.cadence == Cadence::Third);
    let fields = ["size", "available", "kind", "device"].map(|field| def.field(field).unwrap());
    let mut recorder = Recorder::new(&path, &[def], START_S, 60);
    for minute in 0..MINUTES {
        recorder.record(START_S + 60 * minute, &mut |_, sample| {
            for (at, mount) in ["/", "/var"].iter().enumerate() {
                // The second one fills from the seventh hour on, and is emptied in the ninth.
                let taken = match (at, minute) {
                    (1, 420..510) => (minute - 420) * GIB / 4,
                    _ => 0,
                };
                let mut row = sample.table.row(mount.as_bytes());
                row.set(fields[0], 100 * GIB);
                row.set(fields[1], 40 * GIB - taken - minute % 3);
                row.set_text(fields[2], b"ext4");
                row.set_text(fields[3], b"vda");
            }
            true
        });
    }
    recorder.writer.close().unwrap();
    let mut rules = default_rules();
    rules.retain(|rule| rule.name == "disk full in 24 h");
    assert_eq!(rules.len(), 1);
    let open = || RecordingStorage::open(std::slice::from_ref(&path)).unwrap().0;
    let ms = |minute: u64| ((START_S + 60 * minute) * 1000).cast_signed() + 7;
    let said = |storage: &RecordingStorage| {
        let zone = CivilZone::utc();
        let around = AlertSurroundings::of(storage, &zone);
        alert::replay(rules.clone(), (ms(415), ms(MINUTES - 1), 120_000), &around).unwrap()
    };
    let all = said(&open());
    assert_eq!(all["alerts"][0]["labels"]["mountpoint"], "/var", "{all}");
    assert_eq!(said(&open().holding()), all);
}
