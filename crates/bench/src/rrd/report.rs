//! The tables of round-robin databases.

use serde_json::{Value, json};

use super::{DirtyPages, Results, RrdPlan, RrdRow, STEP_MINUTES, Who};
use crate::contest::{Measurement, cpu, resident, wall};
use crate::report::Report;
use crate::table::Table;

/// The report of a run.
pub(super) fn report(plan: &RrdPlan, results: &Results, machine: Value) -> Report {
    let RrdPlan { rounds, steps, .. } = plan;
    let mut report = Report::new("-rrd", machine);
    report.keep("rounds", *rounds);
    report.say(format!("Round-robin databases: medians of {rounds} rounds, everybody in turn\n"));
    report.cases(
        "rows",
        &rows(),
        &results.rows,
        |row| (Some(format!("{} ({})", row.name, row.facts.operations)), None),
        |row| {
            let (case, operations) = (row.facts.case.name(), row.facts.operations);
            json!({ "case": case, "name": row.name, "operations": operations })
        },
    );
    pages(&results.pages, &mut report);
    report.say(format!(
        "\nUpdates of many files: {steps} of each file in a round, {STEP_MINUTES} minutes apart, all files in turn.\n\
         ahead: all lines written as fast as they are read; in rounds: an update of each file, and\n\
         all answers before the next; answered: each answer before the next line.  wall and CPU: of\n\
         one command, the program's start included.  floor: the bare writes of the same bytes, in a\n\
         loop; or a process that does nothing.  x floor: CPU time.  rrdtool wall, CPU: how many times\n\
         as much rrdtool takes."
    ));
    report.notes(&results.notes);
    for row in &results.rows {
        report.turns_of(row.facts.case.name(), std::slice::from_ref(row));
    }
    report
}

fn rows<'r>() -> Table<'r, RrdRow<'r>> {
    let each = |(row, _): RrdRow<'_>, number: f64| number / row.facts.operations as f64;
    let rrdtool = |(row, one): RrdRow<'_>, of: fn(&Measurement) -> f64| {
        row.times(Who::Rrdtool.name(), &one.name, of)
    };
    Table::<RrdRow<'_>>::new()
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("per second", "per_second", 0, move |row| 1e6 / each(row, row.1.median(wall)))
        .column("wall us", "wall_us", 2, move |row| each(row, row.1.median(wall)))
        .column("CPU us", "cpu_us", 2, move |row| each(row, row.1.median(cpu)))
        .kept("dirtied_bytes", move |row| {
            row.1.median_of(|turn| turn.dirtied_bytes).map(|bytes| each(row, bytes))
        })
        .column("RSS MiB", "resident_mib", 1, |(_, one)| {
            Some(one.median(resident) / 1024.0).filter(|mib| *mib > 0.0)
        })
        .column("x floor", "times_floor", 2, |(row, one)| {
            row.times(&one.name, Who::Floor.name(), cpu)
        })
        .column("rrdtool wall", "rrdtool_wall", 2, move |row| rrdtool(row, wall))
        .column("rrdtool CPU", "rrdtool_cpu", 2, move |row| rrdtool(row, cpu))
}

fn pages(all: &[DirtyPages], report: &mut Report) {
    if !all.is_empty() {
        report.say("\nPages of 4 KiB that an update makes dirty, all clean before\n");
    }
    let mut objects = Vec::new();
    for DirtyPages { name, contests } in all {
        let table = Table::<&(Who, f64)>::new()
            .kept("name", |(who, _)| who.name())
            .kept("pages_per_update", |(_, pages)| *pages);
        objects.push(json!({ "name": name, "contestants": table.objects(contests) }));
        let said: Vec<String> =
            contests.iter().map(|(who, pages)| format!("{} {pages:.2}", who.name())).collect();
        report.say(format!("  {name:<36} {}", said.join(", ")));
    }
    report.keep("dirty_pages", objects);
}
