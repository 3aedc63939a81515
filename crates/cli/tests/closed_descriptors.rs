//! Every verb with each of its standard descriptors closed, full, or with a reader that has left:
//! no panic, no signal, an exit code of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::fs::File;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::whit;

/// A machine with few files: to examine this one would take seconds for each fault.
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/proc/guest-5.10");

/// What is wrong with a descriptor.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Closed,
    /// Every write fails with `ENOSPC`.
    Full,
    /// A pipe without a reader: every write fails with `EPIPE`.
    ReaderLeft,
}

/// Runs `command` with a fault at `descriptor`.  What it wrote to standard error, if it could.
fn run_with(mut command: Command, descriptor: i32, fault: Fault) -> (Option<i32>, i32, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let faulty = || -> Stdio {
        match fault {
            Fault::Closed => Stdio::null(),
            Fault::Full => File::options().write(true).open("/dev/full").unwrap().into(),
            Fault::ReaderLeft => std::io::pipe().unwrap().1.into(),
        }
    };
    match descriptor {
        0 => command.stdin(faulty()),
        1 => command.stdout(faulty()),
        _ => command.stderr(faulty()),
    };
    if matches!(fault, Fault::Closed) {
        // SAFETY: close(2) may be called between fork and exec; the descriptor is the child's own.
        unsafe {
            command.pre_exec(move || {
                libc::close(descriptor);
                Ok(())
            });
        }
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.status.signal().unwrap_or(0), text)
}

/// Every fault of every descriptor.
const ALL: &[(i32, Fault)] = &[
    (0, Fault::Closed),
    (0, Fault::Full),
    (0, Fault::ReaderLeft),
    (1, Fault::Closed),
    (1, Fault::Full),
    (1, Fault::ReaderLeft),
    (2, Fault::Closed),
    (2, Fault::Full),
    (2, Fault::ReaderLeft),
];

/// Runs each command line with each fault of each descriptor; `{}` is a new folder for each line.
fn none_panics(lines: &[&str]) {
    run_all(&lines.iter().map(|line| (*line, ALL.to_vec())).collect::<Vec<_>>());
}

/// Runs each command line with its faults.
fn run_all(lines: &[(&str, Vec<(i32, Fault)>)]) {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording.whit");
    let made =
        whit().args(["record", "-scm", "-i0.01", "-c5", "--quiet", "-f"]).arg(&recording).status();
    assert!(made.unwrap().success());
    let recording = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    // Many of them wait for a tick: four at once.
    testkit::side_by_side(lines, 4, |(line, faults)| {
        let folder = tempfile::tempdir().unwrap();
        for (descriptor, fault) in faults {
            check(line, *descriptor, *fault, folder.path(), &recording);
        }
    });
}

fn check(line: &str, descriptor: i32, fault: Fault, folder: &Path, recording: &Path) {
    let mut command = whit();
    command.env("TERM", "xterm");
    for word in line.split(' ') {
        let word = word.replace("{}", folder.to_str().unwrap());
        let word = word.replace("FILE", recording.to_str().unwrap());
        command.arg(word.replace("TREE", TREE));
    }
    let (code, signal, text) = run_with(command, descriptor, fault);
    let case = format!("whit {line}, descriptor {descriptor} {fault:?}: {code:?} {signal} {text}");
    // `whit run` ends as a program that SIGPIPE kills.
    assert!(signal == 0 || signal == libc::SIGPIPE && line.starts_with("run"), "{case}");
    assert_ne!(code, Some(101), "{case}");
    assert!(!text.contains("panicked"), "{case}");
}

#[test]
fn recording_playing_and_top() {
    none_panics(&[
        "record -scm -i0.01 -c2",
        "record -sc -i0.01 -c2 -f {}/a/ -m",
        "record -scx -i0.01 -c2",
        "record -i -1",
        "record --showtopopts",
        "record -sc -i0.01 -c2 --export lexpr,h",
        "play FILE",
        "play FILE --json",
        "play FILE -P",
        "play FILE --diff 00:00-23:59 00:00-23:59",
        "play {}/nothing",
        "play FILE --showheader",
        "play FILE --extract {}/b/",
        "play --showtopopts",
        "top -n1 -d0.1",
        "top FILE",
    ]);
}

#[test]
fn doctor_generate_bench_link_and_help() {
    none_panics(&[
        "doctor -n1 --root TREE",
        "doctor -n1 --root TREE --json",
        "doctor --root /nonexistent",
        "generate reference --to {}/g",
        "generate man --to {}/g",
        "bench record --rounds 0",
        "link {}/links",
        "--help",
        "--version",
        "play --help",
        "nonsense",
    ]);
}

/// The kernel takes a quarter of a second to load what a trace runs there.  So a short run tries each
/// line with three of the nine faults: each descriptor with another fault, and another choice for the
/// next line, so that three lines together have all.
#[test]
fn tracing() {
    let lines = [
        "trace true",
        "trace -c true",
        "trace -c --way ptrace true",
        "trace -C -o {}/lines true",
        "trace --json true",
        "trace -ff -o {}/task true",
        "trace -P /nonexistent/../x true",
        "trace /nonexistent",
        "trace --nonsense",
    ];
    let faults = |number: usize| {
        let is_tried = |at: &usize| testkit::is_long() || (at / 3 + at + number).is_multiple_of(3);
        (0..ALL.len()).filter(is_tried).map(|at| ALL[at]).collect()
    };
    let numbered = lines.iter().enumerate();
    run_all(&numbered.map(|(number, line)| (*line, faults(number))).collect::<Vec<_>>());
}

#[test]
fn running_jobs() {
    none_panics(&[
        "run echo ::: 1",
        "run -t false ::: 1",
        "run -u echo ::: 1",
        "run --bar echo ::: 1",
        "run --stats echo ::: 1",
        "run --trace true ::: 1",
        "run --pipe cat",
        "run --fg true",
        "run --retries 2 --timeout 5 false ::: 1",
        "run --nonsense",
    ]);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for line in ["--help", "--version", "record --showtopopts", "doctor -n1", "link {}/links"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = whit();
        command.args(line.replace("{}", folder.path().to_str().unwrap()).split(' '));
        let (code, _, text) = run_with(command, 1, Fault::Full);
        assert_eq!(code, Some(2), "{line}: {text}");
        assert!(text.contains("No space left on device"), "{line}: {text}");
    }
}
