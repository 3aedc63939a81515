//! `whit bench`: repeats the classic measurements on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use testkit::floor::Loop;

use crate::bench::processes::crowd;
use crate::bench::programs::Programs;
use crate::bench::trace::load;
use crate::bench::{Plan, processes, report, save, spawn, suite, trace};

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
    /// What reading processes costs, beside collectl, a walk of /proc and a bare iterator
    Processes(BenchProcessesArguments),
    /// What a system call costs more while it is traced, by whit, strace, perf and bpftrace
    Trace(BenchTraceArguments),
    /// What running a job costs, by whit run, xargs, GNU parallel and a bare loop
    Spawn(BenchSpawnArguments),
    /// The bare loop of `spawn`: started by it, not by people
    #[command(hide = true)]
    Floor {
        /// Of what
        load: spawn::load::Load,
        /// How many
        jobs: u64,
        /// How many at once
        at_once: usize,
        /// Wait until each has become its program
        #[arg(long)]
        wait: bool,
    },
    /// The sleepers that `processes` watches: started by it, not by people
    #[command(hide = true)]
    Crowd {
        /// How many
        processes: usize,
        /// Threads of each
        threads: usize,
    },
    /// The system calls that `trace` has traced: started by it, not by people
    #[command(hide = true)]
    Load {
        /// Of what
        what: load::What,
        /// How many in each slice
        units: u64,
        /// Slices
        slices: u64,
        /// Where to tell how long they took
        folder: PathBuf,
    },
}

/// Arguments of `whit bench record`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchRecordArguments {
    /// Turns of everybody; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Only this line of the recording table, as '-scdnm' (may be repeated)
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    case: Vec<String>,

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

