//! `whit bench`: repeats the classic measurements on this machine.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::bench::programs::Programs;
use crate::bench::{Plan, report, save, suite};

/// Arguments of `whit bench`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// What recording costs, beside collectl, sadc and the bare reads; sizes; playing
    Record(BenchRecordArguments),
}

/// Arguments of `whit bench record`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchRecordArguments {
    /// Turns of everybody; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Samples of a turn; 8640 stand for a day at 10 s
    #[arg(long, value_name = "N", default_value_t = 8640,
          value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    samples: u64,

    /// Samples at one a second
    #[arg(long, value_name = "N", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    slow_samples: u64,

    /// Compare sizes over so many seconds at one sample a second [300 unless told; 0: not at all]
    #[arg(long, value_name = "SECS", num_args = 0..=1, default_value_t = 0,
          default_missing_value = "300")]
    long: u64,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with_all = ["rounds", "samples", "slow_samples", "long"])]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), as DATE-MACHINE
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(arguments: BenchArguments) -> anyhow::Result<ExitCode> {
    let What::Record(arguments) = arguments.what;
    let plan = arguments.plan();
    let programs = Programs::find()?;
    let machine = save::machine(&programs);
    let results = suite::run_all(&plan, &programs)?;
    let summary = report::human(&plan, &results);
    let text = match arguments.json {
        true => format!("{:#}\n", report::json(&plan, &results, &machine)),
        false => summary.clone(),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    if let Some(base) = &arguments.save {
        let command: Vec<String> = std::env::args().skip(1).collect();
        let command = format!("whit {}", command.join(" "));
        let folder = save::save(base, &command, &machine, &summary, &results)?;
        eprintln!("kept in {}", folder.display());
    }
    Ok(ExitCode::SUCCESS)
}

impl BenchRecordArguments {
    fn plan(&self) -> Plan {
        if self.quick {
            return Plan {
                rounds: 1,
                samples: 30,
                slow_samples: 1,
                traced_samples: 20,
                long_seconds: 0,
                play_rounds: 1,
                quick: true,
            };
        }
        Plan {
            rounds: self.rounds.into(),
            samples: self.samples,
            slow_samples: self.slow_samples,
            traced_samples: 200,
            long_seconds: self.long,
            play_rounds: usize::from(self.rounds).min(3),
            quick: false,
        }
    }
}
