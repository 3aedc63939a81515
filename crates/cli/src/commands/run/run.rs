//! Runs the jobs, or the one command of a semaphore.

use std::process::ExitCode;

use super::{RunArguments, exit, observers, semaphore, settings};

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