/// Arguments of `whit bench processes`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchProcessesArguments {
    /// Turns of everybody; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Samples of a turn in collectl's own rows; every sixth reads processes
    #[arg(long, value_name = "N", default_value_t = 8640,
          value_parser = clap::value_parser!(u64).range(6..=10_000_000))]
    samples: u64,

    /// Crowds of sleepers to watch: processes, or processes x threads
    #[arg(long, value_name = "N,NxT,…", default_value = "100,1000,10000,1000x8")]
    crowds: String,

    /// Instead: start programs as fast as the machine can for so many seconds, and count those
    /// that the recording tells of [300 unless told]
    #[arg(long, value_name = "SECS", num_args = 0..=1, default_missing_value = "300",
          value_parser = clap::value_parser!(u64).range(1..=86_400),
          conflicts_with_all = ["rounds", "samples", "crowds", "quick"])]
    long: Option<u64>,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with_all = ["rounds", "samples", "crowds"])]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), as DATE-MACHINE-processes; of --long in its
    /// folder flood
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// Arguments of `whit bench trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchTraceArguments {
    /// Turns of everybody; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), as DATE-MACHINE-trace
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// Arguments of `whit bench spawn`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchSpawnArguments {
    /// Turns of everybody; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Jobs of a turn
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: u64,

    /// How many run at once: a part of the table each
    #[arg(short = 'j', long, value_name = "N,N,…", value_delimiter = ',',
          default_value = "2,100,1000", value_parser = clap::value_parser!(u32).range(1..=30_000))]
    at_once: Vec<u32>,

    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME")]
    load: Vec<spawn::load::Load>,

    /// Size of the file of --load pipe, in the temporary folder
    #[arg(long, value_name = "BYTES", default_value_t = 2_000_000_000,
          value_parser = clap::value_parser!(u64).range(1_000..))]
    pipe_bytes: u64,

    /// Without GNU parallel, which takes most of the time
    #[arg(long)]
    no_rival: bool,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with_all = ["rounds", "jobs", "at_once", "pipe_bytes"])]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), as DATE-MACHINE-spawn
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(arguments: BenchArguments) -> anyhow::Result<ExitCode> {
    match arguments.what {
        What::Record(arguments) => record(&arguments)?,
        What::Processes(arguments) => processes(&arguments)?,
        What::Trace(arguments) => traced(&arguments)?,
        What::Spawn(arguments) => spawned(&arguments)?,
        What::Floor { load, jobs, at_once, wait } => {
            let how = if wait { Loop::Waits } else { Loop::GoesOn };
            spawn::load::run_floor(load, jobs, at_once, how)?;
        }
        What::Load { what, units, slices, folder } => load::run(what, units, slices, &folder)?,
        What::Crowd { processes, threads } => crowd::keep(processes, threads)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn record(arguments: &BenchRecordArguments) -> anyhow::Result<()> {
    let plan = arguments.plan();
    let programs = Programs::find()?;
    let machine = save::machine(&programs);
    let results = suite::run_all(&plan, &programs)?;
    let summary = report::human(&plan, &results);
    let json = report::json(&plan, &results, &machine);
    show(&summary, arguments.json.then_some(&json))?;
    keep(arguments.save.as_deref(), "", &machine, &summary, &results.turns())
}

fn processes(arguments: &BenchProcessesArguments) -> anyhow::Result<()> {
    let plan = arguments.plan()?;
    let programs = Programs::find()?;
    let machine = save::machine(&programs);
    if let Some(seconds) = arguments.long {
        let flood = processes::flood::run(&programs, seconds)?;
        let (summary, json) = (flood.human(), flood.json(&machine));
        show(&summary, arguments.json.then_some(&json))?;
        return keep(arguments.save.as_deref(), "-processes/flood", &machine, &summary, &[]);
    }
    let results = processes::run_all(&plan, &programs)?;
    let summary = processes::report::human(&plan, &results);
    let json = processes::report::json(&plan, &results, &machine);
    show(&summary, arguments.json.then_some(&json))?;
    keep(arguments.save.as_deref(), "-processes", &machine, &summary, &results.turns())
}

fn traced(arguments: &BenchTraceArguments) -> anyhow::Result<()> {
    let plan = arguments.plan();
    let programs = Programs::find()?;
    let machine = save::machine(&programs);
    let results = trace::run_all(&plan, &programs)?;
    let summary = trace::report::human(&plan, &results);
    let json = trace::report::json(&plan, &results, &machine);
    show(&summary, arguments.json.then_some(&json))?;
    keep(arguments.save.as_deref(), "-trace", &machine, &summary, &results.turns())
}

fn spawned(arguments: &BenchSpawnArguments) -> anyhow::Result<()> {
    let plan = arguments.plan();
    let programs = Programs::find()?;
    let mut machine = save::machine(&programs);
    if let Some(versions) = machine["versions"].as_array_mut() {
        let more = spawn::versions(&programs).into_iter();
        versions.extend(more.map(|(name, version)| json!({ "program": name, "version": version })));
    }
    let results = spawn::run_all(&plan, &programs)?;
    let summary = spawn::report::human(&plan, &results);
    let json = spawn::report::json(&plan, &results, &machine);
    show(&summary, arguments.json.then_some(&json))?;
    keep(arguments.save.as_deref(), "-spawn", &machine, &summary, &results.turns())
}

/// Prints the tables, or the object where that is asked for.
fn show(summary: &str, json: Option<&Value>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        Some(json) => writeln!(out, "{json:#}"),
        None => out.write_all(summary.as_bytes()),
    }
}

/// Keeps a run where that is asked for.
fn keep(
    base: Option<&Path>,
    kind: &str,
    machine: &Value,
    summary: &str,
    turns: &[save::Turns<'_>],
) -> anyhow::Result<()> {
    let Some(base) = base else { return Ok(()) };
    let command: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("whit {}", command.join(" "));
    let folder = save::save(base, kind, &command, machine, summary, turns)?;
    eprintln!("kept in {}", folder.display());
    Ok(())
}

impl BenchProcessesArguments {
    fn plan(&self) -> anyhow::Result<processes::Plan> {
        if self.quick {
            return Ok(processes::Plan {
                rounds: 1,
                samples: 12,
                crowd_readings: 2,
                crowds: vec![(20, 1), (5, 3)],
                quick: true,
            });
        }
        Ok(processes::Plan {
            rounds: self.rounds.into(),
            samples: self.samples,
            crowd_readings: 200,
            crowds: processes::parse_crowds(&self.crowds)?,
            quick: false,
        })
    }
}

/// Programs that everybody starts in all rounds together.
const PROGRAMS_STARTED: u64 = 10_000;

impl BenchTraceArguments {
    fn plan(&self) -> trace::Plan {
        use load::What;
        let size = |units, slices| trace::Size { units, slices };
        if self.quick {
            let loads = vec![
                (What::Getppid, size(500, 2), size(250, 2)),
                (What::Dd, size(250, 2), size(125, 2)),
                (What::True, size(1, 3), size(1, 3)),
                (What::Find, size(1, 2), size(1, 2)),
            ];
            return trace::Plan { rounds: 1, loads, files: 50 };
        }
        let programs = (PROGRAMS_STARTED / u64::from(self.rounds)).max(1);
        let loads = vec![
            (What::Getppid, size(4_000, 250), size(100, 250)),
            (What::Dd, size(5_000, 100), size(250, 50)),
            (What::True, size(1, programs), size(1, programs.min(100))),
            (What::Find, size(1, 100), size(1, 20)),
        ];
        trace::Plan { rounds: self.rounds.into(), loads, files: 500 }
    }
}

impl BenchSpawnArguments {
    fn plan(&self) -> spawn::Plan {
        let mut loads = self.load.clone();
        if loads.is_empty() {
            loads = spawn::load::Load::ALL.to_vec();
        }
        let rival = !self.no_rival;
        if self.quick {
            return spawn::Plan {
                rounds: 1,
                jobs: 20,
                counted_jobs: Some((4, 8)),
                at_once: vec![2, 10],
                loads,
                rival,
                pipe_bytes: 1_000_000,
                sleepers: 20,
                watched_ms: 200,
            };
        }
        spawn::Plan {
            rounds: self.rounds.into(),
            jobs: self.jobs,
            counted_jobs: Some((20, 120)),
            at_once: self.at_once.iter().map(|number| *number as usize).collect(),
            loads,
            rival,
            pipe_bytes: self.pipe_bytes,
            sleepers: 1_000,
            watched_ms: 5_000,
        }
    }
}

impl BenchRecordArguments {
    fn plan(&self) -> Plan {
        if self.quick {
            return Plan {
                cases: self.case.clone(),
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
            cases: self.case.clone(),
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
