//! The command line of `whit doctor`.

use std::path::PathBuf;

/// Arguments of `whit doctor`.
#[derive(clap::Args)]
#[command(after_help = crate::help::DOCTOR)]
pub(crate) struct DoctorArguments {
    /// Look at the /proc and /sys below this folder instead of this machine's
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(super) root: PathBuf,

    /// Seconds between samples, which the verdict is about
    #[arg(short = 'i', long, value_name = "SECS", default_value_t = 1.0)]
    pub(super) interval: f64,

    /// How often each file is read
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) reads: u32,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(crate) pager: crate::pager::PagerArguments,
}
