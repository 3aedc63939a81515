//! `--export proctree`: a tree of instances; each line has the sums of an instance and all its
//! descendants, including those that ended in the interval.
//!
//! Options: `depth=N` shows N levels (deeper instances still count in the sums), `sort=TYPE` sorts
//! children as `--top` does (default: by number), `z` leaves out idle instances.  An ended instance
//! has no line; its nearest living ancestor's line includes it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::number::{pad_left, push_u64};
use layout::{Account, Frame, Options, Order};
use sample::{Kind, Meta, SourceDef};

use super::{Destination, Echo, Export, ExportError, Setting, split};
use crate::groups::lines::push_value;
use crate::parts;
use crate::tally::{Close, Event, Fate, Tally, Tick};
use crate::time::LocalTime;
use crate::{Setup, View};

/// Most ended instances of an interval whose parents are kept, to find living ancestors.
const ENDED_MAX: usize = 65_536;

/// Most ended ancestors that the search for a living one visits.
const ANCESTORS_MAX: usize = 64;

/// Most levels of indentation; deeper instances are indented as much as this level.
const INDENT_MAX: usize = 40;

const COUNT_WIDTH: usize = 6;
const WIDTH: usize = 6;

/// Opens the export.
pub(super) fn open(
    options: &[&str],
    setup: &Setup,
    setting: &Setting,
) -> Result<Export, ExportError> {
    super::check_files("proctree", setting)?;
    let wrong = |text: String| ExportError::Option { export: "proctree", text };
    let mut tree = Tree::new(setup.zone.clone());
    for option in options {
        match split(option) {
            ("h", _) => return Err(ExportError::Help(HELP.to_owned())),
            ("z", "") => tree.leaves_out_idle = true,
            ("depth", number) => {
                let depth = number.parse().ok().filter(|&depth| depth > 0);
                let why = || wrong(format!("depth={number}: give a whole number from 1"));
                tree.depth = depth.ok_or_else(why)?;
            }
            ("sort", name) => name.clone_into(&mut tree.order_name),
            _ => {
                return Err(wrong(format!(
                    "unknown option '{option}'; known are depth=N, sort=TYPE, z"
                )));
            }
        }
    }
    let (view, destination, echo) = (Box::new(tree), Destination::Output, Echo::Nothing);
    Ok(Export { view, destination, echo, delay_max_seconds: 0 })
}

const HELP: &str = "\
--export proctree[,depth=N][,sort=TYPE][,z]
  a tree of processes; each line sums up a process and its descendants, including ended ones
  depth=N    show N levels
  sort=TYPE  sort children as --top does; default: by number
  z          leave out processes that were idle in the interval
";

/// The view.
struct Tree {
    zone: TimeZone,
    depth: usize,
    order_name: String,
    order: Option<&'static Order>,
    leaves_out_idle: bool,
    tally: Tally,
    nodes: Vec<Node>,
    /// Sums of ended children, by the parent's number.
    ended: HashMap<u64, Sums>,
    /// Parents of ended instances, by the instance's number.
    ended_parents: HashMap<u64, u64>,
}

/// Sums of some instances.
#[derive(Clone, Default)]
struct Sums {
    living: u64,
    births: u64,
    ends: u64,
    gains: Vec<Option<f64>>,
    whole: Vec<Option<f64>>,
}

