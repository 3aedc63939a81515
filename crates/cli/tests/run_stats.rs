//! What `whit run` tells of the machine: `--stats`, `--trace`, `--watch`.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::process::{Command, Output};

fn whit(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
    command.arg("run").arg("--plain").args(arguments).env_remove("PARALLEL").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn statistics_count_what_was_run() {
    let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit {}";
    let output = whit(&["--stats=json", "-j2", work, ":::", "0", "1", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&stats["jobs"], &stats["failed"]), (&3.into(), &1.into()));
    let number = |pointer: &str| stats.pointer(pointer).unwrap().as_f64().unwrap();
    let wall_s = number("/wall_s");
    let cpu_us = number("/cpu_per_job_us/job_user") + number("/cpu_per_job_us/job_system");
    assert!(cpu_us > 500.0, "{stats}");
    assert!(number("/cpu_per_job_us/runner_user") >= 0.0);
    let [half, longest] = ["/job_time_s/p50", "/job_time_s/max"].map(number);
    assert!(half > 0.0 && half <= longest && longest < wall_s, "{stats}");
    assert!(number("/spawn_time_s/p50") > 0.0 && number("/spawn_time_s/max") < wall_s);
    assert!(number("/machine/born") >= 3.0 && number("/machine/run_queue_peak") >= 1.0);
    assert!((number("/jobs_per_s") * wall_s - 3.0).abs() < 0.01);
}

#[test]
fn what_did_not_run_has_no_times() {
    let output = whit(&["--stats", "--dry-run", "echo", ":::", "a", "b"]);
    let told = text(&output.stderr);
    assert!(told.starts_with("jobs         2 in ") && told.contains("job time     -\n"), "{told}");
    assert_eq!(text(&output.stdout), "echo a\necho b\n");
    let output = whit(&["--stats=xml", "echo", ":::", "a"]);
    assert_eq!(output.status.code(), Some(255));
}

/// The calls column of a call's line in the table.
fn calls(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find(|line| line.split_whitespace().last() == Some(name))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[test]
fn every_call_of_every_job_is_counted() {
    let output = whit(&["--trace", "-j4", "--shell", "never", "true", ":::", "1", "2", "3"]);
    let told = text(&output.stderr);
    if output.status.code() == Some(255) {
        assert!(told.contains("--trace: "), "{told}");
        eprintln!("skipped: {told}");
        return;
    }
    assert_eq!(calls(&told, "execve"), Some(3), "{told}");
    assert!(calls(&told, "total").unwrap() >= 30, "{told}");
    assert!(told.contains("\nof whit run itself: ") && told.contains("clone 3 in "), "{told}");
    let refused = whit(&["--trace", "--tty", "true", ":::", "1"]);
    assert_eq!(refused.status.code(), Some(255));
}

#[test]
fn lines_where_there_is_no_terminal() {
    let output = whit(&["--watch", "-j2", "sleep {}; echo {}", ":::", "1.2", "0"]);
    let told = text(&output.stderr);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() >= 2 && !told.contains('\x1b'), "{told}");
    assert!(lines[0].starts_with("1s: jobs ") && lines[0].contains("1 running, 1 done"), "{told}");
    assert!(lines.last().unwrap().contains(" 0 running, 2 done, 0 failed;"), "{told}");
    assert_eq!(text(&output.stdout), "0\n1.2\n");
}
