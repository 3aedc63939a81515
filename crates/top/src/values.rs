//! The content of a line of the list (a process, an ended one, or a group), and its numbers.
//!
//! All counts of a process that started within the interval belong to the interval.  If a process
//! started earlier but is missing from the last reading, its usage in the interval is unknown.

use std::collections::{HashMap, HashSet};

use layout::{Frame, Row};

use super::ended::{EndedList, EndedProcess};
use super::fields::{ScreenSources, identity};
use super::traffic::{FLOWS, Flow, Traffic};

/// The content of a line of the list.
#[derive(Clone, Copy)]
pub(crate) enum ListItem<'a> {
    Process(Row<'a>),
    Ended(&'a EndedProcess),
    Group(&'a ProcessGroup),
}

/// What processes are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Control groups.
    Cgroup,
    /// Users.
    User,
    /// Names of commands.
    Command,
}

impl GroupBy {
    /// All of them.
    pub const ALL: &[GroupBy] = &[GroupBy::Cgroup, GroupBy::User, GroupBy::Command];

    /// The name on the command line, and what it means.
    #[must_use]
    pub const fn named(self) -> (&'static str, &'static str) {
        match self {
            GroupBy::Cgroup => ("cgroup", "Control groups"),
            GroupBy::User => ("user", "Users"),
            GroupBy::Command => ("command", "Names of commands"),
        }
    }
}

/// Several processes as one line, ended ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessGroup {
    pub(crate) name: Vec<u8>,
    pub(crate) processes: u64,
    pub(crate) ended: u64,
    pub(crate) cpu: Option<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) delay: Option<f64>,
    pub(crate) virtual_kib: Option<f64>,
    pub(crate) resident_kib: Option<f64>,
    pub(crate) swap_kib: Option<f64>,
    pub(crate) threads: Option<f64>,
    pub(crate) read: Option<f64>,
    pub(crate) write: Option<f64>,
    pub(crate) faults: Option<f64>,
    /// By [`Flow`].
    pub(crate) traffic: [Option<f64>; FLOWS],
}

/// A tick, with the inputs of the numbers of all lines.
#[derive(Clone, Copy)]
pub(crate) struct TickValues<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) sources: &'a ScreenSources,
    pub(crate) traffic: &'a Traffic,
    /// Time between the two readings of processes.
    pub(crate) seconds: Option<f64>,
    /// Time of the last reading on the monotonic clock.
    before_ns: Option<u64>,
    memory_kib: Option<f64>,
    ticks_per_second: f64,
}

impl<'a> TickValues<'a> {
    /// Finds the inputs of a tick.
    pub(crate) fn new(frame: Frame<'a>, sources: &'a ScreenSources, traffic: &'a Traffic) -> Self {
        let process = sources.process.row(&frame);
        let before = process.map(|row| &row.track.previous);
        let before = before.filter(|sample| sample.state == sample::State::Ok);
        let memory = sources.memory.row(&frame);
        let total = memory.and_then(|row| row.gauge(sources.memory.fields.total?));
        let recorded = || frame.meta.get("memory_kib")?.parse().ok();
        TickValues {
            frame,
            sources,
            traffic,
            seconds: process.and_then(|row| row.interval_seconds()),
            before_ns: before.map(|sample| sample.monotonic_ns),
            memory_kib: total.or_else(recorded),
            ticks_per_second: frame.meta.ticks_per_second().max(1) as f64,
        }
    }

    /// The increase of a process's counter in the interval.
    fn amount(&self, row: &Row<'_>, field: Option<usize>) -> Option<f64> {
        let field = field?;
        row.delta(field).or_else(|| {
            let began = self.amount_since_birth(row)?;
            began.then(|| row.raw(field).map(|value| value as f64)).flatten()
        })
    }

    /// Whether a process that is missing from the last reading started after it.
    fn amount_since_birth(&self, row: &Row<'_>) -> Option<bool> {
        if !row.is_new() {
            return None;
        }
        let started = identity(row.name())?.1?.saturating_add(1) as f64 / self.ticks_per_second;
        Some(started * 1e9 >= self.before_ns? as f64)
    }

    fn per_second(&self, amount: Option<f64>) -> Option<f64> {
        Some(amount? / self.seconds?)
    }

    /// CPU usage, in percent of one CPU.
    pub(crate) fn cpu(&self, item: &ListItem<'_>) -> Option<f64> {
        let fields = &self.sources.process.fields;
        let used_seconds = match item {
            ListItem::Group(group) => return group.cpu,
            ListItem::Ended(ended) => ended.cpu_share_seconds,
            ListItem::Process(row) => {
                let exact = self.amount(row, fields.run_time).map(|ns| ns / 1e9);
                exact.or_else(|| {
                    let user = self.amount(row, fields.user_time)?;
                    let system = self.amount(row, fields.system_time)?;
                    Some((user + system) / self.ticks_per_second)
                })
            }
        };
        self.per_second(used_seconds).map(|share| share * 100.0)
    }

