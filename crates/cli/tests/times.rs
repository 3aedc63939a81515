//! One language of times for all verbs: each option that takes a time takes every form of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::whit;

/// Forms that every option takes; `whit rrd` keeps RRDtool's language.
const FORMS: [&str; 12] = [
    "10:15",
    "10:15:30",
    "yesterday",
    "yesterday 10:15",
    "20260101:10:15",
    "2026-01-01T10:15",
    "2026-01-01 10:15:30.5",
    "2026-01-01T10:15:00+01:00",
    "-1h",
    "now-2d",
    "now",
    "@1767261600",
];

/// The verb, its option, and the words that are needed beside it; `REC` is a recording.
const OPTIONS: [(&str, &str, &[&str]); 15] = [
    ("play", "--from", &["REC"]),
    ("play", "--thru", &["REC"]),
    ("top", "--at", &["REC"]),
    ("log tail", "--from", &["no-store"]),
    ("log tail", "--until", &["no-store"]),
    ("log query", "--from", &["no-store"]),
    ("log query", "--until", &["no-store"]),
    ("log export", "--from", &["--output", "out", "no-store"]),
    ("log export", "--until", &["--output", "out", "no-store"]),
    ("log stats", "--from", &["no-store"]),
    ("log stats", "--until", &["no-store"]),
    ("log view", "--from", &["no-store"]),
    ("log view", "--until", &["no-store"]),
    ("alert", "--from", &["--check", "REC"]),
    ("alert", "--thru", &["--check", "REC"]),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is said on stderr.
fn said(words: &[&str], folder: &Path) -> String {
    let recording = top().join("testdata/recordings/gamma-20260101-100000.raw");
    let mut command = whit();
    for word in words {
        match *word {
            "REC" => command.arg(&recording),
            word => command.arg(word),
        };
    }
    let output = command.env("TERM", "dumb").env("TZ", "UTC").current_dir(folder).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_table_has_every_option_with_a_time() {
    let reference = std::fs::read_to_string(top().join("docs/reference/commands.md")).unwrap();
    let mut verb = "";
    let mut found = BTreeSet::new();
    for line in reference.lines() {
        if let Some(name) = line.strip_prefix("## whit ") {
            verb = name;
        } else if let Some((option, _)) = line.split_once(" <TIME>")
            // The times of the daemon are lengths.
            && !matches!(verb.split(' ').next(), Some("rrd" | "rrdcached"))
        {
            found.insert((verb, option.rsplit(' ').next().unwrap()));
        }
    }
    let listed: BTreeSet<_> = OPTIONS.iter().map(|(verb, option, _)| (*verb, *option)).collect();
    assert_eq!(found, listed);
}

#[test]
fn every_option_takes_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let options = OPTIONS.iter().map(|(verb, option, beside)| (*verb, *option, *beside));
    let sar = ["-s", "-e"].map(|option| ("sysstat sar -f REC", option, &[][..]));
    // In a short run each option takes a quarter of the forms, the next one the next quarter.
    let every = if testkit::is_long() { 1 } else { 4 };
    for (at, (verb, option, beside)) in options.chain(sar).enumerate() {
        let words = |time| {
            let words = verb.split(' ').chain(beside.iter().copied()).chain([option, time]);
            words.collect::<Vec<&str>>()
        };
        let refused = said(&words("12:99"), folder.path());
        assert!(
            refused.contains("'12:99' is no time: write 10:15, "),
            "{verb} {option}: {refused}"
        );
        for form in FORMS.into_iter().skip(at % every).step_by(every) {
            let refused = said(&words(form), folder.path());
            assert!(
                !refused.contains("no time:") && !refused.contains("usage"),
                "{verb} {option} {form}: {refused}"
            );
        }
    }
}

#[test]
fn a_start_after_the_end_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (words, expected) in [
        ("play REC --from now --thru -1h", "--from now is after --thru -1h"),
        ("play REC --from 20260102-2026-01-01", "--from 20260102 is after --thru 2026-01-01"),
        ("sysstat sar -f REC -s now -e -1h", "--from now is after --thru -1h"),
        ("log query no-store --from now --until -1h", "--from is after --until"),
        ("alert --check REC --from now --thru -1h", "--from is after --thru"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let refused = said(&words, folder.path());
        assert!(refused.contains(expected), "{words:?}: {refused}");
    }
    // Times of day without a day: a period over midnight.
    assert!(
        !said(&["play", "REC", "--from", "23:00", "--thru", "01:00"], folder.path())
            .contains("after")
    );
}
