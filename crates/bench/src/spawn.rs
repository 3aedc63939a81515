//! The benchmark of running jobs: the blog's experiment and similar ones, with `whit run`, `xargs
//! -P`, GNU parallel if it is installed, and the floor (a bare loop of clone and exec).
//!
//! Each contestant is a program of its own.  They take turns, round after round, with the same
//! arguments from the same file, and are compared by medians.  CPU time of a job is that of the
//! runner and of all children; the runner's own is what the kernel counts for that process alone
//! (`/proc/PID/stat`, all threads), so a child counts as a job from its start.  System calls are
//! counted in separate runs, as the difference between few jobs and some more.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Progress;
use crate::contest::{Case, Contest, Measurement, in_turn};
use crate::error::{Context, Result};
use crate::process::text_of;
use crate::programs::{Programs, run_quietly, version_of};
use crate::report::{Report, Row, add_version};

mod calls;
mod floor;
pub(crate) mod load;
mod pipe;
mod report;
mod sleepers;
mod timeout;
pub(crate) mod tmpfs;

pub use load::{SpawnLoad, run_floor};

use load::{JobRunner, Jobs, Tools};
use pipe::PipeFacts;
use sleepers::SleepersResult;
use timeout::TimeoutResult;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct SpawnPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// Jobs of a turn.
    pub jobs: u64,
    /// The two numbers of jobs for which system calls are counted; `None`: they are not.
    pub counted_jobs: Option<(u64, u64)>,
    /// Numbers of jobs that run at once: a row of the table each.
    pub at_once: Vec<usize>,
    /// The loads that are run.
    pub loads: Vec<SpawnLoad>,
    /// Whether GNU parallel takes part.
    pub rival: bool,
    /// Size of the file that jobs read in blocks.
    pub pipe_bytes: u64,
    /// Number of sleeping jobs.
    pub sleepers: usize,
    /// How long the sleeping jobs are observed.
    pub watched_ms: u64,
}

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<SpawnCase>,
    pub(crate) timeouts: Vec<TimeoutResult>,
    pub(crate) sleepers: Vec<SleepersResult>,
    pub(crate) pipes: Vec<Case<PipeFacts>>,
    /// Where the blog's job wrote its files.
    pub(crate) place: String,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// One load, with a number of jobs at once.
type SpawnCase = Case<SpawnFacts, JobFacts>;

/// A row of the table.
type SpawnRow<'r> = Row<'r, SpawnFacts, JobFacts>;

/// What is run in a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpawnFacts {
    pub(crate) load: SpawnLoad,
    pub(crate) at_once: usize,
}

/// What runs the jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobFacts {
    pub(crate) who: JobRunner,
    /// System calls of an additional job.
    pub(crate) calls: Option<f64>,
}

/// What all measurements need.
struct Bench<'a> {
    plan: &'a SpawnPlan,
    tools: &'a Tools,
    who: &'a [JobRunner],
    progress: &'a Progress<'a>,
    /// The folder in which jobs write.
    folder: &'a Path,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part, a file or the kernel fails.
pub fn run(plan: &SpawnPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let mut machine = crate::report::machine(programs);
    if let Ok(tools) = Tools::find(programs) {
        for (name, program) in [("GNU parallel", &tools.parallel), ("xargs", &tools.xargs)] {
            add_version(&mut machine, name, &version_of(program.as_deref(), "--version"));
        }
        let shell = std::fs::canonicalize(&tools.shell).unwrap_or(tools.shell);
        add_version(&mut machine, "sh", &shell.display().to_string());
    }
    let results = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
}

