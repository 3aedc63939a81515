//! The columns of the list: their names and widths, at which screen widths they are hidden, and
//! what the list can be sorted by.
//!
//! Only lines on the screen are formatted; sorting needs one number for each line.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::format;
use super::traffic::Flow;
use super::values::{ListItem, TickValues};

/// A column; the list can be sorted by each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Process ID.
    Pid,
    /// Name of the user.
    User,
    /// Priority in the kernel's scale.
    Priority,
    /// Nice value.
    Nice,
    /// Size of the address space.
    Virtual,
    /// Resident memory.
    Resident,
    /// Memory in swap.
    Swap,
    /// State letter.
    State,
    /// CPU use in the interval.
    Cpu,
    /// Resident memory, as a share of the machine's.
    Memory,
    /// CPU time since its start.
    Time,
    /// Threads.
    Threads,
    /// Time ready to run without a CPU.
    Delay,
    /// Bytes read from storage.
    Read,
    /// Bytes written to storage.
    Write,
    /// Bytes read and written.
    Io,
    /// Bytes received from networks.
    NetIn,
    /// Bytes sent to networks.
    NetOut,
    /// Bytes received and sent.
    Net,
    /// Packets received.
    PacketsIn,
    /// Packets sent.
    PacketsOut,
    /// Major page faults, which need I/O.
    Faults,
    /// The CPU it ran on last.
    Processor,
    /// Start time.
    Start,
    /// Processes of a group.
    Processes,
    /// Processes of a group that ended in the interval.
    Ended,
    /// Command.
    Command,
}

/// How a column looks.
pub(crate) struct Appearance {
    pub(crate) title: &'static str,
    pub(crate) width: u16,
    /// Whether text is left-aligned.
    pub(crate) left: bool,
    /// The narrowest screen on which it is shown.
    pub(crate) from_width: u16,
}

/// The columns of processes, in order.
const OF_PROCESSES: &[Column] = &[
    Column::Pid,
    Column::User,
    Column::Priority,
    Column::Nice,
    Column::Virtual,
    Column::Resident,
    Column::Swap,
    Column::State,
    Column::Processor,
    Column::Threads,
    Column::Cpu,
    Column::Memory,
    Column::Time,
    Column::Delay,
    Column::Read,
    Column::Write,
    Column::Faults,
    Column::Command,
];

/// The columns of groups, in order.
const OF_GROUPS: &[Column] = &[
    Column::Processes,
    Column::Ended,
    Column::Threads,
    Column::Virtual,
    Column::Resident,
    Column::Swap,
    Column::Cpu,
    Column::Memory,
    Column::Time,
    Column::Delay,
    Column::Read,
    Column::Write,
    Column::Faults,
    Column::Command,
];

/// The columns of traffic, in order; those of packets need a wide screen.
const OF_TRAFFIC: &[Column] =
    &[Column::NetIn, Column::NetOut, Column::PacketsIn, Column::PacketsOut];

/// Columns on the screen that the command keeps at least.
const COMMAND_WIDTH_MIN: u16 = 6;

/// The same where further columns were asked for.
const COMMAND_WIDTH_MIN_BESIDE: u16 = 16;

/// What decides which columns are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnChoice<'a> {
    pub(crate) groups: bool,
    /// The columns of processes that the user has chosen, without the command.
    pub(crate) chosen: Option<&'a [Column]>,
    /// The width of the screen.
    pub(crate) width: u16,
    /// Whether the sample has the traffic of processes.
    pub(crate) traffic: bool,
    pub(crate) sort: Column,
}

