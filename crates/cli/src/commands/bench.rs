//! `whit bench`: repeats the classic measurements on this machine.

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use bench::proc::{self, ProcPlan};
use bench::processes::{self, ProcessesPlan};
use bench::record::{self, RecordPlan};
use bench::rrd::{self, RrdCase, RrdPlan};
use bench::rrdcached::{self, DaemonCase, DaemonPlan};
use bench::spawn::{self, SpawnLoad, SpawnPlan};
use bench::trace::{self, TraceLoad, TracePlan, TraceSize};
use bench::{Programs, Progress, Report, SearchPath};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

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
    /// What files cost that grow with the number of CPUs, by bare reads, whit and collectl
    Proc(BenchProcArguments),
    /// What a system call costs more while it is traced, by whit, strace, perf and bpftrace
    Trace(BenchTraceArguments),
    /// What running a job costs, by whit run, xargs, GNU parallel and a bare loop
    Spawn(BenchSpawnArguments),
    /// What creating, updating, reading and drawing databases costs, beside RRDtool
    Rrd(BenchRrdArguments),
    /// What updates through the caching daemon cost, beside rrdcached
    Rrdcached(BenchRrdcachedArguments),
    /// The bare loop of `spawn`: started by it, not by people
    #[command(hide = true)]
    Floor {
        /// Of what
        #[arg(value_parser = spawn_load())]
        load: SpawnLoad,
        /// How many
        jobs: u64,
        /// How many at once
        at_once: usize,
        /// Wait until each has become its program
        #[arg(long)]
        wait: bool,
    },
    /// The sleeping processes that `processes` watches: started by it, not by people
    #[command(hide = true)]
    Sleepers {
        /// How many
        processes: usize,
        /// Threads of each
        threads: usize,
    },
    /// The system calls that `trace` has traced: started by it, not by people
    #[command(hide = true)]
    Load {
        /// Of what
        #[arg(value_parser = trace_load())]
        what: TraceLoad,
        /// How many in each slice
        units: u64,
        /// Slices
        slices: u64,
        /// Where to write how long they took
        folder: PathBuf,
    },
}

/// Arguments of all benchmarks.
#[derive(clap::Args)]
struct CommonArguments {
    /// Rounds in which each contestant runs once; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), in a folder named by date, machine and benchmark
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// The default of `--rounds` where a turn is short.
fn five_rounds(rounds: clap::Arg) -> clap::Arg {
    rounds.default_value("5")
}

/// Arguments of `whit bench record`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH, mut_arg("rounds", five_rounds))]
pub(crate) struct BenchRecordArguments {
    /// Only this line of the recording table, as '-scdnm' (may be repeated)
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    case: Vec<String>,

    /// Samples of a round; 8640 are a day at 10 s
    #[arg(long, value_name = "N", default_value_t = 8640, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    samples: u64,

    /// Samples at one a second
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    slow_samples: u64,

    /// Compare sizes over this many seconds, one sample a second [300 without SECS; 0: do not]
    #[arg(long, value_name = "SECS", num_args = 0..=1, default_value_t = 0,
          default_missing_value = "300", conflicts_with = "quick")]
    long: u64,

    #[command(flatten)]
    common: CommonArguments,
}

/// Arguments of `whit bench processes`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchProcessesArguments {
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
    long: Option<u64>,

    #[command(flatten)]
    common: CommonArguments,
}

/// Arguments of `whit bench proc`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH, mut_arg("rounds", five_rounds))]
pub(crate) struct BenchProcArguments {
    /// Samples of a program in a round; files are read as often
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    samples: u64,

    #[command(flatten)]
    common: CommonArguments,
}

impl BenchProcArguments {
    fn plan(&self) -> ProcPlan {
        if self.common.quick {
            return ProcPlan { rounds: 1, readings: 5, samples: 5 };
        }
        ProcPlan {
            rounds: self.common.rounds.into(),
            readings: self.samples,
            samples: self.samples,
        }
    }
}

/// Arguments of `whit bench trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchTraceArguments {
    /// Only this load (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = trace_load())]
    load: Vec<TraceLoad>,

    /// At most so many slices of a load in a turn, for slow machines
    #[arg(long, value_name = "N", conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    slices: Option<u64>,

    #[command(flatten)]
    common: CommonArguments,
}

/// Arguments of `whit bench spawn`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchSpawnArguments {
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
    common: CommonArguments,
}

/// Arguments of `whit bench rrd`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchRrdArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = rrd_case())]
    case: Vec<RrdCase>,

    /// Files of MRTG's layout (2 sources, 8 archives)
    #[arg(long, value_name = "N", default_value_t = 3_164, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    files: u64,

    /// Files of one source
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    many: u64,

    /// Updates of each of these files in a round, five minutes apart; 12 are an hour
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    steps: u64,

    /// Processes of a round where each command is one
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    processes: u64,

    /// Commands of a round by pipe; pictures are a tenth of it, updates of one file ten times
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    piped: u64,

    /// Make the files below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

