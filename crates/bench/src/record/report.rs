//! The tables of recording, as text and as JSON.

use std::fmt::Write;

use crate::measure::{Measurement, Series, ratio};
use crate::report::optional;
use serde_json::{Value, json};

use super::compression::Stored;
use super::{COLLECTL, CaseResult, Contest, FLOOR, RecordPlan, Results, WHIT};

/// The CPU time of `this` as a multiple of that of `base`, by rounds; `None` if one of them was
/// below the clock's resolution.
fn cpu_ratio(case: &CaseResult, this: &str, base: &str) -> Option<f64> {
    let cpu = |one: &Measurement| one.cpu_us() as f64;
    let times = ratio(&case.find(this)?.series, &case.find(base)?.series, cpu);
    (times > 0.0).then_some(times)
}

/// The tables as text.  Writing to a string cannot fail.
pub(crate) fn human(plan: &RecordPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &RecordPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    classic(plan, results, out)?;
    slow(results, out)?;
    long(plan, results, out)?;
    compression(results, out)?;
    play(plan, results, out)?;
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

fn classic(plan: &RecordPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "Recording, -i0 -c{}: medians of {} rounds, CPU = user + system\n",
        plan.samples, plan.rounds
    )?;
    writeln!(
        out,
        "{:<10} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7} {:>8}",
        "", "CPU ms", "wall ms", "us/sample", "x floor", "bytes/s.", "calls/s", "RSS KiB"
    )?;
    for case in &results.cases {
        writeln!(out, "{}  ({} files at each sample)", case.name, case.files)?;
        for contest in &case.contestants {
            let name = contest.series.name.as_str();
            writeln!(
                out,
                "  {:<8} {:>9.1} {:>9.1} {:>9.1} {:>8} {:>8} {:>7} {:>8}",
                name,
                contest.cpu_ms(),
                contest.wall_ms(),
                contest.cpu_ms() * 1e3 / plan.samples as f64,
                optional(cpu_ratio(case, name, FLOOR), 2),
                optional(contest.bytes.map(|bytes| bytes as f64 / plan.samples as f64), 1),
                optional(contest.calls_per_sample, 1),
                optional(Some(contest.resident_kib()).filter(|kib| *kib > 0.0), 0),
            )?;
        }
        if let Some(times) = cpu_ratio(case, COLLECTL, WHIT) {
            writeln!(out, "  collectl needs {times:.1} times the CPU of whit")?;
        }
    }
    Ok(())
}

fn slow(results: &Results, out: &mut String) -> std::fmt::Result {
    if results.slow.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOne sample a second, CPU of a sample (start and end taken off)\n")?;
    writeln!(out, "{:<30} {:>12} {:>20}", "", "wait4 us", "perf task-clock us")?;
    for one in &results.slow {
        let (cpu, clock) = (optional(one.cpu_us, 0), optional(one.task_clock_us, 0));
        writeln!(out, "{:<30} {cpu:>12} {clock:>20}", one.name)?;
    }
    Ok(())
}

fn long(plan: &RecordPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    if results.long.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nSizes after {} s, one sample a second, both at once\n", plan.long_seconds)?;
    for one in &results.long {
        let each = one.bytes as f64 / plan.long_seconds.max(1) as f64;
        let cpu_ms = one.measurement.cpu_us() as f64 / 1e3;
        writeln!(
            out,
            "{:<10} {:>10} bytes {each:>9.1} a sample {cpu_ms:>9.1} ms CPU   {}",
            one.name, one.bytes, one.command
        )?;
    }
    if let [ours, theirs] = results.long.as_slice() {
        let times = theirs.bytes as f64 / ours.bytes.max(1) as f64;
        writeln!(out, "collectl writes {times:.1} times the bytes of whit")?;
    }
    Ok(())
}

