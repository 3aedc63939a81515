//! `whit top --hosts`: a line for each of many hosts, and the processes of one of them.
//!
//! Each host runs `whit record --stream`, started by ssh (`many_hosts`): the list asks it for `cpu`, `memory`,
//! `pressure`, `disk` and `network`, which is some 250 bytes a sample; processes are asked for only of the
//! host whose screen is open, by a second login.  `state` keeps the latest two samples of each host,
//! `columns` says what is shown of them, `view` holds the list and handles keys, `draw` draws it, `one` is
//! the screen of one host.  Here is the loop.
//!
//! Cost: two threads a host that wait for its ssh, and a screen for each interval, since all hosts sample
//! at the same times.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use many_hosts::{HostEvent, HostsRecorded, HostsStop, RemoteHostsError};
use ratatui_core::buffer::Buffer;
use terminal::{TakenTerminal, TerminalEvent, TerminalKind, Theme};

use crate::app::NextStep;
use crate::clock::monotonic_ns;
use crate::error::TopError;
use crate::list::ListSettings;
use crate::show::events_done;

mod columns;
mod draw;
mod one;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use columns::HostColumn;
use view::HostsView;

/// The subsystems of the list: CPUs, memory, pressure, disks, networks.
const OF_LIST: &str = "cmpdn";

/// Subsystems of the screen of one host: processes and the recorder's own cost, too.
const OF_ONE: &str = "cmpdnwZ";

/// The shortest time between two screens: samples of one moment come from many hosts one after another.
const DRAW_NS: u64 = 100_000_000;

/// How often silence is looked at.
const LOOK_NS: u64 = 1_000_000_000;

/// What is shown of hosts.
#[derive(Clone, Debug)]
pub struct HostsSettings {
    /// Seconds between the samples of each host.
    pub interval_seconds: f64,
    /// What the hosts are sorted by.
    pub sort: HostColumn,
    /// How the processes of a host are listed.
    pub list: ListSettings,
    /// The zone of the times shown.
    pub zone: TimeZone,
}

/// A screen of hosts, before it is shown.
pub struct HostsScreen(HostsView);

impl HostsScreen {
    /// The hosts of a text as `a,b,web[1-3]`; `ssh` logs in, `ssh` that asks no questions if there is none.
    ///
    /// # Errors
    /// If the hosts are none.
    pub fn new(
        hosts: &str,
        ssh: Option<&str>,
        settings: HostsSettings,
    ) -> Result<Self, RemoteHostsError> {
        let words = words(OF_LIST, &settings);
        let hosts = HostsRecorded::new((hosts, ssh), &words)?.without_questions();
        Ok(HostsScreen(HostsView::new(hosts, settings)))
    }

    /// Shows the screen until the user ends it, or until a host has sent `count` samples after its first, or
    /// none will send one any more.
    ///
    /// # Errors
    /// If the terminal cannot be used, or a thread cannot be started.
    pub fn show(self, count: Option<u64>, kind: &TerminalKind) -> Result<(), TopError> {
        kind.check()?;
        let theme = Theme { colour: kind.has_colour(), ascii: kind.is_ascii() };
        let HostsScreen(mut view) = self;
        let mut terminal = TakenTerminal::take()?;
        let recorders = view.start()?;
        let mut drawn_ns = 0;
        loop {
            // What has come is shown as soon as a screen may be drawn; silence is looked at without it.
            let pause_ns = if view.has_news() { DRAW_NS } else { LOOK_NS };
            let wait = Duration::from_nanos((drawn_ns + pause_ns).saturating_sub(monotonic_ns()));
            let next = match terminal.wait(Some(wait))? {
                TerminalEvent::Stop => NextStep::Quit,
                TerminalEvent::Redraw => NextStep::Redraw,
                TerminalEvent::Events(events) => events_done(&events, |event| view.event(event))?,
                TerminalEvent::Time if wait.is_zero() => NextStep::Tick,
                TerminalEvent::Time => NextStep::Nothing,
            };
            match next {
                NextStep::Quit => break,
                NextStep::Nothing => continue,
                NextStep::Draw => {}
                NextStep::Redraw => terminal.clear()?,
                NextStep::Suspend => terminal.suspend()?,
                NextStep::Tick => view.refresh()?,
            }
            terminal.screen.draw(|frame| draw_screen(&mut view, frame.buffer_mut(), theme))?;
            if next == NextStep::Tick {
                drawn_ns = monotonic_ns();
            }
            if count.is_some_and(|count| view.has_shown(count)) {
                break;
            }
        }
        drop(recorders);
        Ok(())
    }
}

/// Draws the hosts, or the one whose screen is open.
fn draw_screen(view: &mut HostsView, buffer: &mut Buffer, theme: Theme) {
    match &mut view.one {
        Some(one) => one.draw(buffer, theme),
        None => draw::draw(view, buffer, theme),
    }
}

/// A host is silent when it has sent nothing for three intervals, and for as many seconds.
fn silent_seconds(interval_seconds: f64) -> f64 {
    (interval_seconds * 3.0).max(3.0)
}

/// The words of `whit record` on a host.  All hosts sample at multiples of the interval: a line and the one
/// below it are of the same moment.
fn words(subsystems: &str, settings: &HostsSettings) -> Vec<OsString> {
    let seconds = settings.interval_seconds;
    let interval = format!("{seconds}:{seconds}");
    ["-s", subsystems, "-i", &interval, "--align", "--quiet"].map(OsString::from).into()
}

/// Recorders on hosts, until this is dropped.
pub(crate) struct Recorders(HostsStop);

impl Recorders {
    /// Starts them; `take` gets what happens in a thread of its own, and at the end `None`.
    fn start(
        hosts: Arc<HostsRecorded>,
        mut take: impl FnMut(Option<HostEvent>) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = HostsStop::default();
        let own = stop.clone();
        thread::Builder::new().name("hosts".to_owned()).spawn(move || {
            let ended: Result<(), RemoteHostsError> = hosts.run(&own, &mut |event| {
                take(Some(event));
                Ok(())
            });
            // A thread that cannot be started ends all of them.
            if let Err(error) = ended {
                for number in 0..hosts.names().len() {
                    take(Some(HostEvent::Failed(number, error.to_string(), false)));
                }
            }
            take(None);
        })?;
        Ok(Recorders(stop))
    }
}

impl Drop for Recorders {
    fn drop(&mut self) {
        self.0.stop();
    }
}
