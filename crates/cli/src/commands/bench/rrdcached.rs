//! `whit bench rrdcached`: what updates through the caching daemon cost.

use std::path::PathBuf;

use bench::rrdcached::{self, DaemonCase, DaemonPlan};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, one_of};

/// Arguments of `whit bench rrdcached`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(super) struct BenchRrdcachedArguments {
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

    /// Make files and journals below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

impl Benchmark for BenchRrdcachedArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(rrdcached::run(&self.plan(), programs, progress)?)
    }
}

impl BenchRrdcachedArguments {
    fn plan(&self) -> DaemonPlan {
        let cases = if self.case.is_empty() { DaemonCase::ALL.to_vec() } else { self.case.clone() };
        let folder = self.folder.clone();
        if self.common.quick {
            return DaemonPlan {
                rounds: 1,
                cases,
                batched: 2_000,
                single: 100,
                files: 8,
                targets: 5,
                steps: 12,
                many: 50,
                folder,
            };
        }
        DaemonPlan {
            rounds: self.common.rounds.into(),
            cases,
            batched: self.updates,
            single: self.updates / 20,
            files: self.files,
            targets: self.targets,
            steps: self.steps,
            many: self.many,
            folder,
        }
    }
}
