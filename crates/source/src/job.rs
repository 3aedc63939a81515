//! The jobs of `whit run`: how many began, ended and failed, and what they and the runner used.
//!
//! Reads no kernel file: the runner counts in `SharedState::jobs`.  Without a runner the source is
//! absent.  Costs one `getrusage` a sample, about 0.3 µs; counting costs the runner a load and a
//! store for each number.
//!
//! The usage of a job is added when it ends, so a job that runs for an hour adds an hour at once.
//! The runner's own time is that of its whole process, including the recording.

use std::sync::Arc;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::Host;
use procfs::usage::{Whose, usage};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, JobCounters, Source, SourceContext};

fields! {
    STARTED: counter Count, "Programs started; each attempt of a job counts";
    ENDED: counter Count, "Jobs that ended and whose output is written";
    FAILED: counter Count, "Jobs that ended with an error";
    AGAIN: counter Count, "Attempts that were discarded, mostly to be retried";
    RUNNING: gauge Count, "Jobs that run";
    WAITING: gauge Count, "Jobs not started yet, if their number is known";
    USER: counter Microseconds, "User time of jobs that ended";
    SYSTEM: counter Microseconds, "System time of jobs that ended";
    WALL: counter Nanoseconds, "Run time of jobs that ended";
    SPAWN: counter Nanoseconds, "Time to start the programs of jobs that ended";
    RUNNER_USER: counter Microseconds, "CPU time of whit run in user mode";
    RUNNER_SYSTEM: counter Microseconds, "CPU time of whit run in the kernel";
}

fn open(_: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    Box::new(Job { counters: context.shared.jobs.clone() })
}

struct Job {
    counters: Option<Arc<JobCounters>>,
}

impl Source for Job {
    fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
        table.begin();
        let Some(counters) = &self.counters else { return State::Absent };
        let usage = usage(Whose::Own);
        let (ended, running) = (counters.ended.get(), counters.running.get());
        let total = Some(counters.total.get()).filter(|total| *total > 0);
        let mut row = table.row(b"");
        row.set(STARTED, counters.started.get());
        row.set(ENDED, ended);
        row.set(FAILED, counters.failed.get());
        row.set(AGAIN, counters.again.get());
        row.set(RUNNING, running);
        row.set_some(WAITING, total.map(|total| total.saturating_sub(ended + running)));
        row.set(USER, counters.user_us.get());
        row.set(SYSTEM, counters.system_us.get());
        row.set(WALL, counters.wall_ns.get());
        row.set(SPAWN, counters.spawn_ns.get());
        row.set(RUNNER_USER, usage.user_us);
        row.set(RUNNER_SYSTEM, usage.system_us);
        State::Ok
    }
}

/// CPU time in microseconds as a share of the interval between the readings, in per cent of one
/// CPU.
fn percent(row: &Row<'_>, field: usize) -> Option<f64> {
    let seconds = row.interval_seconds().filter(|seconds| *seconds > 0.0)?;
    Some(row.delta(field)? / (seconds * 1e4))
}

/// The mean of a time in nanoseconds, in milliseconds; missing without events.
fn mean_ms(row: &Row<'_>, sum: usize, count: usize) -> Option<f64> {
    let count = row.delta(count).filter(|count| *count > 0.0)?;
    Some(row.delta(sum)? / (count * 1e6))
}

/// CPU time per job that ended, in milliseconds.
fn cpu_ms(row: &Row<'_>) -> Option<f64> {
    let ended = row.delta(ENDED).filter(|ended| *ended > 0.0)?;
    Some((row.delta(USER)? + row.delta(SYSTEM)?) / (ended * 1e3))
}

fn runner_percent(row: &Row<'_>) -> Option<f64> {
    Some(percent(row, RUNNER_USER)? + percent(row, RUNNER_SYSTEM)?)
}

