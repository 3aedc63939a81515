//! `whit bench watch`: what the service costs with every part on.

use crate::watch::WatchPlan;

use super::{CommonArguments, FolderArgument};

/// Arguments of `whit bench watch`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchWatchArguments {
    /// Seconds that are measured, after a tenth of them; from 60 on after 90 at least
    #[arg(long, value_name = "N", default_value_t = 600, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=86_400))]
    seconds: u64,

    /// Sleeping processes
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    processes: u32,

    /// Without netdata
    #[arg(long)]
    no_rival: bool,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchWatchArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> WatchPlan {
        let common = &self.common;
        WatchPlan {
            rounds: common.rounds(),
            seconds: common.size(self.seconds, 2),
            processes: common.size(self.processes, 10) as usize,
            has_rival: !self.no_rival,
            folder: self.place.folder.clone(),
        }
    }
}
