//! The source of the jobs' input: read when needed, by a thread, or before the first job.

use crate::engine::job_source::Fits;
use crate::engine::{JobSource, Linux, Remote};
use crate::input::Packer;
use crate::packing::{self, CommandLimits, LengthLimit, RemoteLength};
use crate::schedule::ScheduleOptions;
use crate::units;
use template::Template;

use super::command::Command;
use super::error::{SetupError, option};
use super::input::GivenInput;
use super::{jobs, output};
use crate::hosts::Warnings;
use crate::settings::RunSettings;

/// Whether a template or the schedule needs the total number of jobs.
///
/// # Errors
///
/// If the total is needed and cannot be known.
pub(super) fn needs_total(
    command: &Command,
    settings: &RunSettings,
    schedule: &ScheduleOptions,
    given: &GivenInput,
) -> Result<bool, SetupError> {
    let needs_total = command.template.needs_total()
        || output::beside(settings, command)?.iter().any(Template::needs_total)
        || schedule.halt.needs_total();
    if needs_total && given.blocks.as_ref().is_some_and(|blocks| !blocks.knows_total()) {
        usage!(
            "--pipe does not know how many jobs there will be, which --halt N% and total_jobs() need"
        );
    }
    Ok(needs_total)
}

/// What decides how input is read.
pub(super) struct JobSourceNeeds<'a> {
    /// How many jobs run at once.
    pub(super) slots: u32,
    /// Whether descriptors allow no more.
    pub(super) is_short: bool,
    /// Whether the total must be known before the first job starts.
    pub(super) needs_total: bool,
    /// The hosts, unless all jobs run here.
    pub(super) remote: Option<&'a Remote>,
    /// Where warnings about the input go.
    pub(super) warnings: &'a Warnings,
}

/// The source of the jobs' input.
pub(super) fn job_source(
    given: GivenInput,
    command: &Command,
    settings: &RunSettings,
    wanted: &JobSourceNeeds<'_>,
    os: &Linux,
) -> Result<JobSource, SetupError> {
    let JobSourceNeeds { slots, needs_total, remote, .. } = *wanted;
    let GivenInput { values, blocks, tee, retried, reads_stdin, takes_no_values } = given;
    // If every host runs all jobs, each host has one slot.
    let spread = if remote.is_some_and(|remote| remote.on_all_hosts) { 1 } else { slots };
    let mut packer = packing::packer(values, &settings.packing, spread);
    let has_values = blocks.is_none() && retried.is_none() && !takes_no_values;
    let total = match needs_total && has_values {
        true => {
            let records = os.interruptibly(|| packer.read_ahead())?;
            Some(packing::jobs_of(records, &settings.packing))
        }
        false => None,
    };
    let limits = limits(command, settings, total, wanted)?;
    let fits = packing::fits(command.template.clone(), command.packing, command.dialect, limits);
    Ok(match retried {
        Some(commands) => JobSource::Given(commands.into()),
        None if let Some(blocks) = &blocks => blocks.job_source(slots, os.waker())?,
        None if let Some(tee) = &tee => {
            let values = read_all(packer, fits, os, wanted.warnings)?;
            tee.job_source(values, slots, wanted.is_short, os.waker())?
        }
        None if takes_no_values => JobSource::Known([Vec::new()].into()),
        None if needs_total => read_all(packer, fits, os, wanted.warnings)?,
        None if reads_stdin && !is_regular_stdin() => JobSource::thread(packer, fits, os.waker())?,
        None => JobSource::here(packer, fits),
    })
}

/// What limits a command line.
fn limits(
    command: &Command,
    settings: &RunSettings,
    total: Option<u64>,
    wanted: &JobSourceNeeds<'_>,
) -> Result<CommandLimits, SetupError> {
    let directory = jobs::directory(settings, command)?;
    let of_hosts = |remote| RemoteLength::of(remote, directory.as_ref());
    Ok(CommandLimits {
        chars: length_limit(command, settings, total)?,
        slots: wanted.slots,
        room: jobs::room(settings),
        prologue: command.prologue.len(),
        remote: wanted.remote.and_then(of_hosts),
    })
}

/// The limit of `-s`, which counts the command line and the replacement strings of tag, directory
/// and file.
fn length_limit(
    command: &Command,
    settings: &RunSettings,
    total: Option<u64>,
) -> Result<Option<LengthLimit>, SetupError> {
    let Some(text) = &settings.packing.chars else { return Ok(None) };
    let bytes = units::size(text).map_err(option(format!("-s {text}")))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let beside = output::beside(settings, command)?;
    let beside: Vec<&Template> = beside.iter().collect();
    let measure = command.template.measure(&beside, command.packing, command.dialect);
    Ok(Some(LengthLimit { bytes, measure, total }))
}

/// Reads everything before the first job starts; can be interrupted.
fn read_all(
    packer: Packer,
    fits: Fits,
    os: &Linux,
    warnings: &Warnings,
) -> Result<JobSource, SetupError> {
    let (job_source, messages) = os.interruptibly(|| JobSource::known(packer, fits))?;
    for warning in messages {
        warnings.warn(&warning);
    }
    Ok(job_source)
}

fn is_regular_stdin() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
}
