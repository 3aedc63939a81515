//! `whit bench rrdcached`: what updates through the caching daemon cost.

use crate::rrdcached::{DaemonCase, DaemonPlan};

use super::{CommonArguments, FolderArgument, all_or, one_of};

/// Arguments of `whit bench rrdcached`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchRrdcachedArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(DaemonCase::ALL, DaemonCase::name))]
    case: Vec<DaemonCase>,

    /// Updates of a round in batches; a twentieth of it one at a time
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    updates: u64,

    /// Files that these go to
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(4..=1_000_000))]
    files: u64,

    /// Targets of MRTG
    #[arg(long, value_name = "N", default_value_t = 3_164, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    targets: u64,

    /// Steps of five minutes, of MRTG and in the journal; 12 are an hour
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    steps: u64,

    /// Files of a full journal
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    many: u64,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchRrdcachedArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> DaemonPlan {
        let common = &self.common;
        DaemonPlan {
            rounds: common.rounds(),
            cases: all_or(&DaemonCase::ALL, &self.case),
            batched: common.size(self.updates, 2_000),
            single: common.size(self.updates / 20, 100),
            files: common.size(self.files, 8),
            targets: common.size(self.targets, 5),
            steps: common.size(self.steps, 12),
            many: common.size(self.many, 50),
            folder: self.place.folder.clone(),
        }
    }
}
