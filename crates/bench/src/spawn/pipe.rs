//! A file that jobs read in blocks: `--pipe` and `--pipe-part`.
//!
//! Every job counts lines, and the sum must be right.  The baseline is one `wc -l` that reads the
//! file alone.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Bench, JobRunner};
use crate::contest::{Case, Contest, Measurement, in_turn};
use crate::error::{Context, Result, ensure};
use crate::process::text_of;
use crate::programs::run_heard;

/// Length of a line: that of an access log.
const LINE_BYTES: usize = 100;

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeFacts {
    pub(crate) bytes: u64,
}

/// The command that reads the file alone, and that every job runs.
pub(crate) const WC: &str = "wc -l";

/// The options, and whether they read standard input.
const WAYS: [(&str, &[&str], bool); 4] = [
    ("--pipe", &["--pipe"], true),
    ("--pipe --block 10M", &["--pipe", "--block", "10M"], true),
    ("--pipe-part", &["--pipe-part"], false),
    ("--pipe-part --block -1", &["--pipe-part", "--block", "-1"], false),
];

/// Lets the runners take turns, with each combination of options.
pub(super) fn run(
    bench: &Bench<'_>,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Case<PipeFacts>>> {
    let file = folder.join("lines");
    bench.progress.show(&format!("writing {} bytes of lines", bench.plan.pipe_bytes));
    let lines = write(&file, bench.plan.pipe_bytes)?;
    let facts = PipeFacts { bytes: lines * LINE_BYTES as u64 };
    let mut alone =
        Case { name: WC.to_owned(), facts, contests: vec![Contest::new("wc alone", ())] };
    let mut cases = Vec::new();
    for (name, options, is_input) in WAYS {
        let runners = [JobRunner::Whit, JobRunner::Parallel];
        let runners: Vec<JobRunner> = runners.into_iter().filter(|who| bench.has(*who)).collect();
        let mut contests: Vec<_> = runners.iter().map(|who| Contest::new(who.name(), ())).collect();
        let mut failed = Vec::new();
        in_turn(bench.progress, name, bench.plan.rounds, &mut contests, |place, contest, _| {
            // `wc` alone has a turn in each round of the first combination.
            if cases.is_empty() && place == 0 {
                let mut wc = Command::new("wc");
                let turn = turn(wc.arg("-l").env("LC_ALL", "C"), Some(&file), lines)?;
                alone.contests[0].turns.push(turn);
            }
            let mut command = bench.tools.runner(runners[place]).context("a runner is missing")?;
            if !is_input {
                command.arg("-a").arg(&file);
            }
            command.args(options).args(WC.split(' '));
            match turn(&mut command, is_input.then_some(&file), lines) {
                Ok(turn) => contest.turns.push(turn),
                Err(error) => failed.push((contest.name.clone(), error)),
            }
            Result::Ok(())
        })?;
        contests.retain(|one| failed.iter().all(|(who, _)| *who != one.name));
        notes.extend(failed.iter().map(|(_, error)| error.line()));
        cases.push(Case { name: name.to_owned(), facts, contests });
    }
    cases.insert(0, alone);
    std::fs::remove_file(&file)?;
    Ok(cases)
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
    let (measurement, printed, _) =
        run_heard(command, input.map_or_else(Stdio::null, Stdio::from))?;
    let numbers = printed.lines().map(|line| line.trim().parse::<u64>());
    let sum = numbers
        .sum::<std::result::Result<u64, _>>()
        .with_context(|| format!("'{text}' printed '{printed}'"))?;
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
