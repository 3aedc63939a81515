//! The tracers: programs with their command lines, a whit that traces another process, and the cost
//! of the kernel alone.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use regex::Regex;

use crate::SearchPath;
use crate::contest::Measurement;
use crate::error::{Context, Result, ensure};
use crate::process::{BackgroundProgram, silent};
use crate::programs::{Programs, run_heard};

/// Names in the tables.
pub(crate) const BARE: &str = "bare";
pub(crate) const FLOOR: &str = "two empty programs";
pub(crate) const BESIDE: &str = "whit, not selected";
pub(crate) const AFTER: &str = "after detach";
pub(crate) const WHIT: &str = "whit -c";
pub(crate) const WHIT_PTRACE: &str = "whit -c, ptrace";
pub(crate) const STRACE: &str = "strace -c -f";

/// bpftrace's program: calls by command and number.
const ONE_LINER: &str = "tracepoint:raw_syscalls:sys_enter { @[comm, args->id] = count(); }";

/// A tracer that takes part.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) name: String,
    pub(crate) how: How,
    /// Whether it costs so much that it gets the small load.
    pub(crate) slow: bool,
    /// Whether it reports lost events.
    pub(crate) reports_lost: bool,
}

/// How a load is run under it.
#[derive(Debug)]
pub(crate) enum How {
    /// Not traced.
    Bare,
    /// With two empty BPF programs at the tracepoints.
    Floor,
    /// While whit traces another process.
    Beside,
    /// In this process, which existed while others were traced, and is not traced now.
    After,
    /// By a program that starts the load: its path, and its arguments before the load's.
    Program(PathBuf, Vec<OsString>),
    /// By such a program, with the load's command line as one last argument.
    Joined(PathBuf, Vec<OsString>),
}

/// The available tracers; notes why others are not.
pub(crate) fn find(programs: &Programs, kernel: bool, notes: &mut Vec<String>) -> Vec<Tracer> {
    let tracer =
        |name: &str, how, slow| Tracer { name: name.into(), how, slow, reports_lost: false };
    let mut all = vec![tracer(BARE, How::Bare, false), tracer(BARE, How::Bare, true)];
    if kernel {
        all.push(tracer(FLOOR, How::Floor, false));
        all.push(tracer(BESIDE, How::Beside, false));
        all.push(tracer(AFTER, How::After, false));
    }
    let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    let whit = |arguments: &str| How::Program(programs.whit.clone(), words(arguments));
    let lossy = |name: &str, arguments: &str, slow| Tracer {
        reports_lost: true,
        ..tracer(name, whit(arguments), slow)
    };
    if kernel {
        all.push(lossy(WHIT, "trace -c -f -o /dev/stderr --way kernel", false));
    }
    all.push(lossy(WHIT_PTRACE, "trace -c -f -o /dev/stderr --way ptrace", true));
    // By BPF programs if that is allowed, and by stopping the command at each call.
    for way in ["kernel", "ptrace"] {
        let arguments = format!("trace -f -o /dev/null -e raw=all --way {way}");
        let events = lossy(&format!("whit events, {way}"), &arguments, way == "ptrace");
        match probe(&events, &programs.path) {
            Ok(()) => all.push(events),
            Err(error) => notes.push(format!("{} is left out: {}", events.name, error.line())),
        }
    }
    let others = [
        ("bpftrace", "bpftrace one-liner", vec!["-e".into(), ONE_LINER.into(), "-c".into()]),
        ("perf", "perf trace -s", words("trace -s --")),
        ("strace", STRACE, words("-c -f")),
        ("strace", "strace -c --seccomp-bpf -f", words("-c --seccomp-bpf -f")),
    ];
    for (program, name, arguments) in others {
        let Some(path) = programs.path.find(program) else {
            notes.push(format!("{name} is left out: {program} is not installed"));
            continue;
        };
        let joined = program == "bpftrace";
        let how = if joined { How::Joined(path, arguments) } else { How::Program(path, arguments) };
        let mut found = tracer(name, how, !joined);
        found.reports_lost = program == "perf";
        match probe(&found, &programs.path) {
            Ok(()) => all.push(found),
            Err(error) => notes.push(format!("{name} is left out: {}", error.line())),
        }
    }
    all
}

/// Checks that a program can trace here.
fn probe(tracer: &Tracer, path: &SearchPath) -> Result<()> {
    let command = path.find("true").context("there is no program `true` to try it with")?;
    tracer.run(&Command::new(command)).map(|_| ())
}

