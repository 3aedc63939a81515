//! The list of hosts, and what keys do to it.  No terminal is used, so tests need none.

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use many_hosts::HostsRecorded;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyModifiers};
use terminal::Edit;

use super::columns::{self, HostColumn};
use super::one::OneHost;
use super::state::{HostLine, KnownHosts};
use super::{HostsSettings, Recorders};
use crate::app::{self, NextStep};
use crate::clock::monotonic_ns;
use crate::columns::{Column, by_number};
use crate::error::TopError;
use crate::keys::{self, Action};

/// The keys of the list of hosts, and what they do.
pub(crate) const HELP: &[(&str, &str)] = &[
    ("q  F10  Ctrl-C", "quit"),
    ("Up Down", "select a host; Esc selects none"),
    ("PgUp PgDn Home End", "move in the list"),
    ("Enter", "the processes of the selected host; q comes back"),
    ("P M N O", "sort by CPU, memory, name, bytes read"),
    (", .", "sort by the column to the left, to the right"),
    ("o > F6", "choose what to sort by"),
    ("R", "reverse the order"),
    ("f  F4", "show only hosts whose names contain a text"),
    ("Space", "stop the screen, continue"),
    ("r  Ctrl-L", "redraw the screen"),
];

/// The question to the user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HostsPrompt {
    None,
    Help { first: usize },
    Filter(String),
    Sort { chosen: usize },
}

/// The state of the screen, except the terminal.
pub(crate) struct HostsView {
    hosts: Arc<HostsRecorded>,
    known: Arc<KnownHosts>,
    settings: HostsSettings,
    /// All hosts as they were at the last refresh, sorted.
    pub(crate) all: Vec<HostLine>,
    /// The places in `all` of those that are shown.
    pub(crate) lines: Vec<usize>,
    pub(crate) sort: HostColumn,
    pub(crate) rising: bool,
    pub(crate) filter: String,
    /// The number of the selected host.
    pub(crate) selected: Option<usize>,
    pub(crate) cursor: usize,
    pub(crate) first: usize,
    /// Lines of the list on the screen, and the columns, as last drawn.
    pub(crate) page: usize,
    pub(crate) shown: Vec<HostColumn>,
    pub(crate) prompt: HostsPrompt,
    pub(crate) notice: Option<String>,
    pub(crate) paused: bool,
    pub(crate) realtime_ns: i64,
    /// The host whose screen is open.
    pub(crate) one: Option<OneHost>,
}

impl HostsView {
    /// Before anything has come.
    pub(crate) fn new(hosts: HostsRecorded, settings: HostsSettings) -> Self {
        let known = Arc::new(KnownHosts::new(hosts.names(), monotonic_ns()));
        let mut view = HostsView {
            hosts: Arc::new(hosts),
            known,
            sort: settings.sort,
            rising: settings.sort.rises(),
            settings,
            all: Vec::new(),
            lines: Vec::new(),
            filter: String::new(),
            selected: None,
            cursor: 0,
            first: 0,
            page: 10,
            shown: Vec::new(),
            prompt: HostsPrompt::None,
            notice: None,
            paused: false,
            realtime_ns: 0,
            one: None,
        };
        view.look();
        view
    }

