//! Ranges of long periods, answered by summaries, are what decoding every sample gives.

use std::path::{Path, PathBuf};

use archive::{RangeCost, RangeQuery, Recordings};
use recording::WriterOptions;
use testkit::Random;

use crate::decoded::{Source, everything};
use crate::machine::{self, Machine, SECOND_NS};
use crate::ranges::{compare, open, query};

/// Cases in a long run.
const CASES: usize = 2_000;

const MINUTE_NS: i64 = 60 * SECOND_NS as i64;

/// Times between ticks, for windows of every length and hours made of them.
const TICKS_NS: [u64; 4] = [SECOND_NS, 5 * SECOND_NS, 15 * SECOND_NS, 70 * SECOND_NS];

/// A range of whole windows, or of one step that has some.
fn aligned(source: &Source, random: &mut Random) -> RangeQuery {
    let asked = query(source, random);
    let length_ns = source.period_ns.1 - source.period_ns.0;
    let minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 1_440];
    let step_ns = minutes[random.below(minutes.len() as u64) as usize] * MINUTE_NS;
    let from_ns = asked.from_ns - asked.from_ns.rem_euclid(step_ns);
    let longest_ns = (2 * length_ns).cast_unsigned();
    let thru_ns = asked.from_ns + 1 + (random.bits() % longest_ns).cast_signed();
    match random.below(4) {
        // One step, with ends anywhere.
        0 => RangeQuery { thru_ns, step_ns: thru_ns - asked.from_ns, ..asked },
        1 => RangeQuery { from_ns, thru_ns, step_ns, ..asked },
        _ => {
            let thru_ns = (thru_ns - thru_ns.rem_euclid(step_ns)).max(from_ns + step_ns);
            RangeQuery { from_ns, thru_ns, step_ns, ..asked }
        }
    }
}

/// Compares so many ranges, and returns what was read for them.
fn compare_all(folder: &Path, cases: usize, random: &mut Random) -> RangeCost {
    let recordings = open(folder);
    let mut sources = everything(folder);
    sources.retain(|source| !source.values.is_empty());
    let mut cost = RangeCost::default();
    for _ in 0..cases {
        let source = &sources[random.below(sources.len() as u64) as usize];
        let query = aligned(source, random);
        compare(&recordings, source, &query);
        let read = recordings.range(&query).unwrap().cost;
        cost.readings += read.readings;
        cost.windows += read.windows;
    }
    cost
}

#[test]
fn windows_of_made_up_machines_are_what_every_sample_gives() {
    let mut random = Random::from_seed(testkit::seed(61));
    let (mut before, mut after) = (RangeCost::default(), RangeCost::default());
    for (seed, tick_ns) in (0..8).zip(TICKS_NS.into_iter().cycle()) {
        let (folder, ..) = machine::slow_folder(200 + seed, tick_ns);
        let cases = testkit::share(CASES) / 16;
        let without = compare_all(folder.path(), cases, &mut random);
        let complaints = open(folder.path()).write_side_files();
        assert!(complaints.is_empty(), "{complaints:?}");
        let with = compare_all(folder.path(), cases, &mut random);
        assert_eq!(without.windows, 0);
        before.readings += without.readings;
        after.readings += with.readings;
        after.windows += with.windows;
    }
    assert!(after.windows > 0 && after.readings < before.readings, "{before:?} {after:?}");
}

fn summary_path(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".summary");
    name.into()
}

#[test]
fn a_summary_that_is_damaged_or_of_another_recording_changes_no_answer() {
    let (folder, ..) = machine::slow_folder(280, 5 * SECOND_NS);
    let mut random = Random::from_seed(testkit::seed(62));
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let paths: Vec<PathBuf> =
        recordings.spans("alpha").iter().map(|span| summary_path(&span.path)).collect();
    let whole: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let sources = everything(folder.path());
    for case in 0..testkit::share(600) {
        let path = &paths[random.below(paths.len() as u64) as usize];
        std::fs::write(path, machine::damaged(&whole, &mut random)).unwrap();
        let source = &sources[random.below(3) as usize];
        compare(&recordings, source, &aligned(source, &mut random));
        if case % 20 == 0 {
            assert!(recordings.write_side_files().is_empty());
        }
    }
}

