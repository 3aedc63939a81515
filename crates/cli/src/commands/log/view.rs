//! `whit log view`: records on a terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use log_view::{LogScreen, ViewSettings};

use super::filters::{self, FilterArguments, ZoneArguments};
use super::reach::ReachArguments;
use crate::commands::top::terminal;

/// Options of `whit log view`.
#[derive(clap::Args)]
pub(crate) struct ViewArguments {
    /// Folder of the store, or a file with ACS's XML of log records [default: the service's store]
    #[arg(value_name = "STORE")]
    store: Option<PathBuf>,
    /// Look at the central server at this address: the path of a socket, HOST:PORT or tls:HOST:PORT
    #[arg(short = 'c', long, value_name = "ADDRESS", conflicts_with = "store")]
    central: Option<String>,
    #[command(flatten)]
    reach: ReachArguments,
    #[command(flatten)]
    filter: FilterArguments,
    /// Begin with the filter that was kept under this name (key s)
    #[arg(long, value_name = "NAME")]
    named: Option<String>,
    /// Show new records as they come (key F)
    #[arg(short = 'F', long)]
    follow: bool,
    #[command(flatten)]
    zone: ZoneArguments,
}

/// Runs the verb.
pub(crate) fn view(arguments: ViewArguments) -> anyhow::Result<ExitCode> {
    let settings = ViewSettings {
        filter: arguments.filter.filter()?,
        named: arguments.named,
        filters: log_view::kept_filters(&|name| std::env::var_os(name)),
        follows: arguments.follow,
        zone: crate::zone::local(),
        log_zone: arguments.zone.zone(),
        present: |zone| crate::zone::now().with_time_zone(zone.clone()),
    };
    let screen = if let Some(central) = arguments.central {
        let (reach, to) = (arguments.reach, central.clone());
        let connect = move || reach.connect(&to).map_err(|error| format!("{error:#}"));
        LogScreen::central(central, Box::new(connect), settings)?
    } else {
        let store = filters::store(arguments.store.as_deref())?;
        anyhow::ensure!(store.exists(), "{}", filters::unreadable(&store));
        let (screen, passed) = LogScreen::open(&store, &std::env::temp_dir(), settings)?;
        if let Some(said) = passed.words() {
            crate::stderr::message(format_args!("{}: {said}", store.display()));
        }
        screen
    };
    screen.show(&terminal())?;
    Ok(ExitCode::SUCCESS)
}