impl ColumnChoice<'_> {
    /// The columns, in order.  The one that the list is sorted by is among them; for it and for traffic
    /// others go that need a wide screen most.  A number is never cut.
    pub(crate) fn shown(&self) -> Vec<Column> {
        if let Some(chosen) = self.chosen.filter(|_| !self.groups) {
            return self.of_choice(chosen);
        }
        let all = if self.groups { OF_GROUPS } else { OF_PROCESSES };
        let fits = |column: &Column| {
            let from = column.appearance().from_width;
            // Groups have fewer columns, so more of them fit.
            self.width >= if self.groups { from.saturating_sub(20) } else { from }
        };
        let mut shown: Vec<Column> = all.iter().copied().filter(fits).collect();
        let mut beside: Vec<Column> = Vec::new();
        if self.traffic {
            beside.extend(OF_TRAFFIC.iter().filter(|column| fits(column)));
        }
        let known = all.contains(&self.sort) || matches!(self.sort, Column::Io | Column::Start);
        let known = known || self.traffic && self.sort.is_traffic();
        if known && !shown.contains(&self.sort) && !beside.contains(&self.sort) {
            beside.push(self.sort);
        }
        if beside.is_empty() {
            return shown;
        }
        let command = shown.len().saturating_sub(1);
        shown.splice(command..command, beside.iter().copied());
        let kept = |column: &Column| {
            *column == Column::Command || *column == self.sort || beside.contains(column)
        };
        self.narrow(&mut shown, COMMAND_WIDTH_MIN_BESIDE, kept);
        self.narrow(&mut shown, COMMAND_WIDTH_MIN, |column| *column == Column::Command);
        shown
    }

    /// The chosen columns; on a narrow screen the last ones go.
    fn of_choice(&self, chosen: &[Column]) -> Vec<Column> {
        let is_there = |column: &Column| self.traffic || !column.is_traffic();
        let mut shown: Vec<Column> = chosen.iter().copied().filter(is_there).collect();
        if !shown.contains(&self.sort) && self.sort.is_of_processes() && is_there(&self.sort) {
            shown.push(self.sort);
        }
        shown.push(Column::Command);
        let taken = |shown: &[Column]| -> u16 {
            shown.iter().map(|column| column.appearance().width + 1).sum()
        };
        while shown.len() > 1 && taken(&shown) + COMMAND_WIDTH_MIN > self.width + 1 {
            // The one before the command, unless the list is sorted by it.
            let last = shown.len() - 2;
            shown.remove(if shown[last] == self.sort && last > 0 { last - 1 } else { last });
        }
        shown
    }

    /// The columns of processes for a screen of that width that are usual, without the command.
    pub(crate) fn usual(width: u16) -> Vec<Column> {
        let fits =
            |column: &Column| *column != Column::Command && column.appearance().from_width <= width;
        OF_PROCESSES.iter().copied().filter(fits).collect()
    }

    /// Drops columns until the command has `least` columns; the first to go is the one that needs the
    /// widest screen.
    fn narrow(&self, shown: &mut Vec<Column>, least: u16, kept: impl Fn(&Column) -> bool) {
        let taken = |shown: &[Column]| -> u16 {
            shown.iter().map(|column| column.appearance().width + 1).sum()
        };
        while taken(shown) + least > self.width + 1 {
            let from = |index: &usize| shown[*index].appearance().from_width;
            let droppable = (0..shown.len()).filter(|&index| !kept(&shown[index]));
            let Some(index) = droppable.max_by_key(from) else { return };
            shown.remove(index);
        }
    }
}

impl Column {
    /// All columns.
    pub const ALL: &[Column] = &[
        Column::Pid,
        Column::User,
        Column::Priority,
        Column::Nice,
        Column::Virtual,
        Column::Resident,
        Column::Swap,
        Column::State,
        Column::Cpu,
        Column::Memory,
        Column::Time,
        Column::Threads,
        Column::Delay,
        Column::Read,
        Column::Write,
        Column::Io,
        Column::NetIn,
        Column::NetOut,
        Column::Net,
        Column::PacketsIn,
        Column::PacketsOut,
        Column::Faults,
        Column::Processor,
        Column::Start,
        Column::Processes,
        Column::Ended,
        Column::Command,
    ];

    /// The name on the command line, and what the column shows.
    #[must_use]
    pub const fn named(self) -> (&'static str, &'static str) {
        match self {
            Column::Pid => ("pid", "Process ID"),
            Column::User => ("user", "User name"),
            Column::Priority => ("pri", "Priority in the kernel's scale"),
            Column::Nice => ("nice", "Nice value"),
            Column::Virtual => ("virt", "Size of the address space"),
            Column::Resident => ("res", "Resident memory"),
            Column::Swap => ("swap", "Memory in swap"),
            Column::State => ("state", "State letter"),
            Column::Cpu => ("cpu", "CPU use in the interval"),
            Column::Memory => ("mem", "Resident memory, as a share of the machine's"),
            Column::Time => ("time", "CPU time since its start"),
            Column::Threads => ("thr", "Threads"),
            Column::Delay => ("wait", "Time ready to run without a CPU"),
            Column::Read => ("read", "Bytes read from storage"),
            Column::Write => ("write", "Bytes written to storage"),
            Column::Io => ("io", "Bytes read and written"),
            Column::NetIn => ("recv", "Bytes received by IP (with --net)"),
            Column::NetOut => ("sent", "Bytes sent by IP (with --net)"),
            Column::Net => ("net", "Bytes received and sent (with --net)"),
            Column::PacketsIn => ("pktin", "Packets received (with --net)"),
            Column::PacketsOut => ("pktout", "Packets sent (with --net)"),
            Column::Faults => ("flt", "Major page faults (with I/O)"),
            Column::Processor => ("on", "The CPU it ran on last"),
            Column::Start => ("start", "Start time"),
            Column::Processes => ("procs", "Processes of a group"),
            Column::Ended => ("ended", "Processes of a group that ended in the interval"),
            Column::Command => ("command", "Command"),
        }
    }

