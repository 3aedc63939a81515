//! The observers of the jobs, for `--record`, `--watch`, `--stats`, `--trace` and the progress options.

use std::io::{Stderr, stderr};
use std::time::Instant;

use run::engine::Observer;
use run::hosts::Warnings;
use run::observers::{Notices, Observers, Panel, ProgressLine, ProgressOptions, Statistics};
use run::settings::RunSettings;
use run::setup::{self, Prepared};

use super::arguments::WatchArguments;
use super::record;
use super::trace::Tracer;

/// Prepares the jobs and their observers.
///
/// # Errors
///
/// Why that is not possible.
pub(crate) fn prepare(
    settings: RunSettings,
    watch: &WatchArguments,
) -> anyhow::Result<(Prepared, Observers)> {
    let wants_details = watch.stats.is_some() || settings.output.joblog_json.is_some();
    let mut prepared = setup::prepare(settings, &warnings())?;
    let observers = of(watch, prepared.progress())?;
    if wants_details {
        // Until its execve(2) the kernel counts our pages for a job: the fewer, the smaller the jobs that
        // can be measured.
        heap::return_program();
        prepared.inspect_exits();
    }
    Ok((prepared, observers))
}

/// All observers.  Notices come last: an observer that keeps lines on the terminal removes them
/// when it gets a warning, and draws them again at its next tick.
///
/// # Errors
///
/// When something cannot be observed here.
fn of(watch: &WatchArguments, progress: ProgressOptions) -> anyhow::Result<Observers> {
    // Loading BPF programs takes time that does not belong to the jobs.
    let tracer = watch.trace.then(Tracer::begin).transpose()?;
    let recorder = watch.record.as_deref().map(record::Recorder::begin).transpose()?;
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    if let Some(recorder) = recorder {
        observers.push(Box::new(recorder));
    }
    if watch.watch {
        observers.push(Box::new(Panel::begin(Box::new(stderr()), terminal_size, Instant::now)));
    }
    if let Some(format) = watch.stats {
        let out = Box::new(stderr());
        observers.push(Box::new(Statistics::begin(format, out, Instant::now)));
    }
    if let Some(tracer) = tracer {
        observers.push(Box::new(tracer));
    }
    let out = Box::new(stderr());
    observers.push(Box::new(ProgressLine::new(progress, out, terminal_size, Instant::now)));
    observers.push(Box::new(Notices::new(Box::new(stderr()))));
    Ok(Observers(observers))
}

/// Warnings that do not come from the engine.
fn warnings() -> Warnings {
    Warnings::new(|text| Notices::new(Box::new(stderr())).warn(text.as_bytes()))
}

/// Columns and rows of the terminal that standard error is; `None` if it is none.
fn terminal_size() -> Option<(u16, u16)> {
    let size = terminal_size::terminal_size_of::<Stderr>(stderr())?;
    let (terminal_size::Width(columns), terminal_size::Height(rows)) = size;
    (columns > 0).then_some((columns, rows))
}
