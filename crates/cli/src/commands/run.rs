//! `whit run`: many jobs at once, by GNU parallel's command line.
//!
//! Exit codes are those of parallel: 0 all jobs succeeded; 1 to 100 the number of failed jobs, 101
//! more than 100; 255 another error.

use std::process::ExitCode;

pub(crate) use crate::run::arguments::RunArguments;
pub(crate) use crate::run::exit::FAILURE;
use crate::run::{exit, observers, semaphore, settings};

/// Runs the jobs.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    if arguments.semaphore.is_asked() {
        return semaphore::run(arguments);
    }
    let settings = settings::with_words(arguments.settings, arguments.words);
    let (prepared, mut observers) = observers::prepare(settings, &arguments.watch)?;
    let done = prepared.run(&mut observers);
    drop(observers);
    exit::as_jobs_did(done, |summary| summary.exit_code)
}
