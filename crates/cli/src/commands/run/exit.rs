//! How `whit run` ends: its exit codes, and ending by a signal, so that the parent sees which.

use std::process::ExitCode;

use run::collect::CollectError;
use run::engine::{EngineError, RunOutcome};

/// The exit code for errors other than failed jobs.
pub(crate) const FAILURE: u8 = 255;

/// Exits as the jobs did; `code` computes the exit code.
pub(crate) fn as_jobs_did(
    done: Result<RunOutcome, EngineError>,
    code: impl FnOnce(&RunOutcome) -> u8,
) -> anyhow::Result<ExitCode> {
    match done {
        Ok(summary) if summary.signal != 0 => die_of(summary.signal),
        Ok(summary) => Ok(ExitCode::from(code(&summary))),
        // The reader of our output has closed it, as `head` does: no error.
        Err(EngineError::Collect(CollectError::ReaderGone)) => die_of(libc::SIGPIPE),
        Err(error) => Err(error.into()),
    }
}

/// Kills this process by `signal`, with its default action.
fn die_of(signal: i32) -> anyhow::Result<ExitCode> {
    // SAFETY: plain calls; the set is valid once sigemptyset has written it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
    // A signal that does not end a process: by number, as shells do.
    Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)))
}
