//! How late `--timeout` ends a job: by the runner's joblog, and as the job sees it.

use std::path::Path;
use std::process::Stdio;

use crate::contest::median;
use crate::error::{Context, Result, ensure};

use super::{Bench, JobRunner};

/// The timeout, and how long the jobs would run without it.
const TIMEOUT_S: f64 = 0.5;
const SLEEP_S: u32 = 3;

/// Jobs of a turn, all at once.
const JOBS: u32 = 4;

/// A job that notes when it starts and when it gets SIGTERM.  A shell in `wait` runs its trap at
/// once.
const JOB: &str = "date +%s%N > start.$1\n\
    trap 'date +%s%N > end.$1; exit 0' TERM\n\
    sleep $2 &\n\
    wait\n";

/// How late one runner is.
#[derive(Debug)]
pub(crate) struct TimeoutResult {
    pub(crate) who: JobRunner,
    /// Milliseconds after the timeout for each job, by the joblog.
    pub(crate) logged_ms: Vec<f64>,
    /// By the job, which starts a little later and needs a millisecond or two to note its end.
    pub(crate) seen_ms: Vec<f64>,
}

/// The median and the maximum.
pub(crate) fn median_and_max(late_ms: &[f64]) -> (f64, f64) {
    (median(late_ms.to_vec()), late_ms.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<TimeoutResult>> {
    let runners = [JobRunner::Whit, JobRunner::Parallel].into_iter().filter(|who| bench.has(*who));
    let result = |who| TimeoutResult { who, logged_ms: Vec::new(), seen_ms: Vec::new() };
    let mut results: Vec<TimeoutResult> = runners.map(result).collect();
    for round in 0..bench.plan.rounds {
        for result in &mut results {
            let who = result.who.name();
            bench.progress.show(&format!("timeout: {who}, round {}", round + 1));
            turn(bench, result).with_context(|| format!("--timeout of {who}"))?;
        }
    }
    Ok(results)
}

fn turn(bench: &Bench<'_>, result: &mut TimeoutResult) -> Result<()> {
    let folder = bench.fresh()?;
    std::fs::write(folder.join("job"), JOB)?;
    let mut command = bench.tools.runner(result.who).context("it is not installed")?;
    command.args(["-j", &JOBS.to_string(), "--timeout", &TIMEOUT_S.to_string()]);
    command.args(["--joblog", "log", &format!("sh job {{}} {SLEEP_S}"), ":::"]);
    command.args((1..=JOBS).map(|number| number.to_string()));
    command.current_dir(&folder).stdin(Stdio::null());
    // The exit code is the number of failed jobs, as it should, and stderr may name them.
    command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let log = std::fs::read_to_string(folder.join("log"))?;
    for number in 1..=JOBS {
        result.logged_ms.push((logged_s(&log, number)? - TIMEOUT_S) * 1e3);
        let lasted_s = stamp_s(&folder.join(format!("end.{number}")))?
            - stamp_s(&folder.join(format!("start.{number}")))?;
        result.seen_ms.push((lasted_s - TIMEOUT_S) * 1e3);
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// `JobRuntime` in a joblog of a job that was ended.
fn logged_s(log: &str, seq: u32) -> Result<f64> {
    let mut lines = log.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let line = lines.find(|line| line.first() == Some(&seq.to_string().as_str()));
    let line = line.with_context(|| format!("job {seq} is not in the joblog"))?;
    let ended = line.get(6).is_some_and(|value| value.trim() == "-1");
    ensure!(ended, "job {seq} was not ended: {}", line.join(" "));
    let runtime = line.get(3).and_then(|word| word.trim().parse().ok());
    runtime.with_context(|| format!("job {seq} has no time in the joblog"))
}

/// Reads a time that a job noted in nanoseconds; in seconds.
fn stamp_s(path: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("a job wrote no {}", path.display()))?;
    // In µs: a float cannot hold the nanoseconds since 1970.
    Ok((text.trim().parse::<i64>()? / 1_000) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joblogs_are_read() {
        let log = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
            2\t:\t1795285320.111\t     0.911\t0\t0\t-1\t15\tsleep 3 2\n\
            1\t:\t1795285320.111\t     0.001\t0\t0\t0\t0\ttrue\n";
        assert_eq!(logged_s(log, 2).unwrap(), 0.911);
        assert!(logged_s(log, 1).unwrap_err().to_string().contains("was not ended"));
        assert!(logged_s(log, 3).is_err());
        assert_eq!(median_and_max(&[1.0, 9.0, 2.0]), (2.0, 9.0));
    }
}
