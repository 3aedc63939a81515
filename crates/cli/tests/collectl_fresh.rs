//! `whit play` beside `collectl -p` on what the installed collectl records of this very machine,
//! now: the kept recordings cannot know the kernels and devices to come.
//!
//! Records five intervals with some traffic on a disk and the loopback interface, then compares
//! every subsystem in brief, verbose and plot format; a short run compares a tenth of them.  Under
//! `--exact` all must be equal but what `collectl_differences.txt` lists as different even so;
//! without it, but what is listed at all. Both programs read the same file, so it does not matter
//! how busy the machine is.
//!
//! Cost: the recording takes some seven seconds, the comparison a minute of a slow machine.
//! Without collectl the test says so and passes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is the purpose")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::WHIT;
use crate::beside_collectl::{
    BRIEF, PLOT, VERBOSE, Wanted, all_wanted, first_difference, has_collectl,
};

/// What is asked for, and what is if collectl refuses that: slabs need root, sensors a program,
/// InfiniBand an adapter.
const SUBSYSTEMS: &[&str] =
    &["bBcCdDEfFijJmMnNstTxXyY", "bBcCdDfFijJmMnNstTyY", "bBcCdDfFijJmMnNstT"];

/// Intervals that a recording must have to be worth comparing.
const INTERVALS_MIN: usize = 4;

#[test]
fn play_prints_what_collectl_prints_of_this_machine() {
    if !has_collectl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    let cases = cases(&letters_of(&recording));
    assert!(cases.len() >= testkit::share(30), "nearly nothing was recorded: {cases:?}");
    let wrong = testkit::side_by_side(&cases, 2, |case| {
        let difference = compare(&recording, case).err();
        if let Some(difference) = &difference {
            println!("{case}: {difference}");
        }
        usize::from(difference.is_some())
    });
    let wrong: usize = wrong.into_iter().sum();
    println!("{} of {} cases are as they should be", cases.len() - wrong, cases.len());
    if wrong > 0 {
        println!("the recording is kept: {}", folder.keep().display());
    }
    assert_eq!(wrong, 0, "see the table above");
}

#[test]
fn headings_without_a_recording_are_collectls() {
    if !has_collectl() {
        return;
    }
    let shown = |program: &str, verb: &[&str], switches: &str| {
        let words = switches.split(' ').chain(["--showcolheaders"]);
        let mut command = Command::new(program);
        command.args(verb).args(words).env("TZ", "UTC").stdin(Stdio::null());
        let done = command.output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        // collectl's begin with an empty line, where a screen has the numbers before.
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    for switches in
        ["-scdn", "-scdnm -oT", "-sc --verbose", "-sD", "-sN -od", "-scdn -P", "-sCm -P --utc"]
    {
        let theirs = shown("collectl", &[], switches);
        assert!(!theirs.is_empty(), "{switches}");
        assert_eq!(shown(WHIT, &["record"], switches), theirs, "{switches}");
    }
}

/// Records this machine while something happens on it.
fn record(folder: &Path) -> Result<PathBuf, String> {
    let mut complaint = String::new();
    for (attempt, subsystems) in SUBSYSTEMS.iter().enumerate() {
        let prefix = folder.join(format!("fresh{attempt}"));
        let output = with_load(folder, || {
            Command::new("collectl")
                .arg(format!("-s{subsystems}"))
                .args(["-i1:1:1", "-c5", "-f"])
                .arg(&prefix)
                .env("TZ", "UTC")
                .stdin(Stdio::null())
                .output()
                .expect("collectl starts")
        });
        let recordings: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.display().to_string().starts_with(&prefix.display().to_string()))
            .collect();
        if let [recording] = recordings.as_slice()
            && intervals(recording) >= INTERVALS_MIN
        {
            return Ok(recording.clone());
        }
        complaint = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    }
    Err(complaint)
}

