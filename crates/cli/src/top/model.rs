//! What the list shows: which lines, in which order, which one is selected.
//!
//! Rows stay in the tables; a line is a number of a row.  The selection holds to a process's
//! number and beginning, not to a place, so that it follows its process through every sort and
//! never passes to another that was given the same number.

use std::collections::{HashMap, HashSet};

use super::columns::{Column, by_number};
use super::ended::EndedList;
use super::fields::identity;
use super::values::{Group, Grouping, Look, Subject};

/// Deepest branch that is indented.
const DEPTH_MAX: u16 = 24;

/// How the list is made; the keys change it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) sort: Column,
    pub(crate) rising: bool,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) tree: bool,
    pub(crate) threads: bool,
    /// Program and arguments instead of the name.
    pub(crate) full: bool,
    /// Lines of processes that ended.
    pub(crate) ended: bool,
    /// No lines of processes that used no CPU.
    pub(crate) hide_idle: bool,
    /// Only lines with this in command, arguments, user or control group.
    pub(crate) filter: String,
    /// Only this user's, by name or number.
    pub(crate) user: Option<String>,
    /// Only these, empty for all.
    pub(crate) pids: Vec<i32>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sort: Column::Cpu,
            rising: false,
            grouping: None,
            tree: false,
            threads: false,
            full: true,
            ended: true,
            hide_idle: false,
            filter: String::new(),
            user: None,
            pids: Vec::new(),
        }
    }
}

/// What a line stands for: a number in its table or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Process(u32),
    Ended(u32),
    Group(u32),
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) of: Of,
    /// How far it is indented.
    pub(crate) depth: u16,
    /// Lines that are folded away below it.
    pub(crate) folded: bool,
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) settings: Settings,
    pub(crate) ended: EndedList,
    pub(crate) lines: Vec<Line>,
    groups: Vec<Group>,
    /// Name of the selected instance.
    pub(crate) selected: Option<Vec<u8>>,
    /// Where it stands.
    pub(crate) cursor: usize,
    /// The first line that is on the screen.
    pub(crate) first: usize,
    /// Branches that are folded.
    pub(crate) folded: HashSet<Vec<u8>>,
    keys: Vec<(Option<f64>, Line)>,
}

impl Model {
    /// A list made so.
    pub(crate) fn new(settings: Settings) -> Self {
        Model { settings, ..Model::default() }
    }

    /// What a line is about.
    pub(crate) fn subject<'a>(&'a self, look: &Look<'a>, line: &Line) -> Option<Subject<'a>> {
        match line.of {
            Of::Process(index) => {
                let mut row = look.places.process.row(&look.frame)?;
                row.index = index as usize;
                Some(Subject::Process(row))
            }
            Of::Ended(index) => self.ended.get(index as usize).map(Subject::Ended),
            Of::Group(index) => self.groups.get(index as usize).map(Subject::Group),
        }
    }

    /// The name by which a line's instance is known.
    fn name<'a>(&'a self, look: &Look<'a>, line: &Line) -> Option<&'a [u8]> {
        Some(match self.subject(look, line)? {
            Subject::Process(row) => row.name(),
            Subject::Ended(ended) => &ended.name,
            Subject::Group(group) => &group.name,
        })
    }

    /// What is selected.
    pub(crate) fn selection<'a>(&'a self, look: &Look<'a>) -> Option<Subject<'a>> {
        self.subject(look, self.lines.get(self.cursor)?)
    }

