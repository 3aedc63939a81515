//! `whit bench proc`: what files cost that grow with the number of CPUs.

use crate::proc::ProcPlan;

use super::{CommonArguments, five_rounds};

/// Arguments of `whit bench proc`.
#[derive(clap::Args)]
#[command(after_help = super::HELP, mut_arg("rounds", five_rounds))]
pub struct BenchProcArguments {
    /// Samples of a program in a round; files are read as often
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    samples: u64,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchProcArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> ProcPlan {
        let samples = self.common.size(self.samples, 5);
        ProcPlan { rounds: self.common.rounds(), readings: samples, samples }
    }
}
