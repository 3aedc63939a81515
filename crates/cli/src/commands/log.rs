//! `whit log`: carry log records to a central store, and look at them there.
//!
//! The work is in `log_proxy`, `log_central`, `log_store` and `log_format`;
//! here are options, signals and the terminal.

mod admin;
pub(crate) mod filters;
mod reach;
mod remote;
mod serve;
mod show;
mod view;

use std::process::ExitCode;

/// Arguments of `whit log`.
#[derive(clap::Args)]
#[command(after_help = crate::help::LOG)]
pub(crate) struct LogArguments {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(clap::Subcommand)]
pub(crate) enum Action {
    /// Read the rings of this host's processes and send their records to the central server
    Proxy(serve::ProxyArguments),
    /// Take records from proxies and commit them to a store
    Central(serve::CentralArguments),
    /// Show the records that dead processes left in their rings
    Recover(show::RecoverArguments),
    /// Show the newest records of a store, and those that come
    Tail(Box<show::TailArguments>),
    /// Show records of a store, in the order of time
    Query(Box<show::QueryArguments>),
    /// Write records of a store to a file
    Export(Box<show::ExportArguments>),
    /// Count records of a store, by level, host, process and logger
    Stats(Box<admin::StatsArguments>),
    /// Look at records on a terminal: filters, search, counts, follow, export
    View(Box<view::ViewArguments>),
    /// Set levels of loggers while their processes run
    Level(admin::LevelArguments),
    /// Check that a store has every record once; exit code 1 if not, 3 if writers dropped some
    Verify(admin::VerifyArguments),
}

/// Runs the verb.
pub(crate) fn run(arguments: LogArguments) -> anyhow::Result<ExitCode> {
    match arguments.action {
        Action::Proxy(arguments) => serve::proxy(&arguments),
        Action::Central(arguments) => serve::central(&arguments),
        Action::Recover(arguments) => show::recover(&arguments),
        Action::Tail(arguments) => match &arguments.records.central {
            Some(central) => remote::tail(&arguments, central),
            None => show::tail(&arguments),
        },
        Action::Query(arguments) => match &arguments.records.central {
            Some(central) => remote::query(&arguments, central),
            None => show::query(&arguments),
        },
        Action::Export(arguments) => show::export(&arguments),
        Action::Stats(arguments) => admin::stats(&arguments),
        Action::View(arguments) => view::view(*arguments),
        Action::Level(arguments) => admin::level(&arguments),
        Action::Verify(arguments) => admin::verify(&arguments),
    }
}
