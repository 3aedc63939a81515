//! Recordings of this machine, played: each view of a finished one, and a live one followed.
//!
//! Cost: two seconds of recording each; sampling every source ten times a second is little.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::mpsc;

use testkit::{PATIENCE, Running};

use crate::whit;

/// Intervals of the finished recording; it has a sample more, the base of the first rates.
const INTERVALS: usize = 20;

/// The one recording in a folder, if it is there already.
fn recording_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whit"))
}

fn play(recording: &Path, switches: &str) -> String {
    let output: Output =
        whit().arg("play").arg(recording).args(switches.split_whitespace()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "play {switches}: {} {complaint}", output.status);
    // What this machine has not is told, and what was read once, and nothing else.
    let is_absence = |line: &str| {
        line.contains("the recorded machine had no ") || line.contains("has one reading of ")
    };
    assert!(complaint.lines().all(is_absence), "play {switches}: {complaint}");
    String::from_utf8(output.stdout).expect("views write UTF-8")
}

#[test]
fn a_recording_of_everything_plays_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let count = format!("-c{INTERVALS}");
    let recorded = whit()
        .args(["record", "--all", "-i0.1", &count, "-f"])
        .arg(folder.path().join("x"))
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    let recording = recording_in(folder.path()).expect("a recording");
    assert_eq!(samples_of(&recording), INTERVALS + 1);

    let brief = play(&recording, "-scdmn -oT");
    assert_eq!(brief.lines().filter(|line| !line.starts_with('#')).count(), INTERVALS, "{brief}");

    // `T` is for plot format alone.
    let letters = "bcdfijmnstxyBCDEFJMNXYpgGqQrRvVaAw";
    let verbose = play(&recording, &format!("-s{letters} --verbose"));
    let records = verbose.lines().filter(|line| line.starts_with("### RECORD")).count();
    assert_eq!(records, INTERVALS, "{verbose}");

    let plot = play(&recording, &format!("-s{letters}T -P"));
    let (headings, lines): (Vec<&str>, Vec<&str>) =
        plot.lines().partition(|line| line.starts_with('#'));
    assert_eq!(lines.len(), INTERVALS);
    let columns = headings.last().unwrap().split(' ').count();
    assert!(columns > 50, "{headings:?}");
    for line in lines {
        assert_eq!(line.split(' ').count(), columns, "{line}");
    }

    let json = play(&recording, "-sc --json");
    let mut times = Vec::new();
    for line in json.lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect(line);
        times.push(object["time"].to_string());
    }
    times.dedup();
    assert_eq!(times.len(), INTERVALS, "{json}");

    let csv = play(&recording, "-sc --csv");
    let mut times: Vec<&str> =
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    times.dedup();
    assert_eq!(times.len(), INTERVALS, "{csv}");

    let metrics = play(&recording, "--openmetrics");
    assert!(metrics.ends_with("# EOF\n"));
    assert!(metrics.contains("\n# TYPE "));

    let lexpr = play(&recording, "-scdmn --export lexpr");
    let loads = lexpr.lines().filter(|line| line.starts_with("cputotals.user ")).count();
    assert_eq!(loads, INTERVALS, "{lexpr}");
}

/// Every recording of a folder, in the order of time.
fn recordings_in(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_recording = |path: &PathBuf| path.extension().is_some_and(|end| end == "whit");
    let mut paths: Vec<PathBuf> = paths.filter(is_recording).collect();
    paths.sort();
    paths
}

#[test]
fn rolled_files_play_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = whit();
    record.args(["record", "-scm", "-i0.5", "-f"]).arg(folder.path()).stdout(Stdio::null());
    let mut recorder = Running::start(&mut record);
    // Each file has two samples but the third: it is rolled at once, before its first tick.
    for (file, samples) in [(1, 2), (2, 2), (3, 0), (4, 2)] {
        testkit::wait_until("samples in a file", || {
            let files = recordings_in(folder.path());
            files.len() == file && samples_of(&files[file - 1]) >= samples
        });
        recorder.signal(if file < 4 { libc::SIGHUP } else { libc::SIGTERM });
    }
    assert!(recorder.ended().success());
    let files = recordings_in(folder.path());
    let samples: Vec<usize> = files.iter().map(|file| samples_of(file)).collect();
    println!("{samples:?} samples");
    assert_eq!(samples.len(), 4);
    let csv = play(folder.path(), "-sc --csv");
    let times: Vec<&str> =
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    // A line for each field; the interval after a roll has no fewer and no more than the others.
    let intervals: Vec<&[&str]> = times.chunk_by(|a, b| a == b).collect();
    assert_eq!(intervals.len(), samples.iter().sum::<usize>() - 1, "{samples:?}:\n{csv}");
    assert!(intervals.is_sorted_by_key(|lines| lines[0]), "{csv}");
    assert!(intervals.iter().all(|lines| lines.len() == intervals[0].len()), "{csv}");
}

