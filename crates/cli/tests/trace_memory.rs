//! Memory of a traced task that is not resident when a call begins, or that ends within a
//! structure: `whit trace` shows what strace shows.
//!
//! Skips, and says so, where strace or a C compiler is missing or nothing may be traced.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use regex::Regex;

/// Ends what it runs if that hangs.
const TIMEOUT: [&str; 5] = ["timeout", "--foreground", "-k", "1", "60"];

/// A command that is ended if it hangs.  What it starts has a table of 64 descriptors, whatever this
/// process inherited: `select` reads as much of its sets as the table holds.
fn program(name: &str) -> Command {
    let close = r#"for each in /proc/$$/fd/*; do each=${each##*/}
        ((each > 2 && each != 255)) && eval "exec $each>&-"; done; exec "$@""#;
    let mut command = Command::new("bash");
    command.args(["-c", close, "bash"]).args(TIMEOUT).arg(name);
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    command
}

fn trace(way: &str) -> Command {
    let mut command = program(crate::WHIT);
    command.args(["trace", "--way", way]);
    command
}

/// The ways that can be compared here.
fn ways() -> Vec<&'static str> {
    if !testkit::is_installed("strace", "strace") || !testkit::is_installed("cc", "cc") {
        return Vec::new();
    }
    let is_allowed = |way: &&str| {
        let output = trace(way).args(["-qq", "-o", "/dev/null", "true"]).output().unwrap();
        if !output.status.success() {
            let what = if *way == "kernel" { "BPF programs" } else { "ptrace" };
            testkit::skip_refused(what, &String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    };
    ["kernel", "ptrace"].into_iter().filter(is_allowed).collect()
}

/// Compiles a program of `trace_programs`.
fn compiled(source: &str, options: &[&str], folder: &Path) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace_programs");
    let program = folder.join(source.split('.').next().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-w"]).args(options).arg("-o").arg(&program).arg(home.join(source));
    assert!(compiler.status().unwrap().success(), "{source}");
    program
}

/// The lines of a command, without what differs from run to run.
fn lines(
    mut tracer: Command,
    words: &[&str],
    command: &[&str],
    file: &Path,
) -> (Vec<String>, Output) {
    let output = tracer.args(words).arg("-o").arg(file).args(command).output().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let rules = [
        (Regex::new("0x[0-9a-f]{5,}").unwrap(), "ADDRESS"),
        (Regex::new(r"^\d+ +").unwrap(), ""),
        (Regex::new(" += ").unwrap(), " = "),
        (Regex::new(r"set_tid_address.*|getrandom.*|si_(pid|utime|stime)=\d+").unwrap(), ""),
    ];
    let normal = |line: &str| {
        let replaced =
            |line: String, rule: &(Regex, &str)| rule.0.replace_all(&line, rule.1).into_owned();
        rules.iter().fold(line.to_owned(), replaced)
    };
    (text.lines().map(normal).collect(), output)
}

/// Compares the lines of a command with those of strace.
fn compare(way: &str, words: &[&str], command: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let (ours, our_output) = lines(trace(way), words, command, &file);
    let (theirs, their_output) = lines(program("strace"), words, command, &file);
    for (our_line, their_line) in ours.iter().zip(&theirs) {
        assert_eq!(our_line, their_line, "{way} {words:?} {command:?}");
    }
    assert_eq!(ours.len(), theirs.len(), "{way} {words:?} {command:?}: {ours:?}");
    assert_eq!(our_output.status.code(), their_output.status.code(), "{way} {words:?} {command:?}");
    ours
}

#[test]
fn what_execve_is_given_need_not_be_resident() {
    let folder = tempfile::tempdir().unwrap();
    for way in ways() {
        let program = |path: &str| {
            let path = format!("-DPATH=\"{path}\"");
            compiled("execve.S", &["-nostdlib", "-static", &path], folder.path())
        };
        let begin = program("/bin/true");
        let begin = begin.to_str().unwrap();
        let of_execve = ["-e", "trace=execve"];
        for more in [&[][..], &["-f"], &["-z"], &["-P", "/bin/true"]] {
            let shown = compare(way, &[&of_execve, more].concat(), &[begin]);
            let expected =
                "execve(\"/bin/true\", [\"true\", \"an argument\"], ADDRESS /* 2 vars */) = 0";
            assert!(shown.iter().any(|line| line == expected), "{way} {more:?}: {shown:?}");
        }
        // One that fails leaves the old memory.  The kernel reads the arguments only if it finds the
        // file.
        let garbage = folder.path().join("garbage");
        testkit::write_program(&garbage, "no program").unwrap();
        let failing = program(garbage.to_str().unwrap());
        for more in [&[][..], &["-Z"]] {
            let shown = compare(way, &[&of_execve, more].concat(), &[failing.to_str().unwrap()]);
            assert!(shown.iter().any(|line| line.contains("ENOEXEC")), "{way} {more:?}: {shown:?}");
        }
    }
}

#[test]
fn what_a_script_is_given_is_what_execve_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    testkit::write_program(&script, "#!/bin/sh -e\nexit 0\n").unwrap();
    let path = format!("-DPATH=\"{}\"", script.display());
    for way in ways() {
        let begin = compiled("execve.S", &["-nostdlib", "-static", &path], folder.path());
        let begin = begin.to_str().unwrap();
        if way == "ptrace" {
            compare(way, &["-e", "trace=execve"], &[begin]);
            continue;
        }
        // The interpreter has arguments of its own, and nothing keeps those before.
        let file = folder.path().join("lines");
        let (shown, _) = lines(trace(way), &["-e", "trace=execve"], &[begin], &file);
        let path = script.to_str().unwrap();
        let expected = format!("execve(\"{path}\", ADDRESS, ADDRESS /* 2 vars */) = 0");
        assert!(shown.contains(&expected), "{shown:?}");
        // From a shell the arguments are resident.
        compare(way, &["-f", "-z", "-e", "trace=execve"], &["sh", "-c", &format!("{path} x; :")]);
    }
}

