//! Random ranges are what decoding every sample gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use archive::{RangeQuery, Recordings, StepValue};
use recording::{Reader, SideFile, WriterOptions, side_path, write_side_file};
use sample::Kind;
use testkit::Random;

use crate::decoded::{Decoded, Source, everything};
use crate::machine;

/// Cases in a long run.
const CASES: usize = 2_000;

pub(crate) fn open(folder: &Path) -> Recordings {
    Recordings::open(&[folder.to_owned()], &jiff::Zoned::now()).unwrap()
}

/// A range that has something of the source, mostly.
pub(crate) fn query(source: &Source, random: &mut Random) -> RangeQuery {
    let (first, end) = source.period_ns;
    let length_ns = end.abs_diff(first).max(1);
    let from_ns =
        first - 3_000_000_000 + (random.bits() % (length_ns + 3_000_000_000)).cast_signed();
    let longest_ns = [length_ns / 20, length_ns, 2 * length_ns][random.below(3) as usize].max(2);
    let thru_ns = from_ns + 1 + (random.bits() % longest_ns).cast_signed();
    let steps = 1 + random.below(50).cast_signed();
    let numbers = source.def.fields.iter().filter(|field| field.kind != Kind::Text);
    let names: Vec<&str> = numbers.map(|field| &*field.name).collect();
    let mut fields = Vec::new();
    for _ in 0..1 + random.below(3) {
        let field = names[random.below(names.len() as u64) as usize].to_owned();
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    let mut instances = Vec::new();
    if random.below(3) == 0 && !source.values.is_empty() {
        for _ in 0..2 {
            let any = random.below(source.values.len() as u64) as usize;
            instances.push(source.values[any].instance.clone());
        }
    }
    let step_ns = ((thru_ns - from_ns) / steps).max(1);
    let (host, name) = (source.host.clone(), source.def.name.to_string());
    RangeQuery { host, source: name, fields, instances, from_ns, thru_ns, step_ns }
}

/// The values of a step, by instance, field and step.
type Expected<'a> = BTreeMap<(Vec<u8>, usize, u32), Vec<&'a Decoded>>;

fn expected<'a>(source: &'a Source, query: &RangeQuery) -> Expected<'a> {
    let mut steps = Expected::new();
    for value in &source.values {
        let is_named = query.instances.is_empty() || query.instances.contains(&value.instance);
        let name = &source.def.fields[value.field].name;
        let field = query.fields.iter().position(|field| field == name);
        let in_period = value.realtime_ns >= query.from_ns && value.realtime_ns < query.thru_ns;
        if let Some(field) = field.filter(|_| is_named && in_period) {
            let step = ((value.realtime_ns - query.from_ns) / query.step_ns) as u32;
            steps.entry((value.instance.clone(), field, step)).or_default().push(value);
        }
    }
    steps
}

fn check(found: &StepValue, values: &[&Decoded], when: &str) {
    let numbers = || values.iter().map(|value| value.number);
    assert_eq!(found.readings as usize, values.len(), "{when}");
    // A summary has them within a millionth.
    let ends =
        [numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max)];
    for (found, end) in [found.min, found.max].into_iter().zip(ends) {
        assert!((found - end).abs() <= 1e-6 * end.abs(), "{when}: {found} is not {end}");
    }
    assert_eq!(Some(found.last), numbers().next_back(), "{when}");
    let amount: f64 = values.iter().map(|value| value.amount).sum();
    let seconds: f64 = values.iter().map(|value| value.seconds).sum();
    let mean = if seconds > 0.0 { amount / seconds } else { amount / values.len() as f64 };
    let apart = (found.mean() - mean).abs();
    assert!(apart <= 1e-6 * mean.abs().max(1.0), "{when}: {} is not {mean}", found.mean());
    let files = (values[0].file as u32, values[values.len() - 1].file as u32);
    assert_eq!(found.files, files, "{when}");
}

pub(crate) fn compare(recordings: &Recordings, source: &Source, query: &RangeQuery) -> usize {
    let answer = recordings.range(query).unwrap();
    let mut steps = expected(source, query);
    let mut count = 0;
    for series in &answer.series {
        for value in &series.values {
            let when = format!("{query:?}: {:?} {value:?}", series.instance);
            assert!((value.step as usize) < answer.steps, "{when}");
            let key = (series.instance.clone(), series.field, value.step);
            let values = steps.remove(&key).unwrap_or_else(|| panic!("not recorded: {when}"));
            check(value, &values, &when);
            count += 1;
        }
    }
    assert!(steps.is_empty(), "{query:?}: missing {:?}", steps.keys().next());
    count
}

fn compare_all(folder: &Path, cases: usize, random: &mut Random) {
    let recordings = open(folder);
    assert!(recordings.complaints().is_empty(), "{:?}", recordings.complaints());
    let mut sources = everything(folder);
    sources.retain(|source| !source.values.is_empty());
    let mut count = 0;
    for _ in 0..cases {
        let source = &sources[random.below(sources.len() as u64) as usize];
        count += compare(&recordings, source, &query(source, random));
    }
    assert!(count > cases, "most ranges have values: {count} in {cases}");
}

