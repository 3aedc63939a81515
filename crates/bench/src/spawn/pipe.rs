//! A file that jobs read in blocks: `--pipe` and `--pipe-part`.
//!
//! Every job counts lines, and the sum must be right.  The baseline is one `wc -l` that reads the
//! file alone.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Context, Result, ensure};
use crate::measure::{Measurement, Series, ratio};

use super::{Bench, JobRunner};
use crate::programs::text_of;

/// Length of a line: that of an access log.
const LINE_BYTES: usize = 100;

/// One combination of options, with one runner.
#[derive(Debug)]
pub(crate) struct PipeResult {
    /// The options, or the command that runs alone.
    pub(crate) name: String,
    pub(crate) who: Option<JobRunner>,
    pub(crate) bytes: u64,
    pub(crate) series: Series,
}

impl PipeResult {
    /// Bytes per second, by the median of the rounds.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 / (self.series.median(|one| one.wall_us as f64) / 1e6)
    }

    /// How many times as fast as `other` in the same round.
    pub(crate) fn times_faster(&self, other: &PipeResult) -> f64 {
        ratio(&other.series, &self.series, |one| one.wall_us as f64)
    }
}

/// The options, and whether they read standard input.
const WAYS: [(&str, &[&str], bool); 4] = [
    ("--pipe", &["--pipe"], true),
    ("--pipe --block 10M", &["--pipe", "--block", "10M"], true),
    ("--pipe-part", &["--pipe-part"], false),
    ("--pipe-part --block -1", &["--pipe-part", "--block", "-1"], false),
];

pub(super) fn run(
    bench: &Bench<'_>,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<PipeResult>> {
    let file = folder.join("lines");
    bench.progress.show(&format!("writing {} bytes of lines", bench.plan.pipe_bytes));
    let lines = write(&file, bench.plan.pipe_bytes)?;
    let bytes = lines * LINE_BYTES as u64;
    let mut results = Vec::new();
    let result = |name: &str, who: Option<JobRunner>| {
        let series = who.map_or("wc alone", JobRunner::name).to_owned();
        let series = Series { name: series, turns: Vec::new() };
        PipeResult { name: name.to_owned(), who, bytes, series }
    };
    let mut alone = result("wc -l", None);
    for (name, options, is_input) in WAYS {
        let runners =
            [JobRunner::Whit, JobRunner::Parallel].into_iter().filter(|who| bench.has(*who));
        let mut contests: Vec<PipeResult> = runners.map(|who| result(name, Some(who))).collect();
        let mut failed = Vec::new();
        for round in 0..bench.plan.rounds {
            if results.is_empty() {
                let turn =
                    turn(Command::new("wc").arg("-l").env("LC_ALL", "C"), Some(&file), lines)?;
                alone.series.turns.push(turn);
            }
            for one in &mut contests {
                let who = &one.series.name;
                bench.progress.show(&format!("{name}: {who}, round {}", round + 1));
                let runner = one.who.and_then(|who| bench.tools.runner(who));
                let mut command = runner.context("a contestant is not installed")?;
                if is_input {
                    command.args(options).args(["wc", "-l"]);
                } else {
                    command.arg("-a").arg(&file).args(options).args(["wc", "-l"]);
                }
                match turn(&mut command, is_input.then_some(&file), lines) {
                    Ok(turn) => one.series.turns.push(turn),
                    Err(error) => failed.push((one.who, error)),
                }
            }
            contests.retain(|one| failed.iter().all(|(who, _)| *who != one.who));
        }
        notes.extend(failed.iter().map(|(_, error)| error.line()));
        results.extend(contests);
    }
    results.insert(0, alone);
    std::fs::remove_file(&file)?;
    Ok(results)
}

/// Writes a file of lines; returns their number.
fn write(path: &Path, bytes: u64) -> std::io::Result<u64> {
    let lines = (bytes / LINE_BYTES as u64).max(1);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for number in 0..lines {
        writeln!(file, "{number:>width$}", width = LINE_BYTES - 1)?;
    }
    file.flush()?;
    Ok(lines)
}

/// Runs a command and adds the numbers that its jobs print.
fn turn(command: &mut Command, input: Option<&Path>, lines: u64) -> Result<Measurement> {
    let text = text_of(command);
    let input = input.map(File::open).transpose()?;
    let mut printed = tempfile::tempfile()?;
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    command.stdout(printed.try_clone()?).stderr(Stdio::null());
    let (status, measurement) = crate::measure::run_any(command)?;
    ensure!(status.success(), "'{text}' ended with {status}");
    let mut printed_text = String::new();
    std::io::Seek::rewind(&mut printed)?;
    std::io::Read::read_to_string(&mut printed, &mut printed_text)?;
    let numbers = printed_text.lines().map(|line| line.trim().parse::<u64>());
    let sum = numbers
        .sum::<std::result::Result<u64, _>>()
        .with_context(|| format!("'{text}' printed '{printed_text}'"))?;
    ensure!(sum == lines, "'{text}' counted {sum} lines of {lines}");
    Ok(measurement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        assert_eq!(write(&file, 1_050).unwrap(), 10);
        assert_eq!(file.metadata().unwrap().len(), 1_000);
        assert!(turn(Command::new("wc").arg("-l"), Some(&file), 10).is_ok());
        let error = turn(Command::new("wc").arg("-l"), Some(&file), 11).unwrap_err();
        assert_eq!(error.to_string(), "'wc -l' counted 10 lines of 11");
        let mut both = Command::new("sh");
        both.args(["-c", "echo 4; echo 6"]);
        assert!(turn(&mut both, None, 10).is_ok());
    }
}
