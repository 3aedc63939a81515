//! CPU time of the whole machine, interrupts, context switches, forks, and the run queue.
//!
//! Reads `/proc/stat` and `/proc/loadavg` (proc(5)).  Cost: one `pread` each; `/proc/stat` is
//! expensive on large machines, since the kernel sums every interrupt over all CPUs for it.  There
//! a BPF program copies the counters instead (`counters.rs`).

use bpf::CpuCounters;
use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, OptionKind, Part, Plot, PlotColumn, Row, Show,
    SourceOption,
};
use procfs::stat::{CpuTimes, StatLine, parse_stat_totals};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Field, Level, State, Table, fields};

use crate::Entry;
use crate::counters::{self, CounterSource};

fields! {
    USER: counter Ticks, "Time in user mode, guests included";
    NICE: counter Ticks, "Time in user mode at low priority";
    SYSTEM: counter Ticks, "Time in the kernel";
    IDLE: counter Ticks, "Idle time";
    IOWAIT: counter Ticks, "Idle time with an outstanding disk request";
    IRQ: counter Ticks, "Time in hardware interrupts";
    SOFTIRQ: counter Ticks, "Time in soft interrupts";
    STEAL: counter Ticks, "Time that the hypervisor gave to other guests";
    GUEST: counter Ticks, "Time running guests, part of user";
    GUEST_NICE: counter Ticks, "Time running niced guests, part of nice";
    INTERRUPTS: counter Count, "Interrupts served";
    CONTEXT_SWITCHES: counter Count, "Context switches";
    FORKS: counter Count, "Processes and threads created";
    RUNNING: gauge Count, "Tasks runnable now";
    BLOCKED: gauge Count, "Tasks waiting for a disk now";
    CPUS_ONLINE: gauge Count, "CPUs that are online";
    LOAD_1M: gauge Hundredths, "Load average over a minute";
    LOAD_5M: gauge Hundredths, "Load average over 5 minutes";
    LOAD_15M: gauge Hundredths, "Load average over 15 minutes";
    TASKS_RUNNING: gauge Count, "Tasks runnable now, from /proc/loadavg";
    TASKS: gauge Count, "Tasks that exist";
}

/// The ten times: the first fields of this source, and all of `cpu_core`.
pub(crate) const TIMES: &[Field] = FIELDS.split_at(INTERRUPTS).0;

struct Cpu {
    stat: FileId,
    loadavg: FileId,
}

impl CounterSource for Cpu {
    fn read_files(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.stat) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let mut row = table.row(b"");
        let mut online = 0;
        for line in parse_stat_totals(text) {
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
        self.read_load(host, &mut row);
        State::Ok
    }

    fn read_counters(
        &mut self,
        counters: &CpuCounters,
        host: &mut Host,
        table: &mut Table,
    ) -> State {
        table.begin();
        let mut times_ns = [0; 10];
        let (mut interrupts, mut switches) = (counters.interrupt_errors(), 0);
        let (mut running, mut blocked, mut online) = (0, 0, 0);
        for cpu in (0..counters.cpus()).filter_map(|number| counters.cpu(number)) {
            for (sum, ns) in times_ns.iter_mut().zip(counters::times_ns(&cpu)) {
                *sum += ns;
            }
            interrupts += cpu.interrupts();
            switches += cpu.context_switches;
            blocked += i64::from(cpu.blocked);
            if cpu.online != 0 {
                running += u64::from(cpu.running);
                online += 1;
            }
        }
        let mut row = table.row(b"");
        set_times(&mut row, &counters::ticks(times_ns));
        row.set(INTERRUPTS, interrupts);
        row.set(CONTEXT_SWITCHES, switches);
        row.set(FORKS, counters.forks());
        row.set(RUNNING, running);
        row.set_signed(BLOCKED, blocked.max(0));
        row.set(CPUS_ONLINE, online);
        self.read_load(host, &mut row);
        State::Ok
    }

    fn check(&mut self, host: &mut Host, counters: &CpuCounters) -> Result<(), String> {
        counters::check(ENTRY.fields, self, host, counters)
    }
}

impl Cpu {
    /// Reads `/proc/loadavg`.
    fn read_load(&self, host: &mut Host, row: &mut sample::RowMut<'_>) {
        let load = host.read(self.loadavg).ok().and_then(procfs::loadavg::parse_loadavg);
        let Some(load) = load else { return };
        for (field, value) in [LOAD_1M, LOAD_5M, LOAD_15M].into_iter().zip(load.average) {
            row.set(field, value);
        }
        row.set(TASKS_RUNNING, load.running);
        row.set(TASKS, load.tasks);
    }
}

