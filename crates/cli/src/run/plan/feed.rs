//! Where the engine gets what it makes jobs of: read when it is wanted, by a thread, or before.

use anyhow::{Context as _, bail};
use run::engine::feed::Fits;
use run::engine::{Feed, Live, Remote};
use run::input::Packer;
use run::packing::{self, LengthLimit};
use run::schedule::Options;
use run::units;
use template::Template;

use super::command::Command;
use super::input::Given;
use super::output;
use crate::run::arguments::RunArguments;
use crate::run::observers::warnings;

/// Whether the command, what is made beside it or the schedule need to know how many jobs there are.
///
/// # Errors
///
/// When they do, and nobody can know it.
pub(super) fn needs_total(
    command: &Command,
    arguments: &RunArguments,
    schedule: &Options,
    given: &Given,
) -> anyhow::Result<bool> {
    let needs_total = command.template.needs_total()
        || output::beside(arguments, command)?.iter().any(Template::needs_total)
        || schedule.halt.needs_total();
    if needs_total && given.blocks.as_ref().is_some_and(|blocks| !blocks.knows_total()) {
        bail!(
            "--pipe does not know how many jobs there will be, which --halt N% and total_jobs() need"
        );
    }
    Ok(needs_total)
}

/// What decides how the engine gets its work.
pub(super) struct Wanted<'a> {
    /// How many jobs run at once.
    pub(super) slots: u32,
    /// Whether the number of jobs must be known before the first starts.
    pub(super) needs_total: bool,
    /// The hosts, where not all jobs run here.
    pub(super) remote: Option<&'a Remote>,
}

/// What the engine takes its work from.
pub(super) fn feed(
    given: Given,
    command: &Command,
    arguments: &RunArguments,
    wanted: &Wanted<'_>,
    world: &Live,
) -> anyhow::Result<Feed> {
    let Wanted { slots, needs_total, remote } = *wanted;
    let Given { values, blocks, tee, retried, reads_stdin, takes_no_values } = given;
    // Where every host runs all jobs, each has one slot.
    let spread = if remote.is_some_and(|remote| remote.is_everywhere) { 1 } else { slots };
    let mut packer = packing::packer(values, &arguments.packing.options(), spread);
    let has_values = blocks.is_none() && retried.is_none() && !takes_no_values;
    let total = match needs_total && has_values {
        true => {
            let records = world.interruptibly(|| packer.read_ahead())?;
            Some(packing::jobs_of(records, &arguments.packing.options()))
        }
        false => None,
    };
    let limit = length_limit(command, arguments, total)?;
    let fits = packing::fits(command.template.clone(), command.packing, command.dialect, limit);
    Ok(match retried {
        Some(commands) => Feed::Given(commands.into()),
        None if let Some(blocks) = &blocks => blocks.feed(slots, world.waker())?,
        None if let Some(tee) = &tee => {
            let values = read_all(packer, fits, world)?;
            tee.feed(values, slots, world.waker())?
        }
        None if takes_no_values => Feed::Known([Vec::new()].into()),
        None if needs_total => read_all(packer, fits, world)?,
        None if reads_stdin && !is_regular_stdin() => Feed::thread(packer, fits, world.waker())?,
        None => Feed::here(packer, fits),
    })
}

/// What `-s` allows: its length counts the command, and the replacement strings of what is made
/// beside it.
fn length_limit(
    command: &Command,
    arguments: &RunArguments,
    total: Option<u64>,
) -> anyhow::Result<Option<LengthLimit>> {
    let Some(text) = &arguments.packing.chars else { return Ok(None) };
    let bytes = units::size(text).with_context(|| format!("-s {text}"))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let beside = output::beside(arguments, command)?;
    let beside: Vec<&Template> = beside.iter().collect();
    let measure = command.template.measure(&beside, command.packing, command.dialect);
    Ok(Some(LengthLimit { bytes, measure, total }))
}

/// Reads everything before the first job starts, interruptibly.
fn read_all(packer: Packer, fits: Fits, world: &Live) -> anyhow::Result<Feed> {
    let (feed, messages) = world.interruptibly(|| Feed::known(packer, fits))?;
    for warning in messages {
        warnings().warn(&warning);
    }
    Ok(feed)
}

fn is_regular_stdin() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
}
