//! The machine above the list: CPU with its history, memory, swap, pressure, disks, networks,
//! starts and ends of processes, and the cost of whit itself.
//!
//! Numbers of disks, networks and pressure come from the plot columns of the sources, so that all
//! views show the same numbers.

use sample::Level;
use std::collections::VecDeque;
use std::sync::Arc;

use layout::{Frame, Options, Row};
use sample::{History, Meta, SourceDef, State};

use super::fields::ScreenSources;

/// Ticks of CPU history that are kept: more than any screen is wide.
const HISTORY_MAX: usize = 512;

/// CPU time by state, in the order of the bar.
pub(crate) const CPU_STATES: [&str; 8] = ["us", "ni", "sy", "hi", "si", "st", "wa", "id"];

/// The number of busy states; in the others (I/O wait, idle) the CPU is idle.
pub(crate) const CPU_BUSY: usize = 6;

/// What the panel shows of one tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineValues {
    /// Percent of all CPUs, in the order of [`CPU_STATES`].
    pub(crate) cpu: [Option<f64>; 8],
    /// The three load averages.
    pub(crate) load: [Option<f64>; 3],
    pub(crate) uptime_seconds: Option<f64>,
    /// In KiB.
    pub(crate) memory_total: Option<f64>,
    pub(crate) memory_available: Option<f64>,
    pub(crate) memory_free: Option<f64>,
    pub(crate) memory_cached: Option<f64>,
    pub(crate) swap_total: Option<f64>,
    pub(crate) swap_free: Option<f64>,
    /// CPUs that are online; tasks that are runnable, and that wait for a disk.
    pub(crate) cpus: Option<f64>,
    pub(crate) runnable: Option<f64>,
    pub(crate) blocked: Option<f64>,
    /// Share of time in which some task waited: CPU, I/O, memory.
    pub(crate) pressure: [Option<f64>; 3],
    /// Bytes per second.
    pub(crate) disk_read: Option<f64>,
    pub(crate) disk_write: Option<f64>,
    pub(crate) net_in: Option<f64>,
    pub(crate) net_out: Option<f64>,
    pub(crate) processes: Option<f64>,
    pub(crate) threads: Option<f64>,
    pub(crate) running: Option<f64>,
    /// Per second.
    pub(crate) births: Option<f64>,
    pub(crate) execs: Option<f64>,
    pub(crate) exits: Option<f64>,
    pub(crate) exits_lost: Option<f64>,
    /// CPU time of no known process, in percent of one CPU.
    pub(crate) unattributed: Option<f64>,
    /// How processes are read.
    pub(crate) way: Option<String>,
    /// The state of the source of processes.
    pub(crate) process_state: Option<State>,
    /// The cost of whit: percent of one CPU, bytes, system calls per second.
    pub(crate) own_cpu: Option<f64>,
    pub(crate) own_resident: Option<f64>,
    pub(crate) own_calls: Option<f64>,
}

/// A column of a source's plot layout.
#[derive(Clone, Copy, Debug)]
struct Total {
    index: usize,
    value: fn(&Row<'_>) -> Option<f64>,
}

impl Total {
    fn find(defs: &[Arc<SourceDef>], source: &str, letter: char, column: &str) -> Option<Self> {
        let index = defs.iter().position(|def| def.name == source)?;
        let columns = source::find(source)?
            .layouts
            .iter()
            .find(|one| one.level == Level::of_letter(letter))?
            .plot
            .as_ref()?
            .columns;
        let column = columns.iter().find(|one| one.name == column)?;
        let layout::Of::Number(value) = column.value else { return None };
        Some(Total { index, value })
    }

    fn value(this: Option<Self>, frame: &Frame<'_>) -> Option<f64> {
        let total = this?;
        let track = frame.tracks.get(total.index)?;
        (track.current.state == State::Ok).then(|| (total.value)(&frame.whole(track))).flatten()
    }
}

/// The columns from which the panel's numbers are computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panel {
    disk_read: Option<Total>,
    disk_write: Option<Total>,
    net_in: Option<Total>,
    net_out: Option<Total>,
    pressure: Option<(usize, usize)>,
    /// Busy percentage of the latest ticks, the latest last; `None` if it is not known.
    pub(crate) history: VecDeque<Option<f64>>,
    /// Used memory of the latest samples, in per cent; `None` where it is not known.
    pub(crate) memory_history: VecDeque<Option<f64>>,
}

impl Panel {
    /// Finds the columns in a feed's sources.
    pub(crate) fn new(defs: &[Arc<SourceDef>]) -> Self {
        let pressure = defs.iter().position(|def| def.name == "pressure");
        Panel {
            disk_read: Total::find(defs, "disk", 'd', "ReadKBTot"),
            disk_write: Total::find(defs, "disk", 'd', "WriteKBTot"),
            net_in: Total::find(defs, "network", 'n', "RxKBTot"),
            net_out: Total::find(defs, "network", 'n', "TxKBTot"),
            pressure: pressure.and_then(|index| Some((index, defs[index].field("some_total")?))),
            ..Panel::default()
        }
    }

