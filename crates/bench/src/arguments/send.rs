//! `whit bench send`: what handing samples over costs.

use std::path::PathBuf;

use crate::send::SendPlan;

use super::CommonArguments;

/// Arguments of `whit bench send`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchSendArguments {
    /// Seconds that are measured of each contestant in a round, after its start
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,

    /// Without node_exporter and collectd
    #[arg(long)]
    no_rival: bool,

    /// Make the files below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchSendArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> SendPlan {
        SendPlan {
            rounds: self.common.rounds(),
            seconds: self.common.size(self.seconds, 2),
            has_rivals: !self.no_rival,
            folder: self.folder.clone(),
        }
    }
}
