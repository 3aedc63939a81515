//! `whit run`: many jobs at once, by GNU parallel's command line.
//!
//! Exit codes are parallel's: 0 all jobs succeeded; 1 to 100 so many failed, 101 more than that;
//! 255 something else went wrong.

use std::process::ExitCode;

pub(crate) use crate::run::arguments::RunArguments;
pub(crate) use crate::run::exit::FAILURE;
use crate::run::{exit, plan, semaphore};

/// Runs the jobs.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    if arguments.semaphore.is_asked() {
        return semaphore::run(arguments);
    }
    exit::as_jobs_did(plan::prepare(arguments)?.run(), |summary| summary.exit_code)
}
