//! The programs that take part: their paths, how they are called, and what they cost.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::SearchPath;
use crate::contest::Measurement;
use crate::error::{Context, Result, ensure};
use crate::measure::run_any;
use crate::process::text_of;

/// Paths of `sadc` in Debian and other distributions.
const SADC_PATHS: &[&str] = &["/usr/lib/sysstat/sadc", "/usr/lib/sa/sadc", "/usr/lib64/sa/sadc"];

/// Whit and the programs of this machine that take part.
#[derive(Debug)]
pub struct Programs {
    pub(crate) whit: PathBuf,
    /// This program, which is also the loads.
    pub(crate) bench: PathBuf,
    pub(crate) collectl: Option<PathBuf>,
    pub(crate) sadc: Option<PathBuf>,
    pub(crate) strace: Option<PathBuf>,
    pub(crate) perf: Option<PathBuf>,
    pub(crate) bpftrace: Option<PathBuf>,
    pub(crate) path: SearchPath,
}

impl Programs {
    /// Finds the programs that are compared with `whit`, which is measured, in `path`; `bench` is
    /// this program, whose hidden commands are the loads.
    pub fn find(whit: PathBuf, bench: PathBuf, path: SearchPath) -> Self {
        let perf = path.find("perf");
        Programs {
            whit,
            bench,
            collectl: path.find("collectl"),
            sadc: SADC_PATHS.iter().map(PathBuf::from).find(|path| path.exists()),
            strace: path.find("strace"),
            perf: perf.filter(|perf| task_clock(perf, &Command::new("true")).is_ok()),
            bpftrace: path.find("bpftrace"),
            path,
        }
    }

    /// Names and versions, for the description of a run.
    pub(crate) fn versions(&self) -> Vec<(String, String)> {
        let mut versions = vec![("whit".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        if cfg!(debug_assertions) {
            versions[0].1.push_str(" (debug build: its times mean nothing)");
        }
        for (name, program, option) in [
            ("collectl", &self.collectl, "-v"),
            ("sadc", &self.sadc, "-V"),
            ("strace", &self.strace, "-V"),
            ("perf", &self.perf, "--version"),
            ("bpftrace", &self.bpftrace, "--version"),
        ] {
            versions.push((name.to_owned(), version_of(program.as_deref(), option)));
        }
        versions
    }
}

/// What a program says of its version when it is called with `option`.
pub(crate) fn version_of(program: Option<&Path>, option: &str) -> String {
    let version = program.map(|program| version_line(program, option));
    version.map_or("not installed".to_owned(), |line| line.unwrap_or_else(|| "unknown".to_owned()))
}

/// The line of a program's output that has a version such as 5.12, when it is called with `option`; its
/// first line if none has.
fn version_line(program: &Path, option: &str) -> Option<String> {
    let output = Command::new(program).arg(option).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_version = |line: &&str| {
        let is_point = |three: &[u8]| matches!(three, [b'0'..=b'9', b'.', b'0'..=b'9']);
        line.as_bytes().windows(3).any(is_point)
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(is_version).or_else(|| lines.next()).map(str::to_owned)
}

/// Runs a command successfully and discards its output; returns its cost.
///
/// # Errors
/// If the command cannot be run or fails, with the first line of its stderr.
pub(crate) fn run_quietly(command: &mut Command) -> std::io::Result<Measurement> {
    let errors = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let (status, cost) = run_any(command)?;
    if status.success() {
        return Ok(cost);
    }
    let said = text_in(errors)?;
    let first = said.lines().next().unwrap_or("no message");
    Err(std::io::Error::other(format!("{} ended with {status}: {first}", text_of(command))))
}

/// Runs a command successfully with an input; returns its cost, its output and its stderr.
///
/// # Errors
/// If the command cannot be run or fails, with the first line that it has written.
pub(crate) fn run_heard(
    command: &mut Command,
    input: Stdio,
) -> Result<(Measurement, String, String)> {
    let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(input).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let (status, cost) = run_any(command).with_context(|| text_of(command))?;
    let (output, errors) = (text_in(output)?, text_in(errors)?);
    let first = errors.lines().chain(output.lines()).next().unwrap_or("no message");
    ensure!(status.success(), "{} ended with {status}: {first}", text_of(command));
    Ok((cost, output, errors))
}

/// The whole text of a file that a program has written.
pub(crate) fn text_in(mut file: std::fs::File) -> std::io::Result<String> {
    use std::io::{Read as _, Seek as _};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The CPU time of a command in milliseconds, counted by `perf stat -e task-clock`.
pub(crate) fn task_clock(perf: &Path, command: &Command) -> Result<f64> {
    let answer = tempfile::NamedTempFile::new()?;
    let mut outer = Command::new(perf);
    outer.args(["stat", "-x,", "-e", "task-clock", "-o"]).arg(answer.path()).arg("--");
    outer.arg(command.get_program()).args(command.get_args());
    run_quietly(&mut outer)?;
    let text = std::fs::read_to_string(answer.path())?;
    let line = text.lines().find(|line| line.contains("task-clock"));
    let value = line.and_then(|line| line.split(',').next()).and_then(|word| word.parse().ok());
    value.with_context(|| format!("perf said '{}'", text.trim()))
}

/// System calls of a command and its children, counted by `strace -c -f`.
pub(crate) fn calls(strace: &Path, command: &Command) -> Result<u64> {
    let answer = tempfile::NamedTempFile::new()?;
    let mut outer = Command::new(strace);
    outer.args(["-c", "-f", "-o"]).arg(answer.path());
    outer.arg(command.get_program()).args(command.get_args());
    run_quietly(&mut outer)?;
    let text = std::fs::read_to_string(answer.path())?;
    calls_in(&text).with_context(|| format!("strace said '{}'", text.trim()))
}

/// The number of calls in the last line of strace's table.
fn calls_in(table: &str) -> Option<u64> {
    let total = table.lines().rev().find(|line| line.trim_end().ends_with("total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_tables_are_read() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            100.00    0.000010           0        29         1 total\n";
        assert_eq!(calls_in(table), Some(29));
        assert_eq!(
            calls_in("100.00    0.000010           0        29           total\n"),
            Some(29)
        );
        assert_eq!(calls_in("strace: oh no\n"), None);
    }

    #[test]
    fn a_failing_program_is_reported_with_its_stderr() {
        let error = run_quietly(Command::new("sh").args(["-c", "echo no such luck >&2; exit 3"]));
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("sh -c") && text.ends_with("no such luck"), "{text}");
        let mut command = Command::new("sh");
        command.args(["-c", "cat; echo 2 >&2"]);
        let heard = run_heard(&mut command, tempfile::tempfile().unwrap().into()).unwrap();
        assert_eq!((heard.1.as_str(), heard.2.as_str()), ("", "2\n"));
        let mut command = Command::new("sh");
        let failed = run_heard(command.args(["-c", "echo bad; exit 3"]), Stdio::null());
        assert!(failed.unwrap_err().to_string().ends_with(": bad"));
    }
}
