//! Histories: what round-robin databases tell of the times that no recording has, as `rrdtool fetch`
//! has it; whose they are; and that they are found again at the cost of what has changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use archive::{HistoryValue, RangeAnswer, RangeQuery, Recordings, StepOrigin};
use jiff::Zoned;
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot, SourceDef, State};
use testkit::Random;

use crate::folders::{later, looks};

/// A round time in seconds: a multiple of an hour.
const BEGUN_S: i64 = 1_790_002_800;

const SECOND_NS: i64 = 1_000_000_000;

/// Rows of ten seconds, a minute and ten minutes, with means and largest values of each; the smallest of
/// minutes.
const ARCHIVES: [&str; 6] = [
    "RRA:AVERAGE:0.5:1:180",
    "RRA:AVERAGE:0.5:6:300",
    "RRA:MIN:0.5:6:300",
    "RRA:MAX:0.5:6:300",
    "RRA:AVERAGE:0.5:60:144",
    "RRA:MAX:0.5:60:144",
];

fn open(folder: &Path) -> Recordings {
    Recordings::open(&[folder.to_owned()], &Zoned::now()).unwrap()
}

/// Writes a database with some fields, a reading every ten seconds.
fn write_database(path: &Path, fields: &[&str], readings: &[Vec<Option<f64>>]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let fields: Vec<String> =
        fields.iter().map(|field| format!("DS:{field}:GAUGE:20:U:U")).collect();
    let definitions: Vec<&str> = fields.iter().map(String::as_str).chain(ARCHIVES).collect();
    let options = rrd::create::Options {
        start: Some(BEGUN_S),
        step_seconds: Some(10),
        ..rrd::create::Options::default()
    };
    rrd::create::create(path, &options, &definitions, BEGUN_S).unwrap();
    let mut file = rrd::File::open(path, rrd::Access::Write(rrd::Locking::Try)).unwrap();
    let targets: Vec<usize> = (0..fields.len()).collect();
    let rows: Vec<(i64, Vec<f64>)> = (1..)
        .zip(readings)
        .map(|(row, values)| {
            let values = values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
            (BEGUN_S + 10 * row, values)
        })
        .collect();
    let rows =
        rows.iter().map(|(seconds, values)| (rrd::header::Time::of_seconds(*seconds), &values[..]));
    rrd::update::Updater::default().update_values(&mut file, &targets, rows).unwrap();
}

/// Random readings of two fields, with times in which nothing is known.
fn readings(random: &mut Random, count: usize) -> Vec<Vec<Option<f64>>> {
    let mut unknown = 0;
    let reading = |_| {
        if random.below(60) == 0 {
            unknown = random.below(90);
        }
        unknown = u64::saturating_sub(unknown, 1);
        let mut value = |most| (unknown == 0).then(|| random.below(most) as f64 / 8.0);
        vec![value(1_000), value(1 << 40)]
    };
    (0..count).map(reading).collect()
}

