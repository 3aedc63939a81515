//! The screen of one host: `whit top` of samples that come from there.

use std::io;
use std::sync::Arc;

use many_hosts::HostsRecorded;
use ratatui_core::buffer::Buffer;
use ratatui_crossterm::crossterm::event::Event;
use sample::{Meta, SourceDef};
use terminal::{Canvas, Edit, Theme};

use super::{HostsSettings, OF_ONE, Recorders, words};
use crate::app::{App, NextStep, SampleFeed};
use crate::clock::monotonic_ns;
use crate::error::TopError;
use crate::keys::{self, Action};
use crate::remote::{Queue, RemoteFeed, arrive, with};
use crate::screen;

/// The host whose screen is open.
pub(crate) struct OneHost {
    name: String,
    settings: HostsSettings,
    queue: Queue,
    app: Option<App>,
    /// Why there is no screen yet.
    waits: String,
    /// Ends its recorder when this is dropped.
    _recorders: Recorders,
}

impl OneHost {
    /// Starts a recorder of processes on a host.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn open(
        (hosts, number, name): (&HostsRecorded, usize, &str),
        settings: &HostsSettings,
    ) -> io::Result<Self> {
        let queue = Queue::default();
        let own = queue.clone();
        let hosts = Arc::new(hosts.only(number, &words(OF_ONE, settings)));
        let recorders = Recorders::start(hosts, move |event| {
            arrive(&mut with(&own), event);
            terminal::wake();
        })?;
        Ok(OneHost {
            name: name.to_owned(),
            settings: settings.clone(),
            queue,
            app: None,
            waits: "whit is started there".to_owned(),
            _recorders: recorders,
        })
    }

    /// Whether something has come that is not shown.
    pub(crate) fn has_news(&self) -> bool {
        let arrived = with(&self.queue);
        let is_paused = self.app.as_ref().is_some_and(|app| app.paused);
        arrived.begun.is_some()
            || arrived.failure.is_some()
            || !is_paused && !arrived.samples.is_empty()
    }

    /// Takes what has come, unless the screen is paused.
    ///
    /// # Errors
    /// None that a feed of another host gives; those of the screen.
    pub(crate) fn refresh(&mut self) -> Result<(), TopError> {
        let (begun, failure) = {
            let mut arrived = with(&self.queue);
            (arrived.begun.take(), arrived.failure.take())
        };
        if let Some((meta, defs)) = begun {
            self.begin(meta, defs);
        }
        let Some(app) = &mut self.app else {
            self.waits = failure.unwrap_or_else(|| std::mem::take(&mut self.waits));
            return Ok(());
        };
        if let Some(why) = failure {
            app.notice = Some(format!("{}: {why}", self.name));
        }
        if !app.paused {
            app.tick()?;
        }
        Ok(())
    }

    /// A screen for a recorder that has begun, which looks as the one before it.
    fn begin(&mut self, meta: Meta, defs: Vec<Arc<SourceDef>>) {
        let before = self.app.take();
        let list = before.as_ref().map_or(&self.settings.list, |app| &app.list.settings);
        let feed = SampleFeed::Remote(RemoteFeed {
            name: self.name.clone(),
            defs,
            queue: self.queue.clone(),
        });
        let mut app = App::new(feed, meta, self.settings.zone.clone(), list.clone());
        app.interval_seconds = self.settings.interval_seconds;
        app.shows_machine = before.is_none_or(|before| before.shows_machine);
        self.app = Some(app);
    }

    /// Handles an event; [`NextStep::Quit`] is the end of this screen.
    ///
    /// # Errors
    /// Those of the screen.
    pub(crate) fn event(&mut self, event: &Event) -> Result<NextStep, TopError> {
        match &mut self.app {
            Some(app) => app.event(event),
            None if terminal::edit(event) == Some(Edit::Cancel) => Ok(NextStep::Quit),
            None => Ok(match keys::action(event, false) {
                Some(Action::Quit) => NextStep::Quit,
                Some(Action::Suspend) => NextStep::Suspend,
                Some(Action::Redraw) => NextStep::Redraw,
                _ => NextStep::Nothing,
            }),
        }
    }

    /// Draws the screen, or why there is none yet.
    pub(crate) fn draw(&mut self, buffer: &mut Buffer, theme: Theme) {
        let silent = self.silent_seconds();
        let Some(app) = &mut self.app else {
            let mut canvas = Canvas::new(buffer, theme);
            let text = format!("{}: {}; q goes back to the hosts", self.name, self.waits);
            canvas.put(0, 0, &text, theme.strong());
            return;
        };
        if let Some(seconds) = silent.filter(|_| !app.paused && app.notice.is_none()) {
            app.notice = Some(format!("{}: no sample for {seconds:.0} s", self.name));
            screen::draw(app, buffer, theme);
            app.notice = None;
        } else {
            screen::draw(app, buffer, theme);
        }
    }

    /// For how long the host has sent nothing, if that is long.
    fn silent_seconds(&self) -> Option<f64> {
        let heard_ns = with(&self.queue).heard_ns;
        let seconds = monotonic_ns().saturating_sub(heard_ns) as f64 / 1e9;
        (heard_ns > 0 && seconds >= super::silent_seconds(self.settings.interval_seconds))
            .then_some(seconds)
    }
}
