//! `whit trace -c` beside strace: the same calls, as often, and the same exit codes.
//!
//! Skips, and says so, where programs may not be loaded into the kernel or strace is missing.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

fn whit(arguments: &[&str]) -> Output {
    crate::whit().args(arguments).output().unwrap()
}

/// Whether calls can be counted in the kernel here.
fn can_count() -> bool {
    // Without a way whit falls back to ptrace.
    let out = whit(&["trace", "-cq", "--way", "kernel", "true"]);
    if !out.status.success() {
        testkit::skip_refused("BPF programs", &String::from_utf8_lossy(&out.stderr));
    }
    out.status.success()
}

fn has_strace() -> bool {
    testkit::is_installed("strace", "strace")
}

/// Calls and errors by name, from a table with these columns alone.
fn counts(output: &Output) -> BTreeMap<String, (u64, u64)> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    rows.take_while(|line| !line.starts_with("---"))
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap().to_owned();
            let mut number = || words.next().map_or(0, |word| word.parse().unwrap());
            (name, (number(), number()))
        })
        .collect()
}

#[test]
fn the_same_calls_are_counted_as_by_strace() {
    if !can_count() || !has_strace() {
        return;
    }
    let commands: [&[&str]; 6] = [
        &["true"],
        &["ls", "/nowhere", "/"],
        &["cat", "/etc/passwd", "/proc/self/stat"],
        &["sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; exit 3"],
        &["perl", "-e", "for (1..50) { if (!fork) { exit 0 } wait }"],
        // Children that outlive the command are counted to their end.
        &["sh", "-c", "(sleep 0.5; /bin/true) & exit 3"],
    ];
    for command in commands {
        let folder = tempfile::tempdir().unwrap();
        let run = |program: &str, verb: &[&str]| {
            let table = folder.path().join("table");
            let mut program = Command::new(program);
            program.args(verb).args(["-cf", "-U", "name,calls,errors", "-S", "name", "-o"]);
            let output = program.arg(&table).args(command).stdin(Stdio::null()).output().unwrap();
            Output { stdout: std::fs::read(&table).unwrap(), ..output }
        };
        let ours = run(crate::WHIT, &["trace", "-q"]);
        let theirs = run("strace", &[]);
        let (mut our_counts, mut their_counts) = (counts(&ours), counts(&theirs));
        // Whether a child's end interrupts its parent or finds it waiting is chance.
        for chance in ["rt_sigreturn", "wait4"] {
            our_counts.remove(chance);
            their_counts.remove(chance);
        }
        assert_eq!(our_counts, their_counts, "{command:?}");
        assert!(our_counts.len() > 10, "{our_counts:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{command:?}");
    }
}

#[test]
fn no_call_of_ten_thousand_short_processes_is_lost() {
    if !can_count() {
        return;
    }
    let script = "for (1..10000) { my $p = fork; if (!$p) { getppid; exit 0 } waitpid $p, 0 }";
    let out = whit(&["trace", "-cf", "--json", "perl", "-e", script]);
    let text = String::from_utf8(out.stderr).unwrap();
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |name: &str| -> u64 {
        let calls = object["calls"].as_array().unwrap();
        let found = calls.iter().find(|call| call["syscall"] == name);
        found.map_or(0, |call| call["calls"].as_u64().unwrap())
    };
    // Perl keeps the number of its parent only until it forks.
    assert_eq!(of("getppid"), 10_000, "{text}");
    assert_eq!(of("clone") + of("fork") + of("vfork") + of("clone3"), 10_000);
    assert_eq!(object["lost"], 0);
    // All children and the parent ended within this one.
    assert_eq!(object["unfinished"]["exit_group"], 10_001);
    assert!(object["cost"]["call_ns"].as_f64().unwrap() > 10.0, "{text}");
}

