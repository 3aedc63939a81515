//! The tables of questions to recordings.

use serde_json::{Value, json};

use super::{ArchivePlan, Results, Stored};
use crate::contest::{cpu, resident, wall};
use crate::report::{Report, Row};
use crate::table::Table;

/// The report of a run.
pub(super) fn report(plan: &ArchivePlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-archive", machine);
    report.keep("rounds", plan.rounds);
    report.say(format!(
        "Questions to recordings: medians of {} rounds; a day is {} s at 1 s, all days are {} of one \
         CPU;\n{} processes for {} s\n",
        plan.rounds, plan.seconds, plan.days, plan.processes, plan.process_seconds
    ));
    let stored = Table::<&Stored>::new()
        .column("store", "name", 0, |one| one.name)
        .column("values", "values", 0, |one| one.values)
        .column("bytes", "bytes", 0, |one| one.bytes)
        .column("bytes a value", "bytes_a_value", 3, |one| each(one.bytes, one.values))
        .column("CPU us a sample", "cpu_us_a_sample", 2, |one| {
            each(one.cost.cpu_us(), one.samples)
        });
    report.rows("stored", "", &stored, &results.stored);
    report.say(
        "\nCPU: of drawing the values and writing them, by whit's writer; of side files, which are made\n\
         in the background; of the others' imports, which is not what their scrapes cost.\n",
    );
    let queries = Table::<Row<'_, (), ()>>::new()
        .column("question", "name", 0, |(_, one)| one.name.as_str())
        .column("wall ms", "wall_ms", 1, |(_, one)| one.median(wall) / 1e3)
        .column("CPU ms", "cpu_ms", 1, |(_, one)| one.median(cpu) / 1e3)
        .column("RSS MiB", "resident_mib", 1, |(_, one)| one.median(resident) / 1024.0)
        .shown("whit wall x", 2, |(case, one)| case.times(&one.name, "whit", wall));
    report.cases(
        "queries",
        &queries,
        &results.queries,
        |case| (Some(case.name.clone()), None),
        |case| json!({ "name": case.name }),
    );
    report.say(
        "\nWhit is a process for each question, its start included.  cold: its files are not in the page\n\
         cache.  whit wall x: wall time as a multiple of that of whit without a side file.  RSS MiB of\n\
         servers: the peak since their start.",
    );
    report.notes(&results.notes);
    report.turns_of("queries", &results.queries);
    report
}

fn each(amount: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| amount as f64 / of as f64)
}
