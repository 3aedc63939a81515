//! The benchmark of running jobs: the blog's experiment and its relatives, under `whit run`,
//! `xargs -P`, GNU parallel where it is installed, and the floor (a bare loop of clone and exec).
//!
//! Everybody is a program of its own, started in turn, round after round, with the same arguments
//! from the same file, and compared by medians.  CPU of a job is that of the runner and of all it
//! waited for; the runner's own is the kernel's account of that one process at its end
//! (`/proc/PID/stat`, all threads), so a child counts as a job from its very beginning, whoever
//! made it.  System calls are counted in runs of their own, as the difference between few jobs and
//! some more.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use testkit::bench::{Measurement, Series, median, ratio};

use super::Progress;
use super::programs::{Programs, text_of};
use super::save::Turns;

mod calls;
pub(crate) mod load;
mod pipe;
pub(crate) mod report;
mod sleepers;
mod timeout;

use load::{Jobs, Load, Tools, Who};
use pipe::PipeResult;
use sleepers::SleepersResult;
use timeout::TimeoutResult;

/// How much to do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Turns of everybody.
    pub(crate) rounds: usize,
    /// Jobs of a turn.
    pub(crate) jobs: u64,
    /// Jobs of the two runs between which system calls are counted; `None` leaves that out.
    pub(crate) counted_jobs: Option<(u64, u64)>,
    /// How many run at once: a row of the table each.
    pub(crate) at_once: Vec<usize>,
    /// What is measured.
    pub(crate) loads: Vec<Load>,
    /// Whether GNU parallel takes part.
    pub(crate) rival: bool,
    /// Size of the file that jobs are handed in blocks.
    pub(crate) pipe_bytes: u64,
    /// Jobs that sleep, and how long they are watched.
    pub(crate) sleepers: usize,
    pub(crate) watched_ms: u64,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) cases: Vec<CaseResult>,
    pub(crate) timeouts: Vec<TimeoutResult>,
    pub(crate) sleepers: Vec<SleepersResult>,
    pub(crate) pipes: Vec<PipeResult>,
    /// Where the blog's job wrote its files.
    pub(crate) place: String,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// One load, with so many jobs at once.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) load: Load,
    pub(crate) at_once: usize,
    /// The name in the tables.
    pub(crate) name: String,
    pub(crate) contests: Vec<Contest>,
}

/// One contestant in one case.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) who: Who,
    pub(crate) series: Series,
    /// The runner's own CPU time of each round.
    pub(crate) own_us: Vec<u64>,
    /// System calls that one more job costs.
    pub(crate) calls: Option<f64>,
}

impl CaseResult {
    pub(crate) fn find(&self, who: Who) -> Option<&Contest> {
        self.contests.iter().find(|contest| contest.who == who)
    }

    /// How many times as long a contestant takes as another, by rounds.
    pub(crate) fn times(&self, this: Who, base: Who) -> Option<f64> {
        let (this, base) = (self.find(this)?, self.find(base)?);
        let times = ratio(&this.series, &base.series, |one| one.wall_us as f64);
        (times > 0.0).then_some(times)
    }
}

impl Contest {
    fn new(who: Who) -> Self {
        let series = Series { name: who.name().to_owned(), turns: Vec::new() };
        Contest { who, series, own_us: Vec::new(), calls: None }
    }

    pub(crate) fn wall_s(&self) -> f64 {
        self.series.median(|one| one.wall_us as f64) / 1e6
    }

    pub(crate) fn cpu_us(&self) -> f64 {
        self.series.median(|one| one.cpu_us() as f64)
    }

    pub(crate) fn own_us(&self) -> f64 {
        median(self.own_us.iter().map(|us| *us as f64).collect())
    }
}

