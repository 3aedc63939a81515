//! `-N` and `--align`, seen from outside: the niceness of the process, and when it samples.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use testkit::Running;

use crate::whit;

/// Seconds since the last second that two divides.
fn into_two_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() % 2.0
}

#[test]
fn a_nice_recorder_has_a_niceness_of_ten_or_more() {
    let niceness = |switches: &[&str]| -> i64 {
        let mut command = whit();
        command.args(["record", "-sc", "-i", "0.1"]).args(switches);
        let mut whit = Running::start(command.stdout(Stdio::piped()));
        // It is nice before its first line.
        let mut byte = [0];
        std::io::Read::read_exact(whit.stdout.as_mut().unwrap(), &mut byte).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", whit.id())).unwrap();
        // proc(5): the niceness is the 19th word, the 17th behind the name.
        stat.rsplit(')').next().unwrap().split_whitespace().nth(16).unwrap().parse().unwrap()
    };
    let plain = niceness(&[]);
    assert_eq!(niceness(&["-N"]), plain.max(10));
    assert_eq!(niceness(&["--nice"]), plain.max(10));
}

#[test]
fn aligned_samples_are_taken_at_whole_intervals() {
    let times = |switches: &[&str]| -> Vec<f64> {
        // Begun in the middle of an interval, samples that are not aligned are far from its ends.
        while !(0.8..1.0).contains(&into_two_seconds()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let done = whit()
            .args(["record", "-sc", "-i", "2", "-c", "3", "-P", "-oUm"])
            .args(switches)
            .output()
            .unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success() && text.lines().count() == 4, "{text}");
        let rows = text.lines().skip(1);
        rows.map(|row| row.split(' ').next().unwrap().parse::<f64>().unwrap() % 2.0).collect()
    };
    // A busy machine may make a sample late, but hardly all of them.
    let earliest = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let is_whole = |times: Vec<f64>| earliest(&times) < 0.5;
    assert!((0..5).any(|_| is_whole(times(&["--align"]))), "no sample lies on a multiple");
    // It may also begin late, and then a whole second is a multiple by chance.
    let is_odd = |times: Vec<f64>| (0.7..1.8).contains(&earliest(&times));
    assert!((0..5).any(|_| is_odd(times(&[]))), "samples lie on multiples without --align");
}
