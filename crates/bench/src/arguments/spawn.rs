//! `whit bench spawn`: what running a job costs.

use crate::spawn::{SpawnLoad, SpawnPlan};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{CommonArguments, all_or};

/// Arguments of `whit bench spawn`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchSpawnArguments {
    /// Jobs of a round
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: u64,

    /// How many run at once: a part of the table each
    #[arg(short = 'j', long, value_name = "N,N,…", value_delimiter = ',',
          default_value = "2,100,1000", conflicts_with = "quick",
          value_parser = clap::value_parser!(u32).range(1..=30_000))]
    at_once: Vec<u32>,

    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = spawn_load())]
    load: Vec<SpawnLoad>,

    /// Size of the file of --load pipe, in the temporary folder
    #[arg(long, value_name = "BYTES", default_value_t = 2_000_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1_000..))]
    pipe_bytes: u64,

    /// Without GNU parallel, which takes most of the time
    #[arg(long)]
    no_rival: bool,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchSpawnArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> SpawnPlan {
        let common = &self.common;
        let at_once = self.at_once.iter().map(|number| *number as usize).collect();
        SpawnPlan {
            rounds: common.rounds(),
            jobs: common.size(self.jobs, 20),
            counted_jobs: Some(common.size((20, 120), (4, 8))),
            at_once: common.size(at_once, vec![2, 10]),
            loads: all_or(&SpawnLoad::ALL, &self.load),
            rival: !self.no_rival,
            pipe_bytes: common.size(self.pipe_bytes, 1_000_000),
            sleepers: common.size(1_000, 20),
            watched_ms: common.size(5_000, 200),
        }
    }
}

/// Parses the name of a load of `whit bench spawn`.
pub(super) fn spawn_load() -> impl TypedValueParser<Value = SpawnLoad> {
    let values = SpawnLoad::ALL.map(|load| PossibleValue::new(load.name()).help(load.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        SpawnLoad::ALL.into_iter().find(|load| load.name() == name).ok_or("no such load")
    })
}
