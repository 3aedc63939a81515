//! Exceptions (`-ox`, `-oX`, `-l`): the plot files beside those that collectl makes of the same
//! recordings, and what is refused.  Without collectl that part says so and passes.
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail; a skipped one says why"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::beside_collectl::has_collectl;

fn recordings(pattern: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings").join(pattern)
}

fn run(program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).env("TZ", "UTC").stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// The plot files that a program makes of recordings: by name, without the lines that tell who
/// wrote them.
fn plot_files(program: &str, pattern: &str, switches: &str) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let (to, from) = (folder.path().display().to_string(), recordings(pattern));
    let mut words = if program == "collectl" { vec![] } else { vec!["play"] };
    words.extend(["-p", from.to_str().unwrap(), "-f", &to]);
    words.extend(switches.split_whitespace());
    let done = run(program, &words);
    assert!(done.status.success(), "{switches}: {}", String::from_utf8_lossy(&done.stderr));
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let data = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.split_inclusive('\n').filter(|line| !line.starts_with("# ")).collect()
    };
    files.map(|file| (file.file_name().into_string().unwrap(), data(file.path()))).collect()
}

#[test]
fn plot_files_of_exceptions_are_those_of_collectl() {
    if !has_collectl() {
        return;
    }
    let (mut lines, mut files) = (0, 0);
    for pattern in ["alpha*", "beta*", "delta*"] {
        for letters in [
            "-oxz",
            "-oXz",
            "-oXz -l SVC:50-IOS:50-AND",
            "-oXz -l AND-IOS:20 --dskfilt ^sdb",
            "-oxzd -l IOS:100000-SVC:1000000 --sep 9",
            "-oxzn2 -l IOS:600",
        ] {
            let switches = format!("-scD -P {letters}");
            let theirs = plot_files("collectl", pattern, &switches);
            let ours = plot_files(crate::WHIT, pattern, &(switches.clone() + " --exact"));
            assert!(theirs.keys().eq(ours.keys()), "{pattern} {switches}: {:?}", ours.keys());
            for (name, text) in &theirs {
                assert_eq!(text, &ours[name], "{pattern} {switches}: {name}");
                files += 1;
                lines += if name.ends_with(".dskX") { text.lines().count() } else { 0 };
            }
        }
    }
    assert!(files > 40 && lines > 300, "{files} files, {lines} lines of exceptions");
}

#[test]
fn exceptions_stand_below_their_own_headings() {
    let whit = crate::WHIT;
    let files = plot_files(whit, "beta*", "-sD -P -oXz2 -l IOS:80");
    let all: Vec<Vec<&str>> = words_of(&files["beta-20260301.dsk"]);
    let exceptions: Vec<Vec<&str>> = words_of(&files["beta-20260301.dskX"]);
    let at = |name: &str| exceptions[0].iter().position(|word| *word == name).unwrap();
    let (reads, writes) = (at("[DISKX]Reads"), at("[DISKX]Writes"));
    let service = at("[DISKX]SvcTim");
    assert!(exceptions.len() > 20);
    for line in &exceptions[1..] {
        assert_eq!(line.len(), exceptions[0].len(), "{line:?}");
        let number = |at: usize| line[at].parse::<f64>().unwrap_or(0.0);
        let is = number(reads) >= 80.0 || number(writes) >= 80.0 || number(service) >= 30.0;
        assert!(is, "{line:?}");
        // The file of all disks has the same numbers at the same time.
        let same = all.iter().filter(|other| other[..2] == line[..2]);
        let found = same.filter(|other| other.windows(line.len() - 2).any(|w| w == &line[2..]));
        assert_eq!(found.count(), 1, "{line:?}");
    }
    let busier = plot_files(whit, "beta*", "-sD -P -oxz2 -l IOS:80-AND");
    assert!(!busier.contains_key("beta-20260301.dsk"), "-ox makes no file of all disks");
    assert_eq!(words_of(&busier["beta-20260301.dskX"]).len(), 1, "no disk is both busy and slow");
}

