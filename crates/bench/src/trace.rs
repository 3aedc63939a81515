//! The benchmark of tracing: the additional cost of a system call under whit, strace, perf and
//! bpftrace, and under two empty BPF programs.
//!
//! Loads of calls time themselves, so a tracer's start and end count only in the time of the whole.
//! Tracers that stop a program at each call get a smaller load: the cost of a call is the same.
//! Whit counts the calls of a load beforehand.

use std::borrow::Cow;
use std::path::Path;
use std::process::Command;

use crate::measure::{Measurement, Series, median};

use crate::Progress;
use crate::error::Result;
use crate::programs::Programs;
use crate::report::{Report, Turns};

mod load;
mod report;
mod tracers;

pub use load::{TraceLoad, run as run_load};
use tracers::{Beside, How, Tracer};

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct TracePlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The loads, each with its size, and with the size for slow tracers.
    pub loads: Vec<(TraceLoad, TraceSize, TraceSize)>,
    /// Files that `find` visits.
    pub files: usize,
}

/// The size of a load.
#[derive(Clone, Copy, Debug)]
pub struct TraceSize {
    /// Units of a slice.
    pub units: u64,
    /// Slices of a turn.
    pub slices: u64,
}

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<CaseResult>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// One load of one size.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) what: TraceLoad,
    pub(crate) name: String,
    /// System calls of one slice.
    pub(crate) calls: u64,
    pub(crate) slices: u64,
    pub(crate) contests: Vec<Contest>,
}

/// One contestant in one case.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) name: String,
    /// The load and its tracer together.
    pub(crate) whole: Series,
    /// The load's slices, one list for each round.
    pub(crate) slices_ns: Vec<Vec<u64>>,
    /// Events lost in all rounds, if the tracer reports them.
    pub(crate) lost: Option<u64>,
}

/// The additional cost of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Added {
    /// The median over the rounds.
    pub(crate) ns: f64,
    /// Whether it is positive in every round; otherwise the load itself varies by as much.
    pub(crate) firm: bool,
}

impl Contest {
    fn new(name: &str) -> Self {
        let whole = Series { name: name.to_owned(), turns: Vec::new() };
        Contest { name: name.to_owned(), whole, slices_ns: Vec::new(), lost: None }
    }

    /// The median slice of each round.
    fn middle_ns(&self) -> impl Iterator<Item = f64> {
        self.slices_ns.iter().map(|slices| median(slices.iter().map(|ns| *ns as f64).collect()))
    }

    /// The time of all slices of the load in seconds, the median of the rounds.
    pub(crate) fn load_s(&self) -> f64 {
        let sums = self.slices_ns.iter().map(|slices| slices.iter().sum::<u64>() as f64 / 1e9);
        median(sums.collect())
    }
}

impl CaseResult {
    pub(crate) fn find(&self, name: &str) -> Option<&Contest> {
        self.contests.iter().find(|contest| contest.name == name)
    }

    /// The time of the load as a multiple of the bare one, by the median slices of each round.
    pub(crate) fn times(&self, contest: &Contest) -> Option<f64> {
        let bare = self.find(tracers::BARE)?;
        let times: Vec<f64> =
            contest.middle_ns().zip(bare.middle_ns()).map(|(this, bare)| this / bare).collect();
        (!times.is_empty() && times.iter().all(|times| times.is_finite())).then(|| median(times))
    }

    /// What a contestant adds to each call.
    pub(crate) fn added(&self, contest: &Contest) -> Option<Added> {
        let bare = self.find(tracers::BARE)?;
        if contest.name == tracers::BARE || self.calls == 0 {
            return None;
        }
        let calls = self.calls as f64;
        let each: Vec<f64> = contest
            .middle_ns()
            .zip(bare.middle_ns())
            .map(|(this, bare)| (this - bare) / calls)
            .collect();
        let firm = each.iter().all(|ns| *ns > 0.0);
        (!each.is_empty()).then(|| Added { ns: median(each), firm })
    }
}

impl Results {
    /// What a contestant adds to each call of a load in ns, if it is firm.
    pub(crate) fn firm_ns(&self, what: TraceLoad, name: &str) -> Option<f64> {
        let mut cases = self.cases.iter().filter(|case| case.what == what);
        let added = cases.find_map(|case| case.added(case.find(name)?))?;
        added.firm.then_some(added.ns)
    }

