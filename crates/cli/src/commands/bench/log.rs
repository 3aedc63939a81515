//! Options of `whit bench log`.

use std::path::PathBuf;

use bench::log::{self, LogCase, LogPlan};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, one_of};

/// Arguments of `whit bench log`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchLogArguments {
    /// Only this part (may be repeated); with --json: acs, unless others are named
    #[arg(long, value_name = "NAME", value_parser = one_of(LogCase::ALL, LogCase::name))]
    case: Vec<LogCase>,

    /// Only this row of ACS's table, 1 to 36 (may be repeated)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=36))]
    row: Vec<u8>,

    /// Logs of a thread in a burst
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    calls: u32,

    /// Threads, where there are many
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(2..=200))]
    threads: u32,

    /// Bursts of a logger in a round, beside others
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    bursts: u32,

    /// Pauses of a logger in a round, each before 20 calls; 500 take a second
    #[arg(long, value_name = "N", default_value_t = 2_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pauses: u32,

    /// Records of a run of the throughput
    #[arg(long, value_name = "N", default_value_t = 20_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    records: u64,

    /// Make spools, stores and outputs below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

impl Benchmark for BenchLogArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(log::run(&self.plan(), programs, progress)?)
    }
}

impl BenchLogArguments {
    fn plan(&self) -> LogPlan {
        let cases = match (self.case.is_empty(), self.common.json) {
            (false, _) => self.case.clone(),
            (true, true) => vec![LogCase::Acs],
            (true, false) => LogCase::ALL.to_vec(),
        };
        let (rows, folder) = (self.row.clone(), self.folder.clone());
        if self.common.quick {
            return LogPlan {
                rounds: 1,
                cases,
                rows,
                calls: 100,
                threads: 2,
                bursts: 2,
                pauses: 5,
                records: 10_000,
                folder,
            };
        }
        LogPlan {
            rounds: self.common.rounds.into(),
            cases,
            rows,
            calls: self.calls,
            threads: self.threads,
            bursts: self.bursts,
            pauses: self.pauses,
            records: self.records,
            folder,
        }
    }
}
