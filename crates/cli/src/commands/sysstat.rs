//! `whit sysstat`: the reports of sar, sadf, iostat, mpstat, pidstat, vmstat, free and uptime.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use recorder::{Intervals, RunFacts, gather_facts};
use sample::Clock as _;
use sysstat::{ReportSession, SysstatError, TOOLS};
use watch::DataKind;

use crate::commands::watch::data_of_service;
use crate::end_signals::Ending;

/// Arguments of `whit sysstat`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SYSSTAT)]
pub(crate) struct SysstatArguments {
    /// free, iostat, mpstat, pidstat, sadf, sar, uptime or vmstat, then its words; --help lists its options
    #[arg(
        value_name = "TOOL",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

/// Runs the verb: until the reports are made, or INT or TERM.
pub(crate) fn run(arguments: &SysstatArguments) -> anyhow::Result<ExitCode> {
    let (name, words) = arguments.words.split_first().context("which tool?")?;
    let tool = sysstat::tool(name).with_context(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        format!("{name}: no such tool; there are {}", names.join(", "))
    })?;
    let ending = Ending::by_signals()?;
    let zone = crate::zone::local();
    let facts = RunFacts {
        subsystems: "",
        intervals: Intervals { first_ns: 1_000_000_000, second_every: 1, third_every: 1 },
        command_line: "whit sysstat",
        comment: None,
        zone: &zone,
        now: procfs::SystemClock.now(),
    };
    let mut due = Instant::now();
    let mut session = ReportSession {
        root: Path::new("/"),
        meta: gather_facts(Path::new("/"), &facts),
        now: crate::zone::now(),
        iso_dates: std::env::var_os("S_TIME_FORMAT").is_some_and(|value| value == "ISO"),
        screen_lines: terminal_size::terminal_size().map(|(_, height)| height.0.into()),
        users: users(),
        out: &mut io::stdout().lock(),
        wait: &mut |interval: Duration| {
            due = (due + interval).max(Instant::now());
            ending.pause(due.saturating_duration_since(Instant::now()))
        },
        note: &mut |text| crate::stderr::message(text),
        start: &mut |words| {
            let ending = ending.clone();
            sysstat::start_program(words, move || ending.ask())
        },
        service_folder: &|| data_of_service(DataKind::Recordings).map_err(|e| format!("{e:#}")),
    };
    match sysstat::run(tool, words, &mut session) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(SysstatError::Help(text)) => {
            crate::stderr::print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ SysstatError::Usage(_)) => {
            anyhow::bail!("{}: {error}; whit sysstat {0} --help lists its options", tool.name)
        }
        Err(SysstatError::Write(error)) => Err(error.into()),
        Err(error) => Err(anyhow::Error::new(error).context(tool.name)),
    }
}

/// How many users are logged in, by the file of logins (utmp(5)): entries of the kind "user process".
fn users() -> Option<usize> {
    const USER_PROCESS: [u8; 2] = 7_i16.to_ne_bytes();
    let entries = std::fs::read(PathBuf::from("/run/utmp")).ok()?;
    let entries = entries.chunks_exact(size_of::<libc::utmpx>());
    Some(entries.filter(|entry| entry[..2] == USER_PROCESS).count())
}
