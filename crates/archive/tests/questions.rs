//! The heaviest, moments and comparisons are what decoding every sample gives.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use archive::{HeaviestQuery, RangeQuery, RecordedMoment, Recordings};
use recording::WriterOptions;
use testkit::Random;

use crate::decoded::{Source, everything};
use crate::machine;

/// Cases in a long run.
const CASES: usize = 200;

/// A period of a source.
fn period(source: &Source, random: &mut Random) -> (i64, i64) {
    let (first, end) = source.period_ns;
    let length_ns = end.abs_diff(first).max(1);
    let from_ns = first + (random.bits() % length_ns).cast_signed();
    (from_ns, from_ns + 1 + (random.bits() % length_ns).cast_signed())
}

/// Runs cases without side files, and again with them.
fn each_case(seed: u64, mut case: impl FnMut(&Recordings, &Source, &mut Random)) {
    let mut random = Random::from_seed(testkit::seed(seed));
    let (folder, ..) = machine::folder(seed);
    let open = || Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let recordings = open();
    let sources = everything(folder.path());
    for _ in 0..2 {
        for _ in 0..testkit::share(CASES) / 2 {
            let source = &sources[random.below(sources.len() as u64) as usize];
            case(&recordings, source, &mut random);
        }
        assert!(recordings.write_side_files().is_empty());
    }
}

#[test]
fn the_heaviest_are_those_with_most() {
    let mut ranked = 0;
    each_case(31, |recordings, source, random| {
        let (from_ns, thru_ns) = period(source, random);
        let has_texts = source.def.field("model").is_some();
        let field = match (has_texts, random.below(2)) {
            (true, 0) => "reads",
            (true, _) => "heat",
            (false, 0) => "ticks",
            (false, _) => "level",
        };
        let by = (has_texts && random.below(2) == 0).then(|| "model".to_owned());
        let query = HeaviestQuery {
            host: source.host.clone(),
            source: source.def.name.to_string(),
            field: field.to_owned(),
            by,
            from_ns,
            thru_ns,
            count: 3,
        };
        let mut expected: BTreeMap<&[u8], (f64, f64)> = BTreeMap::new();
        for value in &source.values {
            let in_period = value.realtime_ns >= from_ns && value.realtime_ns < thru_ns;
            if in_period && source.def.fields[value.field].name == field {
                let sum = expected.entry(&value.instance).or_insert((0.0, f64::NEG_INFINITY));
                *sum = (sum.0 + value.amount, sum.1.max(value.number));
            }
        }
        let mut expected: Vec<_> = expected.into_iter().collect();
        expected.sort_by(|one, other| other.1.0.total_cmp(&one.1.0).then(one.0.cmp(other.0)));
        expected.truncate(3);
        let found = recordings.heaviest(&query).unwrap();
        // The model of a made-up disk is its name.
        let found: Vec<_> = found
            .iter()
            .map(|heavy| (heavy.name.as_deref().unwrap(), (heavy.total, heavy.peak)))
            .collect();
        assert_eq!(found.len(), expected.len(), "{query:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0, found.1.0), (expected.0, expected.1.0), "{query:?}");
            // A summary has the largest rate within a millionth.
            let [found, peak] = [found.1.1, expected.1.1];
            assert!((found - peak).abs() <= 1e-6 * peak.abs(), "{query:?}: {found}, not {peak}");
        }
        ranked += found.len();
    });
    assert!(ranked > 20, "{ranked}");
}

#[test]
fn two_periods_are_two_ranges_of_one_step() {
    let mut both = 0;
    each_case(41, |recordings, source, random| {
        let periods = [period(source, random), period(source, random)];
        let name = source.def.name.to_string();
        let compared = recordings.compare(&source.host, &name, periods[0], periods[1]).unwrap();
        for one in &compared {
            both += usize::from(one.before.is_some() && one.after.is_some());
            for ((from_ns, thru_ns), value) in periods.into_iter().zip([one.before, one.after]) {
                let answer = recordings.range(&RangeQuery {
                    host: source.host.clone(),
                    source: name.clone(),
                    fields: vec![one.field.clone()],
                    instances: vec![one.instance.clone()],
                    from_ns,
                    thru_ns,
                    step_ns: thru_ns - from_ns,
                });
                let series = answer.unwrap().series;
                assert_eq!(series.first().map(|series| series.values[0]), value, "{one:?}");
            }
        }
    });
    assert!(both > 50, "{both}");
}

#[test]
fn a_moment_has_the_last_sample_at_or_before_it() {
    let mut found = 0;
    each_case(51, |recordings, source, random| {
        if source.def.name != "whole" {
            return;
        }
        let (at_ns, _) = period(source, random);
        let level = source.def.field("level").unwrap();
        for moment in recordings.moment(&source.host, at_ns).unwrap() {
            let now_ns = moment.history.realtime_ns();
            assert!(now_ns <= at_ns, "{now_ns} {at_ns}");
            let track = &moment.history.tracks()[0];
            let of_moment = source.values.iter().filter(|value| {
                value.field == level
                    && value.realtime_ns == now_ns
                    && recordings.path(value.file) == Some(moment.path.as_path())
            });
            for value in of_moment {
                let raw = track.current.table.get(0, level).map(u64::cast_signed);
                assert_eq!(raw, Some(value.number as i64), "{at_ns}");
                found += 1;
            }
        }
    });
    assert!(found > 5, "{found}");
}

