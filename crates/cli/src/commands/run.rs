//! `whit run`: many jobs at once, by GNU parallel's command line.
//!
//! Exit codes are parallel's: 0 all jobs did well; 1 to 100 so many did not, 101 more than that;
//! 255 something else went wrong.

use std::process::ExitCode;

use run::collect::CollectError;
use run::engine::EngineError;

pub(crate) use crate::run::arguments::RunArguments;
use crate::run::{plan, semaphore, signals};

/// What everything that is not a job's failure ends with.
pub(crate) const FAILURE: u8 = 255;

/// Runs the jobs.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    if semaphore::is_asked(&arguments.semaphore) {
        return semaphore::run(arguments);
    }
    let prepared = plan::prepare(arguments)?;
    match prepared.run() {
        Ok(summary) if summary.signal != 0 => signals::die_of(summary.signal),
        Ok(summary) => Ok(ExitCode::from(summary.exit_code)),
        // Whoever read our output has had enough, which is their good right.
        Err(EngineError::Collect(CollectError::ReaderGone)) => signals::die_of(libc::SIGPIPE),
        Err(error) => Err(error.into()),
    }
}
