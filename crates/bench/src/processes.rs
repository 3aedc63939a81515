//! The benchmark of reading processes: collectl's own rows on this machine, then sleeping
//! processes, from a hundred to ten thousand, with and without threads.
//!
//! Whit by its best way and by `/proc` is compared with collectl, a plain walk of `/proc` and a
//! bare pass of the kernel's iterator.  At `-i0` processes are read at every sixth sample, as
//! collectl does, so 8,640 samples read them 1,440 times.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::measure::{Contestant, Measurement, Series, in_turn, ratio};

use crate::programs::{Programs, run_quietly};
use crate::report::{Report, Turns};
use crate::{Progress, beyond};

mod flood;
mod floor;
mod report;
mod sleepers;

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
    /// Whether to leave collectl out of these rows: a trial that everything works.
    pub quick: bool,
}

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<CaseResult>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// One row of the tables.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) name: String,
    /// The number of processes.
    pub(crate) processes: usize,
    pub(crate) contests: Vec<Contest>,
}

/// One contestant in one case.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) series: Series,
    /// How often each turn read processes.
    pub(crate) readings: u64,
    /// Turns of a program that read them once: the cost of its start and end.
    pub(crate) start: Option<Series>,
}

impl Contest {
    /// CPU time per reading and process, without start and end of the program; `None` if the
    /// difference is too small.
    pub(crate) fn us_per_process(&self, processes: usize) -> Option<f64> {
        let cpu_us = |series: &Series| series.median(|one| one.cpu_us() as f64);
        let (cpu_us, readings) = match &self.start {
            None => (cpu_us(&self.series), self.readings),
            Some(start) => (beyond(cpu_us(&self.series), cpu_us(start))?, self.readings - 1),
        };
        Some(cpu_us / readings.max(1) as f64 / processes.max(1) as f64)
    }
}

impl CaseResult {
    /// The CPU time of `this` per reading, as a multiple of that of `base`.
    pub(crate) fn times(&self, this: &str, base: &str) -> Option<f64> {
        let find = |name: &str| self.contests.iter().find(|one| one.series.name == name);
        let (this, base) = (find(this)?, find(base)?);
        let cpu = |one: &Measurement| one.cpu_us() as f64;
        let times = ratio(&this.series, &base.series, cpu) * base.readings as f64;
        Some(times / this.readings as f64).filter(|times| *times > 0.0)
    }
}

impl Results {
    /// All turns.
    pub(crate) fn turns(&self) -> Vec<Turns<'_>> {
        let mut turns = Vec::new();
        for case in &self.cases {
            for one in &case.contests {
                for (table, series) in
                    [("processes", Some(&one.series)), ("start and end", one.start.as_ref())]
                {
                    let series = series.map(Cow::Borrowed);
                    turns.extend(series.map(|series| Turns { table, case: &case.name, series }));
                }
            }
        }
        turns
    }
}

/// The contestants' names in the tables.
pub(crate) const WHIT: &str = "whit";
pub(crate) const WHIT_PROC: &str = "whit, by /proc";
pub(crate) const COLLECTL: &str = "collectl";
pub(crate) const WALK: &str = "walk of /proc";
pub(crate) const ITERATOR: &str = "bare iterator";

/// Runs the benchmark.
///
/// # Errors
/// Those of the programs that take part, of files, and of the kernel.
pub fn run(plan: &ProcessesPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let results = measure_all(plan, programs, progress)?;
    let summary = report::human(plan, &results);
    let json = report::json(plan, &results, &machine);
    Ok(Report::new("-processes", machine, summary, json, &results.turns()))
}

fn measure_all(
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
struct Case<'a> {
    name: String,
    what: &'a [&'a str],
    /// Readings of the others, and of collectl; 0 leaves collectl out.
    readings: u64,
    collectl_readings: u64,
    with_floors: bool,
}

