//! Ranges of long periods, answered by summaries, are what decoding every sample gives.

use std::path::Path;

use archive::{Cost, RangeQuery};
use testkit::Random;

use crate::decoded::{Source, everything};
use crate::machine::{self, SECOND_NS};
use crate::ranges::{compare, open, query};

/// Cases in a long run.
const CASES: usize = 2_000;

const MINUTE_NS: i64 = 60 * SECOND_NS as i64;

/// Times between ticks, for windows of every length and hours made of them.
const TICKS_NS: [u64; 4] = [SECOND_NS, 5 * SECOND_NS, 20 * SECOND_NS, 70 * SECOND_NS];

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
fn compare_all(folder: &Path, cases: usize, random: &mut Random) -> Cost {
    let recordings = open(folder);
    let mut sources = everything(folder);
    sources.retain(|source| !source.values.is_empty());
    let mut cost = Cost::default();
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
    let (mut before, mut after) = (Cost::default(), Cost::default());
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
    assert!(after.windows > 0 && 2 * after.readings < before.readings, "{before:?} {after:?}");
}
