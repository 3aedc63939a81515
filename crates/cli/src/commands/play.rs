//! `whit play`.

use std::process::ExitCode;

/// Arguments of `whit play`.
#[derive(clap::Args)]
pub(crate) struct PlayArguments {}

/// Runs the verb.
pub(crate) fn run(_arguments: PlayArguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} is being built", "play")
}
