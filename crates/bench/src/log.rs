//! The benchmark of logging: ACS's table, repeated with whit, and whit beside other loggers.
//!
//! *ACS*: 10,000 logs as fast as possible, by one thread and by ten, of a client and of a component,
//! to standard output, a file and nowhere, with and without proxy, central logger and waiting for
//! acknowledgements.  The servers are real `whit log proxy` and `whit log central` processes; a row
//! ends with an audit where the records end up: each call once.  A row is run twice in each round:
//! for the mean of the whole burst, and for each call, with readings of the clock between.
//!
//! *Beside*: bursts of whit in Rust and C++, of spdlog and of `tracing-appender`, and the floor: a
//! reading of the clock, and a record of a bare ring.  *Paced*: quill's method, the mean of 20 calls
//! in a row after a pause of 2 ms.  *Sinks*: a ring becomes text, beside bare writes of the same
//! bytes.  *Throughput*: records through a proxy to the central server and its disk, and what each of
//! the three processes costs.  *Search*: questions about many records, beside `zgrep` and `journalctl`.
//! *Input*: records of others through each input of the proxy, beside rsyslog.

use std::path::PathBuf;

use crate::Progress;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::programs::Programs;
use crate::report::Report;

mod beside;
mod inputs;
pub(crate) mod load;
mod report;
pub(crate) mod rows;
pub(crate) mod scenario;
mod search;
mod sinks;
mod tally;
mod throughput;
mod timing;

use beside::{Callers, Measured, Size};
use inputs::InputRun;
use rows::Row;
use scenario::{Run, RunSettings};
use search::{SearchRun, SearchSizes};
use sinks::SinkRuns;
use throughput::ThroughputRun;

pub use timing::{CallPattern, turns};

