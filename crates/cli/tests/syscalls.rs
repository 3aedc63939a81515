//! System calls recorded and played: each view shows what was counted, by name.  The test says why
//! it skips where programs may not be loaded.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::{Path, PathBuf};
use std::process::Output;

fn whit(words: &[&str]) -> Output {
    crate::whit().args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn recording_in(folder: &Path) -> PathBuf {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_recording = |path: &PathBuf| path.extension().is_some_and(|end| end == "whit");
    paths.into_iter().find(is_recording).unwrap()
}

fn play(path: &Path, words: &[&str]) -> String {
    let mut all = vec!["play", "-p", path.to_str().unwrap()];
    all.extend(words);
    let played = whit(&all);
    assert!(played.status.success(), "{words:?}: {}", text(&played.stderr));
    text(&played.stdout)
}

#[test]
fn what_was_counted_is_played_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let recorded = whit(&["record", "-skK", "-i.2", "-c6", "-f", place]);
    let said = text(&recorded.stderr);
    assert!(recorded.status.success(), "{said}");
    if said.lines().any(|line| line.contains("-s kK") && !line.contains("recording -s kK to ")) {
        return testkit::skip_refused("BPF programs", &said);
    }
    let path = recording_in(folder.path());
    let brief = play(&path, &["-sk"]);
    assert!(brief.lines().any(|line| line.contains("us/Call")), "{brief}");
    let numbers = brief.lines().filter(|line| !line.starts_with('#'));
    assert!(numbers.clone().count() >= 5, "{brief}");
    assert!(numbers.clone().any(|line| !line.trim_start().starts_with(['-', '0'])), "{brief}");
    // The machine waits for something all the time, if only this test for the recorder.
    let detail = play(&path, &["-sK"]);
    assert!(detail.contains("SYSTEM CALLS BY NAME"), "{detail}");
    let names = ["read", "poll", "ppoll", "futex", "epoll_wait", "wait4", "nanosleep"];
    let has = |text: &str| names.iter().any(|name| text.contains(name));
    assert!(has(&detail), "{detail}");
    assert!(has(&play(&path, &["-sK", "--csv"])));
    let json = play(&path, &["-sK", "--json"]);
    assert!(has(&json) && json.contains("wall_time") && json.contains("median"), "{json}");
    let plot = play(&path, &["-sk", "-P"]);
    assert!(plot.contains("[CALL]Calls") && plot.contains("[CALL]Us/Call"), "{plot}");
}

#[test]
fn nobody_gets_it_who_has_not_named_it() {
    for words in [["--all"], ["--ALL"]] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        let mut all = vec!["record", "-i.1", "-c2", "-f", place];
        all.extend(words);
        assert!(whit(&all).status.success());
        let played = play(&recording_in(folder.path()), &["--json"]);
        assert!(played.contains("cpu") && !played.contains("syscall"), "{played}");
    }
}
