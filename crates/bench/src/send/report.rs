//! The table of handing over.

use serde_json::Value;

use super::agents::Rival;
use super::{Row, SendPlan};
use crate::report::Report;
use crate::table::Table;

/// The report of a run; `missing` did not take part, and why.
pub(super) fn report(
    plan: &SendPlan,
    rows: &[Row],
    missing: &[(Rival, String)],
    machine: Value,
) -> Report {
    let mut report = Report::new("-send", machine);
    report.keep("rounds", plan.rounds);
    report.keep("seconds", plan.seconds);
    report.say(format!(
        "Handing over CPU, memory, disks, network and load at 1 s, for each value; medians of {} rounds \
         of {} s\n",
        plan.rounds, plan.seconds
    ));
    let table = Table::<&Row>::new()
        .column("", "name", 0, |row| row.name.as_str())
        .column("values a s", "values_s", 0, |row| row.values_s)
        .column("CPU us a value", "cpu_us", 2, |row| row.cpu_us)
        .column("bytes a value", "bytes", 2, |row| row.bytes)
        .column("CPU ms a s", "cpu_ms_s", 2, |row| row.cpu_us * row.values_s / 1e3)
        .column("bytes a s", "bytes_s", 0, |row| row.bytes * row.values_s)
        .column("PSS MiB", "memory_mib", 1, |row| row.memory_mib);
    report.rows("send", "", &table, rows);
    report.say(
        "\nWhit: `whit record` and `whit send --follow`, both programs, to a receiver that counts; the others\n\
         are scraped once a second, packed if they can.  Bytes: payload of TCP, both directions.\n\
         Every 5 s: a request has the samples of 5 s, and the engine has them so much later.",
    );
    let note = |(rival, why): &(Rival, String)| {
        format!("{} is not measured: {}", rival.name(), why.trim_end_matches('.'))
    };
    let notes: Vec<String> = missing.iter().map(note).collect();
    report.notes(&notes);
    report
}
