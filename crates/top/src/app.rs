//! The state of `whit top`, and what each action changes.  No terminal is used, so tests need none.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::{Cursor, CursorSettings, Feed as _, LiveFeed, Motion, TimeError};
use jiff::tz::TimeZone;
use layout::{Frame, Options};
use procfs::SystemClock;
use ratatui_crossterm::crossterm::event::Event;
use sample::{Clock as _, History, Meta, Snapshot, SourceDef};
use source::{Entry, ProcessOptions, SourceContext};
use terminal::Edit;

use crate::columns::{Column, ColumnChoice};
use crate::detail::Detail;
use crate::error::TopError;
use crate::fields::{self, ScreenSources};
use crate::keys::{self, Action};
use crate::kill::{self, Target};
use crate::list::{ListSettings, ProcessList};
use crate::machine::{self, MachineValues, Panel};
use crate::panes::Pane;
use crate::remote::RemoteFeed;
use crate::setup;
use crate::traffic::{self, Traffic};
use crate::values::{GroupBy, TickValues};

/// Shortest interval: below it, drawing would dominate.
pub(crate) const INTERVAL_SECONDS_MIN: f64 = 0.1;

/// Longest interval: a day.
pub(crate) const INTERVAL_SECONDS_MAX: f64 = 86_400.0;

/// Farthest that commands are moved: the most that is kept of one.
const SIDEWAYS_MAX: usize = 4096;

/// Longest text that can be typed.
pub(crate) const TYPED_MAX: usize = 200;

/// The latest samples, and the indexes of their columns.
pub(crate) struct Readings {
    pub(crate) history: History,
    pub(crate) meta: Meta,
    pub(crate) options: Options,
    pub(crate) sources: ScreenSources,
    pub(crate) traffic: Traffic,
}

impl Readings {
    /// Empty readings for a feed of these sources.
    pub(crate) fn new(defs: &[Arc<SourceDef>], meta: Meta) -> Self {
        let sources = ScreenSources::of(defs);
        Readings {
            history: History::new(defs),
            meta,
            options: Options {
                layouts: layout::LayoutLookup(source::layouts_of),
                ..Options::default()
            },
            sources,
            traffic: Traffic::of(defs),
        }
    }

    /// The latest tick.
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame::new(&self.history, &self.meta, &self.options)
    }

    /// The latest tick, with the inputs of the list's numbers.
    pub(crate) fn values(&self) -> TickValues<'_> {
        TickValues::new(self.frame(), &self.sources, &self.traffic)
    }
}

/// The origin of samples.
pub(crate) enum SampleFeed {
    Live(Box<LiveFeed>),
    Recorded(Box<Cursor>),
    Remote(RemoteFeed),
    /// Tests supply them.
    #[cfg(test)]
    Given(Vec<Arc<SourceDef>>),
}

impl SampleFeed {
    /// The sources, in the order of the samples.
    fn defs(&self) -> Vec<Arc<SourceDef>> {
        match self {
            SampleFeed::Live(live) => live.defs(),
            SampleFeed::Recorded(cursor) => cursor.defs().to_vec(),
            SampleFeed::Remote(remote) => remote.defs.clone(),
            #[cfg(test)]
            SampleFeed::Given(defs) => defs.clone(),
        }
    }
}

/// Samples that are searched for a sudden load at a key: a quarter of an hour of seconds, so that the
/// screen answers soon.
const SPIKE_SAMPLES_MAX: usize = 900;

/// Samples before it that a sudden load needs, and how much more of all CPUs it takes, in percent.
const SPIKE_BASE_MIN: usize = 5;
const SPIKE_PERCENT_MIN: f64 = 10.0;

/// Lines and columns of the list or pane on the screen, as last drawn: what a click meets.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrawnList {
    /// The line of the titles; the list begins below it.
    pub(crate) titles: u16,
    /// The columns of the list, with the column of the screen that follows each.
    pub(crate) columns: Vec<(u16, Column)>,
    /// The column of the screen that follows each column of a pane.
    pub(crate) pane_columns: Vec<u16>,
    /// The first line below the list: the last of the screen.
    pub(crate) end: u16,
    /// Titles of panes in that line.
    pub(crate) panes: Vec<(Range<u16>, Pane)>,
}

