//! Very many new processes: the blog's command, and who watches it.
//!
//! A shell and a `date` for each job live for a millisecond: most watchers look too seldom.  The
//! blog left open why `close` took longer than `clone` under `strace -r`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;

use super::row::{Figure, SeedRow};
use super::{Bench, Part, Seed, SeedsPlan};
use crate::beyond;
use crate::contest::{Measurement, cpu, median, wall};
use crate::error::{Context, Error, Result, ensure};
use crate::folder::file_in;
use crate::measure::ended;
use crate::process::{BackgroundProgram, silent, text_of};
use crate::processes;
use crate::programs::run_quietly;
use crate::spawn::load::{BLOG, JobRunner, Tools};
use crate::spawn::{self, SpawnLoad, SpawnPlan};

/// Jobs at once, as in the blog.
const AT_ONCE: usize = 100;

/// Jobs that were published.
const PUBLISHED_JOBS: f64 = 10_000.0;

pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    let seed = Seed::Shells;
    let mut all = vec![Part::new(seed, "command", plan.size(38.0, 8.0), command)];
    for watcher in [Watcher::Ps, Watcher::Top, Watcher::Strace, Watcher::Joblog] {
        let part = move |bench: &Bench<'_>| watched(bench, watcher);
        all.push(Part::new(seed, watcher.name(), plan.size(16.0, 5.0), part));
    }
    all.push(Part::new(seed, "close after clone", plan.size(4.0, 4.0), close_after_clone));
    all
}

/// The blog's command by GNU parallel, by whit, and as a bare loop.
fn command(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = SpawnPlan {
        rounds: bench.plan.rounds,
        jobs: bench.plan.size(3_000, 400),
        counted_jobs: None,
        at_once: vec![AT_ONCE],
        loads: vec![SpawnLoad::Blog],
        rival: true,
        pipe_bytes: 0,
        sleepers: 0,
        watched_ms: 0,
    };
    let results = spawn::measure_all(&plan, bench.programs, bench.progress)?;
    let case = results.cases.first().context("no jobs were run")?;
    let row = |name: &'static str, unit: &'static str, number: fn(&Measurement) -> f64| {
        let figure = |who: JobRunner| {
            Figure::of(case.find(who.name())?, |turn| number(turn) / 1e3 / plan.jobs as f64)
        };
        let mut row = SeedRow::new(Seed::Shells, name, unit);
        row.incumbent = figure(JobRunner::Parallel);
        (row.whit, row.floor) = (figure(JobRunner::Whit), figure(JobRunner::Floor));
        row.notes.extend(results.notes.iter().cloned());
        row.command = format!(
            "seq 1 {} | parallel --joblog joblog.txt -j{AT_ONCE} echo '{{}} $(date)' '>' log.{{}}.txt",
            plan.jobs
        );
        row
    };
    let ms = |seconds: f64| seconds * 1e3 / PUBLISHED_JOBS;
    Ok(vec![
        row("the command, elapsed", "ms a job", wall).published(ms(273.9), "4 min 33.9 s real"),
        row("the command, CPU", "CPU ms a job", cpu)
            .published(ms(128.5), "28.9 s user, 99.6 s system"),
    ])
}

/// Who watches the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watcher {
    Ps,
    Top,
    Strace,
    Joblog,
    Whit,
}

impl Watcher {
    fn name(self) -> &'static str {
        match self {
            Watcher::Ps => "ps -AHf in a loop",
            Watcher::Top => "top -b",
            Watcher::Strace => "strace -c -f",
            Watcher::Joblog => "--joblog",
            Watcher::Whit => "whit record -sZ -i1:1",
        }
    }

    /// The program that runs beside the jobs; `None` if it is not installed, or runs them itself.
    fn beside(self, bench: &Bench<'_>, folder: &Path) -> Option<Command> {
        let path = &bench.programs.path;
        Some(match self {
            Watcher::Ps => {
                let mut command = Command::new(path.find("sh")?);
                command.args(["-c", "while :; do \"$0\" -AHfww; done"]).arg(path.find("ps")?);
                command
            }
            Watcher::Top => {
                let mut command = Command::new(path.find("top")?);
                command.args(["-b", "-c", "-d", "1", "-w", "512"]);
                command
            }
            Watcher::Whit => {
                let mut command = Command::new(&bench.programs.whit);
                command.args(["record", "--no-check", "-sZ", "-i1:1", "-f"]).arg(folder);
                command
            }
            Watcher::Strace | Watcher::Joblog => return None,
        })
    }
}

