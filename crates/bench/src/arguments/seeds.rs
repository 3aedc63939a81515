//! `whit bench seeds`: the five published measurements, repeated.

use std::path::PathBuf;

use crate::seeds::{Seed, SeedsPlan};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{CommonArguments, all_or};

/// Arguments of `whit bench seeds`.
#[derive(clap::Args)]
#[command(after_help = super::HELP, mut_arg("quick", quick))]
pub struct BenchSeedsArguments {
    /// Only this measurement (may be repeated)
    #[arg(long, value_name = "NUMBER", value_parser = seed())]
    seed: Vec<Seed>,

    /// Only rows whose part has this text in its name (may be repeated); a wrong one lists the names
    #[arg(long, value_name = "TEXT")]
    part: Vec<String>,

    /// Keep what is measured in this file, and do not measure again what is in it
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Boot other kernels, and machines of 1 to 64 CPUs, by `cargo xtask vm` of this source tree
    #[arg(long, value_name = "TREE")]
    guests: Option<PathBuf>,

    /// Write the report as one page for browsers, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchSeedsArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> SeedsPlan {
        SeedsPlan {
            rounds: self.common.rounds(),
            is_quick: self.common.quick,
            seeds: all_or(&Seed::ALL, &self.seed),
            parts: self.part.clone(),
            resume: self.resume.clone(),
            guests: self.guests.clone(),
        }
    }
}

/// What `--quick` means where it is no trial.
fn quick(argument: clap::Arg) -> clap::Arg {
    argument.help("One round of less: within five minutes, with starts in the figures")
}

/// Parses the number of a measurement.
fn seed() -> impl TypedValueParser<Value = Seed> {
    let values = Seed::ALL.map(|seed| PossibleValue::new(seed.name()).help(seed.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        Seed::ALL.into_iter().find(|seed| seed.name() == name).ok_or("no such measurement")
    })
}
