//! When jobs start and end: `-j`, `--delay`, `--timeout`, `--halt`, `--limit` and their company.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Context as _;
use run::schedule::{Delay, Halt, Jobs, Limit, Load, Options, TermSequence, Timeout};
use run::units;

use super::command::{Started, shell_words};
use crate::run::arguments::ScheduleArguments;

/// What the schedule is told.
pub(super) fn options(schedule: &ScheduleArguments) -> anyhow::Result<Options> {
    let mut options = Options::default();
    if let Some(text) = &schedule.jobs {
        options.jobs = Jobs::parse(text)?;
    }
    if let Some(text) = &schedule.delay {
        options.delay = Some(Delay::parse(text).with_context(|| format!("--delay {text}"))?);
    }
    if let Some(text) = &schedule.timeout {
        let timeout = Timeout::parse(text);
        options.timeout = Some(timeout.with_context(|| format!("--timeout {text}"))?);
    }
    options.retries = schedule.retries;
    if let Some(text) = &schedule.halt {
        options.halt = Halt::parse(text)?;
    }
    if let Some(text) = &schedule.term_seq {
        options.term_sequence = TermSequence::parse(text)?;
    }
    options.load = schedule.load.as_deref().map(Load::parse).transpose()?;
    let size = |name: &str, text: &Option<String>| {
        let read = |text: &String| units::size(text).with_context(|| format!("{name} {text}"));
        text.as_ref().map(read).transpose()
    };
    options.memory_free_bytes = size("--memfree", &schedule.memfree)?;
    options.memory_suspend_bytes = size("--memsuspend", &schedule.memsuspend)?;
    options.no_swap = schedule.noswap;
    let limit = schedule.limit.as_ref().map(|text| Limit::parse(text.as_bytes()));
    options.limit = limit.transpose()?;
    Ok(options)
}

/// What is started for `--limit` where it is a command of the user's own.
pub(super) fn limit(options: &Options, shell: &Path) -> anyhow::Result<Option<Started>> {
    match &options.limit {
        Some(Limit::Command(text)) => shell_words(shell, text).map(Some),
        _ => Ok(None),
    }
}
