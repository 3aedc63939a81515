//! The loop: waits for keys, signals and the time of the next sample, and draws.

use std::path::Path;
use std::time::Duration;

use feed::Motion;
use jiff::tz::TimeZone;
use ratatui_crossterm::crossterm::event::Event;
use sample::Meta;
use terminal::{TakenTerminal, TerminalEvent, TerminalKind};

use crate::app::{self, App, NextStep, SampleFeed};
use crate::clock::monotonic_ns;
use crate::error::TopError;
use crate::list::ListSettings;
use crate::screen::{self, Theme};

/// A screen of processes, before it is shown.
pub struct TopScreen(App);

impl TopScreen {
    /// The processes under `root`, which is `/` for this host; `meta` are its facts, `zone` is for
    /// displayed times.
    ///
    /// # Errors
    /// If there is no `/proc` under `root`.
    pub fn live(
        root: &Path,
        meta: Meta,
        zone: TimeZone,
        settings: ListSettings,
    ) -> Result<Self, TopError> {
        if !root.join("proc").is_dir() {
            return Err(TopError::NoProc(root.to_owned()));
        }
        let feed = SampleFeed::Live(Box::new(app::open_live(root, &settings)));
        let mut app = App::new(feed, meta, zone, settings);
        app.root = root.to_owned();
        Ok(TopScreen(app))
    }

    /// A recording, at its first sample that has rates or at `at`.  Of a folder
    /// the latest recording that has processes, and was begun before `at`; without a day `at` is the
    /// latest time of day before now.
    ///
    /// # Errors
    /// If it cannot be read or has no processes; if `at` is not a time.
    pub fn recorded(
        file: &Path,
        at: Option<&str>,
        zone: TimeZone,
        settings: ListSettings,
    ) -> Result<Self, TopError> {
        if file.is_dir() {
            return Self::recorded_in(file, at, &zone, &settings);
        }
        let (cursor, meta) = app::open_recording(file, zone)?;
        let motion = match at {
            Some(at) => Motion::At(cursor.moment(at, &app::present(cursor.zone.clone()))?),
            None => Motion::First,
        };
        let zone = cursor.zone.clone();
        let mut app = App::new(SampleFeed::Recorded(Box::new(cursor)), meta, zone, settings);
        app.paused = true;
        let failed = |source| TopError::Read { path: file.to_owned(), source: Box::new(source) };
        app.go(motion).map_err(failed)?;
        if at.is_none() {
            // The first sample has no rates.
            app.go(Motion::Forward)?;
        }
        Ok(TopScreen(app))
    }

    fn recorded_in(
        folder: &Path,
        at: Option<&str>,
        zone: &TimeZone,
        settings: &ListSettings,
    ) -> Result<Self, TopError> {
        let now = app::present(zone.clone());
        let at_ns = at.map(|at| feed::moment_before(at, &now)).transpose()?;
        let (mut recordings, _) = feed::find(&[folder.to_owned()], None, &now)?;
        // To the end of that second.
        let end_ns = at_ns.map_or(i64::MAX, |at_ns| at_ns.saturating_add(999_999_999));
        recordings.retain(|recording| recording.started_ns <= end_ns);
        recordings.sort_by_key(|recording| std::cmp::Reverse(recording.started_ns));
        let mut refused = None;
        for recording in recordings {
            let at = at_ns.map(|at_ns| feed::moment_text(at_ns, &recording.zone));
            match Self::recorded(&recording.path, at.as_deref(), zone.clone(), settings.clone()) {
                // A poller's recording has none.
                Err(error @ TopError::NoProcesses { .. }) => refused = refused.or(Some(error)),
                done => return done,
            }
        }
        let at = at.map(str::to_owned);
        Err(refused.unwrap_or_else(|| TopError::NothingBefore { folder: folder.to_owned(), at }))
    }

