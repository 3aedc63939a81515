//! The state of the viewer, and what each action changes.  No terminal is used, so tests need none.

use std::path::{Path, PathBuf};

use jiff::Zoned;
use jiff::tz::TimeZone;
use log_format::LogZone;
use log_store::archive::LogOrder;
use ratatui_crossterm::crossterm::event::{Event, KeyCode};
use terminal::Edit;

use crate::asked::{COLUMNS, Prompt, Question, TYPED_MAX, choose, levels};
use crate::columns::Column;
use crate::error::ViewError;
use crate::export;
use crate::filters::{NamedFilters, ShownRecords, typed_regex};
use crate::keys::{self, Action};
use crate::origin::{LogOrigin, LooksForEnd};
use crate::statistics::{CountedBy, Statistics};
use crate::window::{Reach, Window};

/// What the loop does after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    Nothing,
    Draw,
    Redraw,
    Suspend,
    Quit,
}

/// The present, for times that are typed.
pub(crate) type Present = fn(&TimeZone) -> Zoned;

/// The state of the viewer except the terminal.
pub(crate) struct App {
    pub(crate) origin: Box<dyn LogOrigin>,
    pub(crate) shown: ShownRecords,
    pub(crate) named: NamedFilters,
    pub(crate) window: Window,
    pub(crate) prompt: Prompt,
    /// Shown in the last line until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) follows: bool,
    /// Columns that the user has hidden.
    pub(crate) hidden: [bool; COLUMNS],
    /// What was searched last, as typed.
    pub(crate) searched: String,
    /// Columns by which texts are moved to the left.
    pub(crate) sideways: usize,
    /// Lines of the list on the screen, as last drawn.
    pub(crate) page: usize,
    pub(crate) zone: TimeZone,
    pub(crate) log_zone: LogZone,
    present: Present,
}

impl App {
    /// The newest records of an origin.
    pub(crate) fn new(
        origin: Box<dyn LogOrigin>,
        (shown, named): (ShownRecords, NamedFilters),
        (zone, log_zone, present): (TimeZone, LogZone, Present),
    ) -> Self {
        App {
            origin,
            shown,
            named,
            window: Window::default(),
            prompt: Prompt::None,
            notice: None,
            follows: false,
            hidden: [false; COLUMNS],
            searched: String::new(),
            sideways: 0,
            page: 10,
            zone,
            log_zone,
            present,
        }
    }

