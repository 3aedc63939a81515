//! The tables of running jobs, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::load::SpawnLoad;
use super::timeout::median_and_max;
use super::{CaseResult, Contest, JobRunner, Results, SpawnPlan};
use crate::report::optional;

/// The tables as text.  Writing to a string cannot fail.
pub(crate) fn human(plan: &SpawnPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &SpawnPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    jobs(plan, results, out)?;
    timeouts(results, out)?;
    sleepers(plan, results, out)?;
    pipes(plan, results, out)?;
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

/// A number per job.
fn each(plan: &SpawnPlan, number: f64) -> f64 {
    number / plan.jobs as f64
}

fn jobs(plan: &SpawnPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    if results.cases.is_empty() {
        return Ok(());
    }
    let SpawnPlan { jobs, rounds, .. } = plan;
    writeln!(out, "Running {jobs} jobs: medians of {rounds} rounds, in turns\n")?;
    writeln!(
        out,
        "{:<18} {:>9} {:>8} {:>11} {:>11} {:>10} {:>8} {:>11}",
        "", "jobs/s", "wall s", "CPU us/job", "own us/job", "calls/job", "x floor", "x parallel"
    )?;
    for case in &results.cases {
        let place = if case.load == SpawnLoad::Blog { results.place.as_str() } else { "" };
        let comma = if place.is_empty() { "" } else { ", " };
        writeln!(out, "{}{comma}{place}", case.name)?;
        for contest in &case.contests {
            writeln!(
                out,
                "  {:<16} {:>9.0} {:>8.3} {:>11.1} {:>11.1} {:>10} {:>8} {:>11}",
                contest.who.name(),
                plan.jobs as f64 / contest.wall_s(),
                contest.wall_s(),
                each(plan, contest.cpu_us()),
                each(plan, contest.own_us()),
                optional(contest.calls, 1),
                optional(case.times(contest.who, JobRunner::Floor), 3),
                optional(case.times(JobRunner::Parallel, contest.who), 2),
            )?;
        }
    }
    out.push_str(
        "\nCPU: of the runner and all its jobs.  own: of the runner's process alone, by the \
         kernel's\naccount of it at its end.  calls: what one more job costs, runner and job.  \
         x floor: how many\ntimes as long as the bare loop; the vfork loop is suspended until each child \
         runs its program.\nx parallel: how many times faster than GNU parallel.  LC_ALL=C for everybody, and sh \
         for those that choose a shell.\n",
    );
    Ok(())
}

fn timeouts(results: &Results, out: &mut String) -> std::fmt::Result {
    if results.timeouts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nHow late --timeout 0.5 ends a job, in ms: median and maximum\n")?;
    writeln!(out, "{:<16} {:>20} {:>20}", "", "by its joblog", "as the job sees it")?;
    for one in &results.timeouts {
        let text = |late_ms: &[f64]| {
            let (middle, worst) = median_and_max(late_ms);
            format!("{middle:.1} {worst:.1}")
        };
        let (logged, seen) = (text(&one.logged_ms), text(&one.seen_ms));
        writeln!(out, "  {:<14} {logged:>20} {seen:>20}", one.who.name())?;
    }
    Ok(())
}

fn sleepers(plan: &SpawnPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    if results.sleepers.is_empty() {
        return Ok(());
    }
    let seconds = plan.watched_ms as f64 / 1e3;
    writeln!(out, "\n{} jobs that sleep, all at once, observed for {seconds} s\n", plan.sleepers)?;
    writeln!(out, "{:<16} {:>12} {:>12} {:>12}", "", "all run s", "CPU %", "RSS KiB")?;
    for one in &results.sleepers {
        let (name, start_s, percent) = (one.who.name(), one.start_s, one.cpu_percent);
        let kib = one.resident_kib;
        writeln!(out, "  {name:<14} {start_s:>12.2} {percent:>12.3} {kib:>12}")?;
    }
    Ok(())
}

fn pipes(plan: &SpawnPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    let Some(first) = results.pipes.first() else { return Ok(()) };
    let (mib, rounds) = (first.bytes >> 20, plan.rounds);
    writeln!(out, "\nA file of {mib} MiB read by `wc -l` in blocks: medians of {rounds} rounds\n")?;
    writeln!(
        out,
        "{:<26} {:<14} {:>8} {:>9} {:>8} {:>11}",
        "", "", "MB/s", "wall s", "CPU s", "x parallel"
    )?;
    for one in &results.pipes {
        let rival = results
            .pipes
            .iter()
            .find(|other| other.name == one.name && other.who == Some(JobRunner::Parallel));
        writeln!(
            out,
            "{:<26} {:<14} {:>8.0} {:>9.3} {:>8.3} {:>11}",
            one.name,
            one.series.name,
            one.rate() / 1e6,
            one.series.median(|one| one.wall_us as f64) / 1e6,
            one.series.median(|one| one.cpu_us() as f64) / 1e6,
            optional(rival.map(|rival| one.times_faster(rival)), 2),
        )?;
    }
    Ok(())
}

/// The tables as a JSON object.
pub(crate) fn json(plan: &SpawnPlan, results: &Results, machine: &Value) -> Value {
    let contest = |case: &CaseResult, contest: &Contest| {
        json!({
            "name": contest.who.name(),
            "jobs_per_s": plan.jobs as f64 / contest.wall_s(),
            "wall_s": contest.wall_s(),
            "cpu_us_per_job": each(plan, contest.cpu_us()),
            "own_cpu_us_per_job": each(plan, contest.own_us()),
            "calls_per_job": contest.calls,
            "times_floor": case.times(contest.who, JobRunner::Floor),
            "times_faster_than_parallel": case.times(JobRunner::Parallel, contest.who),
        })
    };
    let case = |case: &CaseResult| {
        json!({
            "load": case.load.name(),
            "job": case.load.job(),
            "at_once": case.at_once,
            "contestants": case.contests.iter().map(|one| contest(case, one)).collect::<Vec<_>>(),
        })
    };
    let timeout = |one: &super::TimeoutResult| {
        let (logged, seen) = (median_and_max(&one.logged_ms), median_and_max(&one.seen_ms));
        json!({
            "name": one.who.name(),
            "late_ms_logged": { "median": logged.0, "max": logged.1 },
            "late_ms_seen": { "median": seen.0, "max": seen.1 },
        })
    };
    let sleepers = |one: &super::SleepersResult| {
        json!({
            "name": one.who.name(),
            "jobs": one.jobs,
            "start_s": one.start_s,
            "cpu_percent": one.cpu_percent,
            "resident_kib": one.resident_kib,
        })
    };
    let pipe = |one: &super::PipeResult| {
        json!({
            "way": one.name,
            "name": one.series.name,
            "bytes": one.bytes,
            "bytes_per_s": one.rate(),
            "cpu_s": one.series.median(|one| one.cpu_us() as f64) / 1e6,
        })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "jobs": plan.jobs,
        "blog_writes": results.place,
        "cases": results.cases.iter().map(case).collect::<Vec<_>>(),
        "timeout": results.timeouts.iter().map(timeout).collect::<Vec<_>>(),
        "sleepers": results.sleepers.iter().map(sleepers).collect::<Vec<_>>(),
        "pipe": results.pipes.iter().map(pipe).collect::<Vec<_>>(),
        "notes": results.notes,
    })
}

