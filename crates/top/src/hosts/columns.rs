//! The columns of the list of hosts: their names, widths and numbers, and which of them fit.

use std::fmt::Write as _;

use crate::format;
use crate::machine::MachineValues;

/// A column; the hosts can be sorted by each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostColumn {
    /// The name that the host was given.
    Host,
    /// CPUs that are online.
    Cpus,
    /// Busy share of the CPU time.
    Cpu,
    /// In programs.
    User,
    /// In the kernel.
    System,
    /// Idle, with a disk request.
    Wait,
    /// Taken by the hypervisor.
    Steal,
    /// Load average over a minute.
    Load,
    /// Runnable tasks.
    Runnable,
    /// Tasks that wait for a disk.
    Blocked,
    /// Used memory.
    Memory,
    /// Memory that programs can still get.
    Available,
    /// Used swap space.
    Swap,
    /// Bytes read from disks.
    Read,
    /// Bytes written to disks.
    Write,
    /// Bytes received.
    Received,
    /// Bytes sent.
    Sent,
    /// Pressure of CPUs.
    PressureCpu,
    /// Pressure of I/O.
    PressureIo,
    /// Pressure of memory.
    PressureMemory,
    /// Processes and threads created.
    Born,
    /// Time since boot.
    Up,
}

/// How the number of a column is written.
#[derive(Clone, Copy)]
enum NumberFormat {
    Percent,
    Size,
    Whole,
    Rate,
    Load,
    Stretch,
}

/// The columns in the order in which a narrow screen keeps them.
const BY_RANK: &[HostColumn] = &[
    HostColumn::Host,
    HostColumn::Cpu,
    HostColumn::Memory,
    HostColumn::Load,
    HostColumn::Received,
    HostColumn::Sent,
    HostColumn::Read,
    HostColumn::Write,
    HostColumn::Wait,
    HostColumn::Available,
    HostColumn::System,
    HostColumn::Swap,
    HostColumn::Runnable,
    HostColumn::PressureIo,
    HostColumn::User,
    HostColumn::Blocked,
    HostColumn::PressureMemory,
    HostColumn::PressureCpu,
    HostColumn::Born,
    HostColumn::Cpus,
    HostColumn::Up,
    HostColumn::Steal,
];

/// The columns for a screen of that width, in order: the one that hosts are sorted by is always among them,
/// and none is cut.  `host_width` is that of the names.
pub(crate) fn shown(width: u16, host_width: u16, sort: HostColumn) -> Vec<HostColumn> {
    let needs = |column: HostColumn| match column {
        HostColumn::Host => host_width + 1,
        column => column.title().1 + 1,
    };
    let wanted = [HostColumn::Host, sort].into_iter().chain(BY_RANK.iter().copied());
    let (mut chosen, mut taken) = (Vec::new(), 0);
    for column in wanted {
        if chosen.contains(&column) {
            continue;
        }
        // The last column needs no blank behind it.
        if taken + needs(column) > width + 1 {
            break;
        }
        taken += needs(column);
        chosen.push(column);
    }
    HostColumn::ALL.iter().copied().filter(|column| chosen.contains(column)).collect()
}

impl HostColumn {
    /// All columns, in their order on the screen.
    pub const ALL: &[HostColumn] = &[
        HostColumn::Host,
        HostColumn::Cpus,
        HostColumn::Cpu,
        HostColumn::User,
        HostColumn::System,
        HostColumn::Wait,
        HostColumn::Steal,
        HostColumn::Load,
        HostColumn::Runnable,
        HostColumn::Blocked,
        HostColumn::Memory,
        HostColumn::Available,
        HostColumn::Swap,
        HostColumn::Read,
        HostColumn::Write,
        HostColumn::Received,
        HostColumn::Sent,
        HostColumn::PressureCpu,
        HostColumn::PressureIo,
        HostColumn::PressureMemory,
        HostColumn::Born,
        HostColumn::Up,
    ];

    /// The name on the command line, and what the column shows.
    #[must_use]
    pub const fn named(self) -> (&'static str, &'static str) {
        match self {
            HostColumn::Host => ("host", "Name of the host"),
            HostColumn::Cpus => ("cpus", "CPUs that are online"),
            HostColumn::Cpu => ("cpu", "CPU use, of all CPUs"),
            HostColumn::User => ("user", "CPU use in programs"),
            HostColumn::System => ("system", "CPU use in the kernel, with interrupts"),
            HostColumn::Wait => ("wait", "CPUs idle while a disk request is outstanding"),
            HostColumn::Steal => ("steal", "CPU time that the hypervisor gave to others"),
            HostColumn::Load => ("load", "Load average over a minute"),
            HostColumn::Runnable => ("run", "Runnable tasks"),
            HostColumn::Blocked => ("blocked", "Tasks that wait for a disk"),
            HostColumn::Memory => ("mem", "Used memory, as a share"),
            HostColumn::Available => ("avail", "Memory that programs can still get"),
            HostColumn::Swap => ("swap", "Used swap space"),
            HostColumn::Read => ("read", "Bytes read from disks"),
            HostColumn::Write => ("write", "Bytes written to disks"),
            HostColumn::Received => ("in", "Bytes received by network interfaces"),
            HostColumn::Sent => ("out", "Bytes sent by network interfaces"),
            HostColumn::PressureCpu => ("pcpu", "Time in which a task waited for a CPU"),
            HostColumn::PressureIo => ("pio", "Time in which a task waited for I/O"),
            HostColumn::PressureMemory => ("pmem", "Time in which a task waited for memory"),
            HostColumn::Born => ("born", "Processes and threads created"),
            HostColumn::Up => ("up", "Time since boot"),
        }
    }

