//! The state of `whit top` and what each action does to it: no terminal here, so that all of it
//! is tested without one.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use feed::{Cursor, CursorSettings, Feed as _, LiveFeed, Motion};
use jiff::tz::TimeZone;
use ratatui_crossterm::crossterm::event::Event;
use sample::{Frame, History, Meta, Options, Snapshot, SourceDef};
use source::{Entry, Limits, ProcessLimits};

use super::columns::{self, Column};
use super::fields::{self, Places};
use super::keys::{self, Action, Edit};
use super::kill;
use super::machine::{Machine, Panel};
use super::model::{Model, Settings};
use super::values::{Grouping, Look};

/// Shortest interval: below, the screen is all there is to see.
pub(crate) const INTERVAL_SECONDS_MIN: f64 = 0.1;

/// Longest interval: a day.
pub(crate) const INTERVAL_SECONDS_MAX: f64 = 86_400.0;

/// Longest text that can be typed.
const TYPED_MAX: usize = 200;

/// The samples and where their columns stand.
pub(crate) struct Scene {
    pub(crate) history: History,
    pub(crate) meta: Meta,
    pub(crate) options: Options,
    pub(crate) places: Places,
}

impl Scene {
    /// An empty one for a feed of these sources.
    pub(crate) fn new(defs: &[&'static SourceDef], meta: Meta) -> Self {
        let places = Places::of(defs);
        Scene { history: History::new(defs), meta, options: Options::default(), places }
    }

    /// The latest tick.
    pub(crate) fn frame(&self) -> Frame<'_> {
        self.history.frame(&self.meta, &self.options)
    }

    /// The same, with what the list's numbers need.
    pub(crate) fn look(&self) -> Look<'_> {
        Look::new(self.frame(), &self.places)
    }
}

/// Where samples come from.
pub(crate) enum Samples {
    Live(Box<LiveFeed>),
    Recorded(Box<Cursor>),
    /// Tests hand them in.
    #[cfg(test)]
    Given,
}

/// What is asked of the user.
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
    Sort {
        chosen: usize,
    },
    Signal {
        pid: i32,
        start: u64,
        command: Vec<u8>,
        chosen: usize,
    },
    /// Whether it is really meant.
    Confirm {
        pid: i32,
        start: u64,
        command: Vec<u8>,
        chosen: usize,
    },
}

/// All there is to `whit top` but the terminal.
pub(crate) struct App {
    pub(crate) scene: Scene,
    pub(crate) feed: Samples,
    pub(crate) model: Model,
    pub(crate) panel: Panel,
    pub(crate) machine: Machine,
    pub(crate) prompt: Prompt,
    /// Said in the last line until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) interval_seconds: f64,
    pub(crate) paused: bool,
    pub(crate) shows_machine: bool,
    pub(crate) searched: String,
    /// Lines of the list on the screen, as last drawn.
    pub(crate) page: usize,
    pub(crate) width: u16,
    pub(crate) root: PathBuf,
    /// What the live feed reads into.
    snapshot: Snapshot,
}

