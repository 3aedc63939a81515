//! The command line of `whit poll`.

use std::path::PathBuf;

use super::samples::SampleArguments;
use super::share::ShareArguments;

/// Options of `whit poll`.
#[derive(clap::Args)]
#[command(after_help = crate::help::POLL, args_conflicts_with_subcommands = true)]
pub(crate) struct PollArguments {
    #[command(subcommand)]
    pub(super) command: Option<PollCommand>,
    /// MRTG's configuration files; without one /etc/mrtg/mrtg.cfg
    pub(super) configs: Vec<PathBuf>,
    /// Check the configurations, print every problem with its file and line, and poll nothing
    #[arg(long)]
    pub(super) check: bool,
    /// Poll until stopped, in the background (as RunAsDaemon: yes)
    #[arg(long)]
    pub(super) daemon: bool,
    /// Make so many rounds in the foreground, an interval apart, then end
    #[arg(short = 'c', long, value_name = "N", conflicts_with = "daemon",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) count: Option<u64>,
    /// Write readings only, no pages and pictures
    #[arg(long)]
    pub(super) log_only: bool,
    /// The lock file, or a folder for those of all configurations; without it the configuration's name
    /// and _l
    #[arg(long, value_name = "FILE")]
    pub(super) lock_file: Option<PathBuf>,
    /// The pid file of a daemon; without it the configuration's name with .pid
    #[arg(long, value_name = "FILE")]
    pub(super) pid_file: Option<PathBuf>,
    /// The file of devices' interface numbers from run to run, or a folder; without it the
    /// configuration's name with .ok
    #[arg(long, value_name = "FILE")]
    pub(super) confcache_file: Option<PathBuf>,
    /// Append messages to this file instead of standard error
    #[arg(long, value_name = "FILE")]
    pub(super) logging: Option<PathBuf>,
    /// Become this user before anything is read
    #[arg(long, value_name = "USER")]
    pub(super) user: Option<String>,
    /// Become a member of this group before anything is read
    #[arg(long, value_name = "GROUP")]
    pub(super) group: Option<String>,
    /// Keep lock, pid, log and interface files in /var/lock/mrtg, /run/mrtg, /var/log/mrtg and
    /// /var/lib/mrtg
    #[arg(long)]
    pub(super) fhs: bool,
    /// Show what is done: cfg (files and targets), dir (folders), base (steps), tarp (queries), snpo
    /// (answers), coca (interfaces), eval (values), log (readings), time (rounds), with commas between
    #[arg(long, value_name = "TAG,...")]
    pub(super) debug: Option<String>,
    #[command(flatten)]
    pub(super) share: ShareArguments,
    #[command(flatten)]
    pub(super) samples: SampleArguments,
}

/// What else there is to do with configurations.
#[derive(clap::Subcommand)]
pub(super) enum PollCommand {
    /// Ask devices what they are, and write a configuration that polls them (cfgmaker)
    Make(Box<super::make::MakeArguments>),
    /// Write a page of all targets (indexmaker)
    Index(Box<super::index::IndexArguments>),
    /// Write the classic pages and pictures of targets, from logs or databases
    Pages(super::pages::PagesArguments),
}