/// What a watcher saw and took.
struct Watch {
    /// Jobs of which it saw a process.
    seen: u64,
    /// CPU time of the shell, with what it started, in µs; `None` where it is a part of its runner's.
    cpu_us: Option<f64>,
}

/// One watcher beside whit's recorder, each with jobs of its own.
fn watched(bench: &Bench<'_>, watcher: Watcher) -> Result<Vec<SeedRow>> {
    let jobs: u64 = bench.plan.size(1_000, 100);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 0..bench.plan.rounds {
        bench.progress.show(&format!("{}, round {}", watcher.name(), round + 1));
        theirs.push(watch(bench, watcher, jobs)?);
        bench.progress.show(&format!("{}, round {}", Watcher::Whit.name(), round + 1));
        ours.push(watch(bench, Watcher::Whit, jobs)?);
    }
    let figure = |who: Watcher, all: &[Watch], number: &dyn Fn(&Watch) -> Option<f64>| {
        Figure::new(who.name(), all.iter().map(number).collect::<Option<Vec<_>>>()?)
    };
    let name = watcher.name();
    let row = |what: &str, unit: String, number: &dyn Fn(&Watch) -> Option<f64>| {
        let mut row = SeedRow::new(Seed::Shells, format!("{name}: {what}"), unit);
        row.incumbent = figure(watcher, &theirs, number);
        row.whit = figure(Watcher::Whit, &ours, number);
        row.command = format!("{name} beside the command with {jobs} jobs");
        row
    };
    let seen = row("jobs seen", format!("of {jobs} jobs"), &|one| Some(one.seen as f64));
    let cost = row("CPU", "CPU ms a job".to_owned(), &|one| Some(one.cpu_us? / 1e3 / jobs as f64));
    let mut seen = match watcher {
        Watcher::Ps => seen.published(
            177.0 * jobs as f64 / PUBLISHED_JOBS,
            "about 177 processes at a time, of 10,000 jobs",
        ),
        _ => seen,
    };
    seen.notes.push(
        match watcher {
            Watcher::Strace => "strace: processes that were made, two for each job",
            Watcher::Joblog => "a joblog knows jobs, not their processes, and only its runner's",
            _ => "seen: jobs whose shell was in an output",
        }
        .to_owned(),
    );
    seen.notes.push("whit: exits of programs named date, one for each job".to_owned());
    Ok(vec![seen, cost])
}

/// Runs the jobs once under a watcher.
fn watch(bench: &Bench<'_>, watcher: Watcher, jobs: u64) -> Result<Watch> {
    let folder = tempfile::tempdir()?;
    let [work, told] = ["work", "told"].map(|name| folder.path().join(name));
    std::fs::create_dir(&work)?;
    std::fs::create_dir(&told)?;
    let output = folder.path().join("output");
    let mut command = jobs_command(bench, jobs, &output, watcher)?;
    command.current_dir(&work);
    if matches!(watcher, Watcher::Strace | Watcher::Joblog) {
        let cost = run_quietly(&mut command)?;
        let said = std::fs::read_to_string(&output)?;
        let seen = match watcher {
            // The process of the runner and two for each job.
            Watcher::Strace => processes_made(&said).min(jobs * 2) / 2,
            _ => said.lines().count().saturating_sub(1) as u64,
        };
        // Of strace the jobs' own CPU time is a part: a run without it is taken off.
        let cpu_us = match watcher {
            Watcher::Strace => {
                let again = folder.path().join("again");
                std::fs::create_dir(&again)?;
                let mut bare = jobs_command(bench, jobs, &output, Watcher::Joblog)?;
                let bare = run_quietly(bare.current_dir(&again))?;
                beyond(cpu(&cost), cpu(&bare))
            }
            _ => None,
        };
        return Ok(Watch { seen, cpu_us });
    }
    let mut beside = watcher
        .beside(bench, &told)
        .with_context(|| format!("{} is not installed", watcher.name()))?;
    silent(&mut beside).stdout(std::fs::File::create(&output)?);
    let mut running = BackgroundProgram::start(&mut beside)?;
    running.wait_until(PATIENCE, || match watcher {
        Watcher::Whit => file_in(&told, ".whit").is_ok(),
        _ => std::fs::metadata(&output).is_ok_and(|file| file.len() > 0),
    })?;
    let done = run_quietly(&mut command);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&running.child),
        rustix::process::Signal::TERM,
    )?;
    let (_, cost) = ended(&running.child, running.started)?;
    done?;
    let seen = match watcher {
        Watcher::Whit => spawn_exits(&file_in(&told, ".whit")?)?.min(jobs),
        _ => jobs_in(&std::fs::read(&output)?)?,
    };
    Ok(Watch { seen, cpu_us: Some(cpu(&cost)) })
}

