//! The rows of a record: growth added up to counters, levels taken as they are.
//!
//! Counters are kept by source and instance for as long as each record has the instance, so memory is
//! bounded by that of one record.

use std::collections::HashMap;

use super::layout::{
    BEGAN_AT, CGROUP_BYTES, COMMAND_LINE_AT, COMMAND_LINE_BYTES, CPU, CPUS_AT, CPUS_MAX,
    DISK_NAME_BYTES, DISKS_AT, DISKS_MAX, EXIT_STATUS_AT, Form, INTERFACE, INTERFACE_NAME_BYTES,
    INTERFACE_STEP, INTERFACES_AT, INTERFACES_MAX, IS_PROCESS_AT, LASTED_AT, LOADS, Layout,
    MACHINE, NAME_AT, NAME_BYTES, Number, PID_AT, SPEED_AT, STALLS, STATE_AT, THREADS_AT,
};
use super::{Record, SECOND_NS, i64_at, u32_at};
use crate::imported::{ImportedRow, pair, text};

/// Every source of which a raw log may have values.
pub(super) const SOURCES: &[&str] = &[
    "cpu",
    "cpu_core",
    "memory",
    "disk",
    "network",
    "tcp",
    "socket",
    "pressure",
    "process",
    "exit",
    "process_total",
];