impl Results {
    /// Every turn of everybody.
    pub(crate) fn turns(&self) -> Vec<Turns<'_>> {
        let mut turns = Vec::new();
        for case in &self.cases {
            for contest in &case.contests {
                let series = Cow::Borrowed(&contest.series);
                turns.push(Turns { table: case.load.name(), case: &case.name, series });
            }
        }
        for pipe in &self.pipes {
            let series = Cow::Borrowed(&pipe.series);
            turns.push(Turns { table: "pipe", case: &pipe.name, series });
        }
        turns
    }
}

/// What every measurement needs.
struct Bench<'a> {
    plan: &'a Plan,
    tools: &'a Tools,
    who: &'a [Who],
    progress: &'a Progress,
    /// Where jobs write.
    folder: &'a Path,
}

/// Runs everything the plan asks for.
pub(crate) fn run_all(plan: &Plan, programs: &Programs) -> anyhow::Result<Results> {
    let mut results = Results::default();
    let progress = Progress::new();
    let tools = Tools::find(&programs.whit)?;
    progress.tell("who can run jobs here?");
    let who = contestants(plan, &tools, &mut results.notes)?;
    let folder = tempfile::tempdir()?;
    let jobs = folder.path().join("jobs");
    std::fs::create_dir(&jobs)?;
    results.place = place(plan, &jobs);
    let bench = Bench { plan, tools: &tools, who: &who, progress: &progress, folder: &jobs };
    let arguments = folder.path().join("arguments");
    for &load in &plan.loads {
        match load {
            Load::Blog | Load::True | Load::Sh => {
                bench.short_jobs(load, &arguments, &mut results)?;
            }
            Load::Timeout => results.timeouts = timeout::run(&bench)?,
            Load::Sleepers => results.sleepers = sleepers::run(&bench, &mut results.notes)?,
            Load::Pipe => {
                results.pipes = pipe::run(&bench, folder.path(), &mut results.notes)?;
            }
        }
    }
    progress.done();
    Ok(results)
}

/// Mounts a file system in memory for what jobs write, where that is allowed; says where it is.
fn place(plan: &Plan, folder: &Path) -> String {
    if !plan.loads.contains(&Load::Blog) {
        return String::new();
    }
    match testkit::tmpfs::mount_private(folder) {
        Ok(()) => "on a fresh tmpfs".to_owned(),
        Err(error) => format!("in a temporary folder, as no tmpfs can be mounted: {error}"),
    }
}

/// Everybody who can take part, and why others cannot.
fn contestants(plan: &Plan, tools: &Tools, notes: &mut Vec<String>) -> anyhow::Result<Vec<Who>> {
    let mut all = vec![Who::Floor, Who::Vfork];
    probe(tools.runner(Who::Whit)).context("whit runs no jobs here")?;
    all.push(Who::Whit);
    match &tools.xargs {
        Some(_) => all.push(Who::Xargs),
        None => notes.push("xargs is not installed".to_owned()),
    }
    if plan.rival {
        match probe(tools.runner(Who::Parallel)) {
            Ok(()) => all.push(Who::Parallel),
            Err(error) => notes.push(format!("GNU parallel is left out: {error:#}")),
        }
    }
    Ok(all)
}

/// Whether a runner of jobs is here and runs one.
fn probe(runner: Option<Command>) -> anyhow::Result<()> {
    let mut runner = runner.context("it is not installed")?;
    super::programs::run(runner.args(["-j1", "true", ":::", "1"]))?;
    Ok(())
}

/// Writes 1, 2, 3 … as lines.
fn write_arguments(path: &Path, jobs: u64) -> std::io::Result<()> {
    let lines: String = (1..=jobs).map(|number| format!("{number}\n")).collect();
    std::fs::write(path, lines)
}

