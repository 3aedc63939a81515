//! Sums of instances by group, interval after interval: what the view writes and what engines get.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use layout::{Account, Frame, Grouping, LayoutLookup, Measure, Options, Order};
use sample::{Field, History, Kind, Meta, Snapshot, SourceDef};

use crate::fields::to_base;
use crate::tally::{Close, Event, Fate, Tally, Tick};

/// Most groups of one interval; instances of further groups are added to the group `-`.
const GROUPS_MAX: usize = 65_536;

/// What is grouped and how it is sorted.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) account: &'static Account,
    pub(super) grouping: &'static Grouping,
    pub(super) order: &'static Order,
    pub(super) count: usize,
}

/// One group in one interval.
#[derive(Default)]
pub(super) struct Group {
    /// `None` for instances without a known group (`-`).
    pub(super) name: Option<Vec<u8>>,
    pub(super) living: u64,
    pub(super) births: u64,
    pub(super) ends: u64,
    /// Sums over the interval, in the order of the account's measures.
    pub(super) gains: Vec<Option<f64>>,
    /// Sums over the instances' whole lives, in the same order.
    pub(super) whole: Vec<Option<f64>>,
}

/// The groups of the current interval.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) groups: Vec<Group>,
    by_name: HashMap<Option<Vec<u8>>, usize>,
    pub(super) name: Vec<u8>,
}

/// Adds readings up by group, an interval after the other.
#[derive(Default)]
pub(super) struct GroupTally {
    tally: Tally,
    pub(super) plan: Option<Plan>,
    pub(super) sums: Sums,
}

impl GroupTally {
    /// Begins with a feed.
    pub(super) fn begin(&mut self, defs: &[Arc<SourceDef>], options: &Options) -> io::Result<()> {
        self.tally = Tally::of(defs, options);
        self.sums.clear();
        let account = self.tally.account();
        self.plan = account.map(|account| Plan::of(account, options)).transpose()?;
        Ok(())
    }

    /// Adds a tick; if it ends an interval, its groups are there, the heaviest first, until
    /// [`Sums::clear`].
    pub(super) fn add(&mut self, frame: &Frame<'_>) -> Option<Close> {
        let plan = self.plan?;
        let sums = &mut self.sums;
        let tick = self.tally.add_tick(frame, &mut |event| sums.add(&plan, event, frame.options));
        match tick {
            Tick::Incomplete => None,
            Tick::Base => {
                self.sums.clear();
                None
            }
            Tick::Complete(close) => {
                self.sums.sort(&plan);
                Some(close)
            }
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
    pub(super) fn clear(&mut self) {
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

    /// Puts the heaviest first.
    fn sort(&mut self, plan: &Plan) {
        self.groups.sort_by(|left, right| {
            let by_rank = match (plan.rank(left), plan.rank(right)) {
                (Some(left), Some(right)) => right.total_cmp(&left),
                (left, right) => right.is_some().cmp(&left.is_some()),
            };
            by_rank.then_with(|| left.name.cmp(&right.name))
        });
    }

    /// All groups together.
    pub(super) fn total(&self) -> Group {
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

/// A measure of a group for output, in the measure's unit: a counter per second (per interval with
/// `-on`), a level unchanged.
pub(super) fn shown(
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

/// Sums of processes by group as numbers, for programs.
pub struct GroupSums {
    options: Options,
    history: History,
    groups: GroupTally,
    /// The living, the ended and the machine's own counters: the sources that are read.
    sources: Vec<usize>,
}

/// A group in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupLine {
    /// The name of the group; `None` for instances of which the group is not known.
    pub name: Option<Vec<u8>>,
    /// One for each field of [`GroupSums::fields`], in base units; a counter's is its rate a second.
    pub values: Vec<Option<f64>>,
}

/// What is counted of a group beside its measures.
const COUNTS: [Field; 3] = [
    Field::gauge("processes", sample::Unit::Count, "Processes that live"),
    Field::counter("births", sample::Unit::Count, "Processes that began"),
    Field::counter("ends", sample::Unit::Count, "Processes that ended"),
];

impl GroupSums {
    /// Sums by a criterion, of a feed with these sources; `None` if it has nothing to add up.
    ///
    /// # Errors
    /// If there is no such criterion.
    pub fn new(
        by: &str,
        layouts: LayoutLookup,
        defs: &[Arc<SourceDef>],
    ) -> io::Result<Option<Self>> {
        let options = Options { layouts, by: by.to_owned(), ..Options::default() };
        let mut groups = GroupTally::default();
        groups.begin(defs, &options)?;
        let is_read = |index: &usize| {
            let layouts = options.layouts.of(&defs[*index]);
            layouts.iter().any(|one| one.account.is_some() || one.balance.is_some())
        };
        let sources = (0..defs.len()).filter(is_read).collect();
        let history = History::new(defs);
        let is_any = groups.plan.is_some();
        Ok(is_any.then_some(GroupSums { options, history, groups, sources }))
    }

    /// The sources that it reads, with all their fields.
    #[must_use]
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// What is summed: a counter of these is shown as its rate.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let account = self.groups.plan.map(|plan| plan.account);
        let measures = account.map_or(&[][..], |account| account.measures);
        let summed = measures.iter().map(|measure| {
            let about = "Sum over the processes of the group";
            match measure.kind {
                Kind::Counter => Field::counter(measure.name, measure.unit, about),
                _ => Field::gauge(measure.name, measure.unit, about),
            }
        });
        COUNTS.into_iter().chain(summed).collect()
    }

    /// Forgets all readings.
    pub fn forget(&mut self) {
        self.history.forget();
        self.groups.sums.clear();
    }

    /// Adds a tick, whose samples it takes; the groups of the interval that ends with it, if one does,
    /// the heaviest by CPU time first.
    pub fn add(&mut self, snapshot: &mut Snapshot, meta: &Meta) -> Option<Vec<GroupLine>> {
        self.history.push(snapshot);
        let frame = Frame::new(&self.history, meta, &self.options);
        let close = self.groups.add(&frame)?;
        let account = self.groups.plan?.account;
        let line = |group: &Group| {
            let rate = |count: u64| Some(count as f64 / close.seconds);
            let counts =
                [Some(group.living as f64), rate(group.births), rate(group.ends)].into_iter();
            let summed = account.measures.iter().enumerate().map(|(index, measure)| {
                let value = shown(measure, index, group, &close, &self.options)?;
                Some(to_base(measure.unit, value, meta))
            });
            GroupLine { name: group.name.clone(), values: counts.chain(summed).collect() }
        };
        let lines = self.groups.sums.groups.iter().map(line).collect();
        self.groups.sums.clear();
        Some(lines)
    }
}
