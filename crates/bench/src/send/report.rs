//! The table of handing over.

use serde_json::Value;

use super::agents::Rival;
use super::hosts::{HostCost, HostsOutcome};
use super::{KIND, Row, SendPlan};
use crate::report::Report;
use crate::table::Table;

/// The report of a run; `missing` did not take part, and why.
pub(super) fn report(
    plan: &SendPlan,
    rows: &[Row],
    missing: &[(Rival, String)],
    machine: Value,
) -> Report {
    let mut report = Report::new(KIND, machine);
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
        "\nWhit: `whit record` and `whit send --follow`, both programs, to a receiver that counts, as\n\
         does collectd's write_http; the others are scraped once a second, packed if they can.\n\
         Bytes: payload of TCP, both directions.\n\
         A request has the samples of 2 s; every 1 s, of each second; every 5 s, of 5 s, and the\n\
         engine has them so much later.",
    );
    let note = |(rival, why): &(Rival, String)| {
        format!("{} is not measured: {}", rival.name(), why.trim_end_matches('.'))
    };
    let notes: Vec<String> = missing.iter().map(note).collect();
    report.notes(&notes);
    report
}

/// Adds how the hosts went.
pub(super) fn add_hosts(report: &mut Report, plan: &SendPlan, outcome: &HostsOutcome) {
    let HostsOutcome {
        values_s,
        twice,
        behind_max,
        behind,
        late_ms_max,
        idle_percent,
        processors,
        ..
    } = outcome;
    report.say(format!(
        "\n{} hosts for {} s: CPU, memory, disks, network and load at 1 s, by two senders into \
         victoria-metrics\n",
        plan.hosts, plan.hosts_seconds
    ));
    let table = Table::<&HostCost>::new()
        .column("", "name", 0, |cost| cost.name.as_str())
        .column("CPU, % of one", "cpu_percent", 1, |cost| cost.cpu_percent)
        .column("memory, most, MiB", "memory_mib", 1, |cost| cost.memory_mib);
    report.rows("hosts_costs", "", &table, &outcome.costs);
    report.say(format!(
        "\n{values_s:.0} values a second, all of them taken, {twice} of them twice.\n\
         Behind before the next second: at most {behind_max} s, at the end {behind} s.\n\
         The writer began a second at most {late_ms_max:.0} ms late; of {processors} processors \
         {idle_percent:.0} % of one were idle.\n{}",
        outcome.verdict()
    ));
    report.keep(
        "hosts",
        serde_json::json!({
            "hosts": plan.hosts,
            "seconds": plan.hosts_seconds,
            "values_s": values_s,
            "values_twice": twice,
            "behind_s_max": behind_max,
            "behind_s": behind,
            "late_ms_max": late_ms_max,
            "rest_ms": outcome.rest_ms,
            "idle_percent": idle_percent,
            "processors": processors,
            "verdict": outcome.verdict(),
        }),
    );
}