    /// Finds the columns again, in other sources; the history stays.
    pub(crate) fn find(&mut self, defs: &[Arc<SourceDef>]) {
        let Panel { history, memory_history, .. } = std::mem::take(self);
        *self = Panel { history, memory_history, ..Panel::new(defs) };
    }

    /// Adds a tick to the history.
    pub(crate) fn note(&mut self, frame: &Frame<'_>, sources: &ScreenSources) {
        let busy = busy(&cpu(frame, sources));
        let mut machine = MachineValues::default();
        memory(&mut machine, frame, sources);
        for (history, value) in
            [(&mut self.history, busy), (&mut self.memory_history, machine.memory_used())]
        {
            if history.len() == HISTORY_MAX {
                history.pop_front();
            }
            history.push_back(value);
        }
    }

    /// Clears the history, as after a jump in time.
    pub(crate) fn forget(&mut self) {
        self.history.clear();
        self.memory_history.clear();
    }

    /// The numbers of a tick.
    pub(crate) fn values(
        &self,
        history: &History,
        meta: &Meta,
        sources: &ScreenSources,
    ) -> MachineValues {
        // Plot columns depend on options; the defaults are used.
        let options = Options::default();
        let frame = layout::Frame::new(history, meta, &options);
        let kib = |total| Total::value(total, &frame).map(|kib| kib * 1024.0);
        let mut machine = MachineValues {
            cpu: cpu(&frame, sources),
            disk_read: kib(self.disk_read),
            disk_write: kib(self.disk_write),
            net_in: kib(self.net_in),
            net_out: kib(self.net_out),
            ..MachineValues::default()
        };
        if let Some(row) = sources.cpu.row(&frame) {
            let fields = &sources.cpu.fields;
            let load =
                |field: Option<usize>| row.gauge(field?).map(|hundredths| hundredths / 100.0);
            machine.load = [load(fields.load_1m), load(fields.load_5m), load(fields.load_15m)];
            let level = |field: Option<usize>| row.gauge(field?);
            machine.cpus = level(fields.cpus_online);
            machine.runnable = level(fields.running);
            machine.blocked = level(fields.blocked);
            machine.births = fields.forks.and_then(|field| row.rate(field));
        }
        machine.uptime_seconds = uptime(&frame);
        memory(&mut machine, &frame, sources);
        self.pressure(&mut machine, &frame);
        tasks(&mut machine, &frame, sources);
        own(&mut machine, &frame, sources);
        machine
    }

    fn pressure(&self, machine: &mut MachineValues, frame: &Frame<'_>) {
        let Some((index, field)) = self.pressure else { return };
        let Some(track) = frame.tracks.get(index) else { return };
        let whole = frame.whole(track);
        for (share, resource) in
            machine.pressure.iter_mut().zip([b"cpu".as_slice(), b"io", b"memory"])
        {
            let row = whole.rows().find(|row| row.name() == resource);
            *share = row.and_then(|row| Some(row.delta(field)? / (row.interval_seconds()? * 1e4)));
        }
    }
}

impl MachineValues {
    /// The busy share of the CPU time.
    pub(crate) fn cpu_busy(&self) -> Option<f64> {
        busy(&self.cpu)
    }

    /// Used swap space, in KiB.
    pub(crate) fn swap_used(&self) -> Option<f64> {
        Some(self.swap_total? - self.swap_free?)
    }

    /// Used memory, in percent.
    pub(crate) fn memory_used(&self) -> Option<f64> {
        let total = self.memory_total.filter(|&total| total > 0.0)?;
        Some((total - self.memory_available.or(self.memory_free)?) / total * 100.0)
    }
}

/// Time since boot, if the boot time is known.
fn uptime(frame: &Frame<'_>) -> Option<f64> {
    let boot_ns: i64 = frame.meta.get("boot_ns")?.parse().ok()?;
    Some(frame.realtime_ns.saturating_sub(boot_ns) as f64 / 1e9).filter(|&seconds| seconds >= 0.0)
}

fn cpu(frame: &Frame<'_>, sources: &ScreenSources) -> [Option<f64>; 8] {
    let Some(row) = sources.cpu.row(frame) else { return [None; 8] };
    let f = &sources.cpu.fields;
    let fields = [f.user, f.nice, f.system, f.irq, f.softirq, f.steal, f.iowait, f.idle];
    let parts = fields.map(|field| row.delta(field?));
    let total: f64 = parts.iter().flatten().sum();
    parts.map(|part| part.filter(|_| total > 0.0).map(|part| part / total * 100.0))
}

