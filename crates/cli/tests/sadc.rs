//! Daily files of sysstat: every value as `sar -f` prints it.
//!
//! `testdata/sysstat/sa20261126` is a file of sysstat 12.6.1 with a comment and a restart; its host's
//! name was changed.  `sar.txt` has what `sar` prints of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WHIT: &str = env!("CARGO_BIN_EXE_whit");

pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sysstat")
}

pub(crate) fn run(program: &str, words: &[&str], folder: &Path) -> String {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.env_remove("S_TIME_FORMAT").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) fn whit(line: &str, folder: &Path) -> String {
    run(WHIT, &line.split(' ').collect::<Vec<_>>(), folder)
}

/// The first line in which two texts differ.
pub(crate) fn difference(ours: &str, theirs: &str) -> Option<String> {
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
    "-m CPU -P ALL",
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

/// A file of the installed `sadc`, with a comment that markup must escape; `None` if it is not installed.
fn fresh_file(what: &str, folder: &Path) -> Option<()> {
    let sadc = "/usr/lib/sysstat/sadc";
    if !Path::new(sadc).exists() {
        testkit::skip(what, "sadc is not installed");
        return None;
    }
    for words in ["-S XALL 1 3 sa01", "-C a<b&c sa01"] {
        run(sadc, &words.split(' ').collect::<Vec<_>>(), folder);
    }
    testkit::is_installed(what, "sadf").then_some(())
}

/// A document without what sensors and devices of USB say, which whit does not read; with them go the
/// frequencies, which stand in the same group.
fn without_sensors(document: &str) -> String {
    let others = ["fan-speed", "temperature", "voltage-input", "weighted-frequency", "usb-devices"];
    if !others.iter().any(|name| document.contains(name)) {
        return document.to_owned();
    }
    let mut lines = Vec::new();
    let mut is_left_out = false;
    for line in document.lines() {
        is_left_out |= line.contains("power-management") && !line.contains("</");
        if !is_left_out {
            lines.push(line);
        }
        let ends = ["\t\t\t\t</power-management>", "\t\t\t\t\t},", "\t\t\t\t\t}"];
        is_left_out &= !ends.contains(&line);
    }
    lines.join("\n") + "\n"
}

#[test]
fn documents_of_a_file_are_those_of_its_sadf() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = fresh_file("sysstat: documents beside sadf", folder.path()) else { return };
    for options in [
        "-j",
        "-x",
        "-j -C",
        "-j -- -A",
        "-x -- -A",
        "-j -P ALL -- -u -q ALL -w",
        "-x -- -F MOUNT -d",
        "-j -- -F MOUNT -r",
        "-j -- -n DEV,TCP --iface=nix",
        "-x -t -- -I SUM -S",
        "-j -T -- -r -S",
        "-j -U -s 00:00 -- -b",
        "-x -P 0 -- -I ALL -n SOFT",
        "-j -P ALL -- -m ALL",
        "-x -- -m CPU -n SOFT",
        "-d -h -- -w -r",
        "-d -C -- -w -q",
    ] {
        let (own, of_sar) = options.split_once(" --").unwrap_or((options, ""));
        let line = format!("{own} sa01{}", if of_sar.is_empty() { "" } else { " --" }) + of_sar;
        let words: Vec<&str> = line.split(' ').collect();
        let theirs = run("sadf", &words, folder.path());
        let ours = whit(&format!("sysstat sadf {line}"), folder.path());
        let ours = if without_sensors(&theirs) != theirs { without_sensors(&ours) } else { ours };
        assert_eq!(difference(&ours, &without_sensors(&theirs)), None, "sadf {line}");
    }
    // sadf itself writes comments as they are, which is no XML if they have such characters.
    let ours = whit("sysstat sadf -x sa01 -- -C", folder.path());
    assert!(ours.contains("com=\"a&lt;b&amp;c\""), "{ours}");
    let ours = whit("sysstat sadf -j sa01 -- -C -A", folder.path());
    let json: serde_json::Value = serde_json::from_str(&ours).unwrap();
    assert_eq!(json["sysstat"]["hosts"][0]["comments"][0]["comment"]["com"], "a<b&c", "{ours}");
    let ours = whit("sysstat sadf -j sa20261126 -s 23:30", &data());
    let json: serde_json::Value = serde_json::from_str(&ours).unwrap();
    assert_eq!(json["sysstat"]["hosts"][0]["statistics"], serde_json::json!([]), "{ours}");
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
