//! The tables of processes, as text and as JSON.

use std::fmt::Write;

use crate::measure::Series;
use serde_json::{Value, json};

use super::{COLLECTL, CaseResult, Contest, ProcessesPlan, Results, WHIT, WHIT_PROC};
use crate::report::optional;

/// The tables as text.  Writing to a string cannot fail.
pub(crate) fn human(plan: &ProcessesPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &ProcessesPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "Processes, -i0 into a file: medians of {} rounds, CPU = user + system; a reading \
         of a process without start and end\n",
        plan.rounds
    )?;
    writeln!(
        out,
        "{:<16} {:>9} {:>10} {:>9} {:>12} {:>9} {:>9}",
        "", "readings", "CPU ms", "start ms", "us/pr./read.", "x whit", "RSS KiB"
    )?;
    for case in &results.cases {
        writeln!(out, "{}  ({} processes)", case.name, case.processes)?;
        for contest in &case.contests {
            line(case, contest, out)?;
        }
    }
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    let is_lost = |case: &CaseResult| {
        case.contests.iter().any(|one| one.us_per_process(case.processes).is_none())
    };
    if results.cases.iter().any(is_lost) {
        writeln!(
            out,
            "\nNote: -: readings cost less than starts differ by; take more with --samples."
        )?;
    }
    Ok(())
}

fn line(case: &CaseResult, contest: &Contest, out: &mut String) -> std::fmt::Result {
    let resident = contest.series.median(|one| one.resident_kib_max as f64);
    let start = contest.start.as_ref().map(cpu_ms);
    writeln!(
        out,
        "  {:<14} {:>9} {:>10.1} {:>9} {:>12} {:>9} {:>9}",
        contest.series.name,
        contest.readings,
        cpu_ms(&contest.series),
        optional(start, 1),
        optional(contest.us_per_process(case.processes), 3),
        optional(case.times(&contest.series.name, WHIT), 2),
        optional(Some(resident).filter(|kib| *kib > 0.0), 0),
    )
}

fn cpu_ms(series: &Series) -> f64 {
    series.median(|one| one.cpu_us() as f64) / 1e3
}

/// The tables as a JSON object.
pub(crate) fn json(plan: &ProcessesPlan, results: &Results, machine: &Value) -> Value {
    let contest = |case: &CaseResult, contest: &Contest| {
        json!({
            "name": contest.series.name,
            "readings": contest.readings,
            "cpu_ms": cpu_ms(&contest.series),
            "start_ms": contest.start.as_ref().map(cpu_ms),
            "us_per_process": contest.us_per_process(case.processes),
            "times_whit": case.times(&contest.series.name, WHIT),
            "resident_kib": contest.series.median(|one| one.resident_kib_max as f64),
        })
    };
    let case = |case: &CaseResult| {
        json!({
            "case": case.name,
            "processes": case.processes,
            "collectl_times_whit": case.times(COLLECTL, WHIT),
            "collectl_times_whit_by_proc": case.times(COLLECTL, WHIT_PROC),
            "contestants": case.contests.iter().map(|one| contest(case, one)).collect::<Vec<_>>(),
        })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "samples": plan.samples,
        "processes": results.cases.iter().map(case).collect::<Vec<_>>(),
        "notes": results.notes,
    })
}
