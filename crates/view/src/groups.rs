//! Instances by group (`--by command`, `user`, `cgroup`): a line for each group with the sums of
//! its instances, including those that ended in the interval, then a line that compares the total
//! with the machine's own counters.
//!
//! A missing number adds nothing to a sum; a sum of missing numbers only is missing.  Instances
//! whose group is unknown form the group `-`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Account, Frame, Grouping, Measure, Options, Order};
use sample::{Kind, Meta, SourceDef};

use crate::tally::{Close, Event, Fate, Tally, Tick};
use crate::{TableForm, View};

pub(crate) mod lines;
mod machine;
#[cfg(test)]
mod tests;

/// Most groups of one interval; instances of further groups are added to the group `-`.
const GROUPS_MAX: usize = 65_536;

/// The view.
pub struct Groups {
    form: TableForm,
    zone: TimeZone,
    host: String,
    tally: Tally,
    plan: Option<Plan>,
    sums: Sums,
    header_written: bool,
    intervals: u64,
    out: Vec<u8>,
}

/// What is grouped and how it is sorted.
#[derive(Clone, Copy)]
struct Plan {
    account: &'static Account,
    grouping: &'static Grouping,
    order: &'static Order,
    count: usize,
}

/// One group in one interval.
#[derive(Default)]
struct Group {
    /// `None` for instances without a known group (`-`).
    name: Option<Vec<u8>>,
    living: u64,
    births: u64,
    ends: u64,
    /// Sums over the interval, in the order of the account's measures.
    gains: Vec<Option<f64>>,
    /// Sums over the instances' whole lives, in the same order.
    whole: Vec<Option<f64>>,
}

/// The groups of the current interval.
#[derive(Default)]
struct Sums {
    groups: Vec<Group>,
    by_name: HashMap<Option<Vec<u8>>, usize>,
    name: Vec<u8>,
}

impl Groups {
    /// A view of groups.
    pub fn new(form: TableForm, zone: TimeZone) -> Self {
        Groups {
            form,
            zone,
            host: String::new(),
            tally: Tally::default(),
            plan: None,
            sums: Sums::default(),
            header_written: false,
            intervals: 0,
            out: Vec::new(),
        }
    }
}

impl Plan {
    fn of(account: &'static Account, options: &Options) -> io::Result<Plan> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let grouping = account.groupings.iter().find(|grouping| grouping.name == options.by);
        let grouping = grouping.ok_or_else(|| {
            let known: Vec<&str> = account.groupings.iter().map(|group| group.name).collect();
            invalid(format!("--by {}: known are {}", options.by, known.join(", ")))
        })?;
        let name = options.list.as_ref().map_or("", |list| list.order.as_str());
        let order = match name {
            "" => account.orders.first(),
            name => account.orders.iter().find(|order| order.name == name),
        };
        let order = order.ok_or_else(|| {
            let known: Vec<&str> = account.orders.iter().map(|order| order.name).collect();
            invalid(format!("--top {name}: groups are sorted by {}", known.join(", ")))
        })?;
        let count = options.list.as_ref().map_or(usize::MAX, |list| list.count);
        Ok(Plan { account, grouping, order, count })
    }

    /// The number that a group is sorted by.
    fn rank(&self, group: &Group) -> Option<f64> {
        let values = if self.order.whole_life { &group.whole } else { &group.gains };
        let of = |name: &&str| {
            let index = self.account.measures.iter().position(|measure| measure.name == *name)?;
            values.get(index).copied().flatten()
        };
        let known = self.order.measures.iter().filter_map(of);
        known.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    }
}

impl Sums {
    fn clear(&mut self) {
        self.groups.clear();
        self.by_name.clear();
    }

    fn add(&mut self, plan: &Plan, event: &Event<'_>, options: &Options) {
        self.name.clear();
        let write = |account: &Account, name: &mut Vec<u8>, cells| {
            let grouping = account.groupings.iter().find(|one| one.name == plan.grouping.name);
            name.clear();
            grouping.is_some_and(|grouping| (grouping.write)(cells, options, name))
        };
        let mut known = write(event.account, &mut self.name, &event.cells);
        if !known && let Some((account, cells)) = &event.seen {
            known = write(account, &mut self.name, cells);
        }
        let full = self.groups.len() >= GROUPS_MAX;
        let name = known.then(|| std::mem::take(&mut self.name));
        let name = name.filter(|name| !full || self.by_name.contains_key(&Some(name.clone())));
        let index = *self.by_name.entry(name).or_insert_with_key(|name| {
            self.groups.push(Group { name: name.clone(), ..Group::default() });
            self.groups.len() - 1
        });
        self.groups[index].add(event);
    }

