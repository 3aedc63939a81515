//! The command line of `whit link`.

use std::path::PathBuf;

/// Arguments of `whit link`.
#[derive(clap::Args)]
#[command(after_help = crate::help::LINK)]
pub(crate) struct LinkArguments {
    /// Folder to make the links in; made if missing
    pub(super) directory: PathBuf,
    /// Replace existing files of these names
    #[arg(long)]
    pub(super) force: bool,
}
