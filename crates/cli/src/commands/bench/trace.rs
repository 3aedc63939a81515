//! `whit bench trace`: what a traced system call costs.

use bench::trace::{self, TraceLoad, TracePlan, TraceSize};
use bench::{Programs, Progress, Report};

use super::{Benchmark, CommonArguments, one_of};

/// Arguments of `whit bench trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(super) struct BenchTraceArguments {
    /// Only this load (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = one_of(TraceLoad::ALL, TraceLoad::name))]
    load: Vec<TraceLoad>,

    /// At most so many slices of a load in a turn, for slow machines
    #[arg(long, value_name = "N", conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    slices: Option<u64>,

    #[command(flatten)]
    common: CommonArguments,
}

impl Benchmark for BenchTraceArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn measure(&self, programs: &Programs, progress: &Progress<'_>) -> anyhow::Result<Report> {
        Ok(trace::run(&self.plan(), programs, progress)?)
    }
}

impl BenchTraceArguments {
    fn plan(&self) -> TracePlan {
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
        let wanted = |load: &TraceLoad| self.load.is_empty() || self.load.contains(load);
        let loads = TraceLoad::ALL.into_iter().filter(wanted);
        let loads = loads.map(|load| (load, sizes(load).0, sizes(load).1)).collect();
        match self.common.quick {
            true => TracePlan { rounds: 1, loads, files: 50 },
            false => TracePlan { rounds: self.common.rounds.into(), loads, files: 500 },
        }
    }
}

/// Programs that all rounds together start.
const PROGRAMS_STARTED: u64 = 10_000;