/// Longest time until a watcher watches.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The blog's command, by GNU parallel where it is installed and by whit otherwise, under what
/// watches it from outside.
fn jobs_command(bench: &Bench<'_>, jobs: u64, output: &Path, watcher: Watcher) -> Result<Command> {
    let tools = Tools::find(bench.programs)?;
    let runner = tools.runner(JobRunner::Parallel).or_else(|| tools.runner(JobRunner::Whit));
    let runner = runner.context("neither GNU parallel nor whit runs jobs here")?;
    let mut command = match watcher {
        Watcher::Strace => {
            let strace = bench.programs.strace.as_ref().context("strace is not installed")?;
            let mut command = Command::new(strace);
            command.args(["-c", "-f", "-o"]).arg(output);
            command.arg(runner.get_program());
            command
        }
        _ => Command::new(runner.get_program()),
    };
    command.args(runner.get_args());
    for (name, value) in runner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["-j", &AT_ONCE.to_string()]);
    if watcher == Watcher::Joblog {
        command.arg("--joblog").arg(output);
    }
    command.arg(BLOG).arg(":::").args((1..=jobs).map(|number| number.to_string()));
    command.stdin(Stdio::null());
    Ok(command)
}

/// Numbers of the jobs whose command line is in a text.
fn jobs_in(text: &[u8]) -> Result<u64> {
    let pattern =
        Regex::new(r"> log\.(\d+)\.txt").map_err(|error| Error::Failed(error.to_string()))?;
    let text = String::from_utf8_lossy(text);
    let numbers: BTreeSet<&str> =
        pattern.captures_iter(&text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    Ok(numbers.len() as u64)
}

/// Calls in strace's table that make processes.
fn processes_made(table: &str) -> u64 {
    let calls = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_one = ["clone", "clone3", "fork", "vfork"].contains(words.last()?);
        is_one.then(|| words.get(3)?.parse::<u64>().ok()).flatten()
    });
    calls.sum()
}

/// Exits of programs named `date` in a recording.
fn spawn_exits(path: &Path) -> Result<u64> {
    let mut exits = 0;
    processes::each_exit(path, |name| exits += u64::from(name == b"date"))?;
    Ok(exits)
}

/// What `strace -r -T` says of each `clone`, and of the next `close`, in µs.
#[derive(Debug, Default, PartialEq)]
struct CloneTimes {
    /// From the line of `clone` to the next one, as `-r` shows it in that line.
    between: Vec<f64>,
    /// In `clone` itself.
    clone: Vec<f64>,
    /// In the next `close`.
    close: Vec<f64>,
}

impl CloneTimes {
    fn read(text: &str) -> Self {
        let relative =
            |line: &str| Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1e6);
        let own = |line: &str| {
            let (_, time) = line.trim_end().strip_suffix('>')?.rsplit_once('<')?;
            Some(time.parse::<f64>().ok()? * 1e6)
        };
        let call = |line: &str, name: &str| {
            line.split_whitespace().nth(1).is_some_and(|word| word.starts_with(name))
        };
        let is_clone =
            |line: &str| ["clone(", "clone3(", "vfork("].iter().any(|name| call(line, name));
        let mut times = CloneTimes::default();
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in (1..).zip(&lines).filter(|(_, line)| is_clone(line)) {
            let next = lines.get(number).and_then(|line| relative(line));
            let close = lines[number..].iter().find(|line| call(line, "close("));
            let close = close.and_then(|line| own(line));
            if let (Some(clone), Some(between), Some(close)) = (own(line), next, close) {
                times.clone.push(clone);
                times.close.push(close);
                times.between.push(between);
            }
        }
        times
    }
}

