//! Recordings of every version as series: equal to what is written beside them as text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use promql::{QueryBudget, QueryLimits, SeriesStorage as _, is_stale, selector};
use recording::{Writer, WriterOptions};
use sample::{Field, Meta, Snapshot, SourceDef, State, Unit};
use serve::RecordingStorage;

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings")
}

/// The first word of a name: the others of one row are written in another way.
fn first_word(name: &str) -> String {
    name.split(' ').next().unwrap_or_default().to_owned()
}

/// For each row of a source its times and stored integers of a column, by the text.
fn written(text: &str, source: &str, column: usize) -> BTreeMap<String, Vec<(i64, i64)>> {
    let (mut rows, mut time_ms) = (BTreeMap::<_, Vec<_>>::new(), None);
    for line in text.lines().skip_while(|line| !line.starts_with("tick")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(row) = line.strip_prefix("    \"") {
            let (Some(time_ms), Some((name, cells))) = (time_ms, row.split_once("\": ")) else {
                continue;
            };
            // Texts in quotes have one blank in this text.
            let cells = cells.replace("\"Model X\"", "-");
            let cell = cells.split_whitespace().nth(column).unwrap();
            if let Ok(value) = cell.parse::<u64>() {
                rows.entry(first_word(name)).or_default().push((time_ms, value.cast_signed()));
            }
        } else if line.starts_with("  ") {
            let is_read = words[0] == source && words[1] == "Ok";
            time_ms = is_read.then(|| words[3].parse::<i64>().unwrap().div_euclid(1_000_000));
        }
    }
    rows
}

