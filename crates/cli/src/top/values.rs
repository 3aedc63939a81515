//! What a line is about, and its numbers: a process, one that ended, or a group of them.
//!
//! A process born within the interval did all that it did within it; of one that was there before
//! and is not in the reading before, nothing can be said.

use std::collections::HashMap;

use sample::{Frame, Row};

use super::ended::{Ended, EndedList};
use super::fields::{Places, identity};

/// What a line is about.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    Process(Row<'a>),
    Ended(&'a Ended),
    Group(&'a Group),
}

/// What processes are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Grouping {
    /// Control groups
    Cgroup,
    /// Users
    User,
    /// Names of commands
    Command,
}

/// Several processes as one line, ended ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
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
}

/// One look at a tick, with what every line's numbers need.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) places: &'a Places,
    /// Of the processes' two readings.
    pub(crate) seconds: Option<f64>,
    /// When the reading before was, on the clock that never steps.
    before_ns: Option<u64>,
    memory_kib: Option<f64>,
    ticks_per_second: f64,
}

impl<'a> Look<'a> {
    /// Looks at a tick.
    pub(crate) fn new(frame: Frame<'a>, places: &'a Places) -> Self {
        let process = places.process.row(&frame);
        let before = process.map(|row| &row.track.previous);
        let before = before.filter(|sample| sample.state == sample::State::Ok);
        let memory = places.memory.row(&frame);
        let total = memory.and_then(|row| row.gauge(places.memory.fields.total?));
        let told = || frame.meta.get("memory_kib")?.parse().ok();
        Look {
            frame,
            places,
            seconds: process.and_then(|row| row.interval_seconds()),
            before_ns: before.map(|sample| sample.monotonic_ns),
            memory_kib: total.or_else(told),
            ticks_per_second: frame.meta.ticks_per_second().max(1) as f64,
        }
    }

    /// How far a counter of a process went in the interval.
    fn amount(&self, row: &Row<'_>, field: Option<usize>) -> Option<f64> {
        let field = field?;
        row.delta(field).or_else(|| {
            let began = self.amount_since_birth(row)?;
            began.then(|| row.raw(field).map(|value| value as f64)).flatten()
        })
    }

    /// Whether a process that the reading before lacks began after it.
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

