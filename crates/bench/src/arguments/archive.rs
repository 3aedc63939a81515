//! `whit bench archive`: what questions to recordings cost.

use crate::archive::ArchivePlan;

use super::{CommonArguments, FolderArgument};

/// Arguments of `whit bench archive`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchArchiveArguments {
    /// Seconds of the recording that is called a day
    #[arg(long, value_name = "N", default_value_t = 86_400, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(60..=864_000))]
    seconds: u64,

    /// Days of the long recording of one CPU
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    days: u64,

    /// Processes of the recording of processes
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    processes: u32,

    /// Seconds of the recording of processes
    #[arg(long, value_name = "N", default_value_t = 3_600, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(10..=86_400))]
    process_seconds: u64,

    /// Without Prometheus and VictoriaMetrics, which take minutes to import a day
    #[arg(long)]
    no_rival: bool,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchArchiveArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> ArchivePlan {
        let common = &self.common;
        ArchivePlan {
            rounds: common.rounds(),
            seconds: common.size(self.seconds, 600),
            days: common.size(self.days, 2),
            processes: common.size(self.processes, 20),
            process_seconds: common.size(self.process_seconds, 30),
            has_rival: !self.no_rival,
            folder: self.place.folder.clone(),
        }
    }
}
