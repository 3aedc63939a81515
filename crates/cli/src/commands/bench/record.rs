//! `whit bench record`: what recording costs.

use bench::record::{self, RecordPlan};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, five_rounds};

/// Arguments of `whit bench record`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH, mut_arg("rounds", five_rounds))]
pub(super) struct BenchRecordArguments {
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
    common: CommonArguments,
}

impl Benchmark for BenchRecordArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(record::run(&self.plan(), programs, progress)?)
    }
}

impl BenchRecordArguments {
    fn plan(&self) -> RecordPlan {
        if self.common.quick {
            return RecordPlan {
                cases: self.case.clone(),
                rounds: 1,
                samples: 30,
                slow_samples: 1,
                traced_samples: 20,
                long_seconds: 0,
                play_rounds: 1,
                quick: true,
            };
        }
        RecordPlan {
            cases: self.case.clone(),
            rounds: self.common.rounds.into(),
            samples: self.samples,
            slow_samples: self.slow_samples,
            traced_samples: 200,
            long_seconds: self.long,
            play_rounds: usize::from(self.common.rounds).min(3),
            quick: false,
        }
    }
}