    /// Makes the list of a tick.
    pub(crate) fn update(&mut self, look: &Look<'_>) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        if let Some(by) = self.settings.grouping {
            self.groups = look.groups(by, &self.ended);
        } else {
            self.groups.clear();
        }
        self.collect(look, &mut keys);
        self.sort(look, &mut keys);
        self.lines.clear();
        if self.settings.tree && self.settings.grouping.is_none() {
            self.grow(look, &keys);
        } else {
            self.lines.extend(keys.iter().map(|(_, line)| *line));
        }
        self.keys = keys;
        self.follow(look);
    }

    fn collect(&self, look: &Look<'_>, keys: &mut Vec<(Option<f64>, Line)>) {
        let sort = self.settings.sort;
        let mut take = |of: Of, subject: Subject<'_>| {
            if self.keeps(look, &subject) {
                let key = sort.number(look, &subject);
                keys.push((key, Line { of, depth: 0, folded: false }));
            }
        };
        if self.settings.grouping.is_some() {
            for (index, group) in (0..).zip(&self.groups) {
                take(Of::Group(index), Subject::Group(group));
            }
            return;
        }
        if let Some(source) = look.places.process.row(&look.frame) {
            for (index, row) in (0..).zip(source.rows()) {
                if self.settings.threads || !look.is_thread(&row) {
                    take(Of::Process(index), Subject::Process(row));
                }
            }
        }
        if self.settings.ended {
            for (index, ended) in (0..).zip(self.ended.all()) {
                take(Of::Ended(index), Subject::Ended(ended));
            }
        }
    }

    /// Whether the filters let a line through.
    fn keeps(&self, look: &Look<'_>, subject: &Subject<'_>) -> bool {
        let settings = &self.settings;
        if settings.hide_idle && look.cpu(subject).is_none_or(|cpu| cpu < 0.05) {
            return false;
        }
        if let Subject::Group(group) = subject {
            return contains(&group.name, &settings.filter);
        }
        if !settings.pids.is_empty()
            && !look.pid(subject).is_some_and(|pid| settings.pids.contains(&pid))
        {
            return false;
        }
        if let Some(wanted) = &settings.user {
            let uid = match subject {
                Subject::Process(row) => look.places.process.fields.uid.and_then(|f| row.raw(f)),
                Subject::Ended(ended) => ended.uid,
                Subject::Group(_) => None,
            };
            let by_number = uid.is_some_and(|uid| wanted.parse() == Ok(uid));
            if !by_number && look.user(subject) != Some(wanted.as_bytes()) {
                return false;
            }
        }
        settings.filter.is_empty() || self.matches(look, subject, &settings.filter)
    }

    /// Whether a line has a text in its command, arguments, user or control group.
    fn matches(&self, look: &Look<'_>, subject: &Subject<'_>, text: &str) -> bool {
        let texts = [
            look.command(subject, true),
            look.command(subject, false),
            look.user(subject),
            look.cgroup(subject),
        ];
        texts.into_iter().flatten().any(|field| contains(field, text))
            || look.pid(subject).is_some_and(|pid| text.parse() == Ok(pid))
    }

    fn sort(&self, look: &Look<'_>, keys: &mut [(Option<f64>, Line)]) {
        let Settings { sort, rising, full, .. } = self.settings;
        if !sort.is_text() {
            keys.sort_by(|one, other| by_number(one.0, other.0, rising));
            return;
        }
        let text = |line: &Line| sort.text(look, &self.subject(look, line)?, full);
        keys.sort_by(|(_, one), (_, other)| {
            let (one, other) = (text(one), text(other));
            match (one, other) {
                (Some(one), Some(other)) if rising => one.cmp(other),
                (Some(one), Some(other)) => other.cmp(one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            }
        });
    }

    /// Puts each line below its parent's.  A recording may hold any numbers: one who is his own
    /// ancestor is shown as a root.
    fn grow(&mut self, look: &Look<'_>, keys: &[(Option<f64>, Line)]) {
        let mut at: HashMap<i32, usize> = HashMap::with_capacity(keys.len());
        // A number of one that ended may be another's by now: that one is meant.
        for ended in [true, false] {
            for (index, (_, line)) in keys.iter().enumerate() {
                if matches!(line.of, Of::Ended(_)) == ended
                    && let Some(pid) = self.pid(look, line)
                {
                    at.insert(pid, index);
                }
            }
        }
        let parent = |line: &Line| {
            let index = *at.get(&self.parent(look, line)?)?;
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
        // Those on a circle hang below no root; they come last.
        for root in roots.into_iter().chain(0..keys.len()) {
            let mut stack = vec![(root, 0, true)];
            while let Some((index, depth, shown)) = stack.pop() {
                if std::mem::replace(&mut seen[index], true) {
                    continue;
                }
                let mut line = keys[index].1;
                let below = children.get(&index);
                let name = self.name(look, &line);
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

    fn pid(&self, look: &Look<'_>, line: &Line) -> Option<i32> {
        look.pid(&self.subject(look, line)?)
    }

    /// The number of what a line hangs below: the process of a thread, the parent of a process.
    fn parent(&self, look: &Look<'_>, line: &Line) -> Option<i32> {
        let row = match self.subject(look, line)? {
            Subject::Process(row) => row,
            Subject::Ended(ended) => return i32::try_from(ended.parent?).ok(),
            Subject::Group(_) => return None,
        };
        let fields = &look.places.process.fields;
        let field = if look.is_thread(&row) { fields.tgid } else { fields.parent };
        i32::try_from(row.raw(field?)?).ok()
    }

    /// Puts the cursor where the selected instance now stands.
    fn follow(&mut self, look: &Look<'_>) {
        if let Some(selected) = &self.selected {
            let found = self.lines.iter().position(|line| self.name(look, line) == Some(selected));
            if let Some(found) = found {
                self.cursor = found;
                return;
            }
        }
        // What was selected is gone; the place stays, and what stands there is not taken for it.
        self.selected = None;
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
    }

    /// Selects a line by its place.
    pub(crate) fn select(&mut self, look: &Look<'_>, place: usize) {
        self.cursor = place.min(self.lines.len().saturating_sub(1));
        let line = self.lines.get(self.cursor).copied();
        self.selected = line.and_then(|line| self.name(look, &line)).map(<[u8]>::to_vec);
    }

    /// Moves the selection by lines.
    pub(crate) fn step(&mut self, look: &Look<'_>, lines: isize) {
        self.select(look, self.cursor.saturating_add_signed(lines));
    }

    /// Selects the next line, from the cursor on (itself included with `here`) and around, that
    /// has a text.  False if none has.
    pub(crate) fn search(&mut self, look: &Look<'_>, text: &str, here: bool) -> bool {
        let count = self.lines.len();
        let from = self.cursor + usize::from(!here);
        let found = (0..count).map(|step| (from + step) % count).find(|&place| {
            let subject = self.subject(look, &self.lines[place]);
            subject.is_some_and(|subject| self.matches(look, &subject, text))
        });
        if let Some(place) = found {
            self.select(look, place);
        }
        found.is_some()
    }

    /// Folds the selected branch, or unfolds it.
    pub(crate) fn fold(&mut self, look: &Look<'_>) {
        let Some(line) = self.lines.get(self.cursor).copied() else { return };
        let Some(name) = self.name(look, &line).map(<[u8]>::to_vec) else { return };
        if !self.folded.remove(&name) {
            self.folded.insert(name);
        }
        // Those that ended long ago are not kept.
        if self.folded.len() > 4096 {
            self.folded.clear();
        }
    }

    /// Sorts by a column; by the same one again, the other way round.
    pub(crate) fn sort_by(&mut self, column: Column) {
        let again = self.settings.sort == column;
        self.settings.rising = if again { !self.settings.rising } else { column.rises() };
        self.settings.sort = column;
    }

    /// Sees to it that the cursor is among the `height` lines on the screen.
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

    /// The process that a signal to the selected line would go to.
    pub(crate) fn target(&self, look: &Look<'_>) -> Option<(i32, u64, Vec<u8>)> {
        let Subject::Process(row) = self.selection(look)? else { return None };
        let mut name = row.name();
        if look.is_thread(&row) {
            // A thread's signals are its process's.
            let group = row.raw(look.places.process.fields.tgid?)?;
            let of_group = |row: &sample::Row<'_>| {
                identity(row.name()).is_some_and(|(pid, _)| i64::from(pid) == group.cast_signed())
            };
            name = row.rows().find(of_group)?.name();
        }
        let (pid, start) = identity(name)?;
        let command = look.command(&Subject::Process(row), true).unwrap_or_default();
        Some((pid, start?, command.to_vec()))
    }
}

/// Whether a field has a text in it, small and capital letters alike.
fn contains(field: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    text.is_empty() || field.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text))
}
