//! `whit bench log`: what a log call costs.

use crate::log::{LogCase, LogPlan};

use super::{CommonArguments, FolderArgument, all_or, one_of};

/// Arguments of `whit bench log`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchLogArguments {
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

    /// Records in which `--case search` searches
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1_000..=200_000_000))]
    searched: u64,

    /// Records that each input takes with `--case input`
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    taken: u64,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchLogArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> LogPlan {
        let parts = if self.common.json { &[LogCase::Acs][..] } else { &LogCase::ALL };
        let common = &self.common;
        LogPlan {
            rounds: common.rounds(),
            cases: all_or(parts, &self.case),
            rows: self.row.clone(),
            calls: common.size(self.calls, 100),
            threads: common.size(self.threads, 2),
            bursts: common.size(self.bursts, 2),
            pauses: common.size(self.pauses, 5),
            records: common.size(self.records, 10_000),
            searched: common.size(self.searched, 10_000),
            taken: common.size(self.taken, 10_000),
            folder: self.place.folder.clone(),
        }
    }
}