/// The counters of an instance, in the order of its numbers.
type Sums = HashMap<(&'static str, Vec<u8>), Vec<u64>>;

/// A boot that is found anew may be so many seconds from the one before: both are differences of
/// whole seconds.
const SAME_BOOT_SECONDS: i64 = 2;

/// Fields of a process that are the same once it has ended.
const LIFE: &[&str] = &[
    "parent",
    "uid",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "read_bytes",
    "write_bytes",
    "cancelled_write_bytes",
];

/// The rows of the latest record.
pub(super) struct Rows {
    rows: Vec<ImportedRow>,
    /// Counters up to the record before, and up to this one.
    before: Sums,
    sums: Sums,
    page_bytes: u64,
    ticks_per_second: u64,
    /// When the machine was started, in seconds since the epoch, if a record said so.
    boot: Option<i64>,
    /// When the record before was made.
    latest: Option<i64>,
    /// When this record is made, and whether it has values since boot.
    now: i64,
    is_since_boot: bool,
    threads: u64,
}

impl Rows {
    pub(super) fn new(page_bytes: u64, ticks_per_second: u64) -> Self {
        Rows {
            rows: Vec::new(),
            before: Sums::new(),
            sums: Sums::new(),
            page_bytes,
            ticks_per_second,
            boot: None,
            latest: None,
            now: 0,
            is_since_boot: false,
            threads: 0,
        }
    }

    pub(super) fn all(&self) -> &[ImportedRow] {
        &self.rows
    }

    /// Begins a record.
    pub(super) fn begin(&mut self, record: &Record) {
        self.rows.clear();
        self.threads = 0;
        self.before = std::mem::take(&mut self.sums);
        self.latest = Some(self.now).filter(|now| *now > 0);
        (self.now, self.is_since_boot) = (record.seconds, record.is_since_boot);
        if record.is_since_boot {
            self.before.clear();
            let seconds = i64::try_from(record.interval_seconds).unwrap_or(i64::MAX);
            let boot = record.seconds.saturating_sub(seconds);
            let is_same = |known: &i64| {
                boot.saturating_sub(*known).unsigned_abs() <= SAME_BOOT_SECONDS as u64
            };
            self.boot = self.boot.filter(is_same).or(Some(boot));
        }
    }

    /// Adds the rows of the machine.
    pub(super) fn add_machine(&mut self, layout: &Layout, machine: &[u8], record: &Record) {
        self.add_cpus(layout, machine);
        self.add("memory", Vec::new(), machine, &layout.memory);
        self.add_disks(layout, machine);
        self.add_interfaces(layout, machine);
        self.add("tcp", Vec::new(), machine, &layout.protocols);
        if !layout.sockets.is_empty() {
            self.add("socket", Vec::new(), machine, &layout.sockets);
        }
        self.add_pressure(layout, machine);
        let mut totals = [0; 24];
        totals[..8].copy_from_slice(&u64::from(record.processes).to_le_bytes());
        totals[8..16].copy_from_slice(&u64::from(record.exits).to_le_bytes());
        totals[16..].copy_from_slice(&u64::from(record.exits_lost).to_le_bytes());
        let numbers = [
            ("processes", 0, Form::Level),
            ("exits", 8, Form::Grown),
            ("exits_lost", 16, Form::Grown),
        ];
        self.add("process_total", Vec::new(), &totals, &numbers);
    }

    /// Ends a record, whose tasks have been added.
    pub(super) fn end(&mut self) {
        let threads = self.threads;
        let totals = self.rows.iter_mut().find(|row| row.source == "process_total");
        if let Some(totals) = totals {
            totals.cells.push(("threads", threads));
        }
        self.before.clear();
    }

    fn add_cpus(&mut self, layout: &Layout, machine: &[u8]) {
        let all: Vec<Number> = MACHINE
            .iter()
            .copied()
            .chain(CPU.iter().map(|(field, at, form)| (*field, at + CPUS_AT, *form)))
            .collect();
        let row = self.add("cpu", Vec::new(), machine, &all);
        for (field, at) in LOADS {
            row.cells.extend(hundredths(machine, *at).map(|value| (*field, value)));
        }
        let count = i64_at(machine, 0).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        for number in 1..=count.min(CPUS_MAX) {
            let Some(cpu) = part(machine, CPUS_AT + number * layout.cpu_step, layout.cpu_step)
            else {
                return;
            };
            let name = u32_at(cpu, 0).unwrap_or(0).to_string().into_bytes();
            self.add("cpu_core", name, cpu, CPU);
        }
    }

    fn add_disks(&mut self, layout: &Layout, machine: &[u8]) {
        let mut at = layout.disks + DISKS_AT;
        for (kind, most) in DISKS_MAX.into_iter().enumerate() {
            let count = u32_at(machine, layout.disks + kind * 4).unwrap_or(0) as usize;
            for number in 0..count.min(most) {
                let place = at + number * layout.disk_step;
                let Some(disk) = part(machine, place, layout.disk_step) else { break };
                let name = text(&disk[..DISK_NAME_BYTES]).to_vec();
                let row = self.add("disk", name, disk, layout.disk);
                // Without discards the sectors of discards are nothing that was counted.
                if !row.cells.iter().any(|(field, _)| *field == "discards") {
                    row.cells.retain(|(field, _)| *field != "discard_sectors");
                }
                let kind = ["disk", "md", "lvm"][kind];
                row.texts.push(("kind", kind.as_bytes().to_vec()));
            }
            at += most * layout.disk_step;
        }
    }

    fn add_interfaces(&mut self, layout: &Layout, machine: &[u8]) {
        let count = u32_at(machine, layout.interfaces).unwrap_or(0) as usize;
        for number in 0..count.min(INTERFACES_MAX) {
            let place = layout.interfaces + INTERFACES_AT + number * INTERFACE_STEP;
            let Some(interface) = part(machine, place, INTERFACE_STEP) else { return };
            let name = text(&interface[..INTERFACE_NAME_BYTES]).to_vec();
            let row = self.add("network", name, interface, INTERFACE);
            // atop has 0 for a link whose speed the kernel does not give.
            let speed = i64_at(interface, SPEED_AT).and_then(|speed| u64::try_from(speed).ok());
            let speed = speed.filter(|speed| *speed > 0);
            row.cells.extend(speed.map(|speed| ("speed_mbit", speed)));
        }
    }

    fn add_pressure(&mut self, layout: &Layout, machine: &[u8]) {
        let Some(at) = layout.pressure else { return };
        if matches!(machine.get(at), None | Some(0 | b'n')) {
            return;
        }
        for (resource, [averages @ .., total], place) in STALLS {
            let place = at + place;
            let cells: Vec<_> = averages
                .iter()
                .enumerate()
                .filter_map(|(index, field)| {
                    Some((*field, hundredths(machine, place + index * 4)?))
                })
                .collect();
            let name = resource.as_bytes().to_vec();
            let kept =
                self.rows.iter().position(|row| row.source == "pressure" && row.name == name);
            // The second of a resource adds to the row of the first, with a counter of its own.
            let counter = [(*total, place + 16, Form::Grown)];
            match kept {
                None => self.add("pressure", name, machine, &counter).cells.extend(cells),
                Some(index) => {
                    let grown = self.numbers("pressure", pair(&name, b"full"), machine, &counter);
                    self.rows[index].cells.extend(grown.into_iter().chain(cells));
                }
            }
        }
    }

    /// Adds a task, if it is a process.
    pub(super) fn add_task(&mut self, layout: &Layout, task: &[u8]) {
        if task[IS_PROCESS_AT] == 0 {
            return;
        }
        let began = i64_at(task, BEGAN_AT).unwrap_or(0);
        // Ticks since boot, as the kernel names a task; since the epoch if the boot is not known.
        let start = began.saturating_sub(self.boot.unwrap_or(0)).max(0).unsigned_abs();
        let start = start.saturating_mul(self.ticks_per_second);
        let pid = u32_at(task, PID_AT).unwrap_or(0);
        let name = pair(pid.to_string().as_bytes(), start.to_string().as_bytes());
        let known = self.before.contains_key(&("process", name.clone()));
        let is_whole =
            known || self.is_since_boot || self.latest.is_some_and(|latest| began >= latest);
        let has_boot = self.boot.is_some();
        let state = task[STATE_AT];
        if state == b'E' {
            self.add_exit(layout, task, name, is_whole, has_boot.then_some(start));
            return;
        }
        self.threads = self.threads.saturating_add(u32_at(task, THREADS_AT).unwrap_or(0).into());
        let row = self.add("process", name, task, &layout.task);
        if has_boot {
            row.cells.push(("start_time", start));
        }
        row.texts.push(("state", vec![state]));
        add_texts(row, layout, task);
    }

    /// Adds a process that has ended: what it used is known if the log has all of its life.
    fn add_exit(
        &mut self,
        layout: &Layout,
        task: &[u8],
        name: Vec<u8>,
        is_whole: bool,
        start: Option<u64>,
    ) {
        let numbers = self.numbers("process", name.clone(), task, &layout.task);
        let find = |field: &str| numbers.iter().find(|(other, _)| *other == field);
        let ns =
            |ticks: u64| ticks.saturating_mul(SECOND_NS / self.ticks_per_second.min(SECOND_NS));
        let mut cells = Vec::new();
        for field in LIFE {
            let is_known = is_whole || matches!(*field, "parent" | "uid");
            cells.extend(find(field).filter(|_| is_known).map(|(_, value)| (*field, *value)));
        }
        for field in ["user_time", "system_time"] {
            cells.extend(find(field).filter(|_| is_whole).map(|(_, ticks)| (field, ns(*ticks))));
        }
        let lasted = i64_at(task, LASTED_AT).and_then(|ticks| u64::try_from(ticks).ok());
        if let Some(lasted_ns) = lasted.map(ns) {
            cells.push(("lifetime", lasted_ns));
            let end = start.map(|start| ns(start).saturating_add(lasted_ns));
            cells.extend(end.map(|end| ("end_time", end)));
        }
        cells.extend(start.map(|start| ("start_time", start)));
        // The status word of wait(2); atop notes in its highest bit that the process is new.
        let status = u32_at(task, EXIT_STATUS_AT).unwrap_or(0);
        cells.push(match u64::from(status & 0x7f) {
            0 => ("exit_code", u64::from(status >> 8 & 0xff)),
            signal => ("signal", signal),
        });
        let mut row = ImportedRow { source: "exit", name, cells, texts: Vec::new() };
        add_texts(&mut row, layout, task);
        self.rows.push(row);
    }

    /// Adds a row with these numbers.
    fn add(
        &mut self,
        source: &'static str,
        name: Vec<u8>,
        bytes: &[u8],
        numbers: &[Number],
    ) -> &mut ImportedRow {
        let cells = self.numbers(source, name.clone(), bytes, numbers);
        self.rows.push(ImportedRow { source, name, cells, texts: Vec::new() });
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    /// The numbers of an instance, and its counters up to this record.
    fn numbers(
        &mut self,
        source: &'static str,
        name: Vec<u8>,
        bytes: &[u8],
        numbers: &[Number],
    ) -> Vec<(&'static str, u64)> {
        let key = (source, name);
        let mut sums = self.before.remove(&key).unwrap_or_default();
        sums.resize(numbers.len(), 0);
        let cells = numbers.iter().zip(&mut sums).filter_map(|((field, at, form), sum)| {
            Some((*field, self.number(bytes, *at, *form, sum)?))
        });
        let cells = cells.collect();
        self.sums.insert(key, sums);
        cells
    }

    /// A number as whit's field has it.
    fn number(&self, bytes: &[u8], at: usize, form: Form, sum: &mut u64) -> Option<u64> {
        let pages = |pages: u64| pages.saturating_mul(self.page_bytes / 1024);
        let small = || Some(i64::from(u32_at(bytes, at)?.cast_signed()));
        let level = || u64::try_from(i64_at(bytes, at)?).ok();
        let mut grown = || {
            *sum = sum.saturating_add_signed(i64_at(bytes, at)?);
            Some(*sum)
        };
        match form {
            Form::Grown => grown(),
            Form::GrownOrNone => grown().filter(|_| i64_at(bytes, at) != Some(-1)),
            Form::GrownPages => grown().map(pages),
            Form::GrownSectors => grown().map(|sectors| sectors.saturating_mul(512)),
            Form::Level => level(),
            Form::LevelPages => level().map(pages),
            Form::LevelBytes => level().map(|bytes| bytes / 1024),
            Form::Small => small().map(i64::cast_unsigned),
            Form::SmallOrNone => small().and_then(|value| u64::try_from(value).ok()),
            Form::Priority => small().map(|value| (value - 100).cast_unsigned()),
        }
    }
}

/// Adds what names a task.
fn add_texts(row: &mut ImportedRow, layout: &Layout, task: &[u8]) {
    let mut add = |field, at: usize, bytes: usize| {
        let value = text(task.get(at..).and_then(|rest| rest.get(..bytes)).unwrap_or_default());
        if !value.is_empty() {
            row.texts.push((field, value.to_vec()));
        }
    };
    add("command", NAME_AT, NAME_BYTES);
    add("command_line", COMMAND_LINE_AT, COMMAND_LINE_BYTES);
    if let Some(at) = layout.cgroup {
        add("cgroup", at, CGROUP_BYTES);
    }
}

/// So many bytes of a structure.
fn part(bytes: &[u8], at: usize, count: usize) -> Option<&[u8]> {
    bytes.get(at..)?.get(..count)
}

/// A 32-bit floating-point number, in hundredths.
fn hundredths(bytes: &[u8], at: usize) -> Option<u64> {
    let value = f64::from(f32::from_bits(u32_at(bytes, at)?)) * 100.0;
    (value >= 0.0).then(|| value.round() as u64)
}