impl Bench<'_> {
    /// collectl's own rows, on this machine with one additional process to filter for.
    fn classic(&mut self) -> Result<Vec<CaseResult>> {
        let _one = sleepers::Sleepers::start(&self.programs.whit, 1, 1)?;
        let filter = format!("c{}", sleepers::ONE);
        let rows: [(&str, &[&str]); 4] = [
            ("-sZ", &["-sZ"]),
            ("-sZ, one command", &["-sZ", "--procfilt", &filter]),
            ("-sZ --procopts p", &["-sZ", "--procopts", "p"]),
            ("-sZ --procopts I", &["-sZ", "--procopts", "I"]),
        ];
        let readings = (self.plan.samples / SAMPLES_A_READING).max(1);
        rows.iter()
            .enumerate()
            .map(|(index, (name, what))| {
                self.case(&Case {
                    name: (*name).to_owned(),
                    what,
                    readings,
                    collectl_readings: readings,
                    with_floors: index == 0,
                })
            })
            .collect()
    }

    /// Rows of sleeping processes: all of them, and one that is filtered for.
    fn sleepers(&mut self, processes: usize, threads: usize) -> Result<Vec<CaseResult>> {
        self.progress.show(&format!("{processes} processes of {threads} threads: starting them"));
        let _sleepers = sleepers::Sleepers::start(&self.programs.whit, processes, threads)?;
        let readings = sleeper_readings(self.plan.sleeper_readings, processes);
        let name = match threads {
            1 => format!("{processes} processes"),
            _ => format!("{processes} processes with {threads} threads each, all shown"),
        };
        // A reading of ten thousand takes collectl over a second.
        let collectl_readings = if self.plan.quick { 0 } else { (readings / 10).max(3) };
        let all = Case {
            name: name.clone(),
            what: if threads > 1 { &["-sZ", "--procopts", "t"] } else { &["-sZ"] },
            readings,
            collectl_readings,
            with_floors: true,
        };
        let filter = format!("c{}", sleepers::ONE);
        let one = Case {
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

    fn case(&mut self, case: &Case<'_>) -> Result<CaseResult> {
        let processes = Cell::new(0);
        // The walk counts the processes, so it always takes part.
        let passes = if case.with_floors { case.readings } else { 1 };
        let program = &self.programs.whit;
        let ways = [(WHIT, &[][..]), (WHIT_PROC, &["--process-way", "proc"])];
        let collectl = self.programs.collectl.as_ref().filter(|_| case.collectl_readings > 0);
        let whit = ways
            .map(|(name, way)| (name, program, &["record", "--no-check"][..], way, case.readings));
        let collectl =
            collectl.map(|program| (COLLECTL, program, &[][..], &[][..], case.collectl_readings));
        let (mut contestants, mut counts) = (Vec::new(), Vec::new());
        for (name, program, verb, way, readings) in whit.into_iter().chain(collectl) {
            // First with all readings, then with one, for the cost of start and end.
            for count in [readings, 1] {
                let turn = move || record(program, verb, case.what, way, count);
                contestants.push(Contestant::new(name, turn));
                counts.push(count);
            }
        }
        let walk = || {
            let (measurement, count) = floor::walk(passes)?;
            processes.set(count);
            Ok(measurement)
        };
        contestants.push(Contestant::new(WALK, walk));
        counts.push(passes);
        if let Some(tasks) = self.tasks.as_deref_mut().filter(|_| case.with_floors) {
            let turn = move || floor::iterate(tasks, case.readings);
            contestants.push(Contestant::new(ITERATOR, turn));
            counts.push(case.readings);
        }
        let (rounds, progress) = (self.plan.rounds, self.progress);
        let series = in_turn(rounds, &mut contestants, |who, round| {
            progress.show(&format!("{}: {who}, round {} of {rounds}", case.name, round + 1));
        })?;
        drop(contestants);
        let mut contests = Vec::new();
        let mut turns = series.into_iter().zip(counts).peekable();
        while let Some((series, readings)) = turns.next() {
            let start = turns.next_if(|(next, _)| next.name == series.name).map(|(start, _)| start);
            if case.with_floors || series.name != WALK {
                contests.push(Contest { series, readings, start });
            }
        }
        Ok(CaseResult { name: case.name.clone(), processes: processes.get(), contests })
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