/// Does `work` while bytes go to the disk and through the loopback interface.
fn with_load(folder: &Path, work: impl FnOnce() -> Output) -> Output {
    let done = AtomicBool::new(false);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        });
        scope.spawn(|| {
            let mut stream = TcpStream::connect(address).unwrap();
            let path = folder.join("load");
            while !done.load(Ordering::Relaxed) {
                stream.write_all(&[7; 64 * 1024]).unwrap();
                let mut file = std::fs::File::create(&path).unwrap();
                file.write_all(&[7; 256 * 1024]).unwrap();
                file.sync_all().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        let output = work();
        done.store(true, Ordering::Relaxed);
        output
    })
}

/// The recording's text, as far as it goes.
fn text(recording: &Path) -> String {
    let file = std::fs::File::open(recording).unwrap();
    let mut bytes = Vec::new();
    if recording.extension().is_some_and(|extension| extension == "gz") {
        let _ = flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes);
    } else {
        bytes = std::fs::read(recording).unwrap();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Intervals between the markers of a recording.
fn intervals(recording: &Path) -> usize {
    text(recording).lines().filter(|line| line.starts_with(">>>")).count().saturating_sub(1)
}

/// The letters that the header says are recorded.
fn letters_of(recording: &Path) -> String {
    let text = text(recording);
    let rest = text.split_once("SubSys:").map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().unwrap_or_default().to_owned()
}

fn cases(recorded: &str) -> Vec<String> {
    let here = |letter: &&&str| recorded.contains(**letter);
    let brief = BRIEF.iter().filter(here).map(|letter| format!("-s{letter}"));
    let verbose = VERBOSE.iter().filter(here).map(|letter| format!("-s{letter} --verbose"));
    let plot = PLOT.iter().filter(here).map(|letter| format!("-s{letter} -P"));
    let more = ["-scdn -oT", "-scdmn --verbose", "-scdmn -P", "-sCDN -P"];
    let alone: Vec<String> = brief.chain(verbose).chain(plot).collect();
    testkit::share_of(alone).chain(more.map(str::to_owned)).collect()
}

/// Compares a case both ways; an error tells the difference that should not be.
fn compare(recording: &Path, case: &str) -> Result<(), String> {
    let theirs = run("collectl", &[], recording, case, &[]);
    let listed = listed(case);
    let exact = run(WHIT, &["play"], recording, case, &["--exact"]);
    if let Some(difference) = first_difference(&theirs.stdout, &exact) {
        match listed.iter().find(|wanted| !wanted.exact) {
            None => return Err(format!("differs even under --exact; {difference}")),
            Some(wanted) => println!("{}, even under --exact", tolerated(case, wanted)),
        }
    }
    let usual = run(WHIT, &["play"], recording, case, &[]);
    if let Some(difference) = first_difference(&theirs.stdout, &usual) {
        match listed.first() {
            None => return Err(format!("differs; {difference}")),
            Some(wanted) => println!("{}", tolerated(case, wanted)),
        }
    }
    Ok(())
}

fn tolerated(case: &str, wanted: &Wanted) -> String {
    format!("wanted, as '{} {}': {case}: {}", wanted.recording, wanted.switches, wanted.headings)
}

/// What is listed for a case on any recording.  A case of several letters may have what each of
/// them may.
fn listed(case: &str) -> Vec<Wanted> {
    let (letters, rest) = case.split_once(' ').unwrap_or((case, ""));
    let letters = letters.trim_start_matches("-s");
    let format = if rest == "-oT" { "" } else { rest };
    let is_of_case = |switches: &str| {
        switches == case
            || letters.chars().any(|letter| switches == format!("-s{letter} {format}").trim_end())
    };
    all_wanted().filter(|wanted| is_of_case(wanted.switches)).collect()
}

fn run(program: &str, before: &[&str], recording: &Path, case: &str, after: &[&str]) -> Output {
    Command::new(program)
        .args(before)
        .arg("-p")
        .arg(recording)
        .args(case.split_whitespace())
        .args(after)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}
