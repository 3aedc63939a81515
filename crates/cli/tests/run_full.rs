//! `whit run` with outputs that cannot be written: every job runs, the status is that of the jobs,
//! and the loss is told once.

use std::path::Path;
use std::process::{Command, Output};

use crate::WHIT;
use crate::beside_parallel::{has_parallel, run};

/// Jobs that leave a file each, write to both outputs and fail by their value.
const JOBS: &str = "'touch ran.{}; echo out {}; echo err {} >&2; exit {}' ::: 0 1 2";

/// Runs a shell's command line in which the first `%` is the runner.
fn by_shell(runner: &str, line: &str, folder: &Path) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", &line.replacen('%', runner, 1)]);
    run(shell, folder, b"1\n2\n3\n4\n5\n")
}

/// The exit code, and which jobs ran.
fn done(runner: &str, line: &str) -> (Option<i32>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = by_shell(runner, line, folder.path());
    let entries = std::fs::read_dir(folder.path()).expect("entries").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut ran: Vec<String> = names.filter(|name| name.starts_with("ran.")).collect();
    ran.sort();
    (output.status.code(), ran)
}

#[test]
fn an_output_that_fails_ends_no_job_as_in_parallel() {
    if !has_parallel() {
        return;
    }
    let pipe = "--pipe -N2 -k --tag 'cat; cat /dev/null >ran.$PARALLEL_SEQ'";
    let lines = [
        format!("% {JOBS} 2>/dev/full"),
        format!("% -k {JOBS} 2</dev/null"),
        format!("% --line-buffer {JOBS} 2>/dev/full >/dev/full"),
        format!("% -k --tag {JOBS} >/dev/full"),
        format!("% -k --line-buffer {JOBS} >&- 2>&-"),
        format!("% -u {JOBS} >/dev/full"),
        format!("% -v {JOBS} >/dev/full"),
        format!("% -t --bar {JOBS} 2>/dev/full"),
        format!("% --files {JOBS} >/dev/full"),
        format!("% --joblog /dev/full {JOBS}"),
        format!("% --joblog - {JOBS} >/dev/full"),
        format!("ln -s /dev/full full.csv; % --results full.csv {JOBS}"),
        format!("% {pipe} >/dev/full"),
        format!("% --dry-run {JOBS} >/dev/full"),
    ];
    testkit::side_by_side(&lines, 2, |line| {
        let theirs = done("parallel --will-cite", line);
        assert_eq!(done(&format!("{WHIT} run"), line), theirs, "{line}");
    });
}

#[test]
fn a_loss_is_told_once_where_it_can_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let many = "::: $(seq 20)";
    for (line, told) in [
        (
            format!("% -k --tag echo {many} >/dev/full"),
            "cannot write to standard output: No space left on device (os error 28): output of \
             jobs is lost",
        ),
        (
            format!("% echo {many} 1</dev/null"),
            "cannot write to standard output: Bad file descriptor (os error 9): output of jobs is \
             lost",
        ),
        (
            format!("% --joblog /dev/full true {many}"),
            "cannot write the joblog /dev/full: No space left on device (os error 28): lines of it \
             are lost",
        ),
    ] {
        let output = by_shell(&format!("{WHIT} run"), &line, folder.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, format!("whit run: {told}\n"), "{line}");
        assert_eq!(output.status.code(), Some(0), "{line}");
    }
}
