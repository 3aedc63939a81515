//! `whit complete` (hidden): what may stand at the end of a command line, for the scripts of shells.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::CommandFactory as _;
use watch::DataKind;

/// How long a person waits for a list.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `whit complete`.
#[derive(clap::Args)]
pub(crate) struct CompleteArguments {
    /// Characters at which the shell breaks words, too
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    breaks: String,
    /// The command line up to the cursor
    #[arg(last = true)]
    line: String,
}

/// Runs the verb: a candidate a line.
pub(crate) fn run(arguments: &CompleteArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let services = super::watch::services();
    let places = completion::NameSources {
        recordings: DataKind::Recordings.find(&services).ok(),
        log_store: DataKind::Log.find(&services).ok(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        has_ended: Some(&|| began.elapsed() > PATIENCE),
    };
    let command = crate::Arguments::command();
    let found = completion::candidates(&command, &arguments.line, &arguments.breaks, &places);
    crate::stderr::print(&found.iter().map(|one| format!("{one}\n")).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
