//! A pager on a terminal (a pseudo-terminal) shows what `play`, `doctor`, `log query` and help write.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::top::Session;
use crate::whit;

/// A recording with this number of samples.
fn recorded(samples: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = whit();
    let count = format!("-c{samples}");
    command.args(["record", "-sc", "-i0.001", &count, "--quiet", "-f"]).arg(folder.path());
    assert!(command.output().unwrap().status.success());
    folder
}

/// A verb on a terminal, with the pager `variables` name.
fn on_a_terminal(words: &[&str], folder: &std::path::Path, variables: &[(&str, &str)]) -> Session {
    // The terminal is the session's own, where a pager opens it.
    let mut command = Command::new("/usr/bin/setsid");
    command.args(["--ctty", crate::WHIT]).args(words).current_dir(folder);
    command.env_remove("PAGER").env_remove("WHIT_PAGER").env_remove("LESS");
    command.envs(variables.iter().copied());
    Session::of(command)
}

/// All that a verb shows on a terminal, and that it ends with one of these codes.
fn shown(
    words: &[&str],
    folder: &std::path::Path,
    variables: &[(&str, &str)],
    codes: &[i32],
) -> String {
    let mut session = on_a_terminal(words, folder, variables);
    session.ends_plainly(codes);
    session.seen.clone()
}

#[test]
fn long_output_goes_through_the_pager_that_the_environment_names() {
    let folder = recorded(60);
    let folder = folder.path();
    let numbered = [("PAGER", "more"), ("WHIT_PAGER", "sed 's/^/paged: /'")];
    let text = shown(&["play", "."], folder, &numbered, &[0]);
    assert!(text.lines().count() > 60, "{text}");
    assert!(text.lines().all(|line| line.starts_with("paged: ")), "{text}");
    // As on the terminal itself: each line has its time.
    assert!(text.contains("paged: #Time") || text.contains("Time "), "{text}");
    let text = shown(&["play", "--help"], folder, &numbered, &[0]);
    assert!(text.lines().all(|line| line.starts_with("paged: ")), "{text}");
    // What goes wrong is told there, too.
    let text = shown(&["play", "none.whit"], folder, &numbered, &[2]);
    assert!(text.contains("paged: whit: "), "{text}");
    let text = shown(&["doctor", "-n", "1"], folder, &numbered, &[0, 1]);
    assert!(text.lines().all(|line| line.starts_with("paged: ")), "{text}");
    let store = "../../testdata/log-store/version-1";
    let store = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(store);
    let query = ["log", "query", store.to_str().unwrap(), "-n", "3"];
    let text = shown(&query, folder, &numbered, &[0]);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().all(|line| line.starts_with("paged: ")), "{text}");
    let query = [&query[..], &["--no-pager"]].concat();
    assert!(!shown(&query, folder, &numbered, &[0]).contains("paged:"));
    for words in [&["play", ".", "--no-pager"][..], &["play", "--help", "--no-pager"], &["link"]] {
        let code = if words == ["link"] { 2 } else { 0 };
        assert!(!shown(words, folder, &numbered, &[code]).contains("paged:"), "{words:?}");
    }
    for (name, value) in [("WHIT_PAGER", ""), ("PAGER", "cat"), ("TERM", "dumb")] {
        let mut variables = numbered.to_vec();
        variables.retain(|(given, _)| *given != "WHIT_PAGER" && value != "cat" || name == "TERM");
        variables.push((name, value));
        assert!(!shown(&["play", "."], folder, &variables, &[0]).contains("paged:"), "{name}");
    }
}

#[test]
fn a_pager_that_ends_early_is_no_error() {
    let folder = recorded(3000);
    let text = shown(&["play", "."], folder.path(), &[("PAGER", "head -n 2")], &[0]);
    assert_eq!(text.lines().count(), 2, "{text}");
    // One that cannot be run is: nothing was shown.
    let text = shown(&["play", "."], folder.path(), &[("PAGER", "no-such-pager")], &[2]);
    assert!(text.contains("no-such-pager"), "{text}");
}

#[test]
fn without_a_variable_the_pager_is_less_with_what_it_needs() {
    let folder = recorded(3);
    let programs = tempfile::tempdir().unwrap();
    let less = programs.path().join("less");
    std::fs::write(&less, "#!/bin/sh\necho \"less: $LESS\"; cat\n").unwrap();
    std::fs::set_permissions(&less, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let text = shown(&["play", "."], folder.path(), &[("PATH", &path)], &[0]);
    assert!(text.starts_with("less: FRX") && text.lines().count() > 3, "{text}");
    let text = shown(&["play", "."], folder.path(), &[("PATH", &path), ("LESS", "R")], &[0]);
    assert!(text.starts_with("less: R\r"), "{text}");
    // A machine without it has the output all the same.
    let empty = tempfile::tempdir().unwrap();
    let nowhere = empty.path().to_str().unwrap();
    let text = shown(&["play", "."], folder.path(), &[("PATH", nowhere)], &[0]);
    assert!(text.lines().count() > 3, "{text}");
}

#[test]
fn a_person_ends_the_pager_by_a_key() {
    let folder = recorded(3000);
    let mut session = on_a_terminal(&["play", "."], folder.path(), &[("PAGER", "more")]);
    session.until("More");
    session.type_in(" ");
    session.until("More");
    session.type_in("q");
    session.ends_plainly(&[0]);
}

#[test]
fn output_that_is_no_terminal_has_no_pager() {
    let folder = recorded(3);
    let mut command = whit();
    command.args(["play", "."]).current_dir(folder.path()).env("TERM", "xterm");
    let output = command.env("WHIT_PAGER", "sed 's/^/paged: /'").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().count() >= 3 && !text.contains("paged:"), "{text}");
}