struct Node {
    number: u64,
    parent: Option<u64>,
    label: Vec<u8>,
    sums: Sums,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.living += other.living;
        self.births += other.births;
        self.ends += other.ends;
        add_all(&mut self.gains, &other.gains);
        add_all(&mut self.whole, &other.whole);
    }

    fn of(event: &Event<'_>) -> Self {
        Sums {
            living: u64::from(event.fate == Fate::Lives),
            births: u64::from(event.born),
            ends: u64::from(matches!(event.fate, Fate::Ended | Fate::Vanished)),
            gains: event.gains.to_vec(),
            whole: event.whole.to_vec(),
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

impl Tree {
    fn new(zone: TimeZone) -> Self {
        Tree {
            zone,
            depth: usize::MAX,
            order_name: String::new(),
            order: None,
            leaves_out_idle: false,
            tally: Tally::default(),
            nodes: Vec::new(),
            ended: HashMap::new(),
            ended_parents: HashMap::new(),
        }
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.ended.clear();
        self.ended_parents.clear();
    }

    /// The living ancestor whose sums include an ended instance.
    fn ancestor(&self, parent: u64, living: &HashMap<u64, usize>) -> Option<usize> {
        let mut number = parent;
        for _ in 0..ANCESTORS_MAX {
            if let Some(&index) = living.get(&number) {
                return Some(index);
            }
            number = *self.ended_parents.get(&number)?;
        }
        None
    }

    /// Adds descendants to each node's sums; returns the order of the lines, with depths.
    fn arrange(&mut self) -> Vec<(usize, usize)> {
        let living: HashMap<u64, usize> =
            self.nodes.iter().enumerate().map(|(index, node)| (node.number, index)).collect();
        let mut orphans = Sums::default();
        for (parent, sums) in std::mem::take(&mut self.ended) {
            match self.ancestor(parent, &living) {
                Some(index) => self.nodes[index].sums.add(&sums),
                None => orphans.add(&sums),
            }
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match node.parent.and_then(|parent| living.get(&parent)) {
                Some(&parent) if parent != index => children[parent].push(index),
                _ => roots.push(index),
            }
        }
        let mut order = walk(&roots, &children);
        // Reused numbers can form a cycle; its members are shown as roots.
        let reached: HashSet<usize> = order.iter().map(|(index, _)| *index).collect();
        let lost = (0..self.nodes.len()).filter(|index| !reached.contains(index));
        order.extend(lost.map(|index| (index, 0)));
        // Children come after their parents, so from the end each child's sums are complete.
        for &(index, depth) in order.iter().rev() {
            let parent = self.nodes[index].parent.and_then(|parent| living.get(&parent));
            if let Some(&parent) = parent.filter(|_| depth > 0) {
                let sums = self.nodes[index].sums.clone();
                self.nodes[parent].sums.add(&sums);
            }
        }
        self.sort(&mut roots, &mut children);
        let mut order = walk(&roots, &children);
        let lost = (0..self.nodes.len()).filter(|index| !reached.contains(index));
        order.extend(lost.map(|index| (index, 0)));
        if orphans.ends > 0 {
            order.push((self.nodes.len(), 0));
            let label = b"(ended, no living parent)".to_vec();
            self.nodes.push(Node { number: 0, parent: None, label, sums: orphans });
        }
        order
    }

    fn sort(&self, roots: &mut [usize], children: &mut [Vec<usize>]) {
        let Some((account, order)) = self.tally.account().zip(self.order) else { return };
        let rank = |index: usize| -> Option<f64> {
            let sums = &self.nodes[index].sums;
            let values = if order.whole_life { &sums.whole } else { &sums.gains };
            let of = |name: &&str| {
                let index = account.measures.iter().position(|measure| measure.name == *name)?;
                values.get(index).copied().flatten()
            };
            order
                .measures
                .iter()
                .filter_map(of)
                .fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
        };
        for siblings in children.iter_mut().map(Vec::as_mut_slice).chain([roots]) {
            siblings.sort_by(|&left, &right| match (rank(left), rank(right)) {
                (Some(left), Some(right)) => right.total_cmp(&left),
                (left, right) => right.is_some().cmp(&left.is_some()),
            });
        }
    }

    fn write(&mut self, frame: &Frame<'_>, close: &Close, out: &mut dyn Write) -> io::Result<()> {
        let Some(account) = self.tally.account() else { return Ok(()) };
        self.nodes.sort_by_key(|node| node.number);
        let order = self.arrange();
        let mut text = Vec::new();
        self.push_headings(&mut text, account, frame);
        for (index, depth) in order {
            let node = &self.nodes[index];
            if depth < self.depth && !(self.leaves_out_idle && is_idle(account, &node.sums)) {
                push_node(&mut text, account, node, depth, frame, close);
            }
        }
        parts::cut_lines(&mut text, frame.options);
        out.write_all(&text)
    }

    fn push_headings(&self, out: &mut Vec<u8>, account: &Account, frame: &Frame<'_>) {
        let title = format!(
            "\n# {} TREE, each with its descendants (counters are $rate) ",
            account.title.trim_end_matches("ES")
        );
        parts::push_words(out, title.as_bytes(), frame.meta, frame.options);
        LocalTime::new(frame.realtime_ns, &self.zone).push_long(frame.options, out);
        out.extend_from_slice(b"\n# Procs Births   Ends");
        for measure in account.measures.iter().filter(|measure| !measure.heading.is_empty()) {
            out.push(b' ');
            let start = out.len();
            out.extend_from_slice(measure.heading.as_bytes());
            pad_left(out, start, WIDTH);
        }
        out.extend_from_slice(b"     PID Command\n");
    }
}

/// Nodes in the order of their lines, parents before children, with their depths.
fn walk(roots: &[usize], children: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut order = Vec::with_capacity(children.len());
    let mut stack: Vec<(usize, usize)> = roots.iter().rev().map(|&index| (index, 0)).collect();
    while let Some((index, depth)) = stack.pop() {
        order.push((index, depth));
        stack.extend(children[index].iter().rev().map(|&child| (child, depth + 1)));
    }
    order
}

/// Whether no counter grew and no instance began or ended.
fn is_idle(account: &Account, sums: &Sums) -> bool {
    let mut counters = account.measures.iter().zip(&sums.gains);
    sums.births == 0
        && sums.ends == 0
        && !counters
            .any(|(measure, gain)| measure.kind == Kind::Counter && gain.is_some_and(|g| g > 0.0))
}

fn push_node(
    out: &mut Vec<u8>,
    account: &Account,
    node: &Node,
    depth: usize,
    frame: &Frame<'_>,
    close: &Close,
) {
    out.push(b' ');
    let Sums { living, births, ends, gains, .. } = &node.sums;
    for (at, count) in [living, births, ends].into_iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let start = out.len();
        push_u64(out, *count);
        pad_left(out, start, COUNT_WIDTH);
    }
    let seconds = if frame.options.per_interval() { 1.0 } else { close.seconds };
    for (index, measure) in account.measures.iter().enumerate() {
        if measure.heading.is_empty() {
            continue;
        }
        out.push(b' ');
        let start = out.len();
        let value = gains.get(index).copied().flatten();
        let is_counter = measure.kind == Kind::Counter;
        let value = value.map(|value| if is_counter { value / seconds } else { value });
        push_value(out, measure, value, frame.options, close.seconds);
        pad_left(out, start, WIDTH);
    }
    out.push(b' ');
    let start = out.len();
    match node.number {
        0 => out.push(b'-'),
        number => push_u64(out, number),
    }
    pad_left(out, start, WIDTH + 1);
    out.push(b' ');
    out.resize(out.len() + 2 * depth.min(INDENT_MAX), b' ');
    layout::text::escape_into(out, &node.label);
    out.push(b'\n');
}

impl View for Tree {
    fn begin(
        &mut self,
        _meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.clear();
        self.tally = Tally::of(defs, options);
        let Some(account) = self.tally.account().filter(|_| !self.order_name.is_empty()) else {
            return Ok(());
        };
        self.order = account.orders.iter().find(|order| order.name == self.order_name);
        if self.order.is_none() {
            let known: Vec<&str> = account.orders.iter().map(|order| order.name).collect();
            let (name, known) = (&self.order_name, known.join(", "));
            let text = format!("--export proctree: sort={name}: known are {known}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (nodes, ended, parents) = (&mut self.nodes, &mut self.ended, &mut self.ended_parents);
        let tick = self.tally.add_tick(frame, &mut |event| {
            let number = (event.account.number)(&event.cells);
            let parent = (event.account.parent)(&event.cells);
            let sums = Sums::of(event);
            match (event.fate, number) {
                (Fate::Lives, Some(number)) => {
                    let label = (event.account.label)(&event.cells).unwrap_or(b"-").to_vec();
                    nodes.push(Node { number, parent, label, sums });
                }
                _ => {
                    // An instance without a parent counts in the last line.
                    ended.entry(parent.unwrap_or(0)).or_default().add(&sums);
                    if let (Some(number), Some(parent)) = (number, parent)
                        && parents.len() < ENDED_MAX
                    {
                        parents.insert(number, parent);
                    }
                }
            }
        });
        match tick {
            Tick::Incomplete => {}
            Tick::Base => self.clear(),
            Tick::Complete(close) => {
                self.write(frame, &close, out)?;
                self.clear();
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::instances::{HOSTILE, show};

    fn written(options: &[&str]) -> String {
        let setup = Setup::of(TimeZone::UTC);
        let mut export = open(options, &setup, &Setting::default()).unwrap();
        show(export.view.as_mut(), &Options::default()).unwrap()
    }

    #[test]
    fn each_line_has_the_sums_of_all_below_it() {
        let hostile = layout::text::escape(HOSTILE);
        let text = written(&[]);
        let expected = format!(
            "
# PROCESS TREE, each with its descendants (counters are /sec) Thu Jan  1 00:00:11 1970
# Procs Births   Ends   CPU%    RSS     PID Command
      3      2      2  150.0   170K       1 init
      2      1      0   75.0    70K       7   work
      1      1      0   25.0    10K       9     {hostile}
"
        );
        assert!(text.starts_with(&expected), "{text}");
        // 9 ended under the old 7, whose number another one has now: it counts there.
        assert!(text.contains("      3      2      2   68.8   103K       1 init\n"), "{text}");
    }

    #[test]
    fn levels_and_idle_lines_are_left_out_but_counted() {
        let text = written(&["depth=1"]);
        let first = text.lines().nth(3).unwrap();
        assert_eq!(first, "      3      2      2  150.0   170K       1 init");
        assert!(!text.contains("work"), "{text}");
        let text = written(&["sort=rss", "z"]);
        let second: Vec<&str> = text.lines().rev().take(2).collect();
        assert!(second[1].ends_with("11   work") && second[0].ends_with("7   again"), "{text}");
    }

    #[test]
    fn rings_and_unknown_options_do_no_harm() {
        let mut tree = Tree::new(TimeZone::UTC);
        for (number, parent) in [(3, 4), (4, 3), (5, 5)] {
            let label = Vec::new();
            tree.nodes.push(Node { number, parent: Some(parent), label, sums: Sums::default() });
        }
        assert_eq!(tree.arrange().len(), 3);
        let setup = Setup::of(TimeZone::UTC);
        for (option, why) in
            [("depth=0", "from 1"), ("kids", "unknown option"), ("depth=x", "whole")]
        {
            let Err(error) = open(&[option], &setup, &Setting::default()) else { panic!() };
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