    /// What strace adds to a call as a multiple of what whit adds: over all loads where both are
    /// firm, and for each of these.
    pub(crate) fn strace_times(&self) -> Option<(f64, Vec<(TraceLoad, f64)>)> {
        let mut each: Vec<(TraceLoad, f64)> = Vec::new();
        let (mut of_strace, mut of_whit) = (0.0, 0.0);
        for case in &self.cases {
            let strace = self.firm_ns(case.what, tracers::STRACE);
            let whit = self.firm_ns(case.what, tracers::WHIT);
            let known = each.iter().any(|(what, _)| *what == case.what);
            if let (Some(strace), Some(whit), false) = (strace, whit, known) {
                each.push((case.what, strace / whit));
                of_strace += strace;
                of_whit += whit;
            }
        }
        (!each.is_empty()).then(|| (of_strace / of_whit, each))
    }

    /// All turns: of the whole, and of the load by its median slice.
    pub(crate) fn turns(&self) -> Vec<Turns<'_>> {
        let mut turns = Vec::new();
        for case in &self.cases {
            for contest in &case.contests {
                let middle = contest.middle_ns().map(|ns| Measurement {
                    wall_us: (ns * case.slices as f64 / 1e3) as u64,
                    ..Measurement::default()
                });
                let load = Series { name: contest.name.clone(), turns: middle.collect() };
                for (table, series) in
                    [("whole", Cow::Borrowed(&contest.whole)), ("middle slice", Cow::Owned(load))]
                {
                    turns.push(Turns { table, case: &case.name, series });
                }
            }
        }
        turns
    }
}

/// Runs the benchmark.
///
/// # Errors
/// Those of the programs that take part, of files, and of the kernel.
pub fn run(plan: &TracePlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let results = measure_all(plan, programs, progress)?;
    let summary = report::human(plan, &results);
    let json = report::json(plan, &results, &machine);
    Ok(Report::new("-trace", machine, summary, json, &results.turns()))
}

fn measure_all(plan: &TracePlan, programs: &Programs, progress: &Progress<'_>) -> Result<Results> {
    let mut results = Results::default();
    let kernel = match bpf::KernelTypes::open() {
        Ok(kernel) => bpf::EmptyPrograms::open(&kernel).map(|_| kernel),
        Err(error) => Err(error),
    };
    if let Err(error) = &kernel {
        results
            .notes
            .push(format!("nothing runs in the kernel, and whit counts by ptrace: {error}"));
    }
    progress.show("who can trace here?");
    let tracers = tracers::find(programs, kernel.is_ok(), &mut results.notes);
    let folder = tempfile::tempdir()?;
    load::plant(folder.path(), plan.files)?;
    let (kernel, folder) = (kernel.ok(), folder.path());
    let bench = Bench { plan, programs, progress, kernel, folder };
    for &(what, size, slow_size) in &plan.loads {
        if what != TraceLoad::Getppid && programs.path.find(what.name()).is_none() {
            results.notes.push(format!("{} is not installed: its loads are missing", what.name()));
            continue;
        }
        for (size, slow) in [(size, false), (slow_size, true)] {
            let takes_part = |one: &&Tracer| {
                one.slow == slow && (!matches!(one.how, How::After) || what == TraceLoad::Getppid)
            };
            let tracers: Vec<&Tracer> = tracers.iter().filter(takes_part).collect();
            if tracers.len() > 1 {
                results.cases.push(bench.case(what, size, &tracers)?);
            }
        }
    }
    progress.done();
    Ok(results)
}

/// What all cases need.
struct Bench<'a> {
    plan: &'a TracePlan,
    programs: &'a Programs,
    progress: &'a Progress<'a>,
    kernel: Option<bpf::KernelTypes>,
    folder: &'a Path,
}

