//! `whit bench rrd`: what creating, updating, reading and drawing databases costs.

use std::path::PathBuf;

use bench::rrd::{self, RrdCase, RrdPlan};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, one_of};

/// Arguments of `whit bench rrd`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(super) struct BenchRrdArguments {
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

    /// Make the files below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

impl Benchmark for BenchRrdArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(rrd::run(&self.plan(), programs, progress)?)
    }
}

impl BenchRrdArguments {
    fn plan(&self) -> RrdPlan {
        let cases = if self.case.is_empty() { RrdCase::ALL.to_vec() } else { self.case.clone() };
        let folder = self.folder.clone();
        if self.common.quick {
            return RrdPlan {
                rounds: 1,
                cases,
                processes: 2,
                piped: 10,
                updates: 20,
                files: 5,
                many: 20,
                steps: 3,
                folder,
            };
        }
        RrdPlan {
            rounds: self.common.rounds.into(),
            cases,
            processes: self.processes,
            piped: self.piped,
            updates: self.piped * 10,
            files: self.files,
            many: self.many,
            steps: self.steps,
            folder,
        }
    }
}