impl BenchRrdArguments {
    fn plan(&self) -> RrdPlan {
        let cases = if self.case.is_empty() { RrdCase::ALL.to_vec() } else { self.case.clone() };
        let folder = self.folder.clone();
        if self.common.quick {
            return RrdPlan {
                rounds: 1,
                cases,
                processes: 2,
                piped: 10,
                updates: 20,
                files: 5,
                many: 20,
                steps: 3,
                folder,
            };
        }
        RrdPlan {
            rounds: self.common.rounds.into(),
            cases,
            processes: self.processes,
            piped: self.piped,
            updates: self.piped * 10,
            files: self.files,
            many: self.many,
            steps: self.steps,
            folder,
        }
    }
}

/// Arguments of `whit bench rrdcached`.
#[derive(clap::Args)]
#[command(after_help = crate::help::BENCH)]
pub(crate) struct BenchRrdcachedArguments {
    /// Only this part (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = daemon_case())]
    case: Vec<DaemonCase>,

    /// Updates of a round in batches; a twentieth of it one at a time
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    updates: u64,

    /// Files that these go to
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(4..=1_000_000))]
    files: u64,

    /// Targets of MRTG
    #[arg(long, value_name = "N", default_value_t = 3_164, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    targets: u64,

    /// Steps of five minutes, of MRTG and in the journal; 12 are an hour
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    steps: u64,

    /// Files of a full journal
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    many: u64,

    /// Make files and journals below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

impl BenchRrdcachedArguments {
    fn plan(&self) -> DaemonPlan {
        let cases = if self.case.is_empty() { DaemonCase::ALL.to_vec() } else { self.case.clone() };
        let folder = self.folder.clone();
        if self.common.quick {
            return DaemonPlan {
                rounds: 1,
                cases,
                batched: 2_000,
                single: 100,
                files: 8,
                targets: 5,
                steps: 12,
                many: 50,
                folder,
            };
        }
        DaemonPlan {
            rounds: self.common.rounds.into(),
            cases,
            batched: self.updates,
            single: self.updates / 20,
            files: self.files,
            targets: self.targets,
            steps: self.steps,
            many: self.many,
            folder,
        }
    }
}

/// Parses the name of a part of `whit bench rrdcached`.
fn daemon_case() -> impl TypedValueParser<Value = DaemonCase> {
    PossibleValuesParser::new(DaemonCase::ALL.map(DaemonCase::name)).try_map(|name| {
        DaemonCase::ALL.into_iter().find(|case| case.name() == name).ok_or("no such part")
    })
}

/// Parses the name of a part of `whit bench rrd`.
fn rrd_case() -> impl TypedValueParser<Value = RrdCase> {
    PossibleValuesParser::new(RrdCase::ALL.map(RrdCase::name)).try_map(|name| {
        RrdCase::ALL.into_iter().find(|case| case.name() == name).ok_or("no such part")
    })
}

/// Parses the name of a load of `whit bench spawn`.
fn spawn_load() -> impl TypedValueParser<Value = SpawnLoad> {
    let values = SpawnLoad::ALL.map(|load| PossibleValue::new(load.name()).help(load.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        SpawnLoad::ALL.into_iter().find(|load| load.name() == name).ok_or("no such load")
    })
}

/// Parses the name of a load of `whit bench trace`.
fn trace_load() -> impl TypedValueParser<Value = TraceLoad> {
    PossibleValuesParser::new(TraceLoad::ALL.map(TraceLoad::name)).try_map(|name| {
        TraceLoad::ALL.into_iter().find(|load| load.name() == name).ok_or("no such load")
    })
}