/// Sets the ten times, which are the first fields of this source and of `cpu_core`.
pub(crate) fn set_times(row: &mut sample::RowMut<'_>, times: &CpuTimes) {
    for (field, &ticks) in times.ticks[..times.count].iter().enumerate() {
        row.set(field, ticks);
    }
}

/// `--cpufilt`: of the total, of each CPU, and of the columns of interrupts.
pub(crate) static CPU_FILTER: SourceOption = SourceOption {
    name: "cpufilt",
    value_name: "LIST",
    help: "CPUs to show: numbers and ranges, ^ in front to leave them out",
    kind: OptionKind::NameNumbers,
    letters: "cCjJ",
    // The total of some CPUs takes the numbers of each.
    reads_too: Some(('c', 'C')),
    ..SourceOption::EMPTY
};

/// A share of all time, in per cent.  Guest time is a part of user time, so it is not added to the
/// total again.  With `-on` ticks instead of shares.
pub(crate) fn percent(row: &Row<'_>, field: usize) -> Option<f64> {
    let part = row.delta(field)?;
    let parts = (USER..=STEAL).filter_map(|other| row.delta(other));
    let whole: f64 = if row.options().per_interval() { 100.0 } else { parts.sum() };
    Some(100.0 * part / if whole == 0.0 { 1.0 } else { whole })
}

/// Like [`percent`]; with `--cpufilt` the mean over the CPUs that the filter selects.
fn share(row: &Row<'_>, field: usize) -> Option<f64> {
    let filter = row.options().value(&CPU_FILTER);
    let cores = if filter.is_set() { row.other("cpu_core") } else { None };
    let Some(cores) = cores else { return percent(row, field) };
    let sum = cores.sum(|core| filter.keeps(core.name()), |core| percent(core, field))?;
    // An offline CPU has no share.
    let counts = |core: &Row<'_>| filter.keeps(core.name()) && core.raw(field).is_some();
    let kept = cores.rows().filter(counts).count();
    (kept > 0).then(|| sum / kept as f64)
}

/// System, interrupt and steal time: brief mode's `sys`.  `of` is [`percent`] or [`share`].  The
/// order of the additions is collectl's, since the last bit may decide the digit.
pub(crate) fn system_total(row: &Row<'_>, of: fn(&Row<'_>, usize) -> Option<f64>) -> Option<f64> {
    plus(plus(plus(of(row, SYSTEM), of(row, IRQ)), of(row, SOFTIRQ)), of(row, STEAL))
}

/// User time, niced or not.
pub(crate) fn user_total(row: &Row<'_>, of: fn(&Row<'_>, usize) -> Option<f64>) -> Option<f64> {
    plus(of(row, USER), of(row, NICE))
}

/// All time except idle and iowait, summed in the order of collectl's plot format.
pub(crate) fn busy(row: &Row<'_>, of: fn(&Row<'_>, usize) -> Option<f64>) -> Option<f64> {
    let fields = [SYSTEM, IRQ, SOFTIRQ, STEAL];
    fields.into_iter().fold(user_total(row, of), |sum, field| plus(sum, of(row, field)))
}

/// A sum that ignores a missing part: an old kernel has no steal.
fn plus(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left + right),
        (one, other) => one.or(other),
    }
}

/// A count of tasks without the recorder itself.  Where a machine does not count the reader among
/// them (a container's `/proc/stat` may say 0), the others are 0 and not collectl's -1.
fn without_reader(row: &Row<'_>, field: usize) -> Option<f64> {
    let all = row.gauge(field)?;
    if row.raw(field).is_none() {
        // Under `--exact` 0: the reader is not among tasks that were not recorded.
        return Some(all);
    }
    let others = all - 1.0;
    Some(if row.exact() { others } else { others.max(0.0) })
}

/// The CPUs that are online; where that was not recorded, collectl shows those that the machine has.
fn cpus(row: &Row<'_>) -> Option<f64> {
    match row.exact() && row.raw(CPUS_ONLINE).is_none() {
        true => Some(row.frame.meta.cpus() as f64),
        false => row.gauge(CPUS_ONLINE),
    }
}