#[cfg(test)]
mod tests {
    use crate::measure::{Measurement, Series};

    use super::super::{PipeResult, SleepersResult, TimeoutResult};
    use super::*;

    fn plan() -> SpawnPlan {
        SpawnPlan {
            rounds: 2,
            jobs: 1_000,
            counted_jobs: None,
            at_once: vec![100],
            loads: SpawnLoad::ALL.to_vec(),
            rival: true,
            pipe_bytes: 1_000_000,
            sleepers: 1_000,
            watched_ms: 5_000,
        }
    }

    fn series(name: &str, walls_ms: [u64; 2]) -> Series {
        let turn = |wall_ms| Measurement {
            wall_us: wall_ms * 1_000,
            user_us: 300_000,
            system_us: 200_000,
            resident_kib_max: 1_024,
        };
        Series { name: name.into(), turns: walls_ms.map(turn).into() }
    }

    fn results() -> Results {
        let contest = |who: JobRunner, walls_ms, own_us| Contest {
            who,
            series: series(who.name(), walls_ms),
            own_us: vec![own_us, own_us],
            calls: Some(31.5),
        };
        let case = CaseResult {
            load: SpawnLoad::Blog,
            at_once: 100,
            name: "echo, -j 100".into(),
            contests: vec![
                contest(JobRunner::Floor, [400, 600], 20_000),
                contest(JobRunner::Whit, [440, 660], 30_000),
                contest(JobRunner::Parallel, [2_200, 3_300], 900_000),
            ],
        };
        let pipe = |who: Option<JobRunner>, walls_ms| PipeResult {
            name: if who.is_some() { "--pipe" } else { "wc -l" }.into(),
            who,
            bytes: 4 << 20,
            series: series(who.map_or("wc alone", JobRunner::name), walls_ms),
        };
        Results {
            cases: vec![case],
            timeouts: vec![TimeoutResult {
                who: JobRunner::Whit,
                logged_ms: vec![1.0, 2.0, 6.0],
                seen_ms: vec![0.5, 0.7, 3.0],
            }],
            sleepers: vec![SleepersResult {
                who: JobRunner::Xargs,
                jobs: 1_000,
                start_s: 1.25,
                cpu_percent: 0.1,
                resident_kib: 2_000,
            }],
            pipes: vec![
                pipe(None, [1_000, 1_000]),
                pipe(Some(JobRunner::Whit), [2_000, 2_000]),
                pipe(Some(JobRunner::Parallel), [9_000, 11_000]),
            ],
            place: "on a fresh tmpfs".into(),
            notes: vec!["it rains".into()],
        }
    }