    /// CPU use, per cent of one CPU.
    pub(crate) fn cpu(&self, subject: &Subject<'_>) -> Option<f64> {
        let fields = &self.places.process.fields;
        let used_seconds = match subject {
            Subject::Group(group) => return group.cpu,
            Subject::Ended(ended) => ended.cpu_share_seconds,
            Subject::Process(row) => {
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

    /// CPU time of its life, in seconds.
    pub(crate) fn time(&self, subject: &Subject<'_>) -> Option<f64> {
        let fields = &self.places.process.fields;
        match subject {
            Subject::Group(group) => group.seconds,
            Subject::Ended(ended) => ended.cpu_seconds,
            Subject::Process(row) => {
                let raw = |field: Option<usize>| row.raw(field?).map(|value| value as f64);
                let shown = || Some(raw(fields.user_time)? + raw(fields.system_time)?);
                let exact = raw(fields.run_time).map(|ns| ns / 1e9);
                exact.or_else(|| shown().map(|ticks| ticks / self.ticks_per_second))
            }
        }
    }

    /// Time ready to run without a CPU, per cent of the interval.
    pub(crate) fn delay(&self, subject: &Subject<'_>) -> Option<f64> {
        match subject {
            Subject::Group(group) => group.delay,
            Subject::Ended(_) => None,
            Subject::Process(row) => {
                let waited = self.amount(row, self.places.process.fields.run_delay);
                self.per_second(waited).map(|ns| ns / 1e7)
            }
        }
    }

    /// Memory that is in use, in KiB; the most of its life for one that ended.
    pub(crate) fn resident(&self, subject: &Subject<'_>) -> Option<f64> {
        match subject {
            Subject::Group(group) => group.resident_kib,
            Subject::Ended(ended) => ended.peak_resident_kib,
            Subject::Process(row) => row.gauge(self.places.process.fields.resident?),
        }
    }

    /// The same as a share of the machine's memory.
    pub(crate) fn memory(&self, subject: &Subject<'_>) -> Option<f64> {
        let total = self.memory_kib.filter(|&total| total > 0.0)?;
        Some(self.resident(subject)? / total * 100.0)
    }

    /// Bytes fetched from storage in a second.
    pub(crate) fn read(&self, subject: &Subject<'_>) -> Option<f64> {
        match subject {
            Subject::Group(group) => group.read,
            Subject::Ended(ended) => self.per_second(ended.read_bytes),
            Subject::Process(row) => {
                self.per_second(self.amount(row, self.places.process.fields.read_bytes))
            }
        }
    }

    /// Bytes sent to storage in a second.
    pub(crate) fn write(&self, subject: &Subject<'_>) -> Option<f64> {
        match subject {
            Subject::Group(group) => group.write,
            Subject::Ended(ended) => self.per_second(ended.write_bytes),
            Subject::Process(row) => {
                self.per_second(self.amount(row, self.places.process.fields.write_bytes))
            }
        }
    }

    /// Page faults with I/O in a second.
    pub(crate) fn faults(&self, subject: &Subject<'_>) -> Option<f64> {
        match subject {
            Subject::Group(group) => group.faults,
            Subject::Ended(ended) => self.per_second(ended.faults),
            Subject::Process(row) => {
                self.per_second(self.amount(row, self.places.process.fields.major_faults))
            }
        }
    }

    /// A level of a process, as it is.
    pub(crate) fn level(&self, subject: &Subject<'_>, field: Option<usize>) -> Option<f64> {
        match subject {
            Subject::Process(row) => row.gauge(field?),
            _ => None,
        }
    }

    /// The process's number.
    pub(crate) fn pid(&self, subject: &Subject<'_>) -> Option<i32> {
        match subject {
            Subject::Process(row) => Some(identity(row.name())?.0),
            Subject::Ended(ended) => Some(identity(&ended.name)?.0),
            Subject::Group(_) => None,
        }
    }

    /// The user's name.
    pub(crate) fn user<'s>(&self, subject: &Subject<'s>) -> Option<&'s [u8]> {
        match subject {
            Subject::Process(row) => row.text(self.places.process.fields.user?),
            Subject::Ended(ended) => ended.user.as_deref(),
            Subject::Group(_) => None,
        }
    }

    /// The control group.
    pub(crate) fn cgroup<'s>(&self, subject: &Subject<'s>) -> Option<&'s [u8]> {
        match subject {
            Subject::Process(row) => row.text(self.places.process.fields.cgroup?),
            Subject::Ended(ended) => ended.cgroup.as_deref(),
            Subject::Group(_) => None,
        }
    }

    /// The command: its name, or with `full` program and arguments where there are any.
    pub(crate) fn command<'s>(&self, subject: &Subject<'s>, full: bool) -> Option<&'s [u8]> {
        let (line, name) = match subject {
            Subject::Process(row) => {
                let fields = &self.places.process.fields;
                let line = fields.command_line.filter(|_| full).and_then(|field| row.text(field));
                (line, fields.command.and_then(|field| row.text(field)))
            }
            Subject::Ended(ended) => {
                (ended.command_line.as_deref().filter(|_| full), ended.command.as_deref())
            }
            Subject::Group(group) => return Some(&group.name),
        };
        line.filter(|line| !line.is_empty()).or(name)
    }

    /// Whether a row is a further thread of its process.
    pub(crate) fn is_thread(&self, row: &Row<'_>) -> bool {
        let group = self.places.process.fields.tgid.and_then(|field| row.raw(field));
        match (group, identity(row.name())) {
            (Some(group), Some((pid, _))) => group.cast_signed() != i64::from(pid),
            _ => false,
        }
    }

    /// Puts processes together, those that ended included.  Threads are in their process.
    pub(crate) fn groups(&self, by: Grouping, ended: &EndedList) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
        let process = self.places.process.row(&self.frame);
        let rows = process.into_iter().flat_map(|row| row.rows());
        let alive = rows.filter(|row| !self.is_thread(row)).map(Subject::Process);
        for subject in alive.chain(ended.closed().iter().map(Subject::Ended)) {
            let name = match by {
                Grouping::Cgroup => self.cgroup(&subject),
                Grouping::User => self.user(&subject),
                Grouping::Command => self.command(&subject, false),
            };
            let name = name.unwrap_or(b"-");
            let index = known.get(name).copied().unwrap_or_else(|| {
                known.insert(name.to_vec(), groups.len());
                groups.push(Group { name: name.to_vec(), ..Group::default() });
                groups.len() - 1
            });
            self.add(&mut groups[index], &subject);
        }
        groups
    }

    fn add(&self, group: &mut Group, subject: &Subject<'_>) {
        let plus = |sum: &mut Option<f64>, part: Option<f64>| {
            if let Some(part) = part {
                *sum = Some(sum.unwrap_or(0.0) + part);
            }
        };
        plus(&mut group.cpu, self.cpu(subject));
        plus(&mut group.read, self.read(subject));
        plus(&mut group.write, self.write(subject));
        plus(&mut group.faults, self.faults(subject));
        plus(&mut group.delay, self.delay(subject));
        if let Subject::Process(_) = subject {
            let fields = &self.places.process.fields;
            group.processes += 1;
            plus(&mut group.seconds, self.time(subject));
            plus(&mut group.resident_kib, self.resident(subject));
            plus(&mut group.virtual_kib, self.level(subject, fields.r#virtual));
            plus(&mut group.swap_kib, self.level(subject, fields.swap));
            plus(&mut group.threads, self.level(subject, fields.threads));
        } else if let Subject::Ended(ended) = subject {
            group.ended += u64::from(!ended.inferred);
        }
    }
}