fn load(row: &Row<'_>, field: usize) -> Option<f64> {
    row.gauge(field).map(|hundredths| hundredths / 100.0)
}

/// collectl's notice in headings while CPUs are offline.
pub(crate) const DISABLED: &[u8] = b" *** One or more CPUs disabled ***";

/// Whether fewer CPUs are online than the machine has.
pub(crate) fn has_disabled(frame: &Frame<'_>) -> bool {
    let online = frame.source("cpu").and_then(|row| row.raw(CPUS_ONLINE));
    online.is_some_and(|online| online < frame.meta.cpus() as u64)
}

fn brief_heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let hyper = frame.meta.is_hyperthreaded();
    let text: &[u8] = match part {
        Part::Title if hyper => b"<----CPU$hyper----->",
        Part::Title => b"<--------CPU-------->",
        Part::Heading => b"cpu sys inter  ctxsw ",
        Part::Notice if has_disabled(frame) => DISABLED,
        Part::Notice | Part::Body => b"",
    };
    out.extend_from_slice(text);
}

fn verbose_heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    if part == Part::Title {
        out.extend_from_slice(b"CPU$hyper SUMMARY (INTR, CTXSW & PROC $rate)");
        if has_disabled(frame) {
            out.push(b':');
            out.extend_from_slice(DISABLED);
        }
    } else if part == Part::Heading {
        out.extend_from_slice(
            b" User  Nice   Sys  Wait   IRQ  Soft Steal Guest NiceG  Idle  CPUs  Intr  Ctxsw  Proc  \
              RunQ   Run   Avg1  Avg5 Avg15 RunT BlkT\n",
        );
    }
}

const BRIEF: &[Cell] = &[
    Cell::whole("", 3, |row| plus(user_total(row, share), system_total(row, share)))
        .summed(|row| plus(user_total(row, share), share(row, SYSTEM))),
    Cell::whole(" ", 3, |row| system_total(row, share)).summed(|row| share(row, SYSTEM)),
    Cell::scaled(" ", 5, |row| row.rate(INTERRUPTS)),
    Cell::scaled(" ", 6, |row| row.rate(CONTEXT_SWITCHES)),
];

const VERBOSE: &[Cell] = &[
    Cell::whole("  ", 4, |row| share(row, USER)),
    Cell::whole("  ", 4, |row| share(row, NICE)),
    Cell::whole("  ", 4, |row| share(row, SYSTEM)),
    Cell::whole("  ", 4, |row| share(row, IOWAIT)),
    Cell::whole("  ", 4, |row| share(row, IRQ)),
    Cell::whole("  ", 4, |row| share(row, SOFTIRQ)),
    Cell::whole("  ", 4, |row| share(row, STEAL)),
    Cell::whole("  ", 4, |row| share(row, GUEST)),
    Cell::whole("  ", 4, |row| share(row, GUEST_NICE)),
    Cell::whole("  ", 4, |row| share(row, IDLE)),
    Cell::whole("  ", 4, cpus),
    Cell::scaled("  ", 4, |row| row.rate(INTERRUPTS)),
    Cell::scaled("   ", 4, |row| row.rate(CONTEXT_SWITCHES)),
    Cell::whole("  ", 4, |row| row.rate(FORKS)),
    Cell::whole("  ", 4, |row| row.gauge(TASKS)),
    Cell::whole("  ", 4, |row| without_reader(row, TASKS_RUNNING)),
    Cell::fixed("  ", 5, 2, |row| load(row, LOAD_1M)),
    Cell::fixed(" ", 5, 2, |row| load(row, LOAD_5M)),
    Cell::fixed(" ", 5, 2, |row| load(row, LOAD_15M)),
    Cell::whole(" ", 4, |row| without_reader(row, RUNNING)),
    Cell::whole(" ", 4, |row| row.gauge(BLOCKED)),
];

