//! `whit top`: the processes of this machine or of a recording, on a terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use feed::{Feed as _, Motion};
use recorder::{Intervals, RunFacts, gather_facts};
use sample::Clock as _;

use crate::top::{self, App, Column, Grouping, Samples, Settings};

/// Arguments of `whit top`.
#[derive(clap::Args)]
#[command(after_help = crate::help::TOP)]
pub(crate) struct TopArguments {
    /// A recording, in which the arrow keys move in time; without one, this machine
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// In a recording, begin here: [yyyymmdd:]hh:mm[:ss]
    #[arg(long, value_name = "TIME", requires = "file")]
    at: Option<String>,

    /// Seconds between samples, fractions allowed
    #[arg(short = 'd', long = "delay", value_name = "SECS", default_value = "1")]
    delay: String,

    /// End after so many samples
    #[arg(short = 'n', long = "iterations", value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Only these processes
    #[arg(short = 'p', long = "pid", value_name = "PID,…", value_delimiter = ',',
          value_parser = clap::value_parser!(i32).range(1..))]
    pids: Vec<i32>,

    /// Only this user's processes, by name or number
    #[arg(short = 'u', long, value_name = "USER")]
    user: Option<String>,

    /// Only lines with this text in command, arguments, user or control group
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,

    /// What to sort by, largest first; pid, user, state and command smallest first
    #[arg(long, value_name = "KEY", value_enum, default_value_t = Column::Cpu)]
    sort: Column,

    /// One line for each control group, user or command, ended processes included
    #[arg(long = "by", value_name = "WHAT", value_enum)]
    by: Option<Grouping>,

    /// Begin with the tree of processes
    #[arg(long, conflicts_with = "by")]
    tree: bool,

    /// Begin with threads
    #[arg(short = 'H', long)]
    threads: bool,

    /// Look at /proc and /sys under this folder
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "file")]
    root: PathBuf,
}

/// Runs the verb.
pub(crate) fn run(arguments: &TopArguments) -> anyhow::Result<ExitCode> {
    let seconds = top::interval(&arguments.delay).map_err(|text| anyhow::anyhow!("-d {text}"))?;
    let settings = Settings {
        sort: arguments.sort,
        rising: arguments.sort.rises(),
        grouping: arguments.by,
        tree: arguments.tree,
        threads: arguments.threads,
        filter: arguments.filter.clone(),
        user: arguments.user.clone(),
        pids: arguments.pids.clone(),
        ..Settings::default()
    };
    let mut app = match &arguments.file {
        Some(file) => recorded(file, arguments.at.as_deref(), settings)?,
        None => live(arguments, seconds, settings)?,
    };
    top::check()?;
    app.interval_seconds = seconds;
    top::show(&mut app, arguments.count)?;
    Ok(ExitCode::SUCCESS)
}

fn live(arguments: &TopArguments, seconds: f64, settings: Settings) -> anyhow::Result<App> {
    let root = &arguments.root;
    ensure!(root.join("proc").is_dir(), "{}: there is no folder proc in it", root.display());
    let interval_ns = (seconds * 1e9) as u64;
    let run = RunFacts {
        subsystems: "cmpdnZ",
        intervals: Intervals { first_ns: interval_ns, second_every: 1, third_every: 1 },
        command_line: "whit top",
        comment: None,
        zone: &crate::zone::local(),
        now: procfs::SystemClock.now(),
    };
    let meta = gather_facts(root, &run);
    let live = top::open(root, settings.threads);
    let defs = live.defs();
    let mut app = App::new(Samples::Live(Box::new(live)), &defs, meta, settings);
    app.root.clone_from(root);
    Ok(app)
}

fn recorded(file: &std::path::Path, at: Option<&str>, settings: Settings) -> anyhow::Result<App> {
    let (recorded, meta) = top::open_recording(file, crate::zone::local())?;
    let motion = match at {
        Some(at) => Motion::At(recorded.moment(at)?),
        None => Motion::First,
    };
    let defs = recorded.defs().to_vec();
    let mut app = App::new(Samples::Recorded(Box::new(recorded)), &defs, meta, settings);
    app.paused = true;
    app.go(motion).with_context(|| format!("cannot read {}", file.display()))?;
    if at.is_none() {
        // The first sample alone has no rates.
        app.go(Motion::Forward)?;
    }
    Ok(app)
}
