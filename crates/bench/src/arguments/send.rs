//! `whit bench send`: what handing samples over costs.

use crate::send::{SendCase, SendPlan};

use super::{CommonArguments, FolderArgument, all_or, one_of};

/// Arguments of `whit bench send`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchSendArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(SendCase::ALL, SendCase::name))]
    case: Vec<SendCase>,

    /// Seconds that are measured of each contestant in a round, after its start
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,

    /// Simulated hosts that are sent at once
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    hosts: u32,

    /// Seconds that they are sent
    #[arg(long, value_name = "N", default_value_t = 300, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=86_400))]
    hosts_seconds: u64,

    /// Without node_exporter and collectd
    #[arg(long)]
    no_rival: bool,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchSendArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> SendPlan {
        SendPlan {
            rounds: self.common.rounds(),
            seconds: self.common.size(self.seconds, 2),
            cases: all_or(&SendCase::ALL, &self.case),
            has_rivals: !self.no_rival,
            hosts: self.common.size(self.hosts, 4) as usize,
            hosts_seconds: self.common.size(self.hosts_seconds, 2),
            folder: self.place.folder.clone(),
        }
    }
}