/// How many samples there are; none while the file is being begun.
fn samples_of(recording: &Path) -> usize {
    let Ok(mut reader) = recording::Reader::open(recording, &[]) else { return 0 };
    let mut snapshot = sample::Snapshot::new(&reader.defs());
    std::iter::from_fn(|| match reader.next(&mut snapshot) {
        Ok(recording::ReadOutcome::Sample) => Some(()),
        _ => None,
    })
    .count()
}

#[test]
fn a_live_recording_is_followed_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = whit();
    record.args(["record", "-scm", "-i0.2", "-R", "1h", "-f"]).arg(folder.path().join("x"));
    let mut recorder = Running::start(record.stdout(Stdio::null()));
    let recording = testkit::wait_for("a recording", || {
        // Between its making and its first write a file is no recording yet.
        recording_in(folder.path()).filter(|path| recording::Reader::open(path, &[]).is_ok())
    });
    let mut play_on = whit();
    play_on.args(["play", "--follow", "-sc", "-P", "--utc"]).arg(&recording);
    let mut player = Running::start(play_on.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let (sender, receiver) = mpsc::channel();
    let out = BufReader::new(player.stdout.take().unwrap());
    let reading = std::thread::spawn(move || {
        for line in out.lines().map(Result::unwrap).filter(|line| !line.starts_with('#')) {
            let _ = sender.send(line);
        }
    });
    // Intervals come while the recorder still runs.
    let mut seen = Vec::new();
    while seen.len() < 5 {
        seen.push(receiver.recv_timeout(PATIENCE).expect("an interval of the live recording"));
        assert!(recorder.try_wait().unwrap().is_none(), "the recorder still runs");
    }
    assert!(player.try_wait().unwrap().is_none(), "the player waits for more");

    recorder.signal(libc::SIGTERM);
    assert!(recorder.ended().success());
    let status = player.ended();
    reading.join().unwrap();
    seen.extend(receiver.try_iter());
    let mut complaint = String::new();
    player.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(status.success(), "{status} {complaint}");
    // What was followed is what is there.
    let again = play(&recording, "-sc -P --utc");
    let all: Vec<&str> = again.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(seen, all);
}

/// A folder with what `record` makes of these subsystems and intervals, as one recording.
fn recorded(subsystems: &str, intervals: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut record = whit();
    record.args(["record", subsystems, "-c2", "--quiet", "-i", intervals, "-f"]).arg(folder.path());
    assert!(record.status().unwrap().success());
    let recording = recording_in(folder.path()).unwrap();
    (folder, recording)
}

/// What `play` says and how it ends.
fn played(recording: &Path, switches: &[&str]) -> Output {
    whit().arg("play").arg(recording).args(switches).output().unwrap()
}

#[test]
fn one_interval_is_that_of_processes_if_nothing_else_is_recorded() {
    let (_folder, recording) = recorded("-sZ", "0.1");
    let played = played(&recording, &["-sZ"]);
    assert!(played.status.success(), "{played:?}");
    assert!(String::from_utf8_lossy(&played.stdout).contains("PROCESS SUMMARY"), "{played:?}");
}

/// What a play of one reading says on stderr; none of its lines has a value.
fn one_reading(played: &Output, sources: &str) {
    let said = String::from_utf8_lossy(&played.stderr);
    let expected = format!("nothing to show: the recording has one reading of {sources}");
    assert!(said.contains(&expected), "{played:?}");
    assert_eq!(played.status.code(), Some(1), "{played:?}");
}

#[test]
fn one_reading_of_what_needs_two_is_said_by_every_view() {
    let views: [&[&str]; 6] = [
        &[],
        &["-P"],
        &["--verbose"],
        &["--export", "lexpr"],
        &["--export", "graphite,x:1"],
        &["--export", "proctree"],
    ];
    let (_folder, processes) = recorded("-sZ", "0.1:60");
    for view in views {
        one_reading(&played(&processes, view), "process");
    }
    let (folder, slabs) = recorded("-sY", "0.1:60");
    let plots = folder.path().join("plots").display().to_string();
    std::fs::create_dir(&plots).unwrap();
    let all: [&[&str]; 4] = [&["--csv"], &["--json"], &["--openmetrics"], &["-P", "-f", &plots]];
    for view in views.into_iter().filter(|view| !view.contains(&"proctree")).chain(all) {
        one_reading(&played(&slabs, view), "slab");
    }
}

#[test]
fn one_reading_beside_what_is_shown_is_said_without_an_error() {
    let (_folder, recording) = recorded("-scZ", "0.1:60");
    for view in ["-P", "--csv", "--json", "--verbose"] {
        let played = played(&recording, &[view]);
        let said = String::from_utf8_lossy(&played.stderr);
        assert!(said.starts_with("whit: the recording has one reading of process"), "{played:?}");
        assert!(played.status.success() && played.stdout.contains(&b'\n'), "{played:?}");
    }
}

#[test]
fn headings_need_no_reading() {
    let (_folder, recording) = recorded("-sZ", "0.1:0.1");
    let played = played(&recording, &["-P", "--showcolheaders"]);
    assert!(played.status.success() && played.stderr.is_empty(), "{played:?}");
}
