//! The tables of tracing.

use serde_json::{Value, json};

use super::tracers::{AFTER, BESIDE, FLOOR, WHIT};
use super::{Results, TraceLoad, TracePlan, TraceRow, added, load_s, middle_ns, times_slower};
use crate::contest::{Measurement, cpu, wall};
use crate::report::Report;
use crate::table::{Cell, Table};

/// The report of a run.
pub(super) fn report(plan: &TracePlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-trace", machine);
    report.keep("rounds", plan.rounds);
    report.say(format!(
        "Tracing: medians of {} rounds; times slower and ns added to each call by the middle slice \
         of each\n",
        plan.rounds
    ));
    // `~` marks a cost that is not firm.
    let added_text = |row: TraceRow<'_>| {
        added(row).map(|added| {
            Cell::Written(format!("{}{:.0}", if added.firm { "" } else { "~" }, added.ns))
        })
    };
    let table = Table::<TraceRow<'_>>::new()
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("load s", "load_s", 3, |(_, one)| load_s(one))
        .column("whole s", "whole_s", 3, |(_, one)| one.median(wall) / 1e6)
        .column("CPU s", "cpu_s", 3, |(_, one)| one.median(cpu) / 1e6)
        .column("x slower", "times_slower", 2, times_slower)
        .shown("ns/call", 0, added_text)
        .kept("added_ns_per_call", |row| added(row).map(|added| added.ns))
        .kept("in_every_round", |row| added(row).map(|added| added.firm))
        .column("lost", "lost", 0, |(_, one)| one.facts.lost);
    report.cases(
        "cases",
        &table,
        &results.cases,
        |case| {
            let calls = case.facts.calls * case.facts.slices;
            (Some(format!("{}  ({calls} calls)", case.name)), None)
        },
        |case| json!({ "case": case.name, "calls": case.facts.calls * case.facts.slices }),
    );
    report.say(
        "\nThe load times itself; the whole is it and its tracer from start to end.\n\
         ~: not more than the load itself varies by from round to round.",
    );
    conclude(results, &mut report);
    report.keep("strace_times_whit", results.strace_times().map(|(all, _)| all));
    report.notes(&results.notes);
    turns(results, &mut report);
    report
}

/// Adds the conclusions of the table.
fn conclude(results: &Results, report: &mut Report) {
    // The cheapest call shows best what is added to it.
    let added = |name: &str| {
        let mut cases = results.cases.iter().filter(|case| case.facts.what == TraceLoad::Getppid);
        Some(cases.find_map(|case| added((case, case.find(name)?)))?.ns)
    };
    report.say("");
    for (name, text) in [
        (WHIT, "a call that whit counts"),
        (BESIDE, "a call of another process than the one counted"),
        (FLOOR, "of these, the kernel's for calling two empty programs"),
        (AFTER, "a call after whit has detached"),
    ] {
        if let Some(ns) = added(name) {
            report.say(format!("{ns:>8.0} ns more: {text}"));
        }
    }
    if let Some((all, each)) = results.strace_times() {
        let each: Vec<String> =
            each.iter().map(|(what, times)| format!("{} {times:.0}", what.name())).collect();
        let each = each.join(", ");
        report.say(format!("{all:>8.0} times as much as whit -c strace adds ({each})"));
    }
}

/// Adds all turns: of the whole, and of the load by its median slice.
fn turns(results: &Results, report: &mut Report) {
    for case in &results.cases {
        for contest in &case.contests {
            let middle = middle_ns(contest).map(|ns| Measurement {
                wall_us: (ns * case.facts.slices as f64 / 1e3) as u64,
                ..Measurement::default()
            });
            let middle: Vec<_> = middle.collect();
            for (table, turns) in [("whole", &contest.turns), ("middle slice", &middle)] {
                report.turns(table, &case.name, &contest.name, turns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TracePlan {
        TracePlan { rounds: 2, loads: Vec::new(), files: 0 }
    }

    #[test]
    fn the_table_has_a_line_for_everybody() {
        let text = report(&plan(), &super::super::tests::results(), Value::Null).summary;
        let line = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(name));
            lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>()
        };
        assert_eq!(line("whit -c"), ["0.000", "0.010", "0.003", "3.50", "250", "0"]);
        assert_eq!(line("whit, not selected")[3..], ["1.05", "~5", "-"]);
        assert_eq!(line("strace -c -f")[3..], ["401.00", "40000", "-"]);
        assert!(text.contains("160 times as much as whit -c strace adds (getppid 160)"), "{text}");
        assert!(text.contains("250 ns more: a call that whit counts"), "{text}");
        assert!(text.ends_with("Note: perf is not installed.\n"), "{text}");
    }

    #[test]
    fn json_says_the_same() {
        let object = report(&plan(), &super::super::tests::results(), Value::Null).json;
        assert_eq!(object["strace_times_whit"], 160.0);
        let whit = &object["cases"][0]["contestants"][2];
        assert_eq!(whit["name"], "whit -c");
        assert_eq!(whit["added_ns_per_call"], 250.0);
        assert_eq!(object["cases"][0]["calls"], 30);
    }
}