/// Why `close` seemed to take longer than `clone`.
fn close_after_clone(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let jobs = 50;
    let strace = bench.programs.strace.as_ref().context("strace is not installed")?;
    let mut rounds: [Vec<f64>; 3] = Default::default();
    let mut pairs = 0;
    for round in 0..bench.plan.rounds {
        bench.progress.show(&format!("strace -r -T, round {}", round + 1));
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("output");
        let command = jobs_command(bench, jobs, &output, Watcher::Ps)?;
        let mut traced = Command::new(strace);
        traced.args(["-r", "-T", "-o"]).arg(&output);
        traced.arg(command.get_program()).args(command.get_args()).current_dir(folder.path());
        for (name, value) in command.get_envs() {
            traced.envs(value.map(|value| (name, value)));
        }
        run_quietly(&mut traced)?;
        let times = CloneTimes::read(&std::fs::read_to_string(&output)?);
        ensure!(
            !times.clone.is_empty(),
            "{}: no clone: this runner starts jobs in another way",
            text_of(&traced)
        );
        pairs = times.clone.len();
        for (rounds, all) in rounds.iter_mut().zip([times.between, times.clone, times.close]) {
            rounds.push(median(all));
        }
    }
    let names: [(&'static str, f64, &'static str); 3] = [
        (
            "from clone to the next call, as strace -r shows it there",
            2_900.0,
            "2.5 to 3.3 ms after clone",
        ),
        ("clone itself", 2_600.0, "2.6 ms a call, by strace -c"),
        ("the next close itself", f64::NAN, ""),
    ];
    let rows = names.into_iter().zip(rounds).map(|((name, us, words), rounds)| {
        let mut row = SeedRow::new(Seed::Shells, name, "us");
        if us.is_finite() {
            row = row.published(us, words);
        }
        row.incumbent = Figure::new("strace -r -T", rounds);
        row.notes.push(format!(
            "left open was why close took longer than clone: strace -r shows beside a call how long \
             ago the one before it began, so the time beside close was that of clone ({pairs} calls)"
        ));
        row.command = format!("strace -r -T parallel -j{AT_ONCE} … with {jobs} jobs");
        row
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_of_watchers_are_counted() {
        let ps = b"root 7 1 sh -c echo 12 $(date) > log.12.txt\n\
            root 8 1 sh -c echo 3 $(date) > log.3.txt\nroot 8 1 sh -c echo 3 $(date) > log.3.txt\n\
            root 9 1 sh -c echo {} $(date) > log.{}.txt\n";
        assert_eq!(jobs_in(ps).unwrap(), 2);
        let strace = " 72.00    1.000000        2600       200           clone\n\
            \x20 1.00    0.010000          50       101         1 vfork\n\
            \x20 1.00    0.010000          50       999           close\n\
            100.00    1.020000           0      1300           total\n";
        assert_eq!(processes_made(strace), 301);
    }

    #[test]
    fn the_time_beside_close_is_that_of_clone() {
        let text = "     0.000300 pipe2([8, 9], O_CLOEXEC) = 0 <0.000020>\n\
            \x20    0.000100 clone(child_stack=NULL) = 71 <0.002600>\n\
            \x20    0.002650 close(9)          = 0 <0.000011>\n\
            \x20    0.000100 vfork()           = 72 <0.000400>\n\
            \x20    0.000410 --- SIGCHLD {si_signo=SIGCHLD} ---\n\
            \x20    0.000040 close(8)          = 0 <0.000012>\n\
            \x20    0.000100 clone(child_stack=NULL) = ? <unavailable>\n\
            \x20    0.000050 close(9)          = 0 <0.000011>\n";
        let times = CloneTimes::read(text);
        let [between, clone, close] = [&times.between, &times.clone, &times.close]
            .map(|all| all.iter().map(|us| us.round()).collect::<Vec<_>>());
        assert_eq!(clone, [2600.0, 400.0]);
        assert_eq!(between, [2650.0, 410.0]);
        assert_eq!(close, [11.0, 12.0]);
        assert_eq!(CloneTimes::read("nonsense\nclose("), CloneTimes::default());
    }
}
