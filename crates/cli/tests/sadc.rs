//! Daily files of sysstat: every value as `sar -f` prints it.
//!
//! `testdata/sysstat/sa20261126` is a file of sysstat 12.6.1 with a comment and a restart; its host's
//! name was changed.  `sar.txt` has what `sar` prints of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WHIT: &str = env!("CARGO_BIN_EXE_whit");

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sysstat")
}

fn run(program: &str, words: &[&str], folder: &Path) -> String {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.env_remove("S_TIME_FORMAT").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn whit(line: &str, folder: &Path) -> String {
    run(WHIT, &line.split(' ').collect::<Vec<_>>(), folder)
}

/// The first line in which two texts differ.
fn difference(ours: &str, theirs: &str) -> Option<String> {
    let mut lines = ours.lines().zip(theirs.lines());
    match lines.find(|(ours, theirs)| ours != theirs) {
        Some((ours, theirs)) => Some(format!("{ours:?}\n not {theirs:?}")),
        None if ours != theirs => Some("one ends before the other".to_owned()),
        None => None,
    }
}

#[test]
fn every_value_is_what_sar_printed() {
    let printed = fs::read_to_string(data().join("sar.txt")).unwrap();
    let mut cases = 0;
    for case in printed.split("$ sar ").skip(1) {
        let (options, theirs) = case.split_once('\n').unwrap();
        let ours = whit(&format!("sysstat sar -f sa20261126 {options}"), &data());
        assert_eq!(difference(&ours, theirs), None, "sar {options}");
        cases += 1;
    }
    assert_eq!(cases, 16);
}

/// What no disk, interface or filesystem of the machine decides.
const LIVE: &[&str] = &[
    "-u",
    "-u ALL",
    "-w",
    "-B",
    "-W",
    "-b",
    "-r ALL",
    "-S",
    "-H",
    "-v",
    "-q",
    "-n SOCK",
    "-n IP,EIP,ICMP,EICMP,TCP,ETCP,UDP",
];

#[test]
fn a_file_of_the_installed_sadc_is_shown_as_by_its_sar() {
    let what = "sysstat: a daily file beside sar";
    let sadc = Path::new("/usr/lib/sysstat/sadc");
    if !sadc.exists() {
        return testkit::skip(what, "sadc is not installed");
    }
    if !testkit::is_installed(what, "sar") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run(sadc.to_str().unwrap(), &["-S", "XALL", "1", "3", "sa01"], folder.path());
    for options in LIVE {
        let theirs = run(
            "sar",
            &["-f", "sa01"].into_iter().chain(options.split(' ')).collect::<Vec<_>>(),
            folder.path(),
        );
        let ours = whit(&format!("sysstat sar -f sa01 {options}"), folder.path());
        assert_eq!(difference(&ours, &theirs), None, "sar {options}");
    }
}

#[test]
fn a_daily_file_is_a_recording_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("sa26");
    fs::copy(data().join("sa20261126"), &copy).unwrap();
    let text = whit("play . -sc", folder.path());
    assert!(text.contains("#<----") || text.contains("cpu"), "{text}");
    // Six records, of which one begins the file and one follows a restart.
    let csv = whit("play sa26 --csv -sm", folder.path());
    let times = |csv: &str| csv.lines().filter(|line| line.contains(",memory,,free,")).count();
    assert_eq!(times(&csv), 5, "{csv}");
    // As a recording of whit it has the same values.
    let said = whit("play sa26 --extract copy.whit", folder.path());
    assert!(folder.path().join("copy.whit").exists(), "{said}");
    // What only sadc has is left out.
    let is_known = |line: &&str| !line.contains("_kib,") && !line.contains(",stolen,");
    let known: Vec<&str> = csv.lines().filter(is_known).collect();
    let copied = whit("play copy.whit --csv -sm", folder.path());
    assert_eq!(copied.lines().collect::<Vec<_>>(), known);
    let said = whit("play sa26 --follow", folder.path());
    assert!(said.contains("only recordings of whit and collectl can be followed"), "{said}");
    let bytes = fs::read(&copy).unwrap();
    fs::write(&copy, &bytes[..bytes.len() - 100]).unwrap();
    let said = whit("play sa26 -sc", folder.path());
    assert!(said.contains("the last record is not complete"), "{said}");
    let mut old = bytes.clone();
    old[2] = 0x70;
    fs::write(&copy, &old).unwrap();
    let said = whit("play sa26 -sc", folder.path());
    assert!(said.contains("those of 9.1.6 and later are") && said.contains("0x2170"), "{said}");
}
