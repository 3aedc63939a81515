//! `-S` and related options: from the command line and the environment to [`run::hosts`].

use std::os::unix::ffi::OsStringExt as _;

use anyhow::{Context as _, bail};
use run::hosts::HostOptions;
use run::units;

use super::arguments::{HostArguments, RunArguments};
use super::config;

/// The options of hosts as the library takes them.
pub(crate) fn options(arguments: &RunArguments) -> anyhow::Result<HostOptions> {
    let RunArguments { hosts, schedule, jobs, output, .. } = arguments;
    if hosts.variables.iter().any(|names| names.split(',').any(|name| name == "_")) {
        bail!("--env _: there is no record of an earlier environment; name the variables");
    }
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
        takes_no_values: hosts.nonall,
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

/// Given options that have a meaning only on other hosts.
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
    let mut all = Vec::new();
    for name in hosts.variables.iter().flat_map(|names| names.split(',')) {
        for name in [name.to_owned(), format!("BASH_FUNC_{name}%%")] {
            if let Some(value) = std::env::var_os(&name).filter(|_| !name.is_empty()) {
                all.push((name.into_bytes(), value.into_vec()));
            }
        }
    }
    all
}
