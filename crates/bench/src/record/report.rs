//! The tables of recording.

use serde_json::{Value, json};

use super::compression::Stored;
use super::{COLLECTL, FLOOR, LongResult, RecordPlan, RecordRow, Results, SlowResult, WHIT};
use crate::contest::{Contest, cpu, resident, wall};
use crate::report::Report;
use crate::table::Table;

/// The report of a run.
pub(super) fn report(plan: &RecordPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("", machine);
    report.keep("rounds", plan.rounds);
    report.keep("samples", plan.samples);
    classic(plan, results, &mut report);
    slow(results, &mut report);
    long(plan, results, &mut report);
    report.keep("compression_of", results.compression_of.as_str());
    compression(results, &mut report);
    report.keep("play_letters", results.play_letters.as_str());
    play(plan, results, &mut report);
    report.notes(&results.notes);
    report.turns_of("record", &results.cases);
    for contest in &results.play {
        report.turns("play", &results.play_letters, &contest.name, &contest.turns);
    }
    for one in &results.long {
        report.turns("sizes", &one.command, &one.name, &[one.measurement]);
    }
    report
}

fn classic(plan: &RecordPlan, results: &Results, report: &mut Report) {
    let RecordPlan { samples, rounds, .. } = *plan;
    let each = move |number: f64| number / samples as f64;
    let table = Table::<RecordRow<'_>>::new()
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("CPU ms", "cpu_ms", 1, |(_, one)| one.median(cpu) / 1e3)
        .column("wall ms", "wall_ms", 1, |(_, one)| one.median(wall) / 1e3)
        .shown("us/sample", 1, move |(_, one)| each(one.median(cpu)))
        .column("x floor", "times_floor", 2, |(case, one)| case.times(&one.name, FLOOR, cpu))
        .column("bytes/s.", "bytes_per_sample", 1, move |(_, one)| {
            one.facts.bytes.map(|bytes| each(bytes as f64))
        })
        .column("calls/s", "calls_per_sample", 1, |(_, one)| one.facts.calls_per_sample)
        .column("RSS KiB", "resident_kib", 0, |(_, one)| one.median(resident))
        .hiding_zero();
    report.say(format!(
        "Recording, -i0 -c{samples}: medians of {rounds} rounds, CPU = user + system\n"
    ));
    report.cases(
        "record",
        &table,
        &results.cases,
        |case| {
            let times = case.times(COLLECTL, WHIT, cpu);
            let times =
                times.map(|times| format!("collectl needs {times:.1} times the CPU of whit"));
            (Some(format!("{}  ({} files at each sample)", case.name, case.facts.files)), times)
        },
        |case| {
            json!({
                "case": case.name,
                "letters": case.facts.letters,
                "files": case.facts.files,
                "collectl_times_whit": case.times(COLLECTL, WHIT, cpu),
            })
        },
    );
}

fn slow(results: &Results, report: &mut Report) {
    let table = Table::<&SlowResult>::new()
        .column("", "name", 0, |one| one.name.as_str())
        .kept("command", |one| one.command.as_str())
        .column("schedstat us", "cpu_us_per_sample", 0, |one| one.cpu_us)
        .column("perf task-clock us", "task_clock_us_per_sample", 0, |one| one.task_clock_us);
    let title = "\nOne sample a second, CPU of a sample (start and end taken off)\n";
    report.rows("one_second", title, &table, &results.slow);
}

fn long(plan: &RecordPlan, results: &Results, report: &mut Report) {
    let seconds = plan.long_seconds;
    report.keep("long_seconds", seconds);
    let table = Table::<&LongResult>::new()
        .column("", "name", 0, |one| one.name.as_str())
        .kept("command", |one| one.command.as_str())
        .column("bytes", "bytes", 0, |one| one.bytes)
        .shown("a sample", 1, move |one| one.bytes as f64 / seconds.max(1) as f64)
        .column("ms CPU", "cpu_ms", 1, |one| cpu(&one.measurement) / 1e3)
        .shown("command", 0, |one| one.command.as_str());
    let title = format!("\nSizes after {seconds} s, one sample a second, both at once\n");
    report.rows("sizes", title, &table, &results.long);
    if let [ours, theirs] = results.long.as_slice() {
        let times = theirs.bytes as f64 / ours.bytes.max(1) as f64;
        report.say(format!("collectl writes {times:.1} times the bytes of whit"));
    }
}

fn compression(results: &Results, report: &mut Report) {
    let each = |one: &Stored, number: f64| number / one.samples.max(1) as f64;
    let table = Table::<&Stored>::new()
        .column("", "way", 0, |one| one.way)
        .kept("default", |one| one.is_default)
        .column("bytes/sample", "bytes_per_sample", 1, move |one| each(one, one.bytes as f64))
        .column("writer us/sample", "writer_us_per_sample", 2, move |one| {
            one.cpu_us.map(|us| each(one, us))
        })
        .shown("", 0, |one| if one.is_default { "(the default)" } else { "" });
    let title = format!("\nCompression: {}\n", results.compression_of);
    report.rows("compression", title, &table, &results.compression);
}

fn play(plan: &RecordPlan, results: &Results, report: &mut Report) {
    let table = Table::<&Contest>::new()
        .column("", "name", 0, |one| one.name.as_str())
        .column("CPU ms", "cpu_ms", 1, |one| one.median(cpu) / 1e3)
        .column("wall ms", "wall_ms", 1, |one| one.median(wall) / 1e3)
        .shown("x the first", 1, |one| one.ratio(&results.play[0], cpu));
    let title = format!(
        "\nPlaying {} samples of -s{} with -P: medians of {} rounds\n",
        plan.samples, results.play_letters, plan.play_rounds
    );
    report.rows("play", title, &table, &results.play);
}
