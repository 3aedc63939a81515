//! The tables of running jobs.

use serde_json::{Value, json};

use super::load::SpawnLoad;
use super::pipe::{PipeFacts, WC};
use super::sleepers::SleepersResult;
use super::timeout::{TimeoutResult, median_and_max};
use super::{JobRunner, Results, SpawnPlan, SpawnRow};
use crate::contest::{cpu, wall};
use crate::report::{Report, Row};
use crate::table::{Cell, Table};

/// The report of a run.
pub(super) fn report(plan: &SpawnPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-spawn", machine);
    report.keep("rounds", plan.rounds);
    report.keep("jobs", plan.jobs);
    report.keep("blog_writes", results.place.as_str());
    jobs(plan, results, &mut report);
    timeouts(results, &mut report);
    sleepers(plan, results, &mut report);
    pipes(plan, results, &mut report);
    report.notes(&results.notes);
    for case in &results.cases {
        report.turns_of(case.facts.load.name(), std::slice::from_ref(case));
    }
    report.turns_of("pipe", &results.pipes);
    report
}

fn jobs(plan: &SpawnPlan, results: &Results, report: &mut Report) {
    let SpawnPlan { jobs, rounds, .. } = *plan;
    let each = move |number: f64| number / jobs as f64;
    let own = |(_, one): SpawnRow<'_>| one.median_of(|turn| turn.own_us).unwrap_or(0.0);
    let table = Table::<SpawnRow<'_>>::new()
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("jobs/s", "jobs_per_s", 0, move |(_, one)| jobs as f64 / (one.median(wall) / 1e6))
        .column("wall s", "wall_s", 3, |(_, one)| one.median(wall) / 1e6)
        .column("CPU us/job", "cpu_us_per_job", 1, move |(_, one)| each(one.median(cpu)))
        .column("own us/job", "own_cpu_us_per_job", 1, move |row| each(own(row)))
        .column("calls/job", "calls_per_job", 1, |(_, one)| one.facts.calls)
        .column("x floor", "times_floor", 3, |(case, one)| {
            case.times(&one.name, JobRunner::Floor.name(), wall)
        })
        .column("x parallel", "times_faster_than_parallel", 2, |(case, one)| {
            case.times(JobRunner::Parallel.name(), &one.name, wall)
        });
    let members = |case: &super::SpawnCase| {
        let (load, at_once) = (case.facts.load, case.facts.at_once);
        json!({ "load": load.name(), "job": load.job(), "at_once": at_once })
    };
    if results.cases.is_empty() {
        report.keep("cases", Vec::<Value>::new());
        return;
    }
    report.say(format!("Running {jobs} jobs: medians of {rounds} rounds, in turns\n"));
    let title = |case: &super::SpawnCase| {
        let place = match case.facts.load {
            SpawnLoad::Blog => format!(", {}", results.place),
            _ => String::new(),
        };
        (Some(format!("{}{place}", case.name)), None)
    };
    report.cases("cases", &table, &results.cases, title, members);
    report.say(
        "\nCPU: of the runner and all its jobs.  own: of the runner's process alone, by the \
         kernel's\naccount of it at its end.  calls: what one more job costs, runner and job.  \
         x floor: how many\ntimes as long as the bare loop; the vfork loop is suspended until each child \
         runs its program.\nx parallel: how many times faster than GNU parallel.  LC_ALL=C for everybody, and sh \
         for those that choose a shell.",
    );
}

fn timeouts(results: &Results, report: &mut Report) {
    let shown = |late_ms: &[f64]| {
        let (middle, worst) = median_and_max(late_ms);
        Cell::Written(format!("{middle:.1} {worst:.1}"))
    };
    let table = Table::<&TimeoutResult>::new()
        .column("", "name", 0, |one| one.who.name())
        .shown("by its joblog", 0, move |one| shown(&one.logged_ms))
        .shown("as the job sees it", 0, move |one| shown(&one.seen_ms))
        .kept("late_ms_logged.median", |one| median_and_max(&one.logged_ms).0)
        .kept("late_ms_logged.max", |one| median_and_max(&one.logged_ms).1)
        .kept("late_ms_seen.median", |one| median_and_max(&one.seen_ms).0)
        .kept("late_ms_seen.max", |one| median_and_max(&one.seen_ms).1);
    let title = "\nHow late --timeout 0.5 ends a job, in ms: median and maximum\n";
    report.rows("timeout", title, &table, &results.timeouts);
}

