//! `whit run --record`: what was run stands in a recording that `whit play` shows.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use testkit::Running;

use crate::{WHIT, whit};

/// Runs jobs with a recording in `folder`.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    whit().args(["run", "--plain", "--record"]).arg(folder).args(arguments).output().unwrap()
}

fn recordings_in(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "whit")).collect()
}

fn play(folder: &Path, switches: &str) -> String {
    let recordings = recordings_in(folder);
    assert_eq!(recordings.len(), 1, "{recordings:?}");
    let mut command = whit();
    command.arg("play").arg(&recordings[0]).args(switches.split_whitespace());
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "play {switches}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// The changes of a field of the jobs, one for each interval.
fn changes(folder: &Path, field: &str) -> Vec<f64> {
    let lines = play(folder, "-s o --json -on");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter().filter_map(|line| line["sources"]["job"][field].as_f64()).collect()
}

fn sum(folder: &Path, field: &str) -> f64 {
    changes(folder, field).iter().sum()
}

#[test]
fn what_was_run_adds_up_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let work = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; exit {}";
    let values = [&["0"; 27][..], &["3"; 3]].concat();
    let output = run(folder.path(), &[&["-j4", work, ":::"], &values[..]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nobody is told of what went well");
    for (field, expected) in [("started", 30.0), ("ended", 30.0), ("failed", 3.0), ("again", 0.0)] {
        assert!((sum(folder.path(), field) - expected).abs() < 1e-6, "{field}");
    }
    // A kernel that counts CPU time by ticks may find all of them in user or all in system time.
    for fields in
        [&["wall"][..], &["spawn"], &["user", "system"], &["runner_user", "runner_system"]]
    {
        let all: f64 = fields.iter().map(|field| sum(folder.path(), field)).sum();
        assert!(all > 0.0, "{fields:?}");
    }
    let shown = play(folder.path(), "");
    assert!(
        shown.contains("<-----Jobs------>") && shown.contains("<--------CPU-------->"),
        "{shown}"
    );
    assert!(play(folder.path(), "-s o --verbose").contains("# JOB SUMMARY (/sec)"));
    assert!(play(folder.path(), "-s o -P").contains("[JOB]Ended"));
    assert!(play(folder.path(), "-s o --csv").contains(",job,,ended,"));
    assert!(play(folder.path(), "-s C").contains("SINGLE CPU STATISTICS"));
    assert!(play(folder.path(), "-s w").contains("KBWrit"));
}

#[test]
fn a_sample_each_second_and_tries_that_did_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        run(&folder.path().join("p"), &["--retries", "2", "sleep {}; false", ":::", "0.6", "0.7"]);
    assert_eq!(output.status.code(), Some(2));
    let name = recordings_in(folder.path())[0].file_name().unwrap().to_owned();
    assert!(name.to_str().unwrap().starts_with("p-"), "{name:?}");
    assert_eq!((sum(folder.path(), "started"), sum(folder.path(), "again")), (4.0, 2.0));
    assert_eq!((sum(folder.path(), "ended"), sum(folder.path(), "failed")), (2.0, 2.0));
    assert!(changes(folder.path(), "ended").len() >= 2);
}

/// Starts jobs with a recording in `folder`.
fn start(folder: &Path, arguments: &[&str]) -> Running {
    let mut command = whit();
    command.args(["run", "--plain", "--record"]).arg(folder).args(arguments);
    Running::start(command.stdout(Stdio::null()))
}

/// How long the recording in `folder` is; 0 as long as there is none.
fn bytes_in(folder: &Path) -> u64 {
    recordings_in(folder).first().map_or(0, |path| path.metadata().unwrap().len())
}

/// Waits until the recording is longer than `bytes`; how long it is.
fn longer_than(folder: &Path, bytes: u64) -> u64 {
    testkit::wait_until("a sample", || bytes_in(folder) > bytes);
    // What is being written may take more than one call.
    std::thread::sleep(Duration::from_millis(200));
    bytes_in(folder)
}

#[test]
fn what_a_killed_runner_recorded_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<String> = (0..1000).map(|seq| seq.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    // Jobs end by themselves soon after their runner.
    let running = start(folder.path(), &[&["-j2", "sleep 0.05 #", ":::"], &values[..]].concat());
    let first = longer_than(folder.path(), 0);
    longer_than(folder.path(), first);
    running.kill();
    assert!(sum(folder.path(), "ended") > 0.0);
}

#[test]
fn a_recording_that_cannot_be_written_stops_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path(), &["sleep", ":::", "1"]);
    let first = longer_than(folder.path(), 0);
    drop(running);
    let folder = tempfile::tempdir().unwrap();
    // Room for the first sample and not for a second one: no file may become longer than that.
    let limit = format!("--fsize={}", first + 64);
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", "prlimit", &limit, WHIT])
        .args(["run", "--plain", "--record"])
        .arg(folder.path())
        .args(["-k", "-j2", "sleep 1.2; echo {}", ":::", "a", "b", "c", "d"])
        .env_remove("PARALLEL")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\nb\nc\nd\n", "{told}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("samples are lost").count(), 1, "{told}");
    assert!(play(folder.path(), "--showheader").contains("whit"), "what there is can be read");
}

#[test]
fn runs_at_the_same_time_have_a_recording_each() {
    let folder = tempfile::tempdir().unwrap();
    let running: Vec<Running> =
        (0..3).map(|_| start(folder.path(), &["sleep", ":::", "0.5"])).collect();
    for mut run in running {
        assert!(run.ended().success());
    }
    assert_eq!(recordings_in(folder.path()).len(), 3);
}

#[test]
fn a_run_that_is_interrupted_ends_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(folder.path(), &["-j2", "sleep", ":::", "600", "600"]);
    let open = longer_than(folder.path(), 0);
    running.signal(libc::SIGINT);
    assert!(!running.ended().success());
    assert!(bytes_in(folder.path()) < open, "a recording that was ended holds no room for more");
    assert!((sum(folder.path(), "started") - 2.0).abs() < 1e-6);
    assert!((sum(folder.path(), "again") - 2.0).abs() < 1e-6, "dropped, and not ended");
}

#[test]
fn without_a_recording_nothing_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder");
    let output = run(&missing, &["touch", ":::", folder.path().join("ran").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(255));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--record ") && told.contains("cannot make the directory"), "{told}");
    assert!(!folder.path().join("ran").exists());
}
