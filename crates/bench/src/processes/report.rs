//! The tables of processes.

use serde_json::{Value, json};

use super::{COLLECTL, ProcessRow, ProcessesPlan, Results, WHIT, WHIT_PROC, times, us_per_process};
use crate::contest::{cpu, resident};
use crate::report::Report;
use crate::table::Table;

/// The report of a run.
pub(super) fn report(plan: &ProcessesPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-processes", machine);
    report.keep("rounds", plan.rounds);
    report.keep("samples", plan.samples);
    report.say(format!(
        "Processes, -i0 into a file: medians of {} rounds, CPU = user + system; a reading of a process \
         without start and end\n",
        plan.rounds
    ));
    let table = Table::<ProcessRow<'_>>::new()
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("readings", "readings", 0, |(_, one)| one.facts.readings)
        .column("CPU ms", "cpu_ms", 1, |(_, one)| one.median(cpu) / 1e3)
        .column("start ms", "start_ms", 1, |(_, one)| {
            one.facts.start.as_ref().map(|start| start.median(cpu) / 1e3)
        })
        .column("us/pr./read.", "us_per_process", 3, us_per_process)
        .column("x whit", "times_whit", 2, |(case, one)| times(case, &one.name, WHIT))
        .column("RSS KiB", "resident_kib", 0, |(_, one)| one.median(resident))
        .hiding_zero();
    report.cases(
        "processes",
        &table,
        &results.cases,
        |case| (Some(format!("{}  ({} processes)", case.name, case.facts)), None),
        |case| {
            json!({
                "case": case.name,
                "processes": case.facts,
                "collectl_times_whit": times(case, COLLECTL, WHIT),
                "collectl_times_whit_by_proc": times(case, COLLECTL, WHIT_PROC),
            })
        },
    );
    report.notes(&results.notes);
    let mut rows =
        results.cases.iter().flat_map(|case| case.contests.iter().map(move |one| (case, one)));
    if rows.any(|row| us_per_process(row).is_none()) {
        report
            .say("\nNote: -: readings cost less than starts differ by; take more with --samples.");
    }
    for case in &results.cases {
        for contest in &case.contests {
            report.turns("processes", &case.name, &contest.name, &contest.turns);
            if let Some(start) = &contest.facts.start {
                report.turns("start and end", &case.name, &contest.name, &start.turns);
            }
        }
    }
    report
}
