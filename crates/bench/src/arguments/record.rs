//! `whit bench record`: what recording costs.

use crate::record::RecordPlan;

use super::{CommonArguments, five_rounds};

/// Arguments of `whit bench record`.
#[derive(clap::Args)]
#[command(after_help = super::HELP, mut_arg("rounds", five_rounds))]
pub struct BenchRecordArguments {
    /// Only this line of the recording table, as '-scdnm' (may be repeated)
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    case: Vec<String>,

    /// Samples of a round; 8640 are a day at 10 s
    #[arg(long, value_name = "N", default_value_t = 8640, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    samples: u64,

    /// Samples at one a second
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    slow_samples: u64,

    /// Compare sizes over this many seconds, one sample a second [300 without SECS; 0: do not]
    #[arg(long, value_name = "SECS", num_args = 0..=1, default_value_t = 0,
          default_missing_value = "300", conflicts_with = "quick")]
    long: u64,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchRecordArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> RecordPlan {
        let common = &self.common;
        RecordPlan {
            cases: self.case.clone(),
            rounds: common.rounds(),
            samples: common.size(self.samples, 30),
            slow_samples: common.size(self.slow_samples, 1),
            traced_samples: common.size(200, 20),
            long_seconds: common.size(self.long, 0),
            play_rounds: common.rounds().min(3),
            quick: common.quick,
        }
    }
}
