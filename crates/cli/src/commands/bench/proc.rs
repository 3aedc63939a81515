//! `whit bench proc`: what files cost that grow with the number of CPUs.

use bench::proc::{self, ProcPlan};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, five_rounds};

/// Arguments of `whit bench proc`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH, mut_arg("rounds", five_rounds))]
pub(super) struct BenchProcArguments {
    /// Samples of a program in a round; files are read as often
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    samples: u64,

    #[command(flatten)]
    common: CommonArguments,
}

impl Benchmark for BenchProcArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(proc::run(&self.plan(), programs, progress)?)
    }
}

impl BenchProcArguments {
    fn plan(&self) -> ProcPlan {
        if self.common.quick {
            return ProcPlan { rounds: 1, readings: 5, samples: 5 };
        }
        ProcPlan {
            rounds: self.common.rounds.into(),
            readings: self.samples,
            samples: self.samples,
        }
    }
}
