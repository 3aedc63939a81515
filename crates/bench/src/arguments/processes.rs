//! `whit bench processes`: what reading processes costs.

use super::CommonArguments;
use crate::error::{Context as _, Result};
use crate::processes::ProcessesPlan;

/// Arguments of `whit bench processes`.
#[derive(clap::Args)]
#[command(after_help = super::HELP)]
pub struct BenchProcessesArguments {
    /// Samples of a round in the rows of collectl itself; every sixth reads processes.
    /// Readings of sleeping processes grow and shrink with it
    #[arg(long, value_name = "N", default_value_t = 8640, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(6..=10_000_000))]
    samples: u64,

    /// Sleeping processes to watch: how many, or how many x threads of each; a row each
    #[arg(
        long,
        alias = "crowds",
        value_name = "N,NxT,…",
        default_value = "100,1000,10000,1000x8",
        conflicts_with = "quick"
    )]
    sleepers: String,

    /// Instead: start programs as fast as the machine can for this many seconds, and count how many
    /// the recording has [300 without SECS]
    #[arg(long, value_name = "SECS", num_args = 0..=1, default_missing_value = "300",
          value_parser = clap::value_parser!(u64).range(1..=86_400),
          conflicts_with_all = ["rounds", "samples", "sleepers", "quick"])]
    pub long: Option<u64>,

    #[command(flatten)]
    pub common: CommonArguments,
}

impl BenchProcessesArguments {
    /// The size of the benchmark.
    pub fn plan(&self) -> Result<ProcessesPlan> {
        let common = &self.common;
        let sleepers = match common.quick {
            true => vec![(20, 1), (5, 3)],
            false => parse_sleepers(&self.sleepers)?,
        };
        let readings = (SLEEPER_READINGS * self.samples / SAMPLES).max(2);
        Ok(ProcessesPlan {
            rounds: common.rounds(),
            samples: common.size(self.samples, 12),
            sleeper_readings: common.size(readings, 2),
            sleepers,
            quick: common.quick,
        })
    }
}

/// The rows of sleeping processes that `--sleepers` asks for: processes, and threads of each.
fn parse_sleepers(text: &str) -> Result<Vec<(usize, usize)>> {
    let number =
        |word: &str| word.parse::<usize>().ok().filter(|number| (1..=100_000).contains(number));
    let row = |word: &str| match word.split_once('x') {
        Some((processes, threads)) => Some((number(processes)?, number(threads)?)),
        None => Some((number(word)?, 1)),
    };
    let rows = text.split(',').filter(|word| !word.is_empty());
    rows.map(|word| {
        row(word).with_context(|| format!("--sleepers: `{word}` is neither N nor NxTHREADS"))
    })
    .collect()
}

/// Samples of a round by default: a day at 10 s.
const SAMPLES: u64 = 8_640;

/// Readings of a thousand sleeping processes, if as many samples are taken.
const SLEEPER_READINGS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_are_processes_and_threads() {
        assert_eq!(parse_sleepers("100,1000x8").unwrap(), [(100, 1), (1000, 8)]);
        assert_eq!(parse_sleepers("").unwrap(), []);
        for wrong in ["0", "10x", "x", "ten", "1000000000"] {
            assert!(parse_sleepers(wrong).is_err(), "{wrong}");
        }
    }
}
