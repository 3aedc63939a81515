//! `--trace`: the system calls of the jobs, by count and time, and those of the runner itself.
//!
//! The kernel counts them by process group ([`trace::ProcessGroupCounts`]), and each job is a group of
//! its own.  What a job's process calls before it leaves our group (the first calls after `clone`)
//! counts as ours; a process that leaves a job's group still counts as that job's.  The BPF programs
//! cost some 0.3 µs at each system call of a job.  Every [`TAKE_JOBS`] jobs the counts of those that
//! have ended are removed from the kernel's table, which has room for some hundred thousand pairs of
//! group and call.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::time::Instant;

use anyhow::Context as _;
use run::JobResult;
use run::engine::{Observer, RunStatus, RunningJob};
use trace::{CallSummary, CallTally, ProcessGroupCalls, ProcessGroupCounts, duration};

/// Jobs whose counts stay in the kernel's table: at some thirty different calls each, they fill a
/// small part of it.
const TAKE_JOBS: usize = 1024;

/// Calls of the runner that are named.
const CALLS_NAMED: usize = 5;

/// Counts while jobs run.
pub(crate) struct Tracer {
    groups: ProcessGroupCounts,
    own_group: u32,
    /// Processes of jobs that run, by their number.
    running: HashMap<u64, u32>,
    /// Jobs that ended since counts were taken.
    ended: usize,
    started: u64,
    jobs: ProcessGroupCalls,
    /// What went wrong, once.
    error: Option<bpf::Error>,
    begin: Instant,
}

impl Tracer {
    /// Counts from now on.
    ///
    /// # Errors
    ///
    /// Without permission to load BPF programs.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let own = i32::try_from(std::process::id()).context("a process id")?;
        let groups = ProcessGroupCounts::of_process(own).context("--trace")?;
        // SAFETY: plain system call that cannot fail.
        let own_group = unsafe { libc::getpgrp() }.cast_unsigned();
        Ok(Tracer {
            groups,
            own_group,
            running: HashMap::new(),
            ended: 0,
            started: 0,
            jobs: ProcessGroupCalls::default(),
            error: None,
            begin: Instant::now(),
        })
    }

    /// Takes the counts of ended jobs out of the kernel's table.
    fn remove_ended(&mut self) {
        self.ended = 0;
        let kept: HashSet<u32> = self.running.values().copied().chain([self.own_group]).collect();
        self.remove_groups(|group| !kept.contains(&group));
    }

    fn remove_groups(&mut self, wanted: impl Fn(u32) -> bool) {
        match self.groups.remove_groups(wanted) {
            Ok(taken) => self.jobs.merge(&taken),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let wall = self.begin.elapsed();
        let own_group = self.own_group;
        self.remove_groups(|group| group != own_group);
        let mut own = match self.groups.remove_group(own_group) {
            Ok(own) => own,
            Err(error) => {
                self.error = self.error.take().or(Some(error));
                ProcessGroupCalls::default()
            }
        };
        let started = self.started;
        let per_job = |calls: u64| match started {
            0 => "-".to_owned(),
            jobs => format!("{:.1}", calls as f64 / jobs as f64),
        };
        let total = self.jobs.total();
        let (calls, cpu) = (total.calls, cpu(&total));
        writeln!(
            to,
            "system calls of {} jobs in {:.3} s: {calls}, {} a job; {cpu} on a CPU, {} from begin \
             to end",
            self.started,
            wall.as_secs_f64(),
            per_job(calls),
            duration(total.wall_ns),
        )?;
        let summary = CallSummary::default();
        let tally =
            CallTally { calls: std::mem::take(&mut self.jobs.calls), ..CallTally::default() };
        if calls > 0 {
            summary.write(&tally, to)?;
        }
        write_own(&mut own, per_job, &summary, to)?;
        match self.groups.lost() {
            Ok(0) => {}
            Ok(lost) => writeln!(to, "not counted, because the table was full: {lost} calls")?,
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
        match &self.error {
            Some(error) => writeln!(to, "whit run: --trace: calls are missing: {error}"),
            None => Ok(()),
        }
    }
}

/// Time on a CPU, where it is known.
fn cpu(stats: &trace::CallStats) -> String {
    stats.cpu_ns.map_or_else(|| "-".to_owned(), duration)
}

/// The runner's own calls, as one line.
fn write_own(
    own: &mut ProcessGroupCalls,
    per_job: impl Fn(u64) -> String,
    summary: &CallSummary,
    to: &mut dyn Write,
) -> io::Result<()> {
    // Nothing else here calls bpf(2).
    let reading: ProcessGroupCalls = ProcessGroupCalls {
        calls: own.calls.extract_if(.., |call, _| call.name() == "bpf").collect(),
    };
    let total = own.total();
    write!(
        to,
        "of whit run itself: {}, {} a job; {} on a CPU",
        total.calls,
        per_job(total.calls),
        cpu(&total)
    )?;
    for (place, (name, stats)) in
        summary.rows(own.calls.iter()).iter().take(CALLS_NAMED).enumerate()
    {
        let before = if place == 0 { ":" } else { "," };
        write!(to, "{before} {name} {} in {}", stats.calls, duration(summary.time_ns(stats)))?;
    }
    let reading = reading.total();
    writeln!(to, "; and {} of bpf in {} to read all this", reading.calls, cpu(&reading))
}

impl Observer for Tracer {
    fn job_started(&mut self, job: &RunningJob<'_>) {
        self.started += 1;
        self.running.insert(job.seq, job.pid.cast_unsigned());
    }

    fn job_ended(&mut self, finished: &JobResult, _: &RunStatus) {
        if self.running.remove(&finished.seq).is_some() {
            self.ended += 1;
        }
        if self.ended >= TAKE_JOBS {
            self.remove_ended();
        }
    }

    fn all_ended(&mut self, _: &RunStatus) {
        let mut text = Vec::new();
        // Writing to memory does not fail, and an error of stderr cannot be reported.
        let _ = self.write(&mut text);
        let _ = io::stderr().lock().write_all(&text);
    }
}