    /// Whether sorting by it begins with small values.
    #[must_use]
    pub const fn rises(self) -> bool {
        matches!(self, HostColumn::Host)
    }

    /// The title and the width.
    pub(crate) const fn title(self) -> (&'static str, u16) {
        match self {
            HostColumn::Host => ("HOST", 4),
            HostColumn::Cpus => ("CPUS", 4),
            HostColumn::Cpu => ("CPU%", 5),
            HostColumn::User => ("USR%", 5),
            HostColumn::System => ("SYS%", 5),
            HostColumn::Wait => ("WAIT%", 5),
            HostColumn::Steal => ("STL%", 5),
            HostColumn::Load => ("LOAD", 7),
            HostColumn::Runnable => ("RUN", 5),
            HostColumn::Blocked => ("BLK", 5),
            HostColumn::Memory => ("MEM%", 5),
            HostColumn::Available => ("AVAIL", 5),
            HostColumn::Swap => ("SWAP", 5),
            HostColumn::Read => ("READ/s", 6),
            HostColumn::Write => ("WRIT/s", 6),
            HostColumn::Received => ("IN/s", 5),
            HostColumn::Sent => ("OUT/s", 5),
            HostColumn::PressureCpu => ("PCPU%", 5),
            HostColumn::PressureIo => ("PIO%", 5),
            HostColumn::PressureMemory => ("PMEM%", 5),
            HostColumn::Born => ("BORN/s", 6),
            HostColumn::Up => ("UP", 6),
        }
    }

    /// The number, and how it is written; names have none.
    fn cell(self, of: &MachineValues) -> Option<(Option<f64>, NumberFormat)> {
        let bytes = |kib: Option<f64>| (kib.map(|kib| kib * 1024.0), NumberFormat::Size);
        let cpu = |states: &[usize]| {
            let parts = states.iter().map(|&state| of.cpu[state]);
            (parts.sum::<Option<f64>>(), NumberFormat::Percent)
        };
        Some(match self {
            HostColumn::Host => return None,
            HostColumn::Cpus => (of.cpus, NumberFormat::Whole),
            HostColumn::Cpu => (of.cpu_busy(), NumberFormat::Percent),
            // In the order of `machine::CPU_STATES`.
            HostColumn::User => cpu(&[0, 1]),
            HostColumn::System => cpu(&[2, 3, 4]),
            HostColumn::Steal => cpu(&[5]),
            HostColumn::Wait => cpu(&[6]),
            HostColumn::Load => (of.load[0], NumberFormat::Load),
            HostColumn::Runnable => (of.runnable, NumberFormat::Whole),
            HostColumn::Blocked => (of.blocked, NumberFormat::Whole),
            HostColumn::Memory => (of.memory_used(), NumberFormat::Percent),
            HostColumn::Available => bytes(of.memory_available.or(of.memory_free)),
            HostColumn::Swap => bytes(of.swap_used()),
            HostColumn::Read => (of.disk_read, NumberFormat::Size),
            HostColumn::Write => (of.disk_write, NumberFormat::Size),
            HostColumn::Received => (of.net_in, NumberFormat::Size),
            HostColumn::Sent => (of.net_out, NumberFormat::Size),
            HostColumn::PressureCpu => (of.pressure[0], NumberFormat::Percent),
            HostColumn::PressureIo => (of.pressure[1], NumberFormat::Percent),
            HostColumn::PressureMemory => (of.pressure[2], NumberFormat::Percent),
            HostColumn::Born => (of.births, NumberFormat::Rate),
            HostColumn::Up => (of.uptime_seconds, NumberFormat::Stretch),
        })
    }

    /// The number to sort by.
    pub(crate) fn number(self, of: &MachineValues) -> Option<f64> {
        self.cell(of)?.0
    }

    /// Appends the number.
    pub(crate) fn write(self, out: &mut String, of: &MachineValues) {
        match self.cell(of) {
            None => {}
            Some((value, NumberFormat::Percent)) => format::percent(out, value),
            Some((value, NumberFormat::Size)) => format::size(out, value),
            Some((value, NumberFormat::Whole)) => format::whole(out, value),
            Some((value, NumberFormat::Rate)) => format::rate(out, value),
            Some((value, NumberFormat::Stretch)) => format::stretch(out, value),
            Some((None, NumberFormat::Load)) => out.push('-'),
            Some((Some(load), NumberFormat::Load)) => drop(write!(out, "{load:.2}")),
        }
    }
}
