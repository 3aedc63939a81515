//! `whit bench`.

use std::process::ExitCode;

/// Arguments of `whit bench`.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {}

/// Runs the verb.
pub(crate) fn run(_arguments: BenchArguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} is being built", "bench")
}
