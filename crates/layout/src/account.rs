//! What instances that come and go amount to: sums by group, trees, rankings, one line for a whole
//! recording.  Data beside the layouts, so that the views that use it know no source by name.
//!
//! An [`Account`] says of a source which numbers of its instances can be added up, by what they
//! can be grouped and what they descend from.  Two sources can speak of the same instances: one of
//! those that live, one of those that have ended ([`Role`]); they match by the instance's name and
//! by the names of their [`Measure`]s.  A [`Balance`] is the counter-check: what the machine says
//! there was in all.  [`Top`] ranks instances, [`Digest`] sums each one up over a recording.

use std::cmp::Ordering;

use sample::{Cells, Kind, Unit};

use crate::{Block, Form, Of, Options, Row, SourceOption};

/// Which instances a source tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Those that live, each with its counters so far.
    Living,
    /// Those that ended since the tick before, each once, with the account of its whole life.
    Ended,
}

/// What a source's instances amount to.
#[derive(Debug)]
pub struct Account {
    /// Which instances.
    pub role: Role,
    /// What an instance is called in headings (`PROCESSES`).
    pub title: &'static str,
    /// Whether a row counts: what is a part of another row does not.
    pub counts: fn(&Cells<'_>) -> bool,
    /// By what they can be grouped.
    pub groupings: &'static [Grouping],
    /// Whether a row is no instance but what several of them used that nobody told of: it counts
    /// in sums, and neither as a life nor as an end.
    pub inferred: fn(&Cells<'_>) -> bool,
    /// The number that others name as their parent.
    pub number: fn(&Cells<'_>) -> Option<u64>,
    /// The parent's number.
    pub parent: fn(&Cells<'_>) -> Option<u64>,
    /// What an instance is called in a tree.
    pub label: for<'a> fn(&Cells<'a>) -> Option<&'a [u8]>,
    /// What can be added up.
    pub measures: &'static [Measure],
    /// By what groups can be sorted, in the words of [`Top`].
    pub orders: &'static [Order],
}

/// Something that instances have in common.
#[derive(Debug)]
pub struct Grouping {
    /// Its name on the command line and in headings.
    pub name: &'static str,
    /// Writes what the instance has; false if that is not known.
    pub write: fn(&Cells<'_>, &Options, &mut Vec<u8>) -> bool,
}

/// A number that can be added up.
#[derive(Debug)]
pub struct Measure {
    /// `[a-z0-9_]+`; the same in both roles.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// A counter is shown per second; a level as the sum of those of the latest reading.
    pub kind: Kind,
    /// The heading for people; empty if only machines get it.
    pub heading: &'static str,
    /// The value: of an ended instance, that of its whole life.
    pub of: fn(&Cells<'_>) -> Option<f64>,
}

/// A way to sort groups.
#[derive(Debug)]
pub struct Order {
    /// Its name on the command line.
    pub name: &'static str,
    /// The measures that are added up for it.
    pub measures: &'static [&'static str],
    /// Whether all that the instances ever had counts, not only what this interval added.
    pub whole_life: bool,
}

/// What the machine says there was in all, to hold sums against.
#[derive(Debug)]
pub struct Balance {
    /// CPU time since the reading before, in ns, by the machine's own count.
    pub busy_ns: fn(&Row<'_>) -> Option<f64>,
    /// The part of it that instances account for.
    pub attributed_ns: fn(&Row<'_>) -> Option<f64>,
    /// Ends since the reading before of which nothing else is known.
    pub ends_lost: fn(&Row<'_>) -> Option<f64>,
    /// Whether each end is told by itself.
    pub ends_told: fn(&Cells<'_>) -> bool,
}

/// A list of the first few instances, sorted: collectl's `--top`.
#[derive(Debug)]
pub struct Top {
    /// The title without `# `; `$order` stands for the rank's name, `$clock` for the time of day.
    pub title: fn(&Options) -> &'static str,
    /// Headings and cells; empty for the layout's verbose blocks.
    pub blocks: &'static [Block],
    /// Whether an instance can be in the list at all; the value is that of the rank asked for.
    pub keep: fn(&Row<'_>, Option<f64>) -> bool,
    /// Which of two that rank alike comes first.
    pub tie: fn(&Row<'_>, &Row<'_>) -> Ordering,
    /// By what it can be sorted.
    pub ranks: &'static [Rank],
}

/// By what instances can be sorted.
#[derive(Debug)]
pub struct Rank {
    /// Its name on the command line.
    pub name: &'static str,
    /// A few words for the list of all of them.
    pub about: &'static str,
    /// The heading it stands under in that list.
    pub kind: &'static str,
    /// What it sorts by.
    pub by: By,
    /// The option and its letter that show the column it sorts by.
    pub shown_by: Option<(&'static SourceOption, char)>,
}

/// What a rank sorts by.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// The greatest first; instances without a value last.
    Most(fn(&Row<'_>) -> Option<f64>),
    /// The smallest first; instances without a value last.
    Least(fn(&Row<'_>) -> Option<f64>),
    /// The layout's own order, or that of the table.
    Place,
}

/// One line for each instance over a whole recording: collectl's `--procanalyze`.
#[derive(Debug)]
pub struct Digest {
    /// Its name on the command line (`process`, `slab`).
    pub name: &'static str,
    /// Whether these are the ended ones of another source's digest of that name, whose columns
    /// these are, in the same order.
    pub role: Role,
    /// The file's extension.
    pub extension: &'static str,
    /// Whether a line begins with date, first and last time; columns then have separators between.
    pub has_times: bool,
    /// Whether lines are sorted by name; else by first appearance.
    pub is_sorted: bool,
    /// Which instances count.
    pub counts: fn(&Row<'_>) -> bool,
    /// Which lines are written, by their folded values.
    pub keep: fn(&Folded<'_>) -> bool,
    /// The columns.
    pub columns: &'static [DigestColumn],
}

/// A column of a digest.
#[derive(Debug)]
pub struct DigestColumn {
    /// The heading.
    pub name: &'static str,
    /// What stands before it, where there are no separators.
    pub lead: &'static str,
    /// Padded to so many characters.
    pub width: usize,
    /// How readings become one value.
    pub fold: Fold,
    /// How that is written.
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
    /// How far a counter went from reading to reading; of an ended instance, all that it had.
    Gain,
    /// Worked out from other columns, at the end.
    From(fn(&Folded<'_>) -> Option<f64>),
}

/// The folded columns of an instance.
#[derive(Debug)]
pub struct Folded<'a> {
    /// The columns' values so far.
    pub values: &'a [Option<f64>],
    /// From its first to its last sight.
    pub seconds: f64,
    /// Intervals that were looked at in all.
    pub intervals: u64,
    /// `--exact`.
    pub exact: bool,
}