    /// Runs what reads records; that the user ended it is said, and is no error.
    fn read<T>(
        &mut self,
        has_ended: &LooksForEnd<'_>,
        read: impl FnOnce(&mut Window, &mut Reach<'_>) -> Result<T, ViewError>,
    ) -> Result<Option<T>, ViewError> {
        let App { origin, shown, window, .. } = self;
        let mut reach = Reach { origin: &mut **origin, filter: &shown.filter, has_ended };
        match read(window, &mut reach) {
            Ok(done) => Ok(Some(done)),
            Err(error) if error.is_interrupted() => {
                self.notice = Some("interrupted".to_owned());
                Ok(None)
            }
            // What is on the screen stays: the server may be back at the next key.
            Err(ViewError::Central(why)) => {
                self.notice = Some(why);
                self.follows = false;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Goes to the newest records.
    pub(crate) fn newest(&mut self, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        let window = self.read(has_ended, |_, reach| Window::newest(reach))?;
        if let Some(window) = window {
            self.window = window;
        }
        Ok(())
    }

    /// Shows what is new while it follows; whether something may be.
    pub(crate) fn tick(&mut self, has_ended: &LooksForEnd<'_>) -> Result<bool, ViewError> {
        let is_new = self.follows && self.origin.has_news();
        if is_new {
            self.newest(has_ended)?;
        }
        Ok(is_new)
    }

    /// Shows other records, near the time of the chosen one.
    fn filtered(&mut self, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        let time_ns = self.window.key().map(|key| key.time_ns);
        let at = self.read(has_ended, |_, reach| match time_ns {
            Some(time_ns) => Window::at(reach, time_ns),
            None => Ok(None),
        })?;
        match at {
            Some(Some(window)) if !self.follows => self.window = window,
            Some(_) => self.newest(has_ended)?,
            // Of what was ended nothing is known: no record of the old filter is shown as one.
            None => self.window = Window::default(),
        }
        Ok(())
    }

    /// Handles an event.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<NextStep, ViewError> {
        if matches!(event, Event::Resize(..)) {
            return Ok(NextStep::Draw);
        }
        if self.prompt != Prompt::None {
            let is_tab = terminal::pressed(event).is_some_and(|key| key.code == KeyCode::Tab);
            if let (Prompt::Statistics { by, chosen, .. }, true) = (&mut self.prompt, is_tab) {
                (*by, *chosen) = (by.next(), 0);
                return Ok(NextStep::Draw);
            }
            return match terminal::edit(event) {
                Some(edit) => self.edit(edit, has_ended),
                None => Ok(NextStep::Nothing),
            };
        }
        match keys::action(event) {
            Some(action) => {
                self.notice = None;
                self.act(action, has_ended)
            }
            None => Ok(NextStep::Nothing),
        }
    }

    fn act(&mut self, action: Action, has_ended: &LooksForEnd<'_>) -> Result<NextStep, ViewError> {
        match action {
            Action::Quit => return Ok(NextStep::Quit),
            Action::Suspend => return Ok(NextStep::Suspend),
            Action::Redraw => return Ok(NextStep::Redraw),
            Action::Step(lines) => self.step(lines, has_ended)?,
            Action::Page(pages) => {
                self.step(pages.saturating_mul(self.page.max(1).cast_signed()), has_ended)?;
            }
            Action::Oldest => {
                self.follows = false;
                if let Some(window) = self.read(has_ended, |_, reach| Window::oldest(reach))? {
                    self.window = window;
                }
            }
            Action::Newest => self.newest(has_ended)?,
            Action::Sideways(columns) => {
                self.sideways = self.sideways.saturating_add_signed(columns).min(8192);
            }
            Action::Follow => self.follow(has_ended)?,
            Action::SearchLater => self.search(LogOrder::OldestFirst, has_ended)?,
            Action::SearchEarlier => self.search(LogOrder::NewestFirst, has_ended)?,
            Action::Unfiltered => {
                let all_kinds = self.shown.filter.all_kinds;
                self.shown = ShownRecords::default();
                self.shown.filter.all_kinds = all_kinds;
                self.filtered(has_ended)?;
            }
            Action::Statistics => self.count(has_ended)?,
            Action::Help => self.prompt = Prompt::Help { first: 0 },
            Action::Details if self.window.rows.is_empty() => {}
            Action::Details => self.prompt = Prompt::Details { first: 0 },
            Action::Level => self.prompt = Prompt::Level { chosen: self.level() },
            Action::Columns => self.prompt = Prompt::Columns { chosen: 0 },
            Action::Filters if self.named.filters.is_empty() => {
                self.notice = Some("no filter is kept yet; s keeps this one".to_owned());
            }
            Action::Filters => self.prompt = Prompt::Filters { chosen: 0 },
            Action::Ask(question) => {
                let text = self.now(question);
                self.prompt = Prompt::Typed { question, text };
            }
        }
        Ok(NextStep::Draw)
    }

    fn step(&mut self, lines: isize, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        self.follows = false;
        self.read(has_ended, |window, reach| window.step(lines, reach)).map(drop)
    }

    fn follow(&mut self, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        if self.origin.pause().is_none() {
            self.notice = Some("nothing new comes to a file; it was read once".to_owned());
            return Ok(());
        }
        self.follows = !self.follows;
        if self.follows {
            self.newest(has_ended)?;
        }
        Ok(())
    }

    /// The number of the level that is shown, among the choices.
    fn level(&self) -> usize {
        levels().iter().position(|level| *level == self.shown.filter.level).unwrap_or(0)
    }

    /// What a question begins with: what holds now.
    fn now(&self, question: Question) -> String {
        let filter = &self.shown.filter;
        match question {
            Question::Text => self.shown.typed.clone(),
            Question::Logger => filter.logger.clone(),
            Question::Host => filter.host.clone(),
            Question::Process => filter.process.clone(),
            Question::Search | Question::Time | Question::Export | Question::Save => String::new(),
        }
    }

    fn search(&mut self, order: LogOrder, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        if self.searched.is_empty() {
            self.notice = Some("no search text yet; type / first".to_owned());
            return Ok(());
        }
        let regex = match typed_regex(&self.searched) {
            Ok(regex) => regex,
            Err(why) => {
                self.notice = Some(why);
                return Ok(());
            }
        };
        self.follows = false;
        let found = self.read(has_ended, |window, reach| window.search(&regex, order, reach))?;
        if found == Some(false) {
            let (way, key, other) = match order {
                LogOrder::OldestFirst => ("after", 'N', "before"),
                LogOrder::NewestFirst => ("before", 'n', "after"),
            };
            let searched = &self.searched;
            self.notice =
                Some(format!("not found {way} this record: {searched}; {key} searches {other} it"));
        }
        Ok(())
    }

    fn count(&mut self, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        match Statistics::count(&mut *self.origin, &self.shown, has_ended) {
            Ok(counted) => {
                let (by, counted) = (CountedBy::Logger, Box::new(counted));
                self.prompt = Prompt::Statistics { by, chosen: 0, counted };
            }
            Err(ViewError::Central(why)) => self.notice = Some(why),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit, has_ended: &LooksForEnd<'_>) -> Result<NextStep, ViewError> {
        match &mut self.prompt {
            Prompt::None => return Ok(NextStep::Nothing),
            Prompt::Help { first } | Prompt::Details { first } => match edit {
                Edit::Down => *first = (*first + 1).min(200),
                Edit::Up => *first = first.saturating_sub(1),
                _ => self.prompt = Prompt::None,
            },
            Prompt::Typed { text, .. } => match edit {
                Edit::Put(letter) if text.len() < TYPED_MAX => text.push(letter),
                Edit::Erase => drop(text.pop()),
                Edit::EraseAll => text.clear(),
                Edit::Cancel => self.prompt = Prompt::None,
                Edit::Accept => self.accept(has_ended)?,
                _ => {}
            },
            Prompt::Columns { chosen } => {
                if matches!(edit, Edit::Accept | Edit::Put(' ')) {
                    self.hidden[*chosen] = !self.hidden[*chosen];
                } else if !choose(chosen, COLUMNS, edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Level { chosen } => {
                let chosen_level = levels().get(*chosen).copied().flatten();
                if edit == Edit::Accept {
                    self.shown.filter.level = chosen_level;
                    self.prompt = Prompt::None;
                    self.filtered(has_ended)?;
                } else if !choose(chosen, levels().len(), edit) {
                    self.prompt = Prompt::None;
                }
            }
            Prompt::Filters { .. } => self.edit_filters(edit, has_ended)?,
            Prompt::Statistics { .. } => self.edit_statistics(edit, has_ended)?,
        }
        Ok(NextStep::Draw)
    }

    /// A key in the list of filters that are kept.
    fn edit_filters(&mut self, edit: Edit, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        let Prompt::Filters { chosen } = &mut self.prompt else { return Ok(()) };
        match edit {
            Edit::Accept => {
                let taken = self.named.filters.get(*chosen).map(|(_, shown)| shown.clone());
                self.prompt = Prompt::None;
                if let Some(mut shown) = taken {
                    let now = &self.shown.filter;
                    (shown.filter.from_ns, shown.filter.until_ns) = (now.from_ns, now.until_ns);
                    shown.filter.all_kinds = now.all_kinds;
                    self.shown = shown;
                    self.filtered(has_ended)?;
                }
            }
            Edit::Put('d') => {
                let forgotten = self.named.forget(*chosen);
                self.prompt = Prompt::None;
                self.notice = Some(match forgotten {
                    Ok(name) => format!("{name} is forgotten"),
                    Err(why) => why,
                });
            }
            edit if choose(chosen, self.named.filters.len(), edit) => {}
            _ => self.prompt = Prompt::None,
        }
        Ok(())
    }

    /// A key in the counts: Enter shows the records of the chosen name.
    fn edit_statistics(
        &mut self,
        edit: Edit,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<(), ViewError> {
        let Prompt::Statistics { by, chosen, counted } = &mut self.prompt else { return Ok(()) };
        let counts = counted.of(*by);
        if edit != Edit::Accept {
            if !choose(chosen, counts.len(), edit) {
                self.prompt = Prompt::None;
            }
            return Ok(());
        }
        let (by, name) = (*by, counts.get(*chosen).map(|(name, _)| name.clone()));
        self.prompt = Prompt::None;
        let Some(name) = name else { return Ok(()) };
        let filter = &mut self.shown.filter;
        match by {
            CountedBy::Logger => filter.logger = name,
            CountedBy::Level => filter.level = logring::LogLevel::parse(&name),
            CountedBy::Host => filter.host = name,
            CountedBy::Process => filter.process = name,
        }
        self.filtered(has_ended)
    }

    /// Takes the typed text.
    fn accept(&mut self, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        let Prompt::Typed { question, text } = std::mem::replace(&mut self.prompt, Prompt::None)
        else {
            return Ok(());
        };
        let filter = &mut self.shown.filter;
        match question {
            Question::Search => {
                if !text.is_empty() {
                    self.searched = text;
                }
                return self.search(LogOrder::OldestFirst, has_ended);
            }
            Question::Time => return self.go_to(&text, has_ended),
            Question::Export => {
                self.export(&text, has_ended);
                return Ok(());
            }
            Question::Save => {
                self.notice = Some(match self.named.keep(text.trim(), &self.shown) {
                    Ok(()) => format!("kept as {}; f lists what is kept", text.trim()),
                    Err(why) => why,
                });
                return Ok(());
            }
            Question::Logger => filter.logger = text,
            Question::Host => filter.host = text,
            Question::Process => filter.process = text,
            Question::Text => {
                if let Err(why) = self.shown.set_text(&text) {
                    self.notice = Some(why);
                    return Ok(());
                }
            }
        }
        self.filtered(has_ended)
    }

    fn go_to(&mut self, text: &str, has_ended: &LooksForEnd<'_>) -> Result<(), ViewError> {
        let now = (self.present)(&self.zone);
        let moment = time_words::moment(text, &now).map_err(|error| error.to_string());
        let time_ns =
            moment.and_then(|given| given.before(&now).map_err(|error| error.to_string()));
        let time_ns = match time_ns {
            Ok(time_ns) => time_ns.max(0).cast_unsigned(),
            Err(why) => {
                self.notice = Some(why);
                return Ok(());
            }
        };
        self.follows = false;
        match self.read(has_ended, |_, reach| Window::at(reach, time_ns))? {
            Some(Some(window)) => self.window = window,
            Some(None) => {
                self.newest(has_ended)?;
                self.notice = Some("no record from then on; these are the newest".to_owned());
            }
            None => {}
        }
        Ok(())
    }

    fn export(&mut self, path: &str, has_ended: &LooksForEnd<'_>) {
        let path = match path.strip_prefix("~/") {
            Some(_) => Err("give the path without ~".to_owned()),
            None => Ok(PathBuf::from(path.trim())),
        };
        let done = path.and_then(|path: PathBuf| {
            let path: &Path = &path;
            export::write(path, &mut *self.origin, &self.shown, self.log_zone, has_ended)
        });
        self.notice = Some(match done {
            Ok(said) | Err(said) => said,
        });
    }

    /// Whether a column is hidden by the user.
    pub(crate) fn is_hidden(&self, column: Column) -> bool {
        let at = Column::ALL.iter().position(|one| *one == column).unwrap_or(0);
        self.hidden[at]
    }
}