/// The question to the user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Prompt {
    None,
    Help {
        first: usize,
    },
    Filter(String),
    Search(String),
    User(String),
    Interval(String),
    Time(String),
    Sort {
        chosen: usize,
    },
    Signal {
        targets: Vec<Target>,
        chosen: usize,
    },
    /// Whether to send it.
    Confirm {
        targets: Vec<Target>,
        chosen: usize,
    },
    /// The columns, and whether each is shown.
    Setup {
        lines: Vec<(Column, bool)>,
        chosen: usize,
    },
}

/// The state of `whit top` except the terminal.
pub(crate) struct App {
    pub(crate) readings: Readings,
    pub(crate) feed: SampleFeed,
    pub(crate) list: ProcessList,
    pub(crate) panel: Panel,
    pub(crate) machine: MachineValues,
    pub(crate) prompt: Prompt,
    /// The process that is shown in place of the list.
    pub(crate) detail: Option<Detail>,
    /// Shown in the last line until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) interval_seconds: f64,
    pub(crate) paused: bool,
    pub(crate) shows_machine: bool,
    pub(crate) searched: String,
    /// Lines of the list on the screen, as last drawn.
    pub(crate) page: usize,
    pub(crate) width: u16,
    /// Columns by which commands are moved to the left.
    pub(crate) sideways: usize,
    pub(crate) drawn: DrawnList,
    pub(crate) pane: Pane,
    /// The first line of the pane on the screen, and the column that it is sorted by.
    pub(crate) pane_first: usize,
    pub(crate) pane_sort: Option<usize>,
    pub(crate) root: PathBuf,
    /// The zone of the times shown.
    pub(crate) zone: TimeZone,
    /// The sample that the live feed fills.
    snapshot: Snapshot,
}

/// What the loop does after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    Nothing,
    Draw,
    Redraw,
    /// Take a sample.
    Tick,
    Suspend,
    Quit,
}

impl App {
    /// The state before the first sample.
    pub(crate) fn new(
        feed: SampleFeed,
        meta: Meta,
        zone: TimeZone,
        mut settings: ListSettings,
    ) -> Self {
        let defs = &feed.defs();
        let (columns, notice) = settings.kept.as_deref().map_or((None, None), setup::read);
        settings.columns = settings.columns.or(columns);
        App {
            readings: Readings::new(defs, meta),
            feed,
            list: ProcessList::new(settings),
            panel: Panel::new(defs),
            machine: MachineValues::default(),
            prompt: Prompt::None,
            detail: None,
            notice,
            interval_seconds: 1.0,
            paused: false,
            shows_machine: true,
            searched: String::new(),
            page: 10,
            width: 80,
            sideways: 0,
            drawn: DrawnList::default(),
            pane: Pane::default(),
            pane_first: 0,
            pane_sort: None,
            root: PathBuf::from("/"),
            zone,
            snapshot: Snapshot::new(defs),
        }
    }

