//! The loop: waits for keys, signals and new records, and draws.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use log_format::LogZone;
use log_protocol::clock;
use log_store::query::Filter;
use ratatui_core::buffer::Buffer;
use ratatui_crossterm::crossterm::event::Event;
use terminal::{TakenTerminal, TerminalEvent, TerminalKind, Theme};

use crate::acs_file::{self, PassedRecords};
use crate::app::{App, NextStep, Present};
use crate::central::{CentralOrigin, Connect};
use crate::error::ViewError;
use crate::filters::{NamedFilters, ShownRecords};
use crate::origin::LogOrigin;
use crate::screen;
use crate::store::StoreOrigin;

/// How long a key may take before the screen says that it reads.
const SILENCE: Duration = Duration::from_millis(300);

/// What a viewer needs to know of its user.
pub struct ViewSettings {
    /// Which records are shown at the start.
    pub filter: Filter,
    /// The filter that was kept under this name, instead.
    pub named: Option<String>,
    /// The file in which filters are kept.
    pub filters: PathBuf,
    /// Whether new records are shown as they come.
    pub follows: bool,
    /// For times that are typed.
    pub zone: TimeZone,
    /// For times that are shown.
    pub log_zone: LogZone,
    /// The present, in a zone.
    pub present: Present,
}

/// A screen of records, before it is shown.
pub struct LogScreen {
    app: App,
    /// The scratch folder of a file that was read, until the screen ends.
    _folder: Option<tempfile::TempDir>,
}

impl LogScreen {
    /// The records of a store's folder, or of a file with ACS's XML, which is read into a folder below
    /// `scratch` first.  Also what was in a file beside records.
    ///
    /// # Errors
    /// If it cannot be read or is neither; if no filter has the name that is asked for.
    pub fn open(
        path: &Path,
        scratch: &Path,
        settings: ViewSettings,
    ) -> Result<(Self, PassedRecords), ViewError> {
        let failed = |source| ViewError::Io { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            if !log_store::is_store(path) {
                return Err(ViewError::NoRecords(path.to_owned()));
            }
            let origin = StoreOrigin::new(path, path.display().to_string(), true);
            return Ok((Self::new(Box::new(origin), settings, None)?, PassedRecords::default()));
        }
        if !acs_file::is_xml(path).map_err(failed)? {
            return Err(ViewError::NoRecords(path.to_owned()));
        }
        let file = acs_file::read(path, scratch, &|| false)?;
        let screen = Self::new(Box::new(file.origin), settings, Some(file.folder))?;
        Ok((screen, file.passed))
    }

    /// The records of a central server.
    ///
    /// # Errors
    /// If no filter has the name that is asked for.
    pub fn central(
        address: String,
        connect: Connect,
        settings: ViewSettings,
    ) -> Result<Self, ViewError> {
        Self::new(Box::new(CentralOrigin::new(address, connect)), settings, None)
    }

    fn new(
        origin: Box<dyn LogOrigin>,
        settings: ViewSettings,
        folder: Option<tempfile::TempDir>,
    ) -> Result<Self, ViewError> {
        let named = NamedFilters::read(&settings.filters)?;
        let shown = match &settings.named {
            Some(name) => named.named(name)?,
            None => ShownRecords { filter: settings.filter, typed: String::new() },
        };
        let zones = (settings.zone, settings.log_zone, settings.present);
        let mut app = App::new(origin, (shown, named), zones);
        app.follows = settings.follows && app.origin.pause().is_some();
        Ok(LogScreen { app, _folder: folder })
    }

    /// Shows the screen until the user ends it.
    ///
    /// # Errors
    /// If there is no terminal, or records cannot be read.
    pub fn show(mut self, kind: &TerminalKind) -> Result<(), ViewError> {
        kind.check()?;
        // What cannot be read at all is said on the terminal as it was.
        self.app.newest(&|| false)?;
        if let (Some(why), true) = (&self.app.notice, self.app.window.rows.is_empty()) {
            return Err(ViewError::Central(why.clone()));
        }
        show(&mut self.app, kind)
    }
}

/// Shows `app` until the user ends it.
fn show(app: &mut App, kind: &TerminalKind) -> Result<(), ViewError> {
    let theme = Theme { colour: kind.has_colour(), ascii: kind.is_ascii() };
    let terminal = RefCell::new(TakenTerminal::take()?);
    let drawn = LastDrawn::default();
    let has_ended = || {
        let mut terminal = terminal.borrow_mut();
        drawn.say_that_it_reads(&mut terminal, theme);
        terminal.is_interrupted()
    };
    loop {
        drawn.draw(app, &mut terminal.borrow_mut(), theme)?;
        let step = loop {
            let pause = app.origin.pause().filter(|_| app.follows);
            let event = terminal.borrow_mut().wait(pause)?;
            drawn.begin(!matches!(event, TerminalEvent::Time));
            let step = match event {
                TerminalEvent::Stop => NextStep::Quit,
                TerminalEvent::Redraw => NextStep::Redraw,
                TerminalEvent::Events(events) => events_done(app, &events, &has_ended)?,
                TerminalEvent::Time if app.tick(&has_ended)? => NextStep::Draw,
                TerminalEvent::Time => NextStep::Nothing,
            };
            if step != NextStep::Nothing {
                break step;
            }
        };
        match step {
            NextStep::Quit => return Ok(()),
            NextStep::Redraw => terminal.borrow_mut().clear()?,
            NextStep::Suspend => terminal.borrow_mut().suspend()?,
            NextStep::Draw | NextStep::Nothing => {}
        }
    }
}

/// Handles all events; returns the loop's next step.
fn events_done(
    app: &mut App,
    events: &[Event],
    has_ended: &crate::origin::LooksForEnd<'_>,
) -> Result<NextStep, ViewError> {
    let mut next = NextStep::Nothing;
    for event in events {
        match app.event(event, has_ended)? {
            NextStep::Nothing => {}
            NextStep::Draw if next != NextStep::Nothing => {}
            NextStep::Quit => return Ok(NextStep::Quit),
            other => next = other,
        }
    }
    Ok(next)
}

/// What was drawn last, for a message while something is read: the app is busy then.
#[derive(Default)]
struct LastDrawn {
    screen: RefCell<Buffer>,
    /// When the key was taken that is worked on; `None`: no key, or it is said already.
    since: Cell<Option<Instant>>,
}

impl LastDrawn {
    fn draw(
        &self,
        app: &mut App,
        terminal: &mut TakenTerminal,
        theme: Theme,
    ) -> Result<(), ViewError> {
        let drawn = terminal.screen.draw(|frame| {
            screen::draw(app, frame.buffer_mut(), theme);
            self.screen.borrow_mut().clone_from(frame.buffer_mut());
        });
        drawn.map(drop).map_err(|error| ::terminal::TerminalError::from(error).into())
    }

    /// Work begins, which the user waits for or not.
    fn begin(&self, is_awaited: bool) {
        self.since.set(is_awaited.then(clock::now));
    }

    /// Says it once if the work takes long.
    fn say_that_it_reads(&self, terminal: &mut TakenTerminal, theme: Theme) {
        if self.since.get().is_none_or(|since| clock::now() - since < SILENCE) {
            return;
        }
        self.since.set(None);
        let screen = self.screen.borrow();
        // A terminal that cannot be drawn on is told of by the next draw.
        let _ = terminal.screen.draw(|frame| {
            let buffer = frame.buffer_mut();
            if buffer.area == screen.area {
                buffer.clone_from(&*screen);
                screen::busy(buffer, theme);
            }
        });
    }
}
