//! `whit top`: the processes of this machine or of a recording, on a terminal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use recorder::{Intervals, RunFacts, gather_facts};
use sample::Clock as _;
use top::{Column, GroupBy, ListSettings, TerminalKind, TopScreen};

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

    /// End after this many samples
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
    #[arg(long, value_name = "KEY", value_enum, default_value_t = SortKey(Column::Cpu))]
    sort: SortKey,

    /// One line for each control group, user or command, ended processes included
    #[arg(long = "by", value_name = "WHAT", value_enum)]
    by: Option<Group>,

    /// Begin with the tree of processes
    #[arg(long, conflicts_with = "by")]
    tree: bool,

    /// Begin with threads
    #[arg(short = 'H', long)]
    threads: bool,

    /// Read /proc and /sys below this folder
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "file")]
    root: PathBuf,
}

/// A column as a value on the command line.
#[derive(Clone, Copy, Debug)]
struct SortKey(Column);

impl clap::ValueEnum for SortKey {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<SortKey>> =
            LazyLock::new(|| Column::ALL.iter().copied().map(SortKey).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = self.0.named();
        Some(PossibleValue::new(name).help(about).aliases(self.0.alias()))
    }
}

/// What to group by, as a value on the command line.
#[derive(Clone, Copy, Debug)]
struct Group(GroupBy);

impl clap::ValueEnum for Group {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Group>> =
            LazyLock::new(|| GroupBy::ALL.iter().copied().map(Group).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = self.0.named();
        Some(PossibleValue::new(name).help(about))
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &TopArguments) -> anyhow::Result<ExitCode> {
    let seconds = top::interval(&arguments.delay).map_err(|text| anyhow::anyhow!("-d {text}"))?;
    let settings = ListSettings {
        sort: arguments.sort.0,
        rising: arguments.sort.0.rises(),
        grouping: arguments.by.map(|group| group.0),
        tree: arguments.tree,
        threads: arguments.threads,
        filter: arguments.filter.clone(),
        user: arguments.user.clone(),
        pids: arguments.pids.clone(),
        ..ListSettings::default()
    };
    let zone = crate::zone::local();
    let top = match &arguments.file {
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
fn terminal() -> TerminalKind {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    TerminalKind {
        name: std::env::var("TERM").ok(),
        no_colour: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        locale: set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default(),
    }
}
