//! What `whit run` tells of the machine: `--stats`, `--trace`, `--watch`.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::process::Output;

fn whit(arguments: &[&str]) -> Output {
    crate::whit().arg("run").arg("--plain").args(arguments).output().unwrap()
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
        testkit::skip_refused("counting in the kernel", &told);
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

/// The object of the one job that `command` is run as.
fn account_of(command: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let shell = ["--shell", "/bin/sh", "--joblog-json", log.to_str().unwrap()];
    let output = whit(&[&shell[..], &[command, ":::", "1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&std::fs::read(&log).unwrap()).unwrap()
}

#[test]
fn the_shells_time_is_told_from_the_commands() {
    let times =
        |account: &serde_json::Value| ["shell_us", "command_us"].map(|name| account[name].as_u64());
    let loops = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let account = account_of(&format!("{loops}; /bin/true {{}}; :"));
    let [Some(shell), Some(command)] = times(&account) else {
        let why = source::Trial::new().ring.expect_err("exit events can be had");
        return testkit::skip_refused("exit events", &why);
    };
    assert!(shell > 10_000 && shell > 5 * command, "the shell worked: {account}");
    let all = account["user_us"].as_u64().unwrap() + account["system_us"].as_u64().unwrap();
    assert!(all.abs_diff(shell + command) <= 2, "{account}");
    let burn = "BEGIN { for (i = 0; i < 3000000; i++) x += i }";
    let account = account_of(&format!("awk '{burn}' {{}}; :"));
    let [Some(shell), Some(command)] = times(&account) else { panic!("{account}") };
    assert!(command > 10_000 && command > 5 * shell, "awk worked: {account}");
    // A shell that becomes its last command has no time of its own left.
    let account = account_of(&format!("exec awk '{burn}' {{}}"));
    assert_eq!(account["shell_us"], 0, "{account}");
    assert_eq!(account["shell_became_command"], true, "{account}");
    assert!(account["command_us"].as_u64().unwrap() > 10_000, "{account}");
}

#[test]
fn without_a_shell_all_is_the_commands() {
    let output = whit(&["--stats=json", "--shell", "never", "true", ":::", "1", "2"]);
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let number = |name: &str| stats["cpu_per_job_us"][name].as_f64().unwrap();
    assert!(number("shell").abs() < 1e-9, "{stats}");
    let all = number("job_user") + number("job_system");
    assert!((number("command") - all).abs() < 1e-6, "{stats}");
}

/// `true` holds less memory than whit itself; 64 MiB are the job's own, and told as such.
#[test]
fn memory_that_may_be_ours_is_not_told_as_a_jobs() {
    let account = account_of("/bin/true {}");
    assert!(account.get("resident_kib").is_none(), "{account}");
    assert!(account.get("minor_faults").is_some(), "{account}");
    let account = account_of("dd if=/dev/zero of=/dev/null bs=64M count={}");
    let resident_kib = account["resident_kib"].as_u64().unwrap();
    assert!((60 << 10..300 << 10).contains(&resident_kib), "{account}");
}
