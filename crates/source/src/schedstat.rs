//! The run queue: how long tasks ran on each CPU, and how long they waited to run.
//!
//! Reads `/proc/schedstat` with one `pread` (needs a kernel with `CONFIG_SCHEDSTATS`).  On large
//! machines most of the file describes scheduling domains, about 300 bytes each and several for
//! every CPU.  The parser skips them; printing them is most of the kernel's cost.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::schedstat::parse_schedstat;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

fields! {
    RUN: counter Nanoseconds, "Time tasks ran";
    WAIT: counter Nanoseconds, "Time tasks waited in the run queue";
    TIMESLICES: counter Count, "Timeslices given to tasks";
    SCHEDULES: counter Count, "Times schedule() was called";
    SCHEDULES_IDLE: counter Count, "Times schedule() left the CPU idle";
    WAKEUPS: counter Count, "Tasks that this CPU woke up";
    WAKEUPS_LOCAL: counter Count, "Tasks that this CPU woke up to run on itself";
    YIELDS: counter Count, "Times a task yielded the CPU";
}

/// The most CPUs that are read, and the most for which Linux can be built.
const CPUS_MAX: usize = 8192;

struct Schedstat {
    file: FileId,
}

impl Source for Schedstat {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let Some(cpus) = parse_schedstat(text) else { return State::Failed(0) };
        for (cpu, queue) in cpus.take(CPUS_MAX) {
            let mut row = table.row(cpu);
            row.set(RUN, queue.run_ns);
            row.set(WAIT, queue.wait_ns);
            row.set(TIMESLICES, queue.timeslices);
            row.set(SCHEDULES, queue.schedules);
            row.set(SCHEDULES_IDLE, queue.schedules_idle);
            row.set(WAKEUPS, queue.wakeups);
            row.set(WAKEUPS_LOCAL, queue.wakeups_local);
            row.set(YIELDS, queue.yields);
        }
        State::Ok
    }
}

/// The increase of a counter: on one CPU, or on all of them.
type Delta = fn(&Row<'_>, usize) -> Option<f64>;

fn of_one(row: &Row<'_>, field: usize) -> Option<f64> {
    row.delta(field)
}

fn of_all(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |cpu| cpu.delta(field))
}

/// A time as a share of the interval between the readings, in per cent of one CPU.
fn percent(row: &Row<'_>, delta: Delta, field: usize) -> Option<f64> {
    Some(delta(row, field)? / (row.interval_seconds()? * 1e7))
}

/// Like [`percent`], as a mean over the CPUs.
fn percent_mean(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(percent(row, of_all, field)? / row.rows().count().max(1) as f64)
}

/// Mean length of a timeslice, or of the wait for one, in µs; missing without timeslices.
fn per_turn_us(row: &Row<'_>, delta: Delta, field: usize) -> Option<f64> {
    let turns = delta(row, TIMESLICES)?;
    let time = delta(row, field)?;
    (turns > 0.0).then(|| time / turns / 1e3)
}

/// Wake-ups by a CPU of tasks that then run on it, in per cent of its wake-ups.
fn local(row: &Row<'_>, delta: Delta) -> Option<f64> {
    let wakeups = delta(row, WAKEUPS)?;
    let local = delta(row, WAKEUPS_LOCAL)?;
    (wakeups > 0.0).then(|| 100.0 * local / wakeups)
}

fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |cpu| cpu.rate(field))
}

