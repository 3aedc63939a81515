//! Steps, as readings that views take: the same as from every sample, decoded one after the other.

use std::collections::BTreeMap;

use archive::{Recordings, StepsQuery, WallSteps, step_source};
use jiff::tz::TimeZone;
use layout::{ChosenValues, Frame, Options};
use sample::{History, Kind, Meta};

use crate::{decoded, machine};

/// Step, instance, index of the field: readings, mean, min, max.
type Steps = BTreeMap<(i64, Vec<u8>, usize), (u32, f64, f64, f64)>;

const MINUTE_NS: i64 = 60_000_000_000;

/// The steps of a source by the archive.
fn asked(
    recordings: &Recordings,
    of: &decoded::Source,
    steps: &WallSteps,
    wanted: &[ChosenValues],
) -> Steps {
    let sources = [of.def.clone(), step_source()];
    let (from_ns, thru_ns) = of.period_ns;
    let query = StepsQuery {
        host: &of.host,
        sources: &sources,
        wanted,
        from_ns,
        thru_ns,
        steps,
        with_empty: false,
    };
    let (meta, options) = (Meta::new(), Options::default());
    let mut history = History::new(&sources);
    let mut found = Steps::new();
    recordings
        .steps::<archive::Error>(&query, &mut |step| {
            let (begin_ns, length_ns) = (step.begin_ns, step.end_ns - step.begin_ns);
            history.push(&mut step.base);
            history.push(&mut step.current);
            let frame = Frame::new(&history, &meta, &options);
            let frame = Frame { steps: Some(&step.sources), ..frame };
            assert_eq!(frame.realtime_ns, begin_ns);
            assert_eq!(frame.seconds, length_ns as f64 / 1e9);
            let readings = frame.source("step").unwrap().gauge(0).unwrap();
            assert_eq!(readings, f64::from(step.sources[0].readings));
            for row in frame.whole(&frame.tracks[0]).rows() {
                for (field, facts) in of.def.fields.iter().enumerate() {
                    let mean = match facts.kind {
                        Kind::Gauge => row.gauge(field),
                        Kind::Counter => row.rate(field),
                        Kind::Text => continue,
                    };
                    let cell = row.step_cell(field);
                    assert_eq!(mean.is_some(), cell.is_some(), "{} {field}", of.def.name);
                    let Some((mean, cell)) = mean.zip(cell) else { continue };
                    let key = (begin_ns, row.name().to_vec(), field);
                    found.insert(key, (cell.readings, mean, cell.min.unwrap(), cell.max.unwrap()));
                }
            }
            Ok(true)
        })
        .unwrap();
    found
}

/// The same from every sample.
fn expected(of: &decoded::Source, steps: &WallSteps) -> Steps {
    let mut sums: BTreeMap<_, (u32, f64, f64, f64, f64)> = BTreeMap::new();
    for value in &of.values {
        let key = (steps.begin(value.realtime_ns), value.instance.clone(), value.field);
        let none = (0, 0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        let (readings, amount, seconds, min, max) = sums.entry(key).or_insert(none);
        *readings += 1;
        *amount += value.amount;
        *seconds += value.seconds;
        *min = min.min(value.number);
        *max = max.max(value.number);
    }
    let step = |(key, (readings, amount, seconds, min, max))| {
        let over = if seconds > 0.0 { seconds } else { f64::from(readings) };
        (key, (readings, amount / over, min, max))
    };
    sums.into_iter().map(step).collect()
}

/// Checks that steps have the same readings, and values to the last digits.
fn assert_same(of: &decoded::Source, asked: &Steps, expected: &Steps) {
    let keys = |steps: &Steps| steps.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(asked), keys(expected), "{} {}", of.host, of.def.name);
    for (key, want) in expected {
        let got = &asked[key];
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs().max(1.0);
        assert!(
            got.0 == want.0 && close(got.1, want.1) && close(got.2, want.2) && close(got.3, want.3),
            "{} {} {key:?}: {got:?}, and expected {want:?}",
            of.host,
            of.def.name
        );
    }
}

#[test]
fn steps_are_what_every_sample_gives() {
    let (folder, _machine, _writer, _path) = machine::folder(testkit::seed(23));
    let now = jiff::Zoned::now();
    let recordings = Recordings::open(&[folder.path().to_owned()], &now).unwrap();
    let mut count = 0;
    for of in decoded::everything(folder.path()) {
        for length_ns in [MINUTE_NS / 6, MINUTE_NS, 60 * MINUTE_NS] {
            let zone = TimeZone::fixed(jiff::tz::offset(5));
            let steps = WallSteps::new(length_ns.unsigned_abs(), zone, 0).unwrap();
            let (asked, expected) = (asked(&recordings, &of, &steps, &[]), expected(&of, &steps));
            assert_same(&of, &asked, &expected);
            count += expected.len();
        }
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn what_is_wanted_alone_is_the_same() {
    let (folder, _machine, _writer, _path) = machine::folder(testkit::seed(23));
    let recordings = Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let steps = WallSteps::new(MINUTE_NS.unsigned_abs(), TimeZone::UTC, 0).unwrap();
    let mut count = 0;
    for of in decoded::everything(folder.path()) {
        let all = asked(&recordings, &of, &steps, &[]);
        let Some((_, instance, field)) = all.keys().nth(all.len() / 2).cloned() else { continue };
        for instances in [Vec::new(), vec![instance]] {
            let wanted = ChosenValues { fields: vec![field], instances };
            let mut expected = all.clone();
            expected.retain(|(_, instance, of_field), _| {
                let is_instance =
                    wanted.instances.is_empty() || wanted.instances.contains(instance);
                *of_field == field && is_instance
            });
            count += expected.len();
            assert_same(&of, &asked(&recordings, &of, &steps, &[wanted]), &expected);
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn steps_without_readings_come_if_they_are_asked_for() {
    let (folder, _machine, _writer, _path) = machine::folder(testkit::seed(23));
    let now = jiff::Zoned::now();
    let recordings = Recordings::open(&[folder.path().to_owned()], &now).unwrap();
    let of = decoded::everything(folder.path()).remove(0);
    let steps = WallSteps::new(MINUTE_NS.unsigned_abs(), TimeZone::UTC, 0).unwrap();
    let from_ns = steps.begin(of.period_ns.0) - 3 * MINUTE_NS;
    let sources = [of.def.clone()];
    let begins = |with_empty| {
        let thru_ns = of.period_ns.1;
        let (host, sources, wanted, steps) = (&*of.host, &sources[..], &[][..], &steps);
        let query = StepsQuery { host, sources, wanted, from_ns, thru_ns, steps, with_empty };
        let mut begins = Vec::new();
        recordings
            .steps::<archive::Error>(&query, &mut |step| {
                begins.push((step.begin_ns, step.sources[0].readings));
                Ok(true)
            })
            .unwrap();
        begins
    };
    let (all, read) = (begins(true), begins(false));
    let steps = (of.period_ns.1 - 1 - from_ns) / MINUTE_NS + 1;
    let expected: Vec<i64> = (0..steps).map(|step| from_ns + step * MINUTE_NS).collect();
    assert_eq!(all.iter().map(|step| step.0).collect::<Vec<_>>(), expected);
    assert_eq!(all.iter().filter(|step| step.1 > 0).copied().collect::<Vec<_>>(), read);
    assert!(all[..3].iter().all(|step| step.1 == 0) && !read.is_empty());
}