    /// Shows the screen until the user ends it, or `count` samples have been shown.
    ///
    /// # Errors
    /// If the terminal or the recording cannot be read.
    pub fn show(
        mut self,
        interval_seconds: f64,
        count: Option<u64>,
        kind: &TerminalKind,
    ) -> Result<(), TopError> {
        kind.check()?;
        self.0.interval_seconds = interval_seconds;
        show(&mut self.0, count, kind)
    }
}

/// Time from the first live sample to the second, so that rates are shown at once.
const FIRST_PAUSE_NS: u64 = 250_000_000;

/// Shows `app` until the user ends it, or `count` samples have been shown.
fn show(app: &mut App, count: Option<u64>, kind: &TerminalKind) -> Result<(), TopError> {
    let theme = Theme { colour: kind.has_colour(), ascii: kind.is_ascii() };
    let mut terminal = TakenTerminal::take_with_mouse()?;
    let mut left = count;
    let mut due_ns = monotonic_ns();
    if let SampleFeed::Live(_) = app.feed {
        app.tick()?;
        due_ns += FIRST_PAUSE_NS;
    }
    draw(app, &mut terminal, theme)?;
    loop {
        let waits = !app.paused;
        let timeout = waits.then(|| Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())));
        let next = match terminal.wait(timeout)? {
            TerminalEvent::Stop => NextStep::Quit,
            TerminalEvent::Redraw => NextStep::Redraw,
            TerminalEvent::Events(events) => events_done(&events, |event| app.event(event))?,
            TerminalEvent::Time if waits && monotonic_ns() >= due_ns => NextStep::Tick,
            TerminalEvent::Time => NextStep::Nothing,
        };
        match next {
            NextStep::Quit => return Ok(()),
            NextStep::Nothing => continue,
            NextStep::Draw => {}
            NextStep::Redraw => terminal.clear()?,
            NextStep::Suspend => terminal.suspend()?,
            NextStep::Tick => {
                if !app.tick()? {
                    app.paused = true;
                }
                // Reopened sources have no rates before their second sample.
                due_ns = match app.readings.history.ticks() {
                    1 => monotonic_ns() + FIRST_PAUSE_NS,
                    _ => next_tick(due_ns, app.interval_seconds),
                };
                if let Some(left) = &mut left {
                    *left = left.saturating_sub(1);
                }
            }
        }
        draw(app, &mut terminal, theme)?;
        if left == Some(0) {
            return Ok(());
        }
    }
}

/// The time of the next tick: an interval later, or from now if one was missed.
fn next_tick(due_ns: u64, seconds: f64) -> u64 {
    let interval_ns = (seconds * 1e9) as u64;
    let next_ns = due_ns.saturating_add(interval_ns);
    let now_ns = monotonic_ns();
    if next_ns > now_ns && next_ns - now_ns <= interval_ns {
        next_ns
    } else {
        now_ns.saturating_add(interval_ns)
    }
}

/// Handles all events by `handle`; returns the loop's next step: quit, the last step that is not a redraw, or a
/// redraw.
pub(crate) fn events_done(
    events: &[Event],
    mut handle: impl FnMut(&Event) -> Result<NextStep, TopError>,
) -> Result<NextStep, TopError> {
    let mut next = NextStep::Nothing;
    for event in events {
        match handle(event)? {
            NextStep::Nothing => {}
            NextStep::Draw if next != NextStep::Nothing => {}
            NextStep::Quit => return Ok(NextStep::Quit),
            other => next = other,
        }
    }
    Ok(next)
}

fn draw(app: &mut App, terminal: &mut TakenTerminal, theme: Theme) -> Result<(), TopError> {
    terminal.screen.draw(|frame| screen::draw(app, frame.buffer_mut(), theme))?;
    if let SampleFeed::Live(live) = &app.feed {
        // One wait, three calls for the terminal's size, one write.
        live.counters().calls.add(CALLS_A_SCREEN);
    }
    Ok(())
}

/// System calls for drawing: the wait, three for the terminal's size, a write.
const CALLS_A_SCREEN: u64 = 5;
