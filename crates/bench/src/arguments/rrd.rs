//! `whit bench rrd`: what creating, updating, reading and drawing databases costs.

use crate::rrd::{RrdCase, RrdPlan};

use super::{CommonArguments, FolderArgument, all_or, one_of};

/// Arguments of `whit bench rrd`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchRrdArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(RrdCase::ALL, RrdCase::name))]
    case: Vec<RrdCase>,

    /// Files of MRTG's layout (2 sources, 8 archives)
    #[arg(long, value_name = "N", default_value_t = 3_164, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    files: u64,

    /// Files of one source
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    many: u64,

    /// Updates of each of these files in a round, five minutes apart; 12 are an hour
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    steps: u64,

    /// Processes of a round where each command is one
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    processes: u64,

    /// Commands of a round by pipe; pictures are a tenth of it, updates of one file ten times
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    piped: u64,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchRrdArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> RrdPlan {
        let common = &self.common;
        RrdPlan {
            rounds: common.rounds(),
            cases: all_or(&RrdCase::ALL, &self.case),
            processes: common.size(self.processes, 2),
            piped: common.size(self.piped, 10),
            updates: common.size(self.piped * 10, 20),
            files: common.size(self.files, 5),
            many: common.size(self.many, 20),
            steps: common.size(self.steps, 3),
            folder: self.place.folder.clone(),
        }
    }
}