    /// CPU time of the process's life, in seconds.
    pub(crate) fn time(&self, item: &ListItem<'_>) -> Option<f64> {
        let fields = &self.sources.process.fields;
        match item {
            ListItem::Group(group) => group.seconds,
            ListItem::Ended(ended) => ended.cpu_seconds,
            ListItem::Process(row) => {
                let raw = |field: Option<usize>| row.raw(field?).map(|value| value as f64);
                let shown = || Some(raw(fields.user_time)? + raw(fields.system_time)?);
                let exact = raw(fields.run_time).map(|ns| ns / 1e9);
                exact.or_else(|| shown().map(|ticks| ticks / self.ticks_per_second))
            }
        }
    }

    /// Time ready to run without a CPU, in percent of the interval.
    pub(crate) fn delay(&self, item: &ListItem<'_>) -> Option<f64> {
        match item {
            ListItem::Group(group) => group.delay,
            ListItem::Ended(_) => None,
            ListItem::Process(row) => {
                let waited = self.amount(row, self.sources.process.fields.run_delay);
                self.per_second(waited).map(|ns| ns / 1e7)
            }
        }
    }

    /// Resident memory in KiB; the peak for an ended process.
    pub(crate) fn resident(&self, item: &ListItem<'_>) -> Option<f64> {
        match item {
            ListItem::Group(group) => group.resident_kib,
            ListItem::Ended(ended) => ended.peak_resident_kib,
            ListItem::Process(row) => row.gauge(self.sources.process.fields.resident?),
        }
    }

    /// Resident memory in percent of the machine's memory.
    pub(crate) fn memory(&self, item: &ListItem<'_>) -> Option<f64> {
        let total = self.memory_kib.filter(|&total| total > 0.0)?;
        Some(self.resident(item)? / total * 100.0)
    }

    /// Bytes read from storage per second.
    pub(crate) fn read(&self, item: &ListItem<'_>) -> Option<f64> {
        match item {
            ListItem::Group(group) => group.read,
            ListItem::Ended(ended) => self.per_second(ended.read_bytes),
            ListItem::Process(row) => {
                self.per_second(self.amount(row, self.sources.process.fields.read_bytes))
            }
        }
    }

    /// Bytes written to storage per second.
    pub(crate) fn write(&self, item: &ListItem<'_>) -> Option<f64> {
        match item {
            ListItem::Group(group) => group.write,
            ListItem::Ended(ended) => self.per_second(ended.write_bytes),
            ListItem::Process(row) => {
                self.per_second(self.amount(row, self.sources.process.fields.write_bytes))
            }
        }
    }

    /// Major page faults per second.
    pub(crate) fn faults(&self, item: &ListItem<'_>) -> Option<f64> {
        match item {
            ListItem::Group(group) => group.faults,
            ListItem::Ended(ended) => self.per_second(ended.faults),
            ListItem::Process(row) => {
                self.per_second(self.amount(row, self.sources.process.fields.major_faults))
            }
        }
    }

    /// Bytes or packets per second, received or sent.
    pub(crate) fn traffic(&self, item: &ListItem<'_>, flow: Flow) -> Option<f64> {
        let name = match item {
            ListItem::Group(group) => return group.traffic[flow as usize],
            ListItem::Ended(ended) => &ended.name,
            // A thread has the id of its process only by chance.
            ListItem::Process(row) if self.is_thread(row) => return None,
            ListItem::Process(row) => row.name(),
        };
        self.traffic.rate(&self.frame, self.traffic.row(name)?, flow)
    }

    /// A level of a process.
    pub(crate) fn level(&self, item: &ListItem<'_>, field: Option<usize>) -> Option<f64> {
        match item {
            ListItem::Process(row) => row.gauge(field?),
            _ => None,
        }
    }

    /// The pid.
    pub(crate) fn pid(&self, item: &ListItem<'_>) -> Option<i32> {
        match item {
            ListItem::Process(row) => Some(identity(row.name())?.0),
            ListItem::Ended(ended) => Some(identity(&ended.name)?.0),
            ListItem::Group(_) => None,
        }
    }