#[test]
fn columns_made_together_with_a_summary_are_those_made_alone() {
    let (folder, _machine, _writer, _) = machine::slow_folder(285, 5 * SECOND_NS);
    let recordings = open(folder.path());
    let spans = recordings.hosts().into_iter().flat_map(|host| recordings.spans(host));
    let paths: Vec<PathBuf> = spans.map(|span| span.path).collect();
    let mut alone = Vec::new();
    for path in &paths {
        recording::write_side_file(path).unwrap();
        let side = recording::side_path(path);
        alone.push(std::fs::read(&side).ok());
        drop(std::fs::remove_file(side));
    }
    assert!(recordings.write_side_files().is_empty());
    for (path, alone) in paths.iter().zip(&alone) {
        assert!(std::fs::read(recording::side_path(path)).ok() == *alone, "{}", path.display());
    }
    assert!(alone.iter().flatten().count() > 3, "{}", paths.len());
}

#[test]
fn a_summary_grows_with_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("gamma", 290);
    let (mut writer, path) = machine.begin(folder.path(), WriterOptions::default(), SECOND_NS);
    machine.record(&mut writer, 10);
    let recordings = open(folder.path());
    let mut random = Random::from_seed(testkit::seed(63));
    let mut lengths = Vec::new();
    for round in 0..6 {
        machine.record(&mut writer, 1_500);
        machine.pass(3 * 3_600);
        if round != 3 {
            assert!(recordings.write_side_files().is_empty());
            lengths.push(std::fs::metadata(summary_path(&path)).unwrap().len());
        }
        for source in &everything(folder.path()) {
            for _ in 0..testkit::share(50) {
                compare(&recordings, source, &aligned(source, &mut random));
            }
        }
    }
    // Of a recording that grows it has whole segments only.
    assert!(lengths.is_sorted() && lengths.first() < lengths.last(), "{lengths:?}");
    writer.close().unwrap();
    assert!(open(folder.path()).write_side_files().is_empty());
    for source in &everything(folder.path()) {
        compare(&open(folder.path()), source, &aligned(source, &mut random));
    }
}

#[test]
fn what_is_read_for_a_range_does_not_grow_with_its_length() {
    const DAYS: i64 = 4;
    const DAY_NS: i64 = 86_400 * SECOND_NS as i64;
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("delta", 300);
    for _ in 0..DAYS {
        let (mut writer, _) = machine.begin(folder.path(), WriterOptions::default(), 6 * SECOND_NS);
        machine.record(&mut writer, 13_750);
        writer.close().unwrap();
    }
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let cost_of = |days: i64, points: usize| {
        let from_ns = machine::STARTED_NS + DAY_NS / 2;
        let thru_ns = from_ns + days * DAY_NS;
        let step_ns = recordings.summarized_step(("delta", "whole"), from_ns, thru_ns, points);
        let from_ns = from_ns - from_ns.rem_euclid(step_ns);
        let query = RangeQuery {
            host: "delta".into(),
            source: "whole".into(),
            fields: vec!["ticks".into()],
            from_ns,
            thru_ns: thru_ns - thru_ns.rem_euclid(step_ns),
            step_ns,
            ..RangeQuery::default()
        };
        recordings.range(&query).unwrap().cost
    };
    let cost = |days| cost_of(days, 50);
    let (day, days) = (cost(1), cost(DAYS - 1));
    assert_eq!((day.readings, days.readings), (0, 0), "{day:?} {days:?}");
    // A day has 48 windows of half an hour, three days have 72 hours, and the edges of each file.
    assert!(days.windows <= 2 * day.windows, "{day:?} {days:?}");
    assert!(days.summary_bytes <= 3 * day.summary_bytes, "{day:?} {days:?}");
    // A quarter of an hour would be half a window: of three days, whose samples are many, steps are
    // windows; of a day they are what was asked for.
    assert_eq!(Recordings::aligned_step(0, 3 * DAY_NS, 300), 15 * MINUTE_NS);
    assert_eq!(cost_of(DAYS - 1, 300).readings, 0);
    assert!(cost_of(1, 100).readings > 5_000);
    assert_eq!(recordings.summarized_step(("delta", "whole"), 0, 1, 100), SECOND_NS as i64);
}