    #[test]
    fn the_tables_have_a_line_for_everybody() {
        let text = human(&plan(), &results());
        let line = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(name));
            lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>()
        };
        assert!(text.contains("\necho, -j 100, on a fresh tmpfs\n"), "{text}");
        let (floor, whit) = (line("floor"), line("whit run"));
        assert_eq!(floor, ["2000", "0.500", "500.0", "20.0", "31.5", "1.000", "5.50"]);
        assert_eq!(whit, ["1818", "0.550", "500.0", "30.0", "31.5", "1.100", "5.00"]);
        assert!(text.contains(" 2.0 6.0 ") && text.contains(" 0.7 3.0\n"), "{text}");
        assert_eq!(line("xargs -P"), ["1.25", "0.100", "2000"]);
        assert_eq!(line("--pipe"), ["whit", "run", "2", "2.000", "0.500", "5.00"]);
        assert!(text.ends_with("Note: it rains.\n"), "{text}");
    }

    #[test]
    fn json_says_the_same() {
        let object = json(&plan(), &results(), &Value::Null);
        let whit = &object["cases"][0]["contestants"][1];
        assert_eq!(whit["name"], "whit run");
        assert_eq!(whit["own_cpu_us_per_job"], 30.0);
        assert_eq!(whit["times_faster_than_parallel"], 5.0);
        assert_eq!(object["timeout"][0]["late_ms_logged"]["max"], 6.0);
        assert_eq!(object["sleepers"][0]["resident_kib"], 2_000);
        assert_eq!(object["pipe"][1]["bytes_per_s"], 2_097_152.0);
        let turns = results().turns().len();
        assert_eq!(turns, 6);
    }
}