pub(crate) static ENTRY: Entry = Entry {
    name: "job",
    about: "Jobs of whit run: started, ended, failed, running, and the CPU time of jobs and runner; only in its own recordings (whit run --record)",
    letters: "o",
    reads: &[],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 200, verbose: 190, plot: 200, lexpr: 1140, gexpr: 1140 },
        brief: &[Block {
            when: |_| true,
            title: "<-----Jobs------>",
            headings: &["  Run  Jobs Fail "],
            show: Show::Cells(&[
                Cell::scaled(" ", 4, |row| row.gauge(RUNNING)),
                Cell::scaled(" ", 5, |row| row.rate(ENDED)),
                Cell::scaled(" ", 4, |row| row.rate(FAILED)),
            ]),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "JOB SUMMARY ($rate)",
            headings: &[
                "<------------------Jobs-----------------><----Each job, ms-----><--Jobs%--><-Runner%->",
                "   Run    Wait   Begun   Ended Fail Again     Time    CPU  Start  User  Sys  User  Sys",
            ],
            show: Show::Cells(&[
                Cell::whole("", 6, |row| row.gauge(RUNNING)),
                Cell::whole(" ", 7, |row| row.gauge(WAITING)),
                Cell::whole(" ", 7, |row| row.rate(STARTED)),
                Cell::whole(" ", 7, |row| row.rate(ENDED)),
                Cell::whole(" ", 4, |row| row.rate(FAILED)),
                Cell::whole(" ", 5, |row| row.rate(AGAIN)),
                Cell::fixed(" ", 8, 1, |row| mean_ms(row, WALL, ENDED)),
                Cell::fixed(" ", 6, 2, cpu_ms),
                Cell::fixed(" ", 6, 3, |row| mean_ms(row, SPAWN, ENDED)),
                Cell::whole(" ", 5, |row| percent(row, USER)),
                Cell::whole(" ", 4, |row| percent(row, SYSTEM)),
                Cell::fixed(" ", 5, 1, |row| percent(row, RUNNER_USER)),
                Cell::fixed(" ", 4, 1, |row| percent(row, RUNNER_SYSTEM)),
            ]),
        }],
        plot: Some(Plot {
            tag: "JOB",
            extension: "tab",
            columns: &[
                PlotColumn::whole("Run", |row| row.gauge(RUNNING)),
                PlotColumn::whole("Wait", |row| row.gauge(WAITING)),
                PlotColumn::new("Begun", |row| row.rate(STARTED)),
                PlotColumn::new("Ended", |row| row.rate(ENDED)),
                PlotColumn::new("Failed", |row| row.rate(FAILED)),
                PlotColumn::new("Again", |row| row.rate(AGAIN)),
                PlotColumn::fixed("TimeMs", 3, |row| mean_ms(row, WALL, ENDED)),
                PlotColumn::fixed("CpuMs", 3, cpu_ms),
                PlotColumn::fixed("StartMs", 3, |row| mean_ms(row, SPAWN, ENDED)),
                PlotColumn::fixed("User%", 1, |row| percent(row, USER)),
                PlotColumn::fixed("Sys%", 1, |row| percent(row, SYSTEM)),
                PlotColumn::fixed("RunnerUser%", 1, |row| percent(row, RUNNER_USER)),
                PlotColumn::fixed("RunnerSys%", 1, |row| percent(row, RUNNER_SYSTEM)),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::whole("job.running", |row| row.gauge(RUNNING)),
            PlotColumn::whole("job.waiting", |row| row.gauge(WAITING)),
            PlotColumn::new("job.started", |row| row.rate(STARTED)),
            PlotColumn::new("job.ended", |row| row.rate(ENDED)),
            PlotColumn::new("job.failed", |row| row.rate(FAILED)),
            PlotColumn::fixed("job.runner", 1, runner_percent),
        ],
        ..Layout::EMPTY
    }],
    open,
    by_name_only: true,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedState;

    #[test]
    fn counts_come_through_and_an_unknown_number_of_jobs_is_no_number() {
        let counters = Arc::new(JobCounters::default());
        let shared = SharedState { jobs: Some(counters.clone()), ..SharedState::default() };
        let context = Arc::new(SourceContext { shared, ..SourceContext::default() });
        let mut host = Host::in_memory();
        let mut source = open(&mut host, &context);
        let mut table = Table::new(ENTRY.fields.len());
        counters.started.add(7);
        counters.ended.add(4);
        counters.failed.set(1);
        counters.running.set(2);
        counters.user_us.add(1500);
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let told = |table: &Table| [STARTED, ENDED, FAILED, RUNNING, USER].map(|f| table.get(0, f));
        assert_eq!(told(&table), [7, 4, 1, 2, 1500].map(Some));
        assert_eq!(table.get(0, WAITING), None);
        assert!(table.get(0, RUNNER_USER).is_some());
        counters.total.set(20);
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, WAITING), Some(14));
        // More were begun than somebody said that there would be.
        counters.total.set(5);
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, WAITING), Some(0));
    }

    #[test]
    fn where_nobody_runs_jobs_there_is_nothing() {
        let mut host = Host::new("/");
        let mut source = open(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        assert_eq!(table.rows(), 0);
    }
}
