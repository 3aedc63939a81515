//! The benchmark of tracing: the additional cost of a system call under whit, strace, perf and
//! bpftrace, and under two empty BPF programs.
//!
//! Loads of calls time themselves, so a tracer's start and end count only in the time of the whole.
//! Tracers that stop a program at each call get a smaller load: the cost of a call is the same.
//! Whit counts the calls of a load beforehand.

use std::path::Path;
use std::process::Command;

use crate::Progress;
use crate::contest::{Case, Contest, in_turn, median};
use crate::error::Result;
use crate::programs::Programs;
use crate::report::{Report, Row};

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
    pub(crate) cases: Vec<Case<LoadFacts, Slices>>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// A row of the table.
type TraceRow<'r> = Row<'r, LoadFacts, Slices>;

/// One load of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadFacts {
    pub(crate) what: TraceLoad,
    /// System calls of one slice.
    pub(crate) calls: u64,
    pub(crate) slices: u64,
}

/// What a load says of itself; the turns are of the load and its tracer together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slices {
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

/// The median slice of each round.
fn middle_ns(contest: &Contest<Slices>) -> impl Iterator<Item = f64> {
    let middle = |slices: &Vec<u64>| median(slices.iter().map(|ns| *ns as f64).collect());
    contest.facts.slices_ns.iter().map(middle)
}

/// The time of all slices of the load in seconds, the median of the rounds.
fn load_s(contest: &Contest<Slices>) -> f64 {
    let rounds = contest.facts.slices_ns.iter();
    median(rounds.map(|slices| slices.iter().sum::<u64>() as f64 / 1e9).collect())
}

/// The median slices of each round: of a contestant and of the bare load.
fn beside_bare((case, contest): TraceRow<'_>) -> Option<impl Iterator<Item = (f64, f64)>> {
    Some(middle_ns(contest).zip(middle_ns(case.find(tracers::BARE)?)))
}

/// The time of the load as a multiple of the bare one, by the median slices of each round.
fn times_slower(row: TraceRow<'_>) -> Option<f64> {
    let times: Vec<f64> = beside_bare(row)?.map(|(this, bare)| this / bare).collect();
    (!times.is_empty() && times.iter().all(|times| times.is_finite())).then(|| median(times))
}

/// What a contestant adds to each call.
fn added(row: TraceRow<'_>) -> Option<Added> {
    let (case, contest) = row;
    if contest.name == tracers::BARE || case.facts.calls == 0 {
        return None;
    }
    let calls = case.facts.calls as f64;
    let each: Vec<f64> = beside_bare(row)?.map(|(this, bare)| (this - bare) / calls).collect();
    let firm = each.iter().all(|ns| *ns > 0.0);
    (!each.is_empty()).then(|| Added { ns: median(each), firm })
}

impl Results {
    /// What a contestant adds to each call of a load in ns, if it is firm.
    pub(crate) fn firm_ns(&self, what: TraceLoad, name: &str) -> Option<f64> {
        let mut cases = self.cases.iter().filter(|case| case.facts.what == what);
        let added = cases.find_map(|case| added((case, case.find(name)?)))?;
        added.firm.then_some(added.ns)
    }