/// Runs the verb.
pub(crate) fn run(arguments: BenchArguments) -> anyhow::Result<ExitCode> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = SearchPath::new(std::env::split_paths(&path));
    match arguments.what {
        What::Floor { load, jobs, at_once, wait } => {
            spawn::run_floor(load, jobs, at_once, wait, &path, std::env::vars_os())?;
        }
        What::Load { what, units, slices, folder } => {
            trace::run_load(what, TraceSize { units, slices }, &folder, &path)?;
        }
        What::Sleepers { processes, threads } => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            processes::keep_sleepers(processes, threads, &mut input, &mut output)?;
        }
        What::Record(arguments) => {
            let plan = arguments.plan();
            let measure = |programs: &Programs, progress: &Progress<'_>| {
                record::run(&plan, programs, progress)
            };
            show(path, &arguments.common, measure)?;
        }
        What::Processes(arguments) => {
            let plan = arguments.plan()?;
            let measure = |programs: &Programs, progress: &Progress<'_>| match arguments.long {
                Some(seconds) => processes::flood(programs, seconds, progress),
                None => processes::run(&plan, programs, progress),
            };
            show(path, &arguments.common, measure)?;
        }
        What::Proc(arguments) => {
            let plan = arguments.plan();
            let measure =
                |programs: &Programs, progress: &Progress<'_>| proc::run(&plan, programs, progress);
            show(path, &arguments.common, measure)?;
        }
        What::Trace(arguments) => {
            let plan = arguments.plan();
            let measure = |programs: &Programs, progress: &Progress<'_>| {
                trace::run(&plan, programs, progress)
            };
            show(path, &arguments.common, measure)?;
        }
        What::Spawn(arguments) => {
            let plan = arguments.plan();
            let measure = |programs: &Programs, progress: &Progress<'_>| {
                spawn::run(&plan, programs, progress)
            };
            show(path, &arguments.common, measure)?;
        }
        What::Rrd(arguments) => {
            let plan = arguments.plan();
            let measure =
                |programs: &Programs, progress: &Progress<'_>| rrd::run(&plan, programs, progress);
            show(path, &arguments.common, measure)?;
        }
        What::Rrdcached(arguments) => {
            let plan = arguments.plan();
            let measure = |programs: &Programs, progress: &Progress<'_>| {
                rrdcached::run(&plan, programs, progress)
            };
            show(path, &arguments.common, measure)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures with this very program as whit; prints the tables, or one JSON object; and keeps the
/// run below `base` where that is asked for.
fn show(
    path: SearchPath,
    common: &CommonArguments,
    measure: impl FnOnce(&Programs, &Progress<'_>) -> Result<Report, bench::Error>,
) -> anyhow::Result<()> {
    let whit = std::env::current_exe().context("cannot find this program's own file")?;
    let is_terminal = std::io::stderr().is_terminal();
    let on_terminal = |text: &str| {
        if is_terminal {
            // Return to the beginning of the line and erase it.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    };
    let report = measure(&Programs::find(whit, path), &Progress::new(&on_terminal))?;
    let mut out = std::io::stdout().lock();
    match common.json {
        true => writeln!(out, "{:#}", report.json)?,
        false => out.write_all(report.summary.as_bytes())?,
    }
    let Some(base) = &common.save else { return Ok(()) };
    let command: Vec<String> = std::env::args().skip(1).collect();
    let folder = report.save(base, &format!("whit {}", command.join(" ")))?;
    crate::stderr::line(format_args!("kept in {}", folder.display()));
    Ok(())
}

/// The rows of sleeping processes that `--sleepers` asks for: processes, and threads of each.
fn parse_sleepers(text: &str) -> anyhow::Result<Vec<(usize, usize)>> {
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

impl BenchProcessesArguments {
    fn plan(&self) -> anyhow::Result<ProcessesPlan> {
        if self.common.quick {
            return Ok(ProcessesPlan {
                rounds: 1,
                samples: 12,
                sleeper_readings: 2,
                sleepers: vec![(20, 1), (5, 3)],
                quick: true,
            });
        }
        Ok(ProcessesPlan {
            rounds: self.common.rounds.into(),
            samples: self.samples,
            sleeper_readings: (SLEEPER_READINGS * self.samples / SAMPLES).max(2),
            sleepers: parse_sleepers(&self.sleepers)?,
            quick: false,
        })
    }
}

/// Samples of a round by default: a day at 10 s.
const SAMPLES: u64 = 8_640;

/// Readings of a thousand sleeping processes, if as many samples are taken.
const SLEEPER_READINGS: u64 = 200;

/// Programs that all rounds together start.
const PROGRAMS_STARTED: u64 = 10_000;

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

impl BenchSpawnArguments {
    fn plan(&self) -> SpawnPlan {
        let mut loads = self.load.clone();
        if loads.is_empty() {
            loads = SpawnLoad::ALL.to_vec();
        }
        let rival = !self.no_rival;
        if self.common.quick {
            return SpawnPlan {
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
        SpawnPlan {
            rounds: self.common.rounds.into(),
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
    fn plan(&self) -> RecordPlan {
        if self.common.quick {
            return RecordPlan {
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
        RecordPlan {
            cases: self.case.clone(),
            rounds: self.common.rounds.into(),
            samples: self.samples,
            slow_samples: self.slow_samples,
            traced_samples: 200,
            long_seconds: self.long,
            play_rounds: usize::from(self.common.rounds).min(3),
            quick: false,
        }
    }
}

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
