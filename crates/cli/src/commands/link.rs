//! `whit link`.

use std::process::ExitCode;

/// Arguments of `whit link`.
#[derive(clap::Args)]
pub(crate) struct LinkArguments {}

/// Runs the verb.
pub(crate) fn run(_arguments: LinkArguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} is being built", "link")
}
