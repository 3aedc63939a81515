//! The lines of the list, their order, and the selection.
//!
//! Rows stay in the tables; a line is the index of a row.  The selection is a pid and a start time,
//! not a line, so it follows the process through every sort, and never selects another process with
//! a reused pid.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::columns::{Column, by_number};
use super::ended::EndedList;
use super::fields::identity;
use super::kill::Target;
use super::values::{GroupBy, ListItem, ProcessGroup, TickValues};

/// Deepest indented level.
const DEPTH_MAX: u16 = 24;

/// The settings of the list; keys change them.
#[derive(Clone, Debug)]
pub struct ListSettings {
    /// The column to sort by.
    pub sort: Column,
    /// Smallest first.
    pub rising: bool,
    /// One line for each group of processes.
    pub grouping: Option<GroupBy>,
    /// Each process below its parent.
    pub tree: bool,
    /// A line for each thread.
    pub threads: bool,
    /// Bytes and packets by process on this machine, which costs each packet some 0.3 µs.
    pub traffic: bool,
    /// Program and arguments instead of the name.
    pub full: bool,
    /// The program with its folders.
    pub path: bool,
    /// The columns of processes that the user has chosen, in order; the command comes last.
    pub columns: Option<Vec<Column>>,
    /// The file in which they are kept.
    pub kept: Option<PathBuf>,
    /// Lines of processes that ended.
    pub ended: bool,
    /// Whether processes that used no CPU are hidden.
    pub hide_idle: bool,
    /// Only lines with this in command, arguments, user or control group.
    pub filter: String,
    /// Only processes of this user, by name or user ID.
    pub user: Option<String>,
    /// Only these pids; empty for all.
    pub pids: Vec<i32>,
}

impl Default for ListSettings {
    fn default() -> Self {
        ListSettings {
            sort: Column::Cpu,
            rising: false,
            grouping: None,
            tree: false,
            threads: false,
            traffic: false,
            full: true,
            path: false,
            columns: None,
            kept: None,
            ended: true,
            hide_idle: false,
            filter: String::new(),
            user: None,
            pids: Vec::new(),
        }
    }
}

/// The content of a line: an index in its table or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Process(u32),
    Ended(u32),
    Group(u32),
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) of: LineKind,
    /// The level of indentation.
    pub(crate) depth: u16,
    /// Whether lines below it are hidden.
    pub(crate) folded: bool,
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct ProcessList {
    pub(crate) settings: ListSettings,
    pub(crate) ended: EndedList,
    pub(crate) lines: Vec<Line>,
    groups: Vec<ProcessGroup>,
    /// Name of the selected instance.
    pub(crate) selected: Option<Vec<u8>>,
    /// The index of its line.
    pub(crate) cursor: usize,
    /// The first line that is on the screen.
    pub(crate) first: usize,
    /// Names of tagged processes.
    pub(crate) tagged: HashSet<Vec<u8>>,
    /// Branches that are folded.
    pub(crate) folded: HashSet<Vec<u8>>,
    keys: Vec<(Option<f64>, Line)>,
}

impl ProcessList {
    /// A list with these settings.
    pub(crate) fn new(settings: ListSettings) -> Self {
        ProcessList { settings, ..ProcessList::default() }
    }

    /// The content of a line.
    pub(crate) fn item<'a>(&'a self, values: &TickValues<'a>, line: &Line) -> Option<ListItem<'a>> {
        match line.of {
            LineKind::Process(index) => {
                let mut row = values.sources.process.row(&values.frame)?;
                row.index = index as usize;
                Some(ListItem::Process(row))
            }
            LineKind::Ended(index) => self.ended.get(index as usize).map(ListItem::Ended),
            LineKind::Group(index) => self.groups.get(index as usize).map(ListItem::Group),
        }
    }

    /// The name of a line's instance.
    fn name<'a>(&'a self, values: &TickValues<'a>, line: &Line) -> Option<&'a [u8]> {
        Some(match self.item(values, line)? {
            ListItem::Process(row) => row.name(),
            ListItem::Ended(ended) => &ended.name,
            ListItem::Group(group) => &group.name,
        })
    }

