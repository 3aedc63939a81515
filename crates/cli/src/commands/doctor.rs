//! `whit doctor`.

use std::process::ExitCode;

/// Arguments of `whit doctor`.
#[derive(clap::Args)]
pub(crate) struct DoctorArguments {}

/// Runs the verb.
pub(crate) fn run(_arguments: DoctorArguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} is being built", "doctor")
}