    /// Starts the recorders, which end when what this gives is dropped.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(&self) -> io::Result<Recorders> {
        let known = self.known.clone();
        Recorders::start(self.hosts.clone(), move |event| {
            if known.apply_event(event, monotonic_ns()) {
                terminal::wake();
            }
        })
    }

    /// What is known of the hosts.
    #[cfg(test)]
    pub(crate) fn known(&self) -> &KnownHosts {
        &self.known
    }

    /// The zone of the times shown.
    pub(crate) fn zone(&self) -> jiff::tz::TimeZone {
        self.settings.zone.clone()
    }

    /// Whether something has come that is not shown.
    pub(crate) fn has_news(&self) -> bool {
        match &self.one {
            Some(one) => one.has_news(),
            None => !self.paused && self.known.has_news(),
        }
    }

    /// Whether so many samples have been shown, or none will come any more.
    pub(crate) fn has_shown(&self, count: u64) -> bool {
        self.known.has_sent(count) && !self.known.has_news()
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// Those of the screen of one host.
    pub(crate) fn refresh(&mut self) -> Result<(), TopError> {
        match &mut self.one {
            Some(one) => one.refresh(),
            None => {
                if !self.paused {
                    self.look();
                }
                Ok(())
            }
        }
    }

    /// The hosts as they are now.
    fn look(&mut self) {
        let now = app::present(self.zone());
        self.realtime_ns = i64::try_from(now.timestamp().as_nanosecond()).unwrap_or(0);
        self.all = self.known.lines(monotonic_ns(), self.settings.interval_seconds);
        self.arrange();
    }

    /// Sorts and filters.  Hosts without numbers come last, in the order in which they were named.
    fn arrange(&mut self) {
        let (sort, rising) = (self.sort, self.rising);
        self.all.sort_by_key(|line| line.number);
        self.all.sort_by(|one, other| compare(one, other, sort, rising));
        let has_text = |line: &HostLine| line.name.contains(&self.filter);
        self.lines = (0..self.all.len()).filter(|&at| has_text(&self.all[at])).collect();
        let place = |number| self.lines.iter().position(|&at| self.all[at].number == number);
        match self.selected.and_then(place) {
            Some(place) => self.cursor = place,
            None => self.selected = None,
        }
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
    }

    fn select(&mut self, place: usize) {
        self.cursor = place.min(self.lines.len().saturating_sub(1));
        self.selected = self.lines.get(self.cursor).map(|&at| self.all[at].number);
    }

    fn step(&mut self, lines: isize) {
        match self.selected {
            // The first step selects the line of the cursor.
            None => self.select(self.first),
            Some(_) => self.select(self.cursor.saturating_add_signed(lines)),
        }
    }

    fn sort_by(&mut self, column: HostColumn) {
        if self.sort == column {
            self.rising = !self.rising;
        } else {
            (self.sort, self.rising) = (column, column.rises());
        }
        self.arrange();
    }

    /// Handles an event.
    ///
    /// # Errors
    /// Those of the screen of one host; if its recorder cannot be started.
    pub(crate) fn event(&mut self, event: &Event) -> Result<NextStep, TopError> {
        if matches!(event, Event::Resize(..)) {
            return Ok(NextStep::Draw);
        }
        if let Some(one) = &mut self.one {
            let next = one.event(event)?;
            if next != NextStep::Quit || is_control_c(event) {
                return Ok(next);
            }
            self.one = None;
            return Ok(NextStep::Tick);
        }
        if self.prompt != HostsPrompt::None {
            if let Some(edit) = terminal::edit(event) {
                self.edit(edit);
            }
            return Ok(NextStep::Draw);
        }
        let Some(action) = keys::action(event, false) else { return Ok(NextStep::Nothing) };
        self.notice = None;
        self.act(action)
    }

    fn act(&mut self, action: Action) -> Result<NextStep, TopError> {
        match action {
            Action::Quit => return Ok(NextStep::Quit),
            Action::Suspend => return Ok(NextStep::Suspend),
            Action::Redraw => return Ok(NextStep::Redraw),
            Action::Open => return Ok(self.open()?),
            Action::Step(lines) => self.step(lines),
            Action::Page(pages) => {
                self.step(pages.saturating_mul(self.page.max(1).cast_signed()));
            }
            Action::Top => self.select(0),
            Action::Bottom => self.select(usize::MAX),
            Action::Deselect => (self.selected, self.cursor) = (None, 0),
            Action::Sort(Column::Cpu) => self.sort_by(HostColumn::Cpu),
            Action::Sort(Column::Memory) => self.sort_by(HostColumn::Memory),
            Action::Sort(Column::Pid) => self.sort_by(HostColumn::Host),
            Action::Sort(Column::Io) => self.sort_by(HostColumn::Read),
            Action::SortBeside(step) => self.sort_beside(step),
            Action::Reverse => {
                self.rising = !self.rising;
                self.arrange();
            }
            Action::Help => self.prompt = HostsPrompt::Help { first: 0 },
            Action::AskFilter => self.prompt = HostsPrompt::Filter(self.filter.clone()),
            Action::AskSort => {
                let chosen = HostColumn::ALL.iter().position(|&column| column == self.sort);
                self.prompt = HostsPrompt::Sort { chosen: chosen.unwrap_or(0) };
            }
            Action::Pause | Action::Tag => {
                self.paused = !self.paused;
                return Ok(NextStep::Tick);
            }
            _ => {
                self.notice =
                    Some("that key is for the processes of a host: select one, Enter".to_owned());
            }
        }
        Ok(NextStep::Draw)
    }

    fn sort_beside(&mut self, step: isize) {
        let now = self.shown.iter().position(|&column| column == self.sort);
        let beside = now.unwrap_or(0).saturating_add_signed(step);
        let beside = beside.min(self.shown.len().saturating_sub(1));
        if let Some(&column) = self.shown.get(beside).filter(|_| now != Some(beside)) {
            self.sort_by(column);
        }
    }

    /// Opens the screen of the selected host.
    fn open(&mut self) -> io::Result<NextStep> {
        let Some(number) = self.selected else {
            self.notice = Some("select a host first, with Up or Down".to_owned());
            return Ok(NextStep::Draw);
        };
        let name = self.hosts.names().nth(number).unwrap_or_default().to_owned();
        self.one = Some(OneHost::open((&self.hosts, number, &name), &self.settings)?);
        Ok(NextStep::Draw)
    }

    fn edit(&mut self, edit: Edit) {
        match &mut self.prompt {
            HostsPrompt::None => {}
            HostsPrompt::Help { first } => match edit {
                Edit::Down => *first = (*first + 1).min(HELP.len()),
                Edit::Up => *first = first.saturating_sub(1),
                _ => self.prompt = HostsPrompt::None,
            },
            HostsPrompt::Filter(text) => match edit {
                Edit::Put(letter) if text.len() < app::TYPED_MAX => text.push(letter),
                Edit::Erase => drop(text.pop()),
                Edit::EraseAll => text.clear(),
                Edit::Cancel => self.prompt = HostsPrompt::None,
                Edit::Accept => {
                    self.filter = std::mem::take(text);
                    self.prompt = HostsPrompt::None;
                    self.arrange();
                }
                _ => {}
            },
            HostsPrompt::Sort { chosen } => {
                if edit == Edit::Accept {
                    let column = HostColumn::ALL[*chosen];
                    self.prompt = HostsPrompt::None;
                    if column != self.sort {
                        self.sort_by(column);
                    }
                } else if !app::choose(chosen, HostColumn::ALL.len(), edit) {
                    self.prompt = HostsPrompt::None;
                }
            }
        }
    }

    /// Scrolls so that the cursor is among so many lines.
    pub(crate) fn scroll(&mut self, height: usize) {
        let last_first = self.lines.len().saturating_sub(height.max(1));
        self.first = self.first.min(last_first).min(self.cursor);
        if self.cursor >= self.first + height {
            self.first = self.cursor + 1 - height.max(1);
        }
    }

    /// The columns that fit, by the width of the screen and of the names.
    pub(crate) fn fit(&mut self, width: u16, host_width: u16) {
        self.shown = columns::shown(width, host_width, self.sort);
    }
}

/// The order of two hosts.
fn compare(one: &HostLine, other: &HostLine, sort: HostColumn, rising: bool) -> Ordering {
    let sends = |line: &HostLine| line.values().is_some();
    let order = sends(other).cmp(&sends(one));
    order.then_with(|| match sort {
        HostColumn::Host if rising => one.name.cmp(&other.name),
        HostColumn::Host => other.name.cmp(&one.name),
        column => {
            let number = |line: &HostLine| column.number(line.values()?);
            by_number(number(one), number(other), rising)
        }
    })
}

fn is_control_c(event: &Event) -> bool {
    terminal::pressed(event).is_some_and(|key| {
        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
    })
}
