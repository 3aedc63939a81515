//! Options that cannot be used together with other hosts.

use std::os::unix::ffi::OsStrExt as _;

use super::command::PROLOGUE;
use super::error::SetupError;
use crate::schedule::Limit;
use crate::settings::RunSettings;

/// Rejects options that cannot be used with other hosts.
pub(super) fn check(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { hosts, schedule, jobs, .. } = settings;
    if hosts.variable_names().any(|name| name == "_") {
        usage!("--env _: there is no record of an earlier environment; name the variables");
    }
    // Before a joblog is opened.
    crate::hosts::ssh_delay(hosts)?;
    if !hosts.is_used() {
        return Ok(());
    }
    if hosts.on_all_hosts() {
        check_on_all_hosts(settings)?;
    }
    let limit = schedule.limit.as_ref().and_then(|text| Limit::parse(text.as_bytes()).ok());
    let is_rule = limit.is_some_and(|limit| !matches!(limit, Limit::Command(_)));
    for (is_given, option) in [
        (jobs.tty, "--tty: jobs on other hosts have no terminal"),
        (
            !settings.user.bytes(PROLOGUE).is_empty(),
            "PARALLEL_ENV: export what jobs need and name it with --env",
        ),
        (jobs.nice != 0, "--nice: write nice(1) into the command"),
        (schedule.load.is_some(), "--load: it reads the state of this machine"),
        (schedule.memfree.is_some(), "--memfree: it reads the state of this machine"),
        (schedule.memsuspend.is_some(), "--memsuspend: it reads the state of this machine"),
        (schedule.noswap, "--noswap: it reads the state of this machine"),
        (is_rule, "--limit with load, mem or io: they read this machine; a command can ask hosts"),
    ] {
        if is_given {
            usage!("-S cannot be used with {option}");
        }
    }
    Ok(())
}

/// Rejects options that cannot be used when every host runs all jobs.
fn check_on_all_hosts(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { hosts, pipe, output, .. } = settings;
    let name = if hosts.nonall { "--nonall" } else { "--onall" };
    let is_tree = output.results.as_ref().is_some_and(|name| {
        let name = name.as_bytes();
        ![&b".csv"[..], b".tsv", b".json"].iter().any(|ending| name.ends_with(ending))
    });
    for (is_given, what) in [
        (output.resume, "--resume: each host has a job 1 in the joblog"),
        (output.resume_failed, "--resume-failed: each host has a job 1 in the joblog"),
        (output.retry_failed, "--retry-failed: each host has a job 1 in the joblog"),
        (
            is_tree,
            "--results of files: those of one host would replace those of another; a table (.csv) has all",
        ),
        (pipe.pipe || pipe.pipe_part, "--pipe: a block is read once"),
    ] {
        if is_given {
            usage!("{name} cannot be used with {what}");
        }
    }
    Ok(())
}