/// Everything that a moment has.
fn shown(moments: &[RecordedMoment]) -> String {
    let mut out = String::new();
    for moment in moments {
        writeln!(out, "{:?} {}", moment.path, moment.history.realtime_ns()).unwrap();
        for track in moment.history.tracks() {
            writeln!(out, "{} {}", track.def.name, track.fresh).unwrap();
            for sample in [&track.previous, &track.current] {
                let times = (sample.monotonic_ns, sample.realtime_ns, sample.cost_ns);
                write!(out, "{:?} {times:?}", sample.state).unwrap();
                let table = &sample.table;
                for row in 0..table.rows() {
                    write!(out, " {:?}", table.name(row)).unwrap();
                    for field in 0..table.width() {
                        let value = (table.get(row, field), table.text(row, field));
                        write!(out, " {value:?}").unwrap();
                    }
                }
                out.push('\n');
            }
        }
    }
    out
}

#[test]
fn a_moment_is_the_same_from_side_files_and_from_damaged_ones() {
    let (folder, ..) = machine::folder(61);
    let open = || Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let recordings = open();
    let mut random = Random::from_seed(testkit::seed(61));
    let mut moments = Vec::new();
    for span in ["alpha", "beta", "gamma"].iter().flat_map(|host| recordings.spans(host)) {
        let host = if span.path.to_string_lossy().contains("alpha-") { "alpha" } else { "beta" };
        let length_ns = span.thru_ns.unwrap_or(span.from_ns + 1).abs_diff(span.from_ns).max(1);
        for _ in 0..testkit::share(40) {
            let at_ns = span.from_ns + (random.bits() % length_ns).cast_signed();
            moments.push((host, at_ns, shown(&recordings.moment(host, at_ns).unwrap())));
        }
    }
    assert!(recordings.write_side_files().is_empty());
    let check = |what: &str| {
        for (host, at_ns, expected) in &moments {
            let again = shown(&open().moment(host, *at_ns).unwrap());
            assert!(again == *expected, "{what}, {host} {at_ns}: {again}\nnot {expected}");
        }
    };
    check("side files");
    let sides: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "columns"))
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    for round in 0..testkit::share(12) {
        for (path, whole) in &sides {
            std::fs::write(path, machine::damaged(std::slice::from_ref(whole), &mut random))
                .unwrap();
        }
        check(&format!("damage {round}"));
    }
}

#[test]
fn a_moment_late_in_a_block_is_read_without_the_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = machine::Machine::new("alpha", 3);
    let options = WriterOptions { block_samples: 100, ..WriterOptions::default() };
    let (mut writer, path) = machine.begin(folder.path(), options, machine::SECOND_NS);
    machine.record(&mut writer, 300);
    writer.close().unwrap();
    let open = || Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    // Samples of the second block, most of the way to its end.
    let at_ns = machine::STARTED_NS + 200 * machine::SECOND_NS.cast_signed();
    let moment = || shown(&open().moment("alpha", at_ns).unwrap());
    let expected = moment();
    assert!(open().write_side_files().is_empty());
    machine::damage_block(&path, 1);
    assert_eq!(moment(), expected);
    std::fs::remove_file(recording::side_path(&path)).unwrap();
    assert_ne!(moment(), expected, "the block was not damaged");
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let (folder, ..) = machine::folder(90);
    let recordings = Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let query = RangeQuery {
        host: "alpha".into(),
        source: "disks".into(),
        fields: vec!["reads".into()],
        from_ns: machine::STARTED_NS,
        thru_ns: machine::STARTED_NS + 1_000,
        step_ns: 10,
        ..RangeQuery::default()
    };
    let fails = |query: RangeQuery| recordings.range(&query).unwrap_err().to_string();
    let host = fails(RangeQuery { host: "omega".into(), ..query.clone() });
    assert_eq!(host, "no recording is of host omega: there are alpha, beta, gamma");
    let source = fails(RangeQuery { source: "cpu".into(), ..query.clone() });
    assert_eq!(source, "no recording of alpha has the source cpu: there are whole, disks, slow");
    let field = fails(RangeQuery { fields: vec!["writes".into()], ..query.clone() });
    assert_eq!(field, "the source disks has no field writes: there are model, reads, heat");
    let text = fails(RangeQuery { fields: vec!["model".into()], ..query.clone() });
    assert_eq!(text, "disks.model is a text: ask for a moment to see it");
    for (thru_ns, step_ns) in [(query.from_ns, 10), (query.thru_ns, 0), (query.from_ns - 1, 10)] {
        assert!(fails(RangeQuery { thru_ns, step_ns, ..query.clone() }).contains("has no steps"));
    }
    let steps = RangeQuery { thru_ns: i64::MAX, step_ns: 1, ..query };
    assert!(fails(steps).contains("more than 1048576 steps"));
}