/// Measures without making a report.
pub(crate) fn measure_all(
    plan: &SpawnPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<Results> {
    let mut results = Results::default();
    let tools = Tools::find(programs)?;
    progress.show("who can run jobs here?");
    let who = contestants(plan, &tools, &mut results.notes)?;
    let folder = tempfile::tempdir()?;
    let jobs = folder.path().join("jobs");
    std::fs::create_dir(&jobs)?;
    results.place = place(plan, &jobs);
    let bench = Bench { plan, tools: &tools, who: &who, progress, folder: &jobs };
    let arguments = folder.path().join("arguments");
    for &load in &plan.loads {
        match load {
            SpawnLoad::Blog | SpawnLoad::True | SpawnLoad::Sh => {
                bench.short_jobs(load, &arguments, &mut results)?;
            }
            SpawnLoad::Timeout => results.timeouts = timeout::run(&bench)?,
            SpawnLoad::Sleepers => results.sleepers = sleepers::run(&bench, &mut results.notes)?,
            SpawnLoad::Pipe => {
                results.pipes = pipe::run(&bench, folder.path(), &mut results.notes)?;
            }
        }
    }
    progress.done();
    Ok(results)
}

/// Mounts a tmpfs for the files of jobs, if that is allowed; returns a description.
fn place(plan: &SpawnPlan, folder: &Path) -> String {
    if !plan.loads.contains(&SpawnLoad::Blog) {
        return String::new();
    }
    match tmpfs::mount_private(folder) {
        Ok(()) => "on a fresh tmpfs".to_owned(),
        Err(error) => format!("in a temporary folder, as no tmpfs can be mounted: {error}"),
    }
}

/// The available contestants; notes why others are not.
fn contestants(plan: &SpawnPlan, tools: &Tools, notes: &mut Vec<String>) -> Result<Vec<JobRunner>> {
    let mut all = vec![JobRunner::Floor, JobRunner::Vfork];
    probe(tools.runner(JobRunner::Whit)).context("whit runs no jobs here")?;
    all.push(JobRunner::Whit);
    match &tools.xargs {
        Some(_) => all.push(JobRunner::Xargs),
        None => notes.push("xargs is not installed".to_owned()),
    }
    if plan.rival {
        match probe(tools.runner(JobRunner::Parallel)) {
            Ok(()) => all.push(JobRunner::Parallel),
            Err(error) => notes.push(format!("GNU parallel is left out: {}", error.line())),
        }
    }
    Ok(all)
}

/// Checks that a runner is installed and can run a job.
fn probe(runner: Option<Command>) -> Result<()> {
    let mut runner = runner.context("it is not installed")?;
    run_quietly(runner.args(["-j1", "true", ":::", "1"]))?;
    Ok(())
}

/// Writes the numbers from 1 as lines.
fn write_arguments(path: &Path, jobs: u64) -> std::io::Result<()> {
    let lines: String = (1..=jobs).map(|number| format!("{number}\n")).collect();
    std::fs::write(path, lines)
}

impl Bench<'_> {
    /// Whether a contestant takes part.
    fn has(&self, who: JobRunner) -> bool {
        self.who.contains(&who)
    }

    /// All rows of a load.
    fn short_jobs(&self, load: SpawnLoad, arguments: &Path, results: &mut Results) -> Result<()> {
        let counted = self.count_calls(load, arguments, results)?;
        write_arguments(arguments, self.plan.jobs)?;
        let of = Jobs { count: self.plan.jobs, arguments };
        for &at_once in &self.plan.at_once {
            let name = format!("{}, -j {at_once}", load.job().unwrap_or_default());
            let runners = self.who.iter().zip(&counted);
            let contest = |(who, calls): (&JobRunner, &_)| {
                Contest::new(who.name(), JobFacts { who: *who, calls: *calls })
            };
            let mut contests: Vec<_> = runners.map(contest).collect();
            in_turn(self.progress, &name, self.plan.rounds, &mut contests, |_, contest, _| {
                let command = self.tools.command(contest.facts.who, load, at_once, of);
                let command =
                    command.with_context(|| format!("{} is not installed", contest.name))?;
                contest.turns.push(self.turn(load, of, command)?);
                Result::Ok(())
            })?;
            results.cases.push(Case { name, facts: SpawnFacts { load, at_once }, contests });
        }
        Ok(())
    }

    /// Runs a command in an empty folder, and checks the results of its jobs.
    fn turn(&self, load: SpawnLoad, jobs: Jobs<'_>, mut command: Command) -> Result<Measurement> {
        let folder = self.fresh()?;
        command.current_dir(&folder);
        let done = run_quietly(&mut command)?;
        let text = text_of(&command);
        load::check(load, jobs.count, &folder).with_context(|| format!("'{text}'"))?;
        std::fs::remove_dir_all(&folder)?;
        Ok(done)
    }

    /// An empty folder for one turn.
    fn fresh(&self) -> Result<PathBuf> {
        let folder = self.folder.join("turn");
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// System calls of an additional job for each contestant, with two jobs at once, so that calls
    /// made once for each slot are not counted.
    fn count_calls(
        &self,
        load: SpawnLoad,
        arguments: &Path,
        results: &mut Results,
    ) -> Result<Vec<Option<f64>>> {
        let nothing = vec![None; self.who.len()];
        let Some((few, more)) = self.plan.counted_jobs else { return Ok(nothing) };
        let mut counted = Vec::new();
        for who in self.who {
            self.progress.show(&format!("{}: counting calls of {}", load.name(), who.name()));
            let mut calls = Vec::new();
            for count in [few, more] {
                write_arguments(arguments, count)?;
                let command = self.tools.command(*who, load, 2, Jobs { count, arguments });
                let mut command = command.context("a contestant is not installed")?;
                let folder = self.fresh()?;
                command.current_dir(&folder);
                match calls::count(&self.tools.whit, &command) {
                    Ok(number) => calls.push(number as f64),
                    Err(error) => {
                        std::fs::remove_dir_all(&folder)?;
                        let note = format!("system calls are not counted: {}", error.line());
                        if !results.notes.contains(&note) {
                            results.notes.push(note);
                        }
                        return Ok(nothing);
                    }
                }
                load::check(load, count, &folder)?;
                std::fs::remove_dir_all(&folder)?;
            }
            counted.push(Some((calls[1] - calls[0]) / (more - few) as f64));
        }
        Ok(counted)
    }
}
