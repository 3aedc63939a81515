//! Processes through the whole chain: recorded, then played in every format.  Names that would
//! harm a terminal or break a line come out escaped, and whole.
//!
//! Starts a few sleeping processes of its own; takes some three seconds.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use testkit::Running;

/// What the processes call themselves, and how that is shown.
const NAMES: [(&[u8], &str); 4] = [
    (b"ev) R 1 x", "ev) R 1 x"),
    (b"new\nline", "new\\x0aline"),
    (b"bad\xff\xfe", "bad\\xff\\xfe"),
    (b"\x1b[31mred\x07", "\\x1b[31mred\\x07"),
];

/// A sleeping process for each name: the name of its program's file becomes its own.  The file is a
/// link: a copy still open for writing in a child that another test forks meanwhile would be refused
/// as busy.
fn start_sleepers(folder: &Path) -> Vec<Running> {
    let start = |(name, _): &(&[u8], &str)| {
        let program = folder.join(OsStr::from_bytes(name));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        Running::start(Command::new(&program).arg0(OsStr::from_bytes(name)).arg("1000"))
    };
    NAMES.iter().map(start).collect()
}

fn whit(arguments: &[&str]) -> Output {
    crate::whit().args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = whit(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    let harmless = |byte: &u8| *byte == b'\n' || *byte >= b' ' && *byte != 0x7f;
    assert!(output.stdout.iter().all(harmless), "{arguments:?}: control characters");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_way_that_needs_a_capability_is_an_error_that_names_it() {
    if !rustix::process::geteuid().is_root() {
        testkit::skip("another user", "only root can become one");
        return;
    }
    // Others may execute neither the folder of the build nor that of root: they get a copy.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("whit");
    testkit::write_program(&copy, std::fs::read(crate::WHIT).unwrap()).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut command = std::process::Command::new(&copy);
    std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    let words = ["record", "-sZ", "-i0.1:0.1", "-c1", "--process-way", "iterator"];
    let output = command.args(words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--process-way iterator") && error.contains("CAP_"), "{error}");
}

#[test]
fn hostile_names_come_out_escaped_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let sleepers = start_sleepers(&programs);
    let pids: Vec<u32> = sleepers.iter().map(|sleeper| sleeper.id()).collect();
    let list: Vec<String> = pids.iter().map(|pid| format!("p{pid}")).collect();
    let files = folder.path().join("files/");
    let files = files.to_str().unwrap();
    text(&["record", "-sZ", "-i.5:.5", "-c2", "-f", files, "--procfilt", &list.join(",")]);
    for (pid, (_, shown)) in pids.iter().zip(NAMES) {
        let pid = pid.to_string();
        let of = |text: &str, column: usize| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let mine = lines.filter(|line| line.split_whitespace().nth(column) == Some(&pid));
            mine.map(str::to_owned).collect()
        };
        for switches in ["w", "iw", "mw"] {
            let lines = of(&text(&["play", files, "-sZ", "--procopts", switches]), 0);
            assert!(!lines.is_empty(), "{switches}: no line of {pid}");
            for line in lines {
                assert!(line.ends_with(&format!("{shown} 1000")), "{switches}: {line}");
                assert!(line.contains(" S "), "{switches}: {line}");
            }
        }
        let lines = of(&text(&["play", files, "-sZ", "-P"]), 2);
        assert!(lines.iter().all(|line| line.ends_with(&format!("{shown} 1000"))), "{lines:?}");
        assert!(!lines.is_empty(), "-P: no line of {pid}");
        let csv = text(&["play", files, "-sZ", "--csv"]);
        assert!(
            csv.lines()
                .any(|line| line.contains(&format!(",{pid}:")) && line.contains(",command,"))
        );
    }
    let metrics = text(&["play", files, "-sZ", "--openmetrics"]);
    assert!(metrics.ends_with("# EOF\n"));
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let labels = labels(line).unwrap_or_else(|| panic!("labels of {line}"));
        let of = |name| labels.iter().find(|(label, _)| label == name).map(|(_, value)| value);
        if line.starts_with("whit_process_info{") {
            let place = pids.iter().position(|pid| of("pid") == Some(&pid.to_string())).unwrap();
            assert_eq!(of("command").unwrap(), NAMES[place].1, "{line}");
            assert_eq!(of("command_line").unwrap(), &format!("{} 1000", NAMES[place].1), "{line}");
        }
    }
    let infos = metrics.lines().filter(|line| line.starts_with("whit_process_info{")).count();
    assert!(infos >= NAMES.len() && infos.is_multiple_of(NAMES.len()), "{metrics}");
    let json = text(&["play", files, "-sZ", "--json"]);
    assert!(json.contains("ev) R 1 x") && json.lines().all(|line| line.starts_with('{')));
    // The filter of the recording left everybody else out.
    let all = text(&["play", files, "-sZ", "-P"]);
    let count = all.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(count % NAMES.len(), 0, "{all}");
    // One of playback selects among them.
    let one = text(&["play", files, "-Zcred", "-P"]);
    let shown: Vec<&str> = one.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!shown.is_empty() && shown.iter().all(|line| line.contains("red")), "{one}");
}

