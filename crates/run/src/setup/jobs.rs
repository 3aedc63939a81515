//! What is the same for all jobs: their environment, and what is shown of them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::engine::{EngineOptions, JobStdin, ShowCommand, StartMethod};
use spawn::{Environment, Room};
use template::Template;

use super::command::{Command, PROLOGUE};
use super::error::{SetupError, system};
use super::{blocks, joblog, output};
use crate::settings::{InputSettings, RunSettings};
use crate::user::UserEnvironment;

/// The options of the engine that follow from the settings alone.
pub(super) fn engine_options(
    settings: &RunSettings,
    command: Command,
) -> Result<EngineOptions, SetupError> {
    let RunSettings { jobs, output, hosts, .. } = settings;
    let is_dry = jobs.dry_run || settings.strings.shell_quote > 0;
    let show = match () {
        () if is_dry || jobs.verbose > 0 => ShowCommand::Output,
        () if jobs.trace_commands => ShowCommand::Error,
        () => ShowCommand::Nowhere,
    };
    let is_written = output.joblog.is_some() || output.joblog_json.is_some();
    let is_sent = hosts.is_used() || output.results.is_some();
    let (environment, own) = environment(settings, command.is_named);
    Ok(EngineOptions {
        start_method: if is_dry {
            StartMethod::Not
        } else {
            command.start_method(&jobs.shell, &settings.user, output.retry_failed)?
        },
        shell: command.dialect,
        packing: command.packing,
        tag: output::tag(output, &command)?,
        filters: filters(&settings.input, &command)?,
        place: None,
        directory: directory(settings, &command)?,
        show,
        environment,
        own,
        stdin: stdin(settings)?,
        nice: jobs.nice,
        descriptors: None,
        shortage: None,
        shares_group: jobs.tty,
        is_done: joblog::is_done(output)?,
        own_folders: own_folders(settings)?,
        retries: retries(settings, &command)?,
        resumes_results: joblog::resumes_results(output)?,
        needs_text: show != ShowCommand::Nowhere
            || is_written
            || is_sent
            || command.template.runs_perl(),
        limit: None,
        total: output.total_jobs,
        remote: None,
        zone_offset_s: settings.user.zone_offset_s,
        template: command.template,
    })
}

/// `--workdir`.
pub(super) fn directory(
    settings: &RunSettings,
    command: &Command,
) -> Result<Option<Template>, SetupError> {
    settings.jobs.workdir.as_deref().map(|text| command.option(text)).transpose()
}

/// Where jobs of this machine have a folder each (`--workdir ...`).
fn own_folders(settings: &RunSettings) -> Result<Option<Vec<u8>>, SetupError> {
    if settings.jobs.workdir.as_deref().is_none_or(|folder| folder != "...") {
        return Ok(None);
    }
    let Some(folder) = &settings.user.config_folder else {
        usage!("--workdir ...: HOME is not set");
    };
    let name = crate::hosts::unique();
    Ok(Some(folder.join("tmp").join(OsStr::from_bytes(&name)).into_os_string().into_vec()))
}

/// The text of `--retries`, if it depends on the job.
fn retries(settings: &RunSettings, command: &Command) -> Result<Option<Template>, SetupError> {
    let number = super::schedule::retries(&settings.schedule);
    let Some(text) = settings.schedule.retries.as_ref().filter(|_| number.is_none()) else {
        return Ok(None);
    };
    let template = command.option(text)?;
    if !template.has_values() {
        usage!("--retries {}: write a number from 0, or replacement strings", text.display());
    }
    Ok(Some(template))
}

/// What the environment leaves for arguments.
pub(super) fn room(settings: &RunSettings) -> Room {
    let own = settings.jobs.process_slot_var.iter().map(String::len);
    let own = own.chain(OWN_VARIABLES.map(str::len)).map(|name| name + OWN_VALUE_BYTES);
    Room::beside(variables(&settings.user).map(|text| text.len()).chain(own))
}

/// The conditions of `--filter`.
fn filters(input: &InputSettings, command: &Command) -> Result<Vec<Template>, SetupError> {
    input.filter.iter().map(|text| command.option(text)).collect()
}

/// The variables that differ by job, whatever the options are.
const OWN_VARIABLES: [&str; 2] = ["PARALLEL_SEQ", "PARALLEL_JOBSLOT"];

/// Bytes for the value of one and the `=` before it.
const OWN_VALUE_BYTES: usize = 24;

/// The environment, and how many of its variables differ by job.
fn environment(settings: &RunSettings, is_named: bool) -> (Environment, usize) {
    let mut own: Vec<String> = OWN_VARIABLES
        .into_iter()
        .map(str::to_owned)
        .chain(settings.jobs.process_slot_var.clone())
        .collect();
    let count = own.len();
    let groups = ["PARALLEL_HOSTGROUPS", "PARALLEL_ARGHOSTGROUPS"].map(str::to_owned);
    own.extend(groups.into_iter().filter(|_| settings.hosts.hostgroups));
    own.extend(is_named.then(|| "PARALLEL_TMP".to_owned()));
    (Environment::new(variables(&settings.user), &own), count)
}

/// The variables that are the same for all jobs.
fn variables(user: &UserEnvironment) -> impl Iterator<Item = Vec<u8>> {
    let pid = format!("PARALLEL_PID={}", std::process::id()).into_bytes();
    let own = ["PARALLEL_PID", "PARALLEL_SSHLOGIN", "PARALLEL_SSHHOST"];
    let variables = user.variables.iter();
    let inherited = variables.filter(move |(name, value)| {
        !own.iter().any(|own| name == own) && (name != PROLOGUE || value.is_empty())
    });
    // Jobs on other hosts get their own.
    let here = [b"PARALLEL_SSHLOGIN=:".to_vec(), b"PARALLEL_SSHHOST=:".to_vec()];
    let text =
        |(name, value): &(OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
    inherited.map(text).chain([pid]).chain(here)
}

/// The standard input of jobs.  Our own was opened by what reads it; `/dev/null` takes its place
/// unless jobs inherit it, and with `--tty` the terminal if there is one.
fn stdin(settings: &RunSettings) -> Result<JobStdin, SetupError> {
    let RunSettings { jobs, pipe, .. } = settings;
    // The single command of a semaphore reads our standard input.
    if !settings.keeps_stdin {
        let null = || File::open("/dev/null").map_err(system("cannot open /dev/null"));
        let terminal = (jobs.tty || jobs.open_tty).then(|| File::open("/dev/tty").ok()).flatten();
        rustix::stdio::dup2_stdin(&terminal.map_or_else(null, Ok)?)?;
    }
    Ok(match pipe.is_used() {
        true => JobStdin::Block { goes_on: pipe.goes_on(), access: blocks::access(settings) },
        false => JobStdin::Inherited,
    })
}