const PLOT: &[PlotColumn] = &[
    PlotColumn::new("User%", |row| share(row, USER)),
    PlotColumn::new("Nice%", |row| share(row, NICE)),
    PlotColumn::new("Sys%", |row| share(row, SYSTEM)),
    PlotColumn::new("Wait%", |row| share(row, IOWAIT)),
    PlotColumn::new("Irq%", |row| share(row, IRQ)),
    PlotColumn::new("Soft%", |row| share(row, SOFTIRQ)),
    PlotColumn::new("Steal%", |row| share(row, STEAL)),
    PlotColumn::new("Idle%", |row| share(row, IDLE)),
    PlotColumn::new("Totl%", |row| busy(row, share)),
    PlotColumn::new("Guest%", |row| share(row, GUEST)),
    PlotColumn::new("GuestN%", |row| share(row, GUEST_NICE)),
    PlotColumn::new("Intrpt$rate", |row| row.rate(INTERRUPTS)),
    PlotColumn::new("Ctx$rate", |row| row.rate(CONTEXT_SWITCHES)),
    PlotColumn::new("Proc$rate", |row| row.rate(FORKS)),
    PlotColumn::new("ProcQue", |row| row.gauge(TASKS)),
    PlotColumn::new("ProcRun", |row| without_reader(row, TASKS_RUNNING)),
    PlotColumn::fixed("L-Avg1", 2, |row| load(row, LOAD_1M)),
    PlotColumn::fixed("L-Avg5", 2, |row| load(row, LOAD_5M)),
    PlotColumn::fixed("L-Avg15", 2, |row| load(row, LOAD_15M)),
    PlotColumn::whole("RunTot", |row| without_reader(row, RUNNING)),
    PlotColumn::whole("BlkTot", |row| row.gauge(BLOCKED)),
];

const METRICS: &[PlotColumn] = &[
    PlotColumn::new("cputotals.num", |row| Some(row.frame.meta.cpus() as f64)).level(),
    PlotColumn::new("cputotals.user", |row| share(row, USER)).level(),
    PlotColumn::new("cputotals.nice", |row| share(row, NICE)).level(),
    PlotColumn::new("cputotals.sys", |row| share(row, SYSTEM)).level(),
    PlotColumn::new("cputotals.wait", |row| share(row, IOWAIT)).level(),
    PlotColumn::new("cputotals.irq", |row| share(row, IRQ)).level(),
    PlotColumn::new("cputotals.soft", |row| share(row, SOFTIRQ)).level(),
    PlotColumn::new("cputotals.steal", |row| share(row, STEAL)).level(),
    PlotColumn::new("cputotals.idle", |row| share(row, IDLE)).level(),
    PlotColumn::new("cputotals.systot", |row| system_total(row, share)).level(),
    PlotColumn::new("cputotals.usertot", |row| user_total(row, share)).level(),
    PlotColumn::new("cputotals.total", |row| {
        plus(plus(system_total(row, share), share(row, USER)), share(row, NICE))
    })
    .level(),
    PlotColumn::new("ctxint.ctx", |row| row.rate(CONTEXT_SWITCHES)),
    PlotColumn::new("ctxint.int", |row| row.rate(INTERRUPTS)),
    PlotColumn::new("proc.creates", |row| row.rate(FORKS)),
    PlotColumn::new("proc.runq", |row| row.gauge(TASKS)).level(),
    PlotColumn::new("proc.run", |row| without_reader(row, TASKS_RUNNING)).level(),
    PlotColumn::fixed("cpuload.avg1", 2, |row| load(row, LOAD_1M)).level(),
    PlotColumn::fixed("cpuload.avg5", 2, |row| load(row, LOAD_5M)).level(),
    PlotColumn::fixed("cpuload.avg15", 2, |row| load(row, LOAD_15M)).level(),
];

pub(crate) static ENTRY: Entry = Entry {
    name: "cpu",
    about: "CPU time of the whole machine, interrupts, context switches, forks, the run queue",
    letters: "c",
    reads: &["/proc/stat", "/proc/loadavg"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 10, verbose: 5, plot: 10, lexpr: 10, gexpr: 10 },
        brief: &[Block {
            when: |_| true,
            title: "",
            headings: &[],
            show: Show::Headed(brief_heading, BRIEF),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "",
            headings: &[],
            show: Show::Headed(verbose_heading, VERBOSE),
        }],
        plot: Some(Plot { tag: "CPU", columns: PLOT, ..Plot::EMPTY }),
        metrics: METRICS,
        ..Layout::EMPTY
    }],
    options: &[&CPU_FILTER],
    open: |host, context| {
        let stat = host.file("/proc/stat", ReadMode::Whole);
        let loadavg = host.file("/proc/loadavg", ReadMode::Whole);
        counters::open(&ENTRY, Cpu { stat, loadavg }, host, context)
    },
    ..Entry::EMPTY
};
