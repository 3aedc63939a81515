//! The benchmark of reading processes: collectl's own rows on this machine, then sleeping
//! processes, from a hundred to ten thousand, with and without threads.
//!
//! Whit by its best way and by `/proc` is compared with collectl, a plain walk of `/proc` and a
//! bare pass of the kernel's iterator.  At `-i0` processes are read at every sixth sample, as
//! collectl does, so 8,640 samples read them 1,440 times.

use std::cell::Cell;
use std::path::Path;
use std::process::Command;

use crate::contest::{Case, Contest, Contestant, Measurement, cpu, take_turns};
use crate::error::Result;
use crate::programs::{Programs, run_quietly};
use crate::report::{Report, Row};
use crate::{Progress, beyond};

mod flood;
mod floor;
mod report;
pub(crate) mod sleepers;

pub(crate) use flood::each_exit;
pub use flood::run as flood;
pub use sleepers::keep as keep_sleepers;

/// The number of samples for each reading of processes at `-i0`.
const SAMPLES_A_READING: u64 = 6;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct ProcessesPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// Samples of a turn in the classic table; a sixth of them read processes.
    pub samples: u64,
    /// Readings of a thousand sleeping processes; inversely fewer of more processes.
    pub sleeper_readings: u64,
    /// Numbers of sleeping processes, and of threads of each: a row each.
    pub sleepers: Vec<(usize, usize)>,
    /// Whether to leave collectl out of the rows of sleeping processes: a trial that everything works.
    pub quick: bool,
}

/// The results: each case with its number of processes.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<Case<usize, Readings>>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// A row of the table.
type ProcessRow<'r> = Row<'r, usize, Readings>;

/// What a contestant did in each turn.
#[derive(Debug)]
pub(crate) struct Readings {
    /// How often each turn read processes.
    pub(crate) readings: u64,
    /// Turns of a program that read them once: the cost of its start and end.
    pub(crate) start: Option<Contest<u64>>,
}

/// CPU time per reading and process, without start and end of the program; `None` if the difference
/// is too small.
fn us_per_process((case, contest): ProcessRow<'_>) -> Option<f64> {
    let Readings { readings, start } = &contest.facts;
    let (cpu_us, readings) = match start {
        None => (contest.median(cpu), *readings),
        Some(start) => (beyond(contest.median(cpu), start.median(cpu))?, readings - 1),
    };
    Some(cpu_us / readings.max(1) as f64 / case.facts.max(1) as f64)
}

/// The CPU time of `this` per reading, as a multiple of that of `base`.
fn times(case: &Case<usize, Readings>, this: &str, base: &str) -> Option<f64> {
    let readings = |name: &str| Some(case.find(name)?.facts.readings as f64);
    Some(case.times(this, base, cpu)? * readings(base)? / readings(this)?)
}

/// The contestants' names in the tables.
pub(crate) const WHIT: &str = "whit";
pub(crate) const WHIT_PROC: &str = "whit, by /proc";
pub(crate) const COLLECTL: &str = "collectl";
pub(crate) const WALK: &str = "walk of /proc";
pub(crate) const ITERATOR: &str = "bare iterator";

/// collectl's own rows.
pub(crate) const ALL: &str = "-sZ";
pub(crate) const ONE_COMMAND: &str = "-sZ, one command";
pub(crate) const ONE_COMMAND_NO_NEW: &str = "-sZ, one command, --procopts p";
pub(crate) const NO_IO: &str = "-sZ --procopts I";

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part, a file or the kernel fails.
pub fn run(plan: &ProcessesPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let results = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
}

/// Measures without making a report.
pub(crate) fn measure_all(
    plan: &ProcessesPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<Results> {
    let mut results = Results::default();
    let mut tasks =
        match bpf::KernelTypes::open().and_then(|kernel| bpf::TaskIterator::open(&kernel)) {
            Ok(tasks) => Some(tasks),
            Err(error) => {
                results.notes.push(format!("no bare iterator, and whit reads /proc: {error}"));
                None
            }
        };
    if programs.collectl.is_none() {
        results.notes.push("collectl is not installed: its rows are missing".into());
    }
    let mut bench = Bench { plan, programs, progress, tasks: tasks.as_mut() };
    results.cases.extend(bench.classic()?);
    for &(processes, threads) in &plan.sleepers {
        results.cases.extend(bench.sleepers(processes, threads)?);
    }
    progress.done();
    Ok(results)
}

/// What all cases need.
struct Bench<'a> {
    plan: &'a ProcessesPlan,
    programs: &'a Programs,
    progress: &'a Progress<'a>,
    tasks: Option<&'a mut bpf::TaskIterator>,
}

/// The contestants of a case, and their options.
struct CaseSettings<'a> {
    name: String,
    what: &'a [&'a str],
    /// Readings of whit by its best way, of the others, and of collectl; 0 leaves collectl out.
    whit_readings: u64,
    readings: u64,
    collectl_readings: u64,
    with_floors: bool,
}