    /// The content of the selected line.
    pub(crate) fn selection<'a>(&'a self, values: &TickValues<'a>) -> Option<ListItem<'a>> {
        self.item(values, self.lines.get(self.cursor)?)
    }

    /// Creates the list of a tick.
    pub(crate) fn update(&mut self, values: &TickValues<'_>) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        if let Some(by) = self.settings.grouping {
            self.groups = values.groups(by, &self.ended);
        } else {
            self.groups.clear();
        }
        self.collect(values, &mut keys);
        self.sort(values, &mut keys);
        self.lines.clear();
        if self.settings.tree && self.settings.grouping.is_none() {
            self.grow(values, &keys);
        } else {
            self.lines.extend(keys.iter().map(|(_, line)| *line));
        }
        self.keys = keys;
        self.untag_ended(values);
        self.follow(values);
    }

    fn collect(&self, values: &TickValues<'_>, keys: &mut Vec<(Option<f64>, Line)>) {
        let sort = self.settings.sort;
        let mut take = |of: LineKind, item: ListItem<'_>| {
            if self.keeps(values, &item) {
                let key = sort.number(values, &item);
                keys.push((key, Line { of, depth: 0, folded: false }));
            }
        };
        if self.settings.grouping.is_some() {
            for (index, group) in (0..).zip(&self.groups) {
                take(LineKind::Group(index), ListItem::Group(group));
            }
            return;
        }
        if let Some(source) = values.sources.process.row(&values.frame) {
            for (index, row) in (0..).zip(source.rows()) {
                if self.settings.threads || !values.is_thread(&row) {
                    take(LineKind::Process(index), ListItem::Process(row));
                }
            }
        }
        if self.settings.ended {
            for (index, ended) in (0..).zip(self.ended.all()) {
                take(LineKind::Ended(index), ListItem::Ended(ended));
            }
        }
    }

    /// Whether a line passes the filters.
    fn keeps(&self, values: &TickValues<'_>, item: &ListItem<'_>) -> bool {
        let settings = &self.settings;
        if settings.hide_idle && values.cpu(item).is_none_or(|cpu| cpu < 0.05) {
            return false;
        }
        if let ListItem::Group(group) = item {
            return contains(&group.name, &settings.filter);
        }
        if !settings.pids.is_empty()
            && !values.pid(item).is_some_and(|pid| settings.pids.contains(&pid))
        {
            return false;
        }
        if let Some(wanted) = &settings.user {
            let uid = match item {
                ListItem::Process(row) => {
                    values.sources.process.fields.uid.and_then(|f| row.raw(f))
                }
                ListItem::Ended(ended) => ended.uid,
                ListItem::Group(_) => None,
            };
            let by_number = uid.is_some_and(|uid| wanted.parse() == Ok(uid));
            if !by_number && values.user(item) != Some(wanted.as_bytes()) {
                return false;
            }
        }
        settings.filter.is_empty() || self.matches(values, item, &settings.filter)
    }

    /// Whether a line contains a text in its command, arguments, user or control group.
    fn matches(&self, values: &TickValues<'_>, item: &ListItem<'_>, text: &str) -> bool {
        let texts = [
            values.command(item, true),
            values.command(item, false),
            values.user(item),
            values.cgroup(item),
        ];
        texts.into_iter().flatten().any(|field| contains(field, text))
            || values.pid(item).is_some_and(|pid| text.parse() == Ok(pid))
    }

    fn sort(&self, values: &TickValues<'_>, keys: &mut [(Option<f64>, Line)]) {
        let ListSettings { sort, rising, full, .. } = self.settings;
        if !sort.is_text() {
            keys.sort_by(|one, other| by_number(one.0, other.0, rising));
            return;
        }
        let text = |line: &Line| sort.text(values, &self.item(values, line)?, full);
        keys.sort_by(|(_, one), (_, other)| {
            let (one, other) = (text(one), text(other));
            match (one, other) {
                (Some(one), Some(other)) if rising => one.cmp(other),
                (Some(one), Some(other)) => other.cmp(one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            }
        });
    }

    /// Puts each line below that of its parent.  A recording may contain any numbers: a process
    /// that is its own ancestor is shown as a root.
    fn grow(&mut self, values: &TickValues<'_>, keys: &[(Option<f64>, Line)]) {
        let mut at: HashMap<i32, usize> = HashMap::with_capacity(keys.len());
        // The pid of an ended process may have been reused; then it counts as the new process.
        for ended in [true, false] {
            for (index, (_, line)) in keys.iter().enumerate() {
                if matches!(line.of, LineKind::Ended(_)) == ended
                    && let Some(pid) = self.pid(values, line)
                {
                    at.insert(pid, index);
                }
            }
        }
        let parent = |line: &Line| {
            let index = *at.get(&self.parent(values, line)?)?;
            (keys[index].1 != *line).then_some(index)
        };
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut roots = Vec::new();
        for (index, (_, line)) in keys.iter().enumerate() {
            match parent(line) {
                Some(parent) => children.entry(parent).or_default().push(index),
                None => roots.push(index),
            }
        }
        let mut seen = vec![false; keys.len()];
        let mut lines = Vec::with_capacity(keys.len());
        // Processes in a cycle of parents have no root; they come last.
        for root in roots.into_iter().chain(0..keys.len()) {
            let mut stack = vec![(root, 0, true)];
            while let Some((index, depth, shown)) = stack.pop() {
                if std::mem::replace(&mut seen[index], true) {
                    continue;
                }
                let mut line = keys[index].1;
                let below = children.get(&index);
                let name = self.name(values, &line);
                line.depth = depth;
                line.folded = below.is_some() && name.is_some_and(|n| self.folded.contains(n));
                if shown {
                    lines.push(line);
                }
                let depth = (depth + 1).min(DEPTH_MAX);
                let shown = shown && !line.folded;
                stack.extend(below.into_iter().flatten().rev().map(|&below| (below, depth, shown)));
            }
        }
        self.lines = lines;
    }

    fn pid(&self, values: &TickValues<'_>, line: &Line) -> Option<i32> {
        values.pid(&self.item(values, line)?)
    }

    /// The pid of the line above: the process of a thread, the parent of a process.
    fn parent(&self, values: &TickValues<'_>, line: &Line) -> Option<i32> {
        let row = match self.item(values, line)? {
            ListItem::Process(row) => row,
            ListItem::Ended(ended) => return i32::try_from(ended.parent?).ok(),
            ListItem::Group(_) => return None,
        };
        let fields = &values.sources.process.fields;
        let field = if values.is_thread(&row) { fields.tgid } else { fields.parent };
        i32::try_from(row.raw(field?)?).ok()
    }

    /// Moves the cursor to the line of the selected instance.
    fn follow(&mut self, values: &TickValues<'_>) {
        if let Some(selected) = &self.selected {
            let found =
                self.lines.iter().position(|line| self.name(values, line) == Some(selected));
            if let Some(found) = found {
                self.cursor = found;
                return;
            }
        }
        // The selected process has ended.  The cursor stays, but its line is not selected.
        self.selected = None;
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
    }

    /// Selects a line by its index.
    pub(crate) fn select(&mut self, values: &TickValues<'_>, index: usize) {
        self.cursor = index.min(self.lines.len().saturating_sub(1));
        let line = self.lines.get(self.cursor).copied();
        self.selected = line.and_then(|line| self.name(values, &line)).map(<[u8]>::to_vec);
    }

    /// Moves the selection by lines.
    pub(crate) fn step(&mut self, values: &TickValues<'_>, lines: isize) {
        self.select(values, self.cursor.saturating_add_signed(lines));
    }

    /// Selects the next line that contains a text, from the cursor on (with `here` inclusive) and
    /// then from the top.  False if there is none.
    pub(crate) fn search(&mut self, values: &TickValues<'_>, text: &str, here: bool) -> bool {
        let count = self.lines.len();
        let from = self.cursor + usize::from(!here);
        let found = (0..count).map(|step| (from + step) % count).find(|&index| {
            let item = self.item(values, &self.lines[index]);
            item.is_some_and(|item| self.matches(values, &item, text))
        });
        if let Some(index) = found {
            self.select(values, index);
        }
        found.is_some()
    }

    /// Hides or shows the lines below the selected one.
    pub(crate) fn fold(&mut self, values: &TickValues<'_>) {
        let Some(line) = self.lines.get(self.cursor).copied() else { return };
        let Some(name) = self.name(values, &line).map(<[u8]>::to_vec) else { return };
        if !self.folded.remove(&name) {
            self.folded.insert(name);
        }
        // Drops the names of processes that ended long ago.
        if self.folded.len() > 4096 {
            self.folded.clear();
        }
    }

    /// Sorts by a column; by the same one again, in reverse.
    pub(crate) fn sort_by(&mut self, column: Column) {
        let again = self.settings.sort == column;
        self.settings.rising = if again { !self.settings.rising } else { column.rises() };
        self.settings.sort = column;
    }

    /// Scrolls so that the cursor is among the `height` lines on the screen.
    pub(crate) fn scroll(&mut self, height: usize) {
        let last_first = self.lines.len().saturating_sub(height.max(1));
        self.first = self.first.min(last_first).min(self.cursor);
        if self.cursor >= self.first + height {
            self.first = self.cursor + 1 - height.max(1);
        }
        if self.selected.is_none() && self.cursor < height {
            self.first = 0;
        }
    }

    /// The processes that a key changes: the tagged ones that are there, else the selected one.
    pub(crate) fn targets(&self, values: &TickValues<'_>) -> Vec<Target> {
        if self.tagged.is_empty() {
            let Some(ListItem::Process(row)) = self.selection(values) else { return Vec::new() };
            return target(values, row).into_iter().collect();
        }
        let rows = values.sources.process.row(&values.frame).into_iter().flat_map(|row| row.rows());
        let tagged = rows.filter(|row| self.tagged.contains(row.name()));
        let mut targets: Vec<Target> = tagged.filter_map(|row| target(values, row)).collect();
        // Threads of one process.
        targets.dedup_by_key(|target| target.pid);
        targets
    }

    /// Whether the process of a line is tagged.
    pub(crate) fn is_tagged(&self, item: &ListItem<'_>) -> bool {
        matches!(item, ListItem::Process(row) if self.tagged.contains(row.name()))
    }

    /// Tags the selected process, or takes its tag, and goes to the next line; false of another line.
    pub(crate) fn tag(&mut self, values: &TickValues<'_>) -> bool {
        let Some(ListItem::Process(row)) = self.selection(values) else { return false };
        let name = row.name().to_vec();
        if !self.tagged.remove(&name) {
            self.tagged.insert(name);
        }
        self.step(values, 1);
        true
    }

    /// Takes the tags of processes that have ended.
    fn untag_ended(&mut self, values: &TickValues<'_>) {
        if self.tagged.is_empty() {
            return;
        }
        let rows = values.sources.process.row(&values.frame).into_iter().flat_map(|row| row.rows());
        let there: HashSet<&[u8]> = rows.map(|row| row.name()).collect();
        self.tagged.retain(|name| there.contains(name.as_slice()));
    }
}

/// The process of a row, to be changed; that of its process, if it is a thread.
fn target(values: &TickValues<'_>, row: layout::Row<'_>) -> Option<Target> {
    let mut name = row.name();
    if values.is_thread(&row) {
        // A thread's signals go to its process.
        let group = row.raw(values.sources.process.fields.tgid?)?;
        let of_group = |row: &layout::Row<'_>| {
            identity(row.name()).is_some_and(|(pid, _)| i64::from(pid) == group.cast_signed())
        };
        name = row.rows().find(of_group)?.name();
    }
    let (pid, start) = identity(name)?;
    let command = values.command(&ListItem::Process(row), true).unwrap_or_default();
    Some(Target { pid, start: start?, command: command.to_vec() })
}

/// Whether a field contains a text, ignoring case.
fn contains(field: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    text.is_empty() || field.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text))
}