named! {
    /// A part of the benchmark.
    LogCase {
        /// ACS's table.
        Acs = "acs",
        /// Bursts beside other loggers.
        Beside = "beside",
        /// Quill's method.
        Paced = "paced",
        /// Records as text.
        Sinks = "sinks",
        /// Through proxy and central server to its disk.
        Throughput = "throughput",
        /// Questions about many records.
        Search = "search",
        /// Records of others through each input of the proxy.
        Input = "input",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct LogPlan {
    /// Turns of each contestant, and runs of each row.
    pub rounds: usize,
    /// The parts that run.
    pub cases: Vec<LogCase>,
    /// Numbers of rows of ACS's table; all without any.
    pub rows: Vec<u8>,
    /// Calls of a thread in a burst.
    pub calls: u32,
    /// Threads where there are many.
    pub threads: u32,
    /// Bursts of a contestant in a round.
    pub bursts: u32,
    /// Pauses of a contestant in a round.
    pub pauses: u32,
    /// Records of a run of the throughput.
    pub records: u64,
    /// Records in which is searched.
    pub searched: u64,
    /// Records that an input takes.
    pub taken: u64,
    /// Where to make spools, stores and outputs; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// All runs of a row.
pub(crate) struct RowRuns {
    pub(crate) row: Row,
    /// Runs of bursts that are measured as a whole.
    pub(crate) whole: Vec<Run>,
    /// Runs of bursts with a reading of the clock between calls.
    each: Vec<Run>,
}

impl RowRuns {
    /// What a thread needed for its burst, in µs.
    pub(crate) fn total_us(&self) -> f64 {
        median(self.whole.iter().map(|run| run.client.total_us).collect())
    }

    /// CPU time of a thread for its burst, in µs.
    fn cpu_us(&self) -> f64 {
        median(self.whole.iter().map(|run| run.client.cpu_us).collect())
    }

    /// Min, p50, p99, p99.9 and max of a call, in ns.
    pub(crate) fn calls_ns(&self) -> [f64; 5] {
        [0, 1, 2, 3, 4]
            .map(|at| median(self.each.iter().map(|run| run.client.calls_ns[at]).collect()))
    }

    /// The audit of the worst run: sent, received, duplicates.
    fn audit(&self) -> [u64; 3] {
        let runs = self.whole.iter().chain(&self.each);
        let worst = runs.max_by_key(|run| (run.sent.abs_diff(run.received), run.duplicates));
        worst.map_or([0; 3], |run| [run.sent, run.received, run.duplicates])
    }
}

/// The results.
#[derive(Default)]
struct Results {
    acs: Vec<RowRuns>,
    beside: Vec<Measured>,
    paced: Vec<Measured>,
    sinks: Vec<SinkRuns>,
    throughput_runs: Vec<ThroughputRun>,
    searches: Vec<SearchRun>,
    search_sizes: SearchSizes,
    inputs: Vec<InputRun>,
    notes: Vec<String>,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails, and if a record did not arrive once.
pub fn run(plan: &LogPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let folder = crate::folder::temporary(plan.folder.as_deref())?;
    let folder = folder.path().canonicalize()?;
    let rings = scenario::ring_folder()?;
    let mut results = Results::default();
    let settings = RunSettings {
        whit: &programs.whit,
        bench: &programs.bench,
        rings: rings.path(),
        folder: &folder,
        threads: plan.threads,
        calls: plan.calls,
    };
    if plan.cases.contains(&LogCase::Acs) {
        acs(plan, &settings, progress, &mut results)?;
    }
    if plan.cases.contains(&LogCase::Sinks) {
        let show =
            |what: &str, round: usize| progress.show(&format!("{what}, round {}", round + 1));
        let size = [plan.rounds, plan.calls as usize, plan.bursts as usize];
        results.sinks = sinks::measure(programs, rings.path(), size, show)?;
    }
    if plan.cases.contains(&LogCase::Throughput) {
        throughput(plan, &settings, progress, &mut results)?;
    }
    if plan.cases.contains(&LogCase::Search) {
        progress.show(&format!("search in {} records", plan.searched));
        let size = (plan.searched, plan.rounds);
        let found = search::measure(&settings, programs, size, &mut results.notes)?;
        (results.searches, results.search_sizes) = found;
    }
    if plan.cases.contains(&LogCase::Input) {
        let show = |way: &str, who: &str, round: usize| {
            progress.show(&format!("{way}: {who}, round {}", round + 1));
        };
        let size = (plan.taken, plan.rounds);
        results.inputs = inputs::measure(&settings, programs, size, &mut results.notes, show)?;
    }
    if plan.cases.iter().any(|case| matches!(case, LogCase::Beside | LogCase::Paced)) {
        let callers = Callers::prepare(programs, rings.path(), &folder, &mut results.notes)?;
        beside(plan, &callers, progress, &mut results)?;
    }
    progress.done();
    Ok(report::report(plan, &results, machine))
}

/// Runs rows of ACS's table without making a report; also the floor, ns of a record of a bare ring in
/// each round.
pub(crate) fn measure_acs(
    plan: &LogPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<(Vec<RowRuns>, Vec<f64>)> {
    let folder = crate::folder::temporary(plan.folder.as_deref())?;
    let rings = scenario::ring_folder()?;
    let settings = RunSettings {
        whit: &programs.whit,
        bench: &programs.bench,
        rings: rings.path(),
        folder: &folder.path().canonicalize()?,
        threads: plan.threads,
        calls: plan.calls,
    };
    let mut results = Results::default();
    acs(plan, &settings, progress, &mut results)?;
    let floor = (0..plan.rounds).map(|_| settings.bare_record_ns()).collect::<Result<_>>()?;
    Ok((results.acs, floor))
}

/// Runs what the command line of a hidden verb says: a program that logs.
///
/// # Errors
/// For words that the benchmark does not use, and if logging or a file fails.
pub fn run_load(words: &str) -> Result<()> {
    let value: serde_json::Value = serde_json::from_str(words).map_err(std::io::Error::other)?;
    if value.get("sink").is_some() {
        return sinks::play(&value);
    }
    if value.get("flood").is_some() {
        return throughput::play(&value);
    }
    if value.get("searched").is_some() {
        return search::play(&value);
    }
    load::play(&value)
}

/// Runs all rows, one after the other in every round.
fn acs(
    plan: &LogPlan,
    settings: &RunSettings<'_>,
    progress: &Progress<'_>,
    results: &mut Results,
) -> Result<()> {
    let wanted = |row: &Row| plan.rows.is_empty() || plan.rows.contains(&row.number);
    let rows = rows::all().into_iter().filter(wanted);
    results.acs = rows.map(|row| RowRuns { row, whole: Vec::new(), each: Vec::new() }).collect();
    for round in 0..plan.rounds {
        for runs in &mut results.acs {
            let row = &runs.row;
            progress.show(&format!(
                "row {}, {}, round {}",
                row.number,
                row.output.name(),
                round + 1
            ));
            for measures_each in [false, true] {
                let run = settings
                    .run(row, measures_each)
                    .with_context(|| format!("row {}", row.number))?;
                ensure!(
                    run.received == run.sent && run.duplicates == 0,
                    "row {}: {} sent, {} received, {} twice",
                    row.number,
                    run.sent,
                    run.received,
                    run.duplicates
                );
                match measures_each {
                    true => runs.each.push(run),
                    false => runs.whole.push(run),
                }
            }
        }
    }
    Ok(())
}

/// Sends records to the central store, at a rate and as fast as possible in every round.
fn throughput(
    plan: &LogPlan,
    settings: &RunSettings<'_>,
    progress: &Progress<'_>,
    results: &mut Results,
) -> Result<()> {
    for round in 0..plan.rounds {
        for rate in [Some(throughput::RATE), None] {
            progress.show(&format!("{} records, round {}", plan.records, round + 1));
            let run = throughput::run(settings, plan.records, rate)?;
            ensure!(
                run.received == run.sent && run.duplicates == 0 && run.lost == 0,
                "{run:?}: not every record arrived once"
            );
            results.throughput_runs.push(run);
        }
    }
    Ok(())
}

/// Lets all loggers take turns.
fn beside(
    plan: &LogPlan,
    callers: &Callers<'_>,
    progress: &Progress<'_>,
    results: &mut Results,
) -> Result<()> {
    let size =
        |turns| Size { rounds: plan.rounds, threads: plan.threads, calls: plan.calls, turns };
    let show = |case: &str, who: &str, round: usize| {
        progress.show(&format!("{case}: {who}, round {}", round + 1));
    };
    if plan.cases.contains(&LogCase::Beside) {
        for case in beside::BURSTS {
            let show = |who: &str, round| show(case.title, who, round);
            results.beside.extend(callers.measure(case, size(plan.bursts), show)?);
        }
    }
    if plan.cases.contains(&LogCase::Paced) {
        for case in beside::PACED {
            let show = |who: &str, round| show(case.name, who, round);
            results.paced.extend(callers.measure(case, size(plan.pauses), show)?);
        }
    }
    Ok(())
}
