//! `whit record`.

use std::process::ExitCode;

/// Arguments of `whit record`.
#[derive(clap::Args)]
pub(crate) struct RecordArguments {}

/// Runs the verb.
pub(crate) fn run(_arguments: RecordArguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} is being built", "record")
}