#[test]
fn memory_is_shown_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::write(&data, "0123456789abcdef".repeat(1024)).unwrap();
    for way in ways() {
        let program = compiled("memory.c", &[], folder.path());
        let command = [program.to_str().unwrap(), data.to_str().unwrap()];
        let shown = compare(way, &[], &command);
        for expected in [
            "write(5, \"0123456789abcdef0123456789abcdef\"..., 40) = 40",
            "iov_base=\"two\", iov_len=3}, ... /* ADDRESS */], 3) = -1 EFAULT",
            "execve(\"/nowhere\", [\"x\", \"y\", ... /* ADDRESS */], NULL)",
            "pselect6(70, ADDRESS, NULL, NULL, {tv_sec=0, tv_nsec=0}, NULL) = 1 (left ",
            "pselect6(70, ADDRESS, NULL, NULL, {tv_sec=0, tv_nsec=0}, NULL) = -1 EFAULT",
        ] {
            assert!(
                shown.iter().any(|line| line.contains(expected)),
                "{way} {expected}: {shown:?}"
            );
        }
        // Also where only the end of a call decides whether it is shown.
        compare(way, &["-Z"], &command);
        compare(way, &["-z"], &command);
    }
}

/// A tracer that is kept from running finds what an entry lacks when it runs again, however old the
/// entry is then.
#[test]
fn an_entry_waits_for_its_exit_while_the_tracer_does_not_run() {
    if !ways().contains(&"kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (time, file) = (folder.path().join("time"), folder.path().join("lines"));
    let limit = [0_i64.to_ne_bytes(), 3_000_000_i64.to_ne_bytes()].concat();
    std::fs::write(&time, limit).unwrap();
    let late = compiled("late.c", &[], folder.path());
    let mut tracer = crate::whit();
    tracer.args(["trace", "--way", "kernel", "-qq", "-e", "trace=nanosleep", "-o"]);
    let mut tracer = testkit::Running::start(tracer.arg(&file).args([&late, &time]));
    let deadline = testkit::Deadline::default();
    let begun = || std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0);
    let mut status = None;
    while status.is_none() {
        assert!(deadline.is_ahead(), "it does not end");
        // Signals would end the loading of BPF programs.
        if !begun() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            status = tracer.try_wait().unwrap();
            continue;
        }
        for (signal, ms) in [(libc::SIGSTOP, 40), (libc::SIGCONT, 7)] {
            status = tracer.try_wait().unwrap();
            if status.is_none() {
                tracer.signal(signal);
                std::thread::sleep(std::time::Duration::from_millis(ms));
            }
        }
    }
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let expected = "nanosleep({tv_sec=0, tv_nsec=3000000}, NULL) = 0";
    let same = text.lines().filter(|line| line.starts_with(expected)).count();
    assert_eq!(same, 100, "{text}");
}
