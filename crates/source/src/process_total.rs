//! Totals of all processes: starts, exits, lost events, and the CPU time that no process accounts
//! for.
//!
//! Reads only `/proc/stat`, which other sources read too.  The sources `process` and `exit` count
//! the rest, in [`ProcessCounters`](crate::ProcessCounters).  This source follows both in the
//! registry, so that its row is of the same pass.
//!
//! The difference of *busy* and *attributed* over an interval is unattributed: lost exit events,
//! and sampling error, since the kernel samples the machine's time by ticks but measures that of
//! processes.

use std::sync::Arc;

use layout::{Balance, Block, Cell, DisplayOrder, Layout, Row, Show};
use procfs::stat::{CpuTimes, StatLine, parse_stat_totals};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::process::{PROCESS_FILTER, PROCESS_STATE};
use crate::{Entry, Source, SourceContext};

fields! {
    WAY: text, "How processes are read: iterator, proc or unprivileged";
    EXIT_WAY: text,
        "How exits are read: bpf, taskstats, or inferred from the parents' child times; missing if \
         not at all";
    PROCESSES: gauge Count, "Processes";
    THREADS: gauge Count, "Threads of all processes";
    RUNNING: gauge Count, "Runnable processes";
    BIRTHS: counter Count, "Processes and threads created since boot";
    EXECS: counter Count, "Programs executed since the recorder started";
    EXITS: counter Count, "Exit events read since the recorder started";
    EXITS_LOST: counter Count, "Exit events lost";
    EXECS_LOST: counter Count, "Programs executed whose command line was lost";
    FACTS_LATE: counter Count, "Command lines that were not read in time";
    ATTRIBUTED: counter Nanoseconds, "CPU time of all processes, including those that exited";
    BUSY: counter Nanoseconds, "CPU time in user mode and in the kernel, as /proc/stat counts it";
}

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    let stat = host.file("/proc/stat", ReadMode::Records);
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Box::new(ProcessTotal { stat, tick_ns, context: context.clone() })
}

struct ProcessTotal {
    stat: FileId,
    tick_ns: u64,
    context: Arc<SourceContext>,
}

impl Source for ProcessTotal {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let counters = &self.context.shared.processes;
        let Some(way) = counters.method() else { return State::Absent };
        let text = match host.read(self.stat) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let mut row = table.row(b"");
        for line in parse_stat_totals(text) {
            match line {
                StatLine::Total(times) => {
                    row.set(BUSY, busy_ticks(&times).saturating_mul(self.tick_ns));
                }
                StatLine::Forks(forks) => row.set(BIRTHS, forks),
                _ => {}
            }
        }
        row.set_text(WAY, way.as_bytes());
        // Without a pass at this tick the totals are unknown.
        if let Some(totals) = counters.totals() {
            row.set(PROCESSES, totals.processes);
            row.set(THREADS, totals.threads);
            row.set(RUNNING, totals.running);
            row.set(FACTS_LATE, counters.facts_late.get());
            row.set_some(ATTRIBUTED, counters.attributed().attributed_ns());
        }
        if let Some(way) = counters.exit_method() {
            row.set_text(EXIT_WAY, way.as_bytes());
        }
        if counters.has_exit_events() {
            row.set(EXITS, counters.exits.get());
            row.set(EXITS_LOST, counters.exits_lost.get());
        }
        // Only the ring buffer has exec events.
        if counters.has_exec_events() {
            row.set(EXECS, counters.execs.get());
            row.set(EXECS_LOST, counters.execs_lost.get());
        }
        State::Ok
    }
}

/// User, nice and system time: the CPU time of processes and kernel threads.  Interrupts belong to
/// no process, and user includes guest time.
fn busy_ticks(times: &CpuTimes) -> u64 {
    times.ticks[..3].iter().fold(0, |sum, &ticks| sum.saturating_add(ticks))
}

/// A line below the processes, and the totals that sums over processes are compared with.
const LAYOUT: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 120,
        plot: 110,
        lexpr: 1510,
        gexpr: 1510,
        ..DisplayOrder::LAST
    },
    verbose: &[TOTALS],
    balance: Some(&BALANCE),
    ..Layout::EMPTY
};

/// Totals of all processes; not shown if a filter selects some of them.
const TOTALS: Block = Block {
    when: |options| {
        let is_part = options.value(&PROCESS_FILTER).is_set()
            || !options.value(&PROCESS_STATE).text().is_empty();
        !options.exact && !is_part
    },
    title: "PROCESS TOTALS (counters are $rate)",
    headings: &[" Procs  Thrds  Run  Births    Ends  EndsLost  LateCmds  Unattr%  Read by"],
    show: Show::Cells(&[
        Cell::whole(" ", 6, |row| row.gauge(PROCESSES)),
        Cell::whole(" ", 6, |row| row.gauge(THREADS)),
        Cell::whole(" ", 4, |row| row.gauge(RUNNING)),
        Cell::fixed(" ", 7, 1, |row| row.rate(BIRTHS)),
        Cell::fixed(" ", 7, 1, |row| row.rate(EXITS)),
        Cell::whole(" ", 9, |row| row.delta(EXITS_LOST)),
        Cell::whole(" ", 9, |row| row.delta(FACTS_LATE)),
        Cell::fixed(" ", 8, 1, unattributed_percent),
        Cell::written("  ", push_ways),
    ]),
};

/// CPU time that no process accounts for, in percent of one CPU.  It may be slightly negative,
/// since the kernel samples the machine's time by ticks.
fn unattributed_percent(row: &Row<'_>) -> Option<f64> {
    let unattributed_ns = row.delta(BUSY)? - row.delta(ATTRIBUTED)?;
    let interval_ns = row.interval_seconds().filter(|seconds| *seconds > 0.0)? * 1e9;
    Some(unattributed_ns * 100.0 / interval_ns)
}

/// `iterator+bpf`: how processes and exits are read.
fn push_ways(row: &Row<'_>, out: &mut Vec<u8>) {
    push_way(row, WAY, out);
    out.push(b'+');
    push_way(row, EXIT_WAY, out);
}

fn push_way(row: &Row<'_>, field: usize, out: &mut Vec<u8>) {
    match row.text(field) {
        Some(way) => layout::text::escape_into(out, way),
        None => out.push(b'-'),
    }
}

static BALANCE: Balance = Balance {
    busy_ns: |row| row.delta(BUSY),
    attributed_ns: |row| row.delta(ATTRIBUTED),
    ends_lost: |row| row.delta(EXITS_LOST),
    reports_each_end: |cells| matches!(cells.text(EXIT_WAY), Some(b"bpf" | b"taskstats")),
};

pub(crate) static ENTRY: Entry = Entry {
    name: "process_total",
    about: "All processes together: forks, exits, and the CPU time that no process accounts for",
    letters: "Z",
    reads: &["/proc/stat"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::Second,
    layouts: &[LAYOUT],
    open,
    ..Entry::EMPTY
};
