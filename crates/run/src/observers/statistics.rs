//! `--stats`: what all jobs used, at the end, on standard error, as text or as one JSON object.
//!
//! Costs two additions to histograms for each job, and one read of `/proc/loadavg` every [`PERIOD`]
//! for the longest run queue; other kernel files are read at the beginning and at the end.  The
//! resource usage of a job is that of wait4(2): it does not include processes that outlive the job,
//! and it is that of the last attempt.  To split CPU time and memory between shell and command
//! takes seven more system calls for each job ([`spawn::ExitDetails`]).

use std::io::Write;
use std::time::{Duration, Instant};

use procfs::usage::{Whose, usage};
use serde_json::{Value, json};
use spawn::ShellTime;

use super::Clock;
use super::machine::{CpuShares, MachineFiles, MachineReading, RunQueue};
use super::quantiles::DurationHistogram;
use crate::engine::{Observer, RunStatus};
use crate::job::JobResult;
use crate::units::short_duration;

/// How often the length of the run queue is read.
const PERIOD: Duration = Duration::from_millis(100);

/// How statistics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum))]
pub enum StatisticsFormat {
    /// Lines of text
    Text,
    /// One JSON object on one line
    Json,
}

/// Sums while jobs run.
pub struct Statistics {
    format: StatisticsFormat,
    out: Box<dyn Write>,
    clock: Clock,
    machine: MachineFiles,
    begin: MachineReading,
    next: Instant,
    peak: RunQueue,
    totals: Totals,
}

/// The resource usage of all jobs.
#[derive(Default)]
struct Totals {
    /// Jobs that were started and whose usage is known.
    jobs: u64,
    user_us: u64,
    system_us: u64,
    /// CPU time of shells, and the number of jobs for which it is known.
    shell_ns: u64,
    known_shell: u64,
    /// Jobs whose shell became the command by `execve`.
    became: u64,
    /// Peak memory of the largest job for which it is known.
    resident_kib: Option<u64>,
    wall: DurationHistogram,
    spawn: DurationHistogram,
}

impl Totals {
    /// Mean CPU time of shell and command of a job, if it is known for all jobs.
    fn split_us(&self) -> Option<[f64; 2]> {
        let jobs = Some(self.jobs).filter(|jobs| *jobs > 0 && *jobs == self.known_shell)? as f64;
        let shell_us = self.shell_ns as f64 / 1e3;
        let all_us = (self.user_us + self.system_us) as f64;
        Some([shell_us, (all_us - shell_us).max(0.0)].map(|us| us / jobs))
    }
}

impl Statistics {
    /// Counts from now on; the report is written to `out` when all jobs have ended.
    pub fn begin(format: StatisticsFormat, out: Box<dyn Write>, clock: Clock) -> Self {
        let mut machine = MachineFiles::new();
        let begin = machine.read_all(clock());
        let (next, peak) = (begin.at + PERIOD, begin.load.unwrap_or_default());
        Statistics { format, out, clock, machine, begin, next, peak, totals: Totals::default() }
    }

    fn read_run_queue(&mut self) {
        if let Some(RunQueue { running, tasks }) = self.machine.read_load() {
            self.peak.running = self.peak.running.max(running);
            self.peak.tasks = self.peak.tasks.max(tasks);
        }
    }

    fn report(&mut self, status: &RunStatus) -> Report {
        self.read_run_queue();
        let end = self.machine.read_all((self.clock)());
        let own = usage(Whose::Own);
        let totals = std::mem::take(&mut self.totals);
        let wall = end.at - self.begin.at;
        let per_job = |us: u64| (totals.jobs > 0).then(|| us as f64 / totals.jobs as f64);
        Report {
            wall,
            jobs: status.ended,
            failed: status.failed,
            jobs_per_s: status.ended as f64 / wall.as_secs_f64().max(1e-9),
            jobs_us: [per_job(totals.user_us), per_job(totals.system_us)],
            runner_us: [per_job(own.user_us), per_job(own.system_us)],
            split_us: totals.split_us(),
            became: totals.became,
            job_kib: totals.resident_kib,
            runner_kib: own.resident_kib_max,
            wall_times: times(&totals.wall),
            spawn_times: times(&totals.spawn),
            born: end.born_since(&self.begin),
            shares: end.shares_since(&self.begin).map(|shares| {
                let CpuShares { user, system, wait, stolen, idle } = shares;
                [user, system, wait, stolen, idle].map(|share| share * 100.0)
            }),
            peak: self.peak,
        }
    }
}

/// The median, the 99th percentile and the longest.
fn times(spread: &DurationHistogram) -> Option<[Duration; 3]> {
    Some([spread.quantile(0.5)?, spread.quantile(0.99)?, spread.longest()?])
}

impl Observer for Statistics {
    fn job_ended(&mut self, finished: &JobResult, _: &RunStatus) {
        let Some(usage) = &finished.usage else { return };
        // A job that was never started (--dry-run, no such program) has no usage.
        if usage.spawn_ns == 0 {
            return;
        }
        let totals = &mut self.totals;
        totals.jobs += 1;
        totals.user_us += usage.user_us;
        totals.system_us += usage.system_us;
        if let Some(shell_ns) = usage.shell.ns() {
            totals.shell_ns += shell_ns;
            totals.known_shell += 1;
        }
        totals.became += u64::from(usage.shell == ShellTime::Became);
        totals.resident_kib = totals.resident_kib.max(usage.resident_kib);
        totals.wall.add(finished.wall_ns);
        totals.spawn.add(usage.spawn_ns);
    }