impl Bench<'_> {
    /// Whether somebody takes part.
    fn has(&self, who: Who) -> bool {
        self.who.contains(&who)
    }

    /// All rows of a load.
    fn short_jobs(
        &self,
        load: Load,
        arguments: &Path,
        results: &mut Results,
    ) -> anyhow::Result<()> {
        let counted = self.count_calls(load, arguments, results)?;
        write_arguments(arguments, self.plan.jobs)?;
        let of = Jobs { count: self.plan.jobs, arguments };
        for &at_once in &self.plan.at_once {
            let name = format!("{}, -j {at_once}", load.job().unwrap_or_default());
            let mut contests: Vec<Contest> =
                self.who.iter().map(|who| Contest::new(*who)).collect();
            for round in 0..self.plan.rounds {
                for contest in &mut contests {
                    let who = contest.who.name();
                    let of_rounds = format!("round {} of {}", round + 1, self.plan.rounds);
                    self.progress.tell(&format!("{name}: {who}, {of_rounds}"));
                    let command = self.tools.command(contest.who, load, at_once, of);
                    let command = command.with_context(|| format!("{who} is not installed"))?;
                    let (measurement, own_us) = self.turn(load, of, command)?;
                    contest.series.turns.push(measurement);
                    contest.own_us.push(own_us);
                }
            }
            for (contest, calls) in contests.iter_mut().zip(&counted) {
                contest.calls = *calls;
            }
            results.cases.push(CaseResult { load, at_once, name, contests });
        }
        Ok(())
    }

    /// Runs a command in a fresh folder, and looks whether its jobs have done their work.
    fn turn(
        &self,
        load: Load,
        jobs: Jobs<'_>,
        mut command: Command,
    ) -> anyhow::Result<(Measurement, u64)> {
        let folder = self.fresh()?;
        command.current_dir(&folder);
        let done = run_apart(&mut command)?;
        let text = text_of(&command);
        load::check(load, jobs.count, &folder).with_context(|| format!("'{text}'"))?;
        std::fs::remove_dir_all(&folder)?;
        Ok(done)
    }

    /// An empty folder for one turn.
    fn fresh(&self) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join("turn");
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// System calls that one more job of a load costs each contestant, two at once, so that what
    /// is made once for each slot is not counted.
    fn count_calls(
        &self,
        load: Load,
        arguments: &Path,
        results: &mut Results,
    ) -> anyhow::Result<Vec<Option<f64>>> {
        let nothing = vec![None; self.who.len()];
        let Some((few, more)) = self.plan.counted_jobs else { return Ok(nothing) };
        let mut counted = Vec::new();
        for who in self.who {
            self.progress.tell(&format!("{}: counting calls of {}", load.name(), who.name()));
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
                        let note = format!("system calls are not counted: {error:#}");
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

/// Runs a command with its output thrown away, to a good end; gives what all of it cost and what
/// itself did.
fn run_apart(command: &mut Command) -> anyhow::Result<(Measurement, u64)> {
    let mut said = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?);
    let (status, measurement, own_us) = testkit::bench::run_apart(command)?;
    if !status.success() {
        let mut text = String::new();
        std::io::Seek::rewind(&mut said)?;
        std::io::Read::read_to_string(&mut said, &mut text)?;
        let first = text.lines().next().unwrap_or("it said nothing");
        anyhow::bail!("{} ended with {status}: {first}", text_of(command));
    }
    Ok((measurement, own_us))
}

/// Names and versions of those that take part, for the record of a run.
pub(crate) fn versions(programs: &Programs) -> Vec<(String, String)> {
    let Ok(tools) = Tools::find(&programs.whit) else { return Vec::new() };
    let mut versions = Vec::new();
    for (name, program) in [("GNU parallel", &tools.parallel), ("xargs", &tools.xargs)] {
        let version = match program {
            None => "not installed".to_owned(),
            Some(program) => super::programs::first_line(program, "--version")
                .unwrap_or_else(|| "unknown".to_owned()),
        };
        versions.push((name.to_owned(), version));
    }
    let shell = std::fs::canonicalize(&tools.shell).unwrap_or(tools.shell);
    versions.push(("sh".to_owned(), shell.display().to_string()));
    versions
}