/// The labels of a line of OpenMetrics text: escapes undone as the format has them, no others
/// taken, and nothing but a value and a time behind them.
fn labels(line: &str) -> Option<Vec<(String, String)>> {
    let mut rest = line.split_once('{')?.1;
    let mut labels = Vec::new();
    loop {
        let (name, behind) = rest.split_once("=\"")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (mut value, mut chars) = (String::new(), behind.chars());
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => value.push(match chars.next()? {
                    'n' => '\n',
                    other @ ('\\' | '"') => other,
                    _ => return None,
                }),
                other => value.push(other),
            }
        }
        labels.push((name.to_owned(), value));
        rest = chars.as_str();
        if let Some(numbers) = rest.strip_prefix("} ") {
            let is_number = |word: &str| word.parse::<f64>().is_ok();
            let numbers: Vec<&str> = numbers.split(' ').collect();
            return (numbers.len() == 2 && numbers.into_iter().all(is_number)).then_some(labels);
        }
        rest = rest.strip_prefix(',')?;
    }
}

#[test]
fn exports_of_recordings_with_processes_are_those_without() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let _sleepers = start_sleepers(&programs);
    let files = folder.path().join("files/");
    let files = files.to_str().unwrap();
    text(&["record", "-scmdnZ", "-i.25:.25", "-c4", "-f", files]);
    // A socket that takes what graphite is sent.
    let carbon = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let graphite = format!("graphite,{},d=1", carbon.local_addr().unwrap());
    for export in ["lexpr", "vmstat", &graphite] {
        let with = text(&["play", files, "--export", export]);
        assert!(with.lines().count() >= 3, "{export}: {with}");
        if export == "vmstat" {
            continue;
        }
        let without = text(&["play", files, "-scmdn", "--export", export]);
        assert_eq!(with, without, "{export}");
        // They have no lines for processes, and say no more than when it was.
        let alone = text(&["play", files, "-sZ", "--export", export]);
        let is_time = |line: &str| line.starts_with("sample.time ");
        assert!(alone.lines().all(is_time), "{export}: {alone}");
    }
    let refused = whit(&["play", files, "-sZ", "--export", "vmstat"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn totals_stand_below_the_processes_of_our_own_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files/");
    let files = files.to_str().unwrap();
    text(&["record", "-sZ", "-i.5:.5", "-c2", "-f", files]);
    let shown = text(&["play", files, "-sZ"]);
    let mut lines = shown.lines().skip_while(|line| !line.starts_with("# PROCESS TOTALS"));
    let heading = lines.nth(1).unwrap();
    let headings: Vec<&str> = heading.trim_start_matches('#').split_whitespace().collect();
    let values: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let of = |name| values[headings.iter().position(|heading| *heading == name).unwrap()];
    let interval = shown.split("### RECORD").nth(1).unwrap();
    let processes = interval.lines().filter(|line| {
        line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok())
    });
    // The heading of the interval and the line of totals begin with a number, too.
    let lines = processes.count() - 2;
    assert_eq!(of("Procs").parse::<usize>().unwrap(), lines, "{interval}");
    // They were counted in the very pass that made the rows.
    let totals = per_sample(Path::new(files), |table| {
        table("process_total").and_then(|total| total.get(0, 2)).map(|count| count as usize)
    });
    let rows = per_sample(Path::new(files), |table| table("process").map(sample::Table::rows));
    assert_eq!(totals, rows);
    assert_eq!(rows.iter().flatten().count(), 3, "the first, and two intervals");
    assert!(of("Thrds").parse::<u64>().unwrap() >= of("Procs").parse().unwrap());
    assert!(of("Births").parse::<f64>().is_ok(), "{values:?}");
    let way = of("Read");
    assert!(["iterator", "proc", "unprivileged"].iter().any(|one| way.starts_with(one)), "{way}");
    for switches in [["--exact", "-w"], ["-Zp1", "-w"], ["--procstate", "S"]] {
        let shown = text(&[&["play", files, "-sZ"][..], &switches].concat());
        assert!(!shown.contains("PROCESS TOTALS"), "{switches:?}");
    }
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/recordings/zeta-20261121-131413.raw.gz");
    assert!(!text(&["play", recording.to_str().unwrap(), "-sZ"]).contains("PROCESS TOTALS"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let recording = recording.join("zeta-20261121-131413.raw.gz");
    let recording = recording.to_str().unwrap();
    for (arguments, why) in [
        (vec!["play", recording, "-sZ", "--procopts", "p"], "are for record"),
        (vec!["play", recording, "-sZ", "--procopts", "im"], "exclude each other"),
        (vec!["play", recording, "-sZ", "--procfilt", "x1"], "must begin with one of"),
        (vec!["play", recording, "-sZ", "--procstate", "Q"], "unknown letter"),
        (vec!["play", recording, "-sZ", "--passwd", "/none"], "cannot read the file"),
    ] {
        let output = whit(&arguments);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(why), "{arguments:?}: {complaint}");
    }
}

/// Rows of a source in all samples of the recording in `folder`, and the samples it is in.
fn rows_of(folder: &Path, source: &str) -> (usize, usize) {
    let rows = per_sample(folder, |table| table(source).map(sample::Table::rows));
    (rows.iter().flatten().sum(), rows.iter().flatten().count())
}

/// Whether a recording in `folder` holds a sample yet.
fn has_a_sample(folder: &Path) -> bool {
    let file = std::fs::read_dir(folder).unwrap().next();
    let reader = file.map(|file| recording::Reader::open(&file.unwrap().path(), &[]));
    let Some(Ok(mut reader)) = reader else { return false };
    let mut snapshot = sample::Snapshot::new(&reader.defs());
    matches!(reader.next(&mut snapshot), Ok(recording::ReadOutcome::Sample))
}

/// A sample's tables by the names of their sources.
type Tables<'a> = dyn Fn(&str) -> Option<&'a sample::Table> + 'a;

/// What `of` makes of each sample of the recording in `folder`; it gets the tables of sources that
/// were read at it, by their names.
fn per_sample<T>(folder: &Path, of: impl for<'a> Fn(&Tables<'a>) -> T) -> Vec<T> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|part| part == "whit"));
    let known = source::definitions();
    let mut reader = recording::Reader::open(&files.next().unwrap(), &known).unwrap();
    let defs = reader.defs();
    let mut snapshot = sample::Snapshot::new(&defs);
    let mut all = Vec::new();
    while let recording::ReadOutcome::Sample = reader.next(&mut snapshot).unwrap() {
        let tables = |source: &str| {
            let place = defs.iter().position(|def| def.name == source).unwrap();
            snapshot.fresh[place].then(|| &snapshot.samples[place].table)
        };
        all.push(of(&tables));
    }
    all
}