    /// Another accepted name.
    #[must_use]
    pub const fn alias(self) -> Option<&'static str> {
        match self {
            Column::Resident => Some("rss"),
            Column::Threads => Some("threads"),
            Column::Delay => Some("delay"),
            Column::Faults => Some("faults"),
            Column::Processor => Some("processor"),
            _ => None,
        }
    }

    /// The appearance of the column.
    pub(crate) const fn appearance(self) -> Appearance {
        let (title, width, left, from_width) = match self {
            Column::Pid => ("PID", 7, false, 0),
            Column::User => ("USER", 8, true, 44),
            Column::Priority => ("PRI", 3, false, 84),
            Column::Nice => ("NI", 3, false, 64),
            Column::Virtual => ("VIRT", 5, false, 70),
            Column::Resident => ("RES", 5, false, 30),
            Column::Swap => ("SWAP", 5, false, 140),
            Column::State => ("S", 1, true, 30),
            Column::Processor => ("ON", 3, false, 150),
            Column::Threads => ("THR", 4, false, 96),
            Column::Cpu => ("CPU%", 5, false, 0),
            Column::Memory => ("MEM%", 5, false, 56),
            Column::Time => ("TIME+", 9, false, 76),
            Column::Delay => ("WAIT%", 5, false, 120),
            Column::Read => ("READ/s", 6, false, 104),
            Column::Write => ("WRIT/s", 6, false, 104),
            Column::Io => ("IO/s", 6, false, u16::MAX),
            Column::NetIn => ("RECV/s", 6, false, 0),
            Column::NetOut => ("SENT/s", 6, false, 0),
            Column::Net => ("NET/s", 6, false, u16::MAX),
            Column::PacketsIn => ("PKIN/s", 6, false, 120),
            Column::PacketsOut => ("PKOUT/s", 7, false, 120),
            Column::Faults => ("FLT/s", 5, false, 130),
            Column::Start => ("START", 7, false, u16::MAX),
            Column::Processes => ("PROCS", 6, false, 0),
            Column::Ended => ("ENDED", 6, false, 60),
            Column::Command => ("COMMAND", 0, true, 0),
        };
        Appearance { title, width, left, from_width }
    }

    /// Whether it needs the source `process_net`.
    #[must_use]
    pub const fn is_traffic(self) -> bool {
        matches!(
            self,
            Column::NetIn | Column::NetOut | Column::Net | Column::PacketsIn | Column::PacketsOut
        )
    }

    /// Whether a process has it, and it can be chosen.
    pub(crate) const fn is_of_processes(self) -> bool {
        !matches!(self, Column::Processes | Column::Ended | Column::Command)
    }

    /// Whether sorting by it begins with small values.
    #[must_use]
    pub const fn rises(self) -> bool {
        matches!(self, Column::Pid | Column::User | Column::Command | Column::State)
    }

    /// The number to sort by.
    pub(crate) fn number(self, values: &TickValues<'_>, item: &ListItem<'_>) -> Option<f64> {
        let fields = &values.sources.process.fields;
        let group = |of: fn(&super::values::ProcessGroup) -> Option<f64>| match item {
            ListItem::Group(group) => Some(of(group)),
            _ => None,
        };
        let level = |field| values.level(item, field);
        match self {
            Column::Pid => values.pid(item).map(f64::from),
            Column::Priority => level(fields.priority),
            Column::Nice => level(fields.nice),
            Column::Virtual => {
                group(|group| group.virtual_kib).unwrap_or_else(|| level(fields.r#virtual))
            }
            Column::Resident => values.resident(item),
            Column::Swap => group(|group| group.swap_kib).unwrap_or_else(|| level(fields.swap)),
            Column::Cpu => values.cpu(item),
            Column::Memory => values.memory(item),
            Column::Time => values.time(item),
            Column::Threads => {
                group(|group| group.threads).unwrap_or_else(|| level(fields.threads))
            }
            Column::Delay => values.delay(item),
            Column::Read => values.read(item),
            Column::Write => values.write(item),
            Column::Io => both(values.read(item), values.write(item)),
            Column::NetIn => values.traffic(item, Flow::BytesIn),
            Column::NetOut => values.traffic(item, Flow::BytesOut),
            Column::Net => {
                both(values.traffic(item, Flow::BytesIn), values.traffic(item, Flow::BytesOut))
            }
            Column::PacketsIn => values.traffic(item, Flow::PacketsIn),
            Column::PacketsOut => values.traffic(item, Flow::PacketsOut),
            Column::Faults => values.faults(item),
            Column::Processor => level(fields.processor),
            Column::Start => match item {
                ListItem::Process(row) => super::fields::identity(row.name())?.1.map(|t| t as f64),
                ListItem::Ended(ended) => super::fields::identity(&ended.name)?.1.map(|t| t as f64),
                ListItem::Group(_) => None,
            },
            Column::Processes => group(|group| Some(group.processes as f64)).flatten(),
            Column::Ended => group(|group| Some(group.ended as f64)).flatten(),
            Column::User | Column::State | Column::Command => None,
        }
    }

    /// The text to sort by, for columns of text.
    pub(crate) fn text<'s>(
        self,
        values: &TickValues<'_>,
        item: &ListItem<'s>,
        full: bool,
    ) -> Option<&'s [u8]> {
        match (self, item) {
            (Column::User, _) => values.user(item),
            (Column::State, ListItem::Process(row)) => {
                row.text(values.sources.process.fields.state?)
            }
            (Column::Command, _) => values.command(item, full),
            _ => None,
        }
    }

    /// Whether it is sorted as text.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Column::User | Column::State | Column::Command)
    }

    /// Writes a cell; the caller aligns it.
    pub(crate) fn write(self, out: &mut String, values: &TickValues<'_>, item: &ListItem<'_>) {
        let number = self.number(values, item);
        match self {
            Column::Virtual | Column::Resident | Column::Swap => {
                format::size(out, number.map(|kib| kib * 1024.0));
            }
            Column::Read | Column::Write | Column::Io => format::size(out, number),
            Column::NetIn | Column::NetOut | Column::Net => format::size(out, number),
            Column::PacketsIn | Column::PacketsOut => format::count(out, number),
            Column::Cpu | Column::Memory | Column::Delay => format::percent(out, number),
            Column::Time => format::time(out, number),
            Column::Faults => format::rate(out, number),
            // Real-time priorities are below -1; -100 is shown as top shows it.
            Column::Priority if number.is_some_and(|priority| priority <= -100.0) => {
                out.push_str("rt");
            }
            Column::Start => {
                let per_second = values.frame.meta.ticks_per_second().max(1) as f64;
                format::stretch(out, number.map(|ticks| ticks / per_second));
            }
            Column::State => match (item, self.text(values, item, false)) {
                (ListItem::Ended(ended), _) if !ended.inferred => out.push('X'),
                (_, Some([letter @ b'!'..=b'~', ..])) => out.push(char::from(*letter)),
                _ => out.push('-'),
            },
            _ => format::whole(out, number),
        }
    }
}