#[test]
fn a_last_day_of_a_few_hours_is_read_by_its_windows() {
    let hour_ns = 60 * MINUTE_NS;
    let windows_of_two_hours = |samples| {
        let folder = tempfile::tempdir().unwrap();
        let mut machine = Machine::new("zeta", 320);
        let (mut writer, _) = machine.begin(folder.path(), WriterOptions::default(), 6 * SECOND_NS);
        machine.record(&mut writer, samples);
        writer.close().unwrap();
        let recordings = open(folder.path());
        assert!(recordings.write_side_files().is_empty());
        let from_ns = machine::STARTED_NS - machine::STARTED_NS.rem_euclid(hour_ns) + hour_ns;
        let query = RangeQuery {
            host: "zeta".into(),
            source: "whole".into(),
            fields: vec!["ticks".into()],
            from_ns,
            thru_ns: from_ns + 2 * hour_ns,
            step_ns: 2 * hour_ns,
            ..RangeQuery::default()
        };
        for source in everything(folder.path()).iter().filter(|source| source.def.name == "whole") {
            compare(&recordings, source, &query);
        }
        let cost = recordings.range(&query).unwrap().cost;
        assert_eq!(cost.readings, 0, "{cost:?}");
        cost.windows
    };
    // Windows of half an hour in a recording of four hours, and hours in one of eight.
    assert_eq!([2_200, 4_800].map(windows_of_two_hours), [4, 2]);
}

#[test]
fn while_two_recorders_run_windows_of_the_first_are_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("epsilon", 310);
    let options = WriterOptions::default();
    let (mut writer, _) = machine.begin(folder.path(), options, 6 * SECOND_NS);
    let mut other = machine.clone();
    other.pass(600);
    let (mut later, _) = other.begin(folder.path(), options, 6 * SECOND_NS);
    machine.record(&mut writer, 6_000);
    other.record(&mut later, 9_000);
    writer.close().unwrap();
    later.close().unwrap();
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let mut random = Random::from_seed(testkit::seed(64));
    compare_all(folder.path(), testkit::share(100), &mut random);
    let from_ns = machine::STARTED_NS - machine::STARTED_NS.rem_euclid(30 * MINUTE_NS);
    let query = RangeQuery {
        host: "epsilon".into(),
        source: "whole".into(),
        fields: vec!["ticks".into()],
        from_ns,
        thru_ns: from_ns + 48 * 30 * MINUTE_NS,
        step_ns: 30 * MINUTE_NS,
        ..RangeQuery::default()
    };
    let cost = recordings.range(&query).unwrap().cost;
    // The window in which the first one ended, and that of the next reading of the other one.
    assert!(cost.windows > 30 && cost.readings < 1_000, "{cost:?}");
}

#[test]
fn steps_are_those_that_people_read() {
    let hour_ns = 60 * MINUTE_NS;
    let seconds = |from_ns, thru_ns, points| {
        Recordings::aligned_step(from_ns, thru_ns, points) / SECOND_NS as i64
    };
    assert_eq!(seconds(0, 24 * hour_ns, 1_000), 120);
    assert_eq!(seconds(0, 30 * 24 * hour_ns, 1_000), 3_600);
    assert_eq!(seconds(0, 1, 1_000), 1);
    // One more step, since it does not begin at a full minute.
    assert_eq!((seconds(0, hour_ns, 60), seconds(1, hour_ns + 1, 60)), (60, 120));
    assert_eq!(seconds(0, 520 * 604_800 * SECOND_NS as i64, 100), 6 * 604_800);
    assert!(seconds(i64::MIN, i64::MAX, 0) > 0);
}
