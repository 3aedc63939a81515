//! The tables of tracing, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::tracers::{AFTER, BESIDE, FLOOR, WHIT};
use super::{CaseResult, Contest, Results, TraceLoad, TracePlan};
use crate::report::optional;

/// The tables as text.  Writing to a string cannot fail.
pub(crate) fn human(plan: &TracePlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &TracePlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "Tracing: medians of {} rounds; times slower and ns added to each call by the middle \
         slice of each\n",
        plan.rounds
    )?;
    writeln!(
        out,
        "{:<28} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8}",
        "", "load s", "whole s", "CPU s", "x slower", "ns/call", "lost"
    )?;
    for case in &results.cases {
        writeln!(out, "{}  ({} calls)", case.name, case.calls * case.slices)?;
        for contest in &case.contests {
            line(case, contest, out)?;
        }
    }
    writeln!(out, "\nThe load times itself; the whole is it and its tracer from start to end.")?;
    writeln!(out, "~: not more than the load itself varies by from round to round.")?;
    conclude(results, out)?;
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

fn line(case: &CaseResult, contest: &Contest, out: &mut String) -> std::fmt::Result {
    let added = case.added(contest);
    let mark = if added.is_some_and(|added| !added.firm) { "~" } else { "" };
    writeln!(
        out,
        "  {:<26} {:>8.3} {:>8.3} {:>8.3} {:>9} {:>10} {:>8}",
        contest.name,
        contest.load_s(),
        contest.whole.median(|one| one.wall_us as f64) / 1e6,
        contest.whole.median(|one| one.cpu_us() as f64) / 1e6,
        optional(case.times(contest), 2),
        format!("{mark}{}", optional(added.map(|added| added.ns), 0)),
        contest.lost.map_or_else(|| "-".to_owned(), |lost| lost.to_string()),
    )
}

/// The conclusions of the table.
fn conclude(results: &Results, out: &mut String) -> std::fmt::Result {
    // The cheapest call shows best what is added to it.
    let added = |name: &str| {
        let mut cases = results.cases.iter().filter(|case| case.what == TraceLoad::Getppid);
        Some(cases.find_map(|case| case.added(case.find(name)?))?.ns)
    };
    let conclusions = [
        (WHIT, "a call that whit counts"),
        (BESIDE, "a call of another process than the one counted"),
        (FLOOR, "of these, the kernel's for calling two empty programs"),
        (AFTER, "a call after whit has detached"),
    ];
    writeln!(out)?;
    for (name, text) in conclusions {
        if let Some(ns) = added(name) {
            writeln!(out, "{ns:>8.0} ns more: {text}")?;
        }
    }
    if let Some((all, each)) = results.strace_times() {
        let each: Vec<String> =
            each.iter().map(|(what, times)| format!("{} {times:.0}", what.name())).collect();
        writeln!(out, "{all:>8.0} times as much as whit -c strace adds ({})", each.join(", "))?;
    }
    Ok(())
}

/// The tables as a JSON object.
pub(crate) fn json(plan: &TracePlan, results: &Results, machine: &Value) -> Value {
    let contest = |case: &CaseResult, contest: &Contest| {
        let added = case.added(contest);
        json!({
            "name": contest.name,
            "load_s": contest.load_s(),
            "whole_s": contest.whole.median(|one| one.wall_us as f64) / 1e6,
            "cpu_s": contest.whole.median(|one| one.cpu_us() as f64) / 1e6,
            "times_slower": case.times(contest),
            "added_ns_per_call": added.map(|added| added.ns),
            "in_every_round": added.map(|added| added.firm),
            "lost": contest.lost,
        })
    };
    let case = |case: &CaseResult| {
        json!({
            "case": case.name,
            "calls": case.calls * case.slices,
            "contestants": case.contests.iter().map(|one| contest(case, one)).collect::<Vec<_>>(),
        })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "cases": results.cases.iter().map(case).collect::<Vec<_>>(),
        "strace_times_whit": results.strace_times().map(|(all, _)| all),
        "notes": results.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TracePlan {
        TracePlan { rounds: 2, loads: Vec::new(), files: 0 }
    }

    #[test]
    fn the_table_has_a_line_for_everybody() {
        let text = human(&plan(), &super::super::tests::results());
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
        let object = json(&plan(), &super::super::tests::results(), &Value::Null);
        assert_eq!(object["strace_times_whit"], 160.0);
        let whit = &object["cases"][0]["contestants"][2];
        assert_eq!(whit["name"], "whit -c");
        assert_eq!(whit["added_ns_per_call"], 250.0);
        assert_eq!(object["cases"][0]["calls"], 30);
    }
}
