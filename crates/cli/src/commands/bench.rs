//! `whit bench`: repeats the classic measurements on this machine.

mod log;
mod poll;
mod proc;
mod processes;
mod record;
mod rrd;
mod rrdcached;
mod spawn;
mod trace;

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use bench::spawn::SpawnLoad;
use bench::trace::{TraceLoad, TraceSize};
use bench::{Programs, Progress, Report, SearchPath};
use clap::builder::{PossibleValuesParser, TypedValueParser};

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
    Record(record::BenchRecordArguments),
    /// What reading processes costs, beside collectl, a walk of /proc and a bare iterator
    Processes(processes::BenchProcessesArguments),
    /// What files cost that grow with the number of CPUs, by bare reads, whit and collectl
    Proc(proc::BenchProcArguments),
    /// What a system call costs more while it is traced, by whit, strace, perf and bpftrace
    Trace(trace::BenchTraceArguments),
    /// What running a job costs, by whit run, xargs, GNU parallel and a bare loop
    Spawn(spawn::BenchSpawnArguments),
    /// What creating, updating, reading and drawing databases costs, beside RRDtool
    Rrd(rrd::BenchRrdArguments),
    /// What updates through the caching daemon cost, beside rrdcached
    Rrdcached(rrdcached::BenchRrdcachedArguments),
    /// What polling devices costs, beside MRTG, and with thousands of devices
    Poll(poll::BenchPollArguments),
    /// What a log call costs: ACS's table, and beside spdlog and tracing-appender
    Log(log::BenchLogArguments),
    /// The bare loop of `spawn`: started by it, not by people
    #[command(hide = true)]
    Floor {
        /// Of what
        #[arg(value_parser = spawn::spawn_load())]
        load: SpawnLoad,
        /// How many
        jobs: u64,
        /// How many at once
        at_once: usize,
        /// Wait until each has become its program
        #[arg(long)]
        wait: bool,
    },
    /// A program that logs: started by `log`, not by people
    #[command(hide = true)]
    LogLoad {
        /// What it does, as JSON
        load: String,
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
        #[arg(value_parser = one_of(TraceLoad::ALL, TraceLoad::name))]
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

    /// Print JSON: one object, or of `log` one a line
    #[arg(long)]
    json: bool,

    /// Keep the run below this folder (bench/runs), in a folder named by date, machine and benchmark
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

impl CommonArguments {
    /// Turns of each contestant.
    fn rounds(&self) -> usize {
        self.size(self.rounds.into(), 1)
    }

    /// The size that was asked for, or the least one of a quick trial.
    fn size<T>(&self, asked: T, least: T) -> T {
        if self.quick { least } else { asked }
    }
}

/// What was asked for; everything if nothing was.
fn all_or<T: Copy>(all: &[T], asked: &[T]) -> Vec<T> {
    if asked.is_empty() { all.to_vec() } else { asked.to_vec() }
}

/// The default of `--rounds` where a turn is short.
fn five_rounds(rounds: clap::Arg) -> clap::Arg {
    rounds.default_value("5")
}

/// Parses the name of one of `all`.
fn one_of<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(name))
        .try_map(move |word| all.into_iter().find(|item| name(*item) == word).ok_or("no such name"))
}

/// Runs the verb.
pub(crate) fn run(arguments: BenchArguments) -> anyhow::Result<ExitCode> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = SearchPath::new(std::env::split_paths(&path));
    macro_rules! measure {
        ($benchmark:ident, $arguments:ident) => {
            show(path, &$arguments.common, |programs, progress| {
                bench::$benchmark::run(&$arguments.plan(), programs, progress)
            })?
        };
    }
    match arguments.what {
        What::Floor { load, jobs, at_once, wait } => {
            bench::spawn::run_floor(load, jobs, at_once, wait, &path, std::env::vars_os())?;
        }
        What::Load { what, units, slices, folder } => {
            bench::trace::run_load(what, TraceSize { units, slices }, &folder, &path)?;
        }
        What::Sleepers { processes, threads } => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            bench::processes::keep_sleepers(processes, threads, &mut input, &mut output)?;
        }
        What::LogLoad { load } => bench::log::run_load(&load)?,
        What::Record(arguments) => measure!(record, arguments),
        What::Proc(arguments) => measure!(proc, arguments),
        What::Trace(arguments) => measure!(trace, arguments),
        What::Spawn(arguments) => measure!(spawn, arguments),
        What::Rrd(arguments) => measure!(rrd, arguments),
        What::Rrdcached(arguments) => measure!(rrdcached, arguments),
        What::Poll(arguments) => measure!(poll, arguments),
        What::Log(arguments) => measure!(log, arguments),
        What::Processes(arguments) => match arguments.long {
            Some(seconds) => show(path, &arguments.common, |programs, progress| {
                bench::processes::flood(programs, seconds, progress)
            })?,
            None => {
                let plan = arguments.plan()?;
                show(path, &arguments.common, |programs, progress| {
                    bench::processes::run(&plan, programs, progress)
                })?;
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures with this very program as whit; prints the tables, or JSON; and keeps the run below the
/// folder of `--save`.
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
    let programs = Programs::find(whit, path);
    let report = measure(&programs, &Progress::new(&on_terminal))?;
    let mut out = std::io::stdout().lock();
    match (common.json, report.json.as_array()) {
        (true, Some(rows)) => rows.iter().try_for_each(|row| writeln!(out, "{row}"))?,
        (true, None) => writeln!(out, "{:#}", report.json)?,
        (false, _) => out.write_all(report.summary.as_bytes())?,
    }
    let Some(base) = &common.save else { return Ok(()) };
    let command: Vec<String> = std::env::args().skip(1).collect();
    let folder = report.save(base, &format!("whit {}", command.join(" ")))?;
    crate::stderr::line(format_args!("kept in {}", folder.display()));
    Ok(())
}