    /// The user's name.
    pub(crate) fn user<'s>(&self, item: &ListItem<'s>) -> Option<&'s [u8]> {
        match item {
            ListItem::Process(row) => row.text(self.sources.process.fields.user?),
            ListItem::Ended(ended) => ended.user.as_deref(),
            ListItem::Group(_) => None,
        }
    }

    /// The control group.
    pub(crate) fn cgroup<'s>(&self, item: &ListItem<'s>) -> Option<&'s [u8]> {
        match item {
            ListItem::Process(row) => row.text(self.sources.process.fields.cgroup?),
            ListItem::Ended(ended) => ended.cgroup.as_deref(),
            ListItem::Group(_) => None,
        }
    }

    /// The command: its name, or with `full` the program and its arguments if it has any.
    pub(crate) fn command<'s>(&self, item: &ListItem<'s>, full: bool) -> Option<&'s [u8]> {
        let (line, name) = match item {
            ListItem::Process(row) => {
                let fields = &self.sources.process.fields;
                let line = fields.command_line.filter(|_| full).and_then(|field| row.text(field));
                (line, fields.command.and_then(|field| row.text(field)))
            }
            ListItem::Ended(ended) => {
                (ended.command_line.as_deref().filter(|_| full), ended.command.as_deref())
            }
            ListItem::Group(group) => return Some(&group.name),
        };
        line.filter(|line| !line.is_empty()).or(name)
    }

    /// Whether a row is a further thread of its process.
    pub(crate) fn is_thread(&self, row: &Row<'_>) -> bool {
        let group = self.sources.process.fields.tgid.and_then(|field| row.raw(field));
        match (group, identity(row.name())) {
            (Some(group), Some((pid, _))) => group.cast_signed() != i64::from(pid),
            _ => false,
        }
    }

    /// Groups processes, including ended ones.  Threads are part of their process.
    pub(crate) fn groups(&self, by: GroupBy, ended: &EndedList) -> Vec<ProcessGroup> {
        let mut groups: Vec<ProcessGroup> = Vec::new();
        let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut shown: HashSet<u32> = HashSet::new();
        let process = self.sources.process.row(&self.frame);
        let rows = process.into_iter().flat_map(|row| row.rows());
        let alive = rows.filter(|row| !self.is_thread(row)).map(ListItem::Process);
        for item in alive.chain(ended.closed().iter().map(ListItem::Ended)) {
            let name = match by {
                GroupBy::Cgroup => self.cgroup(&item),
                GroupBy::User => self.user(&item),
                GroupBy::Command => self.command(&item, false),
            };
            let index = group_of(&mut groups, &mut known, name);
            self.add(&mut groups[index], &item);
            if let ListItem::Process(row) = &item {
                shown.extend(self.traffic.row(row.name()));
            } else if let ListItem::Ended(ended) = &item {
                shown.extend(self.traffic.row(&ended.name));
            }
        }
        // What belongs to no process, and processes whose end was not told.
        for (row, command, cgroup) in self.traffic.all(&self.frame) {
            if shown.contains(&row) {
                continue;
            }
            let name = match by {
                GroupBy::Cgroup => cgroup,
                GroupBy::User => None,
                GroupBy::Command => command,
            };
            let index = group_of(&mut groups, &mut known, name);
            self.add_traffic(&mut groups[index], row);
        }
        groups
    }

    fn add_traffic(&self, group: &mut ProcessGroup, row: u32) {
        for flow in Flow::ALL {
            let sum = &mut group.traffic[flow as usize];
            plus(sum, self.traffic.rate(&self.frame, row, flow));
        }
    }

    fn add(&self, group: &mut ProcessGroup, item: &ListItem<'_>) {
        plus(&mut group.cpu, self.cpu(item));
        plus(&mut group.read, self.read(item));
        plus(&mut group.write, self.write(item));
        plus(&mut group.faults, self.faults(item));
        plus(&mut group.delay, self.delay(item));
        if self.traffic.is_there() {
            for flow in Flow::ALL {
                plus(&mut group.traffic[flow as usize], self.traffic(item, flow));
            }
        }
        if let ListItem::Process(_) = item {
            let fields = &self.sources.process.fields;
            group.processes += 1;
            plus(&mut group.seconds, self.time(item));
            plus(&mut group.resident_kib, self.resident(item));
            plus(&mut group.virtual_kib, self.level(item, fields.r#virtual));
            plus(&mut group.swap_kib, self.level(item, fields.swap));
            plus(&mut group.threads, self.level(item, fields.threads));
        } else if let ListItem::Ended(ended) = item {
            group.ended += u64::from(!ended.inferred);
        }
    }
}

/// The index of the group of a name; `-` has those without.
fn group_of(
    groups: &mut Vec<ProcessGroup>,
    known: &mut HashMap<Vec<u8>, usize>,
    name: Option<&[u8]>,
) -> usize {
    let name = name.unwrap_or(b"-");
    known.get(name).copied().unwrap_or_else(|| {
        known.insert(name.to_vec(), groups.len());
        groups.push(ProcessGroup { name: name.to_vec(), ..ProcessGroup::default() });
        groups.len() - 1
    })
}

/// Adds a part; what is missing changes nothing.
fn plus(sum: &mut Option<f64>, part: Option<f64>) {
    if let Some(part) = part {
        *sum = Some(sum.unwrap_or(0.0) + part);
    }
}