impl Bench<'_> {
    fn case(&self, what: TraceLoad, size: TraceSize, tracers: &[&Tracer]) -> Result<CaseResult> {
        let TracePlan { rounds, files, .. } = *self.plan;
        let TraceSize { units, slices } = size;
        let name = what.describe(units * slices, files);
        self.progress.show(&format!("{name}: counting its calls"));
        let count = |slices| {
            tracers::calls(&self.programs.whit, &self.load(what, TraceSize { slices, ..size }))
        };
        let calls = count(1)?.saturating_sub(count(0)?);
        let mut contests: Vec<Contest> =
            tracers.iter().map(|tracer| Contest::new(&tracer.name)).collect();
        for round in 0..rounds {
            for (tracer, contest) in tracers.iter().zip(&mut contests) {
                let who = &tracer.name;
                self.progress.show(&format!("{name}: {who}, round {} of {rounds}", round + 1));
                self.turn(what, size, tracer, contest)?;
            }
        }
        Ok(CaseResult { what, name, calls, slices, contests })
    }

    /// The command that runs a load.
    fn load(&self, what: TraceLoad, size: TraceSize) -> Command {
        let mut command = Command::new(&self.programs.whit);
        command.args(["bench", "load", what.name()]);
        command.args([size.units.to_string(), size.slices.to_string()]).arg(self.folder);
        command
    }

    fn turn(
        &self,
        what: TraceLoad,
        size: TraceSize,
        tracer: &Tracer,
        contest: &mut Contest,
    ) -> Result<()> {
        if matches!(tracer.how, How::After) {
            let (done, whole) = crate::measure::measure(|| {
                load::run_here(what, size, self.folder, &self.programs.path)
            });
            contest.slices_ns.push(done?);
            contest.whole.turns.push(whole);
            return Ok(());
        }
        let mut beside = None;
        let mut floor = None;
        match (&tracer.how, &self.kernel) {
            (How::Beside, _) => beside = Some(Beside::start(&self.programs.whit)?),
            (How::Floor, Some(kernel)) => floor = Some(bpf::EmptyPrograms::open(kernel)?),
            _ => {}
        }
        let (whole, said) = tracer.run(&self.load(what, size))?;
        drop(floor);
        beside.map_or(Ok(()), Beside::stop)?;
        contest.slices_ns.push(load::take_slices(self.folder)?);
        contest.whole.turns.push(whole);
        if tracer.reports_lost {
            *contest.lost.get_or_insert(0) += tracers::lost_in(&said);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn contest(name: &str, slices_ns: &[&[u64]]) -> Contest {
        let slices_ns: Vec<Vec<u64>> = slices_ns.iter().map(|slices| slices.to_vec()).collect();
        let mut contest = Contest { slices_ns, ..Contest::new(name) };
        let whole = |slices: &Vec<u64>| Measurement {
            wall_us: slices.iter().sum::<u64>() / 1_000 + 10_000,
            user_us: 1_000,
            system_us: 2_000,
            resident_kib_max: 1_024,
        };
        contest.whole.turns = contest.slices_ns.iter().map(whole).collect();
        contest
    }

    /// A call takes 100 ns bare, 350 with whit and 40,100 with strace.
    pub(crate) fn results() -> Results {
        let case = |what: TraceLoad, contests| CaseResult {
            what,
            name: what.describe(20, 0),
            calls: 10,
            slices: 3,
            contests,
        };
        let bare = || contest(tracers::BARE, &[&[1_000, 1_000, 9_000], &[900, 1_000, 1_100]]);
        let mut whit = contest(tracers::WHIT, &[&[3_600, 3_500, 3_400], &[9_000, 3_500, 3_000]]);
        whit.lost = Some(0);
        let beside = contest(tracers::BESIDE, &[&[1_200, 1_200, 1_300], &[900, 900, 1_000]]);
        let strace =
            contest(tracers::STRACE, &[&[401_000, 401_000, 500_000], &[301_000, 402_000, 401_000]]);
        let fast = case(TraceLoad::Getppid, vec![bare(), beside, whit]);
        let slow = case(TraceLoad::Getppid, vec![bare(), strace]);
        Results { cases: vec![fast, slow], notes: vec!["perf is not installed".into()] }
    }

    #[test]
    fn what_is_added_is_the_difference_of_the_middle_slices() {
        let results = results();
        let fast = &results.cases[0];
        let added = |name: &str| fast.added(fast.find(name).unwrap());
        assert_eq!(added(tracers::WHIT), Some(Added { ns: 250.0, firm: true }));
        assert_eq!(added(tracers::BESIDE), Some(Added { ns: 5.0, firm: false }));
        assert_eq!(added(tracers::BARE), None);
        assert_eq!(fast.times(fast.find(tracers::WHIT).unwrap()), Some(3.5));
        let (all, each) = results.strace_times().unwrap();
        assert_eq!((all, each), (160.0, vec![(TraceLoad::Getppid, 160.0)]));
        let nothing = Results::default();
        assert_eq!(nothing.strace_times(), None);
    }

    #[test]
    fn every_turn_is_kept_twice() {
        let results = results();
        let turns = results.turns();
        assert_eq!(turns.len(), 10);
        let middle =
            turns.iter().find(|one| one.table == "middle slice" && one.series.name == "whit -c");
        let walls: Vec<u64> = middle.unwrap().series.turns.iter().map(|one| one.wall_us).collect();
        assert_eq!(walls, [10, 10]);
    }
}
