//! CPU time of the whole machine, interrupts, context switches, forks, and the run queue.
//!
//! Reads `/proc/stat` and `/proc/loadavg` (proc(5)).  Cost: one `pread` each; `/proc/stat` is the
//! dearer one on big machines, since the kernel adds up every interrupt of every CPU to make it.

use procfs::stat::{CpuTimes, StatLine, parse_stat};
use procfs::{FileId, Host, ReadMode};
use sample::{
    Block, Cadence, Cell, Field, Layout, Plot, PlotColumn, Row, Show, SourceDef, State, Table, Unit,
};

use crate::{Entry, Source};

const USER: usize = 0;
const NICE: usize = 1;
const SYSTEM: usize = 2;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const IRQ: usize = 5;
const SOFTIRQ: usize = 6;
const STEAL: usize = 7;
const GUEST: usize = 8;
const GUEST_NICE: usize = 9;
const INTERRUPTS: usize = 10;
const CONTEXT_SWITCHES: usize = 11;
const FORKS: usize = 12;
const RUNNING: usize = 13;
const BLOCKED: usize = 14;
const CPUS_ONLINE: usize = 15;
const LOAD_1: usize = 16;
const LOAD_5: usize = 17;
const LOAD_15: usize = 18;
const TASKS_RUNNING: usize = 19;
const TASKS: usize = 20;

pub(crate) const ENTRY: Entry = Entry {
    def: &CPU,
    open: |host, _| {
        let stat = host.file("/proc/stat", ReadMode::Whole);
        let loadavg = host.file("/proc/loadavg", ReadMode::Whole);
        Box::new(Cpu { stat, loadavg })
    },
};

struct Cpu {
    stat: FileId,
    loadavg: FileId,
}

impl Source for Cpu {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.stat) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let mut row = table.row(b"");
        let mut online = 0;
        for line in parse_stat(text) {
            match line {
                StatLine::Total(times) => set_times(&mut row, &times),
                StatLine::Cpu(..) => online += 1,
                StatLine::Interrupts(count) => row.set(INTERRUPTS, count),
                StatLine::ContextSwitches(count) => row.set(CONTEXT_SWITCHES, count),
                StatLine::Forks(count) => row.set(FORKS, count),
                StatLine::Running(count) => row.set(RUNNING, count),
                StatLine::Blocked(count) => row.set(BLOCKED, count),
                StatLine::BootTime(_) => {}
            }
        }
        row.set(CPUS_ONLINE, online);
        let load = host.read(self.loadavg).ok().and_then(procfs::loadavg::parse_loadavg);
        if let Some(load) = load {
            for (field, value) in [LOAD_1, LOAD_5, LOAD_15].into_iter().zip(load.average) {
                row.set(field, value);
            }
            row.set(TASKS_RUNNING, load.running);
            row.set(TASKS, load.tasks);
        }
        State::Ok
    }
}

/// The ten times, which stand first in this source and in `cpu_core`.
pub(crate) fn set_times(row: &mut sample::RowMut<'_>, times: &CpuTimes) {
    for (field, &ticks) in times.ticks[..times.count].iter().enumerate() {
        row.set(field, ticks);
    }
}

/// A share of all time, in per cent.  Guest time is part of user time, so it is not added to the
/// whole again.  With `-on` ticks are given instead of shares.
pub(crate) fn percent(row: &Row<'_>, field: usize) -> Option<f64> {
    let part = row.delta(field)?;
    let parts = (USER..=STEAL).filter_map(|other| row.delta(other));
    let whole: f64 = if row.options().per_interval() { 100.0 } else { parts.sum() };
    Some(100.0 * part / if whole == 0.0 { 1.0 } else { whole })
}

/// Per cent of several fields together; missing ones (an old kernel has no steal) add nothing.
pub(crate) fn percents(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    let parts = fields.iter().filter_map(|&field| percent(row, field));
    parts.fold(None, |sum, part| Some(sum.unwrap_or(0.0) + part))
}

const BUSY_SYSTEM: &[usize] = &[SYSTEM, IRQ, SOFTIRQ, STEAL];
const BUSY: &[usize] = &[USER, NICE, SYSTEM, IRQ, SOFTIRQ, STEAL];

static CPU: SourceDef = SourceDef {
    name: "cpu",
    about: "CPU time of the whole machine, interrupts, context switches, forks, the run queue",
    letters: "c",
    reads: &["/proc/stat", "/proc/loadavg"],
    instance: &[],
    fields: &[
        Field::counter("user", Unit::Ticks, "Time in user mode, guests included"),
        Field::counter("nice", Unit::Ticks, "Time in user mode at low priority"),
        Field::counter("system", Unit::Ticks, "Time in the kernel"),
        Field::counter("idle", Unit::Ticks, "Time with nothing to do"),
        Field::counter("iowait", Unit::Ticks, "Idle time with a disk request outstanding"),
        Field::counter("irq", Unit::Ticks, "Time in hardware interrupts"),
        Field::counter("softirq", Unit::Ticks, "Time in soft interrupts"),
        Field::counter("steal", Unit::Ticks, "Time that the hypervisor gave to others"),
        Field::counter("guest", Unit::Ticks, "Time running guests, part of user"),
        Field::counter("guest_nice", Unit::Ticks, "Time running niced guests, part of nice"),
        Field::counter("interrupts", Unit::Count, "Interrupts served"),
        Field::counter("context_switches", Unit::Count, "Context switches"),
        Field::counter("forks", Unit::Count, "Processes and threads created"),
        Field::gauge("running", Unit::Count, "Tasks runnable now"),
        Field::gauge("blocked", Unit::Count, "Tasks waiting for a disk now"),
        Field::gauge("cpus_online", Unit::Count, "CPUs that are online"),
        Field::gauge("load_1m", Unit::Hundredths, "Load average over a minute"),
        Field::gauge("load_5m", Unit::Hundredths, "Load average over 5 minutes"),
        Field::gauge("load_15m", Unit::Hundredths, "Load average over 15 minutes"),
        Field::gauge("tasks_running", Unit::Count, "Tasks runnable now, as loadavg counts"),
        Field::gauge("tasks", Unit::Count, "Tasks that exist"),
    ],
    cadence: Cadence::First,
    layouts: &[Layout {
        letter: 'c',
        brief: &[Block {
            when: |_| true,
            title: "<--------CPU-------->",
            headings: &["cpu sys inter  ctxsw "],
            show: Show::Cells(&[
                Cell::whole("", 3, |row| percents(row, BUSY)),
                Cell::whole(" ", 3, |row| percents(row, BUSY_SYSTEM)),
                Cell::scaled(" ", 5, |row| row.rate(INTERRUPTS)),
                Cell::scaled(" ", 6, |row| row.rate(CONTEXT_SWITCHES)),
            ]),
        }],
        verbose: &[],
        plot: Some(Plot {
            tag: "CPU",
            extension: "tab",
            columns: &[PlotColumn::new("User%", |row| percent(row, USER))],
            ..Plot::EMPTY
        }),
        ..Layout::EMPTY
    }],
};
