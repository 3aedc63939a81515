//! The tables of polling.

use serde_json::Value;

use super::targets::{MRTG_DAEMON, MRTG_DATABASES, MRTG_NATIVE};
use super::{PollContest, PollPlan, Results};
use crate::contest::{Measurement, cpu, median, resident, wall};
use crate::report::Report;
use crate::table::Table;

/// A second, in µs; the same number of bytes is a megabyte.
const MILLION: f64 = 1e6;

/// The report of a run.
pub(super) fn report(plan: &PollPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-poll", machine);
    report.say(format!("Polling: medians of {} rounds, everybody in turn", plan.rounds));
    if let Some(count) = results.same_values {
        report.say(format!(
            "\n{count} files of mrtg and of whit have the same values (counters, gauges)"
        ));
    }
    report.keep("rounds", plan.rounds);
    report.keep("targets", plan.targets);
    report.keep("hosts", results.hosts.as_str());
    targets(plan, results, &mut report);
    report.keep("devices", plan.devices);
    report.keep("objects", plan.objects);
    many(plan, results, &mut report);
    report.keep("files_with_same_values", results.same_values);
    report.notes(&results.notes);
    for (table, contests) in [("targets", &results.targets), ("devices", &results.many)] {
        for contest in contests {
            report.turns(table, "a round", &contest.name, &contest.turns);
            let name = format!("{}: the daemon", contest.name);
            report.turns(table, "a round", &name, &contest.facts.daemon);
        }
    }
    report
}

/// The median CPU time of poller and daemon, in µs.
fn cpu_us(contest: &PollContest) -> f64 {
    let daemon = contest.facts.daemon.iter().map(cpu).chain(std::iter::repeat(0.0));
    let turns = contest.turns.iter().map(cpu).zip(daemon);
    median(turns.map(|(poller, daemon)| poller + daemon).collect())
}

fn daemon_us(contest: &PollContest) -> f64 {
    median(contest.facts.daemon.iter().map(cpu).collect())
}

fn dirtied_bytes(contest: &PollContest) -> f64 {
    contest.median_of(|turn| turn.dirtied_bytes).unwrap_or(0.0)
}

/// The first columns of both tables.
fn costs<'r>(key: &'static str) -> Table<'r, &'r PollContest> {
    let seconds = |of: fn(&Measurement) -> u64| {
        move |one: &PollContest| one.median(|turn| of(turn) as f64) / MILLION
    };
    Table::<&PollContest>::new()
        .column("a round", key, 0, |one| one.name.as_str())
        .column("wall s", "cost.wall_s", 3, |one| one.median(wall) / MILLION)
        .column("CPU s", "cost.cpu_s", 4, |one| cpu_us(one) / MILLION)
        .column("user s", "cost.user_s", 4, seconds(|turn| turn.user_us))
        .column("system s", "cost.system_s", 4, seconds(|turn| turn.system_us))
}

fn targets(plan: &PollPlan, results: &Results, report: &mut Report) {
    // How many times as much CPU another contestant takes.
    let times = |contest: &PollContest, other: &str| {
        let other = results.targets.iter().find(|one| one.name == other)?;
        let own_us = cpu_us(contest);
        (own_us > 0.0 && other.name != contest.name).then(|| cpu_us(other) / own_us)
    };
    let table = costs("who")
        .column("daemon s", "cost.daemon_s", 4, |one| daemon_us(one) / MILLION)
        .hiding_zero()
        .kept("cost.dirtied_bytes", dirtied_bytes)
        .kept("cost.resident_kib_max", |one| one.median(resident))
        .shown("MB written", 1, |one| dirtied_bytes(one) / MILLION)
        .column("native x", "mrtg_native_cpu_times", 1, move |one| times(one, MRTG_NATIVE))
        .column("rrd x", "mrtg_rrd_cpu_times", 1, move |one| times(one, MRTG_DATABASES))
        .column("stays x", "mrtg_stays_cpu_times", 1, move |one| times(one, MRTG_DAEMON));
    let title = format!("\n{} targets; devices: {}", plan.targets, results.hosts);
    report.rows("experiment", title, &table, &results.targets);
    if results.targets.is_empty() {
        return;
    }
    report.say(format!(
        "\nCPU: of the poller and of its caching daemon; daemon: of that alone.  Without `stays` a\n\
         round is a process, with its start and the reading of the configuration; with it, the mean of\n\
         {} rounds of a program that stays.  Through a caching daemon these rounds end with a FLUSHALL.\n\
         MB written: pages made dirty.  native, rrd, stays x: how many times as much CPU MRTG takes in\n\
         native mode, with RRDtool's files, and with these as a program that stays.  MRTG's native mode\n\
         has one round.",
        plan.steps
    ));
}

fn many(plan: &PollPlan, results: &Results, report: &mut Report) {
    let table = costs("case")
        .kept("cost.daemon_s", |one| daemon_us(one) / MILLION)
        .kept("cost.dirtied_bytes", dirtied_bytes)
        .kept("cost.resident_kib_max", |one| one.median(resident))
        .shown("RSS MiB", 1, |one| one.median(resident) / 1024.0)
        .column("known", "known", 0, |one| one.facts.known)
        .column("unknown", "unknown", 0, |one| one.facts.unknown)
        .column("within s", "live_answers_within_s", 0, |one| one.facts.spread_s);
    let title = format!("\n{} simulated devices, {} objects each", plan.devices, plan.objects);
    report.rows("many", title, &table, &results.many);
    if results.many.is_empty() {
        return;
    }
    report.say(
        "\nwithin: seconds between the first and the last answer of devices that live.  A dead device is\n\
         asked five times in the first round, and then once a round, for two seconds.  The first round,\n\
         which makes files and keys, does not count."
    );
}
