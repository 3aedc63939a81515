//! When jobs start and end: `-j`, `--delay`, `--timeout`, `--halt`, `--limit` and related options.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::schedule::{Delay, Halt, Jobs, Limit, Load, ScheduleOptions, TermSequence, Timeout};
use crate::units;

use super::command::{Started, shell_words};
use super::error::{SetupError, option};
use crate::settings::ScheduleSettings;

/// The options of the schedule.
pub(super) fn options(schedule: &ScheduleSettings) -> Result<ScheduleOptions, SetupError> {
    let mut options = ScheduleOptions::default();
    if let Some(text) = &schedule.jobs {
        options.jobs = Jobs::parse(text)?;
    }
    if let Some(text) = &schedule.delay {
        options.delay = Some(Delay::parse(text).map_err(option(format!("--delay {text}")))?);
    }
    if let Some(text) = &schedule.timeout {
        let timeout = Timeout::parse(text);
        options.timeout = Some(timeout.map_err(option(format!("--timeout {text}")))?);
    }
    options.retries = retries(schedule);
    if let Some(text) = &schedule.halt {
        options.halt = Halt::parse(text)?;
    }
    if let Some(text) = &schedule.term_seq {
        options.term_sequence = TermSequence::parse(text)?;
    }
    options.load = schedule.load.as_deref().map(Load::parse).transpose()?;
    let size = |name: &str, text: &Option<String>| {
        let read = |text: &String| units::size(text).map_err(option(format!("{name} {text}")));
        text.as_ref().map(read).transpose()
    };
    options.memory_free_bytes = size("--memfree", &schedule.memfree)?;
    options.memory_suspend_bytes = size("--memsuspend", &schedule.memsuspend)?;
    options.no_swap = schedule.noswap;
    let limit = schedule.limit.as_ref().map(|text| Limit::parse(text.as_bytes()));
    options.limit = limit.transpose()?;
    Ok(options)
}

/// The number of `--retries`; `None` if it is none, or depends on the job.
pub(super) fn retries(schedule: &ScheduleSettings) -> Option<u32> {
    units::small_count(schedule.retries.as_ref()?.to_str()?).ok()
}

/// The command of `--limit`, if it is not a rule.
pub(super) fn limit(
    options: &ScheduleOptions,
    shell: &Path,
) -> Result<Option<Started>, SetupError> {
    match &options.limit {
        Some(Limit::Command(text)) => shell_words(shell, text).map(Some),
        _ => Ok(None),
    }
}
