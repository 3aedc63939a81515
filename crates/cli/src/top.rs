//! `whit top`: processes on a terminal, of this machine or of a recording.
//!
//! `feed` gives samples, `model` orders them, `screen` draws them, `keys` says what is meant,
//! `app` holds it together and knows no terminal; `terminal` is the only one that does.
//!
//! Cost: one pass over the tasks a tick, one number a process to sort by, text for the lines on
//! the screen, and as many bytes to the terminal as changed.

use std::time::Duration;

use procfs::SystemClock;
use sample::Clock as _;

mod app;
mod columns;
mod ended;
mod fields;
mod format;
mod keys;
mod kill;
mod machine;
mod model;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use app::{App, Samples, interval, open, open_recording};
pub(crate) use columns::Column;
pub(crate) use model::Settings;
pub(crate) use terminal::check;
pub(crate) use values::Grouping;

use app::Then;
use screen::Theme;
use terminal::{Ours, Wake};

/// Time from the first sample of this machine to the second, so that rates are there at once.
const FIRST_PAUSE_NS: u64 = 250_000_000;

/// Shows `app` until the user ends it, or `count` samples have been shown.
///
/// # Errors
/// Those of the terminal and of the recording.
pub(crate) fn show(app: &mut App, count: Option<u64>) -> anyhow::Result<()> {
    let theme = Theme { colour: terminal::has_colour(), ascii: terminal::is_ascii() };
    let mut ours = Ours::take()?;
    let mut left = count;
    let mut due_ns = now_ns();
    if let Samples::Live(_) = app.feed {
        app.tick()?;
        due_ns += FIRST_PAUSE_NS;
    }
    draw(app, &mut ours, theme)?;
    loop {
        let waits = !app.paused;
        let timeout = waits.then(|| Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        let then = match ours.wait(timeout)? {
            Wake::Stop => Then::Quit,
            Wake::Redraw => Then::Redraw,
            Wake::Events(events) => events_done(app, &events)?,
            Wake::Time if waits && now_ns() >= due_ns => Then::Tick,
            Wake::Time => Then::Nothing,
        };
        match then {
            Then::Quit => return Ok(()),
            Then::Nothing => continue,
            Then::Draw => {}
            Then::Redraw => ours.clear()?,
            Then::Suspend => ours.suspend()?,
            Then::Tick => {
                if !app.tick()? {
                    app.paused = true;
                }
                // Sources that were opened anew have no rates before their second sample.
                due_ns = match app.scene.history.ticks() {
                    1 => now_ns() + FIRST_PAUSE_NS,
                    _ => next(due_ns, app.interval_seconds),
                };
                if let Some(left) = &mut left {
                    *left = left.saturating_sub(1);
                }
            }
        }
        draw(app, &mut ours, theme)?;
        if left == Some(0) {
            return Ok(());
        }
    }
}

/// The clock that ticks go by, in nanoseconds.
fn now_ns() -> u64 {
    SystemClock.now().monotonic_ns
}

/// The next tick: a whole number of intervals on, or from now where one was missed.
fn next(due_ns: u64, seconds: f64) -> u64 {
    let interval_ns = (seconds * 1e9) as u64;
    let next_ns = due_ns.saturating_add(interval_ns);
    let now_ns = now_ns();
    if next_ns > now_ns && next_ns - now_ns <= interval_ns {
        next_ns
    } else {
        now_ns.saturating_add(interval_ns)
    }
}

/// Does what all events ask for, and what the most far-reaching of them leaves to the loop.
fn events_done(
    app: &mut App,
    events: &[ratatui_crossterm::crossterm::event::Event],
) -> anyhow::Result<Then> {
    let mut then = Then::Nothing;
    for event in events {
        match app.event(event)? {
            Then::Nothing => {}
            Then::Draw if then != Then::Nothing => {}
            Then::Quit => return Ok(Then::Quit),
            other => then = other,
        }
    }
    Ok(then)
}

fn draw(app: &mut App, ours: &mut Ours, theme: Theme) -> anyhow::Result<()> {
    ours.screen.draw(|frame| screen::draw(app, frame.buffer_mut(), theme))?;
    if let Samples::Live(live) = &app.feed {
        // The wait, the terminal's size (which is asked of the terminal itself), the write.
        live.counters().calls.add(CALLS_A_SCREEN);
    }
    Ok(())
}

/// System calls that a screen takes: the wait, three for the terminal's size, a write.
const CALLS_A_SCREEN: u64 = 5;
