//! How jobs run, which is the same for all of them: their surroundings, and what is shown of them.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use anyhow::Context as _;
use run::engine::{Plan, Show, Stdin, Way};
use spawn::Environment;
use template::Template;

use super::command::Command;
use super::{joblog, output};
use crate::run::arguments::{InputArguments, JobArguments, RunArguments};

/// How jobs run; what else a plan holds is not said by their options alone.
pub(super) fn plan(arguments: &RunArguments, command: Command) -> anyhow::Result<Plan> {
    let RunArguments { jobs, output, hosts, .. } = arguments;
    let is_dry = jobs.dry_run || arguments.strings.shell_quote > 0;
    let show = match () {
        () if is_dry || jobs.verbose > 0 => Show::Output,
        () if jobs.trace_commands => Show::Error,
        () => Show::Nowhere,
    };
    let is_written = output.joblog.is_some() || output.joblog_json.is_some();
    let is_sent = hosts.is_used() || output.results.is_some();
    let (environment, own) = environment(jobs, command.is_named, hosts.hostgroups);
    Ok(Plan {
        way: if is_dry { Way::Not } else { command.way(&jobs.shell)? },
        shell: command.dialect,
        packing: command.packing,
        tag: output::tag(output, &command)?,
        filters: filters(&arguments.input, &command)?,
        place: None,
        directory: jobs.workdir.as_deref().map(|text| command.option(text)).transpose()?,
        show,
        environment,
        own,
        stdin: stdin(arguments)?,
        nice: jobs.nice,
        shares_group: jobs.tty,
        is_done: joblog::is_done(output)?,
        needs_text: show != Show::Nowhere || is_written || is_sent,
        limit: None,
        total: output.total_jobs,
        remote: None,
        zone_offset_s: zone_offset_s(),
        template: command.template,
    })
}

/// The conditions under which jobs run.
fn filters(input: &InputArguments, command: &Command) -> anyhow::Result<Vec<Template>> {
    input.filter.iter().map(|text| command.option(text)).collect()
}

/// Their environment, and how many numbers are among the variables that each has of its own.
fn environment(jobs: &JobArguments, is_named: bool, has_groups: bool) -> (Environment, usize) {
    let mut own: Vec<String> = ["PARALLEL_SEQ", "PARALLEL_JOBSLOT"]
        .into_iter()
        .map(str::to_owned)
        .chain(jobs.process_slot_var.clone())
        .collect();
    let count = own.len();
    let groups = ["PARALLEL_HOSTGROUPS", "PARALLEL_ARGHOSTGROUPS"].map(str::to_owned);
    own.extend(groups.into_iter().filter(|_| has_groups));
    own.extend(is_named.then(|| "PARALLEL_TMP".to_owned()));
    (Environment::new(variables(), &own), count)
}

/// The variables that all of them have.
fn variables() -> impl Iterator<Item = Vec<u8>> {
    let pid = format!("PARALLEL_PID={}", std::process::id()).into_bytes();
    let own = ["PARALLEL_PID", "PARALLEL_SSHLOGIN", "PARALLEL_SSHHOST"];
    let inherited = std::env::vars_os().filter(move |(name, _)| !own.iter().any(|own| name == own));
    // Jobs on other hosts have theirs.
    let here = [b"PARALLEL_SSHLOGIN=:".to_vec(), b"PARALLEL_SSHHOST=:".to_vec()];
    let text = |(name, value): (OsString, OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
        text
    };
    inherited.map(text).chain([pid]).chain(here)
}

/// What jobs read.  Whoever reads our standard input has it by now: in its place comes nothing,
/// unless jobs are to have ours.
fn stdin(arguments: &RunArguments) -> anyhow::Result<Stdin> {
    let RunArguments { jobs, pipe, semaphore, .. } = arguments;
    // The one command of a semaphore reads what we would.
    if !jobs.tty && !semaphore.is_asked() {
        let null = File::open("/dev/null").context("cannot open /dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
    }
    Ok(match pipe.is_used() {
        true => Stdin::Block { goes_on: pipe.round_robin, by: crate::run::pipe::by(arguments) },
        false => Stdin::Inherited,
    })
}

/// Seconds to be added to UTC for the time here.
fn zone_offset_s() -> i64 {
    let now = jiff::Timestamp::now();
    crate::zone::local().to_offset(now).seconds().into()
}