fn words_of(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with("##") && !line.is_empty());
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn limits_count_on_the_screen_too() {
    let whit = crate::WHIT;
    let from = recordings("beta*");
    let shown = |limits: &str| {
        let words = ["play", "-p", from.to_str().unwrap(), "-sD", "-oxT", "-l", limits];
        let done = run(whit, &words);
        assert!(done.status.success());
        let text = String::from_utf8(done.stdout).unwrap();
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count()
    };
    let (either, busy, slow, both) = (
        shown("IOS:100-SVC:3"),
        shown("IOS:100-SVC:1000000"),
        shown("IOS:1000000-SVC:3"),
        shown("IOS:100-SVC:3-AND"),
    );
    assert!(busy > 0 && slow > 0 && both < busy.min(slow), "{either} {busy} {slow} {both}");
    assert_eq!(either + both, busy + slow);
}

#[test]
fn exceptions_without_an_effect_are_refused() {
    let from = recordings("beta*");
    for (words, why) in [
        ("play -scd -ox", "are for disks"),
        ("play -sD -l IOS:1", "-l is for exceptions"),
        ("play -sD -oX", "-oX is for plot files"),
        ("play -sD -ox -P", "-ox is for the screen"),
        ("play -sD -ox --csv", "-ox is for the screen"),
        ("play -sD -ox -l IOS", "needs a number"),
        ("record -sD -ox -f /tmp/none", "-ox is for the screen"),
        ("record -sD -oX -c1", "-oX is for plot files"),
        ("record -scd -ox -c1", "are for disks"),
    ] {
        let mut words: Vec<&str> = words.split_whitespace().collect();
        if words[0] == "play" {
            words.extend(["-p", from.to_str().unwrap()]);
        }
        let done = run(crate::WHIT, &words);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && text.contains(why), "{words:?}: {text}");
    }
}

#[test]
fn the_recorder_writes_exceptions_too() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().display().to_string();
    let words = ["record", "-sD", "-P", "-oxz", "-l", "IOS:0", "-i", "0.05", "-c", "2", "-f", &to];
    let done = run(crate::WHIT, &words);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.len() == 1 && names[0].ends_with(".dskX"), "{names:?}");
    let text = std::fs::read_to_string(folder.path().join(&names[0])).unwrap();
    assert!(text.contains("\n#Date Time [DISKX]Name [DISKX]Reads "), "{text}");
}

#[test]
fn names_that_are_changed_are_seen_by_filters_and_headings() {
    let whit = crate::WHIT;
    let from = recordings("beta*");
    let shown = |switches: &str| {
        let mut words = vec!["play", "-p", from.to_str().unwrap()];
        words.extend(switches.split(' '));
        let done = run(whit, &words);
        let text = String::from_utf8(done.stdout).unwrap();
        (text, String::from_utf8(done.stderr).unwrap())
    };
    let (lines, _) = shown("-sD --dskremap sd:disk_ --dskfilt disk_");
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"disk_a") && names.contains(&"disk_b"), "{lines}");
    assert!(!names.iter().any(|name| name.starts_with("sd") || name.starts_with("dm")), "{lines}");
    let (json, _) = shown("-sD --json --fields disk[disk_a].reads --dskremap sd:disk_");
    assert!(json.contains("disk_a"), "{json}");
    let rules = format!("{}/tests/envrules.txt", env!("CARGO_MANIFEST_DIR"));
    let (plain, _) = shown("-sE");
    let (ruled, _) = shown(&format!("-sE --envrules {rules}"));
    assert!(plain.contains("Fan2") && plain.contains("Temp"), "{plain}");
    assert!(!ruled.contains("Fan2") && !ruled.contains("Temp") && ruled.contains("Tmp"), "{ruled}");
    for (switches, why) in [
        ("-sD --dskremap sda", "is not PATTERN:TEXT"),
        ("-sc --dskremap sda:x", "--dskremap is for -sd and -sD"),
        ("-sc --envremap /a/b/", "--envremap is for -sE"),
        ("-sE --envremap a", "is not /PATTERN/TEXT/"),
        ("-sE --envrules /nowhere", "--envrules: /nowhere"),
    ] {
        let (_, told) = shown(switches);
        assert!(told.contains(why) && told.lines().count() == 1, "{switches}: {told}");
        assert!(told.contains("changes nothing") == switches.starts_with("-sc"), "{told}");
    }
}