    /// Whether a recording is shown.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.feed, SampleFeed::Recorded(_))
    }

    /// Whether this machine is shown.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.feed, SampleFeed::Live(_))
    }

    /// Whether another host is shown.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.feed, SampleFeed::Remote(_))
    }

    /// Takes the next sample; false at the end of a recording.
    pub(crate) fn tick(&mut self) -> Result<bool, TopError> {
        match &mut self.feed {
            SampleFeed::Live(live) => {
                // Hidden sources are not read.
                live.leave_out(self.pane.left_out(self.shows_machine));
                live.next(&mut self.snapshot)?;
                self.readings.history.push(&mut self.snapshot);
                self.took();
                self.say_traffic();
            }
            SampleFeed::Recorded(_) => return self.go(Motion::Forward),
            SampleFeed::Remote(remote) => {
                for mut snapshot in remote.take_samples() {
                    self.readings.history.push(&mut snapshot);
                    self.took();
                }
            }
            #[cfg(test)]
            SampleFeed::Given(_) => self.took(),
        }
        self.refresh();
        self.watch(false);
        Ok(true)
    }

    /// Processes the sample just added.
    fn took(&mut self) {
        let frame = self.readings.frame();
        self.panel.note(&frame, &self.readings.sources);
        self.list.ended.add_exits(&frame, &self.readings.sources);
    }

    /// Moves in a recording; false at either end.
    pub(crate) fn go(&mut self, motion: Motion) -> Result<bool, TopError> {
        let SampleFeed::Recorded(recorded) = &mut self.feed else { return Ok(false) };
        let Readings { history, meta, options, sources, .. } = &mut self.readings;
        let (panel, ended) = (&mut self.panel, &mut self.list.ended);
        let mut taken = |history: &History, jumped: bool| {
            if jumped {
                panel.forget();
                ended.forget();
            } else {
                let frame = Frame::new(history, meta, options);
                panel.note(&frame, sources);
                ended.add_exits(&frame, sources);
            }
        };
        let moved = recorded.go(motion, history, &mut taken)?;
        self.refresh();
        if moved {
            self.watch(motion != Motion::Forward);
        }
        Ok(moved)
    }

    /// Computes what is shown of the latest sample.
    pub(crate) fn refresh(&mut self) {
        self.machine =
            self.panel.values(&self.readings.history, &self.readings.meta, &self.readings.sources);
        let Readings { history, meta, options, traffic, .. } = &mut self.readings;
        traffic.update(&Frame::new(history, meta, options));
        self.list.update(&self.readings.values());
    }

    /// The columns that are shown.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let settings = &self.list.settings;
        let choice = ColumnChoice {
            groups: settings.grouping.is_some(),
            chosen: settings.columns.as_deref(),
            width: self.width,
            traffic: self.readings.traffic.is_there(),
            sort: settings.sort,
        };
        choice.shown()
    }

    /// Handles an event.
    pub(crate) fn event(&mut self, event: &Event) -> Result<NextStep, TopError> {
        if matches!(event, Event::Resize(..)) {
            return Ok(NextStep::Draw);
        }
        if let Event::Mouse(mouse) = event {
            return Ok(self.mouse(mouse));
        }
        if self.prompt != Prompt::None {
            return Ok(match terminal::edit(event) {
                Some(edit) => self.edit(edit)?,
                None => NextStep::Nothing,
            });
        }
        if self.detail.is_some()
            && let Some(key) = keys::detail_action(event)
        {
            self.detail_key(key);
            return Ok(NextStep::Draw);
        }
        match keys::action(event, self.is_recorded()) {
            Some(action) if self.detail.is_none() || keys::is_of_detail(action) => {
                self.notice = None;
                self.act(action)
            }
            _ => Ok(NextStep::Nothing),
        }
    }

    fn act(&mut self, action: Action) -> Result<NextStep, TopError> {
        if self.pane_act(action) {
            return Ok(NextStep::Draw);
        }
        let values = self.readings.values();
        match action {
            Action::Quit => return Ok(NextStep::Quit),
            Action::Suspend => return Ok(NextStep::Suspend),
            Action::Redraw => return Ok(NextStep::Redraw),
            Action::Step(lines) => match self.list.selected {
                // The first step selects the line of the cursor.
                None => self.list.select(&values, self.list.first),
                Some(_) => self.list.step(&values, lines),
            },
            Action::Page(pages) => {
                let lines = pages.saturating_mul(self.page.max(1).cast_signed());
                self.list.step(&values, lines);
            }
            Action::Top => self.list.select(&values, 0),
            Action::Bottom => self.list.select(&values, usize::MAX),
            Action::Deselect => {
                self.list.selected = None;
                self.list.cursor = 0;
            }
            Action::SearchAgain if self.searched.is_empty() => {
                self.notice = Some("no search text yet; type / first".to_owned());
            }
            Action::SearchAgain => {
                if !self.list.search(&values, &self.searched, false) {
                    self.notice = Some(format!("not found: {}", self.searched));
                }
            }
            Action::Fold => self.list.fold(&values),
            Action::AskSignal => self.ask_signal(),
            Action::Go(motion) => return self.travel(motion),
            Action::NextSpike => return self.next_spike(),
            Action::Pane(step) => {
                return Ok(self.show_pane(self.pane.next(&self.readings.frame(), step)));
            }
            Action::Now => {
                return Ok(if self.is_recorded() { NextStep::Nothing } else { NextStep::Tick });
            }
            Action::Pause => self.paused = !self.paused,
            Action::Machine => self.shows_machine = !self.shows_machine,
            Action::Threads if self.is_remote() => {
                self.notice = Some("threads of another host are not read".to_owned());
            }
            Action::AskInterval if self.is_remote() => {
                self.notice = Some("other hosts keep to the interval of -d".to_owned());
            }
            Action::Threads => return Ok(self.toggle_threads()),
            Action::Traffic => return Ok(self.toggle_traffic()),
            _ => self.of_processes(action),
        }
        if !matches!(action, Action::Step(_) | Action::Page(_) | Action::Top | Action::Bottom) {
            self.list.update(&self.readings.values());
        }
        Ok(NextStep::Draw)
    }

    /// Actions for the selected process or the tagged ones, and for how they are shown.
    fn of_processes(&mut self, action: Action) {
        match action {
            Action::Open => self.open(),
            Action::Speed(step) => self.change_speed(step),
            Action::Nice(step) => self.renice(step),
            // Nothing can be done to tagged processes there.
            Action::Tag if self.is_remote() => self.paused = !self.paused,
            Action::Tag => {
                let tagged = self.list.selected.is_some() && self.list.tag(&self.readings.values());
                self.notice = (!tagged).then(|| "select a running process first".to_owned());
            }
            Action::Untag => self.list.tagged.clear(),
            Action::Sideways(step) => {
                self.sideways = self.sideways.saturating_add_signed(step).min(SIDEWAYS_MAX);
            }
            _ => self.set(action),
        }
    }

    /// Actions that change the list's settings, or open a prompt.
    fn set(&mut self, action: Action) {
        let settings = &mut self.list.settings;
        match action {
            Action::Sort(column) => self.list.sort_by(column),
            Action::SortBeside(step) => self.sort_beside(step),
            Action::Reverse => settings.rising = !settings.rising,
            Action::Tree => {
                settings.tree = !settings.tree;
                settings.grouping = None;
            }
            Action::Path => settings.path = !settings.path,
            Action::Setup => {
                let usual = || ColumnChoice::usual(self.width);
                let shown = settings.columns.clone().unwrap_or_else(usual);
                self.prompt = Prompt::Setup { lines: setup::choices(&shown), chosen: 0 };
            }
            Action::FullCommand => settings.full = !settings.full,
            Action::Ended => settings.ended = !settings.ended,
            Action::Idle => settings.hide_idle = !settings.hide_idle,
            Action::Group => {
                settings.grouping = match settings.grouping {
                    None => Some(GroupBy::Cgroup),
                    Some(GroupBy::Cgroup) => Some(GroupBy::User),
                    Some(GroupBy::User) => Some(GroupBy::Command),
                    Some(GroupBy::Command) => None,
                };
                self.list.selected = None;
            }
            Action::Help => self.prompt = Prompt::Help { first: 0 },
            Action::AskSort => {
                let chosen = Column::ALL.iter().position(|&column| column == settings.sort);
                self.prompt = Prompt::Sort { chosen: chosen.unwrap_or(0) };
            }
            Action::AskFilter => self.prompt = Prompt::Filter(settings.filter.clone()),
            Action::AskSearch => self.prompt = Prompt::Search(String::new()),
            Action::AskUser => {
                self.prompt = Prompt::User(settings.user.clone().unwrap_or_default());
            }
            Action::AskInterval => self.prompt = Prompt::Interval(String::new()),
            Action::AskTime => self.prompt = Prompt::Time(String::new()),
            _ => {}
        }
    }

    fn sort_beside(&mut self, step: isize) {
        let shown = self.columns();
        let now = shown.iter().position(|&column| column == self.list.settings.sort);
        let beside = now.map_or(0, |now| now.saturating_add_signed(step).min(shown.len() - 1));
        if now != Some(beside) {
            self.list.sort_by(shown[beside]);
        }
    }

    /// Threads of this machine are read only if they are shown, so the sources are opened again.
    fn toggle_threads(&mut self) -> NextStep {
        self.list.settings.threads = !self.list.settings.threads;
        if self.reopen() {
            return NextStep::Tick;
        }
        self.refresh();
        NextStep::Draw
    }

    /// Opens the sources of this machine again; false of another feed.
    fn reopen(&mut self) -> bool {
        let SampleFeed::Live(live) = &mut self.feed else { return false };
        **live = open_live(&self.root, &self.list.settings);
        let defs = &live.defs();
        self.snapshot = Snapshot::new(defs);
        self.readings = Readings::new(defs, std::mem::take(&mut self.readings.meta));
        self.panel.find(defs);
        self.list.ended.forget();
        true
    }

    /// Counts the traffic of processes on this machine, or counts it no longer: it costs each packet.
    fn toggle_traffic(&mut self) -> NextStep {
        if self.is_remote() {
            self.notice = Some("traffic of another host's processes is not read".to_owned());
        } else if self.is_recorded() {
            let is_there = self.readings.traffic.is_there();
            let without = "no traffic by process in this recording: record -s +process_net";
            let with = "RECV/s and SENT/s are shown: the recording has them";
            self.notice = Some(if is_there { with } else { without }.to_owned());
        } else {
            self.list.settings.traffic = !self.list.settings.traffic;
            if self.reopen() {
                return NextStep::Tick;
            }
        }
        NextStep::Draw
    }

    /// Says why the traffic of processes is not there though it was asked for.
    fn say_traffic(&mut self) {
        let state = self.readings.traffic.state(&self.readings.frame());
        if self.list.settings.traffic
            && let Some(state) = state.filter(|&state| state != sample::State::Ok)
        {
            self.list.settings.traffic = false;
            let why = state.word();
            self.notice =
                Some(format!("no traffic by process ({why}); whit doctor says what it needs"));
        }
    }

    fn travel(&mut self, motion: Motion) -> Result<NextStep, TopError> {
        self.paused = true;
        if !self.go(motion)? {
            let forward = matches!(motion, Motion::Forward | Motion::Last)
                || matches!(motion, Motion::By(step) if step > 0);
            let end = if forward { "the last sample" } else { "the first sample" };
            self.notice = Some(format!("this is {end}"));
        }
        Ok(NextStep::Draw)
    }

    /// Moves to the next sample in which the CPUs were busy half as much again as in those before it.
    fn next_spike(&mut self) -> Result<NextStep, TopError> {
        self.paused = true;
        for _ in 0..SPIKE_SAMPLES_MAX {
            let before: Vec<f64> = self.panel.history.iter().flatten().copied().collect();
            if !self.go(Motion::Forward)? {
                self.notice = Some("no sudden load up to the last sample".to_owned());
                return Ok(NextStep::Draw);
            }
            let (Some(last), Some(busy)) = (before.last(), machine::busy(&self.machine.cpu)) else {
                continue;
            };
            let mean = before.iter().sum::<f64>() / before.len() as f64;
            let least = (mean * 1.5).max(mean + SPIKE_PERCENT_MIN);
            if before.len() >= SPIKE_BASE_MIN && busy >= least && *last < least {
                self.notice = Some(format!("CPUs busy {busy:.0} %, before {mean:.0} %"));
                return Ok(NextStep::Draw);
            }
        }
        self.notice = Some(format!("no sudden load in {SPIKE_SAMPLES_MAX} samples; x goes on"));
        Ok(NextStep::Draw)
    }

    /// Moves to a time that was typed.
    fn go_to(&mut self, text: &str) -> Result<NextStep, TopError> {
        let SampleFeed::Recorded(recorded) = &self.feed else { return Ok(NextStep::Nothing) };
        match recorded.moment(text, &present(recorded.zone.clone())) {
            Ok(at_ns) => self.travel(Motion::At(at_ns)),
            Err(error) => {
                self.notice = Some(match error {
                    // The forms first: on a narrow screen the end is cut.
                    TimeError::Form { error, .. } => {
                        format!("write 10:15, -1h or 2026-11-22T10:15; '{}' is no time", error.text)
                    }
                    error => error.to_string(),
                });
                Ok(NextStep::Draw)
            }
        }
    }

    fn edit(&mut self, edit: Edit) -> Result<NextStep, TopError> {
        match &mut self.prompt {
            Prompt::None => return Ok(NextStep::Nothing),
            Prompt::Help { first } => match edit {
                Edit::Down => *first = (*first + 1).min(keys::HELP.len()),
                Edit::Up => *first = first.saturating_sub(1),
                _ => self.prompt = Prompt::None,
            },
            Prompt::Filter(text)
            | Prompt::Search(text)
            | Prompt::User(text)
            | Prompt::Interval(text)
            | Prompt::Time(text) => match edit {
                Edit::Put(letter) if text.len() < TYPED_MAX => text.push(letter),
                Edit::Erase => drop(text.pop()),
                Edit::EraseAll => text.clear(),
                Edit::Accept => return self.accept(),
                Edit::Cancel => self.prompt = Prompt::None,
                _ => {}
            },
            Prompt::Sort { chosen } => {
                if edit == Edit::Accept {
                    let column = Column::ALL[*chosen];
                    self.prompt = Prompt::None;
                    self.list.sort_by(column);
                    self.list.update(&self.readings.values());
                } else if !choose(chosen, Column::ALL.len(), edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Signal { targets, chosen } => {
                if edit == Edit::Accept {
                    let (targets, chosen) = (std::mem::take(targets), *chosen);
                    self.prompt = Prompt::Confirm { targets, chosen };
                } else if !choose_signal(chosen, edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Confirm { targets, chosen } => {
                let (targets, chosen) = (std::mem::take(targets), *chosen);
                self.prompt = Prompt::None;
                if edit == Edit::Put('y') {
                    self.signal(&targets, chosen);
                } else {
                    self.notice = Some("no signal was sent".to_owned());
                }
            }
            Prompt::Setup { lines, chosen } => match edit {
                Edit::Put(' ') => lines[*chosen].1 ^= true,
                Edit::Put('-') => setup::shift(lines, chosen, -1),
                Edit::Put('+') => setup::shift(lines, chosen, 1),
                Edit::Put('0') => *lines = setup::choices(&ColumnChoice::usual(self.width)),
                Edit::Accept => self.keep_columns(),
                edit if choose(chosen, lines.len(), edit) => {}
                _ => self.prompt = Prompt::None,
            },
        }
        Ok(NextStep::Draw)
    }

    /// Shows the chosen columns, and keeps them.
    fn keep_columns(&mut self) {
        let Prompt::Setup { lines, .. } = std::mem::replace(&mut self.prompt, Prompt::None) else {
            return;
        };
        let columns: Vec<Column> =
            lines.into_iter().filter(|(_, shown)| *shown).map(|(column, _)| column).collect();
        if columns.is_empty() {
            self.notice = Some("at least one column is shown".to_owned());
            return;
        }
        let settings = &mut self.list.settings;
        self.notice =
            Some(match settings.kept.as_deref().map(|path| setup::write(path, &columns)) {
                Some(Err(why)) => why,
                Some(Ok(())) => "the columns are kept".to_owned(),
                None => "the columns are shown until the end".to_owned(),
            });
        settings.columns = Some(columns);
    }

    /// Accepts the typed text.
    fn accept(&mut self) -> Result<NextStep, TopError> {
        match std::mem::replace(&mut self.prompt, Prompt::None) {
            Prompt::Filter(text) => self.list.settings.filter = text,
            Prompt::User(text) => {
                self.list.settings.user = Some(text).filter(|text| !text.is_empty());
            }
            Prompt::Search(text) if !text.is_empty() => {
                self.searched = text;
                if !self.list.search(&self.readings.values(), &self.searched, true) {
                    self.notice = Some(format!("not found: {}", self.searched));
                }
            }
            Prompt::Interval(text) if !text.is_empty() => match interval(&text) {
                Ok(seconds) => self.interval_seconds = seconds,
                Err(error) => self.notice = Some(error),
            },
            Prompt::Time(text) if !text.is_empty() => return self.go_to(&text),
            _ => {}
        }
        self.list.update(&self.readings.values());
        Ok(NextStep::Draw)
    }
}

/// The present, in a zone.
pub(crate) fn present(zone: TimeZone) -> jiff::Zoned {
    let now = jiff::Timestamp::from_nanosecond(i128::from(SystemClock.now().realtime_ns));
    now.unwrap_or_default().to_zoned(zone)
}

/// Opens the sources of a live screen under `root`.
pub(crate) fn open_live(root: &Path, settings: &ListSettings) -> LiveFeed {
    // Two columns, exact CPU time and run-queue wait, need schedstat.
    let process =
        ProcessOptions { threads: settings.threads, schedstat: true, ..ProcessOptions::default() };
    let shown = |entry: &&'static Entry| {
        fields::SOURCES.contains(&entry.name) || settings.traffic && entry.name == traffic::SOURCE
    };
    let entries: Vec<_> = source::ALL.iter().copied().filter(shown).collect();
    LiveFeed::open(root, &entries, SourceContext::with_process(process))
}

/// Opens a recording at its first sample.
pub(crate) fn open_recording(path: &Path, local: TimeZone) -> Result<(Cursor, Meta), TopError> {
    let shown = |entry: &&'static Entry| entry.asked_by(&COLLECTL_LETTERS.into());
    let entries = source::ALL.iter().copied().filter(shown).collect();
    // As many as the history of the CPU shows.
    let settings = CursorSettings { entries, slowest: "process", local, history_samples: 30 };
    let (cursor, meta) = Cursor::open(path, settings)?;
    if !cursor.defs().iter().any(|def| matches!(&*def.name, "process" | "exit")) {
        let recorded = meta.subsystems().to_owned();
        return Err(TopError::NoProcesses { path: path.to_owned(), recorded });
    }
    Ok((cursor, meta))
}

/// Letters of the sources that are shown from a recording of collectl.
const COLLECTL_LETTERS: &str = "cdmnZ";

/// Parses an interval in seconds.
///
/// # Errors
/// What is wrong with the text.
pub fn interval(text: &str) -> Result<f64, String> {
    let allowed = INTERVAL_SECONDS_MIN..=INTERVAL_SECONDS_MAX;
    text.trim().parse().ok().filter(|seconds| allowed.contains(seconds)).ok_or_else(|| {
        format!("'{text}': give seconds from {INTERVAL_SECONDS_MIN} to {INTERVAL_SECONDS_MAX}")
    })
}

/// Moves in a list of choices; false if it is closed.
pub(crate) fn choose(chosen: &mut usize, count: usize, edit: Edit) -> bool {
    match edit {
        Edit::Up => *chosen = chosen.checked_sub(1).unwrap_or(count - 1),
        Edit::Down => *chosen = (*chosen + 1) % count,
        _ => return false,
    }
    true
}

/// As [`choose`], for signals: a digit or a letter selects the next signal that begins with it.
fn choose_signal(chosen: &mut usize, edit: Edit) -> bool {
    let Edit::Put(letter) = edit else { return choose(chosen, kill::SIGNALS.len(), edit) };
    let begins = |&index: &usize| {
        let (name, number) = kill::SIGNALS[index];
        name.starts_with(letter.to_ascii_uppercase()) || number.to_string().starts_with(letter)
    };
    let count = kill::SIGNALS.len();
    let next = (1..=count).map(|step| (*chosen + step) % count).find(begins);
    *chosen = next.unwrap_or(*chosen);
    true
}
