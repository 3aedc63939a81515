//! `whit bench trace`: what a traced system call costs.

use crate::trace::{TraceLoad, TracePlan, TraceSize};

use super::{CommonArguments, all_or, one_of};

/// Arguments of `whit bench trace`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchTraceArguments {
    /// Only this load (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(TraceLoad::ALL, TraceLoad::name))]
    load: Vec<TraceLoad>,

    /// At most so many slices of a load in a turn, for slow machines
    #[arg(long, value_name = "N", conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    slices: Option<u64>,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchTraceArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> TracePlan {
        let slices_max = self.slices.unwrap_or(u64::MAX);
        let size = |units, slices: u64| TraceSize { units, slices: slices.min(slices_max) };
        let programs = (PROGRAMS_STARTED / u64::from(self.common.rounds)).max(1);
        let sizes = |load| match (load, self.common.quick) {
            (TraceLoad::Getppid, true) => (size(500, 2), size(250, 2)),
            (TraceLoad::Dd, true) => (size(250, 2), size(125, 2)),
            (TraceLoad::True, true) => (size(1, 3), size(1, 3)),
            (TraceLoad::Find, true) => (size(1, 2), size(1, 2)),
            (TraceLoad::Getppid, false) => (size(4_000, 250), size(100, 250)),
            (TraceLoad::Dd, false) => (size(5_000, 100), size(250, 50)),
            (TraceLoad::True, false) => (size(1, programs), size(1, programs.min(100))),
            (TraceLoad::Find, false) => (size(1, 100), size(1, 20)),
        };
        let asked = all_or(&TraceLoad::ALL, &self.load);
        let loads = TraceLoad::ALL.into_iter().filter(|load| asked.contains(load));
        TracePlan {
            rounds: self.common.rounds(),
            loads: loads.map(|load| (load, sizes(load).0, sizes(load).1)).collect(),
            files: self.common.size(500, 50),
        }
    }
}

/// Programs that all rounds together start.
const PROGRAMS_STARTED: u64 = 10_000;
