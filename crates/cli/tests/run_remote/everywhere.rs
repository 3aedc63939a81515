//! `--onall` and `--nonall`.

use std::fs;

use crate::run_remote::world::{World, text};

#[test]
fn every_host_runs_all_jobs_as_with_parallel() {
    let world = World::new();
    fs::write(world.path("here/list"), "one\ntwo\n").unwrap();
    let lines: &[&[&str]] = &[
        &["--onall", "-S", "c,a,b", "echo {} $PARALLEL_SSHLOGIN $PARALLEL_SEQ; exit {}", "0", "3"],
        &["--onall", "--tag", "-v", "-S", "a,:", "echo {} {#} {%}", "it's", "a b"],
        &[
            "--onall",
            "-j1",
            "-S",
            "a,b",
            "echo {= $_ = total_jobs() =} $PARALLEL_JOBSLOT",
            "1",
            "2",
        ],
        &["--onall", "--retries", "2", "-S", "a,broken", "echo {}", "1", "2"],
        &["--onall", "--colsep", ",", "-S", "a,b", "echo {2} {1}", "1,2", "3,4"],
        &["--onall", "echo {} $PARALLEL_SSHLOGIN", "1"],
    ];
    let nonall = ["-k", "--joblog", "log", "--nonall", "--tag", "-S", "a,b"];
    let nonall = [&nonall[..], &["echo $PARALLEL_SEQ {#}; exit 5"]].concat();
    let mut all: Vec<Vec<&str>> = vec![nonall];
    for line in lines {
        let at = line.iter().position(|word| word.starts_with("echo")).unwrap() + 1;
        let words = [&["-k", "--joblog", "log"], &line[..at], &[":::"], &line[at..]].concat();
        all.push(words);
    }
    all.push(vec!["-k", "--joblog", "log", "--onall", "-S", "a,b", "echo {}", "::::", "list"]);
    world.compare(&all);
}

#[test]
fn a_host_is_written_when_it_is_done() {
    let world = World::new();
    let job = "[ $PARALLEL_SSHLOGIN = b ] || sleep 0.5; echo $PARALLEL_SSHLOGIN {}";
    let line = ["--onall", "-j9", "-S", "a,b", job, ":::", "1", "2"];
    assert_eq!(text(&world.whit(&line)), "b 1\nb 2\na 1\na 2\n");
    let ordered = [&["-k"], &line[..]].concat();
    assert_eq!(text(&world.whit(&ordered)), "a 1\na 2\nb 1\nb 2\n");
    let lines = [&["--line-buffer"], &line[..]].concat();
    assert_eq!(text(&world.whit(&lines)), "b 1\nb 2\na 1\na 2\n");
}

#[test]
fn what_was_done_before_a_halt_is_written() {
    let world = World::new();
    let line = ["--onall", "-k", "-j1", "--halt", "soon,fail=1", "-S", "a,b"];
    let output = world.whit(&[&line[..], &["echo {}; exit {}", ":::", "0", "3", "0"]].concat());
    assert_eq!((text(&output).as_str(), output.status.code()), ("0\n3\n", Some(3)));
}

#[test]
fn nothing_runs_in_a_dry_run() {
    let world = World::new();
    let output = world.whit(&["--onall", "--dry-run", "-k", "-S", "a,b", "echo {}", ":::", "1"]);
    assert_eq!(text(&output), "echo 1\necho 1\n");
    assert!(!world.path("hosts").exists());
}

#[test]
fn what_cannot_be_had_everywhere_is_refused() {
    let world = World::new();
    for option in ["--resume", "--resume-failed", "--retry-failed", "--results=tree", "--pipe"] {
        let output =
            world.whit(&["--onall", option, "--joblog", "l", "-S", "a", "cat", ":::", "1"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("--onall cannot be used with"), "{option}: {error}");
        assert_eq!(output.status.code(), Some(255), "{option}");
    }
}