/// The busy share of the CPU time.
pub(crate) fn busy(cpu: &[Option<f64>; 8]) -> Option<f64> {
    let known = cpu[..CPU_BUSY].iter().any(Option::is_some);
    known.then(|| cpu[..CPU_BUSY].iter().flatten().sum())
}

fn memory(machine: &mut MachineValues, frame: &Frame<'_>, sources: &ScreenSources) {
    let Some(row) = sources.memory.row(frame) else { return };
    let fields = &sources.memory.fields;
    let level = |field: Option<usize>| row.gauge(field?);
    let cached = [fields.cached, fields.buffers, fields.slab_reclaimable].map(level);
    machine.memory_total = level(fields.total);
    machine.memory_available = level(fields.available);
    machine.memory_free = level(fields.free);
    machine.memory_cached = cached[0].map(|_| cached.iter().flatten().sum());
    machine.swap_total = level(fields.swap_total);
    machine.swap_free = level(fields.swap_free);
}

fn tasks(machine: &mut MachineValues, frame: &Frame<'_>, sources: &ScreenSources) {
    machine.process_state = sources.process.track(frame).map(|track| track.current.state);
    if let Some(row) = sources.total.row(frame).filter(|row| row.track.current.state == State::Ok) {
        let fields = &sources.total.fields;
        let level = |field: Option<usize>| row.gauge(field?);
        let rate = |field: Option<usize>| row.rate(field?);
        machine.processes = level(fields.processes);
        machine.threads = level(fields.threads);
        machine.running = level(fields.running);
        machine.births = rate(fields.births).or(machine.births);
        machine.execs = rate(fields.execs);
        machine.exits = rate(fields.exits);
        machine.exits_lost = level(fields.exits_lost);
        machine.unattributed = unattributed_percent(rate(fields.busy), rate(fields.attributed));
        let way = fields.way.and_then(|field| row.text(field));
        machine.way = way.map(layout::text::escape);
        return;
    }
    count_tasks(machine, frame, sources);
}

/// The time in use that no process accounts for.  The two are not read at the same moment, so their
/// difference may be a little below zero, which is none.
fn unattributed_percent(busy_ns: Option<f64>, attributed_ns: Option<f64>) -> Option<f64> {
    Some(((busy_ns? - attributed_ns?) / 1e7).max(0.0))
}

/// A recording without totals: the processes are counted.
fn count_tasks(machine: &mut MachineValues, frame: &Frame<'_>, sources: &ScreenSources) {
    let Some(source) = sources.process.row(frame) else { return };
    if source.track.current.state != State::Ok {
        return;
    }
    let fields = &sources.process.fields;
    let none = super::traffic::Traffic::default();
    let values = super::values::TickValues::new(*frame, sources, &none);
    let (mut processes, mut running) = (0, 0);
    let mut threads: Option<f64> = None;
    for row in source.rows().filter(|row| !values.is_thread(row)) {
        processes += 1;
        running += u32::from(fields.state.and_then(|field| row.text(field)) == Some(b"R"));
        if let Some(count) = fields.threads.and_then(|field| row.gauge(field)) {
            threads = Some(threads.unwrap_or(0.0) + count);
        }
    }
    machine.processes = Some(f64::from(processes));
    machine.running = fields.state.map(|_| f64::from(running));
    machine.threads = threads;
    if let Some(row) = sources.exit.row(frame).filter(|row| row.track.current.state == State::Ok) {
        let seconds = row.interval_seconds();
        let origin = sources.exit.fields.origin;
        let is_reported =
            |row: &Row<'_>| origin.and_then(|field| row.text(field)) != Some(b"inferred");
        let ends = row.rows().filter(is_reported).count();
        // Exits inferred from the usage of children have no number.
        let known = seconds.filter(|_| ends > 0 || row.rows().next().is_none());
        machine.exits = known.map(|seconds| ends as f64 / seconds);
    }
}

fn own(machine: &mut MachineValues, frame: &Frame<'_>, sources: &ScreenSources) {
    let Some(row) = sources.own.row(frame) else { return };
    let fields = &sources.own.fields;
    let rate = |field: Option<usize>| row.rate(field?);
    machine.own_cpu = rate(fields.user).and_then(|user| Some((user + rate(fields.system)?) / 1e4));
    machine.own_resident = fields.resident.and_then(|field| row.gauge(field));
    machine.own_calls =
        rate(fields.read_calls).map(|calls| calls + rate(fields.other_calls).unwrap_or(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_left_over_where_processes_have_more_than_all() {
        assert_eq!(unattributed_percent(Some(2e9), Some(1.9e9)), Some(10.0));
        assert_eq!(unattributed_percent(Some(1.9e9), Some(2e9)), Some(0.0));
        assert_eq!(unattributed_percent(Some(2e9), None), None);
    }
}
