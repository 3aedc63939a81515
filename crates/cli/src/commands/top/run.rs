//! Shows the screen, of this machine, of a recording or of other hosts.

use std::process::ExitCode;

use recorder::{Intervals, RunFacts, gather_facts};
use sample::Clock as _;
use terminal::TerminalKind;
use top::{HostsScreen, HostsSettings, ListSettings, TopScreen};
use watch::DataKind;

use super::TopArguments;
use crate::commands::watch::data_of_service;

/// Runs the verb.
pub(crate) fn run(arguments: &TopArguments) -> anyhow::Result<ExitCode> {
    let seconds = top::interval(&arguments.delay).map_err(|text| anyhow::anyhow!("-d {text}"))?;
    let settings = ListSettings {
        sort: arguments.sort.0,
        rising: arguments.sort.0.rises(),
        grouping: arguments.by.map(|group| group.0),
        tree: arguments.tree,
        threads: arguments.threads,
        traffic: arguments.net || arguments.sort.0.is_traffic(),
        filter: arguments.filter.clone(),
        user: arguments.user.clone(),
        kept: Some(top::kept_columns(&|name| std::env::var_os(name))),
        pids: arguments.pids.clone(),
        ..ListSettings::default()
    };
    let zone = crate::zone::local();
    if let Some(hosts) = &arguments.hosts {
        let sort = arguments.host_sort.0;
        let settings = HostsSettings { interval_seconds: seconds, sort, list: settings, zone };
        let screen = HostsScreen::new(hosts, arguments.ssh.as_deref(), settings)?;
        screen.show(arguments.count, &terminal())?;
        return Ok(ExitCode::SUCCESS);
    }
    let recorded = match (&arguments.file, &arguments.at) {
        (None, Some(_)) => Some(data_of_service(DataKind::Recordings)?),
        (file, _) => file.clone(),
    };
    let top = match &recorded {
        Some(file) => TopScreen::recorded(file, arguments.at.as_deref(), zone, settings)?,
        None => {
            let run = RunFacts {
                subsystems: "cmpdnZ",
                intervals: Intervals {
                    first_ns: (seconds * 1e9) as u64,
                    second_every: 1,
                    third_every: 1,
                },
                command_line: "whit top",
                comment: None,
                zone: &zone,
                now: procfs::SystemClock.now(),
            };
            let meta = gather_facts(&arguments.root, &run);
            TopScreen::live(&arguments.root, meta, zone.clone(), settings)?
        }
    };
    top.show(seconds, arguments.count, &terminal())?;
    Ok(ExitCode::SUCCESS)
}

/// The properties of the terminal, from the environment.
pub(crate) fn terminal() -> TerminalKind {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    TerminalKind {
        name: std::env::var("TERM").ok(),
        no_colour: crate::display::is_without_colors(),
        locale: set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default(),
    }
}
