//! `-N`, `--align` and `-i`, seen from outside: the niceness of the process, and when it samples.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recording::{ReadOutcome, Reader};
use sample::Snapshot;
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

#[test]
fn as_fast_as_possible_keeps_the_ratio_of_what_is_read_less_often() {
    // Samples, and in how many of them processes were read.
    let readings = |interval: &str| {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("{}/", folder.path().display());
        let words = ["record", "-sZ", "-c12", "--quiet", "-f", &place, interval];
        let done = whit().args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut reader = Reader::open(&file, &[]).unwrap();
        let defs = reader.defs();
        let process = defs.iter().position(|def| def.name == "process").unwrap();
        let mut snapshot = Snapshot::new(&defs);
        let (mut samples, mut fresh) = (0_usize, 0);
        while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
            samples += 1;
            fresh += usize::from(snapshot.fresh[process]);
        }
        (samples, fresh)
    };
    let (samples, fresh) = readings("-i0");
    assert!(samples > 12 && fresh == samples.div_ceil(6), "{samples} {fresh}");
    let (samples, fresh) = readings("-i0:3");
    assert_eq!(fresh, samples.div_ceil(3));
    // An interval that is not 0 is meant for the only thing that is read.
    let (samples, fresh) = readings("-i0.01");
    // At its end a recorder may note processes that have ended since, without a reading.
    assert!(samples - fresh <= 1, "{samples} {fresh}");
}
