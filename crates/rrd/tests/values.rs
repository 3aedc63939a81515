//! Updates by numbers write what updates by text write, RRDtool's own included.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use rrd::create::{Options, create};
use rrd::header::Time;
use rrd::update::{Moments, Updater};
use rrd::{Access, File, Locking};

struct NoClock;

impl Moments for NoClock {
    fn now(&self) -> Time {
        Time::default()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(words.to_owned())
    }
}

const START: i64 = 1_000_000_000;

fn file(path: &Path) {
    let definitions = [
        "DS:a:GAUGE:30:U:U",
        "DS:other:GAUGE:30:U:U",
        "DS:b:GAUGE:30:-5:1000",
        "RRA:AVERAGE:0.5:1:60",
        "RRA:AVERAGE:0.5:10:30",
        "RRA:MAX:0.5:7:30",
    ];
    let options = Options { start: Some(START), step_seconds: Some(1), ..Options::default() };
    create(path, &options, &definitions, 0).expect("a file");
}

/// The header and the rows, oldest first: what does not depend on the row that a file begins with.
fn content(path: &Path) -> String {
    let file = File::open(path, Access::Read).expect("the file");
    let header = file.header();
    let mut text = format!("{:?} {:?}\n", header.primary, header.last_update);
    let _ = writeln!(text, "{:?}", header.consolidation);
    for archive in 0..header.archives.len() {
        let cells = file.read_in_order(archive).expect("rows");
        let bits: Vec<u64> = cells.iter().map(|cell| cell.to_bits()).collect();
        let _ = writeln!(text, "{bits:x?}");
    }
    text
}

/// Microseconds since the row before, and two values.
fn rows() -> impl Strategy<Value = Vec<(i64, f64, f64)>> {
    let value = prop_oneof![
        4 => (0..100_000_i32).prop_map(|value| f64::from(value) / 64.0),
        1 => Just(f64::NAN),
        1 => (-20_i32..1_200).prop_map(f64::from),
    ];
    let microseconds = prop_oneof![
        3 => Just(1_000_000_i64),
        2 => (1..40_i64).prop_map(|seconds| seconds * 1_000_000),
        2 => 1..3_000_000_i64,
        1 => -2_000_000..1_i64,
    ];
    proptest::collection::vec((microseconds, value.clone(), value), 1..80)
}

fn times(rows: &[(i64, f64, f64)]) -> impl Iterator<Item = (i64, [f64; 2])> + '_ {
    let mut at = START * 1_000_000;
    rows.iter().map(move |(microseconds, a, b)| {
        at += microseconds;
        (at, [*a, *b])
    })
}

fn argument((at, [a, b]): (i64, [f64; 2])) -> String {
    let value = |value: f64| if value.is_nan() { "U".to_owned() } else { value.to_string() };
    // Half a microsecond more: the text becomes a double, of which the rest is cut off.
    format!("{}.{:06}5:{}:{}", at / 1_000_000, at % 1_000_000, value(a), value(b))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn numbers_and_texts_write_the_same(rows in rows(), cut in 0..80_usize) {
        let folder = tempfile::tempdir().unwrap();
        let (by_text, by_number) = (folder.path().join("t.rrd"), folder.path().join("n.rrd"));
        file(&by_text);
        file(&by_number);
        let mut past = 0;
        for row in times(&rows) {
            let options = rrd::update::Options {
                template: Some("a:b"),
                ..rrd::update::Options::default()
            };
            let argument = argument(row);
            let done =
                rrd::update::update(&by_text, &options, &[argument.as_bytes()], &NoClock, None);
            let known = row.1.iter().any(|value| !value.is_nan());
            past += u64::from(done.is_err() && known);
        }
        let mut opened = File::open(&by_number, Access::Write(Locking::Try)).unwrap();
        let time = |at: i64| Time { seconds: at / 1_000_000, microseconds: at % 1_000_000 };
        let all: Vec<(i64, [f64; 2])> = times(&rows).collect();
        let (head, tail) = all.split_at(cut.min(all.len()));
        let mut updater = Updater::default();
        let mut left_out = 0;
        for part in [head, tail] {
            let part = part.iter().map(|(at, values)| (time(*at), &values[..]));
            left_out += updater.update_values(&mut opened, &[0, 2], part).unwrap();
            opened.unlock();
            prop_assert!(opened.lock_again(Locking::Try).unwrap());
        }
        prop_assert_eq!(left_out, past);
        prop_assert_eq!(content(&by_text), content(&by_number));
    }
}

#[test]
fn rrdtool_writes_the_same() {
    if !testkit::is_installed("updates by numbers beside rrdtool", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (theirs, ours) = (folder.path().join("t.rrd"), folder.path().join("o.rrd"));
    file(&theirs);
    std::fs::copy(&theirs, &ours).unwrap();
    let rows: Vec<(i64, [f64; 2])> = (1..400_i64)
        .map(|turn| {
            let at = START * 1_000_000 + turn * 1_370_001;
            let value = if turn % 17 == 0 { f64::NAN } else { (turn * turn % 997) as f64 / 8.0 };
            (at, [value, turn as f64])
        })
        .collect();
    let arguments: Vec<String> = rows.iter().map(|row| argument(*row)).collect();
    let output = Command::new("rrdtool")
        .args(["update", theirs.to_str().unwrap(), "--template", "a:b"])
        .args(&arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut opened = File::open(&ours, Access::Write(Locking::Try)).unwrap();
    let time = |at: i64| Time { seconds: at / 1_000_000, microseconds: at % 1_000_000 };
    let all = rows.iter().map(|(at, values)| (time(*at), &values[..]));
    assert_eq!(Updater::default().update_values(&mut opened, &[0, 2], all).unwrap(), 0);
    drop(opened);
    assert!(content(&theirs) == content(&ours), "see rrdtool dump of both");
}

#[test]
fn other_kinds_and_missing_sources_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.rrd");
    let options = Options { start: Some(START), step_seconds: Some(1), ..Options::default() };
    create(&path, &options, &["DS:c:COUNTER:30:U:U", "RRA:LAST:0.5:1:9"], 0).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut opened = File::open(&path, Access::Write(Locking::Try)).unwrap();
    for (target, said) in [(0, "'c' is not a GAUGE"), (1, "no data source 1")] {
        let rows = std::iter::once((Time::of_seconds(START + 1), &[1.0][..]));
        let error = Updater::default().update_values(&mut opened, &[target], rows).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// The header keeps the text of a reading, of at most 29 bytes.
#[test]
fn readings_of_any_length_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.rrd");
    file(&path);
    let mut opened = File::open(&path, Access::Write(Locking::Try)).unwrap();
    let rows = std::iter::once((Time::of_seconds(START + 1), &[1.25e300, -0.1 / 3.0][..]));
    Updater::default().update_values(&mut opened, &[0, 1], rows).unwrap();
    let text = |index: usize| {
        let primary = &opened.header().primary[index];
        String::from_utf8(primary.reading().to_vec()).unwrap()
    };
    assert_eq!([text(0), text(1), text(2)], ["1.25e300", "-0.03333333333333333", "U"]);
}