#[test]
fn every_value_of_every_version_is_a_sample() {
    let mut compared = 0;
    for name in ["version-1-closed", "version-1-killed", "version-2-closed", "version-2-killed"] {
        let path = recordings().join(name).with_extension("whit");
        let text = std::fs::read_to_string(path.with_extension("txt")).unwrap();
        let (storage, left_out) = RecordingStorage::open(&[path]).unwrap();
        assert!(left_out.is_empty(), "{left_out:?}");
        for (metric, source, column, scale) in [
            ("whit_single_level", "single", 2, 1.0),
            ("whit_single_bytes_total", "single", 1, 1.0),
            ("whit_many_reads_total", "many", 0, 1.0),
            ("whit_many_temperature_celsius", "many", 2, 1000.0),
            ("whit_wide_wide_3", "wide", 3, 1.0),
        ] {
            let budget = QueryBudget::new(QueryLimits::default(), &|| None);
            let matchers = selector(metric).unwrap();
            let found = storage.select(&matchers, -(1 << 50), 1 << 50, &budget).unwrap();
            let mut ours = BTreeMap::new();
            for series in found {
                assert_eq!(series.labels.get("instance"), "testhost");
                assert_eq!(series.labels.get("job"), "whit");
                let row = ["device", "name"].map(|label| series.labels.get(label)).concat();
                let points = series.samples.iter().filter(|sample| !is_stale(sample.value));
                let points: Vec<(i64, f64)> =
                    points.map(|sample| (sample.time_ms, sample.value)).collect();
                assert!(series.samples.windows(2).all(|pair| pair[0].time_ms < pair[1].time_ms));
                ours.insert(first_word(&row), points);
            }
            let theirs = written(&text, source, column);
            let theirs: BTreeMap<String, Vec<(i64, f64)>> = theirs
                .into_iter()
                .map(|(row, points)| {
                    (
                        row,
                        points.into_iter().map(|(time, raw)| (time, raw as f64 / scale)).collect(),
                    )
                })
                .collect();
            compared += theirs.values().map(Vec::len).sum::<usize>();
            assert_eq!(ours, theirs, "{name} {metric}");
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn a_row_that_goes_ends_and_a_text_that_changes_begins_a_series() {
    let path = recordings().join("version-2-closed.whit");
    let (storage, _) = RecordingStorage::open(&[path]).unwrap();
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let matchers = selector("whit_many_info{device=\"sd0\"}").unwrap();
    let found = storage.select(&matchers, -(1 << 50), 1 << 50, &budget).unwrap();
    let states: Vec<&str> = found.iter().map(|series| series.labels.get("state")).collect();
    assert_eq!(states[..2], ["down", "up"]);
    // A value and its end, at the time of the first value of the other.
    assert!(is_stale(found[0].samples[1].value));
    assert_eq!(found[0].samples[1].time_ms, found[1].samples[0].time_ms);
    // The labels alone.
    let of_end = |from_ms| storage.series(&matchers, from_ms, 1 << 50, &budget).unwrap().len();
    assert_eq!(of_end(-(1 << 50)), found.len());
    assert_eq!(of_end(1 << 49), 0);
}

#[test]
fn what_a_poller_recorded_is_of_its_devices() {
    let folder = tempfile::tempdir().unwrap();
    let counter = |name: &'static str| Field::counter(name, Unit::Count, "A counter");
    let def = Arc::new(SourceDef {
        name: "device_10_0_0_1".into(),
        about: SourceDef::about_device("10.0.0.1").into(),
        fields: vec![counter("eth0_in"), counter("eth0_out")].into(),
        ..SourceDef::EMPTY
    });
    let mut meta = Meta::new();
    meta.set("host", "poller");
    meta.set("started_ns", "1000000000000");
    let (path, defs) = (folder.path().join("poller.whit"), [def]);
    let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    for round in 0..3 {
        let sample = &mut snapshot.samples[0];
        (sample.monotonic_ns, sample.realtime_ns) =
            (1 + round * 60_000_000_000, 1_000_000_000_000 + round as i64 * 60_000_000_000);
        (snapshot.monotonic_ns, snapshot.realtime_ns) = (sample.monotonic_ns, sample.realtime_ns);
        snapshot.fresh[0] = true;
        sample.state = State::Ok;
        sample.table.begin();
        let mut row = sample.table.row(b"");
        row.set(0, 7 * round);
        row.set(1, 9 * round);
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
    let (storage, _) = RecordingStorage::open(&[path]).unwrap();
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let of = |text: &str| {
        let matchers = selector(text).unwrap();
        let found = storage.select(&matchers, 0, 1 << 50, &budget).unwrap();
        let values = found.iter().map(|series| {
            let labels = ["__name__", "instance", "target"].map(|name| series.labels.get(name));
            let values = series.samples.iter().map(|sample| sample.value);
            (labels.join(" "), values.collect::<Vec<f64>>())
        });
        values.collect::<BTreeMap<_, _>>()
    };
    let all = of("{__name__=~\".+\"}");
    let (first, second) =
        ("whit_target_in_total 10.0.0.1 eth0", "whit_target_out_total 10.0.0.1 eth0");
    assert_eq!(all.keys().collect::<Vec<_>>(), [first, second]);
    assert_eq!((&all[first], &all[second]), (&vec![0.0, 7.0, 14.0], &vec![0.0, 9.0, 18.0]));
    assert_eq!(of("whit_target_in_total{target=\"eth0\"}").len(), 1);
    assert!(of("{instance=\"poller\"}").is_empty());
    assert!(of("{target=\"eth1\"}").is_empty());
}

/// All series of a storage, by their labels.
fn all(storage: &RecordingStorage, selector_text: &str) -> BTreeMap<String, Vec<(i64, u64)>> {
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let matchers = selector(selector_text).unwrap();
    let found = storage.select(&matchers, -(1 << 50), 1 << 50, &budget).unwrap();
    let points = |series: &promql::Series| {
        series.samples.iter().map(|point| (point.time_ms, point.value.to_bits())).collect()
    };
    found.iter().map(|series| (format!("{:?}", series.labels), points(series))).collect()
}

#[test]
fn side_files_change_no_series() {
    let (mut series, mut samples) = (0, 0);
    for name in ["version-1-closed", "version-1-killed", "version-2-closed", "version-2-killed"] {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("{name}.whit");
        std::fs::copy(recordings().join(&file), folder.path().join(&file)).unwrap();
        let (storage, _) = RecordingStorage::open(&[folder.path().to_owned()]).unwrap();
        for selector_text in
            ["{__name__=~\".+\"}", "{device=\"sd0\"}", "whit_many_info{state=\"up\"}"]
        {
            std::fs::remove_file(folder.path().join(format!("{file}.columns"))).unwrap_or_default();
            let before = all(&storage, selector_text);
            assert!(storage.recordings().unwrap().write_side_files().is_empty());
            assert_eq!(all(&storage, selector_text), before, "{name} {selector_text}");
            series += before.len();
            samples += before.values().map(Vec::len).sum::<usize>();
        }
    }
    assert!(series > 100 && samples > 10_000, "{series} {samples}");
}

#[test]
fn recordings_of_collectl_are_served() {
    let path = recordings().join("gamma-20260101-100000.raw");
    let (storage, left_out) = RecordingStorage::open(std::slice::from_ref(&path)).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    let markers = text.lines().filter(|line| line.starts_with(">>>")).count();
    let switches: Vec<f64> =
        text.lines().filter_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok()).collect();
    assert!(!switches.is_empty() && switches.len() <= markers, "{markers}");
    let found = all(&storage, "node_context_switches_total");
    let values: Vec<f64> =
        found.values().flatten().map(|(_, bits)| f64::from_bits(*bits)).collect();
    assert_eq!(values, switches);
    assert!(found.keys().all(|labels| labels.contains("gamma")), "{found:?}");
}

#[test]
fn a_recording_that_comes_later_is_served_and_none_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(RecordingStorage::open(&[folder.path().to_owned()]).is_err());
    let copy = |name: &str| {
        let (from, to) = (recordings().join(name), folder.path().join(name));
        std::fs::copy(from, to).unwrap();
    };
    copy("version-2-closed.whit");
    let (storage, _) = RecordingStorage::open(&[folder.path().to_owned()]).unwrap();
    let hosts = || -> Vec<String> {
        let recordings = storage.recordings().unwrap();
        recordings.hosts().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(hosts(), ["testhost"]);
    copy("gamma-20260101-100000.raw");
    testkit::wait_until("the new recording", || hosts() == ["gamma", "testhost"]);
    assert!(!all(&storage, "node_context_switches_total{instance=\"gamma\"}").is_empty());
}
