//! The table of the service.

use serde_json::Value;

use super::{Outcome, WatchPlan};
use crate::report::Report;
use crate::table::{Cell, Table};

/// A row: what, the most that whit may have, and the value of each.
struct Line {
    what: &'static str,
    key: &'static str,
    most: Option<f64>,
    values: [Option<f64>; 2],
}

type Take = fn(&Outcome) -> Option<f64>;

/// What is compared, its key, and the goal of whit.
const LINES: [(&str, &str, Option<f64>, Take); 13] = [
    ("CPU, nobody looks, % of one", "cpu_percent", Some(0.5), |one| Some(one.cpu_percent)),
    ("CPU, a page follows, % of one", "live_percent", None, |one| one.live_percent),
    ("memory (PSS), MiB", "memory_mib", Some(30.0), |one| Some(mib(one.memory_bytes as f64))),
    ("processes", "processes", None, |one| Some(one.processes as f64)),
    ("written a day, MiB", "written_day_mib", None, |one| Some(mib(one.written_day))),
    ("kept a day, MiB", "kept_day_mib", None, |one| Some(mib(one.kept_day))),
    ("start to first answer, ms", "first_answer_ms", None, |one| Some(one.first_answer_ms)),
    ("page, packed, kB", "page_kb", Some(90.0), |one| Some(one.page_bytes as f64 / 1e3)),
    ("page, files", "page_files", None, |one| Some(one.page_files as f64)),
    ("first curve, ms", "first_curve_ms", Some(300.0), |one| Some(one.first_curve_ms)),
    ("zoom, median, ms", "zoom_ms", None, |one| Some(one.zoom_ms)),
    ("zoom, slowest, ms", "zoom_ms_max", Some(50.0), |one| Some(one.zoom_ms_max)),
    ("CPU that a page adds, % of one", "page_percent", Some(0.2), |one| {
        Some(one.live_percent? - one.cpu_percent)
    }),
];

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// The report of a run: the outcome of whit, and that of netdata if it takes part.
pub(super) fn report(plan: &WatchPlan, outcomes: &[Outcome], machine: Value) -> Report {
    let mut report = Report::new("-watch", machine);
    report.keep("rounds", plan.rounds);
    report.keep("seconds", plan.seconds);
    report.keep("processes", plan.processes);
    report.say(format!(
        "The service with every part on, at 1 s, beside netdata in the same {} s, with {} sleeping \
         processes; curves: medians of {} rounds\n",
        plan.seconds, plan.processes, plan.rounds
    ));
    let value = |at: usize, take: Take| outcomes.get(at).and_then(take);
    let lines: Vec<Line> = LINES
        .iter()
        .map(|(what, key, most, take)| Line {
            what,
            key,
            most: *most,
            values: [value(0, *take), value(1, *take)],
        })
        .collect();
    let table = Table::<&Line>::new()
        .column("what", "what", 0, |line| line.what)
        .kept("key", |line| line.key)
        .column("goal", "goal", 1, |line| line.most)
        .column("whit", "whit", 2, |line| line.values[0])
        .column("netdata", "netdata", 2, |line| line.values[1])
        .column("goal is met", "is_met", 0, |line| match (line.most, line.values[0]) {
            (Some(most), Some(value)) => Cell::Fact(value <= most),
            _ => Cell::Missing,
        });
    report.rows("service", "", &table, &lines);
    report.say(
        "\nWhit: recorder with every process, page, log central and proxy, rrdcached, a poller, history,\n\
         alerts.  netdata: as its package sets it up, without its cloud; it groups processes, and keeps\n\
         what is new in memory for a quarter of an hour and longer, so a shorter run shows less of what it\n\
         writes.  Its page: the files that its first document names; it asks for more when it runs.\n\
         kept: growth of the files; what a period keeps is limited by both.",
    );
    if outcomes.len() < 2 {
        let why = if plan.has_rival { "netdata is not installed" } else { "--no-rival" };
        report.notes(&[format!("netdata is not measured: {why}")]);
    }
    report
}