impl Tracer {
    /// Runs a command under a program that starts it; returns the cost of both, and the tracer's
    /// output.
    pub(crate) fn run(&self, load: &Command) -> Result<(Measurement, String)> {
        let mut command = match &self.how {
            How::Program(program, arguments) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(load.get_program()).args(load.get_args());
                command
            }
            How::Joined(program, arguments) => {
                let words = std::iter::once(load.get_program()).chain(load.get_args());
                let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>();
                let cut = words.iter().any(|word| word.contains(char::is_whitespace));
                ensure!(!cut, "words with blanks are not supported: {}", words.join(" "));
                let mut command = Command::new(program);
                command.args(arguments).arg(words.join(" "));
                command
            }
            _ => {
                let mut command = Command::new(load.get_program());
                command.args(load.get_args());
                command
            }
        };
        let (cost, output, errors) = run_heard(&mut command, Stdio::null())?;
        Ok((cost, output + &errors))
    }
}

/// The number of lost events in a tracer's output, in any of the forms of whit and perf.
pub(crate) fn lost_in(said: &str) -> u64 {
    let Ok(pattern) = Regex::new(r"(?i)\blost:? (\d+)|(\d+) (?:events )?were lost") else {
        return 0;
    };
    let number = |found: regex::Captures<'_>| {
        let digits = found.get(1).or_else(|| found.get(2))?;
        digits.as_str().parse::<u64>().ok()
    };
    pattern.captures_iter(said).filter_map(number).sum()
}

/// Calls of a command and all its children, counted by whit.
pub(crate) fn calls(whit: &Path, load: &Command) -> Result<u64> {
    let how = How::Program(whit.to_owned(), ["trace", "-c", "-f", "--json"].map(Into::into).into());
    let counter = Tracer { name: WHIT.into(), how, slow: false, reports_lost: true };
    let (_, said) = counter.run(load)?;
    let object = said.lines().find(|line| line.starts_with('{'));
    let object: Option<serde_json::Value> = object.and_then(|line| serde_json::from_str(line).ok());
    let calls = object.and_then(|object| object["total"]["calls"].as_u64());
    calls.with_context(|| format!("whit trace said '{}'", said.trim()))
}

/// A whit that traces a sleeping process until this is dropped.
pub(crate) struct Beside {
    whit: BackgroundProgram,
    _sleeper: BackgroundProgram,
    /// Kept open, so that whit can write at its end.
    _output: BufReader<ChildStdout>,
}

impl Beside {
    /// Starts both, and waits until whit traces.
    pub(crate) fn start(whit: &Path) -> Result<Self> {
        let sleeper = BackgroundProgram::start(silent(Command::new("sleep").arg("86400")))?;
        let mut command = Command::new(whit);
        command.args(["trace", "-c", "-f", "--way", "kernel", "--csv", "-o", "-", "-p"]);
        command.arg(sleeper.id().to_string());
        let mut whit = BackgroundProgram::start(silent(&mut command).stdout(Stdio::piped()))?;
        let output = whit.child.stdout.take().context("no pipe from whit")?;
        let mut output = BufReader::new(output);
        // The heading is printed when the programs are attached.
        let mut heading = String::new();
        output.read_line(&mut heading)?;
        ensure!(!heading.is_empty(), "whit trace -p did not begin to trace");
        Ok(Beside { whit, _sleeper: sleeper, _output: output })
    }

    /// Ends whit's trace.
    pub(crate) fn stop(self) -> Result<()> {
        let status = self.whit.stop()?;
        // As strace does, it ends by the signal that ended the trace.
        let ended = std::os::unix::process::ExitStatusExt::signal(&status);
        let is_ours = ended == Some(rustix::process::Signal::TERM.as_raw());
        ensure!(is_ours || status.success(), "whit trace -p ended with {status}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read_as_each_tells_them() {
        for (said, lost) in [
            ("Counted in the kernel: 29 calls, too few; lost: 3.", 3),
            ("LOST 13 events!\nLOST 4 events!\n", 17),
            ("whit: 7 events were lost, as they came too fast\n", 7),
            (" Summary of events:\n dd (1), 80239 events, 100.0%\n", 0),
        ] {
            assert_eq!(lost_in(said), lost, "{said}");
        }
    }

    #[test]
    fn a_tracer_starts_the_load_and_is_heard() {
        let echo = |how: fn(PathBuf, Vec<OsString>) -> How| Tracer {
            name: "echo".into(),
            how: how("/bin/echo".into(), vec!["before".into()]),
            slow: false,
            reports_lost: false,
        };
        let mut load = Command::new("load");
        load.args(["one", "two"]);
        for how in [How::Program, How::Joined] {
            assert_eq!(echo(how).run(&load).unwrap().1, "before load one two\n");
        }
        load.arg("three four");
        assert!(echo(How::Joined).run(&load).is_err());
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo no such luck >&2; exit 3"]);
        let bare = Tracer { how: How::Bare, ..echo(How::Program) };
        let text = bare.run(&failing).unwrap_err().to_string();
        assert!(text.ends_with("no such luck"), "{text}");
    }
}
