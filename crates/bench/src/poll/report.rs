//! The tables of polling, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::targets::{MRTG_DAEMON, MRTG_DATABASES, MRTG_NATIVE};
use super::{Contest, Cost, ManyRow, PollPlan, Results};
use crate::report::optional;

/// A second, in µs; the same number of bytes is a megabyte.
const MILLION: f64 = 1e6;

impl Results {
    /// How many times as much CPU another contestant takes.
    fn times(&self, other: &str, contest: &Contest) -> Option<f64> {
        let other = self.targets.iter().find(|one| one.name == other)?;
        let own = contest.cpu_us();
        (own > 0.0 && other.name != contest.name).then(|| other.cpu_us() / own)
    }
}

fn daemon_us(cost: &Cost) -> f64 {
    cost.daemon.map_or(0.0, |daemon| daemon.cpu_us() as f64)
}

/// The tables as text.  Writing to a string cannot fail.
pub(super) fn human(plan: &PollPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &PollPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "Polling: medians of {} rounds, everybody in turn", plan.rounds)?;
    if let Some(count) = results.same_values {
        writeln!(
            out,
            "\n{count} files of mrtg and of whit have the same values (counters, gauges)"
        )?;
    }
    if !results.targets.is_empty() {
        write_targets(plan, results, out)?;
    }
    if !results.many.is_empty() {
        write_many(plan, &results.many, out)?;
    }
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

fn write_targets(plan: &PollPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n{} targets; devices: {}", plan.targets, results.hosts)?;
    writeln!(
        out,
        "{:<29} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8}",
        "a round",
        "wall s",
        "CPU s",
        "user s",
        "system s",
        "daemon s",
        "MB written",
        "native x",
        "rrd x",
        "stays x"
    )?;
    for contest in &results.targets {
        let times = |other| optional(results.times(other, contest), 1);
        writeln!(
            out,
            "{:<29} {:>8.3} {:>8.4} {:>8.4} {:>8.4} {:>8} {:>10.1} {:>8} {:>8} {:>8}",
            contest.name,
            contest.median(|cost| cost.poller.wall_us as f64) / MILLION,
            contest.cpu_us() / MILLION,
            contest.median(|cost| cost.poller.user_us as f64) / MILLION,
            contest.median(|cost| cost.poller.system_us as f64) / MILLION,
            optional(Some(contest.median(daemon_us) / MILLION).filter(|cpu| *cpu > 0.0), 4),
            contest.median(|cost| cost.dirtied_bytes as f64) / MILLION,
            times(MRTG_NATIVE),
            times(MRTG_DATABASES),
            times(MRTG_DAEMON),
        )?;
    }
    writeln!(
        out,
        "\nCPU: of the poller and of its caching daemon; daemon: of that alone.  Without `stays` a\n\
         round is a process, with its start and the reading of the configuration; with it, the mean of\n\
         {} rounds of a program that stays.  Through a caching daemon these rounds end with a FLUSHALL.\n\
         MB written: pages made dirty.  native, rrd, stays x: how many times as much CPU MRTG takes in\n\
         native mode, with RRDtool's files, and with these as a program that stays.  MRTG's native mode\n\
         has one round.",
        plan.steps
    )
}

fn write_many(plan: &PollPlan, rows: &[ManyRow], out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n{} simulated devices, {} objects each", plan.devices, plan.objects)?;
    writeln!(
        out,
        "{:<29} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "a round",
        "wall s",
        "CPU s",
        "user s",
        "system s",
        "RSS MiB",
        "known",
        "unknown",
        "within s"
    )?;
    for row in rows {
        let of = |of: fn(&Cost) -> u64| row.contest.median(|cost| of(cost) as f64);
        writeln!(
            out,
            "{:<29} {:>8.3} {:>8.4} {:>8.4} {:>8.4} {:>8.1} {:>8} {:>8} {:>8}",
            row.contest.name,
            of(|cost| cost.poller.wall_us) / MILLION,
            row.contest.cpu_us() / MILLION,
            of(|cost| cost.poller.user_us) / MILLION,
            of(|cost| cost.poller.system_us) / MILLION,
            of(|cost| cost.poller.resident_kib_max) / 1024.0,
            row.known,
            row.unknown,
            row.spread_s.map_or("-".to_owned(), |seconds| seconds.to_string()),
        )?;
    }
    writeln!(
        out,
        "\nwithin: seconds between the first and the last answer of devices that live.  A dead device is\n\
         asked five times in the first round, and then once a round, for two seconds.  The first round,\n\
         which makes files and keys, does not count."
    )
}

/// The same as one object.
pub(super) fn json(plan: &PollPlan, results: &Results, machine: &Value) -> Value {
    let cost = |contest: &Contest| {
        json!({
            "wall_s": contest.median(|cost| cost.poller.wall_us as f64) / MILLION,
            "cpu_s": contest.cpu_us() / MILLION,
            "user_s": contest.median(|cost| cost.poller.user_us as f64) / MILLION,
            "system_s": contest.median(|cost| cost.poller.system_us as f64) / MILLION,
            "daemon_s": contest.median(daemon_us) / MILLION,
            "dirtied_bytes": contest.median(|cost| cost.dirtied_bytes as f64),
            "resident_kib_max": contest.median(|cost| cost.poller.resident_kib_max as f64),
        })
    };
    let target = |contest: &Contest| {
        json!({
            "who": contest.name,
            "cost": cost(contest),
            "mrtg_native_cpu_times": results.times(MRTG_NATIVE, contest),
            "mrtg_rrd_cpu_times": results.times(MRTG_DATABASES, contest),
            "mrtg_stays_cpu_times": results.times(MRTG_DAEMON, contest),
        })
    };
    let many = |row: &ManyRow| {
        json!({
            "case": row.contest.name,
            "cost": cost(&row.contest),
            "known": row.known,
            "unknown": row.unknown,
            "live_answers_within_s": row.spread_s,
        })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "targets": plan.targets,
        "hosts": results.hosts,
        "experiment": results.targets.iter().map(target).collect::<Vec<_>>(),
        "devices": plan.devices,
        "objects": plan.objects,
        "many": results.many.iter().map(many).collect::<Vec<_>>(),
        "files_with_same_values": results.same_values,
        "notes": results.notes,
    })
}
