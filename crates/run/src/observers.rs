//! What is shown while jobs run and when they have ended: warnings, progress lines, a panel,
//! statistics; and several observers as one.
//!
//! Nothing here knows standard error or the terminal: output goes to a `Write`, and the caller passes
//! in the terminal's size and the time.

use std::time::Instant;

use crate::engine::{Observer, RunStatus, RunningJob};
use crate::job::JobResult;

mod machine;
mod notices;
mod panel;
mod progress_line;
mod quantiles;
mod statistics;

pub use notices::Notices;
pub use panel::Panel;
pub use progress_line::{ProgressLine, ProgressOptions};
pub use statistics::{Statistics, StatisticsFormat};

/// Returns the current time.
pub type Clock = fn() -> Instant;

/// Returns columns and rows of the terminal that is written to; `None` if it is not a terminal.
pub type TerminalSize = fn() -> Option<(u16, u16)>;

/// Passes all events on to each observer, in order.
///
/// Notices come last: observers that keep lines on the terminal remove them when they get a notice,
/// and draw them again at their next tick.
#[derive(Default)]
pub struct Observers(pub Vec<Box<dyn Observer>>);

impl Observer for Observers {
    fn job_started(&mut self, job: &RunningJob<'_>) {
        self.0.iter_mut().for_each(|one| one.job_started(job));
    }

    fn job_ended(&mut self, finished: &JobResult, status: &RunStatus) {
        self.0.iter_mut().for_each(|one| one.job_ended(finished, status));
    }

    fn not_counted(&mut self, status: &RunStatus) {
        self.0.iter_mut().for_each(|one| one.not_counted(status));
    }

    fn next_tick(&self) -> Option<Instant> {
        self.0.iter().filter_map(|one| one.next_tick()).min()
    }

    fn tick(&mut self, status: &RunStatus, now: Instant) {
        for one in &mut self.0 {
            if one.next_tick().is_some_and(|at| at <= now) {
                one.tick(status, now);
            }
        }
    }

    fn warn(&mut self, text: &[u8]) {
        self.0.iter_mut().for_each(|one| one.warn(text));
    }

    fn show_command(&mut self, command: &[u8]) {
        self.0.iter_mut().for_each(|one| one.show_command(command));
    }

    fn toggle(&mut self, status: &RunStatus) {
        self.0.iter_mut().for_each(|one| one.toggle(status));
    }

    fn before_stop(&mut self) {
        self.0.iter_mut().for_each(|one| one.before_stop());
    }

    fn all_ended(&mut self, status: &RunStatus) {
        self.0.iter_mut().for_each(|one| one.all_ended(status));
    }
}
