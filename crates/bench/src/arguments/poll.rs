//! `whit bench poll`: what polling devices costs.

use crate::poll::{PollCase, PollPlan};

use super::{CommonArguments, FolderArgument, all_or, one_of};

/// Arguments of `whit bench poll`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchPollArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(PollCase::ALL, PollCase::name))]
    case: Vec<PollCase>,

    /// Targets of MRTG's experiment
    #[arg(long, value_name = "N", default_value_t = 3_164, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=24_000))]
    targets: u32,

    /// The devices that these are on
    #[arg(long, value_name = "N", default_value_t = 32, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=250))]
    hosts: u32,

    /// Rounds of polling of a program that stays
    #[arg(long, value_name = "N", default_value_t = 6, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    steps: u32,

    /// Seconds between these rounds
    #[arg(long, value_name = "SECS", default_value_t = 5, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=300))]
    interval: u32,

    /// Leave out MRTG's native mode, which takes a minute a round
    #[arg(long)]
    no_native: bool,

    /// Simulate the devices of the experiment, too
    #[arg(long)]
    simulated: bool,

    /// Simulated devices
    #[arg(long, value_name = "N", default_value_t = 5_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=60_000))]
    devices: u32,

    /// Objects that are read of each
    #[arg(long, value_name = "N", default_value_t = 90, conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(4..=1_000))]
    objects: u32,

    #[command(flatten)]
    place: FolderArgument,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchPollArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> PollPlan {
        let common = &self.common;
        PollPlan {
            rounds: common.rounds(),
            cases: all_or(&PollCase::ALL, &self.case),
            targets: common.size(self.targets, 5),
            hosts: common.size(self.hosts, 2),
            steps: common.size(self.steps, 1),
            interval_s: common.size(self.interval, 1),
            has_native: !self.no_native,
            is_simulated: self.simulated,
            devices: common.size(self.devices, 11),
            objects: common.size(self.objects, 6),
            folder: self.place.folder.clone(),
        }
    }
}