fn compression(results: &Results, out: &mut String) -> std::fmt::Result {
    if results.compression.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nCompression: {}\n", results.compression_of)?;
    writeln!(out, "{:<16} {:>14} {:>18}", "", "bytes/sample", "writer us/sample")?;
    for one in &results.compression {
        let bytes = one.bytes as f64 / one.samples.max(1) as f64;
        let cpu = optional(writer_us(one), 2);
        let mark = if one.is_default { "  (the default)" } else { "" };
        writeln!(out, "{:<16} {bytes:>14.1} {cpu:>18}{mark}", one.way)?;
    }
    Ok(())
}

/// CPU time of the writer for a sample.
fn writer_us(one: &Stored) -> Option<f64> {
    one.cpu_us.map(|us| us / one.samples.max(1) as f64)
}

fn play(plan: &RecordPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    if results.play.is_empty() {
        return Ok(());
    }
    let RecordPlan { samples, play_rounds, .. } = plan;
    let letters = &results.play_letters;
    writeln!(
        out,
        "\nPlaying {samples} samples of -s{letters} with -P: medians of {play_rounds} rounds\n"
    )?;
    writeln!(out, "{:<24} {:>10} {:>10} {:>12}", "", "CPU ms", "wall ms", "x the first")?;
    let cpu = |one: &Measurement| one.cpu_us() as f64;
    for series in &results.play {
        let times = ratio(series, &results.play[0], cpu);
        let (cpu_ms, wall_ms) = (series.median(cpu) / 1e3, wall_ms(series));
        writeln!(out, "{:<24} {cpu_ms:>10.1} {wall_ms:>10.1} {times:>12.1}", series.name)?;
    }
    Ok(())
}

fn wall_ms(series: &Series) -> f64 {
    series.median(|one| one.wall_us as f64) / 1e3
}

/// The tables as a JSON object.
pub(crate) fn json(plan: &RecordPlan, results: &Results, machine: &Value) -> Value {
    let contest = |case: &CaseResult, contest: &Contest| {
        json!({
            "name": contest.series.name,
            "cpu_ms": contest.cpu_ms(),
            "wall_ms": contest.wall_ms(),
            "times_floor": cpu_ratio(case, &contest.series.name, FLOOR),
            "bytes_per_sample": contest.bytes.map(|bytes| bytes as f64 / plan.samples as f64),
            "calls_per_sample": contest.calls_per_sample,
            "resident_kib": contest.resident_kib(),
        })
    };
    let case = |case: &CaseResult| {
        json!({
            "case": case.name,
            "letters": case.letters,
            "files": case.files,
            "collectl_times_whit": cpu_ratio(case, COLLECTL, WHIT),
            "contestants": case.contestants.iter().map(|c| contest(case, c)).collect::<Vec<_>>(),
        })
    };
    let slow = |one: &super::SlowResult| {
        json!({
            "name": one.name,
            "command": one.command,
            "cpu_us_per_sample": one.cpu_us,
            "task_clock_us_per_sample": one.task_clock_us,
        })
    };
    let long = |one: &super::LongResult| {
        json!({
            "name": one.name,
            "command": one.command,
            "bytes": one.bytes,
            "cpu_ms": one.measurement.cpu_us() as f64 / 1e3,
        })
    };
    let stored = |one: &Stored| {
        json!({
            "way": one.way,
            "default": one.is_default,
            "bytes_per_sample": one.bytes as f64 / one.samples.max(1) as f64,
            "writer_us_per_sample": writer_us(one),
        })
    };
    let played = |series: &Series| {
        let cpu_ms = series.median(|one| one.cpu_us() as f64) / 1e3;
        json!({ "name": series.name, "cpu_ms": cpu_ms, "wall_ms": wall_ms(series) })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "samples": plan.samples,
        "record": results.cases.iter().map(case).collect::<Vec<_>>(),
        "one_second": results.slow.iter().map(slow).collect::<Vec<_>>(),
        "long_seconds": plan.long_seconds,
        "sizes": results.long.iter().map(long).collect::<Vec<_>>(),
        "compression_of": results.compression_of,
        "compression": results.compression.iter().map(stored).collect::<Vec<_>>(),
        "play_letters": results.play_letters,
        "play": results.play.iter().map(played).collect::<Vec<_>>(),
        "notes": results.notes,
    })
}
