//! The tables of round-robin databases, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Contest, Results, Row, RrdPlan, STEP_MINUTES, Who};
use crate::measure::{Measurement, median};
use crate::report::optional;

fn wall(turn: &Measurement) -> f64 {
    turn.wall_us as f64
}

fn cpu(turn: &Measurement) -> f64 {
    turn.cpu_us() as f64
}

/// The numbers of a contestant.
struct Numbers {
    per_second: f64,
    wall_us: f64,
    cpu_us: f64,
    dirtied_bytes: Option<f64>,
    resident_mib: Option<f64>,
    /// Its CPU time as a multiple of the floor's.
    times_floor: Option<f64>,
    /// How many times as long rrdtool takes, and how many times its CPU time.
    rrdtool_wall: Option<f64>,
    rrdtool_cpu: Option<f64>,
}

impl Numbers {
    fn of(row: &Row, contest: &Contest) -> Self {
        let operations = row.operations as f64;
        let bytes: Vec<f64> = contest.dirtied_bytes.iter().map(|bytes| *bytes as f64).collect();
        let resident = contest.series.median(|turn| turn.resident_kib_max as f64) / 1024.0;
        let wall_us = contest.series.median(wall) / operations;
        let rrdtool = |of| row.times(Who::Rrdtool, contest.who, of);
        Numbers {
            per_second: 1e6 / wall_us,
            wall_us,
            cpu_us: contest.series.median(cpu) / operations,
            dirtied_bytes: (!bytes.is_empty()).then(|| median(bytes) / operations),
            resident_mib: (resident > 0.0).then_some(resident),
            times_floor: row.times(contest.who, Who::Floor, cpu),
            rrdtool_wall: rrdtool(wall),
            rrdtool_cpu: rrdtool(cpu),
        }
    }
}

/// The tables as text.  Writing to a string cannot fail.
pub(super) fn human(plan: &RrdPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &RrdPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    let RrdPlan { rounds, steps, .. } = plan;
    writeln!(out, "Round-robin databases: medians of {rounds} rounds, everybody in turn\n")?;
    writeln!(
        out,
        "{:<19} {:>10} {:>10} {:>10} {:>8} {:>9} {:>13} {:>13}",
        "", "per second", "wall us", "CPU us", "RSS MiB", "x floor", "rrdtool wall", "rrdtool CPU"
    )?;
    for row in &results.rows {
        writeln!(out, "{} ({})", row.name, row.operations)?;
        for contest in &row.contests {
            let numbers = Numbers::of(row, contest);
            writeln!(
                out,
                "  {:<17} {:>10.0} {:>10.2} {:>10.2} {:>8} {:>9} {:>13} {:>13}",
                contest.who.name(),
                numbers.per_second,
                numbers.wall_us,
                numbers.cpu_us,
                optional(numbers.resident_mib, 1),
                optional(numbers.times_floor, 2),
                optional(numbers.rrdtool_wall, 2),
                optional(numbers.rrdtool_cpu, 2),
            )?;
        }
    }
    if !results.pages.is_empty() {
        writeln!(out, "\nPages of 4 KiB that an update makes dirty, all clean before\n")?;
        for pages in &results.pages {
            let contests = pages.contests.iter();
            let contests: Vec<String> =
                contests.map(|(who, pages)| format!("{} {pages:.2}", who.name())).collect();
            writeln!(out, "  {:<36} {}", pages.name, contests.join(", "))?;
        }
    }
    writeln!(
        out,
        "\nUpdates of many files: {steps} of each file in a round, {STEP_MINUTES} minutes apart, all files in turn.\n\
         ahead: all lines written as fast as they are read; in rounds: an update of each file, and\n\
         all answers before the next; answered: each answer before the next line.  wall and CPU: of\n\
         one command, the program's start included.  floor: the bare writes of the same bytes, in a\n\
         loop; or a process that does nothing.  x floor: CPU time.  rrdtool wall, CPU: how many times\n\
         as much rrdtool takes."
    )?;
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

/// The tables as a JSON object.
pub(super) fn json(plan: &RrdPlan, results: &Results, machine: &Value) -> Value {
    let contest = |row: &Row, contest: &Contest| {
        let numbers = Numbers::of(row, contest);
        json!({
            "name": contest.who.name(),
            "per_second": numbers.per_second,
            "wall_us": numbers.wall_us,
            "cpu_us": numbers.cpu_us,
            "dirtied_bytes": numbers.dirtied_bytes,
            "resident_mib": numbers.resident_mib,
            "times_floor": numbers.times_floor,
            "rrdtool_wall": numbers.rrdtool_wall,
            "rrdtool_cpu": numbers.rrdtool_cpu,
        })
    };
    let rows = results.rows.iter().map(|row| {
        let contests: Vec<Value> = row.contests.iter().map(|one| contest(row, one)).collect();
        json!({
            "case": row.case.name(),
            "name": row.name,
            "operations": row.operations,
            "contestants": contests,
        })
    });
    let pages = results.pages.iter().map(|pages| {
        let contests = pages.contests.iter();
        let contests: Vec<Value> = contests
            .map(|(who, pages)| json!({ "name": who.name(), "pages_per_update": pages }))
            .collect();
        json!({ "name": pages.name, "contestants": contests })
    });
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "rows": rows.collect::<Vec<_>>(),
        "dirty_pages": pages.collect::<Vec<_>>(),
        "notes": results.notes,
    })
}