/// Rows of a function by their starts: what `rrdtool fetch` prints.
fn fetched(path: &Path, function: &str, row_s: i64, period: (i64, i64)) -> BTreeMap<i64, Vec<f64>> {
    let mut command = Command::new("rrdtool");
    command.arg("fetch").arg(path).args([function, "-r", &row_s.to_string()]);
    command.args(["-s", &period.0.to_string(), "-e", &(period.1 - 1).to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter_map(|line| line.split_once(": "));
    let row = |(time, values): (&str, &str)| {
        let values = values.split_whitespace().map(|value| value.parse().unwrap());
        (time.parse::<i64>().unwrap() - row_s, values.collect())
    };
    rows.map(row).filter(|(begin_s, _)| *begin_s < period.1).collect()
}

fn query(step_s: i64, (from_s, thru_s): (i64, i64)) -> RangeQuery {
    RangeQuery {
        host: "alpha".to_owned(),
        source: "memory".to_owned(),
        fields: vec!["free".to_owned(), "cached".to_owned()],
        instances: Vec::new(),
        from_ns: from_s * SECOND_NS,
        thru_ns: thru_s * SECOND_NS,
        step_ns: step_s * SECOND_NS,
    }
}

/// The values of a field in base units, by the start of their step.
fn values(answer: &RangeAnswer, query: &RangeQuery, field: usize) -> BTreeMap<i64, HistoryValue> {
    let of_field = answer.history.iter().filter(|series| series.field == field);
    let begin = |step: u32| (query.from_ns + i64::from(step) * query.step_ns) / SECOND_NS;
    of_field
        .flat_map(|series| &series.values)
        .map(|value| {
            let base = |value: f64| value * 1024.0;
            let (min, max) = (value.min.map(base), value.max.map(base));
            (begin(value.step), HistoryValue { mean: base(value.mean), min, max, ..*value })
        })
        .collect()
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-8 * one.abs().max(other.abs())
}

fn assert_extreme(found: Option<f64>, row: Option<&Vec<f64>>, field: usize, what: &str) {
    let expected = row.map(|row| row[field]).filter(|value| !value.is_nan());
    match (found, expected) {
        (Some(found), Some(expected)) => assert!(is_close(found, expected), "{what}"),
        (found, expected) => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn a_step_of_rows_is_what_rrdtool_fetches() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let mut random = Random::from_seed(testkit::seed(71));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("alpha");
    let path = root.join("history/memory.rrd");
    // Two days, of which the last half hour is there in seconds.
    let count = 17_280 + random.below(500) as usize;
    write_database(&path, &["free", "cached"], &readings(&mut random, count));
    let end_s = BEGUN_S + 10 * count as i64;
    let recordings = open(&root);
    assert_eq!(recordings.hosts(), ["alpha"]);
    for (row_s, rows) in [(10, 180), (60, 300), (600, 144)] {
        let newest_s = end_s - end_s % row_s;
        let period = (newest_s - row_s * (rows - 1), newest_s);
        let [means, smallest, largest] =
            ["AVERAGE", "MIN", "MAX"].map(|function| fetched(&path, function, row_s, period));
        let query = query(row_s, period);
        let answer = recordings.range(&query).unwrap();
        assert!(answer.series.is_empty());
        for field in 0..2 {
            let found = values(&answer, &query, field);
            let known = means.iter().filter(|(_, row)| !row[field].is_nan());
            let known: BTreeMap<i64, f64> = known.map(|(at, row)| (*at, row[field])).collect();
            assert!(known.len() > 50 && found.keys().eq(known.keys()), "{row_s}");
            for (at, value) in &found {
                let what = format!("{row_s} {at} {value:?}");
                assert!(is_close(value.mean, known[at]), "{what}");
                assert_eq!(value.resolution_ns as i64, row_s * SECOND_NS, "{what}");
                assert_extreme(value.max, largest.get(at), field, &what);
                // Of ten minutes only the smallest values of minutes are known: a mean is none.
                match row_s {
                    600 => assert!(value.min.is_none_or(|min| min <= value.mean), "{what}"),
                    _ => assert_extreme(value.min, smallest.get(at), field, &what),
                }
            }
        }
    }
    // Steps of several rows, of the longest that fit.
    let query = query(3_600, (BEGUN_S + 86_400, BEGUN_S + 86_400 + 20 * 3_600));
    let period = (query.from_ns / SECOND_NS, query.thru_ns / SECOND_NS);
    let [means, largest] = ["AVERAGE", "MAX"].map(|function| fetched(&path, function, 600, period));
    let found = values(&recordings.range(&query).unwrap(), &query, 0);
    assert!(found.len() > 10);
    for (at, value) in found {
        let of = |rows: &BTreeMap<i64, Vec<f64>>| -> Vec<f64> {
            let rows = rows.range(at..at + 3_600).map(|(_, row)| row[0]);
            rows.filter(|value| !value.is_nan()).collect()
        };
        let (means, largest) = (of(&means), of(&largest));
        assert!(is_close(value.mean, means.iter().sum::<f64>() / means.len() as f64));
        let most = largest.iter().copied().fold(f64::MIN, f64::max);
        assert!(is_close(value.max.unwrap(), most));
        assert_eq!((value.min, value.resolution_ns as i64), (None, 600 * SECOND_NS));
    }
}

#[test]
fn a_row_that_is_longer_than_the_steps_stands_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("alpha");
    let rows: Vec<_> = (0..17_280).map(|row| vec![Some(f64::from(row)); 2]).collect();
    write_database(&root.join("memory.rrd"), &["free", "cached"], &rows);
    let recordings = open(&root);
    let from_s = BEGUN_S + 86_400;
    // Begins within a row, which is then that of the time before.
    let query = query(10, (from_s + 10, from_s + 7_210));
    let found = values(&recordings.range(&query).unwrap(), &query, 0);
    let begins: Vec<i64> = found.keys().map(|at| at - from_s).collect();
    assert_eq!(begins, (1..=12).map(|row| 600 * row).collect::<Vec<_>>());
    for value in found.values() {
        assert_eq!(value.resolution_ns, 600_000_000_000);
        assert!(value.max.unwrap() > value.mean && value.min.is_none());
    }
    // Nothing is known before the oldest row, and of a step that begins before it what there is.
    let before = super::histories::query(3_600, (BEGUN_S, from_s));
    assert!(recordings.range(&before).unwrap().history.is_empty());
    let across = super::histories::query(7_200, (from_s - 3_600, from_s + 3_600));
    let found = values(&recordings.range(&across).unwrap(), &across, 0);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [from_s - 3_600]);
}

/// A recording with a sample every ten seconds.
fn record(folder: &Path, host: &str, from_s: i64, samples: u64) {
    let known = source::definitions();
    let defs = ["memory", "disk"].map(|name| known.iter().find(|def| def.name == name).unwrap());
    let defs: Vec<Arc<SourceDef>> = defs.into_iter().cloned().collect();
    let mut meta = Meta::new();
    meta.set("host", host);
    meta.set("boot_id", "one");
    meta.set("interval_ns", "10000000000");
    meta.set("started_ns", (from_s * SECOND_NS).to_string());
    let path = folder.join(format!("{host}-{from_s}.whit"));
    let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    for tick in 0..samples {
        let since_s = 10 * tick;
        let realtime_ns = (from_s + since_s as i64) * SECOND_NS;
        let monotonic_ns = (realtime_ns - BEGUN_S * SECOND_NS).cast_unsigned() + 1;
        (snapshot.monotonic_ns, snapshot.realtime_ns) = (monotonic_ns, realtime_ns);
        snapshot.fresh.fill(true);
        for (sample, def) in snapshot.samples.iter_mut().zip(&defs) {
            (sample.monotonic_ns, sample.realtime_ns) = (snapshot.monotonic_ns, realtime_ns);
            sample.state = State::Ok;
            sample.table.begin();
            let (name, field) = match def.instance.is_empty() {
                true => (&b""[..], "free"),
                false => (&b"sda"[..], "reads"),
            };
            sample.table.row(name).set(def.field(field).unwrap(), 1_000 + tick);
        }
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn recordings_come_before_histories_and_no_step_has_both() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<_> = (0..17_280).map(|row| vec![Some(f64::from(row % 50)); 2]).collect();
    write_database(&folder.path().join("history/memory.rrd"), &["free", "cached"], &rows);
    let reads: Vec<_> = rows.iter().map(|row| row[..1].to_vec()).collect();
    write_database(&folder.path().join("history/disk.rrd"), &["reads"], &reads);
    let late: Vec<_> = (0..17_280).map(|row| vec![Some(2.5).filter(|_| row > 17_150)]).collect();
    write_database(&folder.path().join("history/disk/sdb.rrd"), &["reads"], &late);
    let recorded_s = BEGUN_S + 172_800 - 1_200;
    record(folder.path(), "alpha", recorded_s, 30);
    record(folder.path(), "alpha", recorded_s + 600, 30);
    let recordings = open(folder.path());
    assert_eq!((recordings.hosts(), recordings.complaints()), (vec!["alpha"], vec![]));
    let memory = query(60, (recorded_s - 1_200, recorded_s + 1_200));
    let disks = RangeQuery {
        source: "disk".to_owned(),
        fields: vec!["reads".to_owned()],
        ..memory.clone()
    };
    for query in [&memory, &disks] {
        let answer = recordings.range(query).unwrap();
        let recorded: Vec<u32> = answer
            .series
            .iter()
            .flat_map(|series| &series.values)
            .map(|value| value.step)
            .collect();
        // Twice five minutes, of 40.
        assert_eq!(recorded, (20..25).chain(30..35).collect::<Vec<_>>());
        let origins = recordings.origins(&answer);
        assert_eq!(origins.len(), 40);
        for (step, origin) in origins {
            let expected = match recorded.contains(&step) {
                true => StepOrigin::Recording { resolution_ns: 10_000_000_000 },
                false => StepOrigin::History { resolution_ns: 60_000_000_000 },
            };
            assert_eq!(origin, expected, "{step}");
        }
        for series in &answer.history {
            assert!(series.values.iter().all(|value| !recorded.contains(&value.step)));
        }
    }
    // The sum of all disks, and then those that have a database: both have their own times.
    let answer = recordings.range(&disks).unwrap();
    let names: Vec<&[u8]> = answer.history.iter().map(|series| &series.instance[..]).collect();
    assert_eq!(names, [&b"*"[..], b"sdb"]);
    let steps = |at: usize| answer.history[at].values.iter().map(|value| value.step);
    assert!(steps(0).all(|step| steps(1).all(|other| step != other)));
    let named = RangeQuery { instances: vec![b"sdb".to_vec()], ..disks.clone() };
    let named = recordings.range(&named).unwrap();
    assert!(named.series.is_empty() && named.history.len() == 1);
    let (from_ns, thru_ns) = recordings.history_span("alpha").unwrap().unwrap();
    assert_eq!((from_ns / SECOND_NS, thru_ns / SECOND_NS), (BEGUN_S + 86_400, BEGUN_S + 172_800));
}

#[test]
fn databases_are_of_the_host_beside_them_or_of_the_one_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows = vec![vec![Some(1.0)]; 30];
    for name in ["web/history/memory.rrd", "web/history/alpha/memory.rrd", "alone/memory.rrd"] {
        write_database(&path(name), &["free"], &rows);
    }
    let of = |recordings: &Recordings, host: &str| {
        let spans = recordings.history_span(host).ok().flatten();
        spans.is_some()
    };
    assert_eq!(open(&path("alone")).hosts(), ["alone"]);
    assert_eq!(open(&path("web")).hosts(), ["alpha", "web"]);
    record(&path("web"), "beta", BEGUN_S, 3);
    let recordings = open(&path("web"));
    assert_eq!(recordings.hosts(), ["beta", "alpha"]);
    assert!(of(&recordings, "beta") && of(&recordings, "alpha"));
    let both = Recordings::open(&[path("web"), path("alone")], &Zoned::now()).unwrap();
    assert_eq!(both.hosts(), ["beta", "alpha"]);
    record(&path("web"), "gamma", BEGUN_S, 3);
    let recordings = open(&path("web"));
    assert_eq!(recordings.hosts(), ["beta", "gamma", "alpha"]);
    let complaints = recordings.complaints();
    assert!(complaints.len() == 1 && complaints[0].contains("put those of each"), "{complaints:?}");
    std::fs::write(path("web/history/nothing.rrd"), "").unwrap();
    std::fs::write(path("web/history/alpha/memory.rrd"), "no database").unwrap();
    let recordings = open(&path("web"));
    assert!(recordings.complaints()[0].contains("nothing.rrd: no source has this name"));
    let wanted = RangeQuery { fields: vec!["free".into()], ..query(60, (BEGUN_S, BEGUN_S + 600)) };
    let error = recordings.range(&wanted).unwrap_err().to_string();
    assert!(error.contains("alpha/memory.rrd' is not an RRD file"), "{error}");
}

/// Makes databases, opens the folder and looks again, by a variable.  Run by the test below, which
/// counts.
#[test]
#[ignore = "a part of the test that counts system calls"]
fn looks_to_be_counted() {
    let folder = tempfile::tempdir().unwrap();
    let reading = vec![vec![Some(1.0)]];
    for name in ["history/memory.rrd", "history/disk/sda.rrd", "history/disk/sdb.rrd"] {
        write_database(&folder.path().join(name), &["reads"], &reading);
    }
    let mut recordings = Recordings::open(&[folder.path().to_owned()], &later()).unwrap();
    for _ in 0..std::env::var("LOOKS").unwrap_or_default().parse().unwrap() {
        assert!(!recordings.refresh(&later()).unwrap());
    }
}

#[test]
fn a_look_costs_a_stat_of_each_folder_and_new_databases_are_seen() {
    if let Some(each) = looks("histories::looks_to_be_counted", false) {
        // The folder, `history` and `disk`.
        assert_eq!(each, 3);
    }
    let folder = tempfile::tempdir().unwrap();
    let reading = vec![vec![Some(1.0)]];
    write_database(&folder.path().join("history/disk/sda.rrd"), &["reads"], &reading);
    let mut recordings = open(folder.path());
    let host = recordings.hosts()[0].to_owned();
    assert!(!recordings.refresh(&Zoned::now()).unwrap());
    write_database(&folder.path().join("history/memory.rrd"), &["free"], &reading);
    assert!(recordings.refresh(&Zoned::now()).unwrap());
    let names =
        recordings.sources(&host).iter().map(|def| def.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names, ["disk", "memory"]);
    std::fs::remove_file(folder.path().join("history/disk/sda.rrd")).unwrap();
    assert!(recordings.refresh(&Zoned::now()).unwrap());
    assert_eq!(recordings.sources(&host).len(), 1);
}