fn sleepers(plan: &SpawnPlan, results: &Results, report: &mut Report) {
    let table = Table::<&SleepersResult>::new()
        .column("", "name", 0, |one| one.who.name())
        .kept("jobs", |one| one.jobs)
        .column("all run s", "start_s", 2, |one| one.start_s)
        .column("CPU %", "cpu_percent", 3, |one| one.cpu_percent)
        .column("RSS KiB", "resident_kib", 0, |one| one.resident_kib);
    let seconds = plan.watched_ms as f64 / 1e3;
    let title =
        format!("\n{} jobs that sleep, all at once, observed for {seconds} s\n", plan.sleepers);
    report.rows("sleepers", title, &table, &results.sleepers);
}

fn pipes(plan: &SpawnPlan, results: &Results, report: &mut Report) {
    let rate =
        |(case, one): Row<'_, PipeFacts, ()>| case.facts.bytes as f64 / (one.median(wall) / 1e6);
    let table = Table::<Row<'_, PipeFacts, ()>>::new()
        .column("", "way", 0, |(case, _)| case.name.as_str())
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .kept("bytes", |(case, _)| case.facts.bytes)
        .shown("MB/s", 0, move |row| rate(row) / 1e6)
        .kept("bytes_per_s", rate)
        .shown("wall s", 3, |(_, one)| one.median(wall) / 1e6)
        .column("CPU s", "cpu_s", 3, |(_, one)| one.median(cpu) / 1e6)
        .shown("x parallel", 2, |(case, one)| {
            Some(case.find(JobRunner::Parallel.name())?.ratio(one, wall))
        });
    let cases = results.pipes.iter();
    let rows: Vec<_> =
        cases.flat_map(|case| case.contests.iter().map(move |one| (case, one))).collect();
    report.keep("pipe", table.objects(rows.iter().copied()));
    let Some(first) = results.pipes.first() else { return };
    let (mib, rounds) = (first.facts.bytes >> 20, plan.rounds);
    report.say(format!(
        "\nA file of {mib} MiB read by `{WC}` in blocks: medians of {rounds} rounds\n"
    ));
    report.show(&table.grid(rows));
}

#[cfg(test)]
mod tests {
    use super::super::{JobFacts, SpawnFacts};
    use super::*;
    use crate::contest::{Case, Contest, Measurement};

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

    fn contest<T>(name: &str, walls_ms: [u64; 2], own_us: u64, facts: T) -> Contest<T> {
        let turn = |wall_ms| Measurement {
            wall_us: wall_ms * 1_000,
            user_us: 300_000,
            system_us: 200_000,
            resident_kib_max: 1_024,
            own_us: Some(own_us),
            dirtied_bytes: None,
        };
        Contest { name: name.into(), turns: walls_ms.map(turn).into(), facts }
    }

    fn results() -> Results {
        let runner = |who: JobRunner, walls_ms, own_us| {
            contest(who.name(), walls_ms, own_us, JobFacts { who, calls: Some(31.5) })
        };
        let case = Case {
            name: "echo, -j 100".into(),
            facts: SpawnFacts { load: SpawnLoad::Blog, at_once: 100 },
            contests: vec![
                runner(JobRunner::Floor, [400, 600], 20_000),
                runner(JobRunner::Whit, [440, 660], 30_000),
                runner(JobRunner::Parallel, [2_200, 3_300], 900_000),
            ],
        };
        let pipe = |name: &str, contests: &[(&str, [u64; 2])]| Case {
            name: name.into(),
            facts: PipeFacts { bytes: 4 << 20 },
            contests: contests.iter().map(|one| contest(one.0, one.1, 0, ())).collect(),
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
                pipe(WC, &[("wc alone", [1_000, 1_000])]),
                pipe("--pipe", &[("whit run", [2_000, 2_000]), ("GNU parallel", [9_000, 11_000])]),
            ],
            place: "on a fresh tmpfs".into(),
            notes: vec!["it rains".into()],
        }
    }

    #[test]
    fn the_tables_have_a_line_for_everybody() {
        let text = report(&plan(), &results(), Value::Null).summary;
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
        let report = report(&plan(), &results(), Value::Null);
        let object = &report.json;
        let whit = &object["cases"][0]["contestants"][1];
        assert_eq!(whit["name"], "whit run");
        assert_eq!(whit["own_cpu_us_per_job"], 30.0);
        assert_eq!(whit["times_faster_than_parallel"], 5.0);
        assert_eq!(object["timeout"][0]["late_ms_logged"]["max"], 6.0);
        assert_eq!(object["sleepers"][0]["resident_kib"], 2_000);
        assert_eq!(object["pipe"][1]["bytes_per_s"], 2_097_152.0);
        assert_eq!(report.raw().lines().count(), 1 + 2 * 6);
    }
}
