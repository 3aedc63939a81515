//! Recordings with other sources, played one after the other or beside each other: values belong to
//! a source and a field by their names, not by their position.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::path::{Path, PathBuf};

fn whit(words: &[&str]) -> (i32, String, String) {
    let output = crate::whit().args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Records four samples of `subsystems` in a folder of their own.
fn record(folder: &Path, name: &str, subsystems: &str) -> PathBuf {
    let to = format!("{}/{name}/", folder.display());
    let words = ["record", "-s", subsystems, "-i0.05:0.05", "-c4", "--quiet", "-f", &to];
    let (code, _, error) = whit(&words);
    assert_eq!(code, 0, "{error}");
    std::fs::read_dir(to).unwrap().next().unwrap().unwrap().path()
}

/// Mean of A, mean of B by field.
fn compare(files: &[&Path], subsystems: &str) -> Vec<(String, String, String)> {
    let mut words = vec!["play"];
    words.extend(files.iter().map(|path| path.to_str().unwrap()));
    // All days of recordings in `testdata` and of today.
    let all = "20200101:00:00-20991231:00:00";
    words.extend(["-s", subsystems, "--csv", "--diff", all, all]);
    let (code, text, error) = whit(&words);
    assert_eq!(code, 0, "{error}");
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[2].to_owned(), cells[3].to_owned())
    };
    text.lines().skip(1).map(line).collect()
}

#[test]
fn a_comparison_goes_by_names() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = record(folder.path(), "cpu", "c");
    let memory = record(folder.path(), "memory", "m");
    let both = record(folder.path(), "both", "cdm");
    let alone = compare(&[&memory], "m");
    assert!(alone.iter().all(|(name, ..)| name.starts_with("memory")), "{alone:?}");
    let rows = compare(&[&cpu, &memory, &both], "cdm");
    for name in ["cpu.user", "memory.free"] {
        assert_eq!(rows.iter().filter(|row| row.0 == name).count(), 1, "{rows:?}");
    }
    // Two CPUs at most have seconds a second; memory has bytes.
    let value =
        |name: &str| -> f64 { rows.iter().find(|row| row.0 == name).unwrap().1.parse().unwrap() };
    assert!(value("cpu.user") < 4096.0, "{}", value("cpu.user"));
    assert!(value("memory.free") > 1e6, "{}", value("memory.free"));
    assert!(rows.iter().any(|row| row.0.starts_with("disk[")), "{rows:?}");
}

#[test]
fn a_comparison_takes_recordings_of_older_versions() {
    let folder = tempfile::tempdir().unwrap();
    let memory = record(folder.path(), "memory", "m");
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let old = ["version-1-closed.whit", "version-2-closed.whit"].map(|name| released.join(name));
    let rows = compare(&[&old[0], &old[1], &memory], "cdmn");
    let value =
        |name: &str| -> f64 { rows.iter().find(|row| row.0 == name).unwrap().1.parse().unwrap() };
    // As `version-1-closed.txt` says; memory was added to it.
    assert!((value("single.ticks") - 1.0).abs() < 0.001, "{rows:?}");
    assert!(value("memory.free") > 1e6, "{rows:?}");
}

#[test]
fn a_digest_of_a_day_has_all_its_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let first = record(folder.path(), "first", "cZ");
    let second = record(folder.path(), "second", "Z");
    let to = format!("{}/digest/", folder.path().display());
    let names: Vec<&str> = [&first, &second].map(|path| path.to_str().unwrap()).to_vec();
    let (code, _, error) = whit(&["play", names[0], names[1], "--procanalyze", "-oz", "-f", &to]);
    assert_eq!(code, 0, "{error}");
    let path = std::fs::read_dir(&to).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(path).unwrap();
    for folder in ["/first/", "/second/"] {
        let has = |line: &str| line.contains("whit record") && line.contains(folder);
        assert!(text.lines().any(has), "no process of {folder}");
    }
}

#[test]
fn fields_may_be_those_of_a_later_recording_only() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = record(folder.path(), "a-cpu", "c");
    let memory = record(folder.path(), "b-memory", "md");
    let names = [&cpu, &memory].map(|path| path.to_str().unwrap());
    let play = |format: &str, fields: &str| {
        whit(&["play", names[0], names[1], format, "--fields", fields])
    };
    let (code, text, error) = play("--csv", "cpu.user,memory.free,disk[none].reads");
    assert_eq!(code, 0, "{error}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["time", "host", "cpu.user", "memory.free", "disk[none].reads"]);
    let has = |line: &[&str]| [!line[2].is_empty(), !line[3].is_empty(), !line[4].is_empty()];
    assert_eq!(has(&lines[1]), [true, false, false], "{text}");
    assert_eq!(has(lines.last().unwrap()), [false, true, false], "{text}");
    // Bare names, too.
    let (code, text, error) = play("--csv", "free");
    assert_eq!((code, text.lines().next()), (0, Some("time,host,memory.free")), "{error}");
    for format in ["--json", "--openmetrics"] {
        let (code, text, error) = play(format, "memory.free");
        assert_eq!(code, 0, "{format}: {error}");
        assert!(text.contains("free") && !text.contains("user"), "{format}: {text}");
    }
    let (code, _, error) = play("--csv", "memory.fre");
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("memory has"), "{error}");
    let (code, _, error) = play("--csv", "dsk.reads");
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("cpu") && error.contains("memory"), "{error}");
}

#[test]
fn two_recorders_at_the_same_time_are_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |name: &str| {
        let to = format!("{}/{name}/", folder.path().display());
        std::fs::create_dir(&to).unwrap();
        let words = ["record", "-sc", "-i0.05", "--quiet", "-f", &to];
        let child = testkit::Running::start(crate::whit().args(words));
        let find = || Some(std::fs::read_dir(&to).ok()?.next()?.ok()?.path());
        (child, testkit::wait_for("a recording", find))
    };
    let grow = |path: &Path| {
        let length = || std::fs::metadata(path).map_or(0, |facts| facts.len());
        for _ in 0..5 {
            let before = length();
            testkit::wait_until("it grows", || length() > before);
        }
    };
    let (mut one, first) = begin("one");
    grow(&first);
    // In another second, so that the files have different names.
    let seconds = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let begun = seconds();
    testkit::wait_until("another second", || seconds() > begun + 1);
    let (mut other, second) = begin("other");
    grow(&second);
    one.signal(libc::SIGTERM);
    assert!(one.ended().success());
    grow(&second);
    other.signal(libc::SIGTERM);
    assert!(other.ended().success());
    let both = folder.path().join("one").join(second.file_name().unwrap());
    std::fs::rename(&second, &both).unwrap();
    let place = folder.path().join("one");
    let (code, shown, said) = whit(&["play", place.to_str().unwrap(), "-sc", "--csv"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("samples are left out, since "), "{said}");
    let values: Vec<&str> = shown.lines().skip(1).collect();
    let time = |line: &&str| line.split(',').next().unwrap_or_default().to_owned();
    assert!(values.len() > 10 && values.is_sorted_by_key(time), "times go back");
    // Time, host, source, instance and field, without the value.  The first reading of one recorder may
    // have been in the same millisecond as the last of the other, no more.
    let mut known = std::collections::HashSet::new();
    let keys = values.iter().filter_map(|line| line.rsplit_once(','));
    let mut twice: Vec<String> =
        keys.filter(|(key, _)| !known.insert(*key)).map(|(key, _)| time(&key)).collect();
    twice.dedup();
    assert!(twice.len() <= 1, "there twice: {twice:?}");
}
