//! The command line of `whit generate`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Arguments of `whit generate`.
#[derive(clap::Args)]
pub(crate) struct GenerateArguments {
    /// What to write
    pub(super) what: Generated,
    /// Folder to write to; made if missing
    #[arg(long)]
    pub(super) to: PathBuf,
}

/// What can be written.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Generated {
    Man,
    Completions,
    Reference,
}