    /// All groups together.
    fn total(&self) -> Group {
        let mut total = Group::default();
        for group in &self.groups {
            total.living += group.living;
            total.births += group.births;
            total.ends += group.ends;
            add_all(&mut total.gains, &group.gains);
            add_all(&mut total.whole, &group.whole);
        }
        total
    }
}

impl Group {
    fn add(&mut self, event: &Event<'_>) {
        match event.fate {
            Fate::Lives => self.living += 1,
            Fate::Ended | Fate::Vanished => self.ends += 1,
            Fate::Inferred => {}
        }
        self.births += u64::from(event.born);
        add_all(&mut self.gains, event.gains);
        if event.fate != Fate::Vanished {
            add_all(&mut self.whole, event.whole);
        }
    }
}

fn add_all(sums: &mut Vec<Option<f64>>, values: &[Option<f64>]) {
    if sums.len() < values.len() {
        sums.resize(values.len(), None);
    }
    for (sum, value) in sums.iter_mut().zip(values) {
        if let Some(value) = value {
            *sum = Some(sum.unwrap_or(0.0) + value);
        }
    }
}

/// The machine's own counters for the interval, to compare the sums with.
#[derive(Clone, Copy)]
struct Attribution {
    busy_ns: Option<f64>,
    attributed_ns: Option<f64>,
    unattributed_ns: Option<f64>,
    ends_lost: Option<f64>,
}

impl Attribution {
    fn of(close: &Close) -> Self {
        let Close { busy_ns, attributed_ns, ends_lost, .. } = *close;
        let unattributed_ns = busy_ns.zip(attributed_ns).map(|(busy, known)| busy - known);
        Attribution { busy_ns, attributed_ns, unattributed_ns, ends_lost }
    }
}

/// A measure of a group for output, in the measure's unit: a counter per second (per interval with
/// `-on`), a level unchanged.
fn shown(
    measure: &Measure,
    index: usize,
    group: &Group,
    close: &Close,
    options: &Options,
) -> Option<f64> {
    let value = group.gains.get(index).copied().flatten()?;
    let seconds = if options.per_interval() { 1.0 } else { close.seconds };
    Some(if measure.kind == Kind::Counter { value / seconds } else { value })
}

impl View for Groups {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.tally = Tally::of(defs, options);
        self.sums.clear();
        meta.host().clone_into(&mut self.host);
        let account = self.tally.account();
        self.plan = account.map(|account| Plan::of(account, options)).transpose()?;
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(plan) = self.plan else { return Ok(()) };
        let sums = &mut self.sums;
        let tick = self.tally.add_tick(frame, &mut |event| sums.add(&plan, event, frame.options));
        match tick {
            Tick::Incomplete => {}
            Tick::Base => self.sums.clear(),
            Tick::Complete(close) => {
                self.write(&plan, frame, &close, out)?;
                self.sums.clear();
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl Groups {
    fn write(
        &mut self,
        plan: &Plan,
        frame: &Frame<'_>,
        close: &Close,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let total = self.sums.total();
        let groups = &mut self.sums.groups;
        groups.sort_by(|left, right| {
            let by_rank = match (plan.rank(left), plan.rank(right)) {
                (Some(left), Some(right)) => right.total_cmp(&left),
                (left, right) => right.is_some().cmp(&left.is_some()),
            };
            by_rank.then_with(|| left.name.cmp(&right.name))
        });
        groups.truncate(plan.count);
        self.intervals += 1;
        self.out.clear();
        let interval =
            Interval { plan, frame, close, total: &total, attribution: Attribution::of(close) };
        match self.form {
            TableForm::Text => {
                lines::push(&mut self.out, &interval, groups, &self.zone, self.intervals);
            }
            TableForm::Csv => {
                if !self.header_written {
                    machine::push_csv_header(&mut self.out, plan);
                }
                machine::push_csv(&mut self.out, &interval, groups, &self.host);
            }
            TableForm::Json => machine::push_json(&mut self.out, &interval, groups, &self.host),
        }
        self.header_written = true;
        out.write_all(&self.out)
    }
}

/// What is written for an interval besides its groups.
struct Interval<'a> {
    plan: &'a Plan,
    frame: &'a Frame<'a>,
    close: &'a Close,
    total: &'a Group,
    attribution: Attribution,
}
