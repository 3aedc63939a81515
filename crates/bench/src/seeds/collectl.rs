//! What collectl costs: the tables of its page on its own overhead, and what that left open.
//!
//! Published were times of 8,640 samples at interval 0, which stand for a day at 10 s.  Figures here
//! are of a sample or of a reading of processes, so that smaller runs can be compared.

use std::path::Path;
use std::process::{Command, Stdio};

use super::row::{Figure, SeedRow};
use super::{Bench, Part, Seed, SeedsPlan};
use crate::beyond;
use crate::contest::{Contest, cpu, resident};
use crate::error::{Context, Result, ensure};
use crate::folder::file_in;
use crate::measure::run_any;
use crate::process::text_of;
use crate::processes::{self, ProcessesPlan, Readings};
use crate::programs::run_quietly;
use crate::record::suite::{self, Case};
use crate::record::{COLLECTL, FLOOR, RecordPlan, WHIT, compression};

/// Samples that were published: a day at 10 s.
const DAY_SAMPLES: f64 = 8_640.0;
/// Readings of processes among them: every sixth.
const DAY_READINGS: f64 = DAY_SAMPLES / 6.0;
/// Processes of the machine on which they were read.
const PUBLISHED_PROCESSES: f64 = 138.0;

const SAMPLE_US: &str = "CPU us a sample";
const READING_US: &str = "CPU us a reading";

