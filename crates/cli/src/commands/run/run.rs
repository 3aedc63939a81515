//! Runs the jobs, or the one command of a semaphore.

use std::io::Write as _;
use std::process::ExitCode;

use run::information::information;

use super::{RunArguments, exit, observers, semaphore, settings};

/// Runs the jobs.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    if let Some(asked) = information(&arguments.settings.information) {
        std::io::stdout().write_all(asked.text.as_bytes())?;
        if let Some(code) = asked.exit_code {
            return Ok(ExitCode::from(code));
        }
    }
    if arguments.semaphore.is_asked() {
        return semaphore::run(arguments);
    }
    let settings = settings::with_words(arguments.settings, arguments.words);
    let (prepared, mut observers) = observers::prepare(settings, &arguments.watch)?;
    let done = prepared.run(&mut observers);
    drop(observers);
    exit::as_jobs_did(done, |summary| summary.exit_code)
}
