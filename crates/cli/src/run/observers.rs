//! Several observers as one: notices, progress lines, panels and statistics beside each other.

use std::time::Instant;

use run::Finished;
use run::engine::{Observer, Running, Status};

use super::arguments::WatchArguments;
use super::panel::Panel;
use super::record;
use super::stats::Stats;
use super::trace::Tracer;

/// Those that see the machine.
///
/// # Errors
///
/// What of it cannot be had here.
pub(crate) fn of(watch: &WatchArguments) -> anyhow::Result<Vec<Box<dyn Observer>>> {
    // Loading programs into the kernel takes its time, which is not the jobs'.
    let tracer = watch.trace.then(Tracer::begin).transpose()?;
    let recorder = watch.record.as_deref().map(record::Recorder::begin).transpose()?;
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    if let Some(recorder) = recorder {
        observers.push(Box::new(recorder));
    }
    if watch.watch {
        observers.push(Box::new(Panel::begin()));
    }
    if let Some(form) = watch.stats {
        observers.push(Box::new(Stats::begin(form)));
    }
    if let Some(tracer) = tracer {
        observers.push(Box::new(tracer));
    }
    Ok(observers)
}

/// Passes everything on to each, in order.
///
/// Notices stand last: whatever keeps lines on the terminal takes them away when it hears of a
/// notice, and draws them again at its next tick.
#[derive(Default)]
pub(crate) struct Observers(pub(crate) Vec<Box<dyn Observer>>);

impl Observer for Observers {
    fn started(&mut self, job: &Running<'_>) {
        self.0.iter_mut().for_each(|one| one.started(job));
    }

    fn ended(&mut self, finished: &Finished, status: &Status) {
        self.0.iter_mut().for_each(|one| one.ended(finished, status));
    }

    fn not_counted(&mut self, status: &Status) {
        self.0.iter_mut().for_each(|one| one.not_counted(status));
    }

    fn next_tick(&self) -> Option<Instant> {
        self.0.iter().filter_map(|one| one.next_tick()).min()
    }

    fn tick(&mut self, status: &Status, now: Instant) {
        for one in &mut self.0 {
            if one.next_tick().is_some_and(|at| at <= now) {
                one.tick(status, now);
            }
        }
    }

    fn tell(&mut self, text: &[u8]) {
        self.0.iter_mut().for_each(|one| one.tell(text));
    }

    fn show(&mut self, command: &[u8]) {
        self.0.iter_mut().for_each(|one| one.show(command));
    }

    fn toggle(&mut self, status: &Status) {
        self.0.iter_mut().for_each(|one| one.toggle(status));
    }

    fn stopping(&mut self) {
        self.0.iter_mut().for_each(|one| one.stopping());
    }

    fn over(&mut self, status: &Status) {
        self.0.iter_mut().for_each(|one| one.over(status));
    }
}
