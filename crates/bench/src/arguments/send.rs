//! `whit bench send`: what handing samples over costs.

use crate::send::SendPlan;

use super::{CommonArguments, FolderArgument};

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

    #[command(flatten)]
    place: FolderArgument,

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
            folder: self.place.folder.clone(),
        }
    }
}
