//! The command line of the benchmarks, with the feature `arguments`: `whit` shows its help and
//! rejects its errors, and the program `whit-bench` runs what it asks for.

mod archive;
mod log;
mod poll;
mod proc;
mod processes;
mod record;
mod rrd;
mod rrdcached;
mod seeds;
mod send;
mod spawn;
mod trace;
mod watch;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::spawn::SpawnLoad;
use crate::trace::TraceLoad;

/// Below the help of each benchmark.
pub const HELP: &str = "\
Examples:
  whit bench record --quick              does everything run here?
  whit bench record                      the tables; takes some minutes
  whit bench record --save bench/runs    and keep them
  whit bench processes                   from a hundred to ten thousand processes
  whit bench processes --sleepers 1000x8
                                         a thousand of eight threads each
  whit bench processes --long            five minutes of programs that end at once
  whit bench proc                        files that grow with the number of CPUs
  whit bench trace                       what tracing adds to a system call, beside strace
  whit bench spawn                       what running a job costs, beside parallel and xargs
  whit bench spawn --load true --jobs 1000 --no-rival
  whit bench rrd                         databases, beside RRDtool
  whit bench rrd --case update-files --files 500
  whit bench rrdcached                   the caching daemon, beside rrdcached
  whit bench poll                        polling, beside MRTG; takes a quarter of an hour
  whit bench poll --case targets --no-native
  whit bench archive                     ranges and moments, beside Prometheus and VictoriaMetrics
  whit bench log                         logging: ACS's table, and beside spdlog
  whit bench log --json --row 3
  whit bench watch                       the service with every part on, beside netdata
  whit bench send                        handing samples over, beside node_exporter and collectd
  whit bench seeds --resume run.json --html report.html
                                         the five published measurements, within half an hour
  whit bench seeds --quick --seed 003";

/// Arguments of `whit bench`.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct BenchArguments {
    /// What is measured.
    #[command(subcommand)]
    pub what: Benchmark,
}

/// What is measured, or a program that a benchmark starts.
#[derive(clap::Subcommand)]
pub enum Benchmark {
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
    /// What questions to recordings cost: steps, a moment, the heaviest, beside Prometheus and
    /// VictoriaMetrics
    Archive(archive::BenchArchiveArguments),
    /// What a log call costs: ACS's table, and beside spdlog and tracing-appender
    Log(log::BenchLogArguments),
    /// What the service costs with every part on, and its page, beside netdata
    Watch(watch::BenchWatchArguments),
    /// What handing samples over costs: CPU and bytes a value, beside node_exporter and collectd
    Send(send::BenchSendArguments),
    /// The five published measurements that whit began with, repeated: published, here, whit, floor
    Seeds(seeds::BenchSeedsArguments),
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
pub struct CommonArguments {
    /// Rounds in which each contestant runs once; the tables show medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Everything at its smallest: shows that it runs, measures nothing
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,

    /// Print JSON: one object, or of `log` and `seeds` one a line
    #[arg(long)]
    pub json: bool,

    /// Keep the run below this folder (bench/runs), in a folder named by date, machine and benchmark
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

/// Where a benchmark makes its files.
#[derive(clap::Args)]
struct FolderArgument {
    /// Make all files below this folder, not in the temporary folder
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
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