#[test]
fn it_ends_as_the_command_does_and_says_what_is_wrong() {
    if !can_count() {
        return;
    }
    let status = |words: &[&str]| whit(&[&["trace", "-cq"], words].concat()).status;
    assert_eq!(status(&["sh", "-c", "exit 7"]).code(), Some(7));
    assert_eq!(status(&["sh", "-c", "kill -9 $$"]).signal(), Some(9));
    let refused = |words: &[&str], expected: &str| {
        let out = whit(&[&["trace", "-c"], words].concat());
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.lines().count() == 1, "{text}");
    };
    refused(&["no such command"], "no such command");
    refused(&["/etc/passwd"], "ermission denied");
    refused(&["-p", "4000000"], "4000000");
    refused(&["-o", "/nowhere/x", "true"], "/nowhere/x");
    refused(&[], "nothing to trace");
    refused(&["-S", "nosuch", "true"], "nosuch");
    refused(&["-U", "nosuch", "true"], "time-percent");
}

#[test]
fn what_is_shown_below_the_table_fits_80_columns() {
    if !can_count() {
        return;
    }
    let script = "cat /nowhere; ls /; stat /etc; exit 0";
    let words = ["trace", "-cf", "--by", "process", "--histogram", "sh", "-c", script];
    let output = whit(&words);
    let text = String::from_utf8(output.stderr).unwrap();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
    let heading = text.lines().find(|line| line.starts_with("% time")).unwrap();
    assert!(heading.ends_with("    max syscall"), "{heading}");
    assert!(text.contains("execve") && text.contains("most of it"), "{text}");
}

#[test]
fn a_running_process_and_the_whole_machine_are_counted() {
    if !can_count() {
        return;
    }
    let mut perl = Command::new("perl");
    let spinner = testkit::Running::start(perl.args(["-e", "chdir '/' while 1"]));
    let pid = spinner.id().to_string();
    let number: u64 = spinner.id().into();
    for switches in [vec!["-p", &pid], vec!["-a", "--by", "process"]] {
        let out = whit(&[&["trace", "-c", "--json", "--for", "0.5"], &switches[..]].concat());
        let text = String::from_utf8(out.stderr).unwrap();
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        let calls = object["calls"].as_array().unwrap();
        let chdir = calls.iter().find(|call| call["syscall"] == "chdir").unwrap();
        assert!(chdir["calls"].as_u64().unwrap() > 1_000, "{chdir}");
        if let Some(units) = object["units"].as_array() {
            assert!(units.iter().any(|unit| unit["process"] == number), "{text}");
        }
    }
}

#[test]
fn every_way_counts_the_same() {
    if !can_count() {
        return;
    }
    let words = ["ls", "/nowhere", "/"];
    for selection in [&["-e", "trace=%file,close"][..], &["-Z"], &["-z", "-e", "!/^rt_"]] {
        let by = |way: &str| {
            let switches = ["trace", "-cqf", "-U", "name,calls,errors", "-o", "-", "--way", way];
            let out = whit(
                &[&switches, selection, &["sh", "-c", "exec \"$@\" >&2", "sh"], &words].concat(),
            );
            assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
            counts(&out)
        };
        let in_kernel = by("kernel");
        assert!(in_kernel.len() > 1, "{selection:?}: {in_kernel:?}");
        assert_eq!(in_kernel, by("seccomp"), "{selection:?}");
        assert_eq!(in_kernel, by("ptrace"), "{selection:?}");
    }
}

#[test]
fn who_may_not_load_programs_counts_by_ptrace_and_is_told_so() {
    if !rustix::process::geteuid().is_root() {
        testkit::skip("root", "only root can give up rights");
        return;
    }
    // Nobody may look into the folder that the test was built in, so it gets a copy, made by a
    // process of its own, as nothing else may have it open when it is run.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("whit");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    assert!(Command::new("cp").arg(crate::WHIT).arg(&copy).status().unwrap().success());
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
    let run = |words: &[&str]| {
        let mut whit = Command::new("setpriv");
        whit.args(nobody).arg(&copy).args(["trace", "-c"]).args(words);
        let out = whit.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        // Sentences are broken into lines.
        (out.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, text) = run(&["sh", "-c", "exit 5"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("CAP_BPF") && text.contains("execve"), "{text}");
    assert!(text.contains("Counted by ptrace") && text.contains("This way"), "{text}");
    let (code, text) = run(&["-p", "1"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("process 1") && text.contains("CAP_BPF"), "{text}");
    let (code, text) = run(&["-a"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("whole machine"), "{text}");
}