#[test]
fn ranges_of_made_up_machines_are_what_every_sample_gives() {
    let mut random = Random::from_seed(testkit::seed(23));
    let folders = 10;
    for seed in 0..folders {
        let (folder, ..) = machine::folder(seed);
        let cases = testkit::share(CASES) / folders as usize / 2;
        compare_all(folder.path(), cases, &mut random);
        let complaints = open(folder.path()).write_side_files();
        assert!(complaints.is_empty(), "{complaints:?}");
        compare_all(folder.path(), cases, &mut random);
    }
}

#[test]
fn ranges_of_every_version_and_of_collectl_are_what_every_sample_gives() {
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let mut random = Random::from_seed(testkit::seed(24));
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(released).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "txt"));
    paths.sort();
    for path in &paths {
        // Each alone, since all versions are of the same machine and time.
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(path, folder.path().join(path.file_name().unwrap())).unwrap();
        compare_all(folder.path(), testkit::share(CASES / 20), &mut random);
        assert!(open(folder.path()).write_side_files().is_empty());
        compare_all(folder.path(), testkit::share(CASES / 20), &mut random);
    }
}

#[test]
fn a_recording_that_grows_is_read_as_far_as_it_is_written() {
    let (folder, mut machine, mut writer, path) = machine::folder(70);
    let recordings = open(folder.path());
    let mut random = Random::from_seed(testkit::seed(25));
    let mut counts = Vec::new();
    for round in 0..8 {
        machine.record(&mut writer, 37);
        let sources = everything(folder.path());
        let whole = sources.iter().find(|source| source.host == "gamma").unwrap();
        let (from_ns, thru_ns) = whole.period_ns;
        let fields = vec!["ticks".to_owned()];
        let query = RangeQuery {
            step_ns: 7_000_000_000,
            from_ns,
            thru_ns,
            fields,
            ..query(whole, &mut random)
        };
        counts.push(compare(&recordings, whole, &RangeQuery { instances: Vec::new(), ..query }));
        if round % 3 == 1 {
            assert!(recordings.write_side_files().is_empty());
        }
    }
    // Of a recording that grows it has whole segments only.
    let reader = Reader::open(&path, &[]).unwrap();
    let side = SideFile::open(&path, &reader).unwrap();
    assert_eq!(side.segments().len(), 2, "{:?}", side.segments());
    assert!(counts.is_sorted_by(|before, after| before < after), "{counts:?}");
}

#[test]
fn a_later_recorder_is_read_from_its_side_file_after_the_end_of_the_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = machine::Machine::new("alpha", 5);
    let options = WriterOptions { block_samples: 10, ..WriterOptions::default() };
    let (mut writer, first) = machine.begin(folder.path(), options, machine::SECOND_NS);
    let mut other = machine.clone();
    other.pass(40);
    let (mut later, path) = other.begin(folder.path(), options, machine::SECOND_NS);
    machine.record(&mut writer, 100);
    other.record(&mut later, 400);
    writer.close().unwrap();
    later.close().unwrap();
    let sources = everything(folder.path());
    for path in [&first, &path] {
        assert!(write_side_file(path).unwrap().segments > 0);
    }
    // The first recorder ended in the first segment of the other.
    machine::damage_block(&path, 12);
    let (recordings, mut random) = (open(folder.path()), Random::from_seed(testkit::seed(27)));
    for source in &sources {
        for _ in 0..testkit::share(60) {
            compare(&recordings, source, &query(source, &mut random));
        }
    }
    let whole = sources.iter().find(|source| source.def.name == "whole").unwrap();
    let (from_ns, thru_ns) = whole.period_ns;
    let query = RangeQuery {
        instances: Vec::new(),
        fields: vec!["ticks".to_owned()],
        step_ns: 7_000_000_000,
        from_ns,
        thru_ns,
        ..query(whole, &mut random)
    };
    let readings = || recordings.range(&query).unwrap().cost.readings;
    let all = readings();
    std::fs::remove_file(side_path(&path)).unwrap();
    assert!(readings() < all, "the block was not damaged");
}

#[test]
fn a_side_file_that_is_damaged_or_of_another_recording_changes_no_answer() {
    let (folder, ..) = machine::folder(80);
    let mut random = Random::from_seed(testkit::seed(26));
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let sides: Vec<PathBuf> =
        recordings.spans("alpha").iter().map(|s| side_path(&s.path)).collect();
    let whole: Vec<Vec<u8>> = sides
        .iter()
        .filter_map(|side| std::fs::read(side).ok())
        .filter(|b| b.len() > 100)
        .collect();
    assert!(whole.len() > 1, "{sides:?}");
    let sources = everything(folder.path());
    for case in 0..testkit::share(300) {
        let side = &sides[random.below(sides.len() as u64) as usize];
        std::fs::write(side, machine::damaged(&whole, &mut random)).unwrap();
        let source = &sources[random.below(3) as usize];
        compare(&recordings, source, &query(source, &mut random));
        if case % 20 == 0 {
            assert!(recordings.write_side_files().is_empty());
        }
    }
}
