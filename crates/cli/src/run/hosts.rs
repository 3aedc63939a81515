//! `-S` and its company: the options, what they refuse, and what they mean to [`run::hosts`].

use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use anyhow::{Context as _, bail};
use run::hosts::HostOptions;
use run::schedule::Limit;
use run::units;

use super::arguments::{HostArguments, RunArguments};
use super::config;

/// Refuses what cannot be had on other hosts.
pub(crate) fn check(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { hosts, schedule, jobs, .. } = arguments;
    if !hosts.is_used() {
        return Ok(());
    }
    if hosts.is_everywhere() {
        check_everywhere(arguments)?;
    }
    if hosts.variables.iter().any(|names| names.split(',').any(|name| name == "_")) {
        bail!("--env _: there is no record of an earlier environment; name the variables");
    }
    let limit = schedule.limit.as_ref().and_then(|text| Limit::parse(text.as_bytes()).ok());
    let is_rule = limit.is_some_and(|limit| !matches!(limit, Limit::Command(_)));
    for (is_given, option) in [
        (jobs.tty, "--tty: jobs there have no terminal"),
        (jobs.nice != 0, "--nice: write nice(1) into the command"),
        (schedule.load.is_some(), "--load: it is this machine's"),
        (schedule.memfree.is_some(), "--memfree: it is this machine's"),
        (schedule.memsuspend.is_some(), "--memsuspend: it is this machine's"),
        (schedule.noswap, "--noswap: it is this machine's"),
        (is_rule, "--limit of load, mem or io: they are this machine's; a command can ask hosts"),
    ] {
        if is_given {
            bail!("-S cannot be had with {option}");
        }
    }
    Ok(())
}

/// Refuses what cannot be had where every host runs all jobs.
fn check_everywhere(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { hosts, pipe, output, .. } = arguments;
    let name = if hosts.onall { "--onall" } else { "--nonall" };
    let is_tree = output.results.as_ref().is_some_and(|name| {
        let name = name.as_bytes();
        ![&b".csv"[..], b".tsv", b".json"].iter().any(|ending| name.ends_with(ending))
    });
    for (is_given, what) in [
        (output.resume, "--resume: the joblog has a job 1 of each host"),
        (output.resume_failed, "--resume-failed: the joblog has a job 1 of each host"),
        (output.retry_failed, "--retry-failed: the joblog has a job 1 of each host"),
        (
            is_tree,
            "--results of files: those of one host would replace those of another; a table (.csv) has all",
        ),
        (pipe.pipe || pipe.pipe_part, "--pipe: a block is read once"),
    ] {
        if is_given {
            bail!("{name} cannot be had with {what}");
        }
    }
    Ok(())
}

/// The options of hosts as the library takes them.
pub(crate) fn options(arguments: &RunArguments) -> anyhow::Result<HostOptions> {
    let RunArguments { hosts, schedule, jobs, output, .. } = arguments;
    let delay = hosts
        .ssh_delay
        .as_ref()
        .map(|text| units::duration(text).with_context(|| format!("--ssh-delay {text}")));
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default().into_vec();
    Ok(HostOptions {
        logins: hosts.logins.clone(),
        login_files: hosts.login_files.clone(),
        ssh: hosts.ssh.clone().or_else(|| std::env::var("PARALLEL_SSH").ok()),
        uses_groups: hosts.hostgroups,
        filters_hosts: hosts.filter_hosts,
        delay: delay.transpose()?,
        shares_connections: hosts.controlmaster,
        is_everywhere: hosts.is_everywhere(),
        send: hosts.send.clone(),
        sends_value: hosts.transfer || !hosts.trc.is_empty(),
        bring: hosts.bring.iter().chain(&hosts.trc).cloned().collect(),
        removes_files: hosts.cleanup || !hosts.trc.is_empty(),
        base_files: hosts.base_files.clone(),
        remote_only: remote_only(hosts),
        environment: environment(hosts),
        jobs: schedule.jobs.clone(),
        workdir: jobs.workdir.clone(),
        is_dry: jobs.dry_run,
        slot_variable: jobs.process_slot_var.clone(),
        tags_host: hosts.is_everywhere() && output.tag && output.tagstring.is_none(),
        current_folder: std::env::current_dir().unwrap_or_default().into_os_string().into_vec(),
        home: variable("HOME"),
        config_folder: config::home(),
        path: variable("PATH"),
    })
}

/// The options that are given and mean something on other hosts only.
fn remote_only(hosts: &HostArguments) -> Vec<&'static str> {
    let given = [
        (!hosts.send.is_empty(), "--transferfile"),
        (hosts.transfer, "--transfer"),
        (!hosts.bring.is_empty(), "--return"),
        (!hosts.trc.is_empty(), "--trc"),
        (hosts.cleanup, "--cleanup"),
        (!hosts.base_files.is_empty(), "--basefile"),
    ];
    given.into_iter().filter_map(|(is_given, name)| is_given.then_some(name)).collect()
}

/// The variables that jobs on other hosts have in their environment.
fn environment(hosts: &HostArguments) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pid = std::process::id().to_string().into_bytes();
    let mut all = vec![(b"PARALLEL_PID".to_vec(), pid)];
    for name in hosts.variables.iter().flat_map(|names| names.split(',')) {
        for name in [name.to_owned(), format!("BASH_FUNC_{name}%%")] {
            if let Some(value) = std::env::var_os(&name).filter(|_| !name.is_empty()) {
                all.push((name.into_bytes(), value.into_vec()));
            }
        }
    }
    all
}
