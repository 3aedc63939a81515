//! `whit run` with few descriptors: fewer jobs at once, and the reason once; jobs have the limit
//! that was there before.

use std::process::{Command, Output};

use crate::WHIT;
use crate::beside_parallel::run;

/// Runs a shell's script in which `%` is `whit run`.
fn by_shell(script: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script.replace('%', &format!("{WHIT} run"))]);
    run(shell, folder.path(), b"")
}

/// Standard output by lines, sorted, and standard error.
fn said(output: &Output) -> (Vec<String>, String) {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    (lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn few_descriptors_are_fewer_jobs_at_once() {
    let mut all: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    all.sort();
    for (limit, jobs) in [(24, 50), (64, 50)] {
        for (options, command) in [
            ("", "echo"),
            ("-k", "echo"),
            ("--line-buffer", "echo"),
            ("-k --line-buffer", "echo"),
            ("--results r5", "echo; cat r5/1/*/stdout"),
            ("--pipe -N1", "cat"),
            ("--pipe -N1 -k --line-buffer", "cat"),
            ("--pipe -N1 --cat", "cat"),
        ] {
            let script = format!("ulimit -n {limit}; seq 100 | % -j{jobs} {options} {command}");
            let output = by_shell(&script);
            let (lines, errors) = said(&output);
            assert_eq!(output.status.code(), Some(0), "{script}: {errors}");
            assert_eq!(lines, all, "{script}");
            assert_eq!(errors.lines().count(), 1, "{script}: {errors}");
            assert!(errors.contains(&format!("of {jobs} jobs at once: fewer run")), "{errors}");
        }
    }
    // As many as there is room for, and nothing waits for a descriptor.
    let output = by_shell("ulimit -n 64; seq 4 | % -j50 echo");
    assert_eq!(said(&output), (vec!["1".into(), "2".into(), "3".into(), "4".into()], "".into()));
    let output = by_shell("ulimit -n 64; seq 100 | % -u -j50 true");
    assert_eq!(said(&output), (Vec::new(), "".into()));
}

#[test]
fn large_outputs_that_wait_are_held_with_few_descriptors() {
    let script = "ulimit -n 40; seq 60 | % -j4 -k \
                  'test {} = 1 && sleep 1; head -c 100000 /dev/zero; echo' | wc -c";
    assert_eq!(said(&by_shell(script)), (vec!["6000060".into()], "".into()));
}

#[test]
fn the_soft_limit_is_raised_for_us_and_not_for_the_jobs() {
    // The hard limit must allow it.
    let output = by_shell("ulimit -Hn");
    let (hard, _) = said(&output);
    if hard[0].parse().is_ok_and(|hard: u64| hard < 400) {
        testkit::skip("a hard limit of descriptors", &hard[0]);
        return;
    }
    for options in ["-j100", "-j100 -k --line-buffer", "-j100 --pipe -N1"] {
        let output = by_shell(&format!("ulimit -Sn 64; seq 300 | % {options} 'ulimit -Sn #'"));
        let (lines, errors) = said(&output);
        assert_eq!(errors, "", "{options}");
        assert_eq!(lines, vec!["64"; 300], "{options}");
    }
}

#[test]
fn one_input_for_too_many_jobs_says_what_is_missing() {
    for jobs in ["", "-j0"] {
        let output =
            by_shell(&format!("ulimit -n 64; seq 9 | % {jobs} --pipe --tee wc ::: $(seq 90)"));
        let (lines, errors) = said(&output);
        assert!(lines.is_empty() && errors.contains("need a higher ulimit -n"), "{errors}");
    }
}