    fn next_tick(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn tick(&mut self, _: &RunStatus, now: Instant) {
        self.read_run_queue();
        self.next = now + PERIOD;
    }

    fn all_ended(&mut self, status: &RunStatus) {
        let report = self.report(status);
        let text = match self.format {
            StatisticsFormat::Text => report.text(),
            StatisticsFormat::Json => format!("{}\n", report.json()),
        };
        // An error of standard error can be reported nowhere.
        let _ = self.out.write_all(text.as_bytes());
    }
}

/// The contents of the report.
struct Report {
    wall: Duration,
    jobs: u64,
    failed: u64,
    jobs_per_s: f64,
    /// Mean user and system time of a job.
    jobs_us: [Option<f64>; 2],
    /// Mean CPU time of shells and of commands, user and system time together.
    split_us: Option<[f64; 2]>,
    /// Jobs whose shell became the command by `execve`, which is charged with its time.
    became: u64,
    /// User and system time of this process, divided by the number of jobs.
    runner_us: [Option<f64>; 2],
    /// Peak memory of the largest job, if it was larger than this process.
    job_kib: Option<u64>,
    /// Peak memory of this process.
    runner_kib: u64,
    wall_times: Option<[Duration; 3]>,
    spawn_times: Option<[Duration; 3]>,
    born: Option<u64>,
    /// User, system, I/O wait, stolen and idle time, in percent.
    shares: Option<[f64; 5]>,
    peak: RunQueue,
}

/// Shown for unknown values.
const MISSING: &str = "-";

fn time_us(us: Option<f64>) -> String {
    us.map_or_else(|| MISSING.to_owned(), |us| short_duration((us * 1e3) as u64))
}

fn spread(times: Option<[Duration; 3]>) -> String {
    let Some(times) = times else { return MISSING.to_owned() };
    let [half, most, longest] =
        times.map(|time| short_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
    format!("p50 {half}, p99 {most}, max {longest}")
}

impl Report {
    fn text(&self) -> String {
        let [job_user, job_system] = self.jobs_us.map(time_us);
        let [own_user, own_system] = self.runner_us.map(time_us);
        let [shell, command] = match self.split_us {
            Some(split_us) => split_us.map(|us| time_us(Some(us))),
            None => [MISSING; 2].map(str::to_owned),
        };
        let became = match self.became {
            0 => String::new(),
            jobs => format!("; in {jobs} jobs it became the command, which has its time"),
        };
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        let job_memory = match self.job_kib {
            Some(kib) => format!("{} the largest job", mib(kib)),
            None => "each job less".to_owned(),
        };
        let born = self.born.map_or_else(|| MISSING.to_owned(), |born| born.to_string());
        let cpu = match self.shares {
            Some([user, system, wait, stolen, idle]) => {
                format!(
                    "{user:.1}% user, {system:.1}% system, {wait:.1}% waiting, \
                     {stolen:.1}% stolen, {idle:.1}% idle"
                )
            }
            None => MISSING.to_owned(),
        };
        let RunQueue { running, tasks } = self.peak;
        format!(
            "\
jobs         {} in {:.3} s, {:.1}/s; {} failed
CPU per job  {job_user} user, {job_system} system
  command    {command}
  shell      {shell}{became}
  whit run   {own_user} user, {own_system} system
job time     {}
start        {}
peak memory  {} whit run, {job_memory}
machine      {born} processes and threads born; at most {tasks} there, {running} of them runnable
machine CPU  {cpu}
",
            self.jobs,
            self.wall.as_secs_f64(),
            self.jobs_per_s,
            self.failed,
            spread(self.wall_times),
            spread(self.spawn_times),
            mib(self.runner_kib),
        )
    }

    fn json(&self) -> Value {
        let times = |times: Option<[Duration; 3]>| {
            times.map(|times| {
                let [p50, p99, max] = times.map(|time| time.as_secs_f64());
                json!({ "p50": p50, "p99": p99, "max": max })
            })
        };
        let shares = self.shares.map(|[user, system, wait, stolen, idle]| {
            json!({ "user": user, "system": system, "iowait": wait, "steal": stolen, "idle": idle })
        });
        json!({
            "wall_s": self.wall.as_secs_f64(),
            "jobs": self.jobs,
            "failed": self.failed,
            "jobs_per_s": self.jobs_per_s,
            "cpu_per_job_us": {
                "job_user": self.jobs_us[0],
                "job_system": self.jobs_us[1],
                "command": self.split_us.map(|[_, command]| command),
                "shell": self.split_us.map(|[shell, _]| shell),
                "runner_user": self.runner_us[0],
                "runner_system": self.runner_us[1],
            },
            "shell_became_command": self.became,
            "resident_peak_kib": { "job": self.job_kib, "runner": self.runner_kib },
            "job_time_s": times(self.wall_times),
            "spawn_time_s": times(self.spawn_times),
            "machine": {
                "born": self.born,
                "run_queue_peak": self.peak.running,
                "threads_peak": self.peak.tasks,
                "cpu_percent": shares,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_zero() {
        let mut stats =
            Statistics::begin(StatisticsFormat::Text, Box::new(std::io::sink()), Instant::now);
        let report = stats.report(&RunStatus::default());
        let text = report.text();
        assert!(text.contains("jobs         0 in"), "{text}");
        assert!(text.contains("CPU per job  - user, - system"), "{text}");
        assert!(report.json()["job_time_s"].is_null());
        assert!(text.contains("  command    -\n  shell      -\n"), "{text}");
        assert!(report.json()["cpu_per_job_us"]["shell"].is_null());
    }
}
