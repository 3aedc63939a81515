//! Sums of instances that come and go: by group, as trees, as rankings, over a whole recording.
//! They are data beside the layouts, so that the views that use them know no source by name.
//!
//! An [`Account`] lists the numbers of a source's instances that can be added up, the criteria by
//! which instances can be grouped, and their parents.  Two sources can have the same instances: one
//! those that exist, one those that ended ([`Role`]); they match by the instance's name and by the
//! names of their [`Measure`]s.  A [`Balance`] has the machine's own totals, to compare with.
//! [`Top`] ranks instances, [`Digest`] has a line for each instance of a recording.

use std::cmp::Ordering;

use sample::{Cells, Kind, Unit};

use crate::{Block, Form, Of, Options, Row, SourceOption};

/// The instances that a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instances that exist, with their counters so far.
    Living,
    /// Instances that ended since the previous tick, each once, with the totals of its whole life.
    Ended,
}

/// How a source's instances are added up.
#[derive(Debug)]
pub struct Account {
    /// The instances that the source has.
    pub role: Role,
    /// The name of the instances in headings (`PROCESSES`).
    pub title: &'static str,
    /// Whether to add up a row; false for a row that is part of another one (a thread).
    pub counts: fn(&Cells<'_>) -> bool,
    /// The criteria by which instances can be grouped.
    pub groupings: &'static [Grouping],
    /// Whether a row is not one instance, but the usage of several whose ends were not reported.
    /// It is added to sums and counts neither as an instance nor as an end.
    pub inferred: fn(&Cells<'_>) -> bool,
    /// The number by which children refer to this instance as their parent.
    pub number: fn(&Cells<'_>) -> Option<u64>,
    /// The parent's number.
    pub parent: fn(&Cells<'_>) -> Option<u64>,
    /// The text for an instance in a tree.
    pub label: for<'a> fn(&Cells<'a>) -> Option<&'a [u8]>,
    /// The numbers that can be added up.
    pub measures: &'static [Measure],
    /// The orders in which groups can be sorted; [`Top`] uses the same names.
    pub orders: &'static [Order],
}

/// A criterion by which instances are grouped (user, command).
#[derive(Debug)]
pub struct Grouping {
    /// The name on the command line and in headings.
    pub name: &'static str,
    /// Writes the group of the instance; false if it is not known.
    pub write: fn(&Cells<'_>, &Options, &mut Vec<u8>) -> bool,
}

/// A number that can be added up.
#[derive(Debug)]
pub struct Measure {
    /// `[a-z0-9_]+`; the same in both roles.
    pub name: &'static str,
    /// The unit of the measure.
    pub unit: Unit,
    /// A counter is shown per second; a level as the sum over the latest reading.
    pub kind: Kind,
    /// The heading on the screen; empty if only output for programs has the column.
    pub heading: &'static str,
    /// The value; for an ended instance, that of its whole life.
    pub of: fn(&Cells<'_>) -> Option<f64>,
}

/// A way to sort groups.
#[derive(Debug)]
pub struct Order {
    /// The name of the key on the command line.
    pub name: &'static str,
    /// The measures whose sum is the sort key.
    pub measures: &'static [&'static str],
    /// Whether to sort by totals since the instances began, not by the change in this interval.
    pub whole_life: bool,
}

/// The machine's own totals, with which sums of instances are compared.
#[derive(Debug)]
pub struct Balance {
    /// CPU time of the whole machine since the previous reading, in ns.
    pub busy_ns: fn(&Row<'_>) -> Option<f64>,
    /// The part of it that is attributed to instances.
    pub attributed_ns: fn(&Row<'_>) -> Option<f64>,
    /// Ends since the previous reading of which only the number is known.
    pub ends_lost: fn(&Row<'_>) -> Option<f64>,
    /// Whether the kernel reports each end.
    pub reports_each_end: fn(&Cells<'_>) -> bool,
}

/// A list of the first few instances, sorted: collectl's `--top`.
#[derive(Debug)]
pub struct Top {
    /// The title without `# `; `$order` is replaced by the rank's name, `$clock` by the time of day.
    pub title: fn(&Options) -> &'static str,
    /// Headings and cells; empty to use the layout's verbose blocks.
    pub blocks: &'static [Block],
    /// Whether an instance can be in the list; the number is its value in the selected rank.
    pub keep: fn(&Row<'_>, Option<f64>) -> bool,
    /// The order of two instances with equal values.
    pub tie: fn(&Row<'_>, &Row<'_>) -> Ordering,
    /// The criteria by which it can be sorted.
    pub ranks: &'static [Rank],
}

/// A criterion by which instances can be sorted.
#[derive(Debug)]
pub struct Rank {
    /// The name of the rank on the command line.
    pub name: &'static str,
    /// A description of a few words, for the list of all ranks.
    pub about: &'static str,
    /// The heading above it in that list.
    pub kind: &'static str,
    /// The sort key.
    pub by: By,
    /// The option and its letter that show the column of the sort key.
    pub shown_by: Option<(&'static SourceOption, char)>,
}

/// The sort key of a rank.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// The greatest first; instances without a value last.
    Most(fn(&Row<'_>) -> Option<f64>),
    /// The smallest first; instances without a value last.
    Least(fn(&Row<'_>) -> Option<f64>),
    /// No key: the layout's own order, or that of the table.
    LayoutOrder,
}

/// One line for each instance over a whole recording: collectl's `--procanalyze`.
#[derive(Debug)]
pub struct Digest {
    /// The name of the account on the command line (`process`, `slab`).
    pub name: &'static str,
    /// [`Role::Ended`] if its instances are added to the digest of another source with this name,
    /// which has the same columns in the same order.
    pub role: Role,
    /// The file's extension.
    pub extension: &'static str,
    /// Whether a line begins with date, first and last time; the columns then have separators.
    pub has_times: bool,
    /// Whether lines are sorted by name; otherwise by first appearance.
    pub is_sorted: bool,
    /// Whether an instance is in the digest.
    pub counts: fn(&Row<'_>) -> bool,
    /// Whether to write the line with these values.
    pub keep: fn(&Folded<'_>) -> bool,
    /// The columns.
    pub columns: &'static [DigestColumn],
}

/// A column of a digest.
#[derive(Debug)]
pub struct DigestColumn {
    /// The heading.
    pub name: &'static str,
    /// The text before it, if columns have no separators.
    pub lead: &'static str,
    /// The width to which it is padded, in characters.
    pub width: usize,
    /// How the values of all readings become one.
    pub fold: Fold,
    /// How that value becomes text.
    pub form: Form,
    /// The value of one reading.
    pub value: Of,
}

/// How the values of an instance become one.
#[derive(Clone, Copy, Debug)]
pub enum Fold {
    /// The first one.
    First,
    /// The latest one.
    Last,
    /// The smallest one.
    Least,
    /// The greatest one.
    Most,
    /// The increase of a counter over all readings; for an ended instance, its total.
    Gain,
    /// Computed from other columns, at the end.
    From(fn(&Folded<'_>) -> Option<f64>),
}

/// The folded columns of an instance.
#[derive(Debug)]
pub struct Folded<'a> {
    /// The columns' values so far.
    pub values: &'a [Option<f64>],
    /// Seconds from its first to its last reading.
    pub seconds: f64,
    /// The number of intervals of the whole digest.
    pub intervals: u64,
    /// `--exact`.
    pub exact: bool,
}