    /// What strace adds to a call as a multiple of what whit adds: over all loads where both are
    /// firm, and for each of these.
    pub(crate) fn strace_times(&self) -> Option<(f64, Vec<(TraceLoad, f64)>)> {
        let mut each: Vec<(TraceLoad, f64)> = Vec::new();
        let (mut of_strace, mut of_whit) = (0.0, 0.0);
        for LoadFacts { what: load, .. } in self.cases.iter().map(|case| case.facts) {
            let strace = self.firm_ns(load, tracers::STRACE);
            let whit = self.firm_ns(load, tracers::WHIT);
            let known = each.iter().any(|(what, _)| *what == load);
            if let (Some(strace), Some(whit), false) = (strace, whit, known) {
                each.push((load, strace / whit));
                of_strace += strace;
                of_whit += whit;
            }
        }
        (!each.is_empty()).then(|| (of_strace / of_whit, each))
    }
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part, a file or the kernel fails.
pub fn run(plan: &TracePlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let results = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
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
    fn case(
        &self,
        what: TraceLoad,
        size: TraceSize,
        tracers: &[&Tracer],
    ) -> Result<Case<LoadFacts, Slices>> {
        let TracePlan { rounds, files, .. } = *self.plan;
        let TraceSize { units, slices } = size;
        let name = what.describe(units * slices, files);
        self.progress.show(&format!("{name}: counting its calls"));
        let count = |slices| {
            tracers::calls(&self.programs.whit, &self.load(what, TraceSize { slices, ..size }))
        };
        let calls = count(1)?.saturating_sub(count(0)?);
        let contest = |tracer: &&Tracer| Contest::new(tracer.name.as_str(), Slices::default());
        let mut contests: Vec<_> = tracers.iter().map(contest).collect();
        in_turn(self.progress, &name, rounds, &mut contests, |place, contest, _| {
            self.turn(what, size, tracers[place], contest)
        })?;
        Ok(Case { name, facts: LoadFacts { what, calls, slices }, contests })
    }

    /// The command that runs a load.
    fn load(&self, what: TraceLoad, size: TraceSize) -> Command {
        let mut command = Command::new(&self.programs.bench);
        command.args(["load", what.name()]);
        command.args([size.units.to_string(), size.slices.to_string()]).arg(self.folder);
        command
    }

    fn turn(
        &self,
        what: TraceLoad,
        size: TraceSize,
        tracer: &Tracer,
        contest: &mut Contest<Slices>,
    ) -> Result<()> {
        if matches!(tracer.how, How::After) {
            let (done, whole) = crate::measure::measure(|| {
                load::run_here(what, size, self.folder, &self.programs.path)
            });
            contest.facts.slices_ns.push(done?);
            contest.turns.push(whole);
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
        contest.facts.slices_ns.push(load::take_slices(self.folder)?);
        contest.turns.push(whole);
        if tracer.reports_lost {
            *contest.facts.lost.get_or_insert(0) += tracers::lost_in(&said);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::contest::Measurement;

    fn contest(name: &str, slices_ns: &[&[u64]]) -> Contest<Slices> {
        let slices_ns: Vec<Vec<u64>> = slices_ns.iter().map(|slices| slices.to_vec()).collect();
        let mut contest = Contest::new(name, Slices { slices_ns, lost: None });
        let whole = |slices: &Vec<u64>| Measurement {
            wall_us: slices.iter().sum::<u64>() / 1_000 + 10_000,
            user_us: 1_000,
            system_us: 2_000,
            resident_kib_max: 1_024,
            ..Measurement::default()
        };
        contest.turns = contest.facts.slices_ns.iter().map(whole).collect();
        contest
    }

    /// A call takes 100 ns bare, 350 with whit and 40,100 with strace.
    pub(crate) fn results() -> Results {
        let case = |what: TraceLoad, contests| Case {
            name: what.describe(20, 0),
            facts: LoadFacts { what, calls: 10, slices: 3 },
            contests,
        };
        let bare = || contest(tracers::BARE, &[&[1_000, 1_000, 9_000], &[900, 1_000, 1_100]]);
        let mut whit = contest(tracers::WHIT, &[&[3_600, 3_500, 3_400], &[9_000, 3_500, 3_000]]);
        whit.facts.lost = Some(0);
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
        let added = |name: &str| added((fast, fast.find(name).unwrap()));
        assert_eq!(added(tracers::WHIT), Some(Added { ns: 250.0, firm: true }));
        assert_eq!(added(tracers::BESIDE), Some(Added { ns: 5.0, firm: false }));
        assert_eq!(added(tracers::BARE), None);
        assert_eq!(times_slower((fast, fast.find(tracers::WHIT).unwrap())), Some(3.5));
        let (all, each) = results.strace_times().unwrap();
        assert_eq!((all, each), (160.0, vec![(TraceLoad::Getppid, 160.0)]));
        let nothing = Results::default();
        assert_eq!(nothing.strace_times(), None);
    }

    #[test]
    fn every_turn_is_kept_twice() {
        let plan = TracePlan { rounds: 2, loads: Vec::new(), files: 0 };
        let report = report::report(&plan, &results(), serde_json::Value::Null);
        let raw = report.raw();
        assert_eq!(raw.lines().count(), 1 + 2 * 10);
        let middle = raw
            .lines()
            .filter(|line| line.starts_with("middle slice") && line.contains(",whit -c,"));
        let walls: Vec<&str> = middle.filter_map(|line| line.rsplit(',').nth(3)).collect();
        assert_eq!(walls, ["10", "10"]);
    }
}
