//! `whit run` and the installed `parallel` with the same words and the same input.
#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub(crate) use testkit::has_parallel;

/// A command with what both get: a folder, pipes, and none of the user's settings.
fn prepared(mut command: Command, folder: &Path) -> Command {
    command
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("HOME", folder)
        .env("PARALLEL_SHELL", "/bin/sh")
        .env_remove("PARALLEL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn whit(words: &[&str]) -> Command {
    let mut command = crate::whit();
    command.arg("run").args(words);
    command
}

/// Starts a command, gives it all of `input`, and waits for its end.
pub(crate) fn run(command: Command, folder: &Path, input: &[u8]) -> Output {
    testkit::run_on(&mut prepared(command, folder), input)
}

/// Starts whit with a little input, and does not wait.
pub(crate) fn start(words: &[&str], folder: &Path, input: &[u8]) -> Child {
    let mut child = prepared(whit(words), folder).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child
}

/// What whit does.
pub(crate) fn ours(words: &[&str], folder: &Path, input: &[u8]) -> Output {
    run(whit(words), folder, input)
}

/// What parallel does.
pub(crate) fn theirs(words: &[&str], folder: &Path, input: &[u8]) -> Output {
    // It leaves processes behind now and then, which would keep its output open for ever.
    let mut command = Command::new("timeout");
    command.args(["300", "parallel", "--will-cite"]).args(words);
    run(command, folder, input)
}

/// The numbers from 1, a line each.
pub(crate) fn lines(count: u32) -> Vec<u8> {
    (1..=count).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// Both write the same and end with the same code.
#[track_caller]
pub(crate) fn same(words: &[&str], folder: &Path, input: &[u8]) {
    let (ours, theirs) = (ours(words, folder, input), theirs(words, folder, input));
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text(&ours), text(&theirs), "{words:?}");
    assert_eq!(ours.status.code(), theirs.status.code(), "{words:?}");
}

/// The joblogs that both write to the file `log` say the same of jobs, bytes sent, bytes received,
/// exit codes and command lines.
#[track_caller]
pub(crate) fn same_joblog(words: &[&str], folder: &Path, input: &[u8]) {
    let columns = || {
        let text = fs::read_to_string(folder.join("log")).unwrap();
        let wanted = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            [0, 4, 5, 6, 8].map(|at| columns[at].to_owned())
        };
        let mut lines: Vec<_> = text.lines().map(wanted).collect();
        lines.sort();
        lines
    };
    ours(words, folder, input);
    let of_ours = columns();
    theirs(words, folder, input);
    assert_eq!(of_ours, columns(), "{words:?}");
}