impl Bench<'_> {
    /// collectl's own rows, on this machine with one additional process to filter for.
    fn classic(&mut self) -> Result<Vec<Case<usize, Readings>>> {
        let _one = sleepers::Sleepers::start(&self.programs.bench, 1, 1)?;
        let filter = format!("c{}", sleepers::ONE);
        let rows: [(&str, &[&str]); 5] = [
            (ALL, &["-sZ"]),
            (ONE_COMMAND, &["-sZ", "--procfilt", &filter]),
            (ONE_COMMAND_NO_NEW, &["-sZ", "--procfilt", &filter, "--procopts", "p"]),
            ("-sZ --procopts p", &["-sZ", "--procopts", "p"]),
            (NO_IO, &["-sZ", "--procopts", "I"]),
        ];
        let readings = (self.plan.samples / SAMPLES_A_READING).max(1);
        rows.iter()
            .enumerate()
            .map(|(index, (name, what))| {
                self.case(&CaseSettings {
                    name: (*name).to_owned(),
                    what,
                    // Few processes are read in less time than a load of BPF programs varies by.
                    whit_readings: readings * 8,
                    readings,
                    collectl_readings: readings,
                    with_floors: index == 0,
                })
            })
            .collect()
    }

    /// Rows of sleeping processes: all of them, and one that is filtered for.
    fn sleepers(&mut self, processes: usize, threads: usize) -> Result<Vec<Case<usize, Readings>>> {
        self.progress.show(&format!("{processes} processes of {threads} threads: starting them"));
        let _sleepers = sleepers::Sleepers::start(&self.programs.bench, processes, threads)?;
        let readings = sleeper_readings(self.plan.sleeper_readings, processes);
        let name = match threads {
            1 => format!("{processes} processes"),
            _ => format!("{processes} processes with {threads} threads each, all shown"),
        };
        // A reading of ten thousand takes collectl over a second.
        let collectl_readings = if self.plan.quick { 0 } else { (readings / 10).max(3) };
        let all = CaseSettings {
            name: name.clone(),
            what: if threads > 1 { &["-sZ", "--procopts", "t"] } else { &["-sZ"] },
            whit_readings: readings,
            readings,
            collectl_readings,
            with_floors: true,
        };
        let filter = format!("c{}", sleepers::ONE);
        let one = CaseSettings {
            name: format!("{name}, one command"),
            what: &["-sZ", "--procfilt", &filter],
            with_floors: false,
            ..all
        };
        let mut results = vec![self.case(&all)?];
        if threads == 1 {
            results.push(self.case(&one)?);
        }
        Ok(results)
    }

    fn case(&mut self, case: &CaseSettings<'_>) -> Result<Case<usize, Readings>> {
        let processes = Cell::new(0);
        // The walk counts the processes, so it always takes part.
        let passes = if case.with_floors { case.readings } else { 1 };
        let program = &self.programs.whit;
        let by_proc = &["--process-way", "proc"][..];
        let ways = [(WHIT, &[][..], case.whit_readings), (WHIT_PROC, by_proc, case.readings)];
        let collectl = self.programs.collectl.as_ref().filter(|_| case.collectl_readings > 0);
        let verb = &["record", "--no-check"][..];
        let whit = ways.map(|(name, way, readings)| (name, program, verb, way, readings));
        let collectl =
            collectl.map(|program| (COLLECTL, program, &[][..], &[][..], case.collectl_readings));
        let mut contestants = Vec::new();
        for (name, program, verb, way, readings) in whit.into_iter().chain(collectl) {
            // First with all readings, then with one, for the cost of start and end.
            for count in [readings, 1] {
                let turn = move || record(program, verb, case.what, way, count);
                contestants.push(Contestant::new(name, count, turn));
            }
        }
        let walk = || {
            let (measurement, count) = floor::walk(passes)?;
            processes.set(count);
            Ok(measurement)
        };
        contestants.push(Contestant::new(WALK, passes, walk));
        if let Some(tasks) = self.tasks.as_deref_mut().filter(|_| case.with_floors) {
            let turn = move || floor::iterate(tasks, case.readings);
            contestants.push(Contestant::new(ITERATOR, case.readings, turn));
        }
        let turns = take_turns(self.progress, &case.name, self.plan.rounds, contestants)?;
        let mut contests = Vec::new();
        let mut turns = turns.into_iter().peekable();
        while let Some(Contest { name, turns: all, facts: readings }) = turns.next() {
            let start = turns.next_if(|next| next.name == name);
            if case.with_floors || name != WALK {
                contests.push(Contest { name, turns: all, facts: Readings { readings, start } });
            }
        }
        Ok(Case { name: case.name.clone(), facts: processes.get(), contests })
    }
}

/// Readings of so many sleeping processes, if there are `of_thousand` of a thousand.
///
/// Inversely as many, as each reading costs more.  Below a hundred the machine's own processes are
/// the most, and a reading gets no cheaper.
fn sleeper_readings(of_thousand: u64, processes: usize) -> u64 {
    (of_thousand * 1_000 / processes.max(100) as u64).max(10)
}

/// Records so many readings of processes into a temporary folder.
fn record(
    program: &Path,
    verb: &[&str],
    what: &[&str],
    way: &[&str],
    readings: u64,
) -> std::io::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.args(verb).args(what).args(way).arg("-i0");
    command.arg(format!("-c{}", readings * SAMPLES_A_READING)).arg("-f").arg(folder.path());
    run_quietly(&mut command)
}

#[cfg(test)]
mod tests {
    use super::sleeper_readings;

    #[test]
    fn few_processes_are_read_no_more_often_than_a_hundred() {
        let readings = [1, 3, 100, 1_000, 10_000].map(|count| sleeper_readings(200, count));
        assert_eq!(readings, [2_000, 2_000, 2_000, 200, 20]);
        assert_eq!(sleeper_readings(2, 1_000), 10);
    }
}