/// How a process ended, as a shell would print it.
pub(crate) fn write_end(out: &mut String, ended: &super::ended::EndedProcess) {
    out.push('[');
    match (ended.signal, ended.exit_code) {
        (Some(signal), _) if signal > 0 => drop(write!(out, "signal {signal}")),
        (_, Some(code)) => drop(write!(out, "exit {code}")),
        _ if ended.inferred => out.push_str("inferred"),
        _ => out.push_str("ended"),
    }
    if ended.lifetime_seconds.is_some() {
        out.push(' ');
        format::stretch(out, ended.lifetime_seconds);
    }
    out.push_str("] ");
}

/// The sum of what is known.
pub(crate) fn both(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    (one.is_some() || other.is_some()).then(|| one.unwrap_or(0.0) + other.unwrap_or(0.0))
}

/// Compares numbers; missing ones are last in either order.
pub(crate) fn by_number(one: Option<f64>, other: Option<f64>, rising: bool) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) if rising => one.total_cmp(&other),
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_room_for_the_command() {
        for (groups, traffic) in [(false, false), (true, false), (false, true), (true, true)] {
            for (width, &sort) in (28..300).flat_map(|w| Column::ALL.iter().map(move |s| (w, s))) {
                for chosen in [None, Some(Column::ALL), Some(&[Column::Time][..])] {
                    let shown = ColumnChoice { groups, chosen, width, traffic, sort }.shown();
                    let taken: u16 = shown.iter().map(|column| column.appearance().width + 1).sum();
                    assert!(taken + 6 <= width + 1, "{width}: {taken} taken");
                    let traffic_shown = shown.iter().any(|column| column.is_traffic());
                    assert!(traffic || !traffic_shown, "{shown:?}");
                }
            }
        }
    }

    #[test]
    fn the_missing_come_last() {
        let mut numbers = [Some(1.0), None, Some(3.0), None, Some(2.0)];
        numbers.sort_by(|one, other| by_number(*one, *other, false));
        assert_eq!(numbers, [Some(3.0), Some(2.0), Some(1.0), None, None]);
        numbers.sort_by(|one, other| by_number(*one, *other, true));
        assert_eq!(numbers, [Some(1.0), Some(2.0), Some(3.0), None, None]);
    }
}
