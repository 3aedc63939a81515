//! The cost of a runner while a thousand jobs sleep: it should be none.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Bench, JobRunner};
use crate::error::{Context, Result, ensure};
use crate::process;

/// How long a job sleeps unless it is ended: longer than all of them need to start, and limited in
/// case nothing ends it.
const SLEEP_S: &str = "300";

/// Limit for starting all of them.
const START_LIMIT: Duration = Duration::from_secs(240);

/// Interval of checks how many run, and how long the runner settles when all do.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const CALM: Duration = Duration::from_millis(1_000);

/// One runner with sleeping jobs.
#[derive(Debug)]
pub(crate) struct SleepersResult {
    pub(crate) who: JobRunner,
    pub(crate) jobs: usize,
    /// Time until all of them ran.
    pub(crate) start_s: f64,
    /// The runner's CPU time while they slept, in percent of one CPU.
    pub(crate) cpu_percent: f64,
    /// The runner's resident memory while they slept.
    pub(crate) resident_kib: u64,
}

/// Watches each runner that can be watched.
pub(super) fn run(bench: &Bench<'_>, notes: &mut Vec<String>) -> Result<Vec<SleepersResult>> {
    let mut results = Vec::new();
    for who in [JobRunner::Whit, JobRunner::Xargs, JobRunner::Parallel]
        .into_iter()
        .filter(|who| bench.has(*who))
    {
        bench.progress.show(&format!("{} jobs that sleep: {}", bench.plan.sleepers, who.name()));
        let command = command(bench, who).context("a contestant is not installed")?;
        match watch(bench, who, command) {
            Ok(result) => results.push(result),
            Err(error) => notes.push(format!("sleeping jobs of {}: {}", who.name(), error.line())),
        }
    }
    Ok(results)
}

fn command(bench: &Bench<'_>, who: JobRunner) -> Option<Command> {
    let jobs = bench.plan.sleepers.to_string();
    let mut command = match who {
        JobRunner::Xargs => {
            let mut command = Command::new(bench.tools.xargs.as_ref()?);
            command.args(["-n1", "-P", &jobs, "sleep"]);
            command
        }
        _ => {
            let mut command = bench.tools.runner(who)?;
            // Here a shell would only replace itself by the job.
            command.env_remove("PARALLEL_SHELL").args(["-j", &jobs, "sleep"]);
            command
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

fn watch(bench: &Bench<'_>, who: JobRunner, mut command: Command) -> Result<SleepersResult> {
    let begin = Instant::now();
    let mut runner = Runner(command.spawn()?);
    let mut input = runner.0.stdin.take().context("no pipe to the runner")?;
    let lines = format!("{SLEEP_S}\n").repeat(bench.plan.sleepers);
    std::io::Write::write_all(&mut input, lines.as_bytes())?;
    drop(input);
    loop {
        let running = runner.sleepers()?.len();
        if running >= bench.plan.sleepers {
            break;
        }
        let ended = runner.0.try_wait()?;
        ensure!(ended.is_none(), "ended early with {}", ended.unwrap_or_default());
        ensure!(begin.elapsed() < START_LIMIT, "only {running} ran at last");
        std::thread::sleep(LOOK_EVERY);
    }
    let start_s = begin.elapsed().as_secs_f64();
    std::thread::sleep(CALM);
    let (before, start) = (runner.cpu_ns()?, Instant::now());
    std::thread::sleep(Duration::from_millis(bench.plan.watched_ms));
    let used_ns = runner.cpu_ns()?.saturating_sub(before);
    let cpu_percent = used_ns as f64 / start.elapsed().as_nanos() as f64 * 100.0;
    let (jobs, resident_kib) = (bench.plan.sleepers, runner.resident_kib()?);
    Ok(SleepersResult { who, jobs, start_s, cpu_percent, resident_kib })
}

/// A runner that is ended with all its jobs when this is dropped.
struct Runner(Child);

impl Runner {
    /// The descendants of the runner that are named `sleep`.
    fn sleepers(&self) -> std::io::Result<Vec<i32>> {
        let all = processes()?;
        let below = below(&all, self.0.id().cast_signed());
        Ok(below.into_iter().filter(|one| one.name == b"sleep").map(|one| one.pid).collect())
    }

    /// CPU time of all live threads; in ticks of 10 ms if the kernel has no scheduler statistics.
    fn cpu_ns(&self) -> std::io::Result<u64> {
        match process::threads_cpu_ns(self.0.id())? {
            Some(ns) => Ok(ns),
            None => Ok(process::own_cpu_us(self.0.id())? * 1_000),
        }
    }

    fn resident_kib(&self) -> Result<u64> {
        process::status_kib(self.0.id(), "VmRSS").context("no VmRSS in /proc/PID/status")
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Descendants are collected before the runner ends, because then they lose their parent; it
        // ends first, so that it starts no more.
        let all = processes().unwrap_or_default();
        let below = below(&all, self.0.id().cast_signed());
        let _ = self.0.kill();
        for pid in below.iter().filter_map(|one| Pid::from_raw(one.pid)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Facts of a process.
#[derive(Debug, PartialEq)]
struct Process {
    pid: i32,
    parent: i32,
    name: Vec<u8>,
}

/// All processes.
fn processes() -> std::io::Result<Vec<Process>> {
    let folders = std::fs::read_dir("/proc")?.flatten().map(|entry| entry.path().join("stat"));
    // A process that has ended, and a folder of no process, has no such file.
    Ok(folders.filter_map(|path| parse(&std::fs::read(path).ok()?)).collect())
}

/// Parses `/proc/PID/stat`.
fn parse(text: &[u8]) -> Option<Process> {
    let (pid, name, mut fields) = process::stat_fields(text)?;
    Some(Process { pid, parent: fields.nth(1)?.parse().ok()?, name: name.to_owned() })
}

/// The descendants of a process.
fn below(all: &[Process], root: i32) -> Vec<&Process> {
    let mut found: Vec<&Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for one in all.iter().filter(|one| one.parent == parent) {
            parents.push(one.pid);
            found.push(one);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found() {
        let all: Vec<Process> = [(2, 1, "a"), (3, 2, "b"), (4, 3, "sleep"), (5, 1, "sleep")]
            .map(|(pid, parent, name)| Process { pid, parent, name: name.into() })
            .into();
        let pids: Vec<i32> = below(&all, 2).iter().map(|one| one.pid).collect();
        assert_eq!(pids, [3, 4]);
        let line = parse(b"71 (a) (b) S 7 71 71 0 -1").unwrap();
        assert_eq!(line, Process { pid: 71, parent: 7, name: b"a) (b".to_vec() });
        assert_eq!(parse(b"nonsense"), None);
    }

    #[test]
    fn a_runner_ends_with_its_jobs() {
        let script = "sh -c 'sleep 97; :' & sleep 98 & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let runner = Runner(command.spawn().unwrap());
        let mut pids = Vec::new();
        for _ in 0..100 {
            pids = runner.sleepers().unwrap();
            if pids.len() == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(pids.len(), 2);
        assert!(runner.resident_kib().unwrap() > 100 && runner.cpu_ns().unwrap() > 0);
        drop(runner);
        for pid in pids {
            // They may be orphans for a moment, but they no longer sleep.
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(!text.contains(") S "), "{text}");
        }
    }
}