pub(crate) static ENTRY: Entry = Entry {
    name: "schedstat",
    about: "Time that tasks ran and waited in the run queue, timeslices and wake-ups, by CPU",
    letters: "rR",
    reads: &["/proc/schedstat"],
    instance: &["cpu"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[
        Layout {
            level: Level::Summary,
            position: DisplayOrder {
                brief: 160,
                verbose: 150,
                plot: 160,
                lexpr: 1170,
                gexpr: 1170,
            },
            brief: &[Block {
                when: |_| true,
                title: "<-------RunQueue------->",
                headings: &["Run% Wait% WaitUs Turns "],
                show: Show::Cells(&[
                    Cell::whole("", 4, |row| percent_mean(row, RUN)),
                    Cell::fixed(" ", 5, 1, |row| percent_mean(row, WAIT)),
                    Cell::whole(" ", 6, |row| per_turn_us(row, of_all, WAIT)),
                    Cell::scaled(" ", 5, |row| total(row, TIMESLICES)),
                ]),
            }],
            verbose: &[Block {
                when: |_| true,
                title: "RUN QUEUE SUMMARY ($rate)",
                headings: &[" Run% Wait%  RunUs WaitUs  Turns  Sched   Idle  Yield Wakeup Local%"],
                show: Show::Cells(&[
                    Cell::fixed(" ", 5, 1, |row| percent_mean(row, RUN)),
                    Cell::fixed(" ", 5, 1, |row| percent_mean(row, WAIT)),
                    Cell::whole(" ", 6, |row| per_turn_us(row, of_all, RUN)),
                    Cell::whole(" ", 6, |row| per_turn_us(row, of_all, WAIT)),
                    Cell::scaled(" ", 6, |row| total(row, TIMESLICES)),
                    Cell::scaled(" ", 6, |row| total(row, SCHEDULES)),
                    Cell::scaled(" ", 6, |row| total(row, SCHEDULES_IDLE)),
                    Cell::scaled(" ", 6, |row| total(row, YIELDS)),
                    Cell::scaled(" ", 6, |row| total(row, WAKEUPS)),
                    Cell::whole(" ", 6, |row| local(row, of_all)),
                ]),
            }],
            plot: Some(Plot {
                tag: "RUNQ",
                columns: &[
                    PlotColumn::fixed("Run%", 2, |row| percent_mean(row, RUN)),
                    PlotColumn::fixed("Wait%", 2, |row| percent_mean(row, WAIT)),
                    PlotColumn::fixed("RunUs", 1, |row| per_turn_us(row, of_all, RUN)),
                    PlotColumn::fixed("WaitUs", 1, |row| per_turn_us(row, of_all, WAIT)),
                    PlotColumn::new("Turns", |row| total(row, TIMESLICES)),
                    PlotColumn::new("Sched", |row| total(row, SCHEDULES)),
                    PlotColumn::new("Idle", |row| total(row, SCHEDULES_IDLE)),
                    PlotColumn::new("Yield", |row| total(row, YIELDS)),
                    PlotColumn::new("Wakeup", |row| total(row, WAKEUPS)),
                    PlotColumn::fixed("Local%", 1, |row| local(row, of_all)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::fixed("runqueue.run", 2, |row| percent_mean(row, RUN)).level(),
                PlotColumn::fixed("runqueue.wait", 2, |row| percent_mean(row, WAIT)).level(),
                PlotColumn::fixed("runqueue.waitus", 1, |row| per_turn_us(row, of_all, WAIT))
                    .level(),
                PlotColumn::new("runqueue.turns", |row| total(row, TIMESLICES)),
                PlotColumn::new("runqueue.wakeups", |row| total(row, WAKEUPS)),
            ],
            ..Layout::EMPTY
        },
        Layout {
            level: Level::Detail,
            position: DisplayOrder {
                verbose: 155,
                plot: 150,
                lexpr: 1430,
                gexpr: 1430,
                ..DisplayOrder::LAST
            },
            verbose: &[Block {
                when: |_| true,
                title: "RUN QUEUE PER CPU ($rate)",
                headings: &[
                    "Cpu   Run% Wait%  RunUs WaitUs  Turns  Sched   Idle  Yield Wakeup Local%",
                ],
                show: Show::Cells(&[
                    Cell::right("", 4, |row| Some(row.name())),
                    Cell::fixed("  ", 5, 1, |row| percent(row, of_one, RUN)),
                    Cell::fixed(" ", 5, 1, |row| percent(row, of_one, WAIT)),
                    Cell::whole(" ", 6, |row| per_turn_us(row, of_one, RUN)),
                    Cell::whole(" ", 6, |row| per_turn_us(row, of_one, WAIT)),
                    Cell::scaled(" ", 6, |row| row.rate(TIMESLICES)),
                    Cell::scaled(" ", 6, |row| row.rate(SCHEDULES)),
                    Cell::scaled(" ", 6, |row| row.rate(SCHEDULES_IDLE)),
                    Cell::scaled(" ", 6, |row| row.rate(YIELDS)),
                    Cell::scaled(" ", 6, |row| row.rate(WAKEUPS)),
                    Cell::whole(" ", 6, |row| local(row, of_one)),
                ]),
            }],
            plot: Some(Plot {
                tag: "RUNQ",
                extension: "runq",
                columns: &[
                    PlotColumn::fixed("Run%", 2, |row| percent(row, of_one, RUN)),
                    PlotColumn::fixed("Wait%", 2, |row| percent(row, of_one, WAIT)),
                    PlotColumn::fixed("RunUs", 1, |row| per_turn_us(row, of_one, RUN)),
                    PlotColumn::fixed("WaitUs", 1, |row| per_turn_us(row, of_one, WAIT)),
                    PlotColumn::new("Turns", |row| row.rate(TIMESLICES)),
                    PlotColumn::new("Sched", |row| row.rate(SCHEDULES)),
                    PlotColumn::new("Idle", |row| row.rate(SCHEDULES_IDLE)),
                    PlotColumn::new("Yield", |row| row.rate(YIELDS)),
                    PlotColumn::new("Wakeup", |row| row.rate(WAKEUPS)),
                    PlotColumn::fixed("Local%", 1, |row| local(row, of_one)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::fixed("runqueueinfo.run.cpu{}", 2, |row| percent(row, of_one, RUN))
                    .level(),
                PlotColumn::fixed("runqueueinfo.wait.cpu{}", 2, |row| percent(row, of_one, WAIT))
                    .level(),
                PlotColumn::new("runqueueinfo.turns.cpu{}", |row| row.rate(TIMESLICES)),
            ],
            ..Layout::EMPTY
        },
    ],
    open: |host, _| Box::new(Schedstat { file: host.file("/proc/schedstat", ReadMode::Records) }),
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_cpu_and_an_old_version_refused() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        host.put(
            "/proc/schedstat",
            Some(b"version 17\ntimestamp 1\ncpu0 1 0 3 4 5 6 7 8 9\ndomain0 MC 3 1\ncpu3 0 0 0 0 0 0 0 1 2\n"),
        );
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(1)), (2, &b"3"[..]));
        assert_eq!(table.get(0, RUN), Some(7));
        assert_eq!(table.get(0, YIELDS), Some(1));
        assert_eq!(table.get(1, WAIT), Some(1));
        host.put("/proc/schedstat", Some(b"version 14\ncpu0 1 2 3\n"));
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Failed(0));
    }
}