/// What the loop does after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
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
        feed: Samples,
        defs: &[&'static SourceDef],
        meta: Meta,
        settings: Settings,
    ) -> Self {
        App {
            scene: Scene::new(defs, meta),
            feed,
            model: Model::new(settings),
            panel: Panel::new(defs),
            machine: Machine::default(),
            prompt: Prompt::None,
            notice: None,
            interval_seconds: 1.0,
            paused: false,
            shows_machine: true,
            searched: String::new(),
            page: 10,
            width: 80,
            root: PathBuf::from("/"),
            snapshot: Snapshot::new(defs),
        }
    }

    /// Whether it is a recording.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.feed, Samples::Recorded(_))
    }

    /// The next sample; false at a recording's end.
    pub(crate) fn tick(&mut self) -> anyhow::Result<bool> {
        match &mut self.feed {
            Samples::Live(live) => {
                // What is not on the screen is not read.
                let left_out = if self.shows_machine { &[] } else { fields::PANEL_ONLY };
                live.leave_out(left_out);
                live.next(&mut self.snapshot)?;
                self.scene.history.push(&mut self.snapshot);
                self.took();
            }
            Samples::Recorded(_) => return self.go(Motion::Forward),
            #[cfg(test)]
            Samples::Given => self.took(),
        }
        self.refresh();
        Ok(true)
    }

    /// Takes note of the sample just pushed.
    fn took(&mut self) {
        let frame = self.scene.frame();
        self.panel.note(&frame, &self.scene.places);
        self.model.ended.take(&frame, &self.scene.places);
    }

    /// Goes somewhere in a recording; false at either end.
    pub(crate) fn go(&mut self, motion: Motion) -> anyhow::Result<bool> {
        let Samples::Recorded(recorded) = &mut self.feed else { return Ok(false) };
        let Scene { history, meta, options, places } = &mut self.scene;
        let (panel, ended) = (&mut self.panel, &mut self.model.ended);
        let mut taken = |history: &History, jumped: bool| {
            if jumped {
                panel.forget();
                ended.forget();
            } else {
                let frame = history.frame(meta, options);
                panel.note(&frame, places);
                ended.take(&frame, places);
            }
        };
        let moved = recorded.go(motion, history, &mut taken)?;
        self.refresh();
        Ok(moved)
    }

    /// Works out what is shown of the latest sample.
    pub(crate) fn refresh(&mut self) {
        self.machine = self.panel.look(&self.scene.history, &self.scene.meta, &self.scene.places);
        self.model.update(&self.scene.look());
    }

    /// Does what an event asks for.
    pub(crate) fn event(&mut self, event: &Event) -> anyhow::Result<Then> {
        if matches!(event, Event::Resize(..)) {
            return Ok(Then::Draw);
        }
        if self.prompt != Prompt::None {
            return Ok(match keys::edit(event) {
                Some(edit) => self.edit(edit),
                None => Then::Nothing,
            });
        }
        match keys::action(event, self.is_recorded()) {
            Some(action) => {
                self.notice = None;
                self.act(action)
            }
            None => Ok(Then::Nothing),
        }
    }

    fn act(&mut self, action: Action) -> anyhow::Result<Then> {
        let look = self.scene.look();
        match action {
            Action::Quit => return Ok(Then::Quit),
            Action::Suspend => return Ok(Then::Suspend),
            Action::Redraw => return Ok(Then::Redraw),
            Action::Step(lines) => match self.model.selected {
                // The first step selects where the cursor is.
                None => self.model.select(&look, self.model.first),
                Some(_) => self.model.step(&look, lines),
            },
            Action::Page(pages) => {
                let lines = pages.saturating_mul(self.page.max(1).cast_signed());
                self.model.step(&look, lines);
            }
            Action::Top => self.model.select(&look, 0),
            Action::Bottom => self.model.select(&look, usize::MAX),
            Action::Deselect => {
                self.model.selected = None;
                self.model.cursor = 0;
            }
            Action::SearchAgain if self.searched.is_empty() => {
                self.notice = Some("nothing was searched for yet: /".to_owned());
            }
            Action::SearchAgain => {
                if !self.model.search(&look, &self.searched, false) {
                    self.notice = Some(format!("not found: {}", self.searched));
                }
            }
            Action::Fold => self.model.fold(&look),
            Action::AskSignal => self.ask_signal(),
            Action::Go(motion) => return self.travel(motion),
            Action::Now => return Ok(if self.is_recorded() { Then::Nothing } else { Then::Tick }),
            Action::Pause => self.paused = !self.paused,
            Action::Machine => self.shows_machine = !self.shows_machine,
            Action::Threads => return Ok(self.toggle_threads()),
            _ => self.set(action),
        }
        if !matches!(action, Action::Step(_) | Action::Page(_) | Action::Top | Action::Bottom) {
            self.model.update(&self.scene.look());
        }
        Ok(Then::Draw)
    }

    /// Actions that set how the list is made, or open a prompt.
    fn set(&mut self, action: Action) {
        let settings = &mut self.model.settings;
        match action {
            Action::Sort(column) => self.model.sort_by(column),
            Action::SortBeside(step) => self.sort_beside(step),
            Action::Reverse => settings.rising = !settings.rising,
            Action::Tree => {
                settings.tree = !settings.tree;
                settings.grouping = None;
            }
            Action::FullCommand => settings.full = !settings.full,
            Action::Ended => settings.ended = !settings.ended,
            Action::Idle => settings.hide_idle = !settings.hide_idle,
            Action::Group => {
                settings.grouping = match settings.grouping {
                    None => Some(Grouping::Cgroup),
                    Some(Grouping::Cgroup) => Some(Grouping::User),
                    Some(Grouping::User) => Some(Grouping::Command),
                    Some(Grouping::Command) => None,
                };
                self.model.selected = None;
            }
            Action::Help => self.prompt = Prompt::Help { first: 0 },
            Action::AskSort => {
                let chosen = sortable().iter().position(|&column| column == settings.sort);
                self.prompt = Prompt::Sort { chosen: chosen.unwrap_or(0) };
            }
            Action::AskFilter => self.prompt = Prompt::Filter(settings.filter.clone()),
            Action::AskSearch => self.prompt = Prompt::Search(String::new()),
            Action::AskUser => {
                self.prompt = Prompt::User(settings.user.clone().unwrap_or_default());
            }
            Action::AskInterval => self.prompt = Prompt::Interval(String::new()),
            _ => {}
        }
    }

    fn sort_beside(&mut self, step: isize) {
        let groups = self.model.settings.grouping.is_some();
        let shown: Vec<Column> = columns::shown(groups, self.width).collect();
        let now = shown.iter().position(|&column| column == self.model.settings.sort);
        let beside = now.map_or(0, |now| now.saturating_add_signed(step).min(shown.len() - 1));
        if now != Some(beside) {
            self.model.sort_by(shown[beside]);
        }
    }

    /// Threads of this machine are read only when they are wanted, so the sources open anew.
    fn toggle_threads(&mut self) -> Then {
        let threads = !self.model.settings.threads;
        self.model.settings.threads = threads;
        if let Samples::Live(live) = &mut self.feed {
            **live = open(&self.root, threads);
            self.scene.history.forget();
            self.model.ended.forget();
            return Then::Tick;
        }
        self.refresh();
        Then::Draw
    }

    fn travel(&mut self, motion: Motion) -> anyhow::Result<Then> {
        self.paused = true;
        if !self.go(motion)? {
            let forward = matches!(motion, Motion::Forward | Motion::Last)
                || matches!(motion, Motion::By(step) if step > 0);
            let end = if forward { "the last sample" } else { "the first sample" };
            self.notice = Some(format!("this is {end}"));
        }
        Ok(Then::Draw)
    }

    fn ask_signal(&mut self) {
        let refusal = match &self.feed {
            Samples::Recorded(_) => Some("a recording's processes are not there any more"),
            Samples::Live(_) if self.root.as_os_str() != "/" => {
                Some("with --root the processes are another machine's")
            }
            _ if self.model.selected.is_none() => Some("select a process first: Up, Down"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.notice = Some(refusal.to_owned());
            return;
        }
        match self.model.target(&self.scene.look()) {
            Some((pid, start, command)) => {
                self.prompt = Prompt::Signal { pid, start, command, chosen: 0 };
            }
            None => self.notice = Some("what is selected is no process that runs".to_owned()),
        }
    }

    fn edit(&mut self, edit: Edit) -> Then {
        match &mut self.prompt {
            Prompt::None => return Then::Nothing,
            Prompt::Help { first } => match edit {
                Edit::Down => *first = (*first + 1).min(keys::HELP.len()),
                Edit::Up => *first = first.saturating_sub(1),
                _ => self.prompt = Prompt::None,
            },
            Prompt::Filter(text)
            | Prompt::Search(text)
            | Prompt::User(text)
            | Prompt::Interval(text) => match edit {
                Edit::Put(letter) if text.len() < TYPED_MAX => text.push(letter),
                Edit::Erase => drop(text.pop()),
                Edit::EraseAll => text.clear(),
                Edit::Accept => return self.accept(),
                Edit::Cancel => self.prompt = Prompt::None,
                _ => {}
            },
            Prompt::Sort { chosen } => {
                if edit == Edit::Accept {
                    let column = sortable()[*chosen];
                    self.prompt = Prompt::None;
                    self.model.sort_by(column);
                    self.model.update(&self.scene.look());
                } else if !choose(chosen, sortable().len(), edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Signal { pid, start, command, chosen } => {
                if edit == Edit::Accept {
                    let (pid, start, chosen) = (*pid, *start, *chosen);
                    let command = std::mem::take(command);
                    self.prompt = Prompt::Confirm { pid, start, command, chosen };
                } else if !choose_signal(chosen, edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Confirm { pid, start, chosen, .. } => {
                let (name, signal) = kill::SIGNALS[*chosen];
                if edit == Edit::Put('y') {
                    let outcome = kill::send(*pid, *start, signal);
                    self.notice = Some(format!("{name} to {pid}: {outcome}"));
                } else {
                    self.notice = Some("no signal was sent".to_owned());
                }
                self.prompt = Prompt::None;
            }
        }
        Then::Draw
    }

    /// Takes what was typed.
    fn accept(&mut self) -> Then {
        match std::mem::replace(&mut self.prompt, Prompt::None) {
            Prompt::Filter(text) => self.model.settings.filter = text,
            Prompt::User(text) => {
                self.model.settings.user = Some(text).filter(|text| !text.is_empty());
            }
            Prompt::Search(text) if !text.is_empty() => {
                self.searched = text;
                if !self.model.search(&self.scene.look(), &self.searched, true) {
                    self.notice = Some(format!("not found: {}", self.searched));
                }
            }
            Prompt::Interval(text) if !text.is_empty() => match interval(&text) {
                Ok(seconds) => self.interval_seconds = seconds,
                Err(error) => self.notice = Some(error),
            },
            _ => {}
        }
        self.model.update(&self.scene.look());
        Then::Draw
    }
}

/// Opens the sources of a live screen under `root`.
pub(crate) fn open(root: &Path, threads: bool) -> LiveFeed {
    // The exact time and the delay have columns.
    let process = ProcessLimits { threads, schedstat: true, ..ProcessLimits::default() };
    let shown = |entry: &&'static Entry| fields::SOURCES.contains(&entry.def.name);
    let entries: Vec<_> = source::ALL.iter().filter(shown).collect();
    LiveFeed::open(root, &entries, Limits { process, ..Limits::default() })
}

/// Opens a recording at its first sample.
pub(crate) fn open_recording(path: &Path, local: TimeZone) -> anyhow::Result<(Cursor, Meta)> {
    let entries = crate::display::sources_for(COLLECTL_LETTERS);
    let settings = CursorSettings { entries, slowest: "process", local };
    let (cursor, meta) = Cursor::open(path, settings)?;
    let has = |name| cursor.defs().iter().any(|def| def.name == name);
    ensure!(
        has("process") || has("exit"),
        "{}: no processes in it (recorded are '{}'); whit record -s +Z records them",
        path.display(),
        meta.subsystems()
    );
    Ok((cursor, meta))
}

/// Letters whose sources a screen over collectl's recording shows.
const COLLECTL_LETTERS: &str = "cdmnZ";

/// Everything the list can be sorted by.
pub(crate) fn sortable() -> &'static [Column] {
    clap::ValueEnum::value_variants()
}

/// Reads an interval in seconds.
pub(crate) fn interval(text: &str) -> Result<f64, String> {
    let allowed = INTERVAL_SECONDS_MIN..=INTERVAL_SECONDS_MAX;
    text.trim().parse().ok().filter(|seconds| allowed.contains(seconds)).ok_or_else(|| {
        format!("'{text}': seconds from {INTERVAL_SECONDS_MIN} to {INTERVAL_SECONDS_MAX} are meant")
    })
}

/// Moves in a list; false when it is given up.
fn choose(chosen: &mut usize, count: usize, edit: Edit) -> bool {
    match edit {
        Edit::Up => *chosen = chosen.checked_sub(1).unwrap_or(count - 1),
        Edit::Down => *chosen = (*chosen + 1) % count,
        _ => return false,
    }
    true
}

/// The same among signals, where a digit or a letter goes to the next that begins with it.
fn choose_signal(chosen: &mut usize, edit: Edit) -> bool {
    let Edit::Put(letter) = edit else { return choose(chosen, kill::SIGNALS.len(), edit) };
    let begins = |&place: &usize| {
        let (name, number) = kill::SIGNALS[place];
        name.starts_with(letter.to_ascii_uppercase()) || number.to_string().starts_with(letter)
    };
    let count = kill::SIGNALS.len();
    let next = (1..=count).map(|step| (*chosen + step) % count).find(begins);
    *chosen = next.unwrap_or(*chosen);
    true
}