#[test]
fn what_ends_just_before_the_stop_is_in_the_recording() {
    const ENDS: usize = 2_000;
    let trial = source::Trial::new();
    if let (Err(ring), Err(taskstats)) = (&trial.ring, &trial.taskstats) {
        testkit::skip_refused("exit events", &format!("{ring}; {taskstats}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["record", "-scZ", "-i3600:3600", "-f", path];
    let mut recorder = Running::start(crate::whit().args(arguments));
    // The first sample is taken at the next whole second; nothing more within an hour.
    testkit::wait_until("a sample is taken", || has_a_sample(folder.path()));
    let script = format!("i=0; while [ $i -lt {ENDS} ]; do /bin/true; i=$((i+1)); done");
    assert!(Command::new("/bin/sh").args(["-c", &script]).status().unwrap().success());
    recorder.signal(libc::SIGTERM);
    assert!(recorder.ended().success());
    let (ends, _) = rows_of(folder.path(), "exit");
    assert!(ends > ENDS, "{ends}: all of them, and the shell");
    // Nobody else had a sample for it, nor a line of what is missing.
    for format in [None, Some("-P"), Some("--csv"), Some("--verbose")] {
        let arguments = ["play", path, "-sc"].into_iter().chain(format).collect::<Vec<_>>();
        let text = text(&arguments);
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(lines.filter(|line| !line.starts_with("time,")).count(), 0, "{text}");
    }
    let (_, samples) = rows_of(folder.path(), "cpu");
    assert_eq!(samples, 1);
    let (_, samples) = rows_of(folder.path(), "process");
    assert_eq!(samples, 1);
}