/// What is recorded for a day: options, letters, and what was published: seconds, and in words.
type Day = (&'static str, &'static str, f64, Option<(f64, &'static str)>);

/// The days, with about how many seconds a round of a whole day takes.
const DAYS: [Day; 12] = [
    ("-sc", "c", 4.0, Some((4.0, "under 4 s real"))),
    (SUMMARY, "cdnm", 10.0, Some((9.62, "9.711 s real, 7.480 user, 2.140 system"))),
    ("-scdnm -P", "cdnm", 14.0, Some((20.55, "20.607 s real, 17.970 user, 2.580 system"))),
    ("-sd", "d", 4.0, None),
    ("-sn", "n", 4.0, None),
    ("-sm", "m", 4.0, None),
    ("-si", "i", 3.0, None),
    ("-sb", "b", 3.0, None),
    ("-ss", "s", 3.0, None),
    ("-sj", "j", 4.0, None),
    ("-sy", "y", 7.0, None),
    ("-sjy", "jy", 10.0, None),
];

/// The day of which memory and sizes are shown.
const SUMMARY: &str = "-scdnm";

pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    let seed = Seed::Collectl;
    let mut all: Vec<Part> = DAYS
        .into_iter()
        .map(|day| {
            Part::new(seed, day.0, plan.size(day.2, day.2 / 4.0), move |bench| day_of(bench, day))
        })
        .collect();
    all.push(Part::new(seed, "processes", plan.size(38.0, 15.0), processes_of));
    all.push(Part::new(seed, "one sample a second", plan.size(52.0, 14.0), one_second));
    all.push(Part::new(seed, "compression", plan.size(12.0, 4.0), compression_of));
    all
}

fn record_plan(plan: &SeedsPlan) -> RecordPlan {
    RecordPlan {
        cases: Vec::new(),
        rounds: plan.rounds,
        samples: plan.size(8_640, 2_160),
        slow_samples: plan.size(20, 5),
        traced_samples: 0,
        long_seconds: 0,
        play_rounds: 0,
        quick: true,
    }
}

/// What happens where collectl is missing.
pub(super) const NO_COLLECTL: &str = "collectl is not installed";

fn day_of(bench: &Bench<'_>, (options, letters, _, published): Day) -> Result<Vec<SeedRow>> {
    let plan = record_plan(bench.plan);
    let words: Vec<String> = options.split(' ').map(str::to_owned).collect();
    let (whit, collectl) = (words.clone(), Some(words));
    let case = Case { name: options, whit, collectl, letters: letters.to_owned() };
    let measured = suite::run_case(&case, &plan, bench.programs, bench.progress)?;
    let samples = plan.samples;
    let figure = |who: &str, each: &dyn Fn(&crate::contest::Measurement) -> f64| {
        Figure::of(measured.find(who)?, each)
    };
    let of_sample = |turn: &_| cpu(turn) / samples as f64;
    let command = format!("collectl {options} -i0 -c{samples} -f DIR");
    let mut row = SeedRow::new(Seed::Collectl, options, SAMPLE_US);
    if let Some((seconds, words)) = published {
        row = row.published(seconds * 1e6 / DAY_SAMPLES, words);
    }
    row.incumbent = figure(COLLECTL, &of_sample);
    row.whit = figure(WHIT, &of_sample);
    row.floor = figure(FLOOR, &of_sample);
    row.note_missing(row.incumbent.is_some(), || NO_COLLECTL.to_owned());
    row.command.clone_from(&command);
    let mut rows = vec![row];
    if options == SUMMARY {
        let mut memory = SeedRow::new(Seed::Collectl, "-scdnm, memory at most", "MiB");
        let mib = |turn: &_| resident(turn) / 1024.0;
        (memory.incumbent, memory.whit) = (figure(COLLECTL, &mib), figure(WHIT, &mib));
        let mut size = SeedRow::new(Seed::Collectl, "-scdnm, file", "bytes a sample");
        let bytes = |who: &str| {
            let bytes = measured.find(who)?.facts.bytes?;
            Figure::new(who.to_owned(), vec![bytes as f64 / samples as f64])
        };
        (size.incumbent, size.whit) = (bytes(COLLECTL), bytes(WHIT));
        size.notes.push(
            "samples of a burst differ little, so they compress better than those of a day".into(),
        );
        for mut row in [memory, size] {
            row.note_missing(row.incumbent.is_some(), || NO_COLLECTL.to_owned());
            row.command.clone_from(&command);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// CPU time of a reading, without start and end of a program, in each round.
fn of_reading(contest: &Contest<Readings>, divisor: f64) -> Option<Figure> {
    let Readings { readings, start } = &contest.facts;
    let rounds = match start {
        None => contest.turns.iter().map(|turn| cpu(turn) / *readings as f64).collect(),
        Some(start) => {
            let rounds = contest.turns.iter().zip(&start.turns);
            let each = rounds.map(|(turn, start)| {
                beyond(cpu(turn), cpu(start)).map(|us| us / (readings - 1).max(1) as f64)
            });
            // Less than a start varies by: no figure.
            each.collect::<Option<Vec<f64>>>()?
        }
    };
    Figure::new(contest.name.clone(), rounds.iter().map(|us| us / divisor).collect())
}

fn processes_of(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let samples = bench.plan.size(4_320, 1_080);
    let plan = ProcessesPlan {
        rounds: bench.plan.rounds,
        samples,
        sleeper_readings: 0,
        sleepers: Vec::new(),
        quick: true,
    };
    let results = processes::measure_all(&plan, bench.programs, bench.progress)?;
    let published = |name: &str| match name {
        processes::ALL => Some((
            68.08 * 1e6 / DAY_READINGS / PUBLISHED_PROCESSES,
            "68.453 s real, 54.650 user, 13.430 system; 138 processes",
        )),
        processes::ONE_COMMAND => {
            Some((5.66 * 1e6 / DAY_READINGS, "5.721 s real, 4.480 user, 1.180 system"))
        }
        processes::ONE_COMMAND_NO_NEW => {
            Some((5.06 * 1e6 / DAY_READINGS, "5.080 s real, 3.930 user, 1.130 system"))
        }
        _ => None,
    };
    let mut rows = Vec::new();
    for case in &results.cases {
        let is_of_one = case.name.contains(processes::ONE_COMMAND);
        let (unit, divisor) = match is_of_one {
            true => (READING_US, 1.0),
            false => ("CPU us a process", case.facts.max(1) as f64),
        };
        let mut row = SeedRow::new(Seed::Collectl, case.name.clone(), unit);
        if let Some((us, words)) = published(&case.name) {
            row = row.published(us, words);
        }
        let figure = |who: &str| of_reading(case.find(who)?, divisor);
        row.incumbent = figure(processes::COLLECTL);
        row.whit = figure(processes::WHIT);
        row.floor = figure(processes::ITERATOR).or_else(|| figure(processes::WALK));
        row.columns.insert("processes".to_owned(), case.facts.into());
        row.command = format!("collectl {} -i0 -c{samples} -f DIR", case.name);
        row.notes.extend(results.notes.iter().cloned());
        if case.name == processes::NO_IO {
            row.notes.push("published: their I/O adds over 25 % to reading processes".to_owned());
        }
        let is_there = row.whit.is_some();
        row.note_missing(is_there, || "a reading costs less than starts differ by".to_owned());
        rows.push(row);
    }
    Ok(rows)
}

/// The effect of the interval: between two samples a second apart caches get cold.
fn one_second(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = record_plan(bench.plan);
    let what = [SUMMARY.to_owned()];
    let mut rounds = [Vec::new(), Vec::new()];
    let programs = [Some(&bench.programs.whit), bench.programs.collectl.as_ref()];
    for _ in 0..plan.rounds {
        for (program, rounds) in programs.iter().zip(&mut rounds) {
            let Some(program) = program else { continue };
            let is_whit = *program == &bench.programs.whit;
            let make = |samples, folder: &Path| {
                suite::record(program, is_whit, &what, "1", samples, folder)
            };
            let name = if is_whit { WHIT } else { COLLECTL };
            rounds
                .extend(suite::slow_one(name, make, &plan, bench.programs, bench.progress)?.cpu_us);
        }
    }
    let mut row = SeedRow::new(Seed::Collectl, "-scdnm, one sample a second", SAMPLE_US);
    let [whit, collectl] = rounds;
    row.whit = Figure::new(WHIT, whit);
    row.incumbent = Figure::new(COLLECTL, collectl);
    row.note_missing(bench.programs.collectl.is_some(), || NO_COLLECTL.to_owned());
    let is_there = row.whit.is_some();
    row.note_missing(is_there, || "this kernel keeps no scheduler statistics".to_owned());
    row.notes.push("the interval's effect was left open: compare with -scdnm at interval 0".into());
    row.command = format!("collectl -scdnm -i1 -c{} -f DIR", plan.slow_samples);
    Ok(vec![row])
}

/// What compression of raw files costs, which was left open.
fn compression_of(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = record_plan(bench.plan);
    let what = [SUMMARY.to_owned()];
    let folder = tempfile::tempdir()?;
    let mut cost = SeedRow::new(Seed::Collectl, "-scdnm, compression alone", SAMPLE_US);
    let mut size = SeedRow::new(Seed::Collectl, "-scdnm, not compressed", "bytes a sample");
    let samples = plan.samples as f64;
    let whit = &bench.programs.whit;
    run_quietly(&mut suite::record(whit, true, &what, "0", plan.samples, folder.path()))?;
    let ours = file_in(folder.path(), ".whit")?;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let ways = compression::table(&ours, folder.path())?;
        let us = |is_wanted: &dyn Fn(&compression::Stored) -> bool| {
            ways.iter().find(|way| is_wanted(way)).and_then(|way| way.cpu_us)
        };
        let plain = ways.iter().find(|way| way.way == compression::PLAIN);
        size.whit = plain.and_then(|way| Figure::new(WHIT, vec![way.bytes as f64 / samples]));
        let both = us(&|way| way.is_default).zip(us(&|way| way.way == compression::PLAIN));
        rounds.extend(both.and_then(|(packed, plain)| Some(beyond(packed, plain)? / samples)));
    }
    cost.whit = Figure::new(WHIT, rounds);
    if let Some(collectl) = &bench.programs.collectl {
        bench.progress.show("collectl records");
        run_quietly(&mut suite::record(collectl, false, &what, "0", plan.samples, folder.path()))?;
        let packed = file_in(folder.path(), ".raw.gz")?;
        let gzip = bench.programs.path.find("gzip").context("gzip is not installed")?;
        let raw = folder.path().join("raw");
        let unpacked = Command::new(&gzip)
            .arg("-dc")
            .stdin(std::fs::File::open(&packed)?)
            .stdout(std::fs::File::create(&raw)?)
            .status()?;
        ensure!(unpacked.success(), "gzip -dc ended with {unpacked}");
        size.incumbent =
            Figure::new(COLLECTL, vec![std::fs::metadata(&raw)?.len() as f64 / samples]);
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            let mut command = Command::new(&gzip);
            command.arg("-c").stdin(std::fs::File::open(&raw)?).stdout(Stdio::null());
            let (status, turn) = run_any(&mut command)?;
            ensure!(status.success(), "{} ended with {status}", text_of(&command));
            rounds.push(cpu(&turn) / samples);
        }
        cost.incumbent = Figure::new("gzip of collectl's raw file", rounds);
    }
    let is_there = cost.whit.is_some();
    cost.note_missing(is_there, || "compression costs less than writing differs by".to_owned());
    let mut rows = vec![cost, size];
    for row in &mut rows {
        row.note_missing(bench.programs.collectl.is_some(), || NO_COLLECTL.to_owned());
        row.notes.push("collectl cannot write raw files that are not compressed".to_owned());
        row.command = "whit bench record --case -scdnm --long 300".to_owned();
    }
    Ok(rows)
}
